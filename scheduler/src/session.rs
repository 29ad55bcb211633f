// SPDX-License-Identifier: GPL-2.0-only
//! One load of the scheduler: open, set up, attach, read, and say how it ended.

use std::ffi::{c_char, CStr};
use std::fs;
use std::mem::MaybeUninit;
use std::path::Path;

use anyhow::{bail, Context, Result};
use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};
use libbpf_rs::{Link, OpenObject};
use scx_ballast::settings::Settings;
use scx_ballast::stats::Counters;
use scx_ballast::topology::{Machine, Positions};

#[allow(
    missing_docs,
    clippy::all,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::undocumented_unsafe_blocks
)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/ballast_skel.rs"));
}
use skel::{types, MainSkel, MainSkelBuilder};

/// `POLICY_DENSITY` of policy/topology.h: CPUs a mask line, as a power of two.
const DENSITY: u32 = 3;
/// No CPU: `POLICY_NONE` of policy/base.h.
const NONE: u32 = u32::MAX;
/// `SCX_OPS_ALLOW_QUEUED_WAKEUP`; the same from 6.18 to 7.2.
const ALLOW_QUEUED_WAKEUP: u64 = 32;
/// `SCX_EXIT_UNREG`: ended from user space, by us.
const EXIT_UNREG: u32 = 64;
/// `SCX_ECODE_ACT_RESTART`: the kernel asks for a reload (a CPU came or went).
const ECODE_RESTART: i64 = 1 << 48;

/// What a load needs besides the settings.
pub struct Options {
    /// The kernel's queued wake-up; sched_ext fixes it at load.
    pub queued_wakeup: bool,
}

/// How a scheduler ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// By us.
    Unloaded,
    /// The kernel wants it loaded again: CPUs came or went.
    Restart,
    /// By the kernel; cause, message and its dump.
    Ejected {
        /// The kernel's reason and message.
        reason: String,
        /// What it dumped of queues and tasks; may be empty.
        dump: String,
    },
}

/// A scheduler in charge.
pub struct Session<'obj> {
    skel: MainSkel<'obj>,
    link: Option<Link>,
}

fn text(chars: &[c_char]) -> String {
    // SAFETY: c_char and u8 have one size and alignment, and any byte is a valid u8.
    let bytes = unsafe { &*(std::ptr::from_ref(chars) as *const [u8]) };
    CStr::from_bytes_until_nul(bytes).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

fn fill_topology(t: &mut types::policy_topology, positions: &Positions) -> Result<()> {
    if positions.cpu_at.len() > t.cpu_at.len()
        || positions.llcs.len() > t.llc.len()
        || positions.nodes.len() > t.node.len()
        || positions.cpus.iter().any(|c| c.id as usize >= t.cpu.len())
    {
        bail!(
            "this machine is larger than scx_ballast knows: {} CPUs, {} LLCs, {} nodes at most",
            t.cpu.len(),
            t.llc.len(),
            t.node.len()
        );
    }
    t.density = DENSITY;
    t.nr_pos = positions.cpu_at.len() as u32;
    t.nr_llcs = positions.llcs.len() as u32;
    t.nr_nodes = positions.nodes.len() as u32;
    let absent = types::policy_cpu { pos: NONE, llc: NONE, node: NONE, core: NONE, siblings: NONE };
    t.cpu.fill(absent);
    t.cpu_at.fill(NONE);
    for (slot, cpu) in t.cpu_at.iter_mut().zip(&positions.cpu_at) {
        *slot = cpu.unwrap_or(NONE);
    }
    for c in &positions.cpus {
        t.cpu[c.id as usize] = types::policy_cpu {
            pos: c.pos,
            llc: c.llc,
            node: c.node,
            core: c.core,
            siblings: c.siblings,
        };
    }
    for (slot, &(first, nr)) in t.llc.iter_mut().zip(&positions.llcs) {
        *slot = types::policy_llc { first, nr };
    }
    for (slot, (first, end, near)) in t.node.iter_mut().zip(&positions.nodes) {
        (slot.first, slot.end) = (*first, *end);
        slot.near[..near.len()].copy_from_slice(near);
    }
    Ok(())
}

fn fill_settings(b: &mut types::ballast, settings: &Settings) {
    let ns = |name| settings.get(name) * 1000;
    b.tunables = types::ballast_tunables {
        slice_ns: ns("slice_us"),
        credit_ns: ns("credit_us"),
        preempt_ns: ns("preempt_us"),
        sync_ns: ns("sync_us"),
    };
    b.policy.features = settings.features;
    b.policy.steal_node_limit = settings.get("steal_node_limit") as u32;
}

impl<'obj> Session<'obj> {
    /// Loads and attaches; the scheduler is in charge when this returns.
    pub fn start(
        object: &'obj mut MaybeUninit<OpenObject>,
        settings: &Settings,
        options: &Options,
    ) -> Result<Self> {
        // Read before the topology: a CPU that comes or goes meanwhile makes the attach fail.
        let hotplug = fs::read_to_string("/sys/kernel/sched_ext/hotplug_seq")
            .context("reading /sys/kernel/sched_ext/hotplug_seq")?;
        let positions = Positions::new(&Machine::read(Path::new("/sys"))?, DENSITY);

        let mut open = MainSkelBuilder::default().open(object).context("opening the BPF object")?;
        let bss = open.maps.bss_data.as_deref_mut().context("the BPF object has no state")?;
        fill_settings(&mut bss.ballast, settings);
        fill_topology(&mut bss.ballast.policy.topology, &positions)?;
        let ops = open.struct_ops.ballast_ops_mut();
        ops.hotplug_seq = hotplug.trim().parse().context("parsing hotplug_seq")?;
        if options.queued_wakeup {
            ops.flags |= ALLOW_QUEUED_WAKEUP;
        }
        let name = format!("ballast_{}_{}", env!("CARGO_PKG_VERSION"), env!("BALLAST_TARGET"));
        for (slot, byte) in ops.name.iter_mut().zip(name.bytes().take(127).chain([0])) {
            *slot = byte as c_char;
        }

        let mut skel = open.load().context("loading the BPF object")?;
        let link = skel.maps.ballast_ops.attach_struct_ops().context("attaching the scheduler")?;
        Ok(Self { skel, link: Some(link) })
    }

    fn state(&self) -> Option<&types::ballast> {
        self.skel.maps.bss_data.as_deref().map(|bss| &bss.ballast)
    }

    /// All counters, summed over CPUs.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for cpu in self.state().map_or(&[][..], |b| &b.cpu[..]) {
            let n = &cpu.n;
            let all = [
                n.direct,
                n.preempts,
                n.pinned,
                n.queued,
                n.own,
                n.kept,
                n.steals,
                n.misses,
                n.kicks,
                n.rekicks,
                n.moves,
                n.rebase_violations,
            ];
            sum.iter_mut().zip(all).for_each(|(s, n)| *s += n);
        }
        sum
    }

    fn exit_kind(&self) -> u32 {
        // The kernel side writes it last, while we poll; a volatile read is not hoisted.
        // SAFETY: the field lies in a live mapping for as long as `self` does.
        self.state().map_or(0, |b| unsafe { std::ptr::read_volatile(&b.exit.kind) })
    }

    /// Whether the kernel has ended it.
    pub fn over(&self) -> bool {
        self.exit_kind() != 0
    }

    /// Detaches, if it still is in charge, and says how it ended.
    pub fn end(mut self) -> End {
        drop(self.link.take());
        let kind = self.exit_kind();
        let Some(b) = self.state() else { return End::Unloaded };
        if b.exit.code & ECODE_RESTART != 0 {
            return End::Restart;
        }
        if kind == EXIT_UNREG {
            return End::Unloaded;
        }
        let message = text(&b.exit.message);
        let mut reason = text(&b.exit.reason);
        if !message.is_empty() {
            reason = format!("{reason} ({message})");
        }
        End::Ejected { reason, dump: text(&b.exit.dump) }
    }
}
