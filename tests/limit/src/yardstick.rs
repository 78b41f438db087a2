//! How fast the machine is at the moment, for tests of how long something takes.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::rounds::Plan;
use crate::waiting::within;

/// How many processes a yardstick starts and kills.
const PROCESSES: usize = 8;

/// How long a yardstick takes on a machine on which nothing else runs.
const QUIET_YARDSTICK: Duration = Duration::from_millis(10);

/// How often the yardstick is measured for one slowdown.
const MEASUREMENTS: usize = 3;

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

/// Returns how many times as long as on a quiet machine things take now; 1 at least, and where no
/// process can be started.
#[must_use]
pub fn slowdown() -> f64 {
    let measured = (0..MEASUREMENTS).filter_map(|_| yardstick().ok()).max().unwrap_or_default();
    measured.div_duration_f64(QUIET_YARDSTICK).max(1.0)
}

/// Counts tries that are to be over in time: as many as the depth says, without those that were late
/// on a busy machine.
#[derive(Debug)]
pub struct Tries {
    plan: Plan,
    in_time: u64,
    late: u64,
}

/// How many tries may be late on a busy machine before that is a failure: so many, or one for each
/// that was in time.
const LATE: u64 = 3;

impl Tries {
    /// Returns the tries of the test that runs on this thread: `quick` or `full` many, or those of a
    /// time box.
    #[must_use]
    pub fn new(quick: u64, full: u64) -> Self {
        Self { plan: Plan::new(quick, full), in_time: 0, late: 0 }
    }

    /// Returns whether another try is to be made.
    #[must_use]
    pub fn go_on(&self) -> bool {
        self.plan.goes_on_after(self.in_time)
    }

    /// Counts a try of `what`.
    ///
    /// # Panics
    /// If it was late on a machine that is not busy, or too many were late.
    pub fn count(&mut self, what: &str, outcome: InTime) {
        match outcome {
            InTime::Yes => self.in_time += 1,
            InTime::LateAsEverything => self.late += 1,
            InTime::No => panic!("{what}: a try was late, {self}, and the machine is not busy"),
        }
        assert!(self.late <= self.in_time.max(LATE), "{what}: {self}");
    }

    /// Prints how many tries of `what` were in time, in full depth and in a time box.
    pub fn report(self, figure: &str, what: &str) {
        let Self { plan, in_time, late } = self;
        let what = format!("{what} in time ({late} late on a busy machine)");
        plan.done(in_time).report(figure, 1, &what);
    }
}

impl std::fmt::Display for Tries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { in_time, late, .. } = self;
        write!(f, "{in_time} in time, {late} late on a busy machine")
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
fn yardstick() -> std::io::Result<Duration> {
    let began = Instant::now();
    let start = |_| {
        let mut sleep = Command::new("sleep");
        sleep.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        sleep.spawn()
    };
    let processes: Vec<_> = (0..PROCESSES).map(start).collect();
    let mut took = Ok(());
    for process in processes {
        took = took.and(process.and_then(|mut it| it.kill().and_then(|()| it.wait().map(drop))));
    }
    took.map(|()| began.elapsed())
}
