# breaks: a bit that was cleared since its line was read is delivered
# in: sparsemask.h
# caught by: mask mask_visit_tests_a_bit_again_before_delivery
s/return fresh || policy_mask_test(m, v->density, e) ? e : POLICY_NONE;/(void)fresh; return e;/
