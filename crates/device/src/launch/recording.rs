//! What a device did once, recorded and done again as a whole.
//!
//! While a thread records, its launches and copies are noted besides being done, and memory that it
//! takes is the recording's own: a step names addresses, and nothing else may come to lie there. Other
//! memory, of keys and tables, is only read; once its owner gives any of it up, the recording is not
//! current any more and does nothing. What the host writes or reads on the way cannot be recorded, but
//! for index tables, which then stay as they are for as long as the recording. Nor can anything be
//! while another thread uses the device, as what it makes may go into what is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::engine::Step;
use crate::Result;

/// Steps that are recorded at the most: with as many it is not their launches that bound a program.
const MOST_STEPS: usize = 1 << 14;

/// Memory that goes back to the device: addresses and words.
pub(super) type Freed = Vec<(u64, usize)>;

/// The memory of a recording, and that of others which it reads.
#[derive(Default)]
struct Memory {
    /// Words at each address that was taken while it was made.
    taken: BTreeMap<u64, usize>,
    /// Those of them that no buffer has and steps write to, by the number of words.
    free: BTreeMap<usize, Vec<u64>>,
    /// Those of them with an index table.
    tables: BTreeSet<u64>,
    /// The tables that no one else has.
    own_tables: BTreeSet<u64>,
    /// Where others' memory begins.
    borrowed: BTreeSet<u64>,
}

impl Memory {
    /// Takes back what a buffer had, if it came from here.
    fn give(&mut self, address: u64) -> bool {
        let Some(&words) = self.taken.get(&address) else { return false };
        if self.tables.contains(&address) {
            self.own_tables.insert(address);
        } else {
            self.free.entry(words).or_default().push(address);
        }
        true
    }

    /// Leaves to others what they have, but for buffers of its `own`; whether that is but index
    /// tables.
    fn leave(&mut self, own: &BTreeSet<u64>) -> bool {
        let free: BTreeSet<u64> = self.free.values().flatten().copied().collect();
        let is_others =
            |address: &u64| ![own, &free, &self.own_tables].iter().any(|set| set.contains(address));
        let others: Vec<u64> = self.taken.keys().copied().filter(is_others).collect();
        self.taken.retain(|address, _| !others.contains(address));
        let are_tables = others.iter().all(|address| self.tables.contains(address));
        self.borrowed.extend(others);
        are_tables && own.iter().all(|address| self.taken.contains_key(address))
    }

    /// What no buffer has.
    fn into_freed(self) -> Freed {
        let tables = self.own_tables.iter().map(|address| (*address, self.taken[address]));
        let spread = |(words, addresses): (usize, Vec<u64>)| {
            addresses.into_iter().map(move |address| (address, words))
        };
        tables.chain(self.free.into_iter().flat_map(spread)).collect()
    }
}

/// A recording that a thread makes.
struct Active {
    number: u64,
    thread: ThreadId,
    memory: Memory,
    steps: Vec<Step>,
    /// Bytes that it takes, and may.
    bytes: u64,
    limit: u64,
    /// Whether nothing was done that cannot be recorded.
    is_possible: bool,
    /// What goes back to the device since something was.
    freed: Freed,
}

impl Active {
    /// It cannot be finished any more: its free memory goes back, and its buffers become ordinary.
    fn refuse(&mut self) {
        self.is_possible = false;
        self.steps.clear();
        self.freed.extend(std::mem::take(&mut self.memory).into_freed());
    }
}

/// A recording that was made.
struct Kept {
    memory: Memory,
    /// Whether all memory that it borrows is as it was.
    is_current: bool,
    /// Bytes of its own.
    bytes: u64,
}

#[derive(Default)]
struct State {
    active: Option<Active>,
    kept: BTreeMap<u64, Kept>,
    begun: u64,
}

impl State {
    /// Recordings that read memory are not current once it changes.
    fn note_change(&mut self, address: u64) {
        for each in self.kept.values_mut() {
            each.is_current &= !each.memory.borrowed.contains(&address);
        }
    }
}

/// The recordings of a device.
#[derive(Default)]
pub(super) struct Recordings {
    /// Whether one is being made: if not, steps need not look.
    is_recording: AtomicBool,
    /// Whether there is any, to which memory that is given back may belong.
    any: AtomicBool,
    state: Mutex<State>,
}

impl Recordings {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let made = change(&mut state);
        self.is_recording.store(state.active.is_some(), Ordering::Release);
        self.any.store(state.active.is_some() || !state.kept.is_empty(), Ordering::Release);
        made
    }

    /// What `work` makes of the recording that this thread makes, if it makes one.
    fn here<T>(&self, work: impl FnOnce(&mut Active) -> T) -> Option<T> {
        if !self.is_recording.load(Ordering::Acquire) {
            return None;
        }
        let mut state = self.lock();
        let active = state.active.as_mut().filter(|each| each.thread == thread::current().id());
        active.map(work)
    }

    /// [`Self::here`] for what no other thread may do meanwhile.
    fn here_alone(&self, work: impl FnOnce(&mut Active)) {
        if !self.is_recording.load(Ordering::Acquire) {
            return;
        }
        match &mut self.lock().active {
            Some(active) if active.thread == thread::current().id() => work(active),
            Some(active) => active.refuse(),
            None => {}
        }
    }

    /// Memory that the recording of this thread has and no buffer uses.
    pub(super) fn take(&self, words: usize) -> Option<u64> {
        self.here(|active| active.memory.free.get_mut(&words)?.pop()).flatten()
    }

    /// Notes memory that was taken from the device.
    pub(super) fn took(&self, address: u64, words: usize) {
        self.here(|active| {
            if !active.is_possible {
                return;
            }
            active.memory.taken.insert(address, words);
            active.bytes += (words * size_of::<u32>()) as u64;
            if active.bytes > active.limit {
                active.refuse();
            }
        });
    }

    /// Memory of a recording that was refused.
    pub(super) fn refused(&self) -> Freed {
        if !self.is_recording.load(Ordering::Acquire) {
            return Freed::new();
        }
        self.lock()
            .active
            .as_mut()
            .map(|active| std::mem::take(&mut active.freed))
            .unwrap_or_default()
    }

    /// Notes that an index table comes to lie in memory that no step has written to.
    pub(super) fn note_table(&self, address: u64) {
        self.here(|active| active.memory.tables.insert(address));
    }

    /// Notes what is done.
    pub(super) fn note(&self, step: impl FnOnce() -> Step) {
        self.here_alone(|active| {
            if active.steps.len() == MOST_STEPS {
                active.refuse();
            }
            if active.is_possible {
                active.steps.push(step());
            }
        });
    }

    /// Notes memory that a step reads.
    pub(super) fn note_read(&self, address: u64) {
        self.here(|active| {
            if active.is_possible && !active.memory.taken.contains_key(&address) {
                active.memory.borrowed.insert(address);
            }
        });
    }

    /// Notes memory that a step writes.
    pub(super) fn note_write(&self, address: u64) {
        self.note_change(address);
        self.here(|active| {
            let memory = &active.memory;
            if !memory.taken.contains_key(&address) || memory.tables.contains(&address) {
                active.refuse();
            }
        });
    }

    /// Notes that the host writes to memory.
    pub(super) fn note_host_write(&self, address: u64) {
        self.note_change(address);
        self.here_alone(|active| {
            if !active.memory.tables.contains(&address) {
                active.refuse();
            }
        });
    }

    /// Notes that the host reads what was computed.
    pub(super) fn note_host_read(&self) {
        self.here(Active::refuse);
    }

    /// Notes that memory changes, if there is a recording that may read it.
    fn note_change(&self, address: u64) {
        if self.any.load(Ordering::Acquire) {
            self.lock().note_change(address);
        }
    }

    /// Takes memory back that a buffer gives up, if it is a recording's. If it is not, recordings that
    /// read it are not current any more.
    pub(super) fn take_back(&self, address: u64) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let mut state = self.lock();
        let State { active, kept, .. } = &mut *state;
        let mut memories = active.iter_mut().map(|each| &mut each.memory);
        if memories.any(|memory| memory.give(address))
            || kept.values_mut().any(|each| each.memory.give(address))
        {
            return true;
        }
        if let Some(active) = active.as_mut().filter(|each| each.memory.borrowed.contains(&address))
        {
            active.refuse();
        }
        state.note_change(address);
        false
    }

    /// Begins a recording by this thread, in at most so many bytes of memory: its number. None while
    /// another is made.
    pub(super) fn begin(&self, limit: u64) -> Option<u64> {
        self.changed(|state| {
            if state.active.is_some() {
                return None;
            }
            state.begun += 1;
            state.active = Some(Active {
                number: state.begun,
                thread: thread::current().id(),
                memory: Memory::default(),
                steps: Vec::new(),
                bytes: 0,
                limit,
                is_possible: true,
                freed: Freed::new(),
            });
            Some(state.begun)
        })
    }

    /// Forgets what was done up to now, but for the memory that was taken.
    pub(super) fn start_here(&self) {
        self.here(|active| {
            active.steps.clear();
            active.memory.borrowed.clear();
        });
    }

    /// Ends the making of a recording, whose buffers have these addresses: its steps. None where
    /// something was done that cannot be recorded, or where others have memory that steps write.
    pub(super) fn finish(&self, number: u64, own: &BTreeSet<u64>) -> Option<Vec<Step>> {
        self.changed(|state| {
            let active = state.active.as_mut().filter(|each| each.number == number)?;
            if !(active.is_possible && active.memory.leave(own)) {
                return None;
            }
            let Active { memory, steps, bytes, .. } = state.active.take()?;
            state.kept.insert(number, Kept { memory, is_current: true, bytes });
            Some(steps)
        })
    }

    /// Ends the making of a recording that was not finished: the memory that it had.
    pub(super) fn abandon(&self, number: u64) -> Freed {
        let ended = self.changed(|state| state.active.take_if(|each| each.number == number));
        ended.map_or_else(Freed::new, |mut active| {
            active.freed.extend(active.memory.into_freed());
            active.freed
        })
    }

    /// Gives a recording up that was finished: the memory that it had.
    pub(super) fn forget(&self, number: u64) -> Freed {
        let ended = self.changed(|state| state.kept.remove(&number));
        ended.map_or_else(Freed::new, |kept| kept.memory.into_freed())
    }

    /// Bytes of a recording's memory.
    pub(super) fn bytes(&self, number: u64) -> u64 {
        self.lock().kept.get(&number).map_or(0, |kept| kept.bytes)
    }

    /// Runs a recording if it is current; whether it is. What is given up meanwhile is overwritten
    /// after the run, in the order of the calls.
    pub(super) fn run(&self, number: u64, run: impl FnOnce() -> Result<()>) -> Result<bool> {
        let mut state = self.lock();
        // The steps are not noted.
        state.active.iter_mut().for_each(Active::refuse);
        if !state.kept.get(&number).is_some_and(|kept| kept.is_current) {
            return Ok(false);
        }
        run()?;
        Ok(true)
    }
}
