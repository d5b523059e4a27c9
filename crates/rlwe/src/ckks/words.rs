//! The residues of ciphertexts, plaintexts and evaluation keys as plain words, for an engine on
//! another device. A secret key has none.

use super::ciphertext::Ciphertext;
use super::estimate::Estimate;
use super::linear_transform::LinearTransform;
use super::plaintext::Plaintext;
use crate::core::bsgs::Hoisting;
use crate::core::keys::{EvaluationKeys, SwitchingKey};
use crate::ring::automorphism::{conjugation_element, rotation_element};
use crate::ring::poly::Poly;
use crate::{Error, Result};

/// The residues of a switching key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyWords {
    /// The highest level that it serves.
    pub level: usize,
    /// The numbers of its digits in the chain.
    pub digits: Vec<usize>,
    /// Positions of its primes.
    pub positions: Vec<usize>,
    /// Two halves for each digit, each a limb for each prime.
    pub words: Vec<u32>,
}

/// The diagonals of one giant step of a linear transform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagonalWords {
    /// For each diagonal, the number of its baby step.
    pub babies: Vec<usize>,
    /// For each diagonal a limb for each prime of the extended basis, in Montgomery form; where
    /// [baby rotations are divided](LinearTransform::divides_baby_rotations), of the level's.
    pub words: Vec<u32>,
}

impl LinearTransform {
    /// Whether its baby rotations are divided by P before they are multiplied, so that diagonals and
    /// products have the level's primes alone: of many diagonals that is less work.
    pub fn divides_baby_rotations(&self) -> bool {
        self.hoisting() == Hoisting::Single
    }

    /// The diagonals of one of its giant steps.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a giant step that it does not have,
    /// [`Error::ValueOutOfRange`] when a streamed diagonal does not fit the modulus.
    pub fn giant_words(&self, index: usize) -> Result<DiagonalWords> {
        let steps = self.split().giant_steps.len();
        if index >= steps {
            let operation = "list the diagonals of a giant step";
            let reason = format!("expected a step below {steps}, got {index}");
            return Err(Error::InvalidArgument { operation, reason });
        }
        let giant = self.giant(index)?;
        let polys = giant.places.iter().map(|&place| giant.diagonals.get(place));
        let words = polys.flat_map(|poly| poly.words().to_vec()).collect();
        Ok(DiagonalWords { babies: giant.babies.clone(), words })
    }
}

impl Ciphertext {
    /// The residues of its polynomials, one after the other: a limb for each prime of the level, in
    /// the order of [`LevelTable::basis`](crate::tables::LevelTable::basis).
    pub fn words(&self) -> Vec<u32> {
        self.polys.iter().map(Poly::words).collect::<Vec<_>>().concat()
    }

    /// The ciphertext of such [words](Self::words) with this estimate, under the secret key of that
    /// [label](Self::key_id).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for words that are not residues of such a ciphertext.
    ///
    /// ```
    /// use rlwe::ckks::{Ciphertext, Encoding, Parameters, ParametersLiteral};
    /// use rlwe::keys::SecretKey;
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let x = secret.encrypt(&parameters.encode_real(&[0.5], Encoding::at(0).within(1.0))?)?;
    /// let copy = Ciphertext::from_words(x.estimate(), x.key_id(), &x.words())?;
    /// assert_eq!(copy.words(), x.words());
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_words(estimate: &Estimate, key: [u8; 16], words: &[u32]) -> Result<Self> {
        let operation = "make a ciphertext of words";
        let ring = estimate.parameters().ring();
        let basis = estimate.parameters().basis(estimate.level(), operation)?;
        let invalid = |reason: String| Err(Error::InvalidArgument { operation, reason });
        let (polys, length) = (estimate.degree() + 1, basis.len() * ring.n());
        if words.len() != polys * length {
            let reason = format!("expected {} words, got {}", polys * length, words.len());
            return invalid(reason);
        }
        let mut read = Vec::with_capacity(polys);
        for words in words.chunks_exact(length) {
            let mut poly = ring.unwritten(basis);
            for ((position, limb), words) in poly.limbs_mut().zip(words.chunks_exact(ring.n())) {
                let q = ring.modulus(position).q;
                if let Some(word) = words.iter().find(|&&word| word >= q) {
                    return invalid(format!("expected residues below {q}, got {word}"));
                }
                limb.copy_from_slice(words);
            }
            read.push(poly);
        }
        Ok(Self { estimate: estimate.clone(), key, polys: read.into(), seed: None })
    }
}

impl Plaintext {
    /// The residues of its polynomial: a limb for each prime of the level.
    pub fn words(&self) -> &[u32] {
        self.poly().words()
    }
}

impl EvaluationKeys {
    /// The relinearisation key, for a level.
    ///
    /// # Errors
    /// [`Error::MissingKey`].
    pub fn relinearisation_at(&self, level: usize) -> Result<&SwitchingKey> {
        self.relinearisation_key(level, "relinearise")
    }

    /// The Galois key of a rotation to the left, for a level.
    ///
    /// # Errors
    /// [`Error::MissingKey`].
    pub fn rotation_at(&self, rotation: i64, level: usize) -> Result<&SwitchingKey> {
        let element = rotation_element(self.parameters.log_n(), rotation);
        let name = || format!("Galois key for a rotation by {rotation}");
        self.galois_key(element, level, "rotate", name)
    }

    /// The Galois key of complex conjugation, for a level.
    ///
    /// # Errors
    /// [`Error::MissingKey`].
    pub fn conjugation_at(&self, level: usize) -> Result<&SwitchingKey> {
        let element = conjugation_element(self.parameters.log_n());
        self.galois_key(element, level, "conjugate", || "Galois key for conjugation".to_string())
    }

    /// The key from the sparse secret under which the modulus is raised, for every level.
    ///
    /// # Errors
    /// [`Error::MissingKey`].
    pub fn from_sparse(&self) -> Result<&SwitchingKey> {
        Ok(&self.encapsulation("bootstrap")?.from_sparse)
    }

    /// The residues of both halves of the key to that secret: of each a limb for each prime of
    /// [`EncapsulationTable::basis`](crate::tables::EncapsulationTable::basis), in Montgomery form.
    ///
    /// # Errors
    /// [`Error::MissingKey`].
    pub fn to_sparse_words(&self) -> Result<Vec<u32>> {
        let keys = self.encapsulation("bootstrap")?;
        Ok(keys.to_sparse.iter().flat_map(Poly::words).copied().collect())
    }

    /// The residues of one of these keys.
    ///
    /// # Errors
    /// Those of expanding a seed, where second halves are kept as one.
    pub fn words(&self, key: &SwitchingKey) -> Result<KeyWords> {
        let mut words = Vec::new();
        for place in 0..key.digits.len() {
            words.extend_from_slice(key.first_half(place).words());
            words.extend_from_slice(key.second_half(&self.parameters, place)?.words());
        }
        Ok(KeyWords {
            level: key.level,
            digits: key.digits.clone(),
            positions: self.parameters.key_basis(key.level).iter().collect(),
            words,
        })
    }
}
