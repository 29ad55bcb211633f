# breaks: a task whose dequeue is delayed leaves the count, and the CPU's bit stays set
# in: kernel/sched/fair.c
# caught by: overload bit 1
/^static void set_delayed(/,/^}/{
	/^\tsched_overload_dec(rq);$/d
}
