# breaks: nr CPUs are looked at instead of nr - 1
# in: idle.h
# caught by: idle idle_search_invariant_2_examined_within_budget
s/if (i + 1 >= budget)/if (i >= budget)/
