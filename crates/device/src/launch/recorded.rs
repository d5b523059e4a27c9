//! A recording while it is made, and what it was made of as it is run again.

use std::fmt;

use super::buffer::Buffer;
use super::device::Device;
use super::engine::Sequence;
use crate::{Error, Result};

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
        let number = self.recordings().begin(limit)?;
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
                input.check_device(&self.device, operation)?;
                input.duplicate(operation)
            })
            .collect();
        // Each run copies its own.
        self.device.recordings().start_here();
        copies
    }

    /// Ends the recording of what made `results` of `inputs`; both were taken while it was made. The
    /// results come back beside it. No recording comes where something was done that cannot be
    /// recorded, or where another buffer that was written is still in use.
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
        let own = inputs.iter().chain(&results).map(Buffer::address).collect();
        let Some(steps) = device.recordings().finish(self.number, &own) else {
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
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.device.give_back(self.device.recordings().abandon(self.number));
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
        self.device.give_back(self.device.recordings().forget(self.number));
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
        let KeptMemory { device, number } = &self.kept;
        // SAFETY: all memory that the steps write is that of the recording, of which the buffers are
        // borrowed mutably; what else they read is as it was, while it is current.
        let run = || unsafe { self.sequence.run() };
        if !device.recordings().run(*number, run)? {
            return Ok(None);
        }
        self.results(operation).map(Some)
    }

    /// Bytes that it takes on the device.
    pub fn nbytes(&self) -> u64 {
        self.kept.device.recordings().bytes(self.kept.number)
    }

    /// Copies of the results as they are by now.
    ///
    /// # Errors
    /// As [`Buffer::unwritten`].
    pub fn results(&self, operation: &'static str) -> Result<Vec<Buffer>> {
        self.buffers[self.count..].iter().map(|result| result.duplicate(operation)).collect()
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorded({} buffers)", self.buffers.len())
    }
}
