//! Asks the kernel to run a process soon after it was woken.
#![expect(unsafe_code, reason = "scheduling attributes have no safe interface")]

/// Asks the kernel to run the calling process soon after it was woken, for short turns at a time, and
/// not its children. Otherwise a reaper that waits until its child executes a program is often run
/// only when that has ended, where the processors are busy. Kernels before 6.12 know no such wish.
pub(crate) fn take_short_turns() {
    /// `struct sched_attr` of `sched_setattr(2)` in its first version.
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    const RESET_ON_FORK: u64 = 1;
    const SHORTEST_NANOSECONDS: u64 = 100_000;
    let size = u32::try_from(size_of::<Attributes>()).unwrap_or_default();
    let mut attributes = Attributes::default();
    // SAFETY: the kernel writes at most `size` bytes.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    let is_normal = attributes.policy == libc::SCHED_OTHER.unsigned_abs();
    // The flag would also take from the commands what an administrator has given to the engine.
    if got == 0 && is_normal && attributes.nice >= 0 {
        attributes.flags |= RESET_ON_FORK;
        attributes.runtime = SHORTEST_NANOSECONDS;
        // SAFETY: the kernel reads as many bytes as the structure says.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    }
}
