//! The main function of the watcher process: kills every process group that is left when the engine
//! has ended.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

use crate::process_group::{BEFORE_PROC_SCAN, ProcessGroup};

/// The longest time to wait for killed groups.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The pause before groups are killed again.
const BETWEEN_ROUNDS: Duration = Duration::from_millis(10);

/// The longest valid line: a sign, two numbers, a space.
const LINE_LIMIT: usize = 64;

/// Reads the running process groups from `input`, and kills the remaining groups when `input` ends.
///
/// This is all that the watcher process does. It returns when none of the groups runs any more, or
/// after a few seconds. Lines are `+TOKEN GROUP` and `-TOKEN`; all others are ignored.
pub fn watch(mut input: impl Read) {
    let mut watched = WatchedGroups::default();
    let mut buffer = [0_u8; 4096];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => watched.feed(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // If the pipe cannot be read, the engine may be dead.
            Err(_) => break,
        }
    }
    watched.end(TIMEOUT);
}

/// The groups that are killed when the engine ends.
#[derive(Debug, Default)]
struct WatchedGroups {
    open: Vec<u8>,
    groups: BTreeMap<u64, ProcessGroup>,
}

impl WatchedGroups {
    fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                let line = std::mem::take(&mut self.open);
                self.parse_line(&line);
            } else if self.open.len() <= LINE_LIMIT {
                self.open.push(byte);
            }
        }
    }

    fn parse_line(&mut self, line: &[u8]) {
        if line.len() > LINE_LIMIT {
            return;
        }
        let Ok(line) = std::str::from_utf8(line) else { return };
        if let Some((token, group)) = line.strip_prefix('+').and_then(|rest| rest.split_once(' ')) {
            let group = group.parse().ok().and_then(ProcessGroup::led_by);
            if let (Ok(token), Some(group)) = (token.parse(), group) {
                self.groups.insert(token, group);
            }
        } else if let Some(Ok(token)) = line.strip_prefix('-').map(str::parse::<u64>) {
            self.groups.remove(&token);
        }
    }

    /// Kills the groups repeatedly, because a group may not exist yet, or get a new process, when it is
    /// killed.
    fn end(mut self, limit: Duration) {
        let began = Instant::now();
        loop {
            // A group of zombies is not empty. Only `is_dead` recognises that it has ended.
            let look = began.elapsed() >= BEFORE_PROC_SCAN;
            self.groups.retain(|_, group| {
                group.kill_if_there();
                if look { !group.is_dead() } else { !group.is_empty() }
            });
            if self.groups.is_empty() || began.elapsed() >= limit {
                return;
            }
            std::thread::sleep(BETWEEN_ROUNDS);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").process_group(0).stdin(Stdio::null()).spawn().unwrap()
    }

    fn learned(input: &str) -> Vec<(u64, u32)> {
        let mut watched = WatchedGroups::default();
        watched.feed(input.as_bytes());
        let number =
            |group: &ProcessGroup| u32::try_from(group.leader().as_raw_nonzero().get()).unwrap();
        watched.groups.iter().map(|(&token, group)| (token, number(group))).collect()
    }

    #[test]
    fn the_groups_that_were_not_taken_back_are_killed_at_the_end() {
        let (mut left, mut gone) = (sleeper(), sleeper());
        let input = format!("+1 {}\n+2 {}\n-2\n", left.id(), gone.id());
        watch(input.as_bytes());
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        assert!(gone.try_wait().unwrap().is_none(), "it was taken back");
        gone.kill().unwrap();
        gone.wait().unwrap();
    }

    #[test]
    fn what_is_no_line_of_ours_is_ignored() {
        let long = "+7 1".repeat(100);
        let input =
            format!("+3 77777\nx\n\n+\n+4\n+5 \n+6 -1\n+8 0\n+9 1\n-x\n{long}\n+\u{e9} 5\n");
        assert_eq!(learned(&input), [(3, 77777)]);
    }

    #[test]
    fn a_line_that_comes_in_pieces_is_one_line() {
        let mut watched = WatchedGroups::default();
        watched.feed(b"+1");
        watched.feed(b"2 555");
        assert!(watched.groups.is_empty());
        watched.feed(b"55\n");
        assert_eq!(watched.groups.keys().copied().collect::<Vec<_>>(), [12]);
    }
}
