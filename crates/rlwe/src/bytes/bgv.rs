//! Ciphertexts and plaintexts of BGV.

use envelope::Reader;
use zeroize::Zeroizing;

use super::kind::{BGV_CIPHERTEXT, BGV_PLAINTEXT, BGV_ROTATED_PRODUCTS, open_under, seal};
use super::{reader, residues};
use crate::Result;
use crate::bgv::{Ciphertext, Estimate, Noise, Parameters, Plaintext, RotatedProducts};
use crate::core::keys::KeyId;

/// Level, correction factor and the three bounds of noise.
const ESTIMATE_LENGTH: usize = 4 + 4 + 3 * 8;

fn write_estimate(bytes: &mut Vec<u8>, estimate: &Estimate) {
    bytes.extend_from_slice(&(estimate.level as u32).to_le_bytes());
    bytes.extend_from_slice(&estimate.factor.to_le_bytes());
    let Noise { canonical_bits, length_bits, coefficient_bits } = estimate.noise;
    for bound in [canonical_bits, length_bits, coefficient_bits] {
        bytes.extend_from_slice(&bound.to_le_bytes());
    }
}

/// What an object says of itself. Anything that no object can be is refused; anything else may be
/// a lie.
fn read_estimate(reader: &mut Reader<'_>, parameters: &Parameters) -> Result<Estimate> {
    let level = reader::level(reader, parameters)?;
    let factor = reader.u32()?;
    if factor == 0 || factor >= parameters.plaintext_modulus() {
        let modulus = parameters.plaintext_modulus();
        let reason = format!("expected a factor in 1..{modulus}, got {factor}");
        return Err(reader.malformed(reason).into());
    }
    let canonical_bits = reader.magnitude("finite noise")?;
    let length_bits = reader.magnitude("finite noise")?;
    if length_bits > canonical_bits {
        let reason = format!("noise of a length of {length_bits} bits exceeds its norm");
        return Err(reader.malformed(reason).into());
    }
    let coefficient_bits = reader.magnitude("finite noise")?;
    if coefficient_bits > length_bits {
        let reason = format!("noise of {coefficient_bits} bits exceeds its length");
        return Err(reader.malformed(reason).into());
    }
    let noise = Noise { canonical_bits, length_bits, coefficient_bits };
    Ok(Estimate { parameters: parameters.clone(), level, degree: 0, factor, noise })
}

impl Ciphertext {
    /// Its bytes: half of [`Self::nbytes`] and a little while it is fresh from a secret key,
    /// as much and a little later.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Of a fresh ciphertext the seed stands for the second polynomial.
        let stored = if self.seed.is_some() { &self.polys[..1] } else { &self.polys };
        let parameters = self.parameters();
        let seed = self.seed.as_ref().map_or(&[][..], |seed| &seed.0);
        let polys: usize =
            stored.iter().map(|poly| residues::length(parameters, &poly.basis)).sum();
        let length = size_of::<KeyId>() + ESTIMATE_LENGTH + 1 + 1 + seed.len() + polys;
        seal(BGV_CIPHERTEXT, parameters, length, |bytes| {
            bytes.extend_from_slice(&self.key);
            write_estimate(bytes, &self.estimate);
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
    /// let secret = SecretKey::generate(&parameters)?;
    /// let row = vec![7; parameters.slots()];
    /// let fresh = secret.encrypt_integers(&parameters.encode(&row, 0)?)?;
    /// let bytes = fresh.to_bytes();
    /// assert!(bytes.len() < fresh.nbytes() / 2 + 200);
    /// assert_eq!(Ciphertext::from_bytes(&parameters, &bytes)?, fresh);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let mut reader = open_under(BGV_CIPHERTEXT, parameters, bytes)?;
        let key = reader.array()?;
        let estimate = read_estimate(&mut reader, parameters)?;
        let level = estimate.level;
        let [count] = reader.array()?;
        let is_fresh = reader.flag("a seed")?;
        let (seed, polys) = residues::polys(&mut reader, parameters, level, count, is_fresh)?;
        reader.end()?;
        let estimate = Estimate { degree: polys.len() - 1, ..estimate };
        Ok(Self { estimate, key, polys: polys.into(), seed })
    }
}

impl RotatedProducts {
    /// Their bytes: as many as in memory, and a little.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length =
            size_of::<KeyId>() + ESTIMATE_LENGTH + residues::products_length(&self.products);
        seal(BGV_ROTATED_PRODUCTS, self.parameters(), length, |bytes| {
            bytes.extend_from_slice(&self.key);
            write_estimate(bytes, &self.estimate);
            residues::write_products(bytes, &self.products);
        })
    }

    /// The products that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let mut reader = open_under(BGV_ROTATED_PRODUCTS, parameters, bytes)?;
        let key = reader.array()?;
        let estimate = read_estimate(&mut reader, parameters)?;
        let products = residues::products(&mut reader, parameters, estimate.level)?;
        reader.end()?;
        let estimate = Estimate { degree: 2, ..estimate };
        Ok(Self { estimate, key, products: products.into() })
    }
}

impl Plaintext {
    /// Its bytes, from which anyone can read the values: a word for each coefficient.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = 4 + self.coefficients.len() * size_of::<u32>();
        seal(BGV_PLAINTEXT, &self.parameters, length, |bytes| {
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
        let mut reader = open_under(BGV_PLAINTEXT, parameters, bytes)?;
        let level = reader::level(&mut reader, parameters)?;
        let (words, _) = reader.take(parameters.n() * size_of::<u32>())?.as_chunks();
        let coefficients =
            system_memory::collected(words.iter().map(|&word| u32::from_le_bytes(word)));
        let (t, largest) = (parameters.plaintext_modulus(), coefficients.iter().max());
        if let Some(largest) = largest.filter(|&&largest| largest >= t) {
            let reason = format!("expected residues below {t}, got {largest}");
            return Err(reader.malformed(reason).into());
        }
        reader.end()?;
        Ok(parameters.plaintext(Zeroizing::new(coefficients), level))
    }
}
