//! What a program used: time, processor and memory.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// What a program used, and what it said.
#[derive(Clone, Debug)]
pub struct Used {
    /// From its start to its end.
    pub wall: Duration,
    /// Of all its threads, in itself and in the system; without its children.
    pub cpu: Duration,
    /// The most memory it held at once.
    pub peak_kilobytes: usize,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
}

/// Runs a program to its end and returns what it used.
///
/// # Panics
/// When it cannot be run, or fails.
#[must_use]
pub fn used_by(mut command: Command) -> Used {
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut stdout = child.stdout.take().expect("its output is a pipe");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).expect("a pipe can be read");
        bytes
    });
    let id = child.id();
    let (end, ended) = channel::<()>();
    let sampler = std::thread::spawn(move || {
        // The peak only grows, and is gone with the process: the last look before that counts.
        let mut peak = 0;
        while let Some(now) = peak_of(id) {
            peak = now;
            if ended.recv_timeout(Duration::from_millis(2)) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        peak
    });
    // What has ended and was not collected still tells how much of the processor it used.
    let pid = Pid::from_raw(i32::try_from(id).expect("ids are small")).expect("ids are not zero");
    let awaited = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    let wall = began.elapsed();
    drop(end);
    awaited.expect("a child can be awaited");
    let cpu = cpu_of(id);
    let status = child.wait().expect("a child can be awaited");
    let stdout = reader.join().expect("reading does not panic");
    assert!(status.success(), "{command:?}: {status}: {}", String::from_utf8_lossy(&stdout));
    let peak_kilobytes = sampler.join().expect("looking does not panic");
    Used { wall, cpu, peak_kilobytes, stdout }
}

fn peak_of(id: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the processor time of a process, to a hundredth of a second.
fn cpu_of(id: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("it was not collected");
    let (_name, rest) = stat.rsplit_once(')').expect("the name of a process is in parentheses");
    let fields: Vec<_> = rest.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<u64>().expect("times are numbers");
    // Fields 14 and 15 of the line; the third is the first after the name. A tick is 10 ms.
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_used_is_measured() {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done"]);
        let used = used_by(shell);
        assert_eq!(used.stdout, b"done\n");
        assert!(used.cpu > Duration::ZERO && used.cpu <= used.wall + Duration::from_millis(20));
        assert!(used.peak_kilobytes > 100, "{}", used.peak_kilobytes);
    }
}
