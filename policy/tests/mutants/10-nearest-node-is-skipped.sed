# breaks: the nearest other node is never visited
# in: steal.h
# caught by: steal stealing_invariant_6_work_conservation
s/policy_near(n, k - 2)/policy_near(n, k - 1)/
