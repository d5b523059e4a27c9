//! The client's half of CKKS for WebAssembly: keys, encryption, decryption.
//!
//! A page has the secret key and nobody else does: it is made here, of the browser's
//! `crypto.getRandomValues`, and nothing here gives it out. What a program takes and makes, levels
//! and bounds and which evaluation keys, the page knows from the program's interface. There is one
//! thread.
#![forbid(unsafe_code)]

use rlwe::bytes::ReadLimits;
use rlwe::ckks::{Ciphertext, Encoding, Parameters};
use rlwe::keys::{EvaluationKeysRequest, SecretKey};
use rlwe::parallel::on_this_thread;
use sha2::{Digest, Sha256};
use wasm_bindgen::prelude::wasm_bindgen;

type Result<T> = std::result::Result<T, wasm_bindgen::JsError>;

/// Holds a secret key, which is wiped from memory when the client is freed.
#[wasm_bindgen]
pub struct Client {
    parameters: Parameters,
    secret: SecretKey,
}

#[wasm_bindgen]
impl Client {
    /// A client with a new secret key.
    ///
    /// # Errors
    /// The bytes are not those of parameters, or fall short of 128-bit security; the browser gives
    /// no random bytes.
    #[wasm_bindgen(constructor)]
    pub fn new(parameters: &[u8]) -> Result<Client> {
        on_this_thread(|| {
            let parameters = Parameters::from_bytes(parameters, &ReadLimits::default())?;
            let secret = SecretKey::generate(&parameters)?;
            Ok(Client { parameters, secret })
        })
    }

    /// What the secret key is known by; it tells nothing of the key.
    #[wasm_bindgen(getter, js_name = keyId)]
    pub fn key_id(&self) -> Vec<u8> {
        self.secret.id().to_vec()
    }

    /// Numbers in a ciphertext.
    #[wasm_bindgen(getter)]
    pub fn slots(&self) -> usize {
        self.parameters.slots()
    }

    /// The evaluation key of products of ciphertexts up to a level.
    ///
    /// # Errors
    /// The level is above the chain.
    #[wasm_bindgen(js_name = relinearisationKey)]
    pub fn relinearisation_key(&self, level: usize) -> Result<Vec<u8>> {
        self.evaluation_key(&EvaluationKeysRequest {
            relinearisation_level: Some(level),
            ..Default::default()
        })
    }

    /// The evaluation key of a left rotation by `steps` slots of ciphertexts up to a level.
    ///
    /// # Errors
    /// The level is above the chain.
    #[wasm_bindgen(js_name = rotationKey)]
    pub fn rotation_key(&self, steps: i32, level: usize) -> Result<Vec<u8>> {
        self.evaluation_key(&EvaluationKeysRequest {
            rotations: vec![(steps.into(), level)],
            ..Default::default()
        })
    }

    /// Encrypt numbers, one a slot.
    ///
    /// # Errors
    /// There are not `slots` of them, one is not finite or exceeds the bound, or the level is above
    /// the chain.
    pub fn encrypt(&self, numbers: &[f64], level: usize, bound: f64) -> Result<Vec<u8>> {
        on_this_thread(|| {
            let encoding = Encoding::at(level).within(bound);
            let plaintext = self.parameters.encode_real(numbers, encoding)?;
            Ok(self.secret.encrypt(&plaintext)?.to_bytes())
        })
    }

    /// The numbers of a ciphertext, of which the page knows from the interface what it should be,
    /// whatever the ciphertext says of itself.
    ///
    /// # Errors
    /// It is another ciphertext than expected, of another key, or damaged, or a number exceeds the
    /// bound so far that it has outgrown the modulus.
    pub fn decrypt(
        &self,
        ciphertext: &[u8],
        level: usize,
        scale: f64,
        deviation: f64,
        bound: f64,
    ) -> Result<Vec<f64>> {
        on_this_thread(|| {
            let ciphertext = Ciphertext::from_bytes(&self.parameters, ciphertext)?;
            let encoding = Encoding { level, scale: Some(scale), bound: Some(bound) };
            let expected = self.parameters.estimate(self.parameters.slots(), encoding)?;
            let expected = expected.encrypted()?.with_deviation(deviation)?;
            Ok(self.secret.decrypt(&ciphertext, &expected)?.decode_real()?)
        })
    }

    fn evaluation_key(&self, request: &EvaluationKeysRequest) -> Result<Vec<u8>> {
        on_this_thread(|| Ok(self.secret.evaluation_keys(request)?.to_bytes()))
    }
}

/// SHA-256, which browsers offer to pages over TLS alone.
#[wasm_bindgen]
pub fn sha256(data: &[u8]) -> Vec<u8> {
    Sha256::digest(data).to_vec()
}
