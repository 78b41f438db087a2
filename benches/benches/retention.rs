//! What `regatta gc` takes after ten thousand tasks, beside what git takes to pack what stays.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use benches::{Bound, Report, Rounds, SampleTree, as_f64, measured_binary, scratch, timed};
use serde_json::Value;
use tests::made_tasks::{Fate, Made, add_tasks, collect_with_git, packed_size, stored_size};
use tests::sandbox::Home;

/// How many tasks have left their work.
const TASKS: usize = 10_000;

/// How many seconds their collection may take.
const SECONDS: f64 = 30.0;

/// How many times the pack that git makes of what stays the store may be as large.
const TIMES_PACKED: f64 = 2.0;

fn main() -> ExitCode {
    let binary = measured_binary();
    let mut report = Report::new(
        "retention",
        "`regatta gc --older-than 0s` after 10,000 tasks of one run, from the prompt to the prompt. \
         The work of one half has landed or was discarded, and goes; that of the other half failed \
         or conflicts, and each capture of it must still be there. Beside it what git takes to remove \
         the same references and to repack, in a copy of the store, and the pack that git makes of \
         what stays, with nothing reused.",
    );
    let scratch = scratch();
    Place::make(&binary, scratch.path()).collect(&mut report);
    report.finish()
}

/// A repository and a home.
struct Place<'a> {
    binary: &'a Path,
    folder: PathBuf,
    tree: SampleTree,
    home: Home,
}

impl<'a> Place<'a> {
    fn make(binary: &'a Path, folder: &Path) -> Self {
        let tree = SampleTree::make(&folder.join("tree"), 100);
        Self { binary, folder: folder.to_owned(), tree, home: Home::at(&folder.join("home")) }
    }

    fn regatta(&self, words: &str) -> Command {
        let mut command = Command::new(self.binary);
        command.current_dir(self.tree.root()).env("REGATTA_HOME", self.home.folder());
        command.args(words.split_whitespace());
        command
    }

    /// Runs one task, and returns the run.
    fn run(&self) -> String {
        let output = self.regatta("run --json --exec").arg("date +%s%N > date.txt").output();
        let text = String::from_utf8(output.expect("it starts").stdout).expect("it is text");
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let name = events.filter_map(|event| Some(event["run"].as_str()?.to_owned())).next();
        name.expect("events name their run")
    }

    fn collect(&self, report: &mut Report) {
        let run = self.run();
        let count = if Rounds::asked_for() == Rounds::Trial { 200 } else { TASKS };
        let fate = |number: usize| match number % 10 {
            0..=2 => Fate::Failed,
            3 | 4 => Fate::Conflicted,
            5 => Fate::Discarded,
            _ => Fate::Landed,
        };
        let made = |number| Made::new(format!("b{number}"), fate(number));
        let tasks: Vec<Made> = (0..count).map(made).collect();
        add_tasks(&self.home, &run, &tasks);
        let (store, copy) = (&self.home.stores()[0], self.folder.join("copy.git"));
        let copied = Command::new("cp").arg("-a").args([store, &copy]).status();
        assert!(copied.is_ok_and(|status| status.success()), "cp -a");
        let name = |task: &Made| format!("{run}/{}/1", task.name);
        let (stays, goes): (Vec<_>, Vec<_>) = tasks.iter().partition(|task| task.is_unlanded());
        let mut gone: Vec<_> =
            goes.into_iter().map(|task| format!("refs/tasks/{}", name(task))).collect();
        gone.push(format!("refs/tasks/{run}/t1/1"));

        let took = timed(|| {
            let output = self.regatta("gc --older-than 0s").output().expect("it starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
        });
        let found: BTreeSet<String> = self.home.captures().into_iter().collect();
        assert!(stays.into_iter().map(name).collect::<BTreeSet<_>>() == found, "what stays");
        let _sound = self.home.store_git(&["fsck", "--full", "--strict", "--no-dangling"]);
        let with_git = timed(|| collect_with_git(&copy, &gone));

        let what = |what: &str| format!("{count} tasks: {what}");
        report.figure(&what("gc"), took.as_secs_f64(), "s", Bound::AtMost(SECONDS));
        report.figure(
            &what("git update-ref and git repack"),
            with_git.as_secs_f64(),
            "s",
            Bound::None,
        );
        let bytes = |bytes: u64| as_f64(usize::try_from(bytes).unwrap_or(usize::MAX));
        let (stored, packed) = (bytes(stored_size(store)), bytes(packed_size(store)));
        report.figure(
            &what("the store afterwards"),
            (stored / 1e6 * 100.0).round() / 100.0,
            "MB",
            Bound::None,
        );
        report.figure(
            &what("store / pack of git"),
            stored / packed,
            "×",
            Bound::AtMost(TIMES_PACKED),
        );
    }
}
