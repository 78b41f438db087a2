//! Process groups: sends signals to one, and checks whether any of its processes still runs.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// How long to wait for a group before checking whether it has only zombies left. The check reads
/// every process of the machine in `/proc`.
pub(crate) const BEFORE_PROC_SCAN: Duration = Duration::from_millis(8);

/// A process group, identified by its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessGroup(Pid);

impl ProcessGroup {
    /// Returns the group that this process leads. The ids 0 and 1 are refused: a signal to those would
    /// go to the engine itself or to every process.
    pub(crate) fn led_by(process: u32) -> Option<Self> {
        let process = i32::try_from(process).ok().filter(|&process| process > 1)?;
        Pid::from_raw(process).map(Self)
    }

    /// Returns the leader, which may have exited.
    pub(crate) fn leader(self) -> Pid {
        self.0
    }

    /// Sends a signal to all processes of the group. An empty group is no error.
    pub(crate) fn signal(self, signal: Signal) {
        let _gone = kill_process_group(self.0, signal);
    }

    /// Kills the processes of the group if it is not empty: the id of an empty group may be reused.
    pub(crate) fn kill_if_there(self) {
        if !self.is_empty() {
            self.signal(Signal::KILL);
        }
    }

    /// Returns whether the group has no process, not even a zombie.
    pub(crate) fn is_empty(self) -> bool {
        test_kill_process_group(self.0) == Err(Errno::SRCH)
    }

    /// Returns whether no process of the group runs. Processes that cannot be read count as running.
    pub(crate) fn is_dead(self) -> bool {
        if self.is_empty() {
            return true;
        }
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let mut seen = 0;
        for process in processes.flatten() {
            let Ok(stat) = fs::read(process.path().join("stat")) else { continue };
            let Some((state, group)) = state_and_group(&stat) else { continue };
            if group == self.0.as_raw_nonzero().get() {
                seen += 1;
                if !matches!(state, b'Z' | b'X') {
                    return false;
                }
            }
        }
        // `/proc` may hide the processes of the group. The group then counts as running.
        seen > 0 || self.is_empty()
    }

    /// Waits until no process of the group runs; returns `false` after `limit`.
    pub(crate) fn wait(self, limit: Duration) -> bool {
        let began = Instant::now();
        for pause in pauses() {
            let passed = began.elapsed();
            if self.is_empty() || (passed >= BEFORE_PROC_SCAN && self.is_dead()) {
                return true;
            }
            if passed >= limit {
                break;
            }
            thread::sleep(pause);
        }
        false
    }

    /// The asynchronous form of [`Self::wait`].
    pub(crate) async fn gone(self, limit: Duration) -> bool {
        let began = Instant::now();
        for pause in pauses() {
            let passed = began.elapsed();
            if self.is_empty() {
                return true;
            }
            if passed >= BEFORE_PROC_SCAN {
                let look = tokio::task::spawn_blocking(move || self.is_dead());
                if look.await.unwrap_or(false) {
                    return true;
                }
            }
            if passed >= limit {
                break;
            }
            tokio::time::sleep(pause).await;
        }
        false
    }
}

/// Returns growing pauses: most killed processes end within a millisecond.
fn pauses() -> impl Iterator<Item = Duration> {
    let growing = [1, 1, 2, 4, 8, 16, 32];
    growing.into_iter().chain(std::iter::repeat(50)).map(Duration::from_millis)
}

/// Parses the state and the group of a process from `/proc/PID/stat`. The name before them is in
/// brackets, and may itself contain brackets, spaces and line breaks.
fn state_and_group(stat: &[u8]) -> Option<(u8, i32)> {
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[close + 1..]).ok()?.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let group = fields.nth(1)?.parse().ok()?;
    Some((state, group))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn numbers_that_would_signal_everybody_name_no_group() {
        assert_eq!(ProcessGroup::led_by(0), None);
        assert_eq!(ProcessGroup::led_by(1), None);
        assert_eq!(ProcessGroup::led_by(u32::MAX), None);
    }

    #[test]
    fn a_process_with_a_hostile_name_is_read_right() {
        assert_eq!(state_and_group(b"7 (a) Z 1 1 (\n) S 1 42 42 0 -1"), Some((b'S', 42)));
        assert_eq!(state_and_group(b"7 (cat) Z 1 43 43 0"), Some((b'Z', 43)));
        assert_eq!(state_and_group(b"7 (cat) Z"), None);
        assert_eq!(state_and_group(b""), None);
    }

    #[test]
    fn a_group_whose_last_process_is_dead_but_not_collected_is_dead() {
        let mut child =
            Command::new("sleep").arg("600").process_group(0).stdin(Stdio::null()).spawn().unwrap();
        let group = ProcessGroup::led_by(child.id()).unwrap();
        assert!(!group.is_dead());
        assert!(!group.wait(Duration::from_millis(60)));
        group.kill_if_there();
        assert!(group.wait(Duration::from_secs(5)));
        assert!(!group.is_empty(), "nobody has collected it");
        child.wait().unwrap();
        assert!(group.is_empty());
        assert!(group.is_dead());
    }
}
