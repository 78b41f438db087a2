//! Ends everything that descends from this process, however it hides: a process that loses its parent comes
//! back to this process, which must be a subreaper.

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, wait as wait_for_any,
    waitid, waitpid,
};

/// How long to wait for killed processes before looking again for others.
const ROUND: Duration = Duration::from_millis(20);

/// How long processes are reaped before others are looked for. They can end faster than they are
/// reaped.
const REAPING: Duration = Duration::from_millis(100);

/// Kills all descendants but the children in `spared`, and reaps them. `signals` is the descriptor
/// that can be read when a child has ended. Returns how many are left after `limit`.
///
/// All of them are stopped first: a process that is stopped starts no other. When nothing new
/// appears, they are killed.
pub(crate) fn end(signals: impl AsFd, spared: &HashSet<Pid>, limit: Duration) -> u32 {
    let until = Instant::now() + limit;
    if is_childless() {
        return 0;
    }
    loop {
        // The children come first, because most of what starts others without end is among them.
        // What has ended is reaped when they start no more.
        read_children(getpid(), |child| {
            if !spared.contains(&child) {
                let _gone = kill_process(child, Signal::STOP);
            }
        });
        if has_ended(spared) {
            return 0;
        }
        let mut found = HashSet::new();
        while stop_new(&mut found, spared) && Instant::now() < until {}
        for &process in &found {
            let _gone = kill_process(process, Signal::KILL);
        }
        let round = Instant::now() + ROUND;
        while Instant::now() < round {
            wait_for_child(&signals, Duration::from_millis(2));
            if has_ended(spared) {
                return 0;
            }
        }
        if Instant::now() >= until {
            let left = living(spared);
            return u32::try_from(left.len()).unwrap_or(u32::MAX);
        }
    }
}

/// Returns whether there are no children, not even one that has ended.
fn is_childless() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

/// Reaps what has ended. Returns whether there are no children but the spared ones, which are left
/// for the caller to reap.
fn has_ended(spared: &HashSet<Pid>) -> bool {
    if spared.is_empty() {
        let until = Instant::now() + REAPING;
        while Instant::now() < until {
            match wait_for_any(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
        return false;
    }
    let strays = || children_of(getpid()).into_iter().filter(|child| !spared.contains(child));
    let reap = |child| !matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(None));
    have_ended(|| strays().collect(), reap, Instant::now() + REAPING)
}

/// Returns whether all of `strays` have ended, each of which `reap` reaps if it has.
fn have_ended(
    strays: impl Fn() -> Vec<Pid>,
    mut reap: impl FnMut(Pid) -> bool,
    until: Instant,
) -> bool {
    while Instant::now() < until {
        let (ended, living): (Vec<_>, Vec<_>) =
            strays().into_iter().partition(|stray| reap(*stray));
        if ended.is_empty() {
            return living.is_empty();
        }
        // What has just ended may have left others, which were no strays yet when these were listed.
    }
    false
}

/// Stops the descendants that are not in `found` yet. Returns whether there were any.
fn stop_new(found: &mut HashSet<Pid>, spared: &HashSet<Pid>) -> bool {
    let before = found.len();
    walk(spared, |process| {
        if found.insert(process) {
            let _gone = kill_process(process, Signal::STOP);
        }
    });
    found.len() > before
}

/// Returns the descendants that have not ended.
fn living(spared: &HashSet<Pid>) -> Vec<Pid> {
    let mut living = Vec::new();
    walk(spared, |process| {
        if read_stat(process).is_some_and(|stat| !stat.is_dead()) {
            living.push(process);
        }
    });
    living
}

/// Visits the descendants, generation by generation: all of one are seen before the children of any
/// of them are read, so that many processes that fork are stopped at once.
fn walk(spared: &HashSet<Pid>, mut see: impl FnMut(Pid)) {
    let own = getpid();
    let table = (!has_children_files(own)).then(process_table);
    let children = |process: Pid| match &table {
        None => children_of(process),
        Some(table) => {
            let of_process = table.iter().filter(|(_, stat)| stat.parent == process.as_raw_pid());
            of_process.map(|(child, _)| *child).collect()
        }
    };
    let mut seen = spared.clone();
    let mut generation: Vec<_> = children(own);
    while !generation.is_empty() {
        generation.retain(|&process| seen.insert(process));
        generation.iter().for_each(|&process| see(process));
        generation = generation.into_iter().flat_map(children).collect();
    }
}

/// Returns whether the kernel lists the children of a process.
fn has_children_files(process: Pid) -> bool {
    let process = process.as_raw_pid();
    fs::exists(format!("/proc/{process}/task/{process}/children")).unwrap_or(false)
}

/// Returns the children of all threads of a process.
fn children_of(process: Pid) -> Vec<Pid> {
    let mut children = Vec::new();
    read_children(process, |child| children.push(child));
    children
}

/// Reads the children of all threads of a process, and shows each before the next is read: there can
/// be thousands that have ended behind those that have not.
fn read_children(process: Pid, mut see: impl FnMut(Pid)) {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", process.as_raw_pid())) else { return };
    for thread in threads.flatten() {
        let Ok(mut file) = fs::File::open(thread.path().join("children")) else { continue };
        let (mut buffer, mut kept) = ([0; 1024], 0);
        while let Ok(count @ 1..) = file.read(&mut buffer[kept..]) {
            let text = &buffer[..kept + count];
            // A number ends with a space. What is behind the last one is not complete.
            let end = text.iter().rposition(|&byte| byte == b' ').map_or(0, |space| space + 1);
            let numbers = std::str::from_utf8(&text[..end]).unwrap_or_default();
            numbers.split_ascii_whitespace().filter_map(parse).for_each(&mut see);
            let length = text.len();
            buffer.copy_within(end..length, 0);
            kept = length - end;
        }
    }
}

/// Returns all processes of the machine that can be read.
fn process_table() -> Vec<(Pid, Stat)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let processes = entries.flatten().filter_map(|entry| parse(entry.file_name().to_str()?));
    processes.filter_map(|process| Some((process, read_stat(process)?))).collect()
}

fn parse(text: &str) -> Option<Pid> {
    text.parse().ok().filter(|&number| number > 1).and_then(Pid::from_raw)
}

/// What is known of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    state: u8,
    parent: i32,
    group: i32,
}

impl Stat {
    fn is_dead(self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

fn read_stat(process: Pid) -> Option<Stat> {
    let mut bytes = [0; 512];
    let mut file = fs::File::open(format!("/proc/{}/stat", process.as_raw_pid())).ok()?;
    let length = file.read(&mut bytes).ok()?;
    parse_stat(&bytes[..length])
}

/// Parses `/proc/PID/stat`. The name of the process is in brackets, and may itself contain brackets,
/// spaces and line breaks.
fn parse_stat(stat: &[u8]) -> Option<Stat> {
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[close + 1..]).ok()?.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some(Stat { state, parent, group })
}

/// Returns whether all processes of a group have ended, some of which were not reaped. Reads every
/// process of the machine.
pub(crate) fn is_group_dead(group: Pid) -> bool {
    let group = group.as_raw_pid();
    let mut members =
        process_table().into_iter().filter(|(_, stat)| stat.group == group).peekable();
    // `/proc` may hide the processes of the group. The group then counts as running.
    members.peek().is_some() && members.all(|(_, stat)| stat.is_dead())
}

/// Waits until a child may have ended, at most for `limit`.
pub(crate) fn wait_for_child(signals: impl AsFd, limit: Duration) {
    let limit = Timespec::try_from(limit).ok();
    let _ended = poll(&mut [PollFd::new(&signals, PollFlags::IN)], limit.as_ref());
    drain(signals);
}

/// Reads the signal that has arrived. There is one at most: SIGCHLD does not queue.
pub(crate) fn drain(signals: impl AsFd) {
    let _none = rustix::io::read(&signals, &mut [0; 1024]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_a_hostile_name_is_read_right() {
        let stat = |state, parent, group| Some(Stat { state, parent, group });
        assert_eq!(parse_stat(b"7 (a) Z 1 1 (\n) S 1 42 42 0 -1"), stat(b'S', 1, 42));
        assert_eq!(parse_stat(b"7 (cat) Z 5 43 43 0"), stat(b'Z', 5, 43));
        assert_eq!(parse_stat(b"7 (cat) Z"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn a_stray_that_comes_when_its_parent_ends_is_not_overlooked() {
        let [parent, child] = [100, 101].map(|number| Pid::from_raw(number).unwrap());
        let listed = std::cell::Cell::new(0);
        let strays = || {
            listed.set(listed.get() + 1);
            if listed.get() == 1 { vec![parent] } else { vec![child] }
        };
        let until = Instant::now() + Duration::from_secs(60);
        assert!(!have_ended(strays, |stray| stray == parent, until));
        assert_eq!(listed.get(), 2);
        let gone = std::cell::Cell::new(false);
        let strays = || if gone.get() { vec![] } else { vec![parent] };
        assert!(have_ended(strays, |_| !gone.replace(true), until));
        assert!(have_ended(Vec::new, |_| unreachable!(), until));
    }

    #[test]
    fn numbers_that_would_signal_everybody_name_no_process() {
        for text in ["0", "1", "-1", "-5", "x", "", "4294967296"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("2"), Pid::from_raw(2));
    }

    #[test]
    fn the_children_of_a_process_are_found_with_the_files_of_the_kernel_and_without() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let process = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        let own = getpid();
        if has_children_files(own) {
            assert!(children_of(own).contains(&process));
        }
        let table = process_table();
        let (_, stat) = table.iter().find(|(found, _)| *found == process).unwrap();
        assert_eq!(stat.parent, own.as_raw_pid());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
