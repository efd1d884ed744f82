//! The allocator of the C library.
//!
//! glibc keeps what was freed. Each time a large block is freed, it raises the size from which blocks are returned to the
//! system, up to 32 MiB, and from then on large blocks fill its heaps: after three turns with large inputs, the process
//! kept 244 MB where 90 were in use. A fixed size turns that off. It can be set in the environment only, which is read
//! before `main`, so the server starts itself once more, in the same process.

/// The size from which blocks are returned to the system when they are freed: the one that glibc begins with.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURNED_BYTES: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "131072");

/// Starts the program again with a fixed size, unless the environment says something about the allocator already. Where
/// that is not possible, it runs as it is.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn return_freed_memory() {
    use std::{env, os::unix::process::CommandExt, process::Command};

    let (name, bytes) = RETURNED_BYTES;
    let is_set = [name, "GLIBC_TUNABLES"].iter().any(|name| env::var_os(name).is_some());
    let Ok(program) = env::current_exe() else { return };
    let mut args = env::args_os();
    if !is_set && let Some(called) = args.next() {
        // It returns only if it fails.
        let _ = Command::new(program).arg0(called).args(args).env(name, bytes).exec();
    }
}

/// Other allocators return what was freed.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn return_freed_memory() {}
