# breaks: the source's lock is taken before the thief's is dropped
# in: kernel/sched/fair.c
# caught by: possible recursive locking detected
/^static bool policy_take(/,/^}/{
	/^\t\traw_spin_rq_unlock(steal->dst_rq);$/d
	/^\t\tsteal->unlocked = true;$/d
	s/^\trq_lock(src_rq, &rf);$/&\
	if (!steal->unlocked)\
		raw_spin_rq_unlock(steal->dst_rq);\
	steal->unlocked = true;/
}
