//! What a program used: time, processor and memory.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, WaitId, WaitIdOptions, WaitOptions, getpid, set_child_subreaper, wait, waitid,
};

/// What a program used, and what it said.
#[derive(Clone, Debug)]
pub struct Used {
    /// From its start to its end.
    pub wall: Duration,
    /// Of all its threads, in itself and in the system; without its children.
    pub cpu: Duration,
    /// The same with all that it started, and what that started: also of a process that outlives it.
    pub family_cpu: Duration,
    /// The most memory it held at once.
    pub peak_kilobytes: usize,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
}

/// How long processes may outlive the program that started them.
const OUTLIVES: Duration = Duration::from_secs(10);

/// One program at a time: the processes of two could not be told apart.
static RUNNING: Mutex<()> = Mutex::new(());

/// Runs a program to its end and returns what it used. No other process may be started meanwhile.
///
/// A process counts when it is collected, with all that it has collected itself. So that none is
/// missed, this process becomes the parent of those that outlive theirs, and collects them.
///
/// # Panics
/// When it cannot be run, or fails, or leaves a process that does not end.
#[must_use]
pub fn used_by(mut command: Command) -> Used {
    let _alone = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    set_child_subreaper(Some(getpid())).expect("any process can be asked for that");
    let before = cpu_of_collected();
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
    collect_the_rest(&command);
    let family_cpu = cpu_of_collected().saturating_sub(before);
    let stdout = reader.join().expect("reading does not panic");
    assert!(status.success(), "{command:?}: {status}: {}", String::from_utf8_lossy(&stdout));
    let peak_kilobytes = sampler.join().expect("looking does not panic");
    Used { wall, cpu, family_cpu, peak_kilobytes, stdout }
}

fn peak_of(id: u32) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Collects what the program has started and not collected itself.
fn collect_the_rest(command: &Command) {
    let latest = Instant::now() + OUTLIVES;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => {
                assert!(Instant::now() < latest, "{command:?}: processes of it live on");
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(Errno::INTR) => {}
            Err(_none) => break,
        }
    }
}

/// Returns the processor time of a process without its children, to a hundredth of a second.
fn cpu_of(id: u32) -> Duration {
    // Fields 14 and 15 of the line.
    cpu_in(&format!("/proc/{id}/stat"), 14)
}

/// Returns the processor time of all processes that this one has collected, and of those that they
/// had collected, to a hundredth of a second.
fn cpu_of_collected() -> Duration {
    cpu_in("/proc/self/stat", 16)
}

/// Returns the sum of two fields, of which the first has this number.
fn cpu_in(path: &str, field: usize) -> Duration {
    cpu_said(&std::fs::read_to_string(path).expect("it was not collected"), field)
}

fn cpu_said(stat: &str, field: usize) -> Duration {
    let (_name, rest) = stat.rsplit_once(')').expect("the name of a process is in parentheses");
    let fields: Vec<_> = rest.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<u64>().expect("times are numbers");
    // The third field is the first after the name. A tick is 10 ms.
    Duration::from_millis(10 * (ticks(field - 3) + ticks(field - 2)))
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

    #[test]
    fn what_its_children_used_counts_also_when_they_outlive_it() {
        // Each says at its end what it has used: how fast the machine is does not count.
        let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; cat /proc/$$/stat";
        let script = format!("/bin/sh -c '{work}'; (setsid /bin/sh -c '{work}' &)");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &script]);
        let used = used_by(shell);
        let said = String::from_utf8(used.stdout.clone()).unwrap();
        let said: Vec<_> = said.lines().map(|stat| cpu_said(stat, 14)).collect();
        let [child, outliving] = said[..] else { panic!("{used:?}") };
        assert!(child > Duration::ZERO && outliving > Duration::ZERO, "{said:?}");
        // A tick of rounding for each of the two.
        assert!(used.cpu < child, "{used:?}, {said:?}");
        assert!(
            used.family_cpu + Duration::from_millis(20) >= child + outliving,
            "{used:?}, {said:?}"
        );
    }
}
