# breaks: STEAL is switched on under load, and what is overloaded already is not marked
# in: kernel/sched/fair.c
# caught by: overload bit 0
/^static void __sched_overload_attach(/,/^}/{
	/^\tif (sched_overloaded(rq->cfs.h_nr_runnable))$/,/^\t\t__sched_overload_clear(rq);$/d
}
