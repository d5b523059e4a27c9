//! What sums of multiples of ciphertexts need on a device, made when it is first used.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rlwe::tables::DivisionTable;

use crate::Result;
use crate::division::Division;
use crate::launch::{Device, Row, Rows};

/// Which polynomials lose which primes: how many, and positions before and after.
type Restriction = (usize, Vec<usize>, Vec<usize>);
/// Positions of the primes of a polynomial, of those that leave and of those of the quotient.
type Dividing = [Vec<usize>; 3];

#[derive(Debug, Default)]
pub(crate) struct CombinationTables {
    restrictions: Mutex<BTreeMap<Restriction, Arc<Rows>>>,
    divisions: Mutex<BTreeMap<Dividing, Arc<Division>>>,
}

impl CombinationTables {
    /// The rows that take the limbs of polynomials over some primes, as second operands, to those
    /// over fewer.
    pub(crate) fn restriction(
        &self,
        device: &Device,
        polys: usize,
        from: &[usize],
        to: &[usize],
    ) -> Result<Arc<Rows>> {
        kept(&self.restrictions, (polys, from.to_vec(), to.to_vec()), |(polys, from, to)| {
            let rows: Vec<Row> = (0..*polys).flat_map(|poly| restricting(from, to, poly)).collect();
            Rows::new(device, &rows)
        })
    }

    /// The division of polynomials over the primes at positions `from`.
    pub(crate) fn division(
        &self,
        device: &Device,
        from: &[usize],
        table: &DivisionTable,
        prime: impl Fn(usize) -> u32,
    ) -> Result<Arc<Division>> {
        let conversion = &table.conversion;
        let key = [from, &conversion.sources, &conversion.targets].map(<[usize]>::to_vec);
        kept(&self.divisions, key, |_| Division::new(device, table, from, prime))
    }
}

/// What is known by a key, made if it is not.
fn kept<K: Ord, V>(
    known: &Mutex<BTreeMap<K, Arc<V>>>,
    key: K,
    make: impl FnOnce(&K) -> Result<V>,
) -> Result<Arc<V>> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(&key) {
        return Ok(Arc::clone(found));
    }
    let made = Arc::new(make(&key)?);
    known.insert(key, Arc::clone(&made));
    Ok(made)
}

/// The rows that take the limbs of polynomial number `poly`.
fn restricting(from: &[usize], to: &[usize], poly: usize) -> Vec<Row> {
    let row = |(limb, &position): (usize, &usize)| {
        let place = from.iter().position(|&other| other == position);
        let place = (poly * from.len() + place.expect("one of the primes before")) as u32;
        let to = (poly * to.len() + limb) as u32;
        Row { prime: position as u32, to, first: place, second: place }
    };
    to.iter().enumerate().map(row).collect()
}
