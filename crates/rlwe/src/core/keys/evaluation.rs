//! What an evaluator holds: the keys that a secret key makes for it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;

use super::secret::{KeyId, SecretKey};
use super::switching::SwitchingKey;
use crate::core::parameters::Parameters;
use crate::parallel;
use crate::ring::automorphism::{
    Automorphism, conjugation_element, inverse_element, rotation_element,
};
use crate::ring::poly::{Poly, SecretPoly};
use crate::sampling::Seed;
use crate::{Error, Result};

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
    /// [`encapsulation_basis`](crate::core::encapsulation::encapsulation_basis), in Montgomery form; the second half is expanded from the seed.
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

impl EncapsulationKeys {
    /// Bytes in memory.
    pub(crate) fn nbytes(&self) -> usize {
        let halves = self.to_sparse.iter().map(|half| half.words().len() * 4).sum::<usize>();
        halves + self.from_sparse.nbytes()
    }
}

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
    pub fn expand(&mut self) {
        self.expand_within(usize::MAX, &BTreeMap::new());
    }

    /// Expands as many uniform halves as `bytes` hold, and forgets the others. Those of rotations
    /// come last, the rotation first that is used most often.
    ///
    /// ```
    /// use rlwe::ckks::{Parameters, ParametersLiteral};
    /// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let request = EvaluationKeysRequest { rotations: vec![(3, 0), (5, 0)], ..Default::default() };
    /// let mut keys = secret.evaluation_keys(&request)?;
    /// let expanded = keys.nbytes();
    /// keys.expand_within(expanded / 4, &[(3, 1), (5, 2)].into());
    /// assert_eq!(keys.nbytes(), expanded * 3 / 4);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn expand_within(&mut self, bytes: usize, uses: &BTreeMap<i64, usize>) {
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
        let (expanded, seeds): (Vec<_>, Vec<_>) = keys.into_iter().partition(|(_, key)| {
            let half = parameters.key_bytes(key.level) / 2;
            let fits = half <= left;
            left -= if fits { half } else { 0 };
            fits
        });
        seeds.into_iter().for_each(|(_, key)| key.keep_seed(&parameters));
        parallel::over(expanded).shared().for_each(|(_, key)| key.expand(&parameters));
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
