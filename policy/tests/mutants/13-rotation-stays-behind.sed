# breaks: the CPU where the search stopped is not stored, so windows overlap
# in: idle.h
# caught by: idle idle_search_invariant_4_windows_tile_the_span
s/^\t\tif (next_cpu)$/\t\tif (next_cpu \&\& i + 1 < budget)/
