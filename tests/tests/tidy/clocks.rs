//! Tests and the clock: none sleeps to wait, and none fails because the machine is busy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::workspace::{Source, sources};

/// The call that is not made. Split so that this file does not make it either.
const CALL: &str = concat!("sle", "ep(");

/// The word of the shell, with what is before its number.
const WORD: &str = concat!("sle", "ep ");

/// A process of so many seconds lives until it is killed: no test waits for its end.
const FOR_EVER: u64 = 60;

/// The files whose test code sleeps all the same, each with the reason.
const SLEEPERS: &[(&str, &str)] = &[
    ("tests/limit/src/waiting.rs", "it looks again and again at what sends no event"),
    ("engine/peers/tests/servers/harness.rs", "a person thinks longer than a server may be silent"),
    ("engine/providers/src/test_support.rs", "it is a timer"),
    ("engine/providers/src/test_support/loopback.rs", "it is a server that ends late"),
    ("isolation/src/landing/tests/savers.rs", "programs save at random moments of a landing"),
    ("tests/src/fakes/accounts.rs", "a provider takes its time, of a clock that is paused"),
    ("tests/src/fakes/tools.rs", "a tool takes its time, of a clock that is paused"),
    ("tests/tests/binary/models/api_pairs.rs", "it is a timer"),
    ("tests/tests/event_streams.rs", "models and tools take their time, of a clock that is paused"),
    ("tests/tests/waiting_parents.rs", "subagents take their time, of a clock that is paused"),
    ("tests/tests/servers.rs", "servers take their time, of a clock that is paused"),
    ("tests/src/model/respond.rs", "a model speaks at its pace, and nobody waits for a moment"),
];

#[test]
fn no_test_sleeps_to_wait() {
    let all = sources();
    let modules = test_modules(&all);
    let (mut sleepers, mut broken) = (BTreeSet::new(), Vec::new());
    for source in &all {
        let code = test_code(source, &modules);
        let path = source.path.to_string_lossy();
        if code.lines().any(calls) {
            sleepers.insert(path.to_string());
        }
        let scripts = code.lines().filter(|line| has_a_wait(line));
        broken.extend(scripts.map(|line| format!("{path}: {}", line.trim())));
    }
    let expected = SLEEPERS.iter().map(|(path, _)| (*path).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(sleepers, expected, "use an event, or `test_limit::eventually`");
    assert_eq!(broken, Vec::<String>::new(), "a script waits until something is so");
}

/// What is compared with an upper bound. `test_limit::took_at_most` scales such a bound.
const BOUNDS: [&str; 3] = ["elapsed() <", "took <", "slowest <"];

/// The files whose tests compare a time with an upper bound all the same, each with the reason.
const BOUNDED: &[(&str, &str)] = &[
    ("engine/core/src/request/gate_queue/tests/many_sessions.rs", "it is a simulated clock"),
    ("engine/providers/src/body_parser/tests/mutated.rs", "it is processor time of one thread"),
    ("tests/limit/src/waiting.rs", "it is where bounds are scaled"),
    ("tests/limit/src/yardstick.rs", "it is where bounds are scaled"),
    ("tests/tests/binary/agents/outages.rs", "what is asked later is judged otherwise"),
    ("tests/tests/binary/runs/setup.rs", "two times of one task are compared"),
    ("tests/tests/servers.rs", "the clock is paused"),
];

#[test]
fn no_test_fails_by_the_clock_alone() {
    let all = sources();
    let modules = test_modules(&all);
    let bounded = |source: &&Source| {
        let code = test_code(source, &modules);
        code.lines().any(|line| BOUNDS.iter().any(|bound| line.contains(bound)))
    };
    let found = all.iter().filter(bounded).map(|source| source.path.to_string_lossy());
    let found: BTreeSet<_> = found.map(|path| path.to_string()).collect();
    let mut expected: BTreeSet<_> = BOUNDED.iter().map(|(path, _)| (*path).to_owned()).collect();
    expected.insert(file!().to_owned());
    assert_eq!(found, expected, "use `test_limit::took_at_most`");
}

#[test]
fn a_wait_is_told_from_what_is_none() {
    let line = |word: &str, rest: &str| format!("{word}{rest}");
    for code in ["std::thread::", "tokio::time::", "        () = ", "("] {
        assert!(calls(&line(code, &format!("{CALL}PAUSE);"))), "{code}");
    }
    for port in ["self.timer.", "    fn ", "pub async fn "] {
        assert!(!calls(&line(port, &format!("{CALL}duration)"))), "{port}");
    }
    for (before, number) in [("echo x; ", "0.1"), ("", "1; echo x"), ("|| ", "59.9")] {
        assert!(has_a_wait(&format!("{before}{WORD}{number}")), "{before}{number}");
    }
    for (before, number) in [("until x; do ", "0.02; done"), ("exec ", "60"), ("", "$TIME")] {
        assert!(!has_a_wait(&format!("{before}{WORD}{number}")), "{before}{number}");
    }
}

/// Returns the part of a source that only tests run.
fn test_code<'a>(source: &'a Source, modules: &[PathBuf]) -> &'a str {
    let whole = source.is_test()
        || modules.iter().any(|module| {
            source.path.starts_with(module) || source.path == module.with_extension("rs")
        });
    if whole { &source.text } else { &source.text[source.production().len()..] }
}

/// Returns the modules that are compiled for tests only, as the folders that they may have.
fn test_modules(all: &[Source]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for source in all {
        let folder = match source.path.file_name().and_then(|name| name.to_str()) {
            Some("lib.rs" | "main.rs" | "mod.rs") => source.path.parent().map(Path::to_owned),
            _ => Some(source.path.with_extension("")),
        };
        let lines: Vec<_> = source.text.lines().map(str::trim).collect();
        for pair in lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]") {
            let name = pair[1].trim_start_matches("pub(crate) ").strip_prefix("mod ");
            let name = name.and_then(|name| name.strip_suffix(';'));
            found.extend(folder.iter().zip(name).map(|(folder, name)| folder.join(name)));
        }
    }
    found
}

/// Whether a line of Rust calls a function that sleeps. A method is that of a port, whose time is
/// the test's own.
fn calls(line: &str) -> bool {
    line.match_indices(CALL).any(|(at, _)| {
        let before = &line[..at];
        !before.ends_with(['.', '_']) && !before.ends_with("fn ")
    })
}

/// Whether a line has a script that waits for a fixed time. A pause of a loop is none.
fn has_a_wait(line: &str) -> bool {
    line.match_indices(WORD).any(|(at, _)| {
        let number = &line[at + WORD.len()..];
        let end = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
        let seconds = number[..end].parse::<u64>();
        seconds.is_ok_and(|seconds| seconds < FOR_EVER) && !line[..at].ends_with("do ")
    })
}
