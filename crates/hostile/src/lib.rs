//! What is done with hostile bytes: read them, and if they are an object, store and use it.
//!
//! Both the fuzz targets and the ordinary tests run these, so everything here is seen to
//! hold without a fuzzer too. The header is built by hand after the description of the
//! format in the crate `envelope`, which is thereby tested.
#![forbid(unsafe_code)]

pub mod bgv;
pub mod bits;
pub mod bootstrapping;
pub mod ckks;
mod keys;

use twox_hash::XxHash3_128;

/// Bytes of the header.
pub const HEADER: usize = 48;

/// Why bytes were refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// They are no object.
    Malformed(String),
    /// They are one, and something refused it.
    Other(String),
}

pub type Outcome = Result<(), Refusal>;

impl From<rlwe::Error> for Refusal {
    fn from(error: rlwe::Error) -> Self {
        match error {
            rlwe::Error::MalformedBytes { .. } => Self::Malformed(error.to_string()),
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<tfhe_eval::Error> for Refusal {
    fn from(error: tfhe_eval::Error) -> Self {
        match error {
            tfhe_eval::Error::MalformedBytes { .. } => Self::Malformed(error.to_string()),
            _ => Self::Other(error.to_string()),
        }
    }
}

/// How the bytes of a fuzzer become those of an object.
#[derive(Clone, Copy)]
pub enum Feed {
    /// They are the object.
    Whole,
    /// They say what is to be changed in one of these, which are too large to be mutated whole:
    /// the first byte chooses one, and then come places, 4 bytes, lengths, 1 byte, and what is
    /// written there.
    Patches(fn() -> &'static [Vec<u8>]),
}

pub struct Target {
    /// Also the folder of its corpus.
    pub name: &'static str,
    magic: [u8; 4],
    version: u16,
    kind: u16,
    fingerprint: fn() -> [u8; 16],
    feed: Feed,
    pub body: fn(&[u8]) -> Outcome,
}

const fn rlwe(
    name: &'static str,
    kind: u16,
    fingerprint: fn() -> [u8; 16],
    body: fn(&[u8]) -> Outcome,
) -> Target {
    Target { name, magic: *b"CLWK", version: 6, kind, fingerprint, feed: Feed::Whole, body }
}

const fn tfhe(name: &'static str, kind: u16, body: fn(&[u8]) -> Outcome) -> Target {
    let fingerprint = bits::fingerprint;
    Target { name, magic: *b"CLWB", version: 3, kind, fingerprint, feed: Feed::Whole, body }
}

const fn patched(target: Target, originals: fn() -> &'static [Vec<u8>]) -> Target {
    Target { feed: Feed::Patches(originals), ..target }
}

pub const TARGETS: [Target; 22] = [
    rlwe("parameters", 1, ckks::small_fingerprint, ckks::read_parameters),
    rlwe("secret_key", 2, ckks::small_fingerprint, ckks::secret_key),
    rlwe("public_key", 3, ckks::small_fingerprint, ckks::public_key),
    rlwe("evaluation_keys", 4, ckks::small_fingerprint, ckks::small_evaluation_keys),
    rlwe("ciphertext", 5, ckks::small_fingerprint, ckks::small_ciphertext),
    rlwe("rotated_products", 13, ckks::small_fingerprint, ckks::rotated_products),
    rlwe("bgv_rotated_products", 14, bgv::small_fingerprint, bgv::rotated_products),
    rlwe("plaintext", 6, ckks::small_fingerprint, ckks::plaintext),
    rlwe("bgv_parameters", 7, bgv::small_fingerprint, bgv::read_parameters),
    rlwe("bgv_ciphertext", 8, bgv::small_fingerprint, bgv::small_ciphertext),
    rlwe("bgv_plaintext", 9, bgv::small_fingerprint, bgv::plaintext),
    rlwe("bgv_evaluation_keys", 4, bgv::small_fingerprint, bgv::small_evaluation_keys),
    patched(
        rlwe("large_evaluation_keys", 4, ckks::large_fingerprint, ckks::large_evaluation_keys),
        ckks::large_keys,
    ),
    patched(
        rlwe("large_ciphertext", 5, ckks::large_fingerprint, ckks::large_ciphertext),
        ckks::large_ciphertexts,
    ),
    patched(
        rlwe("large_bgv_evaluation_keys", 4, bgv::large_fingerprint, bgv::large_evaluation_keys),
        bgv::large_keys,
    ),
    rlwe(
        "bootstrapping_parameters",
        10,
        bootstrapping::fingerprint,
        bootstrapping::read_parameters,
    ),
    patched(
        rlwe("bootstrapping_keys", 4, bootstrapping::fingerprint, bootstrapping::evaluation_keys),
        bootstrapping::keys,
    ),
    tfhe("bits_secret_key", 1, bits::secret_key),
    tfhe("bits_ciphertexts", 3, bits::ciphertexts),
    tfhe("bits_public_key", 4, bits::public_key),
    patched(tfhe("bits_evaluation_key", 2, bits::evaluation_key), bits::evaluation_keys),
    tfhe("bits_program", 0, bits::program),
];

/// The target of this name.
pub fn target(name: &str) -> &'static Target {
    static ALL: [Target; 22] = TARGETS;
    ALL.iter().find(|target| target.name == name).expect("a target")
}

/// Runs the body of a target on `bytes`, and on the same bytes with a right header.
pub fn attack(name: &str, bytes: &[u8]) {
    let target = target(name);
    match target.feed {
        Feed::Whole => {
            let _ = (target.body)(bytes);
            let _ = (target.body)(&target.sealed(bytes.get(HEADER..).unwrap_or(bytes)));
        }
        Feed::Patches(originals) => {
            let _ = (target.body)(&target.sealed(&patch(originals(), bytes)));
        }
    }
}

/// One of `originals` without its header, changed as `bytes` say.
fn patch(originals: &[Vec<u8>], bytes: &[u8]) -> Vec<u8> {
    let (&choice, mut rest) = bytes.split_first().unwrap_or((&0, &[]));
    let mut body = originals[usize::from(choice) % originals.len()][HEADER..].to_vec();
    while let Some((place, after)) = rest.split_first_chunk() {
        let Some((&length, after)) = after.split_first() else { break };
        let (written, after) = after.split_at(usize::from(length).min(after.len()));
        let place = u32::from_le_bytes(*place) as usize % body.len();
        let end = (place + written.len()).min(body.len());
        body[place..end].copy_from_slice(&written[..end - place]);
        rest = after;
    }
    body
}

impl Target {
    /// Whether mutations are of the object itself.
    pub fn is_whole(&self) -> bool {
        matches!(self.feed, Feed::Whole)
    }

    /// `body` under a header that fits it.
    pub fn sealed(&self, body: &[u8]) -> Vec<u8> {
        self.sealed_as((self.fingerprint)(), body)
    }

    /// `body` under a header that fits it and parameters of this fingerprint.
    pub fn sealed_as(&self, fingerprint: [u8; 16], body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.magic);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.kind.to_le_bytes());
        bytes.extend(fingerprint);
        bytes.extend((body.len() as u64).to_le_bytes());
        let seed = XxHash3_128::oneshot(&bytes) as u64;
        let checksum = XxHash3_128::oneshot_with_seed(seed, body);
        bytes.extend(checksum.to_le_bytes());
        bytes.extend(body);
        bytes
    }
}
