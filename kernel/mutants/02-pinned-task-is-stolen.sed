# breaks: a task that may not run on the thief's CPU is taken
# in: kernel/sched/fair.c
# caught by: where it may not run
/^static bool can_steal_task(/,/^}/{
	s/!cpumask_test_cpu(dst_cpu, p->cpus_ptr))$/false)/
}
