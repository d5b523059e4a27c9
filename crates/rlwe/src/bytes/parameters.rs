//! Parameters are stored as the request that they answer, and compiled again.

use super::envelope::{Kind, open, seal};
use super::reader::Reader;
use crate::Result;
use crate::chain::{MAX_LOG_N, MIN_LOG_N};
use crate::literal::{ParametersLiteral, SecretDistribution};
use crate::parameters::Parameters;

const TERNARY: u32 = 0;
const FIXED_WEIGHT: u32 = 1;
/// Stands for the number of digits that is left to the engine.
const CHEAPEST_DIGITS: u32 = 0;
const LENGTH: usize = 4 + 4 + 8 + 8 + 4 + 4 + 4 + 1;
const PLAINTEXT_MODULUS_LENGTH: usize = 4;

impl Parameters {
    /// The bytes of the request, ring degree filled in, and of the fingerprint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let literal = self.literal();
        let digits = literal.digits.map_or(CHEAPEST_DIGITS, |digits| digits as u32);
        let (distribution, weight) = match literal.secret {
            SecretDistribution::Ternary => (TERNARY, 0),
            SecretDistribution::FixedWeight(weight) => (FIXED_WEIGHT, weight as u32),
        };
        let (kind, length) = match literal.plaintext_modulus {
            None => (Kind::Parameters, LENGTH),
            Some(_) => (Kind::BgvParameters, LENGTH + PLAINTEXT_MODULUS_LENGTH),
        };
        seal(kind, self, length, |bytes| {
            bytes.extend_from_slice(&self.log_n().to_le_bytes());
            bytes.extend_from_slice(&(literal.levels as u32).to_le_bytes());
            bytes.extend_from_slice(&literal.scale_bits.to_le_bytes());
            bytes.extend_from_slice(&literal.headroom_bits.to_le_bytes());
            bytes.extend_from_slice(&digits.to_le_bytes());
            literal
                .plaintext_modulus
                .iter()
                .for_each(|t| bytes.extend_from_slice(&t.to_le_bytes()));
            bytes.extend_from_slice(&distribution.to_le_bytes());
            bytes.extend_from_slice(&weight.to_le_bytes());
            bytes.push(u8::from(literal.insecure));
        })
    }

    /// The parameters that [`Self::to_bytes`] stored, compiled again: time and memory are
    /// those of [`Parameters::new`], whoever wrote the bytes. What was allowed to be
    /// insecure still is; see [`Self::is_secure`].
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes), also when the request compiles to another fingerprint
    /// than was stored; those of [`Parameters::new`].
    ///
    /// ```
    /// use rlwe::{Parameters, ParametersLiteral};
    /// let literal = ParametersLiteral { levels: 1, ..ParametersLiteral::default() };
    /// let parameters = Parameters::new(literal)?;
    /// assert_eq!(Parameters::from_bytes(&parameters.to_bytes())?, parameters);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(Kind::Parameters, bytes)
    }

    /// [`Self::from_bytes`] for either scheme.
    pub(super) fn read(kind: Kind, bytes: &[u8]) -> Result<Self> {
        let (stored, literal) = read(kind, bytes)?;
        let parameters = Self::new(literal)?;
        let compiled = parameters.fingerprint();
        if stored != compiled {
            let [stored, compiled] = [stored, compiled].map(u128::from_be_bytes);
            return Err(kind.malformed(format!(
                "expected the fingerprint {stored:032x}, but the request compiles to {compiled:032x}; another version made it"
            )));
        }
        Ok(parameters)
    }
}

impl ParametersLiteral {
    /// The request in the bytes of [`Parameters`], which is not compiled: to look at the
    /// size and security of a stranger's parameters before paying for them.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes).
    ///
    /// ```
    /// use rlwe::{Parameters, ParametersLiteral};
    /// let literal = ParametersLiteral { log_n: Some(14), ..ParametersLiteral::default() };
    /// let bytes = Parameters::new(literal.clone())?.to_bytes();
    /// assert_eq!(ParametersLiteral::from_bytes(&bytes)?, literal);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(read(Kind::Parameters, bytes)?.1)
    }
}

pub(super) fn read(kind: Kind, bytes: &[u8]) -> Result<([u8; 16], ParametersLiteral)> {
    let (fingerprint, mut reader) = open(kind, bytes)?;
    let log_n = reader.u32()?;
    if !(MIN_LOG_N..=MAX_LOG_N).contains(&log_n) {
        let reason = format!("expected log_n between {MIN_LOG_N} and {MAX_LOG_N}, got {log_n}");
        return Err(reader.malformed(reason));
    }
    let literal = ParametersLiteral {
        log_n: Some(log_n),
        levels: reader.u32()? as usize,
        scale_bits: reader.f64()?,
        headroom_bits: reader.f64()?,
        digits: Some(reader.u32()?).filter(|&d| d != CHEAPEST_DIGITS).map(|d| d as usize),
        plaintext_modulus: plaintext_modulus(kind, &mut reader)?,
        secret: secret(&mut reader, 1 << log_n)?,
        insecure: reader.flag("the leave to be insecure")?,
    };
    reader.end()?;
    Ok((fingerprint, literal))
}

fn plaintext_modulus(kind: Kind, reader: &mut Reader<'_>) -> Result<Option<u32>> {
    if kind == Kind::BgvParameters { reader.u32().map(Some) } else { Ok(None) }
}

fn secret(reader: &mut Reader<'_>, n: u32) -> Result<SecretDistribution> {
    match (reader.u32()?, reader.u32()?) {
        (TERNARY, 0) => Ok(SecretDistribution::Ternary),
        (FIXED_WEIGHT, weight) if weight <= n => {
            Ok(SecretDistribution::FixedWeight(weight as usize))
        }
        (distribution, weight) => Err(reader.malformed(format!(
            "there is no secret distribution {distribution} of weight {weight} in degree {n}"
        ))),
    }
}
