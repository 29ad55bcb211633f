// SPDX-License-Identifier: GPL-2.0-only
//! AF_UNIX stream sockets, as hackbench uses them: 20 senders share one socket a receiver.
//!
//! A message is one buffer, charged to the sending socket. A sender sleeps when the charge has
//! reached sndbuf; when a release brings it down to a quarter, all sleepers are woken together.

use std::collections::VecDeque;

use super::task::{Act, Stage, State};
use super::Sim;

/// Bytes: the default sndbuf of a socket.
const SNDBUF: u32 = 212_992;

/// Bytes that a message of 100 is charged: buffer and header (measured: 278 of them fit).
const TRUESIZE: u32 = 768;

/// Cache lines of a buffer that sender and receiver both touch: 4 of the header, 2 of the data and
/// 1 of the shared info behind them.
const BUFFER_LINES: u64 = 7;

/// Of them, those that the sender must read before it can use a buffer that another CPU has freed:
/// the free pointers of header and data. It only writes the others, and a store does not wait.
const REUSE_LINES: u64 = 2;

/// Buffers of a slab page. Another CPU frees a buffer through its page's own line, which all who
/// free there share; header and data lie in pages of their own. (recalled: SLUB with 20 CPUs)
const PAGE_BUFFERS: usize = 32;

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
    charged: u32,
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
    pub(super) fn fill(&mut self, n: u32, writers: &[u32]) {
        self.queue = (0..n).map(|_| Message { buffer: 0, sender: 0 }).collect();
        self.charged = n * TRUESIZE;
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
    fn has_room(&self) -> bool {
        self.charged < SNDBUF
    }

    /// unix_writable(), after a release.
    fn writable(&self) -> bool {
        4 * self.charged <= SNDBUF
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
                Some((line, n)) if n < PAGE_BUFFERS => {
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
        self.buffer_lines(REUSE_LINES, self.buffers[buffer as usize].last);
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
        let spread = mean / 100;
        mean - spread + self.random.below(2 * spread + 1)
    }

    /// Is there room for a message? Then prepare one.
    fn send(&mut self, task: u32) {
        let channel = self.tasks[task as usize].channel as usize;
        let line = self.channels[channel].charge_line();
        if !self.channels[channel].has_room() {
            if self.sched.parts.socket_contention {
                self.charge_load(line);
            }
            self.channels[channel].writers.push(task);
            return self.block(task, State::Asleep);
        }
        self.channels[channel].charged += TRUESIZE;
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
        self.buffer_lines(BUFFER_LINES, self.buffers[message.buffer as usize].last);
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
        self.channels[channel].charged -= TRUESIZE;
        self.socket_line(self.channels[channel].charge_line());
        self.count_message();
        let t = &mut self.tasks[task as usize];
        t.left -= 1;
        t.stage = Stage::Receive;
        let c = &mut self.channels[channel];
        if c.writable() && !c.writers.is_empty() {
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
    use super::*;

    /// A channel with `n` messages in it.
    fn charged(n: u32) -> Channel {
        Channel { charged: n * TRUESIZE, ..Channel::new(0) }
    }

    /// The measured capacity, and the measured point of waking: 278, and after 209 reads.
    #[test]
    fn as_many_fit_as_were_measured() {
        assert!(charged(277).has_room());
        assert!(!charged(278).has_room());
        assert!(!charged(278 - 208).writable());
        assert!(charged(278 - 209).writable());
    }
}
