# breaks: without SIS_CORE the hint of idle cores is read and cleared
# in: idle.h
# caught by: idle idle_search_invariant_5_no_core_scan_when_off
s/features & POLICY_SIS_CORE && c->siblings > 1/c->siblings > 1/
