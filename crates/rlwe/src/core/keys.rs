//! Secret, public and switching keys.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::literal::SecretDistribution;
use super::parameters::{Digit, Parameters};
use crate::parallel;
use crate::ring::automorphism::{
    Automorphism, conjugation_element, inverse_element, rotation_element,
};
use crate::ring::buffers;
use crate::ring::bundle::{Bundle, TILE};
use crate::ring::kernels;
use crate::ring::poly::{Basis, Poly, Ring, SecretPoly};
use crate::sampling::{self, Generator, Seed};
use crate::{Error, Result};

/// Which secret key an object belongs to: a random public label, not derived from the key.
pub(crate) type KeyId = [u8; 16];

/// The key that decrypts. Wiped from memory when dropped; never printed.
#[derive(Clone)]
pub struct SecretKey {
    pub(crate) parameters: Parameters,
    pub(crate) id: KeyId,
    pub(crate) coefficients: Zeroizing<Vec<i8>>,
    /// Over every prime, in Montgomery form.
    pub(crate) values: SecretPoly,
}

/// A key that encrypts and does nothing else.
#[derive(Clone)]
pub struct PublicKey {
    pub(crate) parameters: Parameters,
    pub(crate) id: KeyId,
    pub(crate) seed: Seed,
    /// Both halves over every prime, held divided, in Montgomery form; the second is expanded
    /// from the seed.
    pub(crate) halves: [Poly; 2],
}

/// Takes a polynomial from one secret to another: for every digit an encryption of
/// the first secret times P under the second.
#[derive(Clone, PartialEq)]
pub struct SwitchingKey {
    pub(crate) level: usize,
    pub(crate) seed: Seed,
    /// The numbers of the digits of the chain that have primes at the level.
    pub(crate) digits: Vec<usize>,
    pub(crate) halves: Halves,
}

/// The halves of a key for each of its digits, held divided, in Montgomery form. The second ones
/// are uniform, and what the seed expands to.
#[derive(Clone, PartialEq)]
pub(crate) enum Halves {
    /// First and second half of each digit.
    Both(Bundle),
    /// The first halves; the second ones are expanded whenever the key is used.
    First(Bundle),
}

/// Both halves of a key for each of its digits, tile by tile, modulo one prime.
pub(crate) enum KeyLimb<'a> {
    Held(&'a [u32]),
    Expanded(Vec<u32>),
}

impl Deref for KeyLimb<'_> {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match self {
            Self::Held(limb) => limb,
            Self::Expanded(limb) => limb,
        }
    }
}

impl Drop for KeyLimb<'_> {
    fn drop(&mut self) {
        if let Self::Expanded(limb) = self {
            buffers::give(std::mem::take(limb));
        }
    }
}

/// What an evaluator holds: a relinearisation key, Galois keys and product keys, each for a level
/// and those below it. None of it decrypts. Cloning shares the keys.
#[derive(Clone)]
pub struct EvaluationKeys {
    pub(crate) parameters: Parameters,
    pub(crate) id: KeyId,
    pub(crate) relinearisation: Option<Arc<SwitchingKey>>,
    /// By Galois element.
    pub(crate) galois: BTreeMap<usize, Arc<SwitchingKey>>,
    /// From the product of the secret and its image under X -> X^g to the secret, by g; that of 1
    /// is the relinearisation key.
    pub(crate) products: BTreeMap<usize, Arc<SwitchingKey>>,
    /// For raising the modulus under a sparse secret.
    pub(crate) encapsulation: Option<Arc<EncapsulationKeys>>,
}

/// The keys that a product at a rotation is switched by.
pub(crate) struct ProductKeys<'a> {
    /// Galois element and key of the rotation; none for that by 0.
    pub(crate) rotation: Option<(usize, &'a SwitchingKey)>,
    /// From s sigma(s) to s.
    pub(crate) product: &'a SwitchingKey,
}

/// The keys of sparse-secret encapsulation: to a sparse secret and back.
#[derive(Clone, PartialEq)]
pub(crate) struct EncapsulationKeys {
    /// Nonzero coefficients of the sparse secret.
    pub(crate) weight: usize,
    pub(crate) seed: Seed,
    /// To the sparse secret: an encryption under it of p0 times the other, over the primes of
    /// [`encapsulation_basis`](super::encapsulation::encapsulation_basis), in Montgomery form; the second half is expanded from the seed.
    pub(crate) to_sparse: [Poly; 2],
    /// From the sparse secret, at the top level.
    pub(crate) from_sparse: SwitchingKey,
}

/// Which evaluation keys to make, and for which level each.
///
/// ```
/// use rlwe::keys::EvaluationKeysRequest;
/// let request = EvaluationKeysRequest {
///     relinearisation_level: Some(2),
///     rotations: vec![(1, 2), (-4, 1)],
///     ..EvaluationKeysRequest::default()
/// };
/// # let _ = request;
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvaluationKeysRequest {
    /// The highest level at which ciphertexts are multiplied.
    pub relinearisation_level: Option<usize>,
    /// Left rotations in slots, each with the highest level at which it is used.
    pub rotations: Vec<(i64, usize)>,
    /// The highest level at which ciphertexts are conjugated.
    pub conjugation_level: Option<usize>,
    /// Any other automorphisms X -> X^g, by odd g below 2N, each with the highest level at
    /// which it is used.
    pub automorphisms: Vec<(usize, usize)>,
    /// Rotations in slots of the left side of rotated products, each with the highest level at
    /// which such a product is switched. A rotation by 0 takes the relinearisation key, any other a
    /// Galois key too, which is asked for among `rotations`.
    ///
    /// The key of a rotation takes the product of the secret and its rotation to the secret: like
    /// a relinearisation key it encrypts a function of the secret under the secret itself, and
    /// rests on the same assumption of circular security.
    pub rotated_products: Vec<(i64, usize)>,
    /// The weight of a sparse secret under which the modulus is raised, as bootstrapping does.
    pub encapsulation_weight: Option<usize>,
}

impl SecretKey {
    /// A fresh key from the operating system's randomness.
    ///
    /// # Errors
    /// [`Error::Randomness`] when the operating system gives none.
    pub fn generate(parameters: &Parameters) -> Result<Self> {
        let mut generator = Generator::from_os()?;
        let n = parameters.n();
        let coefficients = match parameters.secret() {
            SecretDistribution::Ternary => sampling::ternary(&mut generator, n),
            SecretDistribution::FixedWeight(weight) => {
                sampling::fixed_weight_ternary(&mut generator, n, weight)?
            }
        };
        let label = generator.public_seed().0;
        let id = std::array::from_fn(|i| label[i]);
        Ok(Self::from_coefficients(parameters, id, coefficients))
    }

    pub(crate) fn from_coefficients(
        parameters: &Parameters,
        id: KeyId,
        coefficients: Zeroizing<Vec<i8>>,
    ) -> Self {
        let ring = parameters.ring();
        let mut values = SecretPoly(ring.small(&every_prime(parameters), &coefficients));
        ring.to_montgomery(&mut values.0);
        Self { parameters: parameters.clone(), id, coefficients, values }
    }

    /// The parameters of the key.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Which secret key this is: a random public label, not derived from the key.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// A fresh public key.
    ///
    /// # Errors
    /// [`Error::Randomness`] when the operating system gives none.
    pub fn public_key(&self) -> Result<PublicKey> {
        let mut generator = Generator::from_os()?;
        let seed = generator.public_seed();
        let half = expand_half(&self.parameters, &seed, 0, &every_prime(&self.parameters))?;
        let first = self.encryption_of_zero(&mut generator, &self.values, &half);
        Ok(PublicKey {
            parameters: self.parameters.clone(),
            id: self.id,
            seed,
            halves: [first, half],
        })
    }

    /// e - half * secret for an e held divided, in Montgomery form as `half` and `secret` are.
    fn encryption_of_zero(
        &self,
        generator: &mut Generator,
        secret: &SecretPoly,
        half: &Poly,
    ) -> Poly {
        let ring = self.parameters.ring();
        let error = sampling::gaussian(generator, ring.n());
        let mut error = SecretPoly(ring.small(&half.basis, &error));
        ring.to_montgomery(&mut error.0);
        self.parameters.premultiply_by_inverse(&mut error.0);
        let mut mask = SecretPoly(half.clone());
        ring.mul_montgomery(&mut mask.0, &secret.0);
        ring.sub(&mut error.0, &mask.0);
        error.0.clone()
    }

    /// The keys of `request`, for a given set of secrets made in parallel.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`] for a level above the chain, [`Error::Randomness`];
    /// [`Error::InsecureParameters`] for a sparse secret that is less secure than the parameters.
    pub fn evaluation_keys(&self, request: &EvaluationKeysRequest) -> Result<EvaluationKeys> {
        let log_n = self.parameters.log_n();
        let mut levels = highest_levels(log_n, &request.rotations);
        let mut of_products = highest_levels(log_n, &request.rotated_products);
        // None is below every level.
        let relinearisation_level = request.relinearisation_level.max(of_products.remove(&1));
        if let Some(level) = request.conjugation_level {
            levels.insert(conjugation_element(log_n), level);
        }
        for &(element, level) in &request.automorphisms {
            check_element(log_n, element, "make evaluation keys")?;
            let entry = levels.entry(element).or_insert(level);
            *entry = level.max(*entry);
        }
        levels.remove(&1);
        let requested = levels.values().chain(of_products.values()).chain(&relinearisation_level);
        for &level in requested {
            self.parameters.check_level(level, "make evaluation keys")?;
        }
        let relinearisation = match relinearisation_level {
            Some(level) => Some(Arc::new(self.relinearisation_key(level)?)),
            None => None,
        };
        let galois = parallel::over(Vec::from_iter(levels))
            .shared()
            .map(|(element, level)| Ok((element, Arc::new(self.galois_key(element, level)?))))
            .collect::<Result<_>>()?;
        let products = parallel::over(Vec::from_iter(of_products))
            .shared()
            .map(|(element, level)| Ok((element, Arc::new(self.product_key(element, level)?))))
            .collect::<Result<_>>()?;
        let encapsulation = match request.encapsulation_weight {
            Some(weight) => Some(Arc::new(self.encapsulation_keys(weight)?)),
            None => None,
        };
        Ok(EvaluationKeys {
            parameters: self.parameters.clone(),
            id: self.id,
            relinearisation,
            galois,
            products,
            encapsulation,
        })
    }

    fn relinearisation_key(&self, level: usize) -> Result<SwitchingKey> {
        let mut square = self.values.clone();
        self.parameters.ring().mul_montgomery(&mut square.0, &self.values.0);
        self.switching_key(&square, &self.values, level)
    }

    /// From s to g^-1(s): after it, the automorphism g gives a ciphertext of s.
    fn galois_key(&self, element: usize, level: usize) -> Result<SwitchingKey> {
        let log_n = self.parameters.log_n();
        let inverse = Automorphism::new(log_n, inverse_element(log_n, element));
        let target = SecretPoly(self.parameters.ring().permute(&inverse, &self.values.0));
        self.switching_key(&self.values, &target, level)
    }

    /// From s g(s) to s.
    fn product_key(&self, element: usize, level: usize) -> Result<SwitchingKey> {
        let ring = self.parameters.ring();
        let automorphism = Automorphism::new(self.parameters.log_n(), element);
        let mut product = SecretPoly(ring.permute(&automorphism, &self.values.0));
        ring.mul_montgomery(&mut product.0, &self.values.0);
        self.switching_key(&product, &self.values, level)
    }

    pub(super) fn switching_key(
        &self,
        from: &SecretPoly,
        to: &SecretPoly,
        level: usize,
    ) -> Result<SwitchingKey> {
        let ring = self.parameters.ring();
        let mut generator = Generator::from_os()?;
        let seed = generator.public_seed();
        let basis = self.parameters.key_basis(level);
        let mut digits = Vec::new();
        let mut halves = Vec::new();
        for (index, own) in key_digits(&self.parameters, &basis) {
            let half = expand_half(&self.parameters, &seed, index, &basis)?;
            let mut first = self.encryption_of_zero(&mut generator, to, &half);
            for (position, limb) in first.limbs_mut().filter(|(p, _)| own.contains(*p)) {
                kernels::add(ring.modulus(position), limb, from.0.limb(position));
            }
            digits.push(index);
            halves.extend([first, half]);
        }
        let halves = Halves::Both(Bundle::new(ring.n(), &basis, &halves));
        Ok(SwitchingKey { level, seed, digits, halves })
    }
}

impl PublicKey {
    /// Which secret key it belongs to: a random public label, not derived from the key.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// The parameters of the key.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
}

impl Parameters {
    /// Bytes in memory of one evaluation key for a level and those below.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`] for a level that the chain does not have.
    pub fn evaluation_key_bytes(&self, level: usize) -> Result<usize> {
        self.check_level(level, "size an evaluation key")?;
        Ok(self.key_bytes(level))
    }

    /// [`Self::evaluation_key_bytes`] of a level that the chain has.
    pub(crate) fn key_bytes(&self, level: usize) -> usize {
        let basis = self.key_basis(level);
        let polys = 2 * key_digits(self, &basis).count();
        polys * basis.len() * self.n() * size_of::<u32>()
    }
}

/// Refuses what is no Galois element: an even number, or one from 2N on.
pub(crate) fn check_element(log_n: u32, element: usize, operation: &'static str) -> Result<()> {
    if element % 2 == 1 && element < 2 << log_n {
        return Ok(());
    }
    let most = 2usize << log_n;
    let reason = format!("expected an odd Galois element below {most}, got {element}");
    Err(Error::InvalidArgument { operation, reason })
}

/// The highest level asked of each rotation, by its Galois element.
fn highest_levels(log_n: u32, rotations: &[(i64, usize)]) -> BTreeMap<usize, usize> {
    let mut levels = BTreeMap::new();
    for &(rotation, level) in rotations {
        let entry = levels.entry(rotation_element(log_n, rotation)).or_insert(level);
        *entry = level.max(*entry);
    }
    levels
}

/// Adds keys by Galois element; of two for one the higher stays.
fn extend_by_element(
    keys: &mut BTreeMap<usize, Arc<SwitchingKey>>,
    others: BTreeMap<usize, Arc<SwitchingKey>>,
) {
    for (element, key) in others {
        if keys.get(&element).is_none_or(|own| own.level < key.level) {
            keys.insert(element, key);
        }
    }
}

/// Every prime of the parameters.
pub(crate) fn every_prime(parameters: &Parameters) -> Basis {
    parameters.key_basis(parameters.max_level())
}

/// The digits that have primes in `basis`: number and own primes.
pub(crate) fn key_digits(
    parameters: &Parameters,
    basis: &Basis,
) -> impl Iterator<Item = (usize, Basis)> {
    parameters.chain().digits.iter().enumerate().filter_map(|(index, members)| {
        let own = Basis::new(members.iter().copied().filter(|&p| basis.contains(p)));
        (own.len() > 0).then_some((index, own))
    })
}

/// The uniform half number `index` of a key, expanded from its seed.
pub(crate) fn expand_half(
    parameters: &Parameters,
    seed: &Seed,
    index: usize,
    basis: &Basis,
) -> Result<Poly> {
    let ring = parameters.ring();
    let mut half = ring.unwritten(basis);
    let primes = ring.primes.len();
    half.par_limbs_mut().shared().try_for_each(|(position, limb)| {
        let stream = (index * primes + position) as u64;
        sampling::uniform_residues(seed, stream, ring.modulus(position).q, limb)
    })?;
    Ok(half)
}

impl SwitchingKey {
    /// The highest level that the key serves.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Where each of `digits` stands among those of the key.
    pub(crate) fn places(&self, digits: &[Digit]) -> Vec<usize> {
        let place = |digit: &Digit| self.digits.iter().position(|&index| index == digit.index);
        digits.iter().filter_map(place).collect()
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        match &self.halves {
            Halves::Both(halves) | Halves::First(halves) => halves.nbytes(),
        }
    }

    /// The first half of a digit, by its place.
    pub(crate) fn first_half(&self, place: usize) -> Poly {
        match &self.halves {
            Halves::Both(halves) => halves.get(2 * place),
            Halves::First(halves) => halves.get(place),
        }
    }

    /// The second half of a digit, by its place.
    pub(crate) fn second_half(&self, parameters: &Parameters, place: usize) -> Result<Poly> {
        match &self.halves {
            Halves::Both(halves) => Ok(halves.get(2 * place + 1)),
            Halves::First(halves) => {
                expand_half(parameters, &self.seed, self.digits[place], halves.basis())
            }
        }
    }

    /// Both halves of every digit modulo the prime at `position`, which the key must have.
    pub(crate) fn limb(&self, ring: &Ring, position: usize) -> KeyLimb<'_> {
        let firsts = match &self.halves {
            Halves::Both(halves) => return KeyLimb::Held(halves.limb(position)),
            Halves::First(halves) => halves.limb(position),
        };
        let (count, tile) = (self.digits.len(), TILE.min(ring.n()));
        let (primes, q) = (ring.primes.len(), ring.modulus(position).q);
        let mut limb = buffers::take(2 * firsts.len());
        let mut second = buffers::take(ring.n());
        for (place, index) in self.digits.iter().enumerate() {
            sampling::uniform_residues(
                &self.seed,
                (index * primes + position) as u64,
                q,
                &mut second,
            )
            .expect("the modulus is a prime of the ring");
            let pairs = limb.chunks_exact_mut(2 * tile).skip(place).step_by(count);
            let firsts = firsts.chunks_exact(tile).skip(place).step_by(count);
            for ((pair, first), second) in pairs.zip(firsts).zip(second.chunks_exact(tile)) {
                pair[..tile].copy_from_slice(first);
                pair[tile..].copy_from_slice(second);
            }
        }
        buffers::give(second);
        KeyLimb::Expanded(limb)
    }

    /// Forgets the second halves, which are then expanded whenever the key is used.
    fn keep_seed(&mut self, parameters: &Parameters) {
        if matches!(self.halves, Halves::Both(_)) {
            let firsts: Vec<Poly> =
                (0..self.digits.len()).map(|place| self.first_half(place)).collect();
            let basis = parameters.key_basis(self.level);
            let firsts = Halves::First(Bundle::new(parameters.n(), &basis, &firsts));
            if let Halves::Both(before) = std::mem::replace(&mut self.halves, firsts) {
                before.release();
            }
        }
    }

    /// Expands the second halves, so that using the key takes no expansion.
    fn expand(&mut self, parameters: &Parameters) -> Result<()> {
        if matches!(self.halves, Halves::First(_)) {
            let mut halves = Vec::with_capacity(2 * self.digits.len());
            for place in 0..self.digits.len() {
                halves.extend([self.first_half(place), self.second_half(parameters, place)?]);
            }
            let nothing = Bundle::unwritten(parameters.n(), &parameters.key_basis(self.level), 0);
            if let Halves::First(mut held) =
                std::mem::replace(&mut self.halves, Halves::First(nothing))
            {
                held.refill(&halves);
                self.halves = Halves::Both(held);
            }
        }
        Ok(())
    }
}

impl EncapsulationKeys {
    /// Bytes in memory.
    pub(crate) fn nbytes(&self) -> usize {
        let halves = self.to_sparse.iter().map(|half| half.words().len() * 4).sum::<usize>();
        halves + self.from_sparse.nbytes()
    }
}

/// Keys whose uniform halves are expanded side by side.
const EXPANDED_AT_ONCE: usize = 4;

impl EvaluationKeys {
    /// No keys at all: enough for additions and plaintext products.
    pub fn none(secret: &SecretKey) -> Self {
        Self {
            parameters: secret.parameters.clone(),
            id: secret.id,
            relinearisation: None,
            galois: BTreeMap::new(),
            products: BTreeMap::new(),
            encapsulation: None,
        }
    }

    /// Which secret key they belong to: a random public label, not derived from the key.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// The parameters of the keys.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Adds the keys of `other`; of two keys for one purpose the higher stays.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`], [`Error::KeyMismatch`].
    pub fn extend(&mut self, other: Self) -> Result<()> {
        self.parameters.check_same(&other.parameters, "extend evaluation keys")?;
        if self.id != other.id {
            return Err(Error::KeyMismatch { operation: "extend evaluation keys" });
        }
        if let Some(key) = other.relinearisation
            && self.relinearisation.as_ref().is_none_or(|own| own.level < key.level)
        {
            self.relinearisation = Some(key);
        }
        extend_by_element(&mut self.galois, other.galois);
        extend_by_element(&mut self.products, other.products);
        self.encapsulation = self.encapsulation.take().or(other.encapsulation);
        Ok(())
    }

    /// One `EvaluationKeys` for each key, which is shared with these; an empty one if there are no
    /// keys. [`Self::extend`] joins them again, so that keys can be written and read one by one.
    ///
    /// ```
    /// use rlwe::ckks::{Parameters, ParametersLiteral};
    /// use rlwe::keys::{EvaluationKeys, EvaluationKeysRequest, SecretKey};
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let request = EvaluationKeysRequest {
    ///     relinearisation_level: Some(0),
    ///     rotations: vec![(3, 0), (5, 0)],
    ///     conjugation_level: Some(0),
    ///     ..Default::default()
    /// };
    /// let keys = secret.evaluation_keys(&request)?;
    /// let mut same = EvaluationKeys::none(&secret);
    /// for key in keys.split() {
    ///     same.extend(key)?;
    /// }
    /// assert_eq!(same.to_bytes(), keys.to_bytes());
    /// assert_eq!(keys.split().len(), 4);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    #[must_use]
    pub fn split(&self) -> Vec<Self> {
        let none = Self {
            relinearisation: None,
            galois: BTreeMap::new(),
            products: BTreeMap::new(),
            encapsulation: None,
            ..self.clone()
        };
        let mut each = Vec::new();
        if let Some(key) = &self.relinearisation {
            each.push(Self { relinearisation: Some(key.clone()), ..none.clone() });
        }
        for (&element, key) in &self.galois {
            each.push(Self { galois: BTreeMap::from([(element, key.clone())]), ..none.clone() });
        }
        for (&element, key) in &self.products {
            each.push(Self { products: BTreeMap::from([(element, key.clone())]), ..none.clone() });
        }
        if let Some(keys) = &self.encapsulation {
            each.push(Self { encapsulation: Some(keys.clone()), ..none.clone() });
        }
        if each.is_empty() { vec![none] } else { each }
    }

    /// Forgets the uniform halves of all keys, which are then expanded whenever a key is used: half
    /// the memory, and more time. Keys that are shared with others are copied.
    pub fn keep_seeds(&mut self) {
        let parameters = self.parameters.clone();
        self.switching_keys().for_each(|(_, key)| key.keep_seed(&parameters));
    }

    /// Expands the uniform halves of all keys that have seeds alone.
    ///
    /// # Errors
    /// Those of expanding a seed, which a key that was made or read does not give.
    pub fn expand(&mut self) -> Result<()> {
        self.expand_within(usize::MAX, &BTreeMap::new())
    }

    /// Expands as many uniform halves as `bytes` hold, and forgets the others. Those of rotations
    /// come last, the rotation first that is used most often.
    ///
    /// # Errors
    /// As [`Self::expand`].
    ///
    /// ```
    /// use rlwe::ckks::{Parameters, ParametersLiteral};
    /// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let request = EvaluationKeysRequest { rotations: vec![(3, 0), (5, 0)], ..Default::default() };
    /// let mut keys = secret.evaluation_keys(&request)?;
    /// let expanded = keys.nbytes();
    /// keys.expand_within(expanded / 4, &[(3, 1), (5, 2)].into())?;
    /// assert_eq!(keys.nbytes(), expanded * 3 / 4);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn expand_within(&mut self, bytes: usize, uses: &BTreeMap<i64, usize>) -> Result<()> {
        let parameters = self.parameters.clone();
        let mut by_element = BTreeMap::new();
        for (&rotation, &count) in uses {
            *by_element.entry(rotation_element(parameters.log_n(), rotation)).or_insert(0) += count;
        }
        let conjugation = conjugation_element(parameters.log_n());
        let uses = |element: Option<usize>| match element {
            Some(element) if element != conjugation => {
                by_element.get(&element).copied().unwrap_or(0)
            }
            _ => usize::MAX,
        };
        let mut keys: Vec<_> = self.switching_keys().collect();
        keys.sort_by_key(|(element, _)| Reverse(uses(*element)));
        let mut left = bytes;
        let (mut expanded, seeds): (Vec<_>, Vec<_>) = keys.into_iter().partition(|(_, key)| {
            let half = parameters.key_bytes(key.level) / 2;
            let fits = half <= left;
            left -= if fits { half } else { 0 };
            fits
        });
        seeds.into_iter().for_each(|(_, key)| key.keep_seed(&parameters));
        // A few at a time, each of which is there twice meanwhile.
        for keys in expanded.chunks_mut(EXPANDED_AT_ONCE) {
            parallel::over(keys).shared().try_for_each(|(_, key)| key.expand(&parameters))?;
        }
        Ok(())
    }

    /// Every key, those of rotations and of conjugation with their Galois elements.
    fn switching_keys(&mut self) -> impl Iterator<Item = (Option<usize>, &mut SwitchingKey)> {
        let galois = self.galois.iter_mut().map(|(&element, key)| (Some(element), key));
        let others = self.relinearisation.iter_mut().chain(self.products.values_mut());
        let encapsulation = self.encapsulation.iter_mut();
        (others.map(|key| (None, key)).chain(galois))
            .map(|(element, key)| (element, Arc::make_mut(key)))
            .chain(encapsulation.map(|keys| (None, &mut Arc::make_mut(keys).from_sparse)))
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        let by_element = self.galois.values().chain(self.products.values());
        let keys = self.relinearisation.iter().chain(by_element);
        let encapsulation = self.encapsulation.iter().map(|keys| keys.nbytes()).sum::<usize>();
        keys.map(|key| key.nbytes()).sum::<usize>() + encapsulation
    }

    /// Bytes in memory where all uniform halves are expanded.
    pub fn expanded_nbytes(&self) -> usize {
        let by_element = self.galois.values().chain(self.products.values());
        let keys = self.relinearisation.iter().chain(by_element);
        let key_bytes = |key: &Arc<SwitchingKey>| self.parameters.key_bytes(key.level);
        let encapsulation = self.encapsulation.iter();
        keys.map(key_bytes).sum::<usize>()
            + encapsulation.map(|_| self.parameters.encapsulation_key_bytes()).sum::<usize>()
    }

    /// The weight of the sparse secret under which the modulus is raised, if there are keys for it.
    pub fn encapsulation_weight(&self) -> Option<usize> {
        self.encapsulation.as_deref().map(|keys| keys.weight)
    }

    /// The level of the relinearisation key, if there is one.
    pub fn relinearisation_level(&self) -> Option<usize> {
        self.relinearisation.as_deref().map(SwitchingKey::level)
    }

    /// The level of the conjugation key, if there is one.
    pub fn conjugation_level(&self) -> Option<usize> {
        let element = conjugation_element(self.parameters.log_n());
        self.galois.get(&element).map(|key| key.level)
    }

    /// Rotations in `0..slots` that there are keys for, with the level of each.
    pub fn rotations(&self) -> BTreeMap<i64, usize> {
        self.by_rotation(|element| self.galois.get(&element))
    }

    /// Rotations in `0..slots` of which there are product keys, with the level of each. That of
    /// the rotation by 0 is the relinearisation key.
    pub fn rotated_products(&self) -> BTreeMap<i64, usize> {
        self.by_rotation(|element| match element {
            1 => self.relinearisation.as_ref(),
            _ => self.products.get(&element),
        })
    }

    fn by_rotation<'a>(
        &self,
        key: impl Fn(usize) -> Option<&'a Arc<SwitchingKey>>,
    ) -> BTreeMap<i64, usize> {
        let elements = std::iter::successors(Some(1usize), |element| {
            Some(element * 5 % (2 << self.parameters.log_n()))
        });
        let rotations = (0..self.parameters.slots() as i64).zip(elements);
        rotations.filter_map(|(k, element)| Some((k, key(element)?.level))).collect()
    }

    pub(crate) fn relinearisation_key(
        &self,
        level: usize,
        operation: &'static str,
    ) -> Result<&SwitchingKey> {
        let missing = || Error::MissingKey { operation, key: "relinearisation key".into(), level };
        self.relinearisation.as_deref().filter(|key| key.level >= level).ok_or_else(missing)
    }

    /// The keys that a product at a rotation is switched by.
    pub(crate) fn product_keys(
        &self,
        rotation: i64,
        level: usize,
        operation: &'static str,
    ) -> Result<ProductKeys<'_>> {
        let element = rotation_element(self.parameters.log_n(), rotation);
        if element == 1 {
            let product = self.relinearisation_key(level, operation)?;
            return Ok(ProductKeys { rotation: None, product });
        }
        let name = || format!("Galois key for a rotation by {rotation}");
        let galois = self.galois_key(element, level, operation, name)?;
        let found = self.products.get(&element).map(Arc::as_ref);
        let product = found.filter(|key| key.level >= level).ok_or_else(|| {
            let key = format!("product key for a rotation by {rotation}");
            Error::MissingKey { operation, key, level }
        })?;
        Ok(ProductKeys { rotation: Some((element, galois)), product })
    }

    /// The keys for raising the modulus.
    pub(crate) fn encapsulation(&self, operation: &'static str) -> Result<&EncapsulationKeys> {
        let level = self.parameters.max_level();
        let missing = || Error::MissingKey {
            operation,
            key: "encapsulation keys, for raising the modulus,".into(),
            level,
        };
        self.encapsulation.as_deref().ok_or_else(missing)
    }

    /// The key of a Galois element that serves `level`.
    pub(crate) fn galois_key(
        &self,
        element: usize,
        level: usize,
        operation: &'static str,
        name: impl FnOnce() -> String,
    ) -> Result<&SwitchingKey> {
        let found = self.galois.get(&element).map(Arc::as_ref).filter(|key| key.level >= level);
        found.ok_or_else(|| Error::MissingKey { operation, key: name(), level })
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.parameters)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.parameters)
    }
}

impl fmt::Debug for EvaluationKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (galois, products) = (self.galois.len(), self.products.len());
        write!(
            f,
            "EvaluationKeys({galois} Galois keys, {products} product keys, {})",
            self.parameters
        )
    }
}
