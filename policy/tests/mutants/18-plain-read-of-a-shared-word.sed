# breaks: the features are read past the accessors, so the simulator does not charge for it
# in: steal.h
# caught by: accessors no_shared_word_escapes_the_accessors
/^POLICY_FN u32 policy_steal(/,/^}/s/shared_read(&p->features)/p->features/
