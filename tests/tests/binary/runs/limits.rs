//! What `ulimit` allows: every limit ends in a result or in one clear error.

use std::fs::File;
use std::io::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use test_limit::sample;
use tests::sandbox::{Finished, Invocation, User, skip};

use crate::binary::sandbox;

/// How long a call may take. It needs a fraction of a second, on a busy machine a few seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many calls are made at the same time.
const AT_ONCE: usize = 4;

/// Calls `regatta` for one of many limits, as a user without other processes.
fn under_limits(test: &str, limits: &[String], call: impl Fn(Invocation) -> Invocation + Sync) {
    if User::fresh().is_none() {
        return skip(test, "only root can become a user without processes");
    }
    let next = AtomicUsize::new(0);
    let (tell, told) = channel();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let (tell, next, call) = (tell.clone(), &next, &call);
            scope.spawn(move || {
                let mut place = sandbox();
                let repository = place.repository();
                while let Some(limit) = limits.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let user = User::fresh().expect("one was to be had");
                    place.hand_to(user);
                    let call = call(place.regatta(repository.root()));
                    let began = Instant::now();
                    let finished = call.after(limit).by(user).start().wait_for(PATIENCE);
                    let judged = match judge(&finished) {
                        Ok(_) if began.elapsed() >= PATIENCE => Err("it hangs".to_owned()),
                        judged => judged,
                    };
                    let judged = judged.map_err(|why| format!("{limit}: {why}: {finished}"));
                    tell.send(judged).expect("somebody listens");
                }
            });
        }
    });
    drop(tell);
    let (mut errors, mut wrong) = (0, Vec::new());
    for judged in told {
        match judged {
            Ok(Ending::Result) => {}
            Ok(Ending::Error) => errors += 1,
            Err(why) => wrong.push(why),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), limits.len(), wrong.join("\n"));
    assert!((1..limits.len()).contains(&errors), "{errors} of {} are errors", limits.len());
}

/// How a call may end.
enum Ending {
    /// With what was asked, or with a task that failed for want of something.
    Result,
    /// With one error, before anything was started.
    Error,
}

fn judge(finished: &Finished) -> Result<Ending, String> {
    let said = [&finished.stdout, &finished.stderr];
    if said.iter().any(|said| said.contains("panick") || said.contains("RUST_BACKTRACE")) {
        return Err("a panic".to_owned());
    }
    let errors: Vec<_> =
        finished.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    match (finished.code, errors.as_slice()) {
        (0, []) => Ok(Ending::Result),
        (5, []) if finished.task("t1")["failure"]["class"] == "resources" => Ok(Ending::Result),
        (1, [error]) => {
            let clear = ["cannot start threads", "cannot open enough files"];
            let hint = finished.stderr.contains("\n  try: ulimit -");
            match clear.iter().any(|words| error.contains(words)) && hint {
                true => Ok(Ending::Error),
                false => Err("an unclear error".to_owned()),
            }
        }
        (code, errors) => Err(format!("code {code} with {} errors", errors.len())),
    }
}

fn processes_limit(number: u32) -> String {
    // Not every shell calls it by the same letter.
    format!("{{ ulimit -u {number} || ulimit -p {number}; }} 2>/dev/null || exit 9")
}

fn processes() -> Vec<String> {
    tightest_and_loosest_and_some((1..=40).map(processes_limit).collect())
}

/// Returns all limits in full depth, else at least one with which it ends in either way.
fn tightest_and_loosest_and_some(mut limits: Vec<String>) -> Vec<String> {
    let ends = [limits.remove(0), limits.pop().expect("there are several")];
    [&ends[..], &sample(limits, 3)].concat()
}

fn files() -> Vec<String> {
    tightest_and_loosest_and_some((8..=64).map(|number| format!("ulimit -n {number}")).collect())
}

/// A run of one task that starts no program.
fn run(call: Invocation) -> Invocation {
    call.words("run --json").exec("echo x >> x.txt")
}

fn runs(call: Invocation) -> Invocation {
    call.words("runs")
}

#[test]
fn every_limit_of_processes_ends_a_run_in_a_result_or_one_clear_error() {
    let test = "every_limit_of_processes_ends_a_run_in_a_result_or_one_clear_error";
    under_limits(test, &processes(), run);
}

#[test]
fn every_limit_of_open_files_ends_a_run_in_a_result_or_one_clear_error() {
    let test = "every_limit_of_open_files_ends_a_run_in_a_result_or_one_clear_error";
    under_limits(test, &files(), run);
}

#[test]
fn every_limit_ends_a_list_of_runs_in_a_result_or_one_clear_error() {
    let test = "every_limit_ends_a_list_of_runs_in_a_result_or_one_clear_error";
    under_limits(test, &[processes(), files()].concat(), runs);
}

#[test]
fn tasks_whose_processes_cannot_be_started_fail_for_want_of_resources() {
    let test = "tasks_whose_processes_cannot_be_started_fail_for_want_of_resources";
    if User::fresh().is_none() {
        return skip(test, "only root can become a user without processes");
    }
    let mut place = sandbox();
    let repository = place.repository();
    let items: Vec<String> = (1..=30).map(|number| number.to_string()).collect();
    // How many threads there are depends on the machine: the first limit under which it starts.
    let started = (1..=40).map(processes_limit).find_map(|limit| {
        let user = User::fresh().expect("one was to be had");
        place.hand_to(user);
        // Those that could be started stand until one could not.
        let gate = place.folder().join("gate");
        let made = Command::new("mkfifo").args(["-m", "666"]).arg(&gate).status();
        assert!(made.is_ok_and(|made| made.success()), "{}", gate.display());
        let script = format!("read go < {}; : {{{{item}}}}", gate.display());
        let run = place.run_in(&repository).words("--jobs 30 --limit wall=60s --exec").arg(script);
        let run = items.iter().fold(run, |run, item| run.arg(item));
        let mut running = run.after(&limit).by(user).start();
        let mut events = std::iter::from_fn(|| running.next_event());
        let _none_where_it_did_not_start = events.find(|event| event["type"] == "task_finished");
        let mut open =
            File::options().read(true).write(true).open(&gate).expect("it can be opened");
        open.write_all(&b"\n".repeat(items.len())).expect("a pipe has room for that");
        let finished = running.wait_for(PATIENCE);
        std::fs::remove_file(gate).expect("it can be removed");
        (finished.code != 1).then_some(finished)
    });
    let finished = started.expect("40 processes are enough to start");
    let ends = finished.events_of("task_finished");
    assert_eq!(ends.len(), items.len(), "{finished}");
    let classes: Vec<_> = ends.iter().filter_map(|end| end["failure"]["class"].as_str()).collect();
    assert!(classes.contains(&"resources"), "{finished}");
    // A shell that was started may itself start no program.
    assert!(classes.iter().all(|class| ["resources", "command"].contains(class)), "{finished}");
}
