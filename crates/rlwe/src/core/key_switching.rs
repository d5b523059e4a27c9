//! Hybrid key switching (Han and Ki 2020; Kim, Polyakov, Zucca 2021), in steps
//! that callers share between rotations.
//!
//! The gadget decomposition cuts a polynomial c1 modulo Q into digits, each extended to all
//! primes of Q P ([`mod_up`]); the gadget product, inner products with a key's two halves, gives
//! P c1 s' under the new secret modulo Q P; ModDown, division by P, ends it. ModUp is the
//! expensive part, and rotations of one ciphertext share it (hoisting): keys are made so that
//! the automorphism comes after the inner product (Halevi and Shoup 2018, section 5).
//!
//! Modulo the primes of Q everything over Q P is premultiplied by P^-1, keys included: there a
//! product with P takes nothing, and ModDown subtracts the remainder modulo P and no more.
//!
//! Noise: with D digits below P / 2^4, centred, and error deviation 3.2, the
//! deviation of an added coefficient before division is at most
//! `3.2 sqrt(D N / 12) P / 2^4`, below that of the division's own rounding,
//! `sqrt((1 + |s|^2) / 12)`, for the rings of the security table.

use rayon::prelude::*;

use super::keys::{KeyLimb, SwitchingKey};
use super::parameters::{Digit, Parameters};
use crate::parallel;
use crate::ring::automorphism::Automorphism;
use crate::ring::buffers;
use crate::ring::bundle::TILE;
use crate::ring::inner_products::{self, DigitTerms};
use crate::ring::kernels;
use crate::ring::modulus::Modulus;
use crate::ring::poly::{Basis, Poly, Ring};

/// The gadget decomposition of a polynomial: its digits, each over all primes of a
/// level and the key-switching primes.
pub(crate) struct Decomposition<'a> {
    level: usize,
    /// The polynomial itself: what each digit is modulo its own primes.
    whole: &'a Poly,
    /// Each digit modulo the primes that are not its own.
    extensions: Vec<Poly>,
}

/// A key that a decomposition is switched by, and the automorphism that follows.
struct KeyedAutomorphism<'a> {
    key: &'a SwitchingKey,
    /// For each digit, where it stands in the key.
    places: Vec<usize>,
    automorphism: Automorphism,
}

impl<'a> KeyedAutomorphism<'a> {
    fn new(
        parameters: &Parameters,
        digits: &[Digit],
        element: usize,
        key: &'a SwitchingKey,
    ) -> Self {
        let automorphism = Automorphism::new(parameters.log_n(), element);
        Self { key, places: key.places(digits), automorphism }
    }
}

/// What is added up of a decomposition.
pub(crate) struct Automorphisms<'a> {
    added: Vec<KeyedAutomorphism<'a>>,
    subtracted: Vec<KeyedAutomorphism<'a>>,
}

impl<'a> Automorphisms<'a> {
    /// By Galois elements and their keys, at a level.
    pub(crate) fn new(
        parameters: &Parameters,
        level: usize,
        added: &[(usize, &'a SwitchingKey)],
        subtracted: &[(usize, &'a SwitchingKey)],
    ) -> Self {
        let digits = parameters.digits(level);
        let [added, subtracted] = [added, subtracted].map(|steps| {
            let one = |&(element, key): &(usize, &'a SwitchingKey)| {
                KeyedAutomorphism::new(parameters, digits, element, key)
            };
            steps.iter().map(one).collect()
        });
        Self { added, subtracted }
    }
}

/// The Galois element and key of a rotation; none for a rotation by 0.
pub(crate) type Step<'a> = Option<(usize, &'a SwitchingKey)>;

/// Rotations of one ciphertext, to be made prime by prime; none for a rotation by 0.
pub(crate) struct KeyedRotations<'a>(Vec<Option<KeyedAutomorphism<'a>>>);

impl<'a> KeyedRotations<'a> {
    pub(crate) fn new(parameters: &Parameters, level: usize, steps: &[Step<'a>]) -> Self {
        let digits = parameters.digits(level);
        let one = |&(element, key): &(usize, &'a SwitchingKey)| {
            KeyedAutomorphism::new(parameters, digits, element, key)
        };
        Self(steps.iter().map(|step| step.as_ref().map(one)).collect())
    }

    /// P times every rotation modulo one prime of Q P, two limbs each, into `limbs`.
    pub(crate) fn write(
        &self,
        parameters: &Parameters,
        decomposition: &Decomposition<'_>,
        polys: &[Poly],
        position: usize,
        limbs: &mut [u32],
    ) {
        let n = parameters.n();
        // A product with P is zero modulo P, and as it is held divided is nothing elsewhere.
        let own = polys[0].basis.contains(position);
        let addend = own.then(|| polys[0].limb(position));
        let sums = PermutedSums::new(decomposition, parameters, position, addend);
        for (rotation, pair) in self.0.iter().zip(limbs.chunks_exact_mut(2 * n)) {
            let (first, second) = pair.split_at_mut(n);
            match rotation {
                Some(one) => sums.write_one(one, [first, second]),
                None if own => {
                    first.copy_from_slice(polys[0].limb(position));
                    second.copy_from_slice(polys[1].limb(position));
                }
                None => pair.fill(0),
            }
        }
    }
}

/// ModUp: cuts `whole`, over the basis of `level`, into digits and extends each to Q P.
pub(crate) fn mod_up<'a>(
    parameters: &Parameters,
    level: usize,
    whole: &'a Poly,
) -> Decomposition<'a> {
    #[cfg(test)]
    counts::DECOMPOSITIONS.set(counts::DECOMPOSITIONS.get() + 1);
    let ring = parameters.ring();
    let coefficients = ring.unnormalised_coefficients(whole, &whole.basis);
    let digits = parameters.digits(level);
    let extensions = parallel::over(digits)
        .shared()
        .map(|digit| {
            let inputs: Vec<&[u32]> = digit.own.iter().map(|p| coefficients.limb(p)).collect();
            let mut extension = ring.unwritten(&digit.others);
            let outputs = extension.limbs_mut().map(|(_, limb)| [limb]).collect();
            let positions = digit.others.positions();
            digit.conversion.run([&inputs], outputs, |index, [limb]| {
                ring.primes[usize::from(positions[index])].forward(limb);
            });
            extension
        })
        .collect();
    Decomposition { level, whole, extensions }
}

impl Decomposition<'_> {
    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// Digits modulo the prime at `position`.
    fn limbs<'a>(&'a self, parameters: &Parameters, position: usize) -> Vec<&'a [u32]> {
        let digits = parameters.digits(self.level).iter().zip(&self.extensions);
        digits
            .map(|(digit, extension)| {
                let own = digit.own.contains(position);
                if own { self.whole.limb(position) } else { extension.limb(position) }
            })
            .collect()
    }

    /// The basis of the inner products.
    fn extended<'a>(&self, parameters: &'a Parameters) -> &'a Basis {
        parameters.extended_basis(self.level)
    }

    /// The gadget product: two polynomials modulo Q P that encrypt P times the whole under the
    /// key's secret.
    pub(crate) fn switch(&self, parameters: &Parameters, key: &SwitchingKey) -> [Poly; 2] {
        let ring = parameters.ring();
        let basis = self.extended(parameters);
        let places = key.places(parameters.digits(self.level));
        let mut sums = [ring.unwritten(basis), ring.unwritten(basis)];
        for_each_pair(&mut sums, |position, limbs| {
            let digits = self.limbs(parameters, position);
            let key = key.limb(ring, position);
            let terms = digit_terms(ring, &digits, &key, &places);
            inner_products::inner_product(ring.modulus(position), terms, terms.tile, limbs);
        });
        sums
    }

    /// Adds [`Self::switch`] to `sums`, over Q P, the automorphism of the key applied to both.
    pub(crate) fn add_switched_then_permuted(
        &self,
        parameters: &Parameters,
        key: &SwitchingKey,
        automorphism: &Automorphism,
        sums: &mut [Poly; 2],
    ) {
        let ring = parameters.ring();
        let places = key.places(parameters.digits(self.level));
        for_each_pair(sums, |position, limbs| {
            let digits = self.limbs(parameters, position);
            let key = key.limb(ring, position);
            let terms = digit_terms(ring, &digits, &key, &places);
            inner_products::add_inner_product_permuted(
                ring.modulus(position),
                terms,
                terms.tile,
                None,
                automorphism,
                limbs,
            );
        });
    }

    /// Two polynomials modulo Q that encrypt the whole under each key's secret, `addend` added to
    /// the first, the key's automorphism applied to both, and all of these added up: those of
    /// `automorphisms.added` less those of `automorphisms.subtracted`. One ModDown serves them all.
    ///
    /// Only the residues modulo P of the inner products stand in memory; those modulo Q are
    /// added to the quotients as they come. `add` adds to these what else there is, limb by limb.
    pub(crate) fn switch_mod_down_then_permute(
        &self,
        parameters: &Parameters,
        automorphisms: &Automorphisms<'_>,
        addend: &Poly,
        add: impl Fn(usize, [&mut [u32]; 2]) + Sync,
    ) -> [Poly; 2] {
        let ring = parameters.ring();
        let division = parameters.division_by_special(self.level);
        let mut remainders = [ring.unwritten(&division.leaving), ring.unwritten(&division.leaving)];
        for_each_pair(&mut remainders, |position, [first, second]| {
            let sums = PermutedSums::new(self, parameters, position, None);
            sums.write(automorphisms, [&mut *first, &mut *second]);
            ring.primes[position].inverse_unnormalised(first);
            ring.primes[position].inverse_unnormalised(second);
        });
        division.finish(ring, remainders.each_ref(), |position, _, [first, second]| {
            let sums = PermutedSums::new(self, parameters, position, Some(addend.limb(position)));
            sums.add(automorphisms, [&mut *first, &mut *second]);
            add(position, [first, second]);
        })
    }

    /// [`Self::switch`] with P times `addend`, over Q, added to the first polynomial, the
    /// automorphism of the key applied to both.
    pub(crate) fn switch_then_permute(
        &self,
        parameters: &Parameters,
        key: &SwitchingKey,
        addend: &Poly,
        automorphism: &Automorphism,
    ) -> [Poly; 2] {
        self.permuted(parameters, key, automorphism, |position| {
            addend.basis.contains(position).then(|| addend.limb(position))
        })
    }

    /// [`Self::switch`] with `addend`, over Q P, added to the first polynomial, the
    /// automorphism of the key applied to both.
    pub(crate) fn switch_sum_then_permute(
        &self,
        parameters: &Parameters,
        key: &SwitchingKey,
        addend: &Poly,
        automorphism: &Automorphism,
    ) -> [Poly; 2] {
        self.permuted(parameters, key, automorphism, |position| Some(addend.limb(position)))
    }

    /// `addend` gives a limb for the prime at a position.
    fn permuted<'b>(
        &self,
        parameters: &Parameters,
        key: &SwitchingKey,
        automorphism: &Automorphism,
        addend: impl Fn(usize) -> Option<&'b [u32]> + Sync,
    ) -> [Poly; 2] {
        let ring = parameters.ring();
        let basis = self.extended(parameters);
        let places = key.places(parameters.digits(self.level));
        let mut sums = [ring.unwritten(basis), ring.unwritten(basis)];
        for_each_pair(&mut sums, |position, limbs| {
            let digits = self.limbs(parameters, position);
            let key = key.limb(ring, position);
            let terms = digit_terms(ring, &digits, &key, &places);
            inner_products::inner_product_then_permute(
                ring.modulus(position),
                terms,
                terms.tile,
                addend(position),
                automorphism,
                limbs,
            );
        });
        sums
    }
}

/// The sums of inner products, automorphisms applied, modulo one prime.
struct PermutedSums<'a> {
    parameters: &'a Parameters,
    position: usize,
    digits: Vec<&'a [u32]>,
    addend: Option<&'a [u32]>,
}

impl<'a> PermutedSums<'a> {
    fn new(
        decomposition: &'a Decomposition<'_>,
        parameters: &'a Parameters,
        position: usize,
        addend: Option<&'a [u32]>,
    ) -> Self {
        let digits = decomposition.limbs(parameters, position);
        Self { parameters, position, digits, addend }
    }

    fn modulus(&self) -> Modulus {
        self.parameters.ring().modulus(self.position)
    }

    /// Overwrites `limbs`.
    fn write(&self, automorphisms: &Automorphisms<'_>, mut limbs: [&mut [u32]; 2]) {
        match automorphisms.added.split_first() {
            Some((first, others)) => {
                self.write_one(first, limbs.each_mut().map(|limb| &mut **limb));
                self.add_all(others, limbs.each_mut().map(|limb| &mut **limb));
            }
            None => limbs.iter_mut().for_each(|limb| limb.fill(0)),
        }
        self.subtract_all(&automorphisms.subtracted, limbs);
    }

    fn add(&self, automorphisms: &Automorphisms<'_>, mut limbs: [&mut [u32]; 2]) {
        self.add_all(&automorphisms.added, limbs.each_mut().map(|limb| &mut **limb));
        self.subtract_all(&automorphisms.subtracted, limbs);
    }

    fn add_all(&self, automorphisms: &[KeyedAutomorphism<'_>], mut limbs: [&mut [u32]; 2]) {
        for one in automorphisms {
            let key = self.key(one);
            let terms = self.terms(one, &key);
            inner_products::add_inner_product_permuted(
                self.modulus(),
                terms,
                terms.tile,
                self.addend,
                &one.automorphism,
                limbs.each_mut().map(|limb| &mut **limb),
            );
        }
    }

    fn subtract_all(&self, automorphisms: &[KeyedAutomorphism<'_>], limbs: [&mut [u32]; 2]) {
        let Some((first, others)) = automorphisms.split_first() else { return };
        let mut scratch = buffers::take(2 * limbs[0].len());
        let (left, right) = scratch.split_at_mut(limbs[0].len());
        self.write_one(first, [&mut *left, &mut *right]);
        self.add_all(others, [&mut *left, &mut *right]);
        for (limb, sum) in limbs.into_iter().zip([left, right]) {
            kernels::sub(self.modulus(), limb, sum);
        }
        buffers::give(scratch);
    }

    fn write_one(&self, one: &KeyedAutomorphism<'_>, limbs: [&mut [u32]; 2]) {
        let key = self.key(one);
        let terms = self.terms(one, &key);
        inner_products::inner_product_then_permute(
            self.modulus(),
            terms,
            terms.tile,
            self.addend,
            &one.automorphism,
            limbs,
        );
    }

    fn key<'b>(&self, one: &KeyedAutomorphism<'b>) -> KeyLimb<'b> {
        one.key.limb(self.parameters.ring(), self.position)
    }

    fn terms<'b>(&'b self, one: &'b KeyedAutomorphism<'_>, key: &'b [u32]) -> DigitTerms<'b> {
        digit_terms(self.parameters.ring(), &self.digits, key, &one.places)
    }
}

fn digit_terms<'a>(
    ring: &Ring,
    digits: &'a [&'a [u32]],
    key: &'a [u32],
    places: &'a [usize],
) -> DigitTerms<'a> {
    let (key_digits, tile) = (key.len() / (2 * ring.n()), TILE.min(ring.n()));
    DigitTerms { digits, key, key_digits, places, tile }
}

/// Runs `work` on the limbs of two polynomials over the same basis, prime by prime.
pub(crate) fn for_each_pair(polys: &mut [Poly; 2], work: impl Fn(usize, [&mut [u32]; 2]) + Sync) {
    let [first, second] = polys;
    first
        .par_limbs_mut()
        .zip(second.par_limbs_mut())
        .shared()
        .for_each(|((position, first), (_, second))| work(position, [first, second]));
}

/// How often the expensive parts ran on this thread, for tests of what an operation costs.
#[cfg(test)]
pub(crate) mod counts {
    use std::cell::Cell;

    thread_local! {
        pub(crate) static DECOMPOSITIONS: Cell<usize> = const { Cell::new(0) };
    }
}
