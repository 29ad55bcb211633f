/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What users paste: the kernel asks for it when it throws the scheduler out, and on SysRq-D.
 */
#ifndef BALLAST_DUMP_H
#define BALLAST_DUMP_H

/* The kernel's kfunc wants a writable format and an array of u64. */
#define dump_line(fmt, args...)                                                        \
	({                                                                             \
		static char ___fmt[] = fmt;                                            \
		unsigned long long ___args[] = { args };                               \
		scx_bpf_dump_bstr(___fmt, ___args, sizeof(___args));                   \
	})

static __always_inline void dump_settings(void)
{
	const struct ballast_tunables *t = &ballast.tunables;

	dump_line("ballast: features 0x%llx slice %llu credit %llu preempt %llu sync %llu ns",
		  features(), t->slice_ns, t->credit_ns, t->preempt_ns, t->sync_ns);
}

static __always_inline void dump_cpu(const struct ballast_cpu *c, u32 cpu)
{
	dump_line("ballast: clock %llu ns, running vtime %llu ns, running %llu, idle %llu",
		  c->clock >> VTIME_HOME_BITS, c->running_vtime >> VTIME_HOME_BITS, c->running,
		  c->idle);
	dump_line("ballast: queued %lld stealable, %lld pinned; steals %llu, rekicks %llu",
		  scx_bpf_dsq_nr_queued(stealable_dsq(cpu)), scx_bpf_dsq_nr_queued(pinned_dsq(cpu)),
		  c->n.steals, c->n.rekicks);
}

static __always_inline void dump_task(const struct task_struct *p)
{
	u64 word = time_of(p);

	dump_line("ballast: vtime %llu ns of CPU %llu", word >> VTIME_HOME_BITS, vtime_home(word));
}

#endif
