//! The kernels compiled for a GPU, by the compiler that CUDA loads at run time.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cudarc::nvrtc::{result, sys};

use crate::{Error, Result};

/// All kernels.
const SOURCE: &CStr = source(concat!(include_str!("../../kernels/kernels.c"), "\0"));
/// What the source includes, by name.
const HEADERS: [(&CStr, &CStr); 9] = [
    (c"device.h", source(concat!(include_str!("../../kernels/device.h"), "\0"))),
    (c"arithmetic.h", source(concat!(include_str!("../../kernels/arithmetic.h"), "\0"))),
    (c"transform.cu", source(concat!(include_str!("../../kernels/transform.cu"), "\0"))),
    (c"pointwise.cu", source(concat!(include_str!("../../kernels/pointwise.cu"), "\0"))),
    (c"automorphism.cu", source(concat!(include_str!("../../kernels/automorphism.cu"), "\0"))),
    (c"inner_product.cu", source(concat!(include_str!("../../kernels/inner_product.cu"), "\0"))),
    (c"conversion.cu", source(concat!(include_str!("../../kernels/conversion.cu"), "\0"))),
    (c"diagonals.cu", source(concat!(include_str!("../../kernels/diagonals.cu"), "\0"))),
    (c"combination.cu", source(concat!(include_str!("../../kernels/combination.cu"), "\0"))),
];

const fn source(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a source with a zero byte"),
    }
}

/// Machine code of the kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// What the driver loads.
    pub code: Arc<[u8]>,
    /// What the compiler said: registers and memory of each kernel among it.
    pub log: String,
}

/// An architecture, and log2 of a ring degree.
type Target = (String, u32);

/// What was compiled by this process.
static IMAGES: LazyLock<Mutex<BTreeMap<Target, Image>>> = LazyLock::new(Mutex::default);

/// The kernels compiled for an architecture such as "sm_90" and the ring of degree 2^`log_n`, once
/// for every process. No GPU is needed.
///
/// # Errors
/// [`Error::NoCompiler`], [`Error::Compilation`].
pub fn compile(architecture: &str, log_n: u32) -> Result<Image> {
    let mut images = IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let target = (architecture.to_string(), log_n);
    if let Some(image) = images.get(&target) {
        return Ok(image.clone());
    }
    let image = compiled(architecture, log_n)?;
    images.insert(target, image.clone());
    Ok(image)
}

/// Refuses to go on without the compiler.
///
/// # Errors
/// [`Error::NoCompiler`].
pub(super) fn require_compiler() -> Result<()> {
    // SAFETY: loading the compiler's library runs nothing but its own initialisers.
    if unsafe { sys::is_culib_present() } { Ok(()) } else { Err(Error::NoCompiler) }
}

/// A program of the compiler, which is destroyed when dropped.
struct Program(sys::nvrtcProgram);

impl Program {
    fn new() -> std::result::Result<Self, result::NvrtcError> {
        let texts = HEADERS.map(|(_, text)| text.as_ptr());
        let names = HEADERS.map(|(name, _)| name.as_ptr());
        let mut program = std::ptr::null_mut();
        // SAFETY: all texts and names are strings that live as long as the process, and there are as
        // many names as texts.
        unsafe {
            sys::nvrtcCreateProgram(
                &mut program,
                SOURCE.as_ptr(),
                c"kernels.cu".as_ptr(),
                HEADERS.len() as i32,
                texts.as_ptr(),
                names.as_ptr(),
            )
            .result()?;
        }
        Ok(Self(program))
    }

    fn compile(&self, options: &[String]) -> std::result::Result<(), result::NvrtcError> {
        // SAFETY: the program was created and is not destroyed.
        unsafe { result::compile_program(self.0, options) }
    }

    fn log(&self) -> String {
        // SAFETY: the program was created and is not destroyed.
        let log = unsafe { result::get_program_log(self.0) }.unwrap_or_default();
        let bytes: Vec<u8> = log.into_iter().map(|letter| letter as u8).collect();
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').trim().to_string()
    }

    fn code(&self) -> std::result::Result<Arc<[u8]>, result::NvrtcError> {
        let mut length = 0;
        // SAFETY: the program was created and is not destroyed.
        unsafe { sys::nvrtcGetCUBINSize(self.0, &mut length).result()? };
        let mut code = vec![0u8; length];
        // SAFETY: there is room for as many bytes as the compiler has just said.
        unsafe { sys::nvrtcGetCUBIN(self.0, code.as_mut_ptr().cast::<c_char>()).result()? };
        Ok(code.into())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was created, and this is its last use. That it cannot be destroyed
        // would leave no more than memory in use.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

fn compiled(architecture: &str, log_n: u32) -> Result<Image> {
    require_compiler()?;
    let failed = |log: String| Error::Compilation { architecture: architecture.to_string(), log };
    let program = Program::new().map_err(|error| failed(format!("{error:?}")))?;
    let options = [
        format!("--gpu-architecture={architecture}"),
        format!("--define-macro=LOG_N={log_n}"),
        "--std=c++17".to_string(),
        "--ptxas-options=-v".to_string(),
    ];
    let result = program.compile(&options);
    let log = program.log();
    result.map_err(|error| failed(format!("{error:?}: {log}")))?;
    let code = program.code().map_err(|error| failed(format!("{error:?}")))?;
    Ok(Image { code, log })
}

/// The name of an architecture by its compute capability.
pub(super) fn architecture(major: i32, minor: i32) -> String {
    format!("sm_{major}{minor}")
}
