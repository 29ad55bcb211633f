# breaks: what was seen without the source's lock is believed with it
# in: kernel/sched/fair.c
# caught by: to be robbed
/^static bool policy_take(/,/^}/{
	s/^\tif (sched_overloaded(src_rq->cfs.h_nr_runnable) && cpu_active(src_cpu)) {$/\tif (cpu_active(src_cpu)) {/
}
