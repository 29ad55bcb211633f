# breaks: a mean idle time of exactly the cost does not steal
# in: steal.h
# caught by: steal steal_gate_opens_at_the_cost_of_a_steal
s/avg_idle < POLICY_STEAL_COST/avg_idle <= POLICY_STEAL_COST/
