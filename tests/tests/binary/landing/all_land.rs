//! N of N tasks land, for every number of tasks, user, way to land, pace and state of the tree. Each
//! task writes a file of its own and changes its own place in a file that all of them change; two
//! more rewrite one line. The table of each test is in its output.

use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::sandbox::{Finished, Plan, Repository, Sandbox, User};

use crate::binary::sandbox;

/// The ways to land: the values of `--merge` and of `--land`.
const WAYS: [(&str, &str); 6] = [
    ("patch", "end"),
    ("patch", "eager"),
    ("branch", "end"),
    ("branch", "eager"),
    ("stack", "end"),
    ("stack", "eager"),
];

/// A pace, and how many tasks run at once, of how many.
type Pace = (&'static str, fn(usize) -> usize);

/// When the tasks end.
const PACES: [Pace; 2] = [("staggered", |_| 2), ("at once", |tasks| tasks)];

/// One row of the table.
#[derive(Clone, Copy, Debug)]
struct Cell {
    tasks: usize,
    user: Option<User>,
    merge: &'static str,
    land: &'static str,
    pace: Pace,
    is_dirty: bool,
}

/// The place of a task in the shared file.
fn place_of(task: usize) -> usize {
    20 + task * 20
}

/// How many lines a task inserts; every fourth one also removes a line.
fn inserted(task: usize) -> usize {
    1 + task % 3
}

fn shared(tasks: usize) -> Vec<String> {
    (1..=place_of(tasks)).map(|line| format!("line {line}\n")).collect()
}

/// The shared file with the work of these tasks.
fn with_work(tasks: usize, of: impl Fn(usize) -> bool) -> Vec<String> {
    let mut lines = shared(tasks);
    for task in (0..tasks).filter(|task| of(*task)) {
        let at = place_of(task) - 1;
        let new: String = (0..inserted(task)).map(|line| format!("task {task}.{line}\n")).collect();
        lines[at].push_str(&new);
        if task % 4 == 3 {
            lines[at + 6].clear();
        }
    }
    lines
}

fn plan(tasks: usize) -> Plan {
    let plan = (0..tasks).fold(Plan::default(), |plan, task| {
        let new: String =
            (0..inserted(task)).map(|line| format!("\\ntask {task}.{line}")).collect();
        let mut script = format!(
            "mkdir -p own; echo {task} > own/{task}.txt; sed -i 's/^line {}$/&{new}/' shared.txt",
            place_of(task)
        );
        if task % 4 == 3 {
            script.push_str(&format!("; sed -i '/^line {}$/d' shared.txt", place_of(task) + 6));
        }
        plan.task(&format!("t{task}"), &script)
    });
    let clash =
        |name: &str| format!("sed -i 's/^line 5$/{name}/' shared.txt; echo {name} > {name}.txt");
    plan.task("one", &clash("one")).task("other", &clash("other"))
}

impl Cell {
    fn all(tasks: usize) -> Vec<Self> {
        let mut cells = Vec::new();
        for user in [None, Some(User::ordinary())] {
            for (merge, land) in WAYS {
                for pace in PACES {
                    for is_dirty in [false, true] {
                        cells.push(Self { tasks, user, merge, land, pace, is_dirty });
                    }
                }
            }
        }
        cells
    }

    /// Returns six cells in which every value of each of the five occurs with every value of each
    /// other one.
    fn pairs(tasks: usize) -> Vec<Self> {
        // Of the two rows of a value of `--merge`, the second is the opposite of the first.
        let rows = [
            ("patch", [false, false, false, false]),
            ("branch", [false, false, false, true]),
            ("stack", [false, false, true, false]),
        ];
        let opposite = |row: [bool; 4]| row.map(|bit| !bit);
        let rows = rows.map(|(merge, row)| [(merge, row), (merge, opposite(row))]);
        let cell = |(merge, [is_ordinary, is_eager, is_at_once, is_dirty]): (_, [bool; 4])| Self {
            tasks,
            user: if is_ordinary { Some(User::ordinary()) } else { None },
            merge,
            land: if is_eager { "eager" } else { "end" },
            pace: PACES[usize::from(is_at_once)],
            is_dirty,
        };
        rows.concat().into_iter().map(cell).collect()
    }

    /// Returns the cells that run: in quick depth `quick` of those with all pairs, beginning at one
    /// that the commit and `first` decide.
    fn chosen(tasks: usize, first: usize, quick: usize) -> Vec<Self> {
        if test_limit::depth() == test_limit::Depth::Full {
            return Self::all(tasks);
        }
        let mut cells = Self::pairs(tasks);
        let offset = usize::try_from(test_limit::seed() % 6).unwrap_or(0);
        cells.rotate_left((offset + first) % 6);
        cells.truncate(quick);
        cells
    }

    /// Runs the tasks, and returns how many of them landed.
    fn run(self) -> usize {
        let mut place = sandbox();
        let repository = place.repository();
        repository.write("shared.txt", shared(self.tasks).concat());
        repository.commit("shared");
        if self.is_dirty {
            repository.make_dirty();
            // The user is at work in the shared file, too.
            let edited = ["the user's line\n".to_owned(), shared(self.tasks).concat()].concat();
            repository.write("shared.txt", edited);
        }
        if let Some(user) = self.user {
            place.hand_to(user);
        }
        let before = (repository.tree(), repository.dot_git(), repository.read(".git/index"));
        let jobs = (self.pace.1)(self.tasks);
        let jobs = format!("--merge {} --land {} -j {jobs}", self.merge, self.land);
        let run = place.run_plan(&repository, &plan(self.tasks)).words(&jobs);
        let run = match self.user {
            Some(user) => run.by(user),
            None => run,
        };
        let finished = run.run();
        self.judge(&place, &repository, &finished);
        match self.merge {
            "patch" => {
                let differences = before.1.differences(&repository.dot_git());
                assert_eq!(differences, Vec::<String>::new(), "{self:?}");
            }
            _ => {
                let differences = before.0.differences(&repository.tree());
                assert_eq!(differences, Vec::<String>::new(), "{self:?}");
                assert_eq!(before.2, repository.read(".git/index"), "{self:?}");
            }
        }
        place.expect_nothing_left(&repository);
        finished.landed().iter().filter(|task| task.starts_with('t')).count()
    }

    fn judge(self, place: &Sandbox, repository: &Repository, finished: &Finished) {
        // Git takes part in a copy, which is the test's own.
        let copy = place.folder().join("copy");
        let copied = Command::new("cp").arg("-r").args([repository.root(), &copy]).status();
        assert!(copied.expect("a program can be run").success());
        let copy = Repository::at(&copy);
        assert_eq!(copy.faults(), "", "{self:?}");
        let mut expected = with_work(self.tasks, |_| true);
        match self.merge {
            "patch" | "stack" => {
                assert_eq!(finished.code, 4, "{self:?}: {finished}");
                // Of those that rewrite one line, the first to land wins.
                let landed = finished.landed();
                let has_landed = |name: &str| landed.iter().any(|task| task == name);
                let (winner, loser) =
                    if has_landed("one") { ("one", "other") } else { ("other", "one") };
                assert!(winner == "one" || self.land == "eager", "{self:?}: {finished}");
                expected[4] = format!("{winner}\n");
                let tree = if self.merge == "stack" {
                    copy.git(&["reset", "--quiet", "--hard"]);
                    let branch = &finished.events_of("task_landed")[0]["branch"];
                    copy.git(&["checkout", "--quiet", branch.as_str().expect("it is on a branch")]);
                    copy
                } else {
                    if self.is_dirty {
                        expected.insert(0, "the user's line\n".to_owned());
                    }
                    Repository::at(repository.root())
                };
                assert_eq!(tree.text("shared.txt"), expected.concat(), "{self:?}");
                for task in 0..self.tasks {
                    let own = tree.text(format!("own/{task}.txt"));
                    assert_eq!(own, format!("{task}\n"), "{self:?}");
                }
                let files = [winner, loser].map(|name| tree.has(format!("{name}.txt")));
                assert_eq!(files, [true, false], "{self:?}");
                let conflicts = finished.events_of("task_conflicted");
                let last = conflicts.last().expect("a real conflict is reported");
                assert_eq!(last["task"], json!(loser), "{self:?}: {finished}");
                let conflict = &last["conflicts"][0];
                assert_eq!(conflict["path"], json!("shared.txt"), "{self:?}: {finished}");
                let is_content = conflict["reason"] == json!("content");
                if self.land == "end" {
                    assert!(is_content, "{self:?}: {finished}");
                    assert_eq!(conflict["with"], json!(winner), "{self:?}: {finished}");
                } else if is_content {
                    // Of those that wrote the file, the one that landed last is named.
                    assert!(conflict["with"].is_string(), "{self:?}: {finished}");
                } else {
                    // What no commit has is told before who landed.
                    assert_eq!(conflict["reason"], json!("uncommitted"), "{self:?}: {finished}");
                    assert!(self.is_dirty && self.merge != "patch", "{self:?}: {finished}");
                }
            }
            _ => {
                assert_eq!(finished.code, 0, "{self:?}: {finished}");
                // Git merges all branches but one of those that rewrite one line.
                copy.git(&["reset", "--quiet", "--hard"]);
                let landed = finished.events_of("task_landed");
                for event in landed.iter().filter(|event| event["task"] != "other") {
                    let branch = event["branch"].as_str().expect("it is on a branch");
                    copy.git(&["merge", "--quiet", "--no-edit", branch]);
                }
                expected[4] = "one\n".to_owned();
                assert_eq!(copy.text("shared.txt"), expected.concat(), "{self:?}");
                for task in 0..self.tasks {
                    let own = copy.text(format!("own/{task}.txt"));
                    assert_eq!(own, format!("{task}\n"), "{self:?}");
                }
            }
        }
    }
}

/// Runs the rows for a number of tasks, and shows them.
fn all_land(tasks: usize, first: usize, quick: usize) {
    test_limit::raise(Duration::from_secs(300), "forty-eight runs, one after the other");
    let mut table = format!(
        "\n{:>5}  {:8}  {:6}  {:5}  {:9}  {:5}  {:>6}  {:>7}\n",
        "tasks", "user", "merge", "land", "pace", "tree", "landed", "seconds"
    );
    for cell in Cell::chosen(tasks, first, quick) {
        let began = Instant::now();
        let landed = cell.run();
        assert_eq!(landed, tasks, "{cell:?}");
        let user = if cell.user.is_some() { "ordinary" } else { "own" };
        let tree = if cell.is_dirty { "dirty" } else { "clean" };
        table.push_str(&format!(
            "{tasks:>5}  {user:8}  {:6}  {:5}  {:9}  {tree:5}  {landed:>6}  {:>7.1}\n",
            cell.merge,
            cell.land,
            cell.pace.0,
            began.elapsed().as_secs_f64()
        ));
    }
    // Straight to the descriptor: the test harness would not show it.
    let _unseen = std::io::stderr().write_all(table.as_bytes());
}

#[test]
fn four_of_four_tasks_land_whoever_runs_them_and_however() {
    all_land(4, 0, 3);
}

#[test]
fn sixteen_of_sixteen_tasks_land_whoever_runs_them_and_however() {
    all_land(16, 3, 2);
}

#[test]
fn thirty_two_of_thirty_two_tasks_land_whoever_runs_them_and_however() {
    all_land(32, 5, 1);
}
