# breaks: above the node limit the mask is written all the same
# in: steal.h
# caught by: steal stealing_invariant_9_node_limit_means_no_mask_traffic
/^POLICY_FN bool policy_overload_set(/,/^}/s/!policy_steal_on(p, shared_read(&p->features))/!(shared_read(\&p->features) \& POLICY_STEAL)/
