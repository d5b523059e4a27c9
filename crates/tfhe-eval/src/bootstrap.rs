//! Bootstraps: key switch, rounding, blind rotation, extraction.
//!
//! A blind rotation turns a test polynomial by the phase, of which 2N places are one turn.
//! Here N = 16, the message space has 4 messages, and there are two tables f and g; minus stands
//! for the messages 2 and 3, which the negacyclic ring makes of 0 and 1:
//!
//! ```text
//! coefficient  0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15
//! table        f  g  f  g  f  g  f  g  f  g  f  g  f  g  f  g
//! message      0  0  0  0  1  1  1  1  1  1  1  1 -0 -0 -0 -0
//! ```
//!
//! The phase is rounded to even places, so that after the rotation the coefficients 0 and 1
//! are f and g of its message: PBSmanyLUT of Chillotti, Ligier, Orfila and Tap (ASIACRYPT 2021,
//! eprint 2021/729). Tables that are rotations of one another are one: see [`crate::tables`].
//!
//! One rotation reads the whole key, which no cache holds. Several that are made together
//! read it once: four in a batch take about two thirds of the time that they take singly.

use tfhe::core_crypto::fft_impl::fft64::crypto::bootstrap::batch_blind_rotate_assign_scratch;
use tfhe::core_crypto::prelude::{
    CiphertextCount, CiphertextModulusLog, ComputationBuffers, ContiguousEntityContainer,
    ContiguousEntityContainerMut, GlweCiphertextList, GlweCiphertextListMutView, LweCiphertext,
    LweCiphertextOwned, LweDimension, ModulusSwitchedLweCiphertext, MonomialDegree,
    extract_lwe_sample_from_glwe_ciphertext, keyswitch_lwe_ciphertext,
    lwe_ciphertext_centered_binary_modulus_switch, lwe_ciphertext_opposite_assign,
};

use crate::keys::{EvaluationKey, ExpandedKey};
use crate::parameters::LWE_MODULUS;
use crate::tables::{Layout, Reading, Tables};

/// Most bootstraps that are made together.
pub(crate) const MAX_BATCH: usize = 4;

/// One bootstrap to do.
pub(crate) struct Task<'a> {
    pub(crate) lwe: Vec<u32>,
    pub(crate) tables: Tables<'a>,
}

/// Makes bootstraps on one thread, in buffers of its own.
pub(crate) struct Bootstrapper<'k> {
    key: &'k ExpandedKey,
    switched: LweCiphertextOwned<u32>,
    accumulators: Vec<u32>,
    buffers: ComputationBuffers,
}

impl<'k> Bootstrapper<'k> {
    pub(crate) fn new(key: &'k EvaluationKey) -> Self {
        let key = &*key.0;
        let glwe_size = key.parameters.large_polynomials().to_glwe_size();
        let size = key.parameters.polynomial_size();
        let count = CiphertextCount(MAX_BATCH);
        let scratch =
            batch_blind_rotate_assign_scratch::<u32>(glwe_size, size, count, key.fft.as_view());
        let mut buffers = ComputationBuffers::new();
        system_memory::require(scratch.unaligned_bytes_required());
        buffers.resize(scratch.unaligned_bytes_required());
        let small_size = key.parameters.small_dimension().to_lwe_size();
        Self {
            key,
            switched: LweCiphertext::new(0, small_size, LWE_MODULUS),
            accumulators: system_memory::filled(0, MAX_BATCH * glwe_size.0 * size.0),
            buffers,
        }
    }

    /// What each of up to [`MAX_BATCH`] bootstraps gives, table by table.
    pub(crate) fn run(&mut self, tasks: &[Task<'_>]) -> Vec<Vec<Vec<u32>>> {
        let layouts: Vec<_> = tasks.iter().map(|task| task.tables.layout()).collect();
        let rotations: Vec<_> = tasks
            .iter()
            .zip(&layouts)
            .map(|(task, layout)| {
                let lwe = LweCiphertext::from_container(&*task.lwe, LWE_MODULUS);
                keyswitch_lwe_ciphertext(&self.key.switch, &lwe, &mut self.switched);
                self.rotations(layout.count_log())
            })
            .collect();
        let glwe_size = self.key.parameters.large_polynomials().to_glwe_size();
        let size = self.key.parameters.polynomial_size();
        let used = &mut self.accumulators[..tasks.len() * glwe_size.0 * size.0];
        let mut accumulators: GlweCiphertextListMutView<'_, u32> =
            GlweCiphertextList::from_container(used, glwe_size, size, LWE_MODULUS);
        for (mut accumulator, layout) in accumulators.iter_mut().zip(&layouts) {
            accumulator.get_mut_mask().as_mut().fill(0);
            write_test_polynomial(accumulator.get_mut_body().as_mut(), layout);
        }
        self.key.bootstrap.as_view().batch_blind_rotate_assign(
            accumulators.as_mut_view(),
            &rotations,
            self.key.fft.as_view(),
            self.buffers.stack(),
        );
        let length = self.key.parameters.lwe_length();
        let extracted = accumulators.iter().zip(&layouts).map(|(accumulator, layout)| {
            let messages = 2 * layout.tables[0].len();
            let extract = |reading: &Reading| {
                let mut output = LweCiphertext::from_container(vec![0; length], LWE_MODULUS);
                // Half a turn on, everything is negated.
                let place =
                    reading.messages % (messages / 2) * (2 * size.0 / messages) + reading.table;
                let place = MonomialDegree(place);
                extract_lwe_sample_from_glwe_ciphertext(&accumulator, &mut output, place);
                if reading.messages >= messages / 2 {
                    lwe_ciphertext_opposite_assign(&mut output);
                }
                output.into_container()
            };
            layout.readings.iter().map(extract).collect()
        });
        extracted.collect()
    }

    /// The switched LWE ciphertext in multiples of `2^count_log` places, centred as
    /// [`crate::noise::switch_variance`] says.
    fn rotations(&self, count_log: u32) -> Rotations {
        let size = self.key.parameters.polynomial_size();
        let modulus_log = size.to_blind_rotation_input_modulus_log();
        let rounded = lwe_ciphertext_centered_binary_modulus_switch::<u32, usize, _>(
            self.switched.as_view(),
            CiphertextModulusLog(modulus_log.0 - count_log as usize),
        );
        let mask = rounded.mask().map(|x| x << count_log).collect();
        Rotations { modulus_log, body: rounded.body() << count_log, mask }
    }
}

fn write_test_polynomial(polynomial: &mut [u32], layout: &Layout<'_>) {
    let (count_log, half) = (layout.count_log(), layout.tables[0].len());
    let width = (polynomial.len() / half) >> count_log;
    polynomial.fill(0);
    for (place, table) in layout.tables.iter().enumerate() {
        let own = polynomial.iter_mut().skip(place).step_by(1 << count_log);
        for (index, coefficient) in own.enumerate() {
            let v = (index + width / 2) / width;
            *coefficient = if v < half { table[v] } else { table[0].wrapping_neg() };
        }
    }
}

/// A ciphertext whose numbers count places.
struct Rotations {
    modulus_log: CiphertextModulusLog,
    body: usize,
    mask: Vec<usize>,
}

impl ModulusSwitchedLweCiphertext<usize> for Rotations {
    fn log_modulus(&self) -> CiphertextModulusLog {
        self.modulus_log
    }

    fn lwe_dimension(&self) -> LweDimension {
        LweDimension(self.mask.len())
    }

    fn body(&self) -> usize {
        self.body
    }

    fn mask(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.mask.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::switch_variance;
    use crate::{Parameters, SecretKey};

    /// The variance of 600 samples is found to within 6 %, two times in three.
    const SAMPLES: usize = 600;

    #[test]
    fn the_switch_adds_no_more_noise_than_stated() {
        for parameters in Parameters::all() {
            let secret = SecretKey::generate(parameters).unwrap();
            let key = secret.evaluation_key().unwrap();
            let mut bootstrapper = Bootstrapper::new(&key);
            let zeros = secret.encrypt(&[0; SAMPLES], &[1; SAMPLES]).unwrap();
            for count_log in 0..3 {
                let squares = zeros.lwes.iter().map(|zero| {
                    let zero = LweCiphertext::from_container(&**zero, LWE_MODULUS);
                    keyswitch_lwe_ciphertext(
                        &bootstrapper.key.switch,
                        &zero,
                        &mut bootstrapper.switched,
                    );
                    let rotations = bootstrapper.rotations(count_log);
                    let turn = 1 << rotations.modulus_log.0;
                    let masked = rotations.mask.iter().zip(&*secret.small);
                    let product: usize = masked.map(|(a, &s)| a * s as usize).sum();
                    // Rounded down to the middle between two multiples: half a step is added.
                    let place = (rotations.body + product * (turn - 1)) % turn;
                    let signed = (place + turn / 2) % turn;
                    let step = f64::from(1 << count_log);
                    ((signed as f64 - turn as f64 / 2.0 + step / 2.0) / turn as f64).powi(2)
                });
                let measured = squares.sum::<f64>() / SAMPLES as f64;
                let ratio = measured / switch_variance(parameters, count_log);
                assert!((0.7..1.3).contains(&ratio), "{parameters:?}, {count_log}: {ratio}");
            }
        }
    }

    #[test]
    fn the_test_polynomial_is_as_drawn() {
        let (f, g) = ([1, 2], [10, 20]);
        let mut polynomial = [7; 16];
        write_test_polynomial(
            &mut polynomial,
            &Tables { message_bits: 2, values: &[f, g].concat() }.layout(),
        );
        let minus = |x: u32| x.wrapping_neg();
        let expected =
            [1, 10, 1, 10, 2, 20, 2, 20, 2, 20, 2, 20, minus(1), minus(10), minus(1), minus(10)];
        assert_eq!(polynomial, expected);
    }

    #[test]
    fn three_tables_leave_the_fourth_place_empty() {
        let mut polynomial = [7; 8];
        write_test_polynomial(
            &mut polynomial,
            &Tables { message_bits: 1, values: &[1, 2, 3] }.layout(),
        );
        let minus = |x: u32| x.wrapping_neg();
        assert_eq!(polynomial, [1, 2, 3, 0, minus(1), minus(2), minus(3), 0]);
    }
}
