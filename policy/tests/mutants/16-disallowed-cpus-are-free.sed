# breaks: CPUs that the task may not use cost no budget
# in: idle.h
# caught by: idle idle_search_invariant_2_examined_within_budget
s/^\t\tif (policy_allowed(ctx, cpu) && policy_claim_idle(ctx, cpu))$/\t\tif (!policy_allowed(ctx, cpu)) {\n\t\t\tbudget++;\n\t\t\tcontinue;\n\t\t}\n\t\tif (policy_claim_idle(ctx, cpu))/
