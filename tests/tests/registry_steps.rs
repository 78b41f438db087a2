//! The steps of `.ci/run` that need a package registry: where the registry cannot be reached one was
//! not run, which is printed and counted. Whatever else goes wrong fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use tests::sandbox::write_program;

/// The root of the project.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the project")
}

/// A folder whose programs are the only ones besides those of the system, with a npm of its own.
struct Machine(TempDir);

impl Machine {
    /// Makes one with this npm, a shell script; without any if there is none.
    fn with_npm(npm: Option<&str>) -> Self {
        let machine = Self(TempDir::new().expect("a folder can be made"));
        for name in ["bash", "cat", "chmod", "grep", "mkdir", "mktemp", "rm", "tee", "timeout"] {
            let found =
                Command::new("/bin/sh").args(["-c", &format!("command -v {name}")]).output();
            let found = found.expect("a shell can be run").stdout;
            let found = String::from_utf8_lossy(&found).trim().to_owned();
            std::os::unix::fs::symlink(found, machine.0.path().join(name)).expect("it can be made");
        }
        if let Some(npm) = npm {
            machine.program("npm", npm);
        }
        machine
    }

    fn program(&self, name: &str, script: &str) -> PathBuf {
        let place = self.0.path().join(name);
        write_program(&place, &format!("#!/bin/sh\n{script}\n"));
        place
    }

    /// Runs `.ci/npm_workers` with a program of tests that does this.
    fn npm_workers(&self, tests: &str) -> Output {
        let tests = self.program("tests", tests);
        let mut step = Command::new("bash");
        step.arg(root().join(".ci/npm_workers")).arg(tests);
        step.env("PATH", self.0.path()).output().expect("bash can be run")
    }
}

/// The npm that installs what is asked for.
const INSTALLS: &str = "mkdir -p $3/node_modules/.bin; for name in claude pi; do \
    printf '#!/bin/sh\\necho 1.0\\n' > $3/node_modules/.bin/$name; \
    chmod +x $3/node_modules/.bin/$name; done";

/// Tests that pass.
const PASS: &str =
    "test -x $REGATTA_NPM/node_modules/.bin/pi; echo \"test result: ok. 2 passed; 0 failed\"";

/// The python that makes a virtual environment with this pip and this python.
fn python(pip: &str, python: &str) -> String {
    let program = |name: &str, script: &str| {
        format!("printf '#!/bin/sh\n{script}\n' > $3/bin/{name}; chmod +x $3/bin/{name}; ")
    };
    format!("mkdir -p $3/bin; {}{}", program("pip", pip), program("python", python))
}

#[test]
fn an_sdk_that_is_refused_fails_and_one_that_cannot_be_had_does_not() {
    let lost = "echo NewConnectionError; exit 1";
    for (python, code, word) in [
        (None, 69, "not run: there is no python3"),
        (Some("exit 1".to_owned()), 69, "not run: python3 makes no virtual environments"),
        (Some(python(lost, "true")), 69, "not run: PyPI cannot be reached"),
        (Some(python("exit 124", "true")), 69, "not run: PyPI cannot be reached"),
        (Some(python("echo no such version; exit 1", "true")), 1, "pip cannot install anthropic"),
        (Some(python("true", "echo $4 is asked")), 0, "the-server is asked"),
        // Its own 69 is no word about a registry.
        (Some(python("true", "exit 69")), 1, ""),
    ] {
        let machine = Machine::with_npm(None);
        if let Some(python) = &python {
            machine.program("python3", python);
        }
        let mut step = Command::new("bash");
        step.arg(root().join(".ci/sdk_clients")).arg("the-server");
        let output = step.env("PATH", machine.0.path()).output().expect("bash can be run");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{python:?}: {said}");
        assert!(said.contains(word), "{python:?}: {said}");
    }
}

fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn a_registry_that_cannot_be_reached_is_told_by_69_and_any_other_failure_of_npm_is_one() {
    let fails = |word: &str| format!("echo 'npm error {word}' >&2; exit 1");
    for (npm, code, word) in [
        (None, 69, "not run: there is no npm"),
        (Some(fails("code ENOTFOUND")), 69, "not run: the registry of npm cannot be reached"),
        (Some(fails("connect ECONNREFUSED 127.0.0.1:9")), 69, "not run: "),
        (Some(fails("network EAI_AGAIN")), 69, "not run: "),
        // What `timeout` ends with.
        (Some("exit 124".to_owned()), 69, "not run: "),
        (Some(fails("code E404 no such package")), 1, "npm cannot install"),
        (Some(fails("code EINTEGRITY")), 1, "npm cannot install"),
        (Some("exit 69".to_owned()), 1, "npm cannot install"),
        // It says that it has installed them, and has not.
        (Some("exit 0".to_owned()), 127, "No such file"),
        (Some(INSTALLS.to_owned()), 0, "2 passed"),
    ] {
        let output = Machine::with_npm(npm.as_deref()).npm_workers(PASS);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{npm:?}: {said}");
        assert!(said.contains(word), "{npm:?}: {said}");
    }
}

#[test]
fn tests_of_the_workers_that_fail_twice_fail_and_so_do_none() {
    let machine = Machine::with_npm(Some(INSTALLS));
    let tries = "echo x >> $REGATTA_NPM/tries; test $(grep -c x $REGATTA_NPM/tries) -ge";
    let passed = "&& echo ' 2 passed;'";
    let once_more = machine.npm_workers(&format!("{tries} 2 {passed}"));
    assert_eq!(once_more.status.code(), Some(0), "{}", said(&once_more));
    assert!(said(&once_more).contains("is repeated once"), "{}", said(&once_more));
    let failed = machine.npm_workers(&format!("{tries} 3 {passed}"));
    assert_eq!(failed.status.code(), Some(1), "{}", said(&failed));
    // Their own 69 is no word about a registry.
    let same_code = machine.npm_workers("exit 69");
    assert_eq!(same_code.status.code(), Some(1), "{}", said(&same_code));
    let none = machine.npm_workers("echo 'test result: ok. 0 passed; 0 failed'");
    assert_eq!(none.status.code(), Some(1), "{}", said(&none));
    assert!(said(&none).contains("there are no tests"), "{}", said(&none));
}

#[test]
fn a_step_that_was_not_run_is_printed_and_counted_and_one_that_fails_ends_the_rest() {
    let run = fs::read_to_string(root().join(".ci/run")).expect("it is there");
    let from = run.find("steps=()").expect("it collects the steps");
    let to = run.find("# The README's line").expect("the functions for steps are before it");
    let steps = |steps: &str| {
        let functions = run[from..to].replace("\nslowdown() {", "\nslowdown() {\n  echo 1; return");
        let functions: String = functions
            .lines()
            .filter(|line| !line.starts_with("cargo "))
            .map(|line| format!("{line}\n"))
            .collect();
        let script = format!("set -euo pipefail\nlog=$(mktemp)\n{functions}\n{steps}");
        Command::new("bash").args(["-c", &script]).output().expect("bash can be run")
    };
    let skipped = steps("step first 9 bash -c 'exit 69'; step second 9 true");
    let text = said(&skipped);
    assert_eq!(skipped.status.code(), Some(0), "{text}");
    let row = |text: &str, name: &str| {
        let mut rows = text.lines().filter(|line| line.starts_with(name));
        rows.next_back()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(row(&text, "first").ends_with("NOT RUN"), "{text}");
    assert!(!row(&text, "second").contains("RUN"), "{text}");
    assert!(text.contains("steps that were not run without a registry: 1"), "{text}");
    assert!(text.contains("everything holds"), "{text}");
    for code in [1, 127] {
        let failed = steps(&format!("step first 9 bash -c 'exit {code}'; echo later"));
        let text = said(&failed);
        assert_eq!(failed.status.code(), Some(code), "{text}");
        assert!(row(&text, "first").ends_with("FAILED"), "{text}");
        assert!(!text.contains("later") && !text.contains("everything holds"), "{text}");
    }
    let good = said(&steps("step first 9 true"));
    assert!(!good.contains("NOT RUN") && !good.contains("not run"), "{good}");
}
