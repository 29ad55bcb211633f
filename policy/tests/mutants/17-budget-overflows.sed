# breaks: a caller without avg_idle, who passes the largest value, gets the least budget
# in: idle.h
# caught by: budget idle_budget_survives_extremes
s/if (idle > POLICY_IDLE_AVG_MAX)/if (!idle)/
