//! What happens in one round: tasks, the death of the engine that runs them, and the deaths of
//! those that recover it.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::fuzz::Random;
use crate::fuzz::points::{self, Point};
use crate::sandbox::{Finished, Invocation, Plan, Repository, Sandbox};

/// The exit code of an engine that was killed.
const KILLED: i32 = 128 + 9;

/// A round.
#[derive(Debug)]
pub(super) struct Story {
    /// Where the work of the tasks is to go.
    pub(super) merge: Merge,
    /// How many tasks run at the same time.
    jobs: usize,
    /// The tasks.
    pub(super) tasks: Vec<Task>,
    /// How the engine dies.
    death: Death,
    /// The recoveries that come before the last one.
    recoveries: Vec<Recovery>,
}

/// Where the work of a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merge {
    /// Into the user's tree.
    Patch,
    /// Onto a branch per task.
    Branch,
    /// Onto one branch, at the end or as each task ends.
    Stack,
    StackEager,
    /// Nowhere until it is asked for.
    None,
}

impl Merge {
    /// Returns whether the work becomes commits in the user's repository.
    pub(super) fn makes_commits(self) -> bool {
        matches!(self, Self::Branch | Self::Stack | Self::StackEager)
    }
}

/// A task: it makes three edits, each of which can be told from those of every other task.
#[derive(Debug)]
pub(super) struct Task {
    /// Its name.
    pub(super) name: String,
    /// A task before it that it depends on.
    depends_on: Option<usize>,
    /// How it ends when nothing comes between.
    ending: Ending,
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    Done,
    Failed,
    /// Done, but a process that it leaves behind ignores every signal that can be ignored.
    Lingering,
}

/// How an engine dies. It may end before it comes to that.
#[derive(Clone, Debug)]
enum Death {
    /// At a fault point, in the words of `REGATTA_FAULT`.
    At(String),
    /// When it has reported this many events.
    After(usize),
}

/// An attempt to recover.
#[derive(Clone, Debug)]
pub(super) enum Recovery {
    /// One engine, which dies at a fault point.
    Alone(String),
    /// The same, unless it is killed before because it has run for so long.
    Cut(String, Duration),
    /// Two engines at once; one of them dies, or none.
    Together(Option<String>),
}

/// How an attempt to recover ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// An engine has recovered everything.
    Completed,
    /// Every engine was killed.
    Killed,
}

impl Story {
    /// Returns a run of six tasks, two at a time, whose engine dies at this fault point.
    pub(super) fn of_six(point: &str) -> Self {
        let task = |at: usize| Task {
            name: format!("t{at}"),
            depends_on: (at == 3).then_some(0),
            ending: match at {
                1 => Ending::Failed,
                2 => Ending::Lingering,
                _ => Ending::Done,
            },
        };
        Self {
            merge: Merge::Patch,
            jobs: 2,
            tasks: (0..6).map(task).collect(),
            death: Death::At(format!("kill@{point}")),
            recoveries: Vec::new(),
        }
    }

    /// Makes up a round.
    pub(super) fn random(random: &mut Random) -> Self {
        let merge = match random.below(12) {
            0..7 => Merge::Patch,
            7 => Merge::None,
            8..10 => Merge::Branch,
            10 => Merge::Stack,
            _ => Merge::StackEager,
        };
        let count = random.between(2, 8);
        let task = |at: usize| Task {
            name: format!("t{at}"),
            depends_on: (at > 0 && random.chance(25)).then(|| random.below(at)),
            ending: match random.below(10) {
                0 => Ending::Failed,
                1 => Ending::Lingering,
                _ => Ending::Done,
            },
        };
        let tasks: Vec<_> = (0..count).map(task).collect();
        let death = if random.chance(25) {
            Death::After(random.between(1, 7 * count + 4))
        } else {
            Death::At(fault(random, &points::of_runs(), |point| point.in_run))
        };
        let recoveries = (0..random.below(5)).map(|_| {
            let mut word = || fault(random, &points::of_recoveries(), |point| point.in_recovery);
            let word = word();
            match random.below(10) {
                0 => Recovery::Together(None),
                1 => Recovery::Together(Some(word)),
                _ => Recovery::Alone(word),
            }
        });
        let recoveries = recoveries.collect();
        Self { merge, jobs: random.between(1, 4), tasks, death, recoveries }
    }

    /// Makes the repository that the tasks work on, with uncommitted work of its user.
    pub(super) fn repository(&self, sandbox: &Sandbox) -> Repository {
        let repository = sandbox.repository();
        for task in &self.tasks {
            repository.write(task.own_file(), format!("{}\n", task.name));
        }
        let anchor = |task: &Task| {
            let pages = (0..6).map(|line| format!("{} {line}\n", task.name));
            format!("anchor {}\n{}", task.name, pages.collect::<String>())
        };
        repository.write("shared.txt", self.tasks.iter().map(anchor).collect::<String>());
        repository.make_dirty();
        repository
    }

    /// Runs the tasks until the engine dies, and returns the events that it reported.
    pub(super) fn run(&self, sandbox: &Sandbox, repository: &Repository) -> Vec<Value> {
        let words = match self.merge {
            Merge::Patch => "--merge patch",
            Merge::Branch => "--merge branch --isolation worktree",
            Merge::Stack => "--merge stack",
            Merge::StackEager => "--merge stack --land eager",
            Merge::None => "--merge none",
        };
        let run = sandbox.run_plan(repository, &self.plan()).words(words);
        let run = run.words(&format!("--jobs {}", self.jobs));
        let finished = match &self.death {
            Death::At(word) => run.fault(word).run(),
            Death::After(events) => {
                let mut running = run.start();
                let mut reported = 0;
                while reported < *events && running.next_event().is_some() {
                    reported += 1;
                }
                running.kill()
            }
        };
        let ended = matches!(finished.code, KILLED | 0 | 3 | 5);
        assert!(ended, "the run neither ends nor dies as it should: {finished}");
        sandbox.expect_no_process(Duration::from_secs(20));
        let whole = finished.stdout.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn plan(&self) -> Plan {
        self.tasks.iter().fold(Plan::default(), |plan, task| {
            let plan = plan.task(&task.name, &task.script());
            match task.depends_on {
                Some(on) => plan.after(&[&self.tasks[on].name]),
                None => plan,
            }
        })
    }

    /// Lets engines recover, and die of it, one after the other.
    pub(super) fn recover(&self, sandbox: &Sandbox, repository: &Repository) {
        for recovery in &self.recoveries {
            let _completed_or_not = recovery.attempt(sandbox, repository);
        }
    }

    /// Returns the tasks that have made an edit in a workspace that is there now.
    pub(super) fn at_work(&self, sandbox: &Sandbox) -> Vec<&Task> {
        let workspaces = sandbox.home().data().join("workspaces");
        let below = |folder: &std::path::Path| -> Vec<std::path::PathBuf> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect()
        };
        let runs: Vec<_> = below(&workspaces).iter().flat_map(|folder| below(folder)).collect();
        let has_begun = |task: &&Task| {
            runs.iter().any(|run| {
                let file = run.join(&task.name).join("tree").join(task.own_file());
                fs::read_to_string(file).is_ok_and(|text| text.contains(&task.edits()[0]))
            })
        };
        self.tasks.iter().filter(has_begun).collect()
    }
}

impl Recovery {
    /// Makes the attempt. Returns how it ended.
    pub(super) fn attempt(&self, sandbox: &Sandbox, repository: &Repository) -> Attempt {
        let recovery = |word: Option<&String>| {
            let recovery = sandbox.regatta(repository.root()).words("runs");
            word.into_iter().fold(recovery, |recovery, word| Invocation::fault(recovery, word))
        };
        let ended = match self {
            Self::Alone(word) => vec![recovery(Some(word)).run()],
            Self::Cut(word, after) => vec![recovery(Some(word)).start().wait_for(*after)],
            Self::Together(word) => {
                let (one, other) = (recovery(word.as_ref()).start(), recovery(None).start());
                vec![one.wait(), other.wait()]
            }
        };
        let fine = |finished: &Finished| matches!(finished.code, 0 | KILLED);
        for finished in &ended {
            assert!(fine(finished), "a recovery neither ends nor dies: {finished}");
        }
        sandbox.expect_no_process(Duration::from_secs(20));
        let completed = ended.iter().any(|finished| finished.code == 0);
        if completed { Attempt::Completed } else { Attempt::Killed }
    }
}

/// Returns a word that kills at one of `points`.
pub(super) fn fault(
    random: &mut Random,
    points: &[Point],
    often: impl Fn(&Point) -> usize,
) -> String {
    let point = random.pick(points);
    format!("kill@{}:{}", point.name, random.between(1, often(point)))
}

impl Task {
    /// Returns the file that is there before and that only this task edits.
    pub(super) fn own_file(&self) -> String {
        format!("work/{}.txt", self.name)
    }

    /// Returns the file that this task makes.
    pub(super) fn new_file(&self) -> String {
        format!("new/{}.txt", self.name)
    }

    /// Returns the lines that the task adds: to its own file, to its new file, to the shared file.
    pub(super) fn edits(&self) -> [String; 3] {
        ["own", "new", "shared"].map(|place| format!("{place} edit of {}", self.name))
    }

    fn script(&self) -> String {
        let [own, new, shared] = self.edits();
        let Self { name, .. } = self;
        let edit = format!(
            "echo '{own}' >> {}\nmkdir -p new\necho '{new}' > {}\n\
             sed -i '/^anchor {name}$/a {shared}' shared.txt\n",
            self.own_file(),
            self.new_file()
        );
        match self.ending {
            Ending::Done => edit,
            Ending::Failed => format!("{edit}exit 3\n"),
            Ending::Lingering => {
                format!("{edit}(trap '' TERM HUP INT; sleep 300) >/dev/null 2>&1 &\n")
            }
        }
    }
}
