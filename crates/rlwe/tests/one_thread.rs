//! Work on the calling thread: no loop enters a pool, and results are those of a pool, bit for
//! bit. One test alone in its process, as any other would start the global pool.

use rayon::ThreadPoolBuilder;
use rlwe::Result;
use rlwe::bgv;
use rlwe::ckks::{
    self, Complex64, Encoding, Parameters, ParametersLiteral, Polynomial, PolynomialBasis,
};
use rlwe::keys::{EvaluationKeys, EvaluationKeysRequest, SecretKey};
use rlwe::parallel::on_this_thread;

fn keys(secret: &SecretKey) -> Result<EvaluationKeys> {
    let top = secret.parameters().max_level();
    secret.evaluation_keys(&EvaluationKeysRequest {
        relinearisation_level: Some(top),
        rotations: [1, 2, 4].map(|step| (step, top)).to_vec(),
        conjugation_level: Some(top),
        ..Default::default()
    })
}

/// BGV with a public key's ciphertext of small numbers.
fn integers() -> Result<(SecretKey, bgv::Evaluator, bgv::Ciphertext)> {
    let literal = bgv::ParametersLiteral { levels: 2, ..Default::default() };
    let parameters = bgv::Parameters::new(literal)?;
    let secret = SecretKey::generate(&parameters)?;
    let row: Vec<i64> = (0..parameters.slots() as i64).map(|i| i % 9).collect();
    let x = secret.public_key()?.encrypt_integers(&parameters.encode(&row, 2)?)?;
    let evaluator = bgv::Evaluator::new(keys(&secret)?);
    Ok((secret, evaluator, x))
}

fn of_integers(evaluator: &bgv::Evaluator, x: &bgv::Ciphertext) -> Result<Vec<bgv::Ciphertext>> {
    let parameters = x.parameters();
    let ones = vec![1; parameters.slots()];
    let plain = parameters.encode(&ones, x.level())?;
    let diagonals = [0, 1, 2, 4].map(|index| (index, ones.clone())).into();
    let transform = bgv::LinearTransform::new(parameters, &diagonals, x.level(), Some(2))?;
    let square = evaluator.multiply_lazily(x, x)?;
    Ok(vec![
        evaluator.sub(&evaluator.add_plain(x, &plain)?, x)?,
        evaluator.multiply_plain(&evaluator.add_scalar(x, 5)?, &plain)?,
        evaluator.multiply_scalar(&evaluator.negate(x)?, 3)?,
        evaluator.rotate_sum(&evaluator.relinearize(&square)?, &[0, 1], &[2])?,
        evaluator.switch_to(&evaluator.relinearize_and_switch(&square)?, 0, Some(3))?,
        evaluator.swap_rows(&evaluator.rotate_hoisted(x, &[1, 2])?[1])?,
        evaluator.linear_transform(x, &transform)?,
    ])
}

/// CKKS with a ciphertext of numbers in [-1, 1].
fn reals() -> Result<(SecretKey, ckks::Evaluator, ckks::Ciphertext)> {
    let parameters = Parameters::new(ParametersLiteral { levels: 4, ..Default::default() })?;
    let secret = SecretKey::generate(&parameters)?;
    let row: Vec<f64> = (0..parameters.slots()).map(|i| (i as f64).sin()).collect();
    let x = secret.encrypt(&parameters.encode_real(&row, Encoding::at(4).within(1.0))?)?;
    let evaluator = ckks::Evaluator::new(keys(&secret)?);
    Ok((secret, evaluator, x))
}

fn of_reals(evaluator: &ckks::Evaluator, x: &ckks::Ciphertext) -> Result<Vec<ckks::Ciphertext>> {
    let parameters = x.parameters();
    let slots = parameters.slots();
    let at = Encoding::at(4);
    let plain = parameters.encode_real(&vec![0.5; slots], at)?;
    let ones = vec![Complex64::ONE; slots];
    let diagonals = [0, 1, 2, 4].map(|index| (index, ones.clone())).into();
    let transforms = [ckks::LinearTransform::new, ckks::LinearTransform::streamed]
        .map(|make| make(parameters, &diagonals, slots, at, ckks::BabySteps::below(2)));
    let [kept, streamed] = transforms;
    let polynomial = Polynomial::new(&[0.5, 1.0, 0.0, -0.3, 0.1], PolynomialBasis::Chebyshev)?;
    Ok(vec![
        evaluator
            .sub(&evaluator.multiply_plain(x, &plain)?, &evaluator.multiply_plain(x, &plain)?)?,
        evaluator.relinearize_and_rescale(&evaluator.multiply_lazily(x, x)?)?,
        evaluator.conjugate(&evaluator.rotate_hoisted(x, &[1, 2])?[0])?,
        evaluator.linear_transform(x, &kept?)?,
        evaluator.linear_transform(x, &streamed?)?,
        evaluator.polynomial(x, &polynomial)?,
    ])
}

#[test]
fn one_thread_makes_what_a_pool_makes_and_enters_none() -> Result<()> {
    let (secret, evaluator, x) = on_this_thread(integers)?;
    let exact = on_this_thread(|| of_integers(&evaluator, &x))?;
    let decrypt = || exact.iter().try_for_each(|each| secret.decrypt_integers(each).map(drop));
    on_this_thread(decrypt)?;

    let (secret, approximate_evaluator, y) = on_this_thread(reals)?;
    let approximate = on_this_thread(|| of_reals(&approximate_evaluator, &y))?;
    on_this_thread(|| secret.decrypt(&approximate[0], approximate[0].estimate())?.decode_real())?;

    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert!(pool.install(|| of_integers(&evaluator, &x))? == exact);
    assert!(pool.install(|| of_reals(&approximate_evaluator, &y))? == approximate);
    // It can be built once, so that no loop has built it.
    assert!(ThreadPoolBuilder::new().num_threads(1).build_global().is_ok());
    Ok(())
}
