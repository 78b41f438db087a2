//! Makes processes: forks reapers, and starts commands in memory that they share with their reaper
//! until they execute their program.
#![expect(unsafe_code, reason = "fork, clone, exec and signal dispositions are unsafe")]

use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr;

use engine::ports::{Namespaces, ProcessSession};
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, fchdir, getegid, geteuid, getpid, getppid,
    ioctl_tiocsctty, set_parent_process_death_signal, setrlimit, setsid, waitpid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdin};

use crate::wire::StartStep;

/// The signals that terminals and users send, which the launcher and the reapers ignore.
const IGNORED: [libc::c_int; 8] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGPIPE,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
];

/// Resets every signal to its default action, except those that are ignored from now on, and blocks
/// SIGCHLD, which is read from a descriptor.
pub(crate) fn set_signals() {
    for signal in 1..=64 {
        let action = if IGNORED.contains(&signal) { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: neither action is a handler. Invalid signals are refused without any effect.
        unsafe { libc::signal(signal, action) };
    }
    set_mask(&[libc::SIGCHLD]);
}

/// Blocks these signals and no others.
fn set_mask(blocked: &[libc::c_int]) {
    let mask = signal_set(blocked);
    // SAFETY: the set is initialised.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, ptr::null_mut()) };
}

fn signal_set(signals: &[libc::c_int]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the first call initialises the set, which the others change.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

/// Returns a descriptor that can be read when a child has ended. SIGCHLD must be blocked.
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    let set = signal_set(&[libc::SIGCHLD]);
    // SAFETY: the set is initialised.
    let opened =
        unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

/// Lets the calling process adopt the orphans among its descendants.
pub(crate) fn become_subreaper() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(getpid())).map_err(Into::into)
}

/// Forks the calling process, which must have one thread, and runs `child` in the new process, which
/// exits when that returns. Returns the new process.
pub(crate) fn fork(child: impl FnOnce()) -> io::Result<Pid> {
    // SAFETY: the process has one thread, so that the child can do what it could.
    let forked = unsafe { libc::fork() };
    match forked {
        0 => {
            child();
            // SAFETY: the call ends the process. What the parent wants to do at its exit, such as
            // flushing its streams, must not be done twice.
            unsafe { libc::_exit(0) }
        }
        _ => positive(forked).ok_or_else(io::Error::last_os_error),
    }
}

/// Returns the process of a call that returns -1 if it has failed.
fn positive(process: libc::pid_t) -> Option<Pid> {
    if process > 0 { Pid::from_raw(process) } else { None }
}

/// Closes a descriptor in a forked process, which must not use it afterwards.
pub(crate) fn close_in_fork(descriptor: BorrowedFd<'_>) {
    // SAFETY: this process ends without closing or using what it had borrowed at the fork.
    unsafe { libc::close(descriptor.as_raw_fd()) };
}

/// The stack of a child until it executes its program.
pub(crate) struct Stack(Vec<u128>);

impl Stack {
    /// Allocates a stack.
    pub(crate) fn new() -> Self {
        Self(vec![0; 4096])
    }
}

/// What a child needs to become a command.
pub(crate) struct Program<'start> {
    pub(crate) folder: BorrowedFd<'start>,
    /// Standard input, output and error.
    pub(crate) streams: [BorrowedFd<'start>; 3],
    pub(crate) session: ProcessSession,
    pub(crate) namespaces: Namespaces,
    pub(crate) limits: &'start [(Resource, u64)],
    /// The files that may be the program, in the order in which they are tried.
    pub(crate) files: &'start [&'start CStr],
    pub(crate) argv: &'start [&'start CStr],
    pub(crate) environment: &'start [&'start CStr],
}

/// A child that has not executed its program yet. It shares the memory of its parent, which waits.
struct Child<'start> {
    program: &'start Program<'start>,
    parent: Pid,
    identity: Option<IdMap>,
    argv: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    failure: Cell<Option<(StartStep, Errno)>>,
}

/// Starts a program in a session and a process group of its own, which the kernel kills when the
/// calling process dies. Returns when the program runs.
///
/// The child gets a session, because a session has no terminal: a program that asks for a password
/// fails at once. In a background group of the user's session, the terminal would suspend it for
/// ever.
pub(crate) fn spawn(program: &Program<'_>, stack: &mut Stack) -> Result<Pid, (StartStep, Errno)> {
    let pointers = |texts: &[&CStr]| -> Vec<_> {
        texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    let child = Child {
        program,
        parent: getpid(),
        identity: (program.namespaces == Namespaces::Private).then(IdMap::of_this_process),
        argv: pointers(program.argv),
        environment: pointers(program.environment),
        failure: Cell::new(None),
    };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let top = stack.0.as_mut_ptr_range().end;
    // SAFETY: the stack is large enough for `run`, aligned, and used by one child at a time: with
    // CLONE_VFORK the call returns when the child no longer shares the memory. Until then nothing
    // else runs in this process, which has no signal handlers, so that `child` is there and is not
    // changed.
    let forked =
        unsafe { libc::clone(run, top.cast(), flags, (&raw const child).cast_mut().cast()) };
    let Some(process) = positive(forked) else {
        return Err((StartStep::Fork, last_error()));
    };
    match child.failure.get() {
        None => Ok(process),
        Some(failure) => {
            let _reaped = waitpid(Some(process), WaitOptions::empty());
            Err(failure)
        }
    }
}

extern "C" fn run(child: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `spawn` passes a `Child`, and keeps it until this process shares no memory any more.
    let child = unsafe { &*child.cast::<Child<'_>>() };
    let failure = child.prepare().err().unwrap_or_else(|| (StartStep::Program, child.execute()));
    child.failure.set(Some(failure));
    127
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

impl Child<'_> {
    /// Does everything before exec. It makes system calls only, as it runs on a small stack in the
    /// memory of its parent.
    fn prepare(&self) -> Result<(), (StartStep, Errno)> {
        let at = |step| move |error| (step, error);
        let Program { folder, streams, session, namespaces, limits, .. } = *self.program;
        setsid().map_err(at(StartStep::Session))?;
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(StartStep::Session))?;
        if getppid() != Some(self.parent) {
            return Err((StartStep::Session, Errno::SRCH));
        }
        fchdir(folder).map_err(at(StartStep::Folder))?;
        let [input, output, error] = streams;
        dup2_stdin(input).map_err(at(StartStep::Streams))?;
        dup2_stdout(output).map_err(at(StartStep::Streams))?;
        dup2_stderr(error).map_err(at(StartStep::Streams))?;
        if session == ProcessSession::Terminal {
            ioctl_tiocsctty(stdin()).map_err(at(StartStep::Terminal))?;
        }
        set_close_on_exec();
        if namespaces == Namespaces::Private
            && let Some(identity) = &self.identity
        {
            unshare(identity).map_err(at(StartStep::Namespaces))?;
        }
        for &(resource, most) in limits {
            let most = Some(most);
            let limit = Rlimit { current: most, maximum: most };
            setrlimit(resource, limit).map_err(at(StartStep::Limits))?;
        }
        for signal in IGNORED {
            // SAFETY: the default action is not a handler, and the actions of the parent are its own.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        set_mask(&[]);
        Ok(())
    }

    /// Executes the first file that can be executed; returns only if there is none.
    fn execute(&self) -> Errno {
        let mut found = Errno::NOENT;
        for file in self.program.files {
            // SAFETY: all strings end with a zero byte, both lists with a null pointer.
            unsafe { libc::execve(file.as_ptr(), self.argv.as_ptr(), self.environment.as_ptr()) };
            match last_error() {
                Errno::ACCESS => found = Errno::ACCESS,
                Errno::NOENT | Errno::NOTDIR => {}
                error => return error,
            }
        }
        found
    }
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
fn unshare(identity: &IdMap) -> Result<(), Errno> {
    // SAFETY: the process has one thread, and no memory is passed.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWNET) } != 0 {
        return Err(last_error());
    }
    // Kernels before 3.19 have no such file, and need none.
    let _old = write_file(c"/proc/self/setgroups", c"deny".to_bytes());
    write_file(c"/proc/self/uid_map", identity.users.to_bytes())?;
    write_file(c"/proc/self/gid_map", identity.groups.to_bytes())
}

fn write_file(path: &CStr, bytes: &[u8]) -> Result<(), Errno> {
    use rustix::fs::{Mode, OFlags, open};
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file.as_fd(), bytes).map(drop)
}

/// Sets close-on-exec for every descriptor but the first three, so that the program inherits no
/// others. All were opened so; this holds also if one was forgotten.
fn set_close_on_exec() {
    const CLOSE_ON_EXEC: u32 = 4;
    close_range(CLOSE_ON_EXEC);
}

/// Closes every descriptor but the first three. Nothing in the process may use one.
pub(crate) fn close_all() {
    close_range(0);
}

/// Calls `close_range(2)` for every descriptor but the first three. Kernels before 5.11 refuse the
/// call, which is ignored.
fn close_range(flags: u32) {
    let (first, last): (u32, u32) = (3, u32::MAX);
    // SAFETY: no memory is passed. One caller leaves the descriptors open until exec, the other is
    // called before the process has opened any.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
}
