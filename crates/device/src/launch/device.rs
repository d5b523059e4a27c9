//! Devices and their memory budget.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::cuda::Cuda;
use super::engine::{Engine, Grid, Kernel, Sequence, Step};
use super::recording::{Freed, Recordings};
#[cfg(feature = "software")]
use super::software::{Order, Software};
use crate::{Error, Result};

/// The part of a device's free memory that its budget is by default: the rest is for the driver, and
/// for blocks of memory that lie between others.
const PART_BUDGETED: f64 = 0.9;

/// A device that ciphertexts, keys and plaintexts are sent to. Cloning shares it.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    engine: Box<dyn Engine>,
    budget: u64,
    used: AtomicU64,
    reserve: Mutex<Reserve>,
    recordings: Recordings,
}

/// Memory that was given back, kept for the next buffers of the same length: asking the driver for it
/// takes longer than many a kernel. What one buffer leaves may be overwritten by the next at once, as
/// all work is done in the order of the calls.
#[derive(Default)]
struct Reserve {
    /// Addresses by the number of words.
    free: BTreeMap<usize, Vec<u64>>,
    bytes: u64,
}

impl Reserve {
    fn take(&mut self, words: usize) -> Option<u64> {
        let address = self.free.get_mut(&words)?.pop()?;
        self.bytes -= bytes_of(words);
        Some(address)
    }

    fn put(&mut self, address: u64, words: usize) {
        self.free.entry(words).or_default().push(address);
        self.bytes += bytes_of(words);
    }

    fn give_back(&mut self, engine: &dyn Engine) {
        self.bytes = 0;
        for (words, addresses) in std::mem::take(&mut self.free) {
            for address in addresses {
                // SAFETY: the buffer that had it is gone, and nothing else knows the address.
                unsafe { engine.free(address, words) }
            }
        }
    }
}

fn bytes_of(words: usize) -> u64 {
    (words * size_of::<u32>()) as u64
}

impl Drop for Inner {
    fn drop(&mut self) {
        let reserve = self.reserve.get_mut().unwrap_or_else(PoisonError::into_inner);
        reserve.give_back(self.engine.as_ref());
    }
}

/// Bytes of a device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// What may be used.
    pub budget: u64,
    /// What is used.
    pub used: u64,
}

impl Device {
    /// GPU number `ordinal`, of which `budget` bytes may be used, by default nine tenths of those
    /// that are free.
    ///
    /// # Errors
    /// [`Error::NoDriver`], [`Error::NoCompiler`], [`Error::NoDevice`],
    /// [`Error::UnsupportedDevice`], [`Error::Driver`].
    pub fn cuda(ordinal: u32, budget: Option<u64>) -> Result<Self> {
        let engine = Cuda::new(ordinal)?;
        let budget = match (budget, engine.free_bytes()?) {
            (Some(bytes), _) => bytes,
            (None, Some(free)) => (free as f64 * PART_BUDGETED) as u64,
            (None, None) => u64::MAX,
        };
        Ok(Self::new(Box::new(engine), budget))
    }

    /// A device in software, which runs the kernels of a GPU one thread after the other, for tests.
    #[cfg(feature = "software")]
    pub fn software(budget: u64) -> Self {
        Self::software_in_order(budget, Order::Rising)
    }

    /// [`Self::software`] with an order of blocks and threads, which no result may depend on.
    #[cfg(feature = "software")]
    pub fn software_in_order(budget: u64, order: Order) -> Self {
        Self::new(Box::new(Software { order }), budget)
    }

    fn new(engine: Box<dyn Engine>, budget: u64) -> Self {
        let (used, reserve, recordings) = Default::default();
        Self(Arc::new(Inner { engine, budget, used, reserve, recordings }))
    }

    /// What the device calls itself.
    pub fn name(&self) -> String {
        self.0.engine.name()
    }

    /// How much memory is used, and how much may be.
    pub fn memory(&self) -> Memory {
        Memory { budget: self.0.budget, used: self.0.used.load(Ordering::Relaxed) }
    }

    /// Refuses what needs more memory than is left of the budget, before it runs.
    ///
    /// # Errors
    /// [`Error::MemoryBudget`].
    pub fn require(&self, bytes: u64, operation: &'static str) -> Result<()> {
        self.give_back(self.recordings().refused());
        let Memory { budget, used } = self.memory();
        if bytes <= budget.saturating_sub(used) {
            return Ok(());
        }
        Err(self.exceeded(bytes, used, operation))
    }

    /// The refusal of what needs more memory than so many used bytes leave of the budget.
    fn exceeded(&self, needed: u64, used: u64, operation: &'static str) -> Error {
        let budget = self.0.budget;
        Error::MemoryBudget { operation, needed, available: budget.saturating_sub(used), budget }
    }

    /// Waits until all work is done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], if the device failed in the meantime.
    pub fn synchronize(&self) -> Result<()> {
        self.0.engine.synchronize()
    }

    /// Seconds that the device spends on `work`, by its own clock.
    ///
    /// # Errors
    /// Those of `work`, and [`Error::DeviceLost`].
    pub fn seconds(&self, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        self.0.engine.seconds(&mut work)
    }

    /// Whether both are one device.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The address of that many words, within the budget.
    pub(super) fn allocate(&self, words: usize, operation: &'static str) -> Result<u64> {
        match self.recordings().take(words) {
            Some(address) => Ok(address),
            None => self.allocate_apart(words, operation),
        }
    }

    /// [`Self::allocate`] where no step of a recording has written.
    pub(super) fn allocate_apart(&self, words: usize, operation: &'static str) -> Result<u64> {
        self.give_back(self.recordings().refused());
        let bytes = bytes_of(words);
        let grown = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.0.budget);
        self.0
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .map_err(|used| self.exceeded(bytes, used, operation))?;
        let address = self.found_or_allocated(words).inspect_err(|_| self.forget(bytes))?;
        self.recordings().took(address, words);
        Ok(address)
    }

    /// Memory from the reserve, else from the engine; where that makes too much, or the engine has
    /// none, the reserve goes back first.
    fn found_or_allocated(&self, words: usize) -> Result<u64> {
        let (engine, memory) = (self.0.engine.as_ref(), self.memory());
        let mut reserve = self.0.reserve.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = reserve.take(words) {
            return Ok(address);
        }
        if memory.used + reserve.bytes > memory.budget {
            reserve.give_back(engine);
        }
        match engine.allocate(words) {
            Err(Error::OutOfMemory { .. }) if reserve.bytes > 0 => {
                reserve.give_back(engine);
                engine.allocate(words)
            }
            made => made,
        }
    }

    fn forget(&self, bytes: u64) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// As [`Engine::free`].
    pub(super) unsafe fn free(&self, address: u64, words: usize) {
        if !self.recordings().take_back(address) {
            self.put_back(address, words);
        }
    }

    /// Takes back what recordings had.
    pub(super) fn give_back(&self, freed: Freed) {
        for (address, words) in freed {
            self.put_back(address, words);
        }
    }

    fn put_back(&self, address: u64, words: usize) {
        self.forget(bytes_of(words));
        let mut reserve = self.0.reserve.lock().unwrap_or_else(PoisonError::into_inner);
        reserve.put(address, words);
    }

    /// Its recordings.
    pub(super) fn recordings(&self) -> &Recordings {
        &self.0.recordings
    }

    /// Makes steps ready to be done again, as one.
    ///
    /// # Safety
    /// As [`Engine::assemble`].
    pub(super) unsafe fn assemble(&self, steps: Vec<Step>) -> Result<Box<dyn Sequence>> {
        // SAFETY: the caller's promise is that of the engine.
        unsafe { self.0.engine.assemble(steps) }
    }

    /// Copies words to the device.
    ///
    /// # Safety
    /// As [`Engine::write`].
    pub(super) unsafe fn write(&self, address: u64, words: &[u32]) -> Result<()> {
        self.recordings().note_host_write(address);
        // SAFETY: the caller's promise is that of the engine.
        unsafe { self.0.engine.write(address, words) }
    }

    /// Copies words from the device.
    ///
    /// # Safety
    /// As [`Engine::read`].
    pub(super) unsafe fn read(&self, address: u64, words: &mut [u32]) -> Result<()> {
        self.recordings().note_host_read();
        // SAFETY: the caller's promise is that of the engine.
        unsafe { self.0.engine.read(address, words) }
    }

    /// Copies words within the device.
    ///
    /// # Safety
    /// As [`Engine::copy`].
    pub(super) unsafe fn copy(&self, to: u64, from: u64, words: usize) -> Result<()> {
        self.recordings().note(|| Step::Copy { to, from, words });
        // SAFETY: the caller's promise is that of the engine.
        unsafe { self.0.engine.copy(to, from, words) }
    }

    /// Makes the kernels of a ring of degree 2^`log_n` ready.
    pub(super) fn prepare(&self, log_n: u32) -> Result<()> {
        self.0.engine.prepare(log_n)
    }

    /// Runs a kernel on a grid that has blocks, on a ring that was prepared.
    ///
    /// # Safety
    /// `A` is laid out as the kernel's source declares, and all that the kernel reads or writes by
    /// `arguments` lies in buffers of this device.
    pub(super) unsafe fn launch<A>(
        &self,
        kernel: Kernel,
        log_n: u32,
        grid: Grid,
        arguments: &A,
    ) -> Result<()> {
        if grid.columns * grid.rows == 0 {
            return Ok(());
        }
        self.recordings().note(|| Step::launch(kernel, log_n, grid, arguments));
        // SAFETY: the caller's promise is that of the engine. Buffers that are dropped are freed in
        // the order of the launches, after the kernel.
        unsafe { self.0.engine.launch(kernel, log_n, grid, std::ptr::from_ref(arguments).cast()) }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}
