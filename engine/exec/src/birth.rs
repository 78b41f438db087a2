//! What a child does between fork and exec.
//!
//! Only async-signal-safe calls are made here, and nothing is allocated: another thread may have
//! held any lock when the child was made.
#![expect(unsafe_code, reason = "hooks between fork and exec, and signal dispositions, are unsafe")]

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Arc;

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal, setsid};

/// The end of the pipe to the watcher, and the words that a child puts before its number.
#[derive(Debug)]
pub(crate) struct Registration<P> {
    /// Where the watcher listens.
    pub(crate) pipe: Arc<P>,
    /// What comes before the number of the child's group.
    pub(crate) prefix: String,
}

/// Makes what `command` starts a session and a process group of its own, which dies with us.
///
/// A session rather than a group alone: without a terminal of its own, what wants to ask for a
/// password fails at once, where in a background group it would be stopped for ever.
/// The child registers its group itself, so that there is no moment in which it runs unknown to
/// the watcher. It runs all the same if it cannot: it still dies with the thread that started it.
pub(crate) fn as_command<P>(command: &mut Command, registration: Option<Registration<P>>)
where
    P: AsFd + Send + Sync + 'static,
{
    let parent = getpid();
    let hook = move || {
        setsid()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(parent) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        signals(&[libc::SIGPIPE]);
        close_the_rest();
        if let Some(Registration { pipe, prefix }) = &registration {
            register(pipe.as_ref(), prefix.as_bytes());
        }
        signals(&[]);
        Ok(())
    };
    // SAFETY: the hook makes system calls only; it neither allocates nor takes a lock, and its
    // errors carry a number of the system.
    unsafe { command.pre_exec(hook) };
}

/// Makes what `command` starts outlive us, deaf to what is meant for us: a session of its own,
/// where no signal from the terminal or to our group arrives.
pub(crate) fn as_watcher(command: &mut Command) {
    let deaf = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE];
    let hook = move || {
        setsid()?;
        signals(&deaf);
        close_the_rest();
        Ok(())
    };
    // SAFETY: as above.
    unsafe { command.pre_exec(hook) };
}

/// Gives every signal its default effect except `ignored`, which have none, and blocks none.
fn signals(ignored: &[libc::c_int]) {
    for signal in 1..=64 {
        let effect = if ignored.contains(&signal) { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: neither effect is a handler. A number that is no signal, or none of ours to
        // change, is refused without any effect.
        unsafe { libc::signal(signal, effect) };
    }
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is initialised by the first call before the second reads it.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Marks every descriptor but the first three to be closed by exec: what somebody left open for
/// us is not for what we start. A kernel that cannot leaves them.
fn close_the_rest() {
    let (first, last, close_on_exec): (u32, u32, u32) = (3, u32::MAX, 4);
    // SAFETY: no memory is passed, and the descriptors stay open until exec.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, close_on_exec) };
}

/// Writes `prefix`, our number and a line break in one piece.
fn register(pipe: impl AsFd, prefix: &[u8]) {
    let mut line = [0_u8; 64];
    let (mut digits, mut rest) = ([0_u8; 12], Pid::as_raw(Some(getpid())));
    let mut first = digits.len();
    while rest > 0 && first > 0 {
        first -= 1;
        digits[first] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
    let parts = [prefix, &digits[first..], b"\n"];
    let mut length = 0;
    for part in parts {
        let Some(place) = line.get_mut(length..length + part.len()) else { return };
        place.copy_from_slice(part);
        length += part.len();
    }
    let _unheard = rustix::io::write(pipe, &line[..length]);
}
