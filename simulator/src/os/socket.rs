// SPDX-License-Identifier: GPL-2.0-only
//! AF_UNIX stream sockets, as hackbench uses them: 20 senders share one socket a receiver.
//!
//! A message is one buffer, charged to the sending socket. A sender sleeps when the charge has
//! reached sndbuf; when a release brings it down to a quarter, all sleepers are woken together.

use std::collections::VecDeque;

use super::task::{Act, Stage, State};
use super::Sim;
use crate::machine::Kernel;

/// A message's buffer: header and data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    /// The CPU that allocated it, and does so again: it goes back to where it came from.
    home: u32,
    /// The CPU that wrote or freed it last.
    last: u32,
    /// Ledger: the page of its header; after it that of its data.
    page_line: u32,
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    buffer: u32,
    /// The sender: it goes with the message as credentials, a reference to its pid.
    sender: u32,
}

/// One receiver's socket pair.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    queue: VecDeque<Message>,
    /// Bytes charged and not yet released.
    charged: u64,
    pub(super) reader: u32,
    reader_asleep: bool,
    /// Senders that sleep, in the order in which they came; the kernel's list has the last first.
    writers: Vec<u32>,
    /// Ledger: the receive queue with its lock; after it the socket's state with its lock, and the
    /// charge.
    lines: u32,
}

impl Channel {
    pub(super) fn new(lines: u32) -> Self {
        Channel {
            queue: VecDeque::with_capacity(300),
            charged: 0,
            reader: 0,
            reader_asleep: false,
            writers: Vec::new(),
            lines,
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.charged == 0 && self.writers.is_empty()
    }

    /// `n` messages of buffer 0, and senders that sleep.
    #[cfg(test)]
    pub(super) fn fill(&mut self, n: u32, writers: &[u32], k: &Kernel) {
        self.queue = (0..n).map(|_| Message { buffer: 0, sender: 0 }).collect();
        self.charged = u64::from(n) * k.truesize_bytes;
        self.writers = writers.to_vec();
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    fn queue_line(&self) -> u32 {
        self.lines
    }

    fn state_line(&self) -> u32 {
        self.lines + 1
    }

    fn charge_line(&self) -> u32 {
        self.lines + 2
    }

    /// sock_alloc_send_pskb()'s test, before it allocates.
    fn has_room(&self, k: &Kernel) -> bool {
        self.charged < k.sndbuf_bytes
    }

    /// unix_writable(), after a release.
    fn writable(&self, k: &Kernel) -> bool {
        4 * self.charged <= k.sndbuf_bytes
    }
}

impl Sim {
    #[inline]
    fn socket_line(&mut self, line: u32) {
        if self.sched.parts.socket_contention {
            self.charge_store(line);
        }
    }

    /// Lines of a buffer that `from` touched last.
    #[inline]
    fn buffer_lines(&mut self, lines: u64, from: u32) {
        if self.sched.parts.socket_contention {
            self.clock += lines * self.topology.line(from, self.here);
        }
    }

    /// A buffer of this CPU's: the last one that came back, or a new one.
    #[inline]
    pub(super) fn allocate(&mut self) -> u32 {
        let here = self.here;
        let buffer = self.free_buffers[here as usize].pop().unwrap_or_else(|| {
            let siblings = self.new_buffers[here as usize];
            let page_line = match siblings {
                Some((line, n)) if n < self.kernel.page_buffers => {
                    self.new_buffers[here as usize] = Some((line, n + 1));
                    line
                }
                _ => {
                    let line = self.ledger.add(2);
                    self.new_buffers[here as usize] = Some((line, 1));
                    line
                }
            };
            self.buffers.push(Buffer { home: here, last: here, page_line });
            self.buffers.len() as u32 - 1
        });
        self.buffer_lines(self.kernel.reuse_lines, self.buffers[buffer as usize].last);
        self.buffers[buffer as usize].last = here;
        buffer
    }

    /// Give a buffer back to the CPU that it came from.
    #[inline]
    fn free(&mut self, buffer: u32) {
        let Buffer { home, page_line, .. } = self.buffers[buffer as usize];
        if home != self.here {
            self.socket_line(page_line);
            self.socket_line(page_line + 1);
        }
        self.buffers[buffer as usize].last = self.here;
        self.free_buffers[home as usize].push(buffer);
    }

    /// True if the lock in this line is free; otherwise the CPU spins and tries again.
    #[inline]
    fn lock(&mut self, line: u32) -> bool {
        let free = self.ledger.free_at(line);
        if free <= self.clock || !self.sched.parts.socket_contention {
            return true;
        }
        self.post(self.here, free);
        false
    }

    /// Its holder lets it go when its clock is there.
    #[inline]
    fn unlock(&mut self, line: u32) {
        self.ledger.hold(line, self.clock);
    }

    /// The running task goes on, after the tasks in `wakes` were woken.
    fn go_on(&mut self) {
        let (here, clock) = (self.here, self.clock);
        let c = &mut self.cpus[here as usize];
        c.act = if c.wakes.is_empty() { Act::Run } else { Act::Select };
        self.post(here, clock);
    }

    /// The running task is on a wait list, or done: it calls schedule().
    fn block(&mut self, task: u32, state: State) {
        self.tasks[task as usize].state = state;
        self.work(self.costs.block_ns);
        self.cpus[self.here as usize].act = Act::Schedule;
        self.post(self.here, self.clock);
    }

    /// A service time is within 1 % of its mean, so that tasks do not go in step.
    #[inline]
    pub(super) fn service(&mut self, mean: u64) -> u64 {
        let spread = mean * self.kernel.service_spread_permille / 1000;
        mean - spread + self.random.below(2 * spread + 1)
    }

    /// Is there room for a message? Then prepare one.
    fn send(&mut self, task: u32) {
        let channel = self.tasks[task as usize].channel as usize;
        let line = self.channels[channel].charge_line();
        if !self.channels[channel].has_room(&self.kernel) {
            if self.sched.parts.socket_contention {
                self.charge_load(line);
            }
            self.channels[channel].writers.push(task);
            return self.block(task, State::Asleep);
        }
        self.channels[channel].charged += self.kernel.truesize_bytes;
        self.socket_line(line);
        let buffer = self.allocate();
        self.tasks[task as usize].buffer = buffer;
        self.socket_line(self.tasks[task as usize].pid_line);
        let service = self.service(self.send_ns);
        self.work(self.costs.syscall_ns + service);
        self.tasks[task as usize].stage = Stage::Deliver;
        self.post(self.here, self.clock);
    }

    /// Put the message into the receiver's queue; wake the receiver if it sleeps.
    pub(super) fn deliver(&mut self, task: u32) {
        let channel = self.tasks[task as usize].channel as usize;
        let (state, queue) =
            (self.channels[channel].state_line(), self.channels[channel].queue_line());
        if !self.lock(state) {
            return;
        }
        self.socket_line(state);
        if self.sched.parts.socket_contention {
            self.clock = self.clock.max(self.ledger.free_at(queue));
        }
        self.socket_line(queue);
        if let Some(last) = self.channels[channel].queue.back().copied() {
            // The buffer before it gets a new successor.
            self.buffer_lines(1, self.buffers[last.buffer as usize].last);
        }
        self.clock += self.costs.lock_hold_ns;
        self.unlock(queue);
        self.unlock(state);
        let c = &mut self.channels[channel];
        c.queue.push_back(Message { buffer: self.tasks[task as usize].buffer, sender: task });
        if std::mem::take(&mut c.reader_asleep) {
            self.cpus[self.here as usize].wakes.push(c.reader);
        }
        let fan = self.workload.fan;
        let t = &mut self.tasks[task as usize];
        t.channel =
            if t.channel + 1 == t.first_channel + fan { t.first_channel } else { t.channel + 1 };
        t.stage = Stage::Send;
        t.left -= 1;
        if self.cpus[self.here as usize].wakes.is_empty() {
            self.next(task);
        } else {
            self.go_on();
        }
    }

    /// Is there a message? Then copy it. The look at the queue is under the state's lock, which is
    /// given back at once; only the reader takes messages off.
    fn receive(&mut self, task: u32) {
        let channel = self.tasks[task as usize].channel as usize;
        let state = self.channels[channel].state_line();
        if !self.lock(state) {
            return;
        }
        self.socket_line(state);
        let Some(message) = self.channels[channel].queue.front().copied() else {
            self.channels[channel].reader_asleep = true;
            return self.block(task, State::Asleep);
        };
        self.buffer_lines(self.kernel.buffer_lines, self.buffers[message.buffer as usize].last);
        let service = self.service(self.recv_ns);
        self.work(self.costs.syscall_ns + service);
        self.tasks[task as usize].stage = Stage::Release;
        self.post(self.here, self.clock);
    }

    /// Take the message off, give its charge back, and wake the writers if there is room now.
    pub(super) fn release(&mut self, task: u32) {
        let channel = self.tasks[task as usize].channel as usize;
        let queue = self.channels[channel].queue_line();
        if !self.lock(queue) {
            return;
        }
        self.socket_line(queue);
        self.clock += self.costs.lock_hold_ns;
        self.unlock(queue);
        if let Some(Message { buffer, sender }) = self.channels[channel].queue.pop_front() {
            self.free(buffer);
            self.socket_line(self.tasks[sender as usize].pid_line);
        }
        self.channels[channel].charged -= self.kernel.truesize_bytes;
        self.socket_line(self.channels[channel].charge_line());
        self.count_message();
        let t = &mut self.tasks[task as usize];
        t.left -= 1;
        t.stage = Stage::Receive;
        let c = &mut self.channels[channel];
        if c.writable(&self.kernel) && !c.writers.is_empty() {
            self.cpus[self.here as usize].wakes.append(&mut c.writers);
            return self.go_on();
        }
        self.next(task);
    }

    /// The next message, or the end.
    pub(super) fn next(&mut self, task: u32) {
        if self.tasks[task as usize].left == 0 {
            self.alive -= 1;
            return self.block(task, State::Dead);
        }
        match self.tasks[task as usize].stage {
            Stage::Send => self.send(task),
            _ => self.receive(task),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::machine::MachineSpec;
    use crate::sched::Sched;
    use crate::workload::Hackbench;

    /// A channel with `n` messages in it.
    fn charged(n: u64) -> Channel {
        Channel { charged: n * Kernel::default().truesize_bytes, ..Channel::new(0) }
    }

    /// The measured capacity, and the measured point of waking: 278, and after 209 reads.
    #[test]
    fn as_many_fit_as_were_measured() {
        let k = Kernel::default();
        assert!(charged(277).has_room(&k));
        assert!(!charged(278).has_room(&k));
        assert!(!charged(278 - 208).writable(&k));
        assert!(charged(278 - 209).writable(&k));
    }

    /// CPU 0 wrote the message and all lines of its socket; CPU 5 reads, then finds the lock held.
    #[test]
    fn another_cpus_message_costs_its_lines() {
        for on in [true, false] {
            let mut sched = Sched::parse("cfs-4.20").unwrap();
            sched.parts.socket_contention = on;
            let mut s = Sim::new(&MachineSpec::e5_2630v4(), &Hackbench::new(1, 1, 100), &sched, 0);
            let reader = s.channels[0].reader;
            (s.here, s.clock) = (0, 0);
            s.allocate();
            s.channels[0].fill(1, &[], &Kernel::default());
            s.here = 5;
            s.cpus[5].curr = reader;
            s.receive(reader);
            let work = s.costs.syscall_ns + s.recv_ns;
            // The state with its lock, and the message's seven lines.
            assert_eq!(s.clock - work, if on { 8 * s.costs.line_llc_ns } else { 0 });
            let queue = s.channels[0].queue_line();
            s.ledger.hold(queue, 99_000);
            s.release(reader);
            assert_eq!(s.slots.get(5) == 99_000, on, "it tries again when the lock is free");
            assert_eq!(s.channels[0].queue.is_empty(), !on);
        }
    }
}
