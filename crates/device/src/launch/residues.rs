//! The primes of a ring and their roots of unity on a device.

use rlwe::chain::{MAX_LOG_N, MIN_LOG_N};
use rlwe::tables::PrimeTable;

use super::buffer::Buffer;
use super::device::Device;
use super::engine::{Grid, Kernel};
use crate::Result;

/// Words of a prime with the constants of its reductions: `Prime` of `kernels/arithmetic.h`.
const PRIME_WORDS: usize = 4;
/// Words of a root of unity beside its quotient: `Twiddle` of `kernels/arithmetic.h`.
const TWIDDLE_WORDS: usize = 2;

/// The primes of a ring on a device, with their roots of unity.
#[derive(Debug)]
pub struct Residues {
    device: Device,
    log_n: u32,
    count: usize,
    primes: Buffer,
    twiddles: Buffer,
}

impl Residues {
    /// The ring of degree 2^`log_n` over `primes`.
    ///
    /// # Errors
    /// As [`Buffer::unwritten`], and [`Error::Compilation`](crate::Error::Compilation).
    pub fn new(device: &Device, log_n: u32, primes: &[PrimeTable]) -> Result<Self> {
        assert!((MIN_LOG_N..=MAX_LOG_N).contains(&log_n), "a ring that the engine has");
        let operation = "store a ring's tables";
        device.require(Self::bytes(log_n, primes.len()), operation)?;
        device.prepare(log_n)?;
        let constants: Vec<u32> = primes.iter().flat_map(|prime| constants(prime.q)).collect();
        let mut twiddles =
            Buffer::unwritten(device, (TWIDDLE_WORDS * primes.len()) << log_n, operation)?;
        for (index, prime) in primes.iter().enumerate() {
            let words = roots(log_n, prime);
            twiddles.write(index * words.len(), &words)?;
        }
        Ok(Self {
            device: device.clone(),
            log_n,
            count: primes.len(),
            primes: Buffer::copied(device, &constants, operation)?,
            twiddles,
        })
    }

    /// Bytes that the tables of a ring take on a device.
    pub fn bytes(log_n: u32, primes: usize) -> u64 {
        (primes * (PRIME_WORDS + (TWIDDLE_WORDS << log_n)) * size_of::<u32>()) as u64
    }

    /// log2 of the ring degree.
    pub fn log_n(&self) -> u32 {
        self.log_n
    }

    /// The ring degree.
    pub fn n(&self) -> usize {
        1 << self.log_n
    }

    /// The device of the tables.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Words of that many limbs.
    pub fn words(&self, limbs: usize) -> usize {
        limbs << self.log_n
    }

    /// Bytes of that many limbs.
    pub fn limb_bytes(&self, limbs: usize) -> u64 {
        (self.words(limbs) * size_of::<u32>()) as u64
    }

    /// Runs a kernel on this ring.
    ///
    /// # Safety
    /// As [`Device::launch`].
    pub(super) unsafe fn launch<A>(&self, kernel: Kernel, grid: Grid, arguments: &A) -> Result<()> {
        // SAFETY: the caller's promise is that of the device, which has prepared the ring.
        unsafe { self.device.launch(kernel, self.log_n, grid, arguments) }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn primes(&self) -> u64 {
        self.primes.address()
    }

    pub(super) fn twiddles(&self) -> u64 {
        self.twiddles.address()
    }

    /// Limbs that a buffer holds.
    pub(super) fn limbs(&self, buffer: &Buffer) -> usize {
        buffer.words() >> self.log_n
    }
}

/// q, q^-1 mod 2^32, floor(2^(2b) / q) and b, the bit length of q.
fn constants(q: u32) -> [u32; PRIME_WORDS] {
    let mut inverse = 1u32;
    // Newton's iteration doubles the number of right bits.
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(q.wrapping_mul(inverse)));
    }
    let bits = u32::BITS - q.leading_zeros();
    let barrett = ((1u64 << (2 * bits)) / u64::from(q)) as u32;
    [q, inverse, barrett, bits]
}

/// psi^rev(i) for every i, each beside its quotient.
fn roots(log_n: u32, prime: &PrimeTable) -> Vec<u32> {
    let (q, n) = (u64::from(prime.q), 1usize << log_n);
    let mut words = vec![0; TWIDDLE_WORDS * n];
    let mut power = 1u64;
    for exponent in 0..n {
        let place = exponent.reverse_bits() >> (usize::BITS - log_n);
        words[TWIDDLE_WORDS * place] = power as u32;
        words[TWIDDLE_WORDS * place + 1] = ((power << 32) / q) as u32;
        power = power * u64::from(prime.root) % q;
    }
    words
}
