# breaks: the thief tries its own queue, whose lock it may hold
# in: steal.h
# caught by: steal stealing_invariant_2_never_outside_what_is_allowed
s/ || src_cpu == dst_cpu)/)/
