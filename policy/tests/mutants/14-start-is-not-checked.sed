# breaks: a next_cpu outside of the span leads the search outside of it
# in: topology.h
# caught by: idle idle_search_invariant_3_foreign_start_wraps
s/start >= span->first \&\& start < span->end ? start : span->first/start/
