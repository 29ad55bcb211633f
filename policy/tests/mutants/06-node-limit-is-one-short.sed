# breaks: a machine with exactly steal_node_limit nodes does not steal
# in: steal.h
# caught by: steal stealing_invariant_9_node_limit_means_no_mask_traffic
s/nr_nodes <= limit/nr_nodes < limit/
