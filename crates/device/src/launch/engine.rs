//! What every kind of device can do.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use crate::Result;

/// A kernel of `kernels/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    ForwardColumns,
    ForwardRows,
    InverseRows,
    InverseColumns,
    Add,
    Subtract,
    Multiply,
    MultiplyByMontgomery,
    AddScaled,
    Tensor,
    Permute,
    InnerProduct,
    Convert,
    Scale,
    ScaleByImaginary,
    AddConstant,
    Place,
    SumDiagonals,
    Combine,
}

impl Kernel {
    /// Every kernel, in the order of their numbers.
    pub(super) const ALL: [Self; 19] = [
        Self::ForwardColumns,
        Self::ForwardRows,
        Self::InverseRows,
        Self::InverseColumns,
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::MultiplyByMontgomery,
        Self::AddScaled,
        Self::Tensor,
        Self::Permute,
        Self::InnerProduct,
        Self::Convert,
        Self::Scale,
        Self::ScaleByImaginary,
        Self::AddConstant,
        Self::Place,
        Self::SumDiagonals,
        Self::Combine,
    ];

    /// Its name in the source.
    pub(super) fn name(self) -> &'static std::ffi::CStr {
        match self {
            Self::ForwardColumns => c"forward_columns",
            Self::ForwardRows => c"forward_rows",
            Self::InverseRows => c"inverse_rows",
            Self::InverseColumns => c"inverse_columns",
            Self::Add => c"add",
            Self::Subtract => c"subtract",
            Self::Multiply => c"multiply",
            Self::MultiplyByMontgomery => c"multiply_by_montgomery",
            Self::AddScaled => c"add_scaled",
            Self::Tensor => c"tensor",
            Self::Permute => c"permute",
            Self::InnerProduct => c"inner_product",
            Self::Convert => c"convert",
            Self::Scale => c"scale",
            Self::ScaleByImaginary => c"scale_by_imaginary",
            Self::AddConstant => c"add_constant",
            Self::Place => c"place",
            Self::SumDiagonals => c"sum_diagonals",
            Self::Combine => c"combine",
        }
    }
}

/// The blocks of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) columns: usize,
    pub(super) rows: usize,
    /// Threads of a block.
    pub(super) threads: usize,
    /// Words of a block's shared memory.
    pub(super) shared: usize,
}

/// Threads of most blocks, and of any at the most: `TRANSFORM_THREADS` and the bound of `KERNEL` in the
/// kernels.
pub(super) const THREADS: usize = 256;

impl Grid {
    /// A thread for each of `length` places, in each of `rows` rows.
    pub(super) fn covering(length: usize, rows: usize) -> Self {
        Self { columns: length.div_ceil(THREADS), rows, threads: THREADS, shared: 0 }
    }

    /// A thread for each `Quad` of the kernels, which has four residues, in each of `rows` rows.
    pub(super) fn covering_quads(length: usize, rows: usize) -> Self {
        Self::covering(length / 4, rows)
    }
}

/// Something that a device does.
pub(super) enum Step {
    Launch {
        kernel: Kernel,
        log_n: u32,
        grid: Grid,
        /// As the kernel's source declares, with what lies between.
        arguments: Vec<MaybeUninit<u64>>,
    },
    Copy {
        to: u64,
        from: u64,
        words: usize,
    },
}

impl Step {
    pub(super) fn launch<A>(kernel: Kernel, log_n: u32, grid: Grid, arguments: &A) -> Self {
        const { assert!(align_of::<A>() <= align_of::<u64>()) };
        let mut copied = vec![MaybeUninit::uninit(); size_of::<A>().div_ceil(size_of::<u64>())];
        // SAFETY: the copy has as many bytes, and none of them has to be initialised.
        unsafe {
            let from: *const u8 = std::ptr::from_ref(arguments).cast();
            std::ptr::copy_nonoverlapping(from, copied.as_mut_ptr().cast(), size_of::<A>());
        }
        Self::Launch { kernel, log_n, grid, arguments: copied }
    }
}

/// Steps that a device does as one, in their order.
pub(super) trait Sequence: Send {
    /// Does them; returns before they are done, as a launch does.
    ///
    /// # Safety
    /// As each of them.
    unsafe fn run(&self) -> Result<()>;
}

/// A device: a GPU, or software that stands for one.
///
/// Work is done in the order of the calls; a call may return before its work is done, but for reads.
pub(super) trait Engine: Send + Sync {
    /// What the device calls itself.
    fn name(&self) -> String;

    /// Bytes that are free, by its own account; `None` where it has no limit of its own.
    fn free_bytes(&self) -> Result<Option<u64>>;

    /// The address of that many words of any content, aligned to 16 bytes.
    fn allocate(&self, words: usize) -> Result<u64>;

    /// Gives memory back.
    ///
    /// # Safety
    /// `address` came from [`Self::allocate`] of this engine for that many words, and is not used
    /// by any later call.
    unsafe fn free(&self, address: u64, words: usize);

    /// Copies words to the device.
    ///
    /// # Safety
    /// As many words from `address` on lie in memory that was allocated and not freed.
    unsafe fn write(&self, address: u64, words: &[u32]) -> Result<()>;

    /// Copies words from the device, when all earlier work is done.
    ///
    /// # Safety
    /// As [`Self::write`].
    unsafe fn read(&self, address: u64, words: &mut [u32]) -> Result<()>;

    /// Copies words from one place of the device to another.
    ///
    /// # Safety
    /// As many words from both addresses on lie in memory that was allocated and not freed, and do
    /// not overlap.
    unsafe fn copy(&self, to: u64, from: u64, words: usize) -> Result<()>;

    /// Makes the kernels of a ring of degree 2^`log_n` ready.
    fn prepare(&self, log_n: u32) -> Result<()>;

    /// Runs a kernel on a ring that was prepared.
    ///
    /// # Safety
    /// `arguments` points to what the kernel's source declares, and all that the kernel reads or
    /// writes by it lies in memory that was allocated and is not freed before the kernel ends.
    unsafe fn launch(
        &self,
        kernel: Kernel,
        log_n: u32,
        grid: Grid,
        arguments: *const c_void,
    ) -> Result<()>;

    /// Makes steps ready to be done as one.
    ///
    /// # Safety
    /// The kernels are of rings that were prepared, and the engine lives as long as the sequence.
    unsafe fn assemble(&self, steps: Vec<Step>) -> Result<Box<dyn Sequence>>;

    /// Waits until all work is done.
    fn synchronize(&self) -> Result<()>;

    /// Seconds that the device spends on `work`, which launches kernels.
    fn seconds(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f64>;
}
