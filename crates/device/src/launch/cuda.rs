//! A GPU, by NVIDIA's driver.

use std::ffi::c_void;
use std::sync::{Mutex, OnceLock, PoisonError};

use cudarc::driver::result::{
    self, DriverError, ctx, device, event, graph, mem_pool, module, stream,
};
use cudarc::driver::sys::{self, CUdevice_attribute, CUevent_flags, CUresult};
use rlwe::chain::MAX_LOG_N;

use super::compiler::{architecture, compile, require_compiler};
use super::engine::{Engine, Grid, Kernel, Sequence, Step};
use crate::{Error, Result};

/// The least compute capability: below it `__umulhi` and shared memory are slower than planned for.
const LEAST_CAPABILITY: (i32, i32) = (7, 0);
/// Words of memory by way of which index tables and ciphertexts go to the device: the driver copies
/// from and to other memory at a fraction of the speed.
const STAGING_WORDS: usize = 1 << 22;
/// Words that go by way of it at the most; keys and diagonals are sent once.
const MOST_STAGED_WORDS: usize = 1 << 20;

/// A GPU, and one stream that all its work goes through.
pub(super) struct Cuda {
    name: String,
    architecture: String,
    device: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    /// By log2 of a ring degree.
    kernels: [OnceLock<Loaded>; MAX_LOG_N as usize + 1],
    staging: Mutex<Staging>,
}

/// The kernels of a ring.
struct Loaded {
    module: sys::CUmodule,
    /// By number.
    functions: Vec<sys::CUfunction>,
}

// SAFETY: handles of the driver may be used from any thread that has made their context current,
// which every method does first; the driver locks what it shares.
unsafe impl Send for Cuda {}
// SAFETY: as above.
unsafe impl Sync for Cuda {}

impl Cuda {
    /// GPU number `ordinal`.
    pub(super) fn new(ordinal: u32) -> Result<Self> {
        let operation = "start a GPU";
        // SAFETY: loading the driver's library runs nothing but its own initialisers.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::NoDriver);
        }
        let absent = |error: DriverError| match error.0 {
            CUresult::CUDA_ERROR_NO_DEVICE => Error::NoDevice { ordinal, found: 0 },
            CUresult::CUDA_ERROR_STUB_LIBRARY => Error::NoDriver,
            _ => failure(operation, error),
        };
        result::init().map_err(absent)?;
        let found = device::get_count().map_err(absent)? as u32;
        if ordinal >= found {
            return Err(Error::NoDevice { ordinal, found });
        }
        let device = device::get(ordinal as i32).map_err(absent)?;
        let name = device::get_name(device).map_err(absent)?;
        let capability = capability(device)?;
        if capability < LEAST_CAPABILITY {
            let text = |(major, minor): (i32, i32)| format!("{major}.{minor}");
            let (found, needed) = (text(capability), text(LEAST_CAPABILITY));
            return Err(Error::UnsupportedDevice { name, found, needed });
        }
        require_compiler()?;
        let architecture = architecture(capability.0, capability.1);
        // SAFETY: the device came from the driver. The context is released when this is dropped, or
        // below if the rest fails.
        let context = unsafe { result::primary_ctx::retain(device) }
            .map_err(|error| failure(operation, error))?;
        Self::with_context(name, architecture, device, context).map_err(|error| {
            // SAFETY: the context was retained above, and nothing holds on to it.
            let _ = unsafe { result::primary_ctx::release(device) };
            failure(operation, error)
        })
    }

    fn with_context(
        name: String,
        architecture: String,
        device: sys::CUdevice,
        context: sys::CUcontext,
    ) -> std::result::Result<Self, DriverError> {
        // SAFETY: the context was retained; the device came from the driver; the attribute is a
        // number of 64 bits.
        unsafe {
            ctx::set_current(context)?;
            let pool = device::get_default_mem_pool(device)?;
            // Memory that is given back stays with the pool, for the next buffer.
            let mut all = u64::MAX;
            let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            mem_pool::set_attribute(pool, attribute, (&raw mut all).cast())?;
            let staging = Mutex::new(Staging::new()?);
            let stream = stream::create(stream::StreamKind::NonBlocking)?;
            let kernels = [const { OnceLock::new() }; MAX_LOG_N as usize + 1];
            Ok(Self { name, architecture, device, context, stream, kernels, staging })
        }
    }

    /// Makes the context that of this thread.
    fn enter(&self, operation: &'static str) -> Result<()> {
        // SAFETY: the context is retained until this is dropped.
        unsafe { ctx::set_current(self.context) }.map_err(|error| failure(operation, error))
    }

    /// Launches a kernel in a stream.
    ///
    /// # Safety
    /// As [`Engine::launch`]; the context is current, and the stream is one of it.
    unsafe fn launch_in(
        &self,
        stream: sys::CUstream,
        kernel: Kernel,
        log_n: u32,
        grid: Grid,
        arguments: *const c_void,
    ) -> std::result::Result<(), DriverError> {
        let mut parameters = [arguments.cast_mut()];
        let blocks = (grid.columns as u32, grid.rows as u32, 1);
        let threads = (grid.threads as u32, 1, 1);
        let shared = (grid.shared * size_of::<u32>()) as u32;
        let loaded = self.kernels[log_n as usize].get().expect("a ring that was prepared");
        let function = loaded.functions[kernel as usize];
        // SAFETY: the function is loaded as long as this lives; it takes one argument, which the
        // driver copies and which is laid out as the caller promises.
        unsafe { result::launch_kernel(function, blocks, threads, shared, stream, &mut parameters) }
    }

    /// The graph of steps, by a stream that nothing else goes through: no step is done.
    ///
    /// # Safety
    /// As [`Engine::assemble`]; the context is current.
    unsafe fn captured(&self, steps: &[Step]) -> std::result::Result<sys::CUgraph, DriverError> {
        let apart = stream::create(stream::StreamKind::NonBlocking)?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive, and what was begun is ended whatever comes of the steps.
        unsafe {
            let captured = stream::begin_capture(apart, mode).and_then(|()| {
                let noted = steps.iter().try_for_each(|step| self.do_in(apart, step));
                let graph = stream::end_capture(apart);
                match noted {
                    Ok(()) => graph,
                    Err(error) => {
                        let _ = graph.and_then(|graph| graph::destroy(graph));
                        Err(error)
                    }
                }
            });
            let _ = stream::destroy(apart);
            captured
        }
    }

    /// # Safety
    /// As [`Self::launch_in`].
    unsafe fn do_in(
        &self,
        stream: sys::CUstream,
        step: &Step,
    ) -> std::result::Result<(), DriverError> {
        // SAFETY: the caller's promise is that of the step.
        unsafe {
            match step {
                Step::Launch { kernel, log_n, grid, arguments } => {
                    self.launch_in(stream, *kernel, *log_n, *grid, arguments.as_ptr().cast())
                }
                Step::Copy { to, from, words } => {
                    result::memcpy_dtod_async(*to, *from, words * size_of::<u32>(), stream)
                }
            }
        }
    }
}

/// Steps that a GPU does as one.
struct Graph {
    context: sys::CUcontext,
    stream: sys::CUstream,
    instance: sys::CUgraphExec,
}

// SAFETY: as for `Cuda`; the engine lives as long as this, by the promise of `Engine::assemble`.
unsafe impl Send for Graph {}

impl Sequence for Graph {
    unsafe fn run(&self) -> Result<()> {
        let operation = "run a recorded program";
        // SAFETY: context, stream and instance are alive; the caller's promise is that of the steps.
        unsafe {
            ctx::set_current(self.context).and_then(|()| graph::launch(self.instance, self.stream))
        }
        .map_err(|error| failure(operation, error))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: this is the instance's last use; the driver lets runs of it end.
        unsafe {
            if ctx::set_current(self.context).is_ok() {
                let _ = graph::exec_destroy(self.instance);
            }
        }
    }
}

fn capability(device: sys::CUdevice) -> Result<(i32, i32)> {
    let attribute = |attribute| {
        // SAFETY: the device came from the driver.
        unsafe { device::get_attribute(device, attribute) }
            .map_err(|error| failure("read a GPU's compute capability", error))
    };
    let major = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok((major, minor))
}

/// What an error of the driver means: after some of them nothing on the device can be used.
fn failure(operation: &'static str, error: DriverError) -> Error {
    let name = error.error_name().map(|name| name.to_string_lossy().into_owned());
    let reason = name.unwrap_or_else(|_| format!("{:?}", error.0));
    let lost = matches!(
        error.0,
        CUresult::CUDA_ERROR_DEINITIALIZED
            | CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_UNKNOWN
    );
    if lost { Error::DeviceLost { operation, reason } } else { Error::Driver { operation, reason } }
}

impl Engine for Cuda {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn free_bytes(&self) -> Result<Option<u64>> {
        let operation = "measure the memory of a GPU";
        self.enter(operation)?;
        let (free, _) = result::mem_get_info().map_err(|error| failure(operation, error))?;
        Ok(Some(free as u64))
    }

    fn allocate(&self, words: usize) -> Result<u64> {
        let operation = "allocate device memory";
        self.enter(operation)?;
        let bytes = words.max(1) * size_of::<u32>();
        // SAFETY: the stream lives as long as this, and all work goes through it.
        unsafe { result::malloc_async(self.stream, bytes) }.map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory { bytes: bytes as u64 },
            _ => failure(operation, error),
        })
    }

    unsafe fn free(&self, address: u64, _words: usize) {
        // A device that was lost has given up its memory by itself: there is nothing to report.
        if self.enter("free device memory").is_ok() {
            // SAFETY: by the promise of the caller this is the last use of an allocation, and it
            // takes place in the order of the stream, after the kernels that use it.
            let _ = unsafe { result::free_async(address, self.stream) };
        }
    }

    unsafe fn write(&self, address: u64, words: &[u32]) -> Result<()> {
        let operation = "copy to a GPU";
        self.enter(operation)?;
        if words.len() <= MOST_STAGED_WORDS {
            let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the memory is there, by the promise of the caller.
            let written = unsafe { staging.write(address, words, self.stream) };
            return written.map_err(|error| failure(operation, error));
        }
        // SAFETY: the memory is there, by the promise of the caller; the words are borrowed until
        // the stream is done with them.
        unsafe {
            result::memcpy_htod_async(address, words, self.stream)
                .and_then(|()| stream::synchronize(self.stream))
        }
        .map_err(|error| failure(operation, error))
    }

    unsafe fn read(&self, address: u64, words: &mut [u32]) -> Result<()> {
        let operation = "copy from a GPU";
        self.enter(operation)?;
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the memory is there, by the promise of the caller.
        unsafe { staging.read(address, words, self.stream) }
            .map_err(|error| failure(operation, error))
    }

    unsafe fn copy(&self, to: u64, from: u64, words: usize) -> Result<()> {
        let operation = "copy on a GPU";
        self.enter(operation)?;
        // SAFETY: both places were allocated, by the promise of the caller, and the copy takes place
        // in the order of the stream.
        unsafe { result::memcpy_dtod_async(to, from, words * size_of::<u32>(), self.stream) }
            .map_err(|error| failure(operation, error))
    }

    fn prepare(&self, log_n: u32) -> Result<()> {
        let operation = "load the kernels of a ring";
        let kernels = &self.kernels[log_n as usize];
        if kernels.get().is_some() {
            return Ok(());
        }
        let image = compile(&self.architecture, log_n)?;
        self.enter(operation)?;
        let loaded = Loaded::new(&image.code).map_err(|error| failure(operation, error))?;
        if let Err(loaded) = kernels.set(loaded) {
            // Another thread was sooner.
            loaded.unload();
        }
        Ok(())
    }

    unsafe fn launch(
        &self,
        kernel: Kernel,
        log_n: u32,
        grid: Grid,
        arguments: *const c_void,
    ) -> Result<()> {
        let operation = "run a kernel";
        self.enter(operation)?;
        // SAFETY: the caller's promise is the same; the stream lives as long as this.
        unsafe { self.launch_in(self.stream, kernel, log_n, grid, arguments) }
            .map_err(|error| failure(operation, error))
    }

    unsafe fn assemble(&self, steps: Vec<Step>) -> Result<Box<dyn Sequence>> {
        let operation = "record a program for a GPU";
        self.enter(operation)?;
        // SAFETY: the context is current, and the caller's promise is that of each step.
        let graph = unsafe { self.captured(&steps) }.map_err(|error| failure(operation, error))?;
        // SAFETY: the graph is whole, and not used any more once it is instantiated.
        let instance = unsafe {
            let instance = graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            let _ = graph::destroy(graph);
            instance
        };
        let instance = instance.map_err(|error| failure(operation, error))?;
        Ok(Box::new(Graph { context: self.context, stream: self.stream, instance }))
    }

    fn synchronize(&self) -> Result<()> {
        let operation = "wait for a GPU";
        self.enter(operation)?;
        // SAFETY: the stream lives as long as this.
        unsafe { stream::synchronize(self.stream) }.map_err(|error| failure(operation, error))
    }

    fn seconds(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        let operation = "time a GPU";
        self.enter(operation)?;
        let start = Event::new(operation)?;
        let end = Event::new(operation)?;
        start.record(self.stream, operation)?;
        work()?;
        end.record(self.stream, operation)?;
        end.seconds_since(&start, operation)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if self.enter("stop a GPU").is_ok() {
            let staging = self.staging.get_mut().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: nothing uses the stream, the staging memory or the context after this; that a
            // device which was lost refuses to give them back changes nothing. Copies out of the
            // staging memory are over when the stream is.
            unsafe {
                let _ = stream::synchronize(self.stream);
                let _ = stream::destroy(self.stream);
                let _ = result::free_host(staging.start.cast());
            }
            self.kernels.iter_mut().filter_map(OnceLock::take).for_each(Loaded::unload);
            // SAFETY: as above.
            let _ = unsafe { result::primary_ctx::release(self.device) };
        }
    }
}

impl Loaded {
    /// Loads an image that the compiler made for the device whose context is current.
    fn new(code: &[u8]) -> std::result::Result<Self, DriverError> {
        // SAFETY: the driver copies the image; the functions are of the module that was loaded.
        unsafe {
            let module = module::load_data(code.as_ptr().cast())?;
            let function = |kernel: &Kernel| module::get_function(module, kernel.name().to_owned());
            let functions = Kernel::ALL.iter().map(function).collect::<std::result::Result<_, _>>();
            match functions {
                Ok(functions) => Ok(Self { module, functions }),
                Err(error) => {
                    let _ = module::unload(module);
                    Err(error)
                }
            }
        }
    }

    /// Gives the module back, whose functions nothing runs any more.
    fn unload(self) {
        // SAFETY: this is the module's last use.
        let _ = unsafe { module::unload(self.module) };
    }
}

/// Memory of the host that the GPU reads by itself. What is written by way of it is copied there at
/// once, and to the GPU in the order of the stream: nothing waits until the memory has been used up.
struct Staging {
    start: *mut u32,
    /// Words in use by copies that may not be over.
    used: usize,
}

// SAFETY: the memory is reached through this alone, which is borrowed mutably for it.
unsafe impl Send for Staging {}

impl Staging {
    /// Memory for the context that is current.
    fn new() -> std::result::Result<Self, DriverError> {
        // SAFETY: what comes back is memory of as many bytes, aligned for words, which Rust reads
        // once it has been written.
        let start = unsafe {
            let start: *mut u32 = result::malloc_host(STAGING_WORDS * size_of::<u32>(), 0)?.cast();
            start.write_bytes(0, STAGING_WORDS);
            start
        };
        Ok(Self { start, used: 0 })
    }

    /// Copies at most as many words as there is staging memory.
    ///
    /// # Safety
    /// As many words from `address` on lie in memory of the device; the stream is alive.
    unsafe fn write(
        &mut self,
        address: u64,
        words: &[u32],
        stream: sys::CUstream,
    ) -> std::result::Result<(), DriverError> {
        // SAFETY: the words fit behind those in use, or in the whole once the stream is done with
        // all copies; the GPU reads them before they are overwritten, in the order of the stream.
        unsafe {
            if words.len() > STAGING_WORDS - self.used {
                stream::synchronize(stream)?;
                self.used = 0;
            }
            let place = self.start.add(self.used);
            std::ptr::copy_nonoverlapping(words.as_ptr(), place, words.len());
            self.used += words.len();
            let staged = std::slice::from_raw_parts(place, words.len());
            result::memcpy_htod_async(address, staged, stream)
        }
    }

    /// Copies words from the device, when all earlier work is done.
    ///
    /// # Safety
    /// As [`Self::write`].
    unsafe fn read(
        &mut self,
        address: u64,
        words: &mut [u32],
        stream: sys::CUstream,
    ) -> std::result::Result<(), DriverError> {
        // SAFETY: the stream is done with all copies out of the staging memory before words of the
        // device are copied there, and with that before they are read.
        unsafe {
            stream::synchronize(stream)?;
            self.used = 0;
            let mut from = address;
            for part in words.chunks_mut(STAGING_WORDS) {
                let landed = std::slice::from_raw_parts_mut(self.start, part.len());
                result::memcpy_dtoh_async(landed, from, stream)?;
                stream::synchronize(stream)?;
                part.copy_from_slice(landed);
                from += size_of_val(part) as u64;
            }
        }
        Ok(())
    }
}

/// A mark among the work of a stream.
struct Event(sys::CUevent);

impl Event {
    fn new(operation: &'static str) -> Result<Self> {
        let event = event::create(CUevent_flags::CU_EVENT_DEFAULT);
        Ok(Self(event.map_err(|error| failure(operation, error))?))
    }

    fn record(&self, stream: sys::CUstream, operation: &'static str) -> Result<()> {
        // SAFETY: the event and the stream are alive, in the context that is current.
        unsafe { event::record(self.0, stream) }.map_err(|error| failure(operation, error))
    }

    fn seconds_since(&self, start: &Self, operation: &'static str) -> Result<f64> {
        // SAFETY: both events are alive and were recorded.
        let milliseconds =
            unsafe { event::synchronize(self.0).and_then(|()| event::elapsed(start.0, self.0)) };
        milliseconds
            .map(|milliseconds| f64::from(milliseconds) / 1000.0)
            .map_err(|error| failure(operation, error))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: this is the event's last use.
        let _ = unsafe { event::destroy(self.0) };
    }
}
