//! Division of polynomials by a product of primes, with rounding.

use rlwe::tables::DivisionTable;

use crate::Result;
use crate::launch::{
    Buffer, ConstantOperation, ConversionTables, Device, Operation, Residues, Row, Rows, Table,
    convert, forward, inverse, pointwise, with_constants,
};

/// Polynomials of a ciphertext at most.
pub(crate) const MOST_POLYS: usize = 3;

/// For one, two and three polynomials the rows of each.
pub(crate) fn rows_by_polys(
    device: &Device,
    rows: impl Fn(usize) -> Vec<Row>,
) -> Result<[Rows; MOST_POLYS]> {
    let of = |polys: usize| {
        let rows: Vec<Row> = (0..polys).flat_map(&rows).collect();
        Rows::new(device, &rows)
    };
    Ok([of(1)?, of(2)?, of(3)?])
}

/// x to round(x J / D), D being the product of the primes that leave and J that of those that join:
/// one inverse transform for each that leaves, one forward transform for each of the quotient.
#[derive(Debug)]
pub(crate) struct Division {
    /// Limbs of a polynomial, of its remainder and of its quotient.
    from: usize,
    leaving: usize,
    to: usize,
    conversion: ConversionTables,
    remainders: [Rows; MOST_POLYS],
    quotients: [Rows; MOST_POLYS],
    /// Limbs that stay, which are added to the quotient.
    staying: [Rows; MOST_POLYS],
    /// What these are multiplied by; nothing where that is 1 for all.
    factors: Option<[Table; MOST_POLYS]>,
}

impl Division {
    /// The division of `table`, of polynomials over the primes at positions `from`, given by q.
    pub(crate) fn new(
        device: &Device,
        table: &DivisionTable,
        from: &[usize],
        prime: impl Fn(usize) -> u32,
    ) -> Result<Self> {
        let DivisionTable { conversion, factors } = table;
        let (leaving, to) = (&conversion.sources, &conversion.targets);
        let find = |position: usize| from.iter().position(|&other| other == position);
        let remainder = |poly: usize| {
            let row = |(index, &position): (usize, &usize)| {
                let limb = find(position).expect("a prime that leaves is one of those before");
                Row {
                    prime: position as u32,
                    to: (poly * leaving.len() + index) as u32,
                    first: (poly * from.len() + limb) as u32,
                    second: 0,
                }
            };
            leaving.iter().enumerate().map(row).collect()
        };
        let quotient = |poly: usize| {
            let row = |(index, &position): (usize, &usize)| {
                let limb = (poly * to.len() + index) as u32;
                Row { prime: position as u32, to: limb, first: limb, second: 0 }
            };
            to.iter().enumerate().map(row).collect()
        };
        let staying = |poly: usize| {
            let row = |(index, &position): (usize, &usize)| {
                let limb = (poly * to.len() + index) as u32;
                let second = (poly * from.len() + find(position)?) as u32;
                Some(Row { prime: position as u32, to: limb, first: limb, second })
            };
            to.iter().enumerate().filter_map(row).collect()
        };
        let stay = to.iter().zip(factors).filter(|(position, _)| find(**position).is_some());
        let is_one = |(&position, &factor): (&usize, &u32)| {
            u64::from(factor) == (1u64 << 32) % u64::from(prime(position))
        };
        let factors = if stay.clone().all(is_one) {
            None
        } else {
            let factors: Vec<u32> = stay.map(|(_, &factor)| factor).collect();
            let repeated = |polys: usize| Table::new(device, &factors.repeat(polys));
            Some([repeated(1)?, repeated(2)?, repeated(3)?])
        };
        let limbs = |count: usize| -> Vec<u32> { (0..count as u32).collect() };
        Ok(Self {
            from: from.len(),
            leaving: leaving.len(),
            to: to.len(),
            conversion: ConversionTables::new(
                device,
                conversion,
                &limbs(leaving.len()),
                &limbs(to.len()),
            )?,
            remainders: rows_by_polys(device, remainder)?,
            quotients: rows_by_polys(device, quotient)?,
            staying: rows_by_polys(device, staying)?,
            factors,
        })
    }

    /// Limbs that work on `polys` polynomials takes, the quotients among them.
    pub(crate) fn limbs(&self, polys: usize) -> usize {
        polys * (self.leaving + self.to)
    }

    /// The quotients of `polys` polynomials, one after the other.
    pub(crate) fn apply(
        &self,
        ring: &Residues,
        dividends: &Buffer,
        polys: usize,
        operation: &'static str,
    ) -> Result<Buffer> {
        let device = ring.device();
        debug_assert_eq!(dividends.words(), ring.words(polys * self.from));
        let words = ring.words(polys * self.leaving);
        let mut remainders = Buffer::unwritten(device, words, operation)?;
        let words = ring.words(polys * self.to);
        let mut quotients = Buffer::unwritten(device, words, operation)?;
        let at = polys - 1;
        inverse(ring, &mut remainders, Some(dividends), &self.remainders[at])?;
        let (to, from) = (self.to, self.leaving);
        convert(ring, &mut quotients, to, &remainders, from, polys, &self.conversion)?;
        forward(ring, &mut quotients, None, &self.quotients[at])?;
        let staying = &self.staying[at];
        match &self.factors {
            None => pointwise(ring, Operation::Add, &mut quotients, None, dividends, staying)?,
            Some(factors) => {
                let operation = ConstantOperation::AddScaled;
                let (to, from) = (&mut quotients, Some(dividends));
                with_constants(ring, operation, to, from, staying, &factors[at])?;
            }
        }
        Ok(quotients)
    }
}
