//! Returns freed memory to the system.
//!
//! The allocator of glibc returns memory only from the ends of its heaps. After a burst of many
//! small objects, one object that stays in use prevents the return of all free pages below it. The
//! C library has a function that returns these pages as well, and no published crate wraps it
//! safely. This is the only crate with unsafe code.

/// Returns all free pages of the heaps to the system. The result is true if there were any free
/// pages.
///
/// Locks one heap after another, for about a millisecond for every 10 MiB of returned memory. Does
/// nothing if the C library is not glibc: other allocators return memory by themselves, or have no
/// function for this purpose.
#[must_use]
pub fn return_free_memory() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        trim()
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    {
        false
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the function belongs to the C library")]
fn trim() -> bool {
    use std::ffi::c_int;

    // SAFETY: the declaration is that of `malloc.h`. The C function takes no pointer and locks each
    // heap by itself, so any thread may call it at any time.
    unsafe extern "C" {
        safe fn malloc_trim(pad: usize) -> c_int;
    }
    malloc_trim(0) != 0
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::return_free_memory;

    /// Returns the resident memory of this process that is not mapped from a file, in KiB.
    fn resident() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn free_pages_below_an_object_in_use_are_returned() {
        let mut objects: Vec<Vec<u8>> = (0..8_192).map(|_| vec![1; 8 << 10]).collect();
        let last = objects.pop();
        drop(objects);
        let before = resident();
        assert!(return_free_memory());
        let after = resident();
        assert!(
            after + (32 << 10) < before,
            "{before} KiB, then {after} KiB"
        );
        drop(last);
    }
}
