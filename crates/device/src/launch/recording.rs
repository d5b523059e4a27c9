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

use super::buffer::Buffer;
use super::device::Device;
use super::engine::{Sequence, Step};
use crate::{Error, Result};

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
    /// Memory that it needs no more, as something was.
    freed: Freed,
}

impl Active {
    /// From here on it is none: what it has goes back, and buffers are everyone's.
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

    /// Recordings that read memory are not current once it changes.
    fn note_change(&self, address: u64) {
        if self.any.load(Ordering::Acquire) {
            for each in self.lock().kept.values_mut() {
                each.is_current &= !each.memory.borrowed.contains(&address);
            }
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
        for each in kept.values_mut() {
            each.is_current &= !each.memory.borrowed.contains(&address);
        }
        false
    }
}

/// A thread's recording, as long as it is made.
#[derive(Debug)]
pub struct Recording {
    device: Device,
    number: u64,
}

impl Device {
    /// Records what this thread does on the device from now on, in at most so many bytes of memory.
    /// None while another recording is made.
    pub fn record(&self, limit: u64) -> Option<Recording> {
        let number = self.recordings().changed(|state| {
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
        })?;
        Some(Recording { device: self.clone(), number })
    }
}

impl Recording {
    /// Copies of what a program is to start from, which is recorded from here on.
    ///
    /// # Errors
    /// As [`Recorded::run`].
    pub fn inputs(&self, from: &[&Buffer], operation: &'static str) -> Result<Vec<Buffer>> {
        let copies = from
            .iter()
            .map(|input| {
                let mut copy = Buffer::unwritten(&self.device, input.words(), operation)?;
                copy.overwrite(input, operation)?;
                Ok(copy)
            })
            .collect();
        // Each run copies its own.
        self.device.recordings().here(|active| {
            active.steps.clear();
            active.memory.borrowed.clear();
        });
        copies
    }

    /// Ends the recording of what made `results` of `inputs`; both were taken while it was made. The
    /// results come back beside it. There is none where something was done that cannot be recorded,
    /// or where another buffer that was written is still in use.
    ///
    /// # Errors
    /// As [`Buffer::unwritten`].
    pub fn finish(
        self,
        inputs: Vec<Buffer>,
        mut results: Vec<Buffer>,
        operation: &'static str,
    ) -> Result<(Vec<Buffer>, Option<Recorded>)> {
        let (device, count) = (self.device.clone(), inputs.len());
        let Some(steps) = self.steps_with(inputs.iter().chain(&results)) else {
            return Ok((results, None));
        };
        // From here on dropping it gives the memory back.
        let kept = KeptMemory { device, number: self.number };
        // SAFETY: the steps were done once, with memory that stays theirs or that is looked after
        // before each run.
        let sequence = match unsafe { kept.device.assemble(steps) } {
            Ok(sequence) => sequence,
            Err(lost @ Error::DeviceLost { .. }) => return Err(lost),
            // The results are there; the program goes on step by step.
            Err(_) => return Ok((results, None)),
        };
        let mut buffers = inputs;
        buffers.append(&mut results);
        let recorded = Recorded { sequence, buffers, count, kept };
        Ok((recorded.results(operation)?, Some(recorded)))
    }

    /// The steps of a recording to be kept, of which these buffers are a part.
    fn steps_with<'a>(&self, own: impl Iterator<Item = &'a Buffer>) -> Option<Vec<Step>> {
        let own = own.map(Buffer::address).collect();
        self.device.recordings().changed(|state| {
            let active = state.active.as_mut().filter(|each| each.number == self.number)?;
            if !(active.is_possible && active.memory.leave(&own)) {
                return None;
            }
            let Active { memory, steps, bytes, .. } = state.active.take()?;
            state.kept.insert(self.number, Kept { memory, is_current: true, bytes });
            Some(steps)
        })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let ended = self
            .device
            .recordings()
            .changed(|state| state.active.take_if(|active| active.number == self.number));
        if let Some(active) = ended {
            self.device.give_back(active.freed);
            self.device.give_back(active.memory.into_freed());
        }
    }
}

/// What was recorded of some buffers that others come from.
pub struct Recorded {
    // Dropped first: nothing runs any more when memory goes back.
    sequence: Box<dyn Sequence>,
    /// Inputs, then results.
    buffers: Vec<Buffer>,
    count: usize,
    kept: KeptMemory,
}

/// Gives the memory of a recording back when it is dropped.
struct KeptMemory {
    device: Device,
    number: u64,
}

impl Drop for KeptMemory {
    fn drop(&mut self) {
        let ended = self.device.recordings().changed(|state| state.kept.remove(&self.number));
        if let Some(kept) = ended {
            self.device.give_back(kept.memory.into_freed());
        }
    }
}

impl Recorded {
    /// What comes of other inputs. None once memory was given up that the recording reads.
    ///
    /// # Errors
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices), and as [`Buffer::unwritten`].
    pub fn run(
        &mut self,
        inputs: &[&Buffer],
        operation: &'static str,
    ) -> Result<Option<Vec<Buffer>>> {
        assert_eq!(inputs.len(), self.count, "as many inputs as were recorded");
        for (own, input) in self.buffers.iter_mut().zip(inputs) {
            own.overwrite(input, operation)?;
        }
        {
            // What is given up from now on is overwritten after this run, in the order of the calls.
            let mut state = self.kept.device.recordings().lock();
            // Its steps are not noted.
            state.active.iter_mut().for_each(Active::refuse);
            if !state.kept.get(&self.kept.number).is_some_and(|kept| kept.is_current) {
                return Ok(None);
            }
            // SAFETY: all memory that the steps write is that of the recording, of which the buffers
            // are borrowed mutably; what else they read is as it was.
            unsafe { self.sequence.run()? };
        }
        self.results(operation).map(Some)
    }

    /// Bytes that it takes on the device.
    pub fn nbytes(&self) -> u64 {
        let state = self.kept.device.recordings().lock();
        state.kept.get(&self.kept.number).map_or(0, |kept| kept.bytes)
    }

    /// Copies of the results as they are by now.
    ///
    /// # Errors
    /// As [`Buffer::unwritten`].
    pub fn results(&self, operation: &'static str) -> Result<Vec<Buffer>> {
        self.buffers[self.count..].iter().map(|result| result.duplicate(operation)).collect()
    }
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recorded({} buffers)", self.buffers.len())
    }
}
