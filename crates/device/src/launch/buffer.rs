//! Words in the memory of a device.

use super::device::Device;
use crate::{Error, Result};

/// Words in the memory of a device, which are given back when it is dropped.
#[derive(Debug)]
pub struct Buffer {
    device: Device,
    address: u64,
    words: usize,
}

impl Buffer {
    /// That many words of any content, to be overwritten.
    ///
    /// # Errors
    /// [`Error::MemoryBudget`], [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn unwritten(device: &Device, words: usize, operation: &'static str) -> Result<Self> {
        let address = device.allocate(words, operation)?;
        Ok(Self { device: device.clone(), address, words })
    }

    /// A copy of `words`.
    ///
    /// # Errors
    /// As [`Self::unwritten`].
    pub fn copied(device: &Device, words: &[u32], operation: &'static str) -> Result<Self> {
        let mut buffer = Self::unwritten(device, words.len(), operation)?;
        buffer.write(0, words)?;
        Ok(buffer)
    }

    /// A copy of the words of an index table, which nothing overwrites.
    ///
    /// # Errors
    /// As [`Self::unwritten`].
    pub(super) fn table(device: &Device, words: &[u32]) -> Result<Self> {
        let address = device.allocate_apart(words.len(), "store an index table")?;
        let mut buffer = Self { device: device.clone(), address, words: words.len() };
        device.recordings().note_table(address);
        buffer.write(0, words)?;
        Ok(buffer)
    }

    /// Overwrites the words from number `start` on.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub fn write(&mut self, start: usize, words: &[u32]) -> Result<()> {
        assert!(
            words.len() <= self.words && start <= self.words - words.len(),
            "a part of the buffer"
        );
        let address = self.address + (start * size_of::<u32>()) as u64;
        // SAFETY: the words lie in this buffer's memory, which it owns and has borrowed mutably.
        unsafe { self.device.write(address, words) }
    }

    /// A copy of the words, when all work on them is done.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub fn read(&self) -> Result<Vec<u32>> {
        let mut words = vec![0; self.words];
        // SAFETY: this buffer's memory has as many words.
        unsafe { self.device.read(self.address, &mut words)? };
        Ok(words)
    }

    /// A copy on the same device.
    ///
    /// # Errors
    /// As [`Self::unwritten`].
    pub fn duplicate(&self, operation: &'static str) -> Result<Self> {
        let mut copy = Self::unwritten(&self.device, self.words, operation)?;
        copy.overwrite(self, operation)?;
        Ok(copy)
    }

    /// Copies the words of another of as many.
    ///
    /// # Errors
    /// [`Error::DifferentDevices`], [`Error::DeviceLost`].
    pub fn overwrite(&mut self, other: &Self, operation: &'static str) -> Result<()> {
        other.check_device(&self.device, operation)?;
        assert_eq!(self.words, other.words, "buffers of one length");
        let (to, from) = (self.address_to_write(), other.address());
        // SAFETY: both buffers have as many words, on one device, and this one is borrowed mutably.
        unsafe { self.device.copy(to, from, self.words) }
    }

    /// How many words there are.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Where the words are.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Where a step of the device reads.
    pub(super) fn address(&self) -> u64 {
        self.device.recordings().note_read(self.address);
        self.address
    }

    /// Where a step of the device writes; the caller has borrowed the buffer mutably.
    pub(super) fn address_to_write(&self) -> u64 {
        self.device.recordings().note_write(self.address);
        self.address
    }

    /// Refuses buffers of different devices.
    pub(super) fn check_device(&self, device: &Device, operation: &'static str) -> Result<()> {
        if self.device.is(device) { Ok(()) } else { Err(Error::DifferentDevices { operation }) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the address came from this device for as many words, and this is its last use.
        unsafe { self.device.free(self.address, self.words) }
    }
}
