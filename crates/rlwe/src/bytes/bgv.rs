//! Parameters, ciphertexts and plaintexts of BGV.

use zeroize::Zeroizing;

use super::envelope::{Kind, open_under, seal};
use super::parameters::read as read_literal;
use super::residues;
use crate::Result;
use crate::bgv::{Ciphertext, Estimate, Noise, Parameters, ParametersLiteral, Plaintext};
use crate::keys::KeyId;

/// Level, plaintext factor and the three bounds of noise.
const ESTIMATE_LENGTH: usize = 4 + 4 + 3 * 8;

impl Parameters {
    /// The bytes of the request, all that it left open filled in, and of the fingerprint.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.lattice().to_bytes()
    }

    /// The parameters that [`Self::to_bytes`] stored, compiled again: see
    /// [`crate::Parameters::from_bytes`].
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes), those of [`Parameters::new`].
    ///
    /// ```
    /// use rlwe::bgv::{Parameters, ParametersLiteral};
    /// let parameters = Parameters::new(ParametersLiteral { levels: 1, ..Default::default() })?;
    /// assert_eq!(Parameters::from_bytes(&parameters.to_bytes())?, parameters);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::of(&crate::Parameters::read(Kind::BgvParameters, bytes)?)
    }
}

impl ParametersLiteral {
    /// The request in the bytes of [`Parameters`], which is not compiled: to look at the
    /// size and security of a stranger's parameters before paying for them.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (_, literal) = read_literal(Kind::BgvParameters, bytes)?;
        Ok(Self {
            log_n: literal.log_n,
            levels: literal.levels,
            plaintext_modulus: literal.plaintext_modulus,
            level_bits: Some(literal.scale_bits),
            base_bits: Some(literal.scale_bits + literal.headroom_bits),
            digits: literal.digits,
            secret: literal.secret,
            insecure: literal.insecure,
        })
    }
}

impl Ciphertext {
    /// Its bytes: half of [`Self::nbytes`] and a little while it is fresh from a secret key,
    /// as much and a little later.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Of a fresh ciphertext the seed stands for the second polynomial.
        let stored = if self.seed.is_some() { &self.polys[..1] } else { &self.polys };
        let lattice = self.parameters().lattice();
        let seed = self.seed.as_ref().map_or(&[][..], |seed| &seed.0);
        let polys: usize = stored.iter().map(|poly| residues::length(lattice, &poly.basis)).sum();
        let length = size_of::<KeyId>() + ESTIMATE_LENGTH + 1 + 1 + seed.len() + polys;
        seal(Kind::BgvCiphertext, lattice, length, |bytes| {
            bytes.extend_from_slice(&self.key);
            bytes.extend_from_slice(&(self.estimate.level as u32).to_le_bytes());
            bytes.extend_from_slice(&self.estimate.factor.to_le_bytes());
            let Noise { canonical_bits, length_bits, coefficient_bits } = self.estimate.noise;
            for bound in [canonical_bits, length_bits, coefficient_bits] {
                bytes.extend_from_slice(&bound.to_le_bytes());
            }
            bytes.push(self.polys.len() as u8);
            bytes.push(u8::from(self.seed.is_some()));
            bytes.extend_from_slice(seed);
            stored.iter().for_each(|poly| residues::write(bytes, poly));
        })
    }

    /// The ciphertext that [`Self::to_bytes`] stored; the uniform polynomial of a fresh one
    /// is expanded from its seed.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    ///
    /// ```
    /// use rlwe::bgv::{Ciphertext, Parameters, ParametersLiteral};
    /// use rlwe::keys::SecretKey;
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(parameters.lattice())?;
    /// let row = vec![7; parameters.slots()];
    /// let fresh = secret.encrypt_integers(&parameters.encode(&row, 0)?)?;
    /// let bytes = fresh.to_bytes();
    /// assert!(bytes.len() < fresh.nbytes() / 2 + 200);
    /// assert_eq!(Ciphertext::from_bytes(&parameters, &bytes)?, fresh);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let lattice = parameters.lattice();
        let mut reader = open_under(Kind::BgvCiphertext, lattice, bytes)?;
        let key = reader.array()?;
        let level = reader.level(lattice)?;
        let factor = reader.u32()?;
        if factor == 0 || factor >= parameters.plaintext_modulus() {
            let modulus = parameters.plaintext_modulus();
            return Err(
                reader.malformed(format!("expected a factor in 1..{modulus}, got {factor}"))
            );
        }
        let canonical_bits = reader.magnitude("finite noise")?;
        let length_bits = reader.magnitude("finite noise")?;
        if length_bits > canonical_bits {
            let reason = format!("noise of a length of {length_bits} bits exceeds its norm");
            return Err(reader.malformed(reason));
        }
        let coefficient_bits = reader.magnitude("finite noise")?;
        if coefficient_bits > length_bits {
            let reason = format!("noise of {coefficient_bits} bits exceeds its length");
            return Err(reader.malformed(reason));
        }
        let [count] = reader.array()?;
        let is_fresh = reader.flag("a seed")?;
        let (seed, polys) = reader.polys(lattice, level, count, is_fresh)?;
        reader.end()?;
        let noise = Noise { canonical_bits, length_bits, coefficient_bits };
        let degree = polys.len() - 1;
        let estimate = Estimate { parameters: parameters.clone(), level, degree, factor, noise };
        Ok(Self { estimate, key, polys: polys.into(), seed })
    }
}

impl Plaintext {
    /// Its bytes, from which anyone can read the values: a word for each coefficient.
    pub fn to_bytes(&self) -> Vec<u8> {
        let lattice = self.parameters.lattice();
        let length = 4 + self.coefficients.len() * size_of::<u32>();
        seal(Kind::BgvPlaintext, lattice, length, |bytes| {
            bytes.extend_from_slice(&(self.level as u32).to_le_bytes());
            self.coefficients.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
        })
    }

    /// The plaintext that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    ///
    /// ```
    /// use rlwe::bgv::{Parameters, ParametersLiteral, Plaintext};
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let plaintext = parameters.encode(&vec![-3; parameters.slots()], 0)?;
    /// assert_eq!(Plaintext::from_bytes(&parameters, &plaintext.to_bytes())?, plaintext);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let lattice = parameters.lattice();
        let mut reader = open_under(Kind::BgvPlaintext, lattice, bytes)?;
        let level = reader.level(lattice)?;
        let (words, _) = reader.take(lattice.n() * size_of::<u32>())?.as_chunks();
        let coefficients: Vec<u32> = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
        let (t, largest) = (parameters.plaintext_modulus(), coefficients.iter().max());
        if let Some(largest) = largest.filter(|&&largest| largest >= t) {
            return Err(reader.malformed(format!("expected residues below {t}, got {largest}")));
        }
        reader.end()?;
        Ok(parameters.plaintext(Zeroizing::new(coefficients), level))
    }
}
