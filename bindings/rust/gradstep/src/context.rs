// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The thread pool, allocator and log that handles share.

use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};

use crate::c_types::LogLevel;
use crate::callback::{contained, guarded, release, user};
use crate::error::{Error, Result, c_string, check};
use crate::handle::{handle, made};
use crate::options::Field;
use crate::sys;
use crate::tensor::Device;

/// Memory for gradstep's own buffers. Any thread may call, also gradstep's own.
///
/// # Safety
/// What `allocate` returns, unless NULL, are `bytes` bytes on `device`, aligned to `alignment` (a power of two), that
/// no other code uses until they are given to `deallocate`.
pub unsafe trait Allocate: Send + Sync {
    /// The memory, or NULL; a panic counts as NULL.
    fn allocate(&self, bytes: usize, alignment: usize, device: Device) -> *mut c_void;

    /// Takes memory back.
    ///
    /// # Safety
    /// `data` is from `allocate` with the same numbers and device, and is given back once.
    unsafe fn deallocate(&self, data: *mut c_void, bytes: usize, alignment: usize, device: Device);
}

type Log = Box<dyn Fn(LogLevel, &str) + Send + Sync>;
type ParallelFor = Box<dyn Fn(i64, &(dyn Fn(i64) + Sync)) + Send + Sync>;
type Interrupt = Box<dyn Fn() -> bool + Send + Sync>;
type Allocator = Box<dyn Allocate>;

/// Options of a [`Context`].
#[derive(Default)]
#[must_use]
pub struct ContextBuilder {
    num_threads: Option<i32>,
    background_threads: Option<i32>,
    log: Option<(LogLevel, Log)>,
    parallel_for: Option<ParallelFor>,
    interrupt: Option<Interrupt>,
    allocator: Option<Allocator>,
    lapack_library: Option<PathBuf>,
}

impl ContextBuilder {
    /// 0, the default: min(8, cores); 1: the caller alone. Results do not depend on it.
    pub fn num_threads(mut self, threads: i32) -> Self {
        self.num_threads = Some(threads);
        self
    }

    /// Threads of the low-priority lane, which computes roots of Shampoo beside the steps; default 1.
    pub fn background_threads(mut self, threads: i32) -> Self {
        self.background_threads = Some(threads);
        self
    }

    /// Calls `log` with every message up to the level. It must not call gradstep.
    pub fn log(mut self, level: LogLevel, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.log = Some((level, Box::new(log)));
        self
    }

    /// Every message to the facade of the crate `log`, by the target "gradstep" and up to the level that is set there
    /// now.
    #[cfg(feature = "log")]
    pub fn log_crate(self) -> Self {
        let level = match log::max_level() {
            log::LevelFilter::Off => LogLevel::Off,
            log::LevelFilter::Error => LogLevel::Error,
            log::LevelFilter::Warn => LogLevel::Warning,
            log::LevelFilter::Info => LogLevel::Info,
            log::LevelFilter::Debug | log::LevelFilter::Trace => LogLevel::Debug,
        };
        self.log(level, |level, text| {
            let level = match level {
                LogLevel::Off | LogLevel::Error => log::Level::Error,
                LogLevel::Warning => log::Level::Warn,
                LogLevel::Info => log::Level::Info,
                LogLevel::Debug => log::Level::Debug,
            };
            log::log!(target: "gradstep", level, "{text}");
        })
    }

    /// The host's threads in place of gradstep's: `parallel_for(n, body)` calls `body(i)` once for every i in 0..n, in
    /// any order, on any threads, and returns when all are done. What is left out or comes twice, and a panic, is
    /// [`Error::Callback`].
    pub fn parallel_for(mut self, parallel_for: impl Fn(i64, &(dyn Fn(i64) + Sync)) + Send + Sync + 'static) -> Self {
        self.parallel_for = Some(Box::new(parallel_for));
        self
    }

    /// Asked at most every 100 ms by a thread that waits inside gradstep; true ends its call as [`Error::Aborted`], and
    /// so does a panic.
    pub fn interrupt(mut self, interrupt: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.interrupt = Some(Box::new(interrupt));
        self
    }

    /// Memory of the host for gradstep's buffers.
    pub fn allocator(mut self, allocator: impl Allocate + 'static) -> Self {
        self.allocator = Some(Box::new(allocator));
        self
    }

    /// A library whose dsyevd and ssyevd Shampoo uses for large statistics.
    ///
    /// # Safety
    /// Opening a library runs its initialisers, and its functions must be LAPACK's and safe to call from several
    /// threads.
    pub unsafe fn lapack_library(mut self, path: impl AsRef<Path>) -> Self {
        self.lapack_library = Some(path.as_ref().to_owned());
        self
    }

    /// Makes the context.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: a number of threads that is negative or above 1024. [`Error::BackendUnavailable`]:
    /// no libgradstep that fits this crate, no such LAPACK. [`Error::OutOfMemory`].
    pub fn build(self) -> Result<Context> {
        crate::library::ready()?;
        let path =
            self.lapack_library.map(|path| c_string("lapack_library", path.as_os_str().as_bytes())).transpose()?;
        let mut options = sys::gradstep_context_options::default();
        // SAFETY: init fills a struct of this size.
        check(unsafe { sys::gradstep_context_options_init(&mut options, size_of_val(&options)) })?;
        options.num_threads = self.num_threads.unwrap_or(options.num_threads);
        options.background_threads = self.background_threads.unwrap_or(options.background_threads);
        options.lapack_library = path.as_ref().map_or(std::ptr::null(), |path: &CString| path.as_ptr());
        // From here on C owns the callbacks: it releases each, also when create fails.
        if let Some((level, log)) = self.log {
            options.log_level = level.into_c();
            options.log = Some(on_log);
            options.log_user = user::<Log>(log);
            options.log_release = Some(release::<Log>);
        }
        if let Some(parallel_for) = self.parallel_for {
            options.parallel_for = Some(on_parallel_for);
            options.parallel_for_user = user::<ParallelFor>(parallel_for);
            options.parallel_for_release = Some(release::<ParallelFor>);
        }
        if let Some(interrupt) = self.interrupt {
            options.interrupt = Some(on_interrupt);
            options.interrupt_user = user::<Interrupt>(interrupt);
            options.interrupt_release = Some(release::<Interrupt>);
        }
        let allocator = self.allocator.map(|allocator| sys::gradstep_allocator {
            struct_size: size_of::<sys::gradstep_allocator>() as u32,
            reserved: 0,
            user: user::<Allocator>(allocator),
            allocate: Some(on_allocate),
            deallocate: Some(on_deallocate),
            release: Some(release::<Allocator>),
        });
        options.allocator = allocator.as_ref().map_or(std::ptr::null(), |allocator| &raw const *allocator);
        let mut out = null_mut();
        // SAFETY: options, the path and the allocator live during the call; the callbacks fit their users.
        check(unsafe { sys::gradstep_context_create(&options, &mut out) })?;
        Ok(Context { raw: made(out)? })
    }
}

/// The thread pool, allocator and log that handles share. Handles keep what they need of it: the order in which they
/// and the context are dropped is free.
///
/// ```
/// let context = gradstep::Context::new()?;
/// let two_threads = gradstep::Context::builder().num_threads(2).build()?;
/// # Ok::<(), gradstep::Error>(())
/// ```
#[derive(Debug)]
pub struct Context {
    raw: NonNull<sys::gradstep_context>,
}

handle!(Context: gradstep_context, gradstep_context_destroy);

impl Context {
    /// A context by default options.
    ///
    /// # Errors
    /// As [`ContextBuilder::build`].
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// Options for a context.
    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }
}

unsafe extern "C" fn on_log(user: *mut c_void, level: i32, text: *const c_char) {
    contained(|| {
        // SAFETY: user is the box of `build`, and text ends with a NUL.
        let (log, text) = unsafe { (&*user.cast::<Log>(), CStr::from_ptr(text)) };
        log(LogLevel::from_c(level).unwrap_or(LogLevel::Debug), &text.to_string_lossy());
    });
}

type Body = unsafe extern "C" fn(*mut c_void, i64);

/// C's loop body, which any thread may call.
struct Task {
    body: Body,
    user: *mut c_void,
}
// SAFETY: context.h: on any threads.
unsafe impl Sync for Task {}

impl Task {
    fn run(&self, i: i64) {
        // SAFETY: C's own function with its own user, during the call that was given them.
        unsafe { (self.body)(self.user, i) }
    }
}

unsafe extern "C" fn on_parallel_for(
    user: *mut c_void,
    n: i64,
    body: Option<Body>,
    body_user: *mut c_void,
) -> sys::gradstep_status {
    guarded("parallel_for", || {
        let body = body.ok_or_else(|| Error::Internal("parallel_for without a body".to_owned()))?;
        // SAFETY: user is the box of `build`.
        let parallel_for = unsafe { &*user.cast::<ParallelFor>() };
        let task = Task { body, user: body_user };
        parallel_for(n, &|i| task.run(i));
        Ok(())
    })
}

unsafe extern "C" fn on_interrupt(user: *mut c_void) -> i32 {
    // SAFETY: user is the box of `build`.
    contained(|| unsafe { &*user.cast::<Interrupt>() }()).map_or(1, i32::from)
}

unsafe extern "C" fn on_allocate(
    user: *mut c_void,
    bytes: usize,
    alignment: usize,
    device_type: i32,
    device_id: i32,
    _stream: *mut c_void,
) -> *mut c_void {
    contained(|| {
        let device = Device::from_c(sys::gradstep_device { device_type, device_id })?;
        // SAFETY: user is the box of `build`.
        let allocator = unsafe { &*user.cast::<Allocator>() };
        Some(allocator.allocate(bytes, alignment, device))
    })
    .flatten()
    .unwrap_or(null_mut())
}

unsafe extern "C" fn on_deallocate(
    user: *mut c_void,
    data: *mut c_void,
    bytes: usize,
    alignment: usize,
    device_type: i32,
    device_id: i32,
    _stream: *mut c_void,
) {
    contained(|| {
        if let Some(device) = Device::from_c(sys::gradstep_device { device_type, device_id }) {
            // SAFETY: user is the box of `build`; C gives back what allocate returned.
            unsafe { (&*user.cast::<Allocator>()).deallocate(data, bytes, alignment, device) };
        }
    });
}
