//! What can go wrong with a device.

/// A refusal, or the loss of a device: what was expected, what came, and what to do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine has no NVIDIA driver.
    #[error(
        "cannot use a GPU: the library of the NVIDIA driver (libcuda.so.1) is not on this machine; install the driver, or run on the CPU"
    )]
    NoDriver,
    /// The machine has a driver, and nothing that compiles kernels for it.
    #[error(
        "cannot use a GPU: CUDA's run-time compiler (libnvrtc.so) is not on this machine, or not on the path of its loader; install it (pip install nvidia-cuda-nvrtc) and name its folder in LD_LIBRARY_PATH, or run on the CPU"
    )]
    NoCompiler,
    /// The driver is there, and the GPU is not.
    #[error(
        "cannot use GPU number {ordinal}: the driver reports {found} GPU(s); choose one of them, or run on the CPU"
    )]
    NoDevice { ordinal: u32, found: u32 },
    /// A device that the kernels were not written for.
    #[error(
        "cannot use a GPU: {name} has compute capability {found}, and at least {needed} is needed"
    )]
    UnsupportedDevice { name: String, found: String, needed: String },
    /// The kernels do not compile for the device.
    #[error("cannot compile the kernels for {architecture}: {log}")]
    Compilation { architecture: String, log: String },
    /// An operation needs more memory than the device was allowed.
    #[error(
        "cannot {operation}: it needs {needed} bytes of device memory, and {available} of the budget of {budget} are left; raise the budget, or keep fewer keys and ciphertexts on the device"
    )]
    MemoryBudget { operation: &'static str, needed: u64, available: u64, budget: u64 },
    /// The device has less memory left than its budget says.
    #[error(
        "cannot allocate {bytes} bytes on the device, within its budget: another program uses its memory; lower the budget, or end that program"
    )]
    OutOfMemory { bytes: u64 },
    /// The device failed in mid-run; what was on it is lost.
    #[error(
        "cannot {operation}: the device was lost ({reason}), with all that was on it; make the device again, load the keys, and run again"
    )]
    DeviceLost { operation: &'static str, reason: String },
    /// The driver refused.
    #[error("cannot {operation}: the driver says {reason}")]
    Driver { operation: &'static str, reason: String },
    /// Objects on two devices.
    #[error("cannot {operation}: its operands are on different devices; send them to one")]
    DifferentDevices { operation: &'static str },
    /// The engine refuses, as it would on the CPU.
    #[error(transparent)]
    Engine(#[from] rlwe::Error),
}

/// The result of an operation on a device.
pub type Result<T> = std::result::Result<T, Error>;
