//! The options of the allocator.

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_t, mi_option_use_numa_nodes};

/// The option `mi_option_purge_delay`, which stands before this one in the list of mimalloc. The
/// bindings have no name for it.
const PURGE_DELAY: mi_option_t = mi_option_use_numa_nodes - 1;

/// How many milliseconds memory stays with the process after it was freed. By default it is a second,
/// in which hundreds of agents that begin at the same time take a tenth more memory than they need.
const DELAY: c_long = 10;

/// Has the allocator give freed memory back to the system soon.
#[expect(unsafe_code, reason = "the bindings of mimalloc are those of its functions in C")]
pub fn give_memory_back_soon() {
    // SAFETY: the call sets a number, which the allocator reads at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, DELAY) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "the bindings of mimalloc are those of its functions in C")]
    fn the_option_is_the_one_whose_default_is_a_second() {
        // SAFETY: the call reads a number.
        let delay = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(delay(), 1_000);
        give_memory_back_soon();
        assert_eq!(delay(), DELAY);
    }
}
