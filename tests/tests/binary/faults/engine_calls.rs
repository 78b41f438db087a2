//! How the engine starts processes: it never forks, which `strace` shows.

use std::collections::{BTreeMap, BTreeSet};

use tests::sandbox::Plan;

use super::strace::can_strike;
use crate::binary::sandbox;

/// A call by which a thread or a process begins, or by which a process becomes another program.
struct Call<'a> {
    caller: &'a str,
    text: String,
}

impl Call<'_> {
    /// Returns the thread or process that the call has made.
    fn made(&self) -> Option<&str> {
        let (_, result) = self.text.rsplit_once(" = ")?;
        result.split_whitespace().next().filter(|made| made.parse::<u32>().is_ok())
    }

    fn has(&self, flag: &str) -> bool {
        self.text.contains(flag)
    }
}

/// The calls that the log is asked for.
const NAMES: [&str; 6] = ["fork", "vfork", "clone", "clone3", "execve", "execveat"];

/// Reads a log of strace. A call that others interrupt has two lines. A line that names none of the calls
/// is left out: strace writes `???( <detached ...>` for a thread that ends while strace attaches to it.
fn calls(log: &str) -> Vec<Call<'_>> {
    let (mut calls, mut unfinished) = (Vec::new(), BTreeMap::new());
    for line in log.lines() {
        let Some((caller, text)) = line.split_once(char::is_whitespace) else { continue };
        let text = text.trim_start();
        if let Some(begun) = text.strip_suffix("<unfinished ...>") {
            unfinished.insert(caller, begun.to_owned());
        } else if text.starts_with("<... ") {
            let rest = text.split_once(" resumed>").map_or("", |(_, rest)| rest);
            let begun = unfinished.remove(caller).unwrap_or_default();
            calls.push(Call { caller, text: begun + rest });
        } else {
            calls.push(Call { caller, text: text.to_owned() });
        }
    }
    // What was killed in a call, or became another program, has not finished it.
    calls.extend(unfinished.into_iter().map(|(caller, text)| Call { caller, text }));
    calls.retain(|call| call.text.split_once('(').is_some_and(|(name, _)| NAMES.contains(&name)));
    calls
}

#[test]
fn the_engine_never_forks_and_starts_only_the_launcher() {
    if !can_strike("the_engine_never_forks_and_starts_only_the_launcher") {
        return;
    }
    let place = sandbox();
    let repository = place.repository();
    let log = place.folder().join("strace.log");
    let plan = (0..8).fold(Plan::default(), |plan, task| {
        plan.task(&format!("t{task}"), &format!("(setsid true &); echo {task} >{task}.txt; true"))
    });
    let strace = format!(
        "exec strace -f -qq -o {} -e trace={} \"$0\" \"$@\"",
        log.display(),
        NAMES.join(",")
    );
    let run = place.run_plan(&repository, &plan).words("--jobs 4");
    let finished = run.shell(&strace).run().expect_code(0);
    let log = std::fs::read_to_string(log).expect("the place has a plain name");
    let calls = calls(&log);
    let first = calls.first().expect("the engine itself is executed").caller;
    let mut threads = BTreeSet::from([first]);
    // A thread may be in the log before the call that makes it has returned.
    loop {
        let before = threads.len();
        let by_engine = calls.iter().filter(|call| call.has("CLONE_THREAD"));
        let made = by_engine.filter(|call| threads.contains(call.caller)).filter_map(Call::made);
        threads.extend(made.collect::<Vec<_>>());
        if threads.len() == before {
            break;
        }
    }
    assert!(threads.len() > 2, "the engine has threads: {log}");
    let of_engine = calls.iter().filter(|call| threads.contains(call.caller));
    let (executed, made): (Vec<_>, Vec<_>) = of_engine.partition(|call| call.has("execve"));
    assert_eq!(executed.len(), 1, "the engine executes nothing in its own place: {log}");
    let processes: Vec<_> = made.iter().filter(|call| !call.has("CLONE_THREAD")).collect();
    let shares_memory = |call: &Call<'_>| call.has("CLONE_VM") && call.has("CLONE_VFORK");
    for process in &processes {
        assert!(shares_memory(process), "{}: {log}", process.text);
    }
    assert_eq!(processes.len(), 1, "the launcher starts all others: {log}");
    let launcher = processes[0].made().expect("it was made");
    let launched = |call: &&Call<'_>| call.caller == launcher && call.has("execve");
    let launched: Vec<_> = calls.iter().filter(launched).map(|call| call.text.as_str()).collect();
    assert!(launched.iter().any(|text| text.contains("__launcher")), "{launched:?}");
    // Everything else was seen, too: the launcher forks reapers, and these start shells.
    assert!(calls.iter().filter(|call| call.text.contains("\"/bin/sh\"")).count() >= 8, "{log}");
    for task in 0..8 {
        assert_eq!(repository.text(format!("{task}.txt")), format!("{task}\n"), "{finished}");
    }
}
