//! A device in software: the kernels compiled as C, run one thread after the other.

use std::alloc::{self, Layout};
use std::ffi::c_void;
use std::time::Instant;

use super::engine::{Engine, Grid, Kernel, Sequence, Step};
use crate::Result;

/// Bytes that addresses are multiples of, as those of a GPU are.
const ALIGNMENT: usize = 16;

/// The device; all share the memory of the machine.
#[derive(Clone, Copy)]
pub(super) struct Software {
    /// In which order blocks, and the threads of each phase, run.
    pub(super) order: Order,
}

/// The order of what a GPU runs at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// First to last.
    Rising,
    /// Last to first.
    Falling,
}

/// A kernel's blocks: `KERNEL` of `kernels/device.h`.
type Run = unsafe extern "C" fn(*const c_void, u32, u32, u32, u32, *mut u32);

/// The functions that the kernels were compiled to, and the one of each kernel.
macro_rules! kernels {
    ($($kernel:ident => $name:ident,)*) => {
        unsafe extern "C" {
            $(fn $name(
                arguments: *const c_void,
                columns: u32,
                rows: u32,
                threads: u32,
                reversed: u32,
                shared: *mut u32,
            );)*
        }

        fn function(kernel: Kernel) -> Run {
            match kernel {
                $(Kernel::$kernel => $name,)*
            }
        }
    };
}

kernels! {
    ForwardColumns => cloakwork_forward_columns,
    ForwardRows => cloakwork_forward_rows,
    InverseRows => cloakwork_inverse_rows,
    InverseColumns => cloakwork_inverse_columns,
    Add => cloakwork_add,
    Subtract => cloakwork_subtract,
    Multiply => cloakwork_multiply,
    MultiplyByMontgomery => cloakwork_multiply_by_montgomery,
    AddScaled => cloakwork_add_scaled,
    Tensor => cloakwork_tensor,
    Permute => cloakwork_permute,
    InnerProduct => cloakwork_inner_product,
    Convert => cloakwork_convert,
    Scale => cloakwork_scale,
    ScaleByImaginary => cloakwork_scale_by_imaginary,
    AddConstant => cloakwork_add_constant,
    Place => cloakwork_place,
    SumDiagonals => cloakwork_sum_diagonals,
    Combine => cloakwork_combine,
}

fn layout(words: usize) -> Layout {
    let bytes = words.max(1) * size_of::<u32>();
    Layout::from_size_align(bytes, ALIGNMENT).expect("fewer bytes than there are addresses")
}

impl Engine for Software {
    fn name(&self) -> String {
        "software device".to_string()
    }

    fn free_bytes(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    fn allocate(&self, words: usize) -> Result<u64> {
        // SAFETY: the layout is of at least one word. Memory is zeroed, as Rust may read it.
        let pointer = unsafe { alloc::alloc_zeroed(layout(words)) };
        if pointer.is_null() {
            alloc::handle_alloc_error(layout(words));
        }
        Ok(pointer as u64)
    }

    unsafe fn free(&self, address: u64, words: usize) {
        // SAFETY: `allocate` made it with this layout.
        unsafe { alloc::dealloc(address as *mut u8, layout(words)) }
    }

    unsafe fn write(&self, address: u64, words: &[u32]) -> Result<()> {
        // SAFETY: as many words from the address on were allocated; `words` lie elsewhere, since
        // nothing refers to memory of the device.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), address as *mut u32, words.len()) }
        Ok(())
    }

    unsafe fn read(&self, address: u64, words: &mut [u32]) -> Result<()> {
        // SAFETY: as in `write`, the other way.
        unsafe {
            std::ptr::copy_nonoverlapping(address as *const u32, words.as_mut_ptr(), words.len());
        }
        Ok(())
    }

    unsafe fn copy(&self, to: u64, from: u64, words: usize) -> Result<()> {
        // SAFETY: both places were allocated and do not overlap, by the promise of the caller.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u32, to as *mut u32, words) }
        Ok(())
    }

    fn prepare(&self, _log_n: u32) -> Result<()> {
        Ok(())
    }

    unsafe fn launch(
        &self,
        kernel: Kernel,
        _log_n: u32,
        grid: Grid,
        arguments: *const c_void,
    ) -> Result<()> {
        let mut shared = vec![0u32; grid.shared];
        let [columns, rows, threads] = [grid.columns, grid.rows, grid.threads].map(|x| x as u32);
        let reversed = u32::from(self.order == Order::Falling);
        // SAFETY: the arguments are the kernel's, by the promise of the caller, and a block has as
        // much shared memory as the grid says.
        unsafe {
            function(kernel)(arguments, columns, rows, threads, reversed, shared.as_mut_ptr());
        }
        Ok(())
    }

    unsafe fn assemble(&self, steps: Vec<Step>) -> Result<Box<dyn Sequence>> {
        Ok(Box::new(Steps { software: *self, steps }))
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn seconds(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f64())
    }
}

/// Steps that are done one after the other.
struct Steps {
    software: Software,
    steps: Vec<Step>,
}

impl Sequence for Steps {
    unsafe fn run(&self) -> Result<()> {
        for step in &self.steps {
            // SAFETY: the caller's promise is that of each step.
            unsafe {
                match step {
                    Step::Launch { kernel, log_n, grid, arguments } => {
                        self.software.launch(*kernel, *log_n, *grid, arguments.as_ptr().cast())?;
                    }
                    Step::Copy { to, from, words } => self.software.copy(*to, *from, *words)?,
                }
            }
        }
        Ok(())
    }
}
