//! The launcher: a small process with one thread that forks reapers.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, chdir, set_parent_process_death_signal, setsid, wait,
};
use rustix::stdio::dup2_stdin;

use crate::wire::{self, Received, Reply, StartStep};
use crate::{child, descendants, reaper};

/// How long the launcher waits for its reapers when the engine has ended.
const LAST_LIMIT: Duration = Duration::from_secs(6);

/// How long the launcher waits for a signal before it looks again for reapers that have ended.
const LAST_ROUND: Duration = Duration::from_millis(50);

/// How long the launcher waits for a signal before it looks again whether a reaper has ended.
const STRAYS_ROUND: Duration = Duration::from_millis(5);

/// How long it may take to kill what a reaper has left.
const STRAYS_LIMIT: Duration = Duration::from_secs(1);

/// Is the launcher of the engine at the other end of standard input, until the engine ends. Call it
/// before the process has a second thread, or anything in its memory.
///
/// # Errors
/// The process cannot be set up.
pub fn launch() -> io::Result<()> {
    // What the engine has inherited is not kept open.
    child::close_all();
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?)?;
    // A launcher that leads a group already is in no terminal's way.
    let _leader = setsid();
    // A suspended launcher wakes up when the engine dies.
    set_parent_process_death_signal(Some(Signal::CONT))?;
    child::set_signals();
    chdir("/")?;
    serve(socket)
}

/// Does what the requests over `socket` want, until its end: forks reapers, and kills what dead ones
/// have left.
fn serve(socket: OwnedFd) -> io::Result<()> {
    child::become_subreaper()?;
    let signals = child::child_signals()?;
    // When this process ends, the pipe is closed, and every reaper ends.
    let (life, alive) = io::pipe()?;
    let mut reapers = HashSet::new();
    loop {
        let mut polled =
            [PollFd::new(&socket, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
        let _interrupted = poll(&mut polled, None);
        let request = !polled[0].revents().is_empty();
        descendants::drain(&signals);
        reap(&mut reapers, &signals);
        if !request {
            continue;
        }
        let mut buffer = [0; wire::SHORT];
        match wire::receive(&socket, &mut buffer) {
            Err(Errno::AGAIN) => {}
            Ok(Received { length: 0, .. }) | Err(_) => break,
            Ok(message) => {
                let Some(engine) = message.descriptors.into_iter().next() else { continue };
                if let Some(reaper) = wire::reaper_of_strays(&buffer[..message.length]) {
                    let left = kill_strays(reaper, &mut reapers, &signals);
                    let _gone = wire::send(&engine, &[&Reply::Ended(left).encode()], &[]);
                    continue;
                }
                let sockets = (&socket, &alive, &signals);
                if let Some(reaper) = fork_reaper(engine, &life, sockets) {
                    reapers.insert(reaper);
                }
            }
        }
    }
    drop(alive);
    let until = Instant::now() + LAST_LIMIT;
    while !reapers.is_empty() && Instant::now() < until {
        descendants::wait_for_child(&signals, LAST_ROUND);
        reap(&mut reapers, &signals);
    }
    // A reaper that does not end is killed, with all that it has started.
    descendants::end(&signals, &HashSet::new(), STRAYS_LIMIT);
    Ok(())
}

/// Forks a reaper. Its first reply goes over its own socket.
fn fork_reaper(
    engine: OwnedFd,
    life: &PipeReader,
    (socket, alive, signals): (&OwnedFd, &impl AsFd, &OwnedFd),
) -> Option<Pid> {
    let forked = (|| {
        let (own, life) = (engine.try_clone()?, life.try_clone()?);
        child::fork(|| {
            // What the launcher has open must not be kept open by its reapers.
            for descriptor in [socket.as_fd(), alive.as_fd(), signals.as_fd(), engine.as_fd()] {
                child::close_in_fork(descriptor);
            }
            reaper::run(own, life.into());
        })
    })();
    match forked {
        Ok(reaper) => Some(reaper),
        Err(error) => {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            let _gone =
                wire::send(&engine, &[&Reply::Failed(StartStep::Fork, errno).encode()], &[]);
            None
        }
    }
}

/// Kills what a dead reaper has left, and returns how much of that is left.
fn kill_strays(reaper: i32, reapers: &mut HashSet<Pid>, signals: &OwnedFd) -> u32 {
    let is_here = |reapers: &HashSet<Pid>| {
        Pid::from_raw(reaper).is_some_and(|reaper| reapers.contains(&reaper))
    };
    // What it has left comes here when it has ended, a moment after its socket was closed.
    let until = Instant::now() + STRAYS_LIMIT;
    while is_here(reapers) {
        if Instant::now() >= until {
            return 1;
        }
        descendants::wait_for_child(signals, STRAYS_ROUND);
        reap(reapers, signals);
    }
    descendants::end(signals, reapers, STRAYS_LIMIT)
}

/// Reaps reapers that have ended. What one has left, as it was killed or could not kill it, comes to
/// the launcher, and is killed here.
fn reap(reapers: &mut HashSet<Pid>, signals: &OwnedFd) {
    let mut has_ended = false;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((process, _))) => has_ended |= reapers.remove(&process),
            Err(Errno::INTR) => {}
            Ok(None) | Err(_) => break,
        }
    }
    if has_ended {
        descendants::end(signals, reapers, STRAYS_LIMIT);
    }
}
