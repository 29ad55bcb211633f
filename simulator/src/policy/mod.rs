// SPDX-License-Identifier: GPL-2.0-only
//! policy/, compiled for this host: the only unsafe code of the simulator.

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::ffi::c_void;

use crate::ledger::Ledger;
use crate::os::Sim;

/// As in host.h.
const CHUNK_BYTES: usize = 65536;
const LINE_BYTES: usize = 64;
/// policy/base.h: POLICY_NONE.
pub(crate) const NONE: u32 = u32::MAX;

/// host.h: struct host_ops.
#[repr(C)]
struct Ops {
    load: extern "C" fn(*mut c_void, u32),
    store: extern "C" fn(*mut c_void, u32),
    take: extern "C" fn(*mut c_void, u32, u32) -> bool,
    allowed: extern "C" fn(*mut c_void, u32) -> bool,
    claim_idle: extern "C" fn(*mut c_void, u32) -> bool,
    core_idle: extern "C" fn(*mut c_void, u32) -> bool,
}

/// host.h: struct host. `sim` is set for the time of a call.
#[repr(C)]
struct Host {
    ops: &'static Ops,
    sim: *mut c_void,
}

/// host.h: struct host_chunk.
#[repr(C)]
struct Chunk {
    host: *const Host,
    first_line: u32,
}

/// host.h: struct host_call.
#[repr(C)]
struct Call {
    host: *const Host,
    at_or_after: *const u32,
    nr_at_or_after: u32,
    threads: *const u32,
    nr_threads: u32,
    first: u32,
    end: u32,
    nr: u32,
}

extern "C" {
    fn ballast_idle_budget(features: u32, span: u32, siblings: u32, idle: u64, cost: u64) -> u32;
    fn ballast_scan_cpus(call: *mut Call, next_cpu: *mut u32, start: u32, budget: u32) -> u32;
    fn ballast_scan_cores(call: *mut Call, start: u32) -> u32;
    fn ballast_next_cpu(next_cpu: *mut u32) -> u32;
    fn ballast_mask_set(mask: *mut c_void, cpu: u32) -> bool;
    fn ballast_mask_clear(mask: *mut c_void, cpu: u32) -> bool;
    fn ballast_steal_cost() -> u64;
    fn ballast_steal_span(call: *mut Call, mask: *mut c_void, dst_cpu: u32) -> u32;
}

extern "C" fn load(sim: *mut c_void, line: u32) {
    // SAFETY: `sim` is the Sim whose method called into C; it waits for that call to return.
    unsafe { &mut *sim.cast::<Sim>() }.charge_load(line);
}

extern "C" fn store(sim: *mut c_void, line: u32) {
    // SAFETY: as in load().
    unsafe { &mut *sim.cast::<Sim>() }.charge_store(line);
}

extern "C" fn take(sim: *mut c_void, dst_cpu: u32, src_cpu: u32) -> bool {
    // SAFETY: as in load().
    unsafe { &mut *sim.cast::<Sim>() }.take(dst_cpu, src_cpu)
}

extern "C" fn allowed(_: *mut c_void, _: u32) -> bool {
    // No task of the workloads so far is bound to CPUs.
    true
}

extern "C" fn claim_idle(sim: *mut c_void, cpu: u32) -> bool {
    // SAFETY: as in load().
    unsafe { &mut *sim.cast::<Sim>() }.look_idle(cpu)
}

extern "C" fn core_idle(sim: *mut c_void, cpu: u32) -> bool {
    // SAFETY: as in load().
    unsafe { &mut *sim.cast::<Sim>() }.look_core_idle(cpu)
}

static OPS: Ops = Ops { load, store, take, allowed, claim_idle, core_idle };

/// The shared words of one simulation: a mask an LLC, a `next_cpu` a CPU.
pub(crate) struct Shared {
    host: *mut Host,
    chunks: Vec<*mut u8>,
    /// Lines of the last chunk that are in use.
    used: usize,
    /// By LLC.
    masks: Vec<*mut u8>,
    /// By CPU.
    next_cpu: Vec<*mut u8>,
}

fn chunk_layout() -> Layout {
    match Layout::from_size_align(CHUNK_BYTES, CHUNK_BYTES) {
        Ok(layout) => layout,
        Err(_) => Layout::new::<u8>(),
    }
}

impl Shared {
    pub(crate) fn new(ledger: &mut Ledger, nr_cpus: usize, nr_llcs: usize) -> Self {
        let host = Box::into_raw(Box::new(Host { ops: &OPS, sim: std::ptr::null_mut() }));
        let mut s =
            Shared { host, chunks: Vec::new(), used: 0, masks: Vec::new(), next_cpu: Vec::new() };
        for _ in 0..nr_llcs {
            let mask = s.lines(ledger, nr_cpus.div_ceil(8));
            s.masks.push(mask);
        }
        for _ in 0..nr_cpus {
            let word = s.lines(ledger, 1);
            // SAFETY: lines() returned 64 zeroed bytes, aligned at 64, that nobody else has.
            unsafe { word.cast::<u32>().write(NONE) };
            s.next_cpu.push(word);
        }
        s
    }

    /// `n` fresh lines in one chunk.
    fn lines(&mut self, ledger: &mut Ledger, n: usize) -> *mut u8 {
        let per_chunk = CHUNK_BYTES / LINE_BYTES;
        assert!(n < per_chunk, "a mask of {n} lines does not fit a chunk");
        let room = self.chunks.last().filter(|_| self.used + n <= per_chunk).copied();
        let chunk = room.unwrap_or_else(|| {
            // SAFETY: the layout's size is not zero.
            let chunk = unsafe { alloc_zeroed(chunk_layout()) };
            if chunk.is_null() {
                handle_alloc_error(chunk_layout());
            }
            let header = Chunk { host: self.host, first_line: ledger.add(per_chunk) };
            // SAFETY: the chunk is ours, large enough, and aligned for any type.
            unsafe { chunk.cast::<Chunk>().write(header) };
            self.chunks.push(chunk);
            self.used = 1;
            chunk
        });
        // SAFETY: used + n <= per_chunk, so that the result lies in the chunk.
        let lines = unsafe { chunk.add(self.used * LINE_BYTES) };
        self.used += n;
        lines
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            // SAFETY: allocated in lines() with this layout, and freed only here.
            unsafe { dealloc(*chunk, chunk_layout()) };
        }
        // SAFETY: from Box::into_raw() in new(), and freed only here.
        drop(unsafe { Box::from_raw(self.host) });
    }
}

/// The budget of an idle search; no shared word is touched.
pub(crate) fn idle_budget(features: u32, span: u32, siblings: u32, idle: u64, cost: u64) -> u32 {
    // SAFETY: plain arithmetic.
    unsafe { ballast_idle_budget(features, span, siblings, idle, cost) }
}

/// The least avg_idle with which stealing is tried, in ns.
pub(crate) fn steal_cost() -> u64 {
    // SAFETY: returns a constant.
    unsafe { ballast_steal_cost() }
}

impl Sim {
    /// Call into C with this simulation behind the host calls. Calls may nest (a take clears a
    /// bit): the outer pointer is put back.
    fn enter<R>(&mut self, call: impl FnOnce(*mut Host) -> R) -> R {
        let host = self.shared.host;
        let sim: *mut Sim = self;
        // SAFETY: the Host lives as long as Shared does, and only this thread reaches it.
        let outer = unsafe { std::mem::replace(&mut (*host).sim, sim.cast()) };
        let result = call(host);
        // SAFETY: as above.
        unsafe { (*host).sim = outer };
        result
    }

    /// The span of the LLC of `cpu` and the threads of its core. The topology does not change, so
    /// that the pointers outlive the call.
    fn call(&self, host: *const Host, cpu: u32) -> Call {
        let span = self.topology.span(cpu);
        let threads = self.topology.threads(cpu);
        Call {
            host,
            at_or_after: span.at_or_after.as_ptr(),
            nr_at_or_after: span.at_or_after.len() as u32,
            threads: threads.as_ptr(),
            nr_threads: threads.len() as u32,
            first: span.cpus.first().copied().unwrap_or(0),
            end: span.cpus.last().map_or(0, |c| c + 1),
            nr: span.cpus.len() as u32,
        }
    }

    /// policy_scan_cpus() from `target`, or with `rotate` from where the last one ended.
    pub(crate) fn policy_scan_cpus(&mut self, target: u32, rotate: bool, budget: u32) -> u32 {
        let next_cpu: *mut u32 = match rotate {
            true => self.shared.next_cpu[target as usize].cast(),
            false => std::ptr::null_mut(),
        };
        let mut call = self.call(self.shared.host, target);
        // SAFETY: the call's arrays live in the topology; next_cpu is null or a word of a chunk.
        self.enter(|_| unsafe {
            let next = if rotate { ballast_next_cpu(next_cpu) } else { NONE };
            let start = if next == NONE { target } else { next };
            ballast_scan_cpus(&mut call, next_cpu, start, budget)
        })
    }

    /// policy_scan_cores() from `target`.
    pub(crate) fn policy_scan_cores(&mut self, target: u32) -> u32 {
        let mut call = self.call(self.shared.host, target);
        // SAFETY: the call's arrays live in the topology.
        self.enter(|_| unsafe { ballast_scan_cores(&mut call, target) })
    }

    /// policy_mask_set() or policy_mask_clear() of `cpu` in its LLC's mask.
    pub(crate) fn policy_overload(&mut self, cpu: u32, set: bool) {
        let mask: *mut c_void = self.shared.masks[self.topology.llc(cpu)].cast();
        // SAFETY: the mask has a line for every 8 CPU numbers of the machine.
        self.enter(|_| unsafe {
            if set {
                ballast_mask_set(mask, cpu);
            } else {
                ballast_mask_clear(mask, cpu);
            }
        });
    }

    /// policy_steal_span() for `dst`: the CPU that a task was taken from, or NONE.
    pub(crate) fn policy_steal(&mut self, dst: u32) -> u32 {
        let mask: *mut c_void = self.shared.masks[self.topology.llc(dst)].cast();
        let mut call = self.call(self.shared.host, dst);
        // SAFETY: as in policy_scan_cores() and policy_overload().
        self.enter(|_| unsafe { ballast_steal_span(&mut call, mask, dst) })
    }
}
