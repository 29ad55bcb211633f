# breaks: the visit ends at the last line instead of going on at the first
# in: sparsemask.h
# caught by: mask stealing_invariant_7_iterator_visits_each_bit_once
s/^\t\tline -= v->lines;$/\t\tline = POLICY_NONE;/
