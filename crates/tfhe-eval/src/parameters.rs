//! Published parameter sets, by name.

use std::fmt;

use sha2::{Digest, Sha256};
use tfhe::core_crypto::prelude::{
    CiphertextModulus, DecompositionBaseLog, DecompositionLevelCount, GlweDimension, LweDimension,
    PolynomialSize, StandardDev,
};

use crate::{Error, Result};

/// LWE ciphertexts count 2^32 to a turn.
pub(crate) const LWE_MODULUS: CiphertextModulus<u32> = CiphertextModulus::new_native();
/// The bootstrap key, of finer noise, counts 2^64.
pub(crate) const KEY_MODULUS: CiphertextModulus<u64> = CiphertextModulus::new_native();
/// log2 of the most tables of one bootstrap.
pub const MAX_TABLES_LOG: u32 = 2;

/// A parameter set; equal to every other of its name.
///
/// A bootstrap with m = `message_bits` has a message space of 2^m, the larger the more expensive.
/// The sets:
///
/// | name     | message space | tables                   | large key, degree   | small key |
/// |----------|---------------|--------------------------|---------------------|-----------|
/// | space4   | 4             | 1                        | 1536 in 6 of 256    | 747       |
/// | space4x2 | 4             | 2                        | 2048 in 4 of 512    | 781       |
/// | space8   | 8             | 1; in a space of 4 2     | 2048 in 4 of 512    | 846       |
/// | space16  | 16            | 1; of 8 2, of 4 4        | 2048 in 2 of 1024   | 885       |
///
/// That is where a bootstrap may miss its message with a probability of 2^-128; where 2^-64 is
/// enough, space4x2 has a message space of 8.
///
/// The numbers are those of sets for small integers that the crate `tfhe` 1.8 publishes.
/// All keys are uniform binary and all noise is Gaussian; dimensions and noise lie on the
/// curves for 132 bits of security that its authors fitted to the lattice estimator
/// (Albrecht, Player and Scott, eprint 2015/046), which a test checks.
///
/// ```
/// use tfhe_eval::Parameters;
/// let parameters = Parameters::named("space4")?;
/// assert_eq!(parameters.max_message_bits(), 2);
/// assert!(Parameters::named("space5").is_err());
/// # Ok::<(), tfhe_eval::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Parameters(&'static Set);

/// Standard deviations are in turns.
#[derive(Debug)]
struct Set {
    name: &'static str,
    max_message_bits: u32,
    small_dimension: usize,
    small_noise: f64,
    large_polynomials: usize,
    polynomial_size: usize,
    large_noise: f64,
    bootstrap_base_log: usize,
    bootstrap_levels: usize,
    switch_base_log: usize,
    switch_levels: usize,
}

const SETS: [Set; 4] = [
    // V1_4_PARAM_MESSAGE_1_CARRY_0_KS_PBS_GAUSSIAN_2M128.
    Set {
        name: "space4",
        max_message_bits: 2,
        small_dimension: 747,
        small_noise: 1.5944604865450687e-5,
        large_polynomials: 6,
        polynomial_size: 256,
        large_noise: 1.9524392655548086e-11,
        bootstrap_base_log: 17,
        bootstrap_levels: 1,
        switch_base_log: 4,
        switch_levels: 3,
    },
    // V1_1_PARAM_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M64.
    Set {
        name: "space4x2",
        max_message_bits: 3,
        small_dimension: 781,
        small_noise: 8.868480365938865e-6,
        large_polynomials: 4,
        polynomial_size: 512,
        large_noise: 2.845267479601915e-15,
        bootstrap_base_log: 23,
        bootstrap_levels: 1,
        switch_base_log: 4,
        switch_levels: 3,
    },
    // V1_1_PARAM_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M128, with the small key of
    // V1_1_PARAM_MESSAGE_2_CARRY_0_KS_PBS_GAUSSIAN_2M128, which leaves more to sums.
    Set {
        name: "space8",
        max_message_bits: 3,
        small_dimension: 846,
        small_noise: 2.889344520786227e-6,
        large_polynomials: 4,
        polynomial_size: 512,
        large_noise: 2.845267479601915e-15,
        bootstrap_base_log: 23,
        bootstrap_levels: 1,
        switch_base_log: 5,
        switch_levels: 3,
    },
    // V1_4_PARAM_MESSAGE_1_CARRY_2_KS_PBS_GAUSSIAN_2M128.
    Set {
        name: "space16",
        max_message_bits: 4,
        small_dimension: 885,
        small_noise: 1.4742441118914234e-6,
        large_polynomials: 2,
        polynomial_size: 1024,
        large_noise: 2.845267479601915e-15,
        bootstrap_base_log: 23,
        bootstrap_levels: 1,
        switch_base_log: 5,
        switch_levels: 3,
    },
];

impl Parameters {
    /// Every set, the fastest first.
    pub fn all() -> impl Iterator<Item = Self> {
        SETS.iter().map(Self)
    }

    /// The set of this name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is none.
    pub fn named(name: &str) -> Result<Self> {
        Self::all().find(|set| set.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::all().map(|set| set.name()).collect();
            let reason = format!("expected one of {}, got {name:?}", names.join(", "));
            Error::InvalidArgument { operation: "choose parameters", reason }
        })
    }

    /// The set whose numbers have this fingerprint.
    pub(crate) fn with_fingerprint(fingerprint: [u8; 16]) -> Option<Self> {
        Self::all().find(|set| set.fingerprint() == fingerprint)
    }

    /// Differs where any number of the set does.
    pub(crate) fn fingerprint(&self) -> [u8; 16] {
        let digest = Sha256::digest(format!("{:?}", self.0));
        std::array::from_fn(|i| digest[i])
    }

    /// The name of the set.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// log2 of the largest message space of a bootstrap.
    pub fn max_message_bits(&self) -> u32 {
        self.0.max_message_bits
    }

    /// Bytes of an LWE ciphertext.
    pub fn lwe_bytes(&self) -> usize {
        self.lwe_length() * size_of::<u32>()
    }

    /// Numbers in the mask of an LWE ciphertext.
    pub fn lwe_dimension(&self) -> usize {
        self.0.large_polynomials * self.0.polynomial_size
    }

    /// 32-bit words of an LWE ciphertext.
    pub(crate) fn lwe_length(&self) -> usize {
        self.lwe_dimension() + 1
    }

    pub(crate) fn small_dimension(&self) -> LweDimension {
        LweDimension(self.0.small_dimension)
    }

    pub(crate) fn small_noise(&self) -> StandardDev {
        StandardDev(self.0.small_noise)
    }

    pub(crate) fn large_polynomials(&self) -> GlweDimension {
        GlweDimension(self.0.large_polynomials)
    }

    pub(crate) fn polynomial_size(&self) -> PolynomialSize {
        PolynomialSize(self.0.polynomial_size)
    }

    pub(crate) fn large_noise(&self) -> StandardDev {
        StandardDev(self.0.large_noise)
    }

    pub(crate) fn bootstrap_base_log(&self) -> DecompositionBaseLog {
        DecompositionBaseLog(self.0.bootstrap_base_log)
    }

    pub(crate) fn bootstrap_levels(&self) -> DecompositionLevelCount {
        DecompositionLevelCount(self.0.bootstrap_levels)
    }

    pub(crate) fn switch_base_log(&self) -> DecompositionBaseLog {
        DecompositionBaseLog(self.0.switch_base_log)
    }

    pub(crate) fn switch_levels(&self) -> DecompositionLevelCount {
        DecompositionLevelCount(self.0.switch_levels)
    }
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Parameters {}

impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parameters({})", self.name())
    }
}

#[cfg(test)]
mod tests {
    use tfhe::core_crypto::commons::noise_formulas::secure_noise::minimal_lwe_variance_for_132_bits_security_gaussian;

    use super::*;

    /// The sets were published for 2^64 to a turn; at the 2^32 of LWE ciphertexts the curve asks
    /// for up to this much more.
    const SLACK: f64 = 1.0 - 1e-6;

    #[test]
    fn noise_gives_132_bits() {
        for set in Parameters::all() {
            for (dimension, noise, log_q) in [
                (set.small_dimension(), set.small_noise(), 32.0),
                (LweDimension(set.lwe_dimension()), set.large_noise(), 64.0),
            ] {
                let least = minimal_lwe_variance_for_132_bits_security_gaussian(
                    dimension,
                    f64::exp2(log_q),
                );
                assert!(noise.0 >= least.0.sqrt() * SLACK, "{set:?}: {noise:?}, {least:?}");
            }
        }
    }

    #[test]
    fn every_key_is_estimated_at_128_bits() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security-estimates.md");
        let file = std::fs::read_to_string(path).unwrap();
        let rows: Vec<Vec<&str>> =
            file.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
        for set in Parameters::all() {
            for (key, dimension, noise, log_q) in [
                ("small", set.small_dimension(), set.small_noise(), 32),
                ("large", LweDimension(set.lwe_dimension()), set.large_noise(), 64),
            ] {
                let name = format!("{}, {key} key", set.name());
                let cells = rows.iter().find(|cells| cells.get(1) == Some(&&*name)).unwrap();
                assert_eq!([cells[2], cells[4]], ["binary", &log_q.to_string()]);
                assert_eq!(cells[3].parse(), Ok(dimension.0));
                let deviation: f64 = cells[5].parse().unwrap();
                assert!(deviation <= noise.0 * f64::exp2(f64::from(log_q)) * 1.000_01, "{cells:?}");
                assert!(cells[6].parse::<f64>().unwrap() >= 128.0, "{cells:?}");
            }
        }
    }

    #[test]
    fn fingerprints_find_their_sets() {
        for set in Parameters::all() {
            assert_eq!(Parameters::with_fingerprint(set.fingerprint()), Some(set));
        }
        assert_eq!(Parameters::with_fingerprint([0; 16]), None);
    }
}
