# breaks: the bits of the line of origin that lie below origin are never delivered
# in: sparsemask.h
# caught by: steal stealing_invariant_6_work_conservation
s/^\tv->low = word & below;$/\tv->low = 0;/
