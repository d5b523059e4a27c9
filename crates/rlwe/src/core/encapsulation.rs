//! Sparse-secret encapsulation (Bossuat, Troncoso-Pastoriza, Hubaux, eprint 2022/024): for one
//! step, raising the modulus, a ciphertext is under a second, sparse secret, so that the
//! coefficients overflow the modulus a few times at most.
//!
//! ```text
//!   level 0, secret s   to the sparse secret over q0 p0     level 0, sparse
//!   level 0, sparse     the same integers over all primes   top level, sparse
//!   top level, sparse   to s, as rotations switch           top level, secret s
//! ```
//!
//! What the sparse secret hides never has a modulus beyond q0 p0, p0 the product of a few of the
//! key-switching primes: that is small enough for a sparse secret to be secure
//! ([`max_log_q_sparse`]). The second switch's key encrypts the sparse secret under s, as secure as
//! every other key.
//!
//! Noise: of the first switch `3.2 sqrt(N / 12) q0 / p0`, as p0 exceeds q0 by 4 bits or more below
//! the rounding, `sqrt((1 + h) / 12)` for a secret of weight h; of the second that of a rotation.

use super::key_switching::mod_up;
use super::keys::{EncapsulationKeys, KeyId, SecretKey, expand_half};
use super::parameters::Parameters;
use crate::chain::MARGIN_BITS;
use crate::ring::convert::Conversion;
use crate::ring::division::Division;
use crate::ring::kernels;
use crate::ring::modulus::product;
use crate::ring::poly::{Basis, Poly, SecretPoly};
use crate::sampling::{self, Generator, Seed};
use crate::security::{max_log_q_sparse, sparse_weight};
use crate::tables::EncapsulationTable;
use crate::{Error, Result};

/// As few of the key-switching primes as exceed level 0 by the margin of every digit.
fn part_of_special(parameters: &Parameters) -> Basis {
    let ring = parameters.ring();
    let target = ring.bits(parameters.level_basis(0)) + MARGIN_BITS;
    let mut bits = 0.0;
    let enough = parameters.special().iter().take_while(|&position| {
        let short = bits < target;
        bits += f64::from(ring.modulus(position).q).log2();
        short
    });
    Basis::new(enough)
}

/// The primes that the sparse secret is used with: those of level 0 and a part of the
/// key-switching primes.
pub(crate) fn encapsulation_basis(parameters: &Parameters) -> Basis {
    parameters.level_basis(0).union(&part_of_special(parameters))
}

impl Parameters {
    /// log2 of the largest modulus that a sparse secret for raising the modulus is used with.
    pub fn encapsulation_bits(&self) -> f64 {
        self.ring().bits(&encapsulation_basis(self))
    }

    /// Bytes in memory of the keys for raising the modulus: to a sparse secret and back.
    pub fn encapsulation_key_bytes(&self) -> usize {
        let to_sparse = 2 * encapsulation_basis(self).len() * self.n() * size_of::<u32>();
        to_sparse + self.key_bytes(self.max_level())
    }

    /// Refuses a sparse secret that is not 128-bit secure where the parameters are.
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for a weight that no secret of the ring has or a level 0 larger
    /// than the key-switching primes,
    /// [`Error::InsecureParameters`] for one outside [`max_log_q_sparse`].
    pub fn check_encapsulation(&self, weight: usize) -> Result<()> {
        if weight == 0 || weight > self.n() {
            return Err(Error::InvalidParameters(format!(
                "the weight of the sparse secret must lie between 1 and 2^{}, got {weight}",
                self.log_n()
            )));
        }
        let (bits, below) = (self.encapsulation_bits(), self.ring().bits(self.level_basis(0)));
        if bits - 2.0 * below < MARGIN_BITS {
            return Err(Error::InvalidParameters(format!(
                "the key-switching primes have {:.1} bits, too few to switch level 0 of {below:.1} bits in one digit; take fewer digits",
                bits - below
            )));
        }
        if !self.is_secure() {
            return Ok(());
        }
        match max_log_q_sparse(self.log_n(), weight) {
            Some(most) if bits <= most => Ok(()),
            Some(most) => Err(Error::InsecureParameters(format!(
                "a sparse secret of weight {weight} is secure up to a modulus of {most} bits at log_n = {}, and level 0 with its key-switching primes has {bits:.1}; take a smaller level 0",
                self.log_n()
            ))),
            None => {
                let advice = match sparse_weight(self.log_n()) {
                    Some(own) => format!("use a weight of {own}"),
                    None => "use log_n = 15, 16 or 17".into(),
                };
                Err(Error::InsecureParameters(format!(
                    "the security table has no sparse secret of weight {weight} at log_n = {}; {advice}",
                    self.log_n()
                )))
            }
        }
    }
}

impl SecretKey {
    /// Keys for raising the modulus under a fresh secret of `weight`, which is forgotten.
    ///
    /// # Errors
    /// Those of [`Parameters::check_encapsulation`], [`Error::Randomness`].
    pub(crate) fn encapsulation_keys(&self, weight: usize) -> Result<EncapsulationKeys> {
        let parameters = &self.parameters;
        parameters.check_encapsulation(weight)?;
        let mut generator = Generator::from_os()?;
        let coefficients = sampling::fixed_weight_ternary(&mut generator, parameters.n(), weight)?;
        let sparse = Self::from_coefficients(parameters, KeyId::default(), coefficients);
        let seed = generator.public_seed();
        let to_sparse = self.key_to_sparse(&mut generator, &seed, &sparse.values)?;
        let from_sparse =
            self.switching_key(&sparse.values, &self.values, parameters.max_level())?;
        Ok(EncapsulationKeys { weight, seed, to_sparse, from_sparse })
    }

    fn key_to_sparse(
        &self,
        generator: &mut Generator,
        seed: &Seed,
        sparse: &SecretPoly,
    ) -> Result<[Poly; 2]> {
        let parameters = &self.parameters;
        let ring = parameters.ring();
        let basis = encapsulation_basis(parameters);
        let half = expand_half(parameters, seed, 0, &basis)?;
        let error = sampling::gaussian(generator, ring.n());
        let mut first = SecretPoly(ring.small(&basis, &error));
        ring.to_montgomery(&mut first.0);
        let mut mask = SecretPoly(half.clone());
        ring.mul_montgomery(&mut mask.0, &sparse.0);
        ring.sub(&mut first.0, &mask.0);
        let special = part_of_special(parameters);
        for (position, limb) in first.0.limbs_mut().filter(|(p, _)| !special.contains(*p)) {
            let modulus = ring.modulus(position);
            let factor = product(modulus, special.iter().map(|p| ring.modulus(p).q));
            let factor = modulus.to_montgomery(factor);
            kernels::add_scaled(modulus, limb, self.values.0.limb(position), factor);
        }
        Ok([first.0.clone(), half])
    }
}

impl EncapsulationKeys {
    /// A ciphertext of level 0, raised to `level` under the sparse secret: it encrypts what it did
    /// plus multiples of the modulus of level 0.
    pub(crate) fn raise(&self, parameters: &Parameters, level: usize, polys: &[Poly]) -> [Poly; 2] {
        let sparse = self.switched_to_sparse(parameters, polys);
        // The same integers, centred.
        let basis = parameters.level_basis(level);
        let raised = sparse.each_ref().map(|poly| extended(parameters, poly, basis));
        let ring = parameters.ring();
        let switched = mod_up(parameters, level, &raised[1]).switch(parameters, &self.from_sparse);
        let division = parameters.division_by_special(level);
        let mut switched = division.apply_to_all(ring, switched.each_ref());
        ring.add(&mut switched[0], &raised[0]);
        switched
    }

    fn switched_to_sparse(&self, parameters: &Parameters, polys: &[Poly]) -> [Poly; 2] {
        let ring = parameters.ring();
        let (level, basis) = (parameters.level_basis(0), encapsulation_basis(parameters));
        let second = extended(parameters, &polys[1], &basis);
        let division = Division::new(ring, &basis, level);
        let products = self.to_sparse.each_ref().map(|half| {
            let mut product = second.clone();
            ring.mul_montgomery(&mut product, half);
            product
        });
        let mut switched = division.apply_to_all(ring, products.each_ref());
        ring.add(&mut switched[0], &polys[0]);
        switched
    }
}

/// The centred coefficients of `poly` modulo the primes of a larger basis.
fn extended(parameters: &Parameters, poly: &Poly, basis: &Basis) -> Poly {
    let ring = parameters.ring();
    let others = basis.difference(&poly.basis);
    let conversion = extension(parameters, &poly.basis, &others);
    let coefficients = ring.unnormalised_coefficients(poly, &poly.basis);
    let inputs: Vec<&[u32]> = coefficients.limbs().map(|(_, limb)| limb).collect();
    let mut extension = ring.unwritten(basis);
    let mut outputs = Vec::with_capacity(others.len());
    for (position, limb) in extension.limbs_mut() {
        if others.contains(position) {
            outputs.push([limb]);
        } else {
            limb.copy_from_slice(poly.limb(position));
        }
    }
    let positions = others.positions();
    conversion.run([&inputs], outputs, |index, [limb]| {
        ring.primes[usize::from(positions[index])].forward(limb);
    });
    extension
}

/// From coefficients modulo the primes of one basis, centred, to those of others.
fn extension(parameters: &Parameters, basis: &Basis, others: &Basis) -> Conversion {
    let ring = parameters.ring();
    let (sources, targets) = (ring.moduli(basis), ring.moduli(others));
    Conversion::new(ring.log_n, &sources, &targets, |_| 1, |_| 1)
}

impl Parameters {
    /// What raising the modulus to `level` under a sparse secret needs.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`] for a level that the chain does not have.
    pub fn encapsulation_table(&self, level: usize) -> Result<EncapsulationTable> {
        let raised = self.basis(level, "list the tables of raising the modulus")?;
        let (lowest, basis) = (self.level_basis(0), encapsulation_basis(self));
        let table = |to: &Basis| {
            let others = to.difference(lowest);
            extension(self, lowest, &others).table(lowest, &others)
        };
        Ok(EncapsulationTable {
            basis: basis.iter().collect(),
            to_sparse: table(&basis),
            division: Division::new(self.ring(), &basis, lowest).table(),
            raising: table(raised),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecretDistribution;
    use crate::chain::{Chain, ChainRequest};
    use crate::core::keys::EvaluationKeysRequest;
    use crate::ring::centring::Centring;
    use crate::ring::primes::WORD_BITS;

    fn parameters() -> Parameters {
        let request = ChainRequest {
            log_n: 9,
            levels: 1,
            scale_bits: 40.0,
            headroom_bits: 14.0,
            digits: Some(2),
            max_log_qp: None,
            avoided: None,
            word_bits: WORD_BITS,
        };
        let chain = Chain::stacked(&request, &[59.0, 59.0, 50.0]).unwrap();
        Parameters::new(9, chain, SecretDistribution::Ternary, b"test", "test".into()).unwrap()
    }

    /// The coefficients of a polynomial, as parts of the modulus of level 0, modulo the first
    /// primes of the chain, which must hold them.
    fn parts(parameters: &Parameters, poly: &Poly, primes: usize) -> Vec<f64> {
        let ring = parameters.ring();
        let positions: Vec<usize> = poly.basis.iter().take(primes).collect();
        let limbs: Vec<Vec<u32>> = positions
            .iter()
            .map(|&p| {
                let mut limb = system_memory::copied(poly.limb(p));
                ring.primes[p].inverse(&mut limb);
                limb
            })
            .collect();
        let moduli: Vec<_> = positions.iter().map(|&p| ring.modulus(p)).collect();
        let bits: f64 = moduli.iter().map(|q| f64::from(q.q).log2()).sum();
        let whole = (bits - ring.bits(parameters.level_basis(0))).exp2();
        let centring = Centring::new(&moduli, &[]);
        let mut digits = vec![0; primes];
        (0..ring.n())
            .map(|i| {
                let residues: Vec<u32> = limbs.iter().map(|limb| limb[i]).collect();
                let sign = centring.read(&residues, &mut digits);
                centring.part(sign, &digits) * whole
            })
            .collect()
    }

    #[test]
    fn a_raised_ciphertext_is_the_same_but_for_multiples_of_its_modulus() {
        let parameters = parameters();
        let weight = 32;
        let secret = SecretKey::generate(&parameters).unwrap();
        let request =
            EvaluationKeysRequest { encapsulation_weight: Some(weight), ..Default::default() };
        let keys = secret.evaluation_keys(&request).unwrap();
        let (zero, _) = secret.encrypt_zero(0, "test").unwrap();
        let raised = keys.encapsulation("test").unwrap().raise(&parameters, 4, &zero);
        let phase = secret.phase(&raised);
        let parts = parts(&parameters, &phase.0, 4);
        let largest = parts.iter().map(|part| part.abs()).fold(0.0, f64::max);
        assert!(largest > 1.0 && largest < (weight as f64 + 1.0) / 2.0, "{largest}");
        // An encryption of zero: nothing but multiples, and noise of a few units in 2^54.
        let off = parts.iter().map(|part| (part - part.round()).abs()).fold(0.0, f64::max);
        assert!(off < 2f64.powi(8 - 54), "{}", off.log2());
    }

    #[test]
    fn weights_that_no_secret_has_are_refused() {
        let secret = SecretKey::generate(&parameters()).unwrap();
        for weight in [0, 513] {
            let request =
                EvaluationKeysRequest { encapsulation_weight: Some(weight), ..Default::default() };
            let refused = secret.evaluation_keys(&request);
            assert!(matches!(refused, Err(Error::InvalidParameters(_))));
        }
    }
}
