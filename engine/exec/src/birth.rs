//! What a child does between fork and exec.
//!
//! Only async-signal-safe calls are made here, and nothing is allocated: another thread may have
//! held any lock when the child was made.
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

/// The end of the pipe to the watcher, and the words that a child puts before its number.
#[derive(Debug)]
pub(crate) struct Registration<P> {
    /// Where the watcher listens.
    pub(crate) pipe: Arc<P>,
    /// What comes before the number of the child's group.
    pub(crate) prefix: String,
}

/// What a child does to itself before it becomes the program.
pub(crate) struct Preparation {
    /// Where it starts.
    pub(crate) folder: OwnedFd,
    /// Whether its standard input becomes its terminal.
    pub(crate) session: ProcessSession,
    /// How much it may use.
    pub(crate) limits: Vec<(Resource, u64)>,
    /// Its namespaces.
    pub(crate) namespaces: Namespaces,
}

/// Makes what `command` starts a session and a process group of its own, which dies with us.
///
/// A session rather than a group alone: without a terminal of its own, what wants to ask for a
/// password fails at once, where in a background group it would be stopped for ever.
/// The child registers its group itself, so that there is no moment in which it runs unknown to
/// the watcher. It runs all the same if it cannot: it still dies with the thread that started it.
pub(crate) fn as_command<P>(
    command: &mut Command,
    preparation: Preparation,
    registration: Option<Registration<P>>,
) where
    P: AsFd + Send + Sync + 'static,
{
    let parent = getpid();
    let Preparation { folder, session, limits, namespaces } = preparation;
    let identity = Identity::of_engine();
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
        signals(&[libc::SIGPIPE]);
        close_the_rest();
        // Before its own namespaces: the watcher knows it by the number it has outside.
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

/// Who the engine is, as a user namespace is told.
struct Identity {
    users: CString,
    groups: CString,
}

impl Identity {
    fn of_engine() -> Self {
        let mapped = |id: u32| CString::new(format!("{id} {id} 1")).expect("digits hold no zero");
        Self { users: mapped(geteuid().as_raw()), groups: mapped(getegid().as_raw()) }
    }
}

/// Moves the calling process into user, mount and network namespaces of its own.
fn unshare(identity: &Identity) -> io::Result<()> {
    // SAFETY: the process has one thread, and no memory is passed.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // A kernel before 3.19 has no `setgroups` there, and needs none.
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
