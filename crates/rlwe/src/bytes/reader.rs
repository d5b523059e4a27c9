//! Numbers that mean something under parameters.

use envelope::Reader;

use crate::Result;
use crate::ckks;
use crate::core::Parameters;

/// A level that there is.
pub(super) fn level(reader: &mut Reader<'_>, parameters: &Parameters) -> Result<usize> {
    let (level, highest) = (reader.u32()? as usize, parameters.max_level());
    if level > highest {
        let reason = format!("expected a level of at most {highest}, got {level}");
        return Err(reader.malformed(reason).into());
    }
    Ok(level)
}

/// A number of slots that a ciphertext can have.
pub(super) fn slots(reader: &mut Reader<'_>, parameters: &Parameters) -> Result<usize> {
    let (slots, most) = (reader.u32()? as usize, parameters.slots());
    if !slots.is_power_of_two() || slots > most {
        let reason = format!("expected a power of two of at most {most} slots, got {slots}");
        return Err(reader.malformed(reason).into());
    }
    Ok(slots)
}

/// A scale that values near 1 may have at `level`.
pub(super) fn scale(
    reader: &mut Reader<'_>,
    parameters: &ckks::Parameters,
    level: usize,
) -> Result<f64> {
    let scale = reader.f64()?;
    let fits = parameters.check_scale(level, scale, "read a scale");
    fits.map_err(|_| reader.malformed(format!("a scale of {scale:e} does not fit its level")))?;
    Ok(scale)
}
