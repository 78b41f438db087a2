//! How fast the machine is at the moment, for tests of how long something takes.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::waiting::within;

/// How many processes a yardstick starts and kills. Where nothing else runs, that takes ten
/// milliseconds.
const PROCESSES: usize = 8;

/// How many yardsticks long something may take that is to take a second at most, before that is a
/// failure on a busy machine, too.
const YARDSTICKS: u32 = 20;

/// How long something is waited for before the machine is measured beside it.
const QUIET: Duration = Duration::from_millis(250);

/// Whether something was over in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InTime {
    /// It was.
    Yes,
    /// It took longer, on a machine that takes longer for everything. The try is to be repeated.
    LateAsEverything,
    /// It took longer than a busy machine explains.
    No,
}

impl InTime {
    /// Judges what took so long and was to take at most `limit`, where the machine may be so busy that
    /// `at_worst` is what can be asked of it.
    #[must_use]
    pub fn of(took: Duration, limit: Duration, at_worst: Duration) -> Self {
        if took <= limit {
            Self::Yes
        } else if took <= at_worst {
            Self::LateAsEverything
        } else {
            Self::No
        }
    }

    /// Waits until `is_over`, which is to be within `limit` after `since`, and judges that.
    pub fn wait(since: Instant, limit: Duration, mut is_over: impl FnMut() -> bool) -> Self {
        let quiet = QUIET.min(limit).saturating_sub(since.elapsed());
        let began = Instant::now();
        let mut over = within(quiet, &mut is_over);
        let mut took = since.elapsed();
        // What it took beyond that, this thread did not run.
        let mut longest = began.elapsed().saturating_sub(quiet);
        while !over && took <= limit.max(longest * YARDSTICKS) {
            let began = Instant::now();
            over = is_over();
            took = since.elapsed();
            let _measured = yardstick();
            longest = longest.max(began.elapsed());
        }
        if over { Self::of(took, limit, longest * YARDSTICKS) } else { Self::No }
    }
}

/// How many tries may be late where no number of tries was asked for.
const LATE: usize = 2;

/// Counts tries of which so many are to be over in time.
#[derive(Debug)]
pub struct Tries {
    wanted: usize,
    /// Whether that many were asked for: then all of them must be in time.
    is_asked_for: bool,
    in_time: usize,
    late: usize,
}

impl Tries {
    /// Returns the count of none yet: `REGATTA_TEST_TRIES` are wanted, or `usual`.
    ///
    /// # Panics
    /// When the variable is no number.
    #[must_use]
    pub fn wanted(usual: usize) -> Self {
        let asked = std::env::var("REGATTA_TEST_TRIES").ok();
        let is_asked_for = asked.is_some();
        let wanted = asked.map_or(usual, |tries| tries.parse().expect("it is a number"));
        Self { wanted, is_asked_for, in_time: 0, late: 0 }
    }

    /// Returns whether another try is needed. Where no number was asked for, a machine that stays
    /// busy is not waited for.
    #[must_use]
    pub fn go_on(&self) -> bool {
        self.in_time < self.wanted && (self.is_asked_for || self.late < LATE)
    }

    /// Counts a try of `what`.
    ///
    /// # Panics
    /// When it was late on a machine that is not busy, or more were late than were asked for.
    pub fn count(&mut self, what: &str, try_: InTime) {
        match try_ {
            InTime::Yes => self.in_time += 1,
            InTime::LateAsEverything => self.late += 1,
            InTime::No => panic!("{what}: a try was late, {self}, and the machine is not busy"),
        }
        assert!(!self.is_asked_for || self.late <= self.wanted, "{what}: {self}");
    }

    /// Says how many there were of `what` where a number of tries was asked for.
    pub fn print(&self, what: &str) {
        if self.is_asked_for {
            // Not through what the test harness captures.
            let _unseen = write!(std::io::stderr(), "\n{what}: {self}\n");
        }
    }
}

impl std::fmt::Display for Tries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { wanted, in_time, late, .. } = self;
        write!(f, "{in_time} of {wanted} in time, {late} more on a busy machine")
    }
}

/// Returns how long it takes now until so many processes have ended that compete for the processor,
/// from the one signal that kills all of them.
///
/// # Panics
/// When they cannot be started.
#[must_use]
pub fn crowd(processes: u32) -> Duration {
    let script = format!(
        "i=0; while [ $i -lt {processes} ]; do (while :; do :; done) & i=$((i + 1)); done; echo; wait"
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    let mut leader = shell.spawn().expect("a process can be started");
    let mut output = leader.stdout.take().expect("it is a pipe");
    output.read_exact(&mut [0]).expect("it writes a line");
    let began = Instant::now();
    let kill = format!("kill -9 -{}", leader.id());
    let killed = Command::new("sh").args(["-c", &kill]).status();
    assert!(killed.expect("a process can be started").success(), "its group is killed");
    // All of them have the pipe open.
    let _end = output.read_to_end(&mut Vec::new()).expect("a pipe can be read");
    let took = began.elapsed();
    let _status = leader.wait().expect("a child can be awaited");
    took
}

/// Returns how long it takes now to start a few processes, to kill them and to see that they have
/// ended.
///
/// # Panics
/// When a process cannot be started.
#[must_use]
fn yardstick() -> Duration {
    let began = Instant::now();
    let start = |_| {
        let mut sleep = Command::new("sleep");
        sleep.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        sleep.spawn().expect("a process can be started")
    };
    let mut processes: Vec<_> = (0..PROCESSES).map(start).collect();
    for process in &mut processes {
        process.kill().expect("a child can be killed");
    }
    for process in &mut processes {
        process.wait().expect("a child can be awaited");
    }
    began.elapsed()
}
