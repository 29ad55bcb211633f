# breaks: every enqueue takes the line of the mask, whether or not the bit changes
# in: sparsemask.h
# caught by: mask mask_writes_only_changes
/^POLICY_FN bool policy_mask_set(/,/^}/s/ || (shared_read(&l->word) & bit)//
