//! One round from beginning to end, and the questions after its last recovery.

use std::collections::BTreeSet;

use serde_json::Value;

use super::reading::Reading;
use super::story::{Merge, Story, Task};
use crate::fuzz::{Random, report};
use crate::sandbox::{Repository, Sandbox};

/// Runs a round in `sandbox`.
///
/// # Panics
/// When work is lost or a run reads as something that did not happen; the round is printed.
pub fn check(sandbox: &Sandbox, random: &mut Random) {
    check_story(sandbox, Story::random(random), |story, repository| {
        story.recover(sandbox, repository);
    });
}

/// Lets the engine of `story` die, has `recover` recover what it left, and asks everything.
///
/// # Panics
/// When work is lost or the run reads as something that did not happen; the story is printed.
pub(super) fn check_story(
    sandbox: &Sandbox,
    story: Story,
    recover: impl FnOnce(&Story, &Repository),
) {
    let told = Told(story);
    let story = &told.0;
    let repository = story.repository(sandbox);
    let (dirt, git) = (repository.dirt(), repository.dot_git());
    let events = story.run(sandbox, &repository);
    let mut begun: BTreeSet<&str> =
        story.at_work(sandbox).iter().map(|task| task.name.as_str()).collect();
    // The user goes on meanwhile, somewhere else.
    let edited = "# App\n\nedited after the death\n";
    repository.write("README.md", edited);
    recover(story, &repository);
    begun.extend(story.at_work(sandbox).iter().map(|task| task.name.as_str()));
    let last = sandbox.regatta(repository.root()).words("runs").run().expect_code(0);

    let asked = Asked { sandbox, repository: &repository, story };
    asked.expect_nothing_left();
    assert_eq!(dirt, repository.dirt(), "the user's work after {last}");
    if !story.merge.makes_commits() {
        assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new(), "{last}");
    }
    let again = sandbox.regatta(repository.root()).words("runs").run().expect_code(0);
    assert_eq!(again.stderr, "", "a second recovery has nothing to do after {last}");
    match Reading::of(sandbox, &repository) {
        Some(reading) => {
            asked.expect_what_happened(&reading);
            let whole = asked.expect_reachable(&reading, &events, &begun);
            asked.expect_work_can_land(&reading, &whole);
        }
        None => asked.expect_nothing_happened(&events),
    }
    asked.expect_nothing_left();
    assert_eq!(dirt, repository.dirt(), "the user's work after everything has landed");
    assert_eq!(repository.text("README.md"), edited);
}

/// Prints a round when a question about it panics.
struct Told(Story);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            report(&format!("{:#?}", self.0));
        }
    }
}

/// What the questions are about.
struct Asked<'r> {
    sandbox: &'r Sandbox,
    repository: &'r Repository,
    story: &'r Story,
}

impl Asked<'_> {
    /// Nothing is left of an engine, and what is kept is in order.
    fn expect_nothing_left(&self) {
        self.sandbox.expect_nothing_left(self.repository);
        let home = self.sandbox.home();
        if home.data().join("ledger.db").exists() {
            assert!(home.ledger_is_sound(), "the ledger is sound");
        }
        if !home.stores().is_empty() {
            let _clean = home.store_git(&["fsck", "--full", "--strict", "--no-dangling"]);
        }
        assert_eq!(self.repository.faults(), "", "the repository is sound");
    }

    /// An engine that died before it had recorded its run has done nothing.
    fn expect_nothing_happened(&self, events: &[Value]) {
        assert_eq!(events, [] as [Value; 0], "a run that was reported is recorded");
        assert_eq!(self.sandbox.home().captures(), Vec::<String>::new());
        for task in &self.story.tasks {
            assert_eq!(self.in_tree(task), [0; 3], "{task:?}");
        }
    }

    /// The run is over; what reads as landed is in the tree, whole, and nothing else is; and either
    /// all work that was to land has landed or none.
    fn expect_what_happened(&self, reading: &Reading) {
        assert!(
            matches!(reading.state.as_str(), "finished" | "interrupted"),
            "a run whose engine is dead is over: {reading:#?}"
        );
        let to_land = |task: &&Task| reading.is_done(task) && reading.has_work(task);
        let to_land: Vec<_> = self.story.tasks.iter().filter(to_land).collect();
        let landed = to_land.iter().filter(|task| reading.has_landed(task)).count();
        if !self.story.merge.makes_commits() {
            assert!(landed == 0 || landed == to_land.len(), "all or nothing: {reading:#?}");
            for task in &self.story.tasks {
                let expected = usize::from(reading.has_landed(task));
                assert_eq!(self.in_tree(task), [expected; 3], "{}: {reading:#?}", task.name);
            }
        }
        if reading.state == "finished" && self.story.merge != Merge::None {
            assert_eq!(landed, to_land.len(), "a finished run has landed: {reading:#?}");
        }
    }

    /// The work of each task that was reported as captured or finished can be shown, and so can
    /// every capture and what was in a workspace when an engine died. Returns the tasks whose work
    /// is whole.
    fn expect_reachable(
        &self,
        reading: &Reading,
        events: &[Value],
        begun: &BTreeSet<&str>,
    ) -> Vec<&Task> {
        let reported = |task: &Task| {
            events.iter().any(|event| {
                let kind = event["type"].as_str().unwrap_or_default();
                let files = event["changes"]["files"].as_u64().unwrap_or_default();
                event["task"] == task.name.as_str()
                    && matches!(kind, "task_captured" | "task_finished")
                    && files > 0
            })
        };
        let captures = self.sandbox.home().captures();
        let captured = |task: &Task| {
            let prefix = format!("tasks/{}/{}/", reading.run, task.name);
            captures.iter().any(|capture| format!("tasks/{capture}").contains(&prefix))
        };
        let mut whole = Vec::new();
        for task in &self.story.tasks {
            let (reported, captured) = (reported(task), captured(task));
            let begun = begun.contains(task.name.as_str());
            if !reported && !captured && !begun {
                continue;
            }
            let why = format!("reported {reported}, captured {captured}, begun {begun}");
            let diff = reading.diff(self.sandbox, self.repository, &task.name);
            assert_eq!(diff.code, 0, "{}: {why}: {diff}\n{reading:#?}", task.name);
            let shown = task.edits().map(|edit| diff.stdout.contains(&format!("+{edit}\n")));
            if reported || reading.is_done(task) {
                assert_eq!(shown, [true; 3], "{}: {why}: {diff}", task.name);
                whole.push(task);
            } else if begun {
                assert!(shown[0], "{}: {why}: {diff}", task.name);
            }
        }
        whole
    }

    /// Everything that is kept can land, and then each edit of `whole` tasks is there exactly once,
    /// and no edit of any other task is there more than once.
    fn expect_work_can_land(&self, reading: &Reading, whole: &[&Task]) {
        let apply = |target: &str| {
            let apply = self.sandbox.regatta(self.repository.root()).words("apply").arg(target);
            apply.run().expect_code(0)
        };
        let mut said = apply(&reading.run).stdout;
        let after = Reading::of(self.sandbox, self.repository).expect("it was there before");
        for task in self.story.tasks.iter().filter(|task| after.has_work(task)) {
            if !after.has_landed(task) {
                said += &apply(&format!("{}/{}", reading.run, task.name)).stdout;
            }
        }
        let after = Reading::of(self.sandbox, self.repository).expect("it was there before");
        for task in &self.story.tasks {
            let found = match self.story.merge {
                Merge::Patch | Merge::None => self.in_tree(task),
                Merge::Branch => self.on_branch(&format!("{}/{}", reading.run, task.name), task),
                Merge::Stack | Merge::StackEager => self.on_branch(&reading.run, task),
            };
            if whole.iter().any(|whole| whole.name == task.name) {
                assert!(after.has_landed(task), "{}: {said}{after:#?}", task.name);
                assert_eq!(found, [1; 3], "{}: {said}{after:#?}", task.name);
            } else {
                assert!(found.iter().all(|count| *count <= 1), "{found:?} of {}", task.name);
            }
        }
    }

    /// Counts each edit of a task in the user's tree.
    fn in_tree(&self, task: &Task) -> [usize; 3] {
        let text = |path: &str| {
            if self.repository.has(path) { self.repository.text(path) } else { String::new() }
        };
        count(task, &text)
    }

    /// Counts each edit of a task on a branch.
    fn on_branch(&self, branch: &str, task: &Task) -> [usize; 3] {
        let text = |path: &str| {
            let file = format!("refs/heads/regatta/{branch}:{path}");
            let shown = self.repository.try_git(&["cat-file", "blob", &file]);
            String::from_utf8_lossy(&shown.stdout).into_owned()
        };
        count(task, &text)
    }
}

fn count(task: &Task, text: &dyn Fn(&str) -> String) -> [usize; 3] {
    let files = [task.own_file(), task.new_file(), "shared.txt".to_owned()];
    let mut edits = task.edits().into_iter();
    files.map(|file| {
        let edit = edits.next().expect("there is an edit for each file");
        text(&file).lines().filter(|line| *line == edit).count()
    })
}
