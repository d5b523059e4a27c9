//! Parameters as the machine uses them.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::literal::{SecretDistribution, is_secure};
use crate::chain::Chain;

use crate::ring::convert::Conversion;
use crate::ring::division::Division;
use crate::ring::kernels;
use crate::ring::modulus::product;
use crate::ring::poly::{Basis, Poly, Ring};
use crate::{Error, Result};

/// Transforms that are timed at most.
const MAX_REPETITIONS: usize = 1 << 20;

/// Ring, modulus chain, secret distribution and their tables: what CKKS and BGV share.
///
/// Cloning is cheap. Two sets are equal when their fingerprints are.
#[derive(Clone)]
pub struct Parameters(Arc<Tables>);

struct Tables {
    chain: Chain,
    secret: SecretDistribution,
    ring: Ring,
    special: Basis,
    levels: Vec<Level>,
    scheme: Vec<u8>,
    /// Made when first used: it takes the tables of all transforms, which planning does not.
    fingerprint: OnceLock<[u8; 16]>,
    title: String,
}

/// What operations at one level need; made when first used.
struct Level {
    basis: Basis,
    extended: Basis,
    digits: OnceLock<Vec<Digit>>,
    division_by_special: OnceLock<Division>,
    rescale: OnceLock<Division>,
    rescale_from_extended: OnceLock<Division>,
}

/// One key-switching digit at one level.
#[derive(Debug)]
pub(crate) struct Digit {
    /// Its number in a key.
    pub(crate) index: usize,
    pub(crate) own: Basis,
    /// The other primes of the level, and the special ones.
    pub(crate) others: Basis,
    /// From `own` to `others`.
    pub(crate) conversion: Conversion,
}

impl Parameters {
    /// The tables of a chain in degree 2^`log_n`. Nothing but sets of the same `scheme` are equal;
    /// `title` says what the scheme makes of them, where they or their keys are printed.
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for primes that are not 1 modulo 2N.
    pub(crate) fn new(
        log_n: u32,
        chain: Chain,
        secret: SecretDistribution,
        scheme: &[u8],
        title: String,
    ) -> Result<Self> {
        let primes: Vec<u32> = chain.q_primes.iter().chain(&chain.p_primes).copied().collect();
        let ring = Ring::new(log_n, &primes)?;
        let special = Basis::new(chain.q_primes.len()..primes.len());
        let levels = chain
            .levels
            .iter()
            .map(|level| {
                let basis = Basis::new(level.primes.iter().copied());
                let extended = basis.union(&special);
                Level {
                    basis,
                    extended,
                    digits: OnceLock::new(),
                    division_by_special: OnceLock::new(),
                    rescale: OnceLock::new(),
                    rescale_from_extended: OnceLock::new(),
                }
            })
            .collect();
        let fingerprint = OnceLock::new();
        let scheme = scheme.to_vec();
        let tables = Tables { chain, secret, ring, special, levels, scheme, fingerprint, title };
        Ok(Self(Arc::new(tables)))
    }

    /// How secret keys are drawn.
    pub fn secret(&self) -> SecretDistribution {
        self.0.secret
    }

    /// log2 of the ring degree.
    pub fn log_n(&self) -> u32 {
        self.0.ring.log_n
    }

    /// The ring degree.
    pub fn n(&self) -> usize {
        self.0.ring.n()
    }

    /// Slots of a full CKKS packing and of each BGV row, N / 2.
    pub fn slots(&self) -> usize {
        self.n() / 2
    }

    /// The highest level: how many times a fresh ciphertext can be rescaled.
    pub fn max_level(&self) -> usize {
        self.0.levels.len() - 1
    }

    /// The modulus chain.
    pub fn chain(&self) -> &Chain {
        &self.0.chain
    }

    /// Whether the set is 128-bit secure by the table of [`crate::security`].
    pub fn is_secure(&self) -> bool {
        is_secure(self.log_n(), self.0.secret, &self.0.chain)
    }

    /// What everything made under these parameters says of its security when printed.
    pub(crate) fn security(&self) -> &'static str {
        if self.is_secure() { "128-bit secure" } else { "INSECURE" }
    }

    /// Bits of the largest prime of any level: see [`Chain::word_bits`].
    pub fn word_bits(&self) -> u32 {
        self.0.chain.word_bits()
    }

    /// log2 of the modulus of a level.
    pub fn log_q(&self, level: usize) -> Result<f64> {
        Ok(self.0.ring.bits(self.basis(level, "measure a modulus")?))
    }

    /// log2 of the largest modulus, key-switching primes included.
    pub fn log_qp(&self) -> f64 {
        let top = &self.0.levels[self.max_level()];
        self.0.ring.bits(&top.extended)
    }

    /// Word primes of the largest modulus, key-switching primes included.
    pub fn key_limbs(&self) -> usize {
        self.0.levels[self.max_level()].extended.len()
    }

    /// Word primes of the modulus of a level.
    pub fn limbs(&self, level: usize) -> Result<usize> {
        Ok(self.basis(level, "count primes")?.len())
    }

    /// The canonical scale of a level: what two canonical ciphertexts of the level
    /// above have after multiplication and rescaling.
    pub fn scale(&self, level: usize) -> Result<f64> {
        self.check_level(level, "look up a scale")?;
        Ok(self.0.chain.levels[level].scale)
    }

    /// What rescaling from `level` to the next lower one divides the scale by.
    pub fn rescale_factor(&self, level: usize) -> Result<f64> {
        self.check_level(level, "rescale")?;
        if level == 0 {
            return Err(Error::LevelExhausted { operation: "rescale", needed: 1, available: 0 });
        }
        let (from, to) = (&self.0.levels[level].basis, &self.0.levels[level - 1].basis);
        // At most four primes leave and four join, so that there are few roundings.
        let product = |basis: Basis| {
            basis.iter().map(|p| f64::from(self.0.ring.modulus(p).q)).product::<f64>()
        };
        Ok(product(from.difference(to)) / product(to.difference(from)))
    }

    /// Seconds that a forward transform of one limb takes on one thread, as the median of
    /// `repetitions`: the unit in which the engine's speed is stated on any machine.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no repetitions or more than 2^20.
    pub fn transform_seconds(&self, repetitions: usize) -> Result<f64> {
        if !(1..=MAX_REPETITIONS).contains(&repetitions) {
            let reason = format!("expected 1 to {MAX_REPETITIONS} repetitions, got {repetitions}");
            return Err(Error::InvalidArgument { operation: "time a transform", reason });
        }
        let ring = self.ring();
        let mut limb = system_memory::filled(1, ring.n());
        let mut time = |_| {
            let start = Instant::now();
            ring.primes[0].forward(&mut limb);
            start.elapsed().as_secs_f64()
        };
        let mut seconds: Vec<f64> = (0..repetitions).map(&mut time).collect();
        seconds.sort_by(f64::total_cmp);
        Ok(seconds[repetitions / 2])
    }

    /// A digest of the primes, their roots of unity, the secret's distribution, the levels, the
    /// digits and the plaintext modulus:
    /// equal exactly when objects may be mixed.
    pub fn fingerprint(&self) -> [u8; 16] {
        *self.0.fingerprint.get_or_init(|| fingerprint(&self.0))
    }

    pub(crate) fn ring(&self) -> &Ring {
        &self.0.ring
    }

    /// The key-switching primes.
    pub(crate) fn special(&self) -> &Basis {
        &self.0.special
    }

    /// Multiplies `x` by P^-1, P the product of the key-switching primes, modulo every other prime.
    pub(crate) fn premultiply_by_inverse(&self, x: &mut Poly) {
        let ring = self.ring();
        let special = || self.0.special.iter().map(|p| ring.modulus(p).q);
        let limbs =
            x.par_limbs_mut().shared().filter(|(position, _)| !self.0.special.contains(*position));
        limbs.for_each(|(position, limb)| {
            let modulus = ring.modulus(position);
            let inverse = modulus.inv(product(modulus, special()));
            kernels::scale(modulus, limb, modulus.to_montgomery(inverse));
        });
    }

    /// P times `x`, over the primes of `level` and the key-switching primes, premultiplied by P^-1.
    pub(crate) fn multiply_by_special(&self, level: usize, x: &Poly) -> Poly {
        let ring = self.ring();
        let mut multiple = ring.zero(self.extended_basis(level));
        multiple
            .par_limbs_mut()
            .shared()
            .filter(|(position, _)| x.basis.contains(*position))
            .for_each(|(position, limb)| limb.copy_from_slice(x.limb(position)));
        multiple
    }

    pub(crate) fn check_level(&self, level: usize, operation: &'static str) -> Result<()> {
        if level > self.max_level() {
            let expected = self.max_level();
            return Err(Error::LevelMismatch { operation, expected, actual: level });
        }
        Ok(())
    }

    /// The primes of a level.
    pub(crate) fn basis(&self, level: usize, operation: &'static str) -> Result<&Basis> {
        self.check_level(level, operation)?;
        Ok(&self.0.levels[level].basis)
    }

    /// The primes of a level that was checked when its ciphertext was made.
    pub(crate) fn level_basis(&self, level: usize) -> &Basis {
        &self.0.levels[level].basis
    }

    /// The primes of a level, and the key-switching primes.
    pub(crate) fn extended_basis(&self, level: usize) -> &Basis {
        &self.0.levels[level].extended
    }

    /// The primes of a key that serves `level` and every level below it.
    pub(crate) fn key_basis(&self, level: usize) -> Basis {
        Basis::new(self.0.levels[..=level].iter().flat_map(|level| level.extended.iter()))
    }

    /// The key-switching digits at a level, empty ones left out.
    pub(crate) fn digits(&self, level: usize) -> &[Digit] {
        let tables = &self.0.levels[level];
        tables.digits.get_or_init(|| {
            let digits = self.0.chain.digits.iter().enumerate();
            digits
                .filter_map(|(index, members)| {
                    let members = members.iter().copied();
                    let own = Basis::new(members.filter(|&p| tables.basis.contains(p)));
                    (own.len() > 0).then(|| self.digit(index, own, &tables.extended))
                })
                .collect()
        })
    }

    fn digit(&self, index: usize, own: Basis, extended: &Basis) -> Digit {
        let ring = &self.0.ring;
        let others = extended.difference(&own);
        let (sources, targets) = (ring.moduli(&own), ring.moduli(&others));
        let conversion = Conversion::new(ring.log_n, &sources, &targets, |_| 1, |_| 1);
        Digit { index, own, others, conversion }
    }

    /// Division by the key-switching primes, at a level, of what is held divided.
    pub(crate) fn division_by_special(&self, level: usize) -> &Division {
        let tables = &self.0.levels[level];
        tables
            .division_by_special
            .get_or_init(|| self.division_of_divided(&tables.extended, &tables.basis))
    }

    fn division_of_divided(&self, from: &Basis, to: &Basis) -> Division {
        Division::of_divided(&self.0.ring, from, to, &self.0.special)
    }

    /// Rescaling from `level`, at least 1.
    pub(crate) fn rescale(&self, level: usize) -> &Division {
        let (tables, below) = (&self.0.levels[level], &self.0.levels[level - 1]);
        tables.rescale.get_or_init(|| Division::new(&self.0.ring, &tables.basis, &below.basis))
    }

    /// Division by the key-switching primes and rescaling in one, from `level`, at least 1, of
    /// what is held divided.
    pub(crate) fn rescale_from_extended(&self, level: usize) -> &Division {
        let (tables, below) = (&self.0.levels[level], &self.0.levels[level - 1]);
        tables
            .rescale_from_extended
            .get_or_init(|| self.division_of_divided(&tables.extended, &below.basis))
    }

    /// Refuses objects of other parameters.
    pub(crate) fn check_same(&self, other: &Self, operation: &'static str) -> Result<()> {
        if self == other { Ok(()) } else { Err(Error::ParametersMismatch { operation }) }
    }
}

/// The roots of unity are part of it: values in the evaluation domain mean nothing without them.
fn fingerprint(tables: &Tables) -> [u8; 16] {
    let Tables { ring, chain, .. } = tables;
    let mut hash = Sha256::new();
    hash.update(b"cloakwork parameters 2");
    hash.update(ring.log_n.to_le_bytes());
    hash.update((chain.q_primes.len() as u64).to_le_bytes());
    for prime in &ring.primes {
        let mut x = vec![0; ring.n()];
        x[1] = 1;
        prime.forward(&mut x);
        hash.update(prime.modulus.q.to_le_bytes());
        hash.update(x[0].to_le_bytes());
    }
    let weight = match tables.secret {
        SecretDistribution::Ternary => 0,
        SecretDistribution::FixedWeight(weight) => weight as u64,
    };
    hash.update(weight.to_le_bytes());
    for level in &chain.levels {
        hash.update((level.primes.len() as u64).to_le_bytes());
        level.primes.iter().for_each(|&p| hash.update((p as u64).to_le_bytes()));
        hash.update(level.scale.to_bits().to_le_bytes());
    }
    for digit in &chain.digits {
        hash.update((digit.len() as u64).to_le_bytes());
        digit.iter().for_each(|&p| hash.update((p as u64).to_le_bytes()));
    }
    hash.update(&tables.scheme);
    let digest = hash.finalize();
    std::array::from_fn(|i| digest[i])
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.fingerprint() == other.fingerprint()
    }
}

impl Eq for Parameters {}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, log2 QP = {:.1} in {} primes, {} key-switching digits, {}",
            self.0.title,
            self.log_qp(),
            self.key_limbs(),
            self.0.chain.digits.len(),
            self.security(),
        )
    }
}

impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parameters({self})")
    }
}
