# breaks: two CPUs that set bits of one line lose one
# in: sparsemask.h
# caught by: mask mask_set_and_clear_lose_no_neighbour
s/return !(shared_or(&l->word, bit) & bit);/shared_write(\&l->word, shared_read(\&l->word) | bit); return true;/
