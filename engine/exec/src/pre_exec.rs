//! The hooks that a child process runs between fork and exec.
//!
//! They make only async-signal-safe calls and allocate nothing, because another thread may have held
//! any lock at the fork.
#![expect(unsafe_code, reason = "hooks between fork and exec, and signal dispositions, are unsafe")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Arc;

use engine::ports::{Namespaces, ProcessSession};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, fchdir, getegid, geteuid, getpid, getppid, ioctl_tiocsctty,
    set_parent_process_death_signal, setrlimit, setsid,
};
use rustix::stdio::stdin;

/// How a child registers its process group with the watcher process.
#[derive(Debug)]
pub(crate) struct Registration<P> {
    /// The pipe to the watcher process.
    pub(crate) pipe: Arc<P>,
    /// The text before the id of the child's group.
    pub(crate) prefix: String,
}

/// How a child sets itself up before exec.
pub(crate) struct ChildSetup {
    /// The working directory.
    pub(crate) folder: OwnedFd,
    /// Whether standard input becomes the controlling terminal.
    pub(crate) session: ProcessSession,
    /// The resource limits.
    pub(crate) limits: Vec<(Resource, u64)>,
    /// Whether the child gets namespaces of its own.
    pub(crate) namespaces: Namespaces,
}

/// Gives the child of `command` a session and a process group of its own, which is killed when the
/// engine ends.
///
/// The child gets a session, because a session has no terminal: a program that asks for a password
/// fails at once. In a background group of the user's session, the terminal would suspend it for
/// ever. The child registers its group itself, so that the watcher knows the group before the
/// program runs. If that fails, the child runs nevertheless: the kernel kills it when the thread
/// that started it ends.
pub(crate) fn prepare_command<P>(
    command: &mut Command,
    preparation: ChildSetup,
    registration: Option<Registration<P>>,
) where
    P: AsFd + Send + Sync + 'static,
{
    let parent = getpid();
    let ChildSetup { folder, session, limits, namespaces } = preparation;
    let identity = IdMap::of_this_process();
    let hook = move || {
        setsid()?;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(parent) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        fchdir(&folder)?;
        if session == ProcessSession::Terminal {
            ioctl_tiocsctty(stdin())?;
        }
        reset_signals(&[libc::SIGPIPE]);
        set_close_on_exec();
        // The child registers outside of its namespaces, because the watcher needs the id there.
        if let Some(Registration { pipe, prefix }) = &registration {
            register(pipe.as_ref(), prefix.as_bytes());
        }
        if namespaces == Namespaces::Private {
            unshare(&identity)?;
        }
        for &(resource, most) in &limits {
            let most = Some(most);
            setrlimit(resource, Rlimit { current: most, maximum: most })?;
        }
        reset_signals(&[]);
        Ok(())
    };
    // SAFETY: the hook makes system calls only; it neither allocates nor takes a lock, and its
    // errors carry a number of the system.
    unsafe { command.pre_exec(hook) };
}

/// Lets the child of `command` outlive the engine: it gets a session of its own and ignores the
/// signals that terminals and users send.
pub(crate) fn prepare_watcher(command: &mut Command) {
    let ignored = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE];
    let hook = move || {
        setsid()?;
        reset_signals(&ignored);
        set_close_on_exec();
        Ok(())
    };
    // SAFETY: the hook makes system calls only, as the hook in `prepare_command` does.
    unsafe { command.pre_exec(hook) };
}

/// The lines of the user and group id maps of a user namespace.
struct IdMap {
    users: CString,
    groups: CString,
}

impl IdMap {
    fn of_this_process() -> Self {
        let mapped = |id: u32| CString::new(format!("{id} {id} 1")).expect("digits hold no zero");
        Self { users: mapped(geteuid().as_raw()), groups: mapped(getegid().as_raw()) }
    }
}

/// Moves the calling process into user, mount and network namespaces of its own.
fn unshare(identity: &IdMap) -> io::Result<()> {
    // SAFETY: the process has one thread, and no memory is passed.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // Kernels before 3.19 have no such file, and need none.
    let _old = write_file(c"/proc/self/setgroups", c"deny".to_bytes());
    write_file(c"/proc/self/uid_map", identity.users.to_bytes())?;
    write_file(c"/proc/self/gid_map", identity.groups.to_bytes())
}

fn write_file(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags, open};
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, bytes)?;
    Ok(())
}

/// Resets every signal to its default action except `ignored`, and unblocks all.
fn reset_signals(ignored: &[libc::c_int]) {
    for signal in 1..=64 {
        let effect = if ignored.contains(&signal) { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: neither action is a handler. Invalid signals are refused without any effect.
        unsafe { libc::signal(signal, effect) };
    }
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is initialised by the first call before the second reads it.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Sets close-on-exec for every descriptor but the first three, so that the program inherits no
/// others. Kernels before 5.11 refuse the call, which is ignored.
fn set_close_on_exec() {
    let (first, last, close_on_exec): (u32, u32, u32) = (3, u32::MAX, 4);
    // SAFETY: no memory is passed, and the descriptors stay open until exec.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, close_on_exec) };
}

/// Writes `prefix`, the process id and a line break in one write.
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
    let _failed = rustix::io::write(pipe, &line[..length]);
}
