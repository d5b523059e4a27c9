//! A product of matrices by seven products of matrices of half the size (Strassen 1969).
//!
//! Both operands are cut into quarters, [`Quarter`]: their places, rows on the left and columns on
//! the right, into halves, and their terms into halves. Sums of quarters are multiplied, and sums of
//! these products are the quarters of the result: seven in place of eight. The identity holds in
//! every ring, so that modulo a prime it is exact, as long as each sum is a residue again before it
//! is multiplied. Winograd's form of 1971 has three additions less, of sums that are longer: here
//! no factor has more than two quarters, which are added up while they are packed.
//!
//! ```text
//!   A = (A00 A01)   B = (B00 B01)   M0 = (A00 + A11) (B00 + B11)    M4 = (A00 + A01) B11
//!       (A10 A11)       (B10 B11)   M1 = (A10 + A11) B00            M5 = (A10 - A00) (B00 + B01)
//!                                   M2 = A00 (B01 - B11)            M6 = (A01 - A11) (B10 + B11)
//!                                   M3 = A11 (B10 - B00)
//!   A B = (M0 + M3 - M4 + M6   M2 + M4          )
//!         (M1 + M3             M0 - M1 + M2 + M5)
//! ```

use super::tiles::{Operand, Sums, Total};

/// Products.
pub(crate) const PRODUCTS: usize = 7;

/// Part of an operand: one half of its places, and one of its terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quarter {
    pub(crate) places: usize,
    pub(crate) terms: usize,
}

/// What is multiplied.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Factor {
    Plain(Quarter),
    Sum(Quarter, Quarter),
    Difference(Quarter, Quarter),
}

impl Factor {
    /// Its residues, given those of quarters.
    pub(crate) fn operand<'a>(self, residues: impl Fn(Quarter) -> &'a [u32]) -> Operand<'a> {
        match self {
            Self::Plain(x) => Operand::Plain(residues(x)),
            Self::Sum(x, y) => Operand::Sum(residues(x), residues(y)),
            Self::Difference(x, y) => Operand::Difference(residues(x), residues(y)),
        }
    }
}

const fn left(places: usize, terms: usize) -> Quarter {
    Quarter { places, terms }
}

const fn right(terms: usize, places: usize) -> Quarter {
    Quarter { places, terms }
}

/// The left and the right factor of each product.
pub(crate) const FACTORS: [[Factor; 2]; PRODUCTS] = {
    use Factor::{Difference, Plain, Sum};
    [
        [Sum(left(0, 0), left(1, 1)), Sum(right(0, 0), right(1, 1))],
        [Sum(left(1, 0), left(1, 1)), Plain(right(0, 0))],
        [Plain(left(0, 0)), Difference(right(0, 1), right(1, 1))],
        [Plain(left(1, 1)), Difference(right(1, 0), right(0, 0))],
        [Sum(left(0, 0), left(0, 1)), Plain(right(1, 1))],
        [Difference(left(1, 0), left(0, 0)), Sum(right(0, 0), right(0, 1))],
        [Difference(left(0, 1), left(1, 1)), Sum(right(1, 0), right(1, 1))],
    ]
};

/// By rows and columns of the result, which products make its quarter, and which are taken off.
const RESULTS: [[[&[usize]; 2]; 2]; 2] =
    [[[&[0, 3, 6], &[4]], [&[2, 4], &[]]], [[&[1, 3], &[]], [&[0, 2, 5], &[1]]]];

/// The quarter of the result in one half of its rows and one of its columns, given the sums of the
/// products.
pub(crate) fn result(sums: &[Sums], rows: usize, columns: usize) -> Total<'_> {
    let [plus, minus] = RESULTS[rows][columns]
        .map(|products| products.iter().map(|&product| &sums[product]).collect());
    Total { plus, minus }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(factor: Factor, of: impl Fn(Quarter) -> i32) -> i32 {
        match factor {
            Factor::Plain(x) => of(x),
            Factor::Sum(x, y) => of(x) + of(y),
            Factor::Difference(x, y) => of(x) - of(y),
        }
    }

    /// Both sides are bilinear: what holds of every pair of units holds of all matrices.
    #[test]
    fn seven_products_make_the_result() {
        let quarters = || [0, 1].into_iter().flat_map(|x| [0, 1].map(|y| (x, y)));
        for (row, inner) in quarters() {
            for (term, column) in quarters() {
                let unit = |one: (usize, usize)| {
                    move |quarter: Quarter| i32::from((quarter.places, quarter.terms) == one)
                };
                let products = FACTORS.map(|[left, right]| {
                    value(left, unit((row, inner))) * value(right, unit((column, term)))
                });
                for (rows, columns) in quarters() {
                    let [plus, minus] = RESULTS[rows][columns]
                        .map(|these| these.iter().map(|&product| products[product]).sum::<i32>());
                    let expected = inner == term && (rows, columns) == (row, column);
                    assert_eq!(plus - minus, i32::from(expected));
                }
            }
        }
    }
}
