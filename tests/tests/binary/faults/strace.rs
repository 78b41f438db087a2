//! Commands below `strace`, which counts their calls to the system and strikes at one of them.

use std::collections::BTreeMap;
use std::process::Command;

use tests::sandbox::{Finished, Repository, Sandbox, skip};

/// Returns whether strace can be used here.
pub(crate) fn can_strike(test: &str) -> bool {
    let run = Command::new("strace").args(["-qq", "-e", "trace=none", "true"]).output();
    let why = match run {
        Ok(run) if run.status.success() => return true,
        Ok(run) => String::from_utf8_lossy(&run.stderr).trim().to_owned(),
        Err(error) => format!("cannot run strace: {error}"),
    };
    skip(test, &why);
    false
}

/// Returns the calls of this name in a log of strace, those of each thread apart, as strace counts them.
pub(crate) fn calls_by_thread<'log>(log: &'log str, call: &str) -> Vec<Vec<&'log str>> {
    let mut threads: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in log.lines() {
        let Some((thread, text)) = line.split_once(' ') else { continue };
        if text.trim_start().strip_prefix(call).is_some_and(|text| text.starts_with('(')) {
            threads.entry(thread).or_default().push(line);
        }
    }
    threads.into_values().collect()
}

/// A command of Regatta in a repository, and a copy of the repository and the home, so that it can run
/// again and again.
pub(crate) struct Straced {
    pub(crate) place: Sandbox,
    pub(crate) repository: Repository,
    /// The option of strace that names the files and folders that are concerned; empty for all.
    pub(crate) only: String,
    /// The command.
    pub(crate) words: &'static str,
}

impl Straced {
    /// Copies the repository and the home as they are.
    pub(crate) fn of(place: Sandbox, repository: Repository, words: &'static str) -> Self {
        let straced = Self { place, repository, only: String::new(), words };
        straced.copy(".", "kept");
        straced
    }

    fn copy(&self, from: &str, to: &str) {
        let script = format!("mkdir -p {to} && cd {from} && cp -a app home \"$OLDPWD/{to}\"");
        let mut shell = Command::new("sh");
        let status = shell.arg("-c").arg(script).current_dir(self.place.folder()).status();
        assert!(status.expect("a program can be run").success());
    }

    /// Makes the repository and the home what they were.
    pub(crate) fn restore(&self) {
        for folder in [self.repository.root(), self.place.home().folder()] {
            std::fs::remove_dir_all(folder).expect("a file can be written");
        }
        self.copy("kept", ".");
    }

    /// Runs the command below strace with further options, and returns what strace wrote.
    pub(crate) fn run(&self, options: &str) -> (Finished, String) {
        let log = self.place.folder().join("strace.log");
        let script = format!(
            "exec strace -f -qq -o {}{} {options} \"$0\" \"$@\"",
            log.display(),
            self.only,
        );
        let call = self.place.regatta(self.repository.root()).words(self.words);
        let finished = call.shell(&script).run();
        (finished, std::fs::read_to_string(log).expect("the place has a plain name"))
    }

    /// Runs another command in the repository, to its end.
    pub(crate) fn regatta(&self, words: &str) -> Finished {
        self.place.regatta(self.repository.root()).words(words).run()
    }
}
