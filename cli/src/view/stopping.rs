//! Stops the program as a terminal does at Ctrl-Z, so that a shell can continue it.

use rustix::process::{Pid, Signal, getpgid, getpgrp, getppid, getsid, kill_current_process_group};

/// How many parents are looked at.
const PARENTS: usize = 64;

/// Stops the process group, if a shell can continue it. Returns when it goes on.
pub(super) fn stop_group() -> rustix::io::Result<()> {
    // SIGTSTP is caught here. Nothing would continue a group that no shell watches, and the system
    // does not stop it at Ctrl-Z either.
    if is_watched() { kill_current_process_group(Signal::STOP) } else { Ok(()) }
}

/// Returns whether a process of this session, outside of the group, is a parent of the group.
fn is_watched() -> bool {
    let (group, session) = (getpgrp(), getsid(None).ok());
    let mut parent = getppid();
    for _ in 0..PARENTS {
        let Some(process) = parent else { return false };
        if getsid(Some(process)).ok() != session {
            return false;
        }
        if getpgid(Some(process)) != Ok(group) {
            return true;
        }
        parent = parent_of(process);
    }
    false
}

fn parent_of(process: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name of the program, between parentheses, may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    Pid::from_raw(fields.split_whitespace().nth(1)?.parse().ok()?)
}
