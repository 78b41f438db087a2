//! One round: a repository with a user's uncommitted work, and tasks that edit copies of it.

use std::fmt;
use std::path::Path;

use super::edits::{self, Common};
use super::oracle::{self, Change, Changes};
use super::{content, names};
use crate::fuzz::Random;
use crate::fuzz::files::{Files, Listing, Name, Node};

/// A repository, its user, and the tasks of a run over it.
pub(super) struct Scenario {
    /// What is committed.
    pub(super) committed: Files,
    /// What the index has.
    pub(super) staged: Files,
    /// The user's tree when the run begins.
    pub(super) tree: Files,
    /// Paths of that tree that hold something else than a file: a repository, a named pipe.
    pub(super) taken: Vec<Name>,
    /// What the user makes of their tree while the run goes on, if they do.
    pub(super) user: Option<UserEdit>,
    /// The tasks, in the order of declaration.
    pub(super) tasks: Vec<Task>,
}

/// An edit that the user makes between the start of a run and its landing.
pub(super) struct UserEdit {
    /// The task during which it is made.
    pub(super) during: usize,
    /// The user's tree after it.
    pub(super) tree: Files,
}

/// One task.
pub(super) struct Task {
    /// Its name.
    pub(super) name: String,
    /// What it depends on, by position.
    pub(super) depends_on: Vec<usize>,
    /// How it ends.
    pub(super) ending: Ending,
    /// The tree it begins with.
    pub(super) start: Files,
    /// The tree it leaves, what git ignores included.
    pub(super) end: Files,
    /// What of that is its work.
    pub(super) changes: Changes,
}

/// How a task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Well.
    Done,
    /// With an exit code.
    Failed,
    /// It gets no workspace, because of what it depends on.
    NotStarted,
}

/// What attributes and settings of a repository say about line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    /// Nothing.
    None,
    /// Some files end their lines as on Windows, whatever is committed.
    Windows,
    /// git decides what is text, and commits Unix line ends.
    Automatic,
    /// Nothing is converted, whatever the settings of the user say.
    Off,
}

impl Conversion {
    /// Returns the `.gitattributes`.
    fn attributes(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Windows => Some("*.txt text eol=crlf\n"),
            Self::Automatic => Some("* text=auto\n*.bin binary\n"),
            Self::Off => Some("* -text\n"),
        }
    }
}

impl Scenario {
    /// Makes up a round. `scratch` is a folder for the judge.
    pub(super) fn random(random: &mut Random, scratch: &Path) -> Self {
        let conversion = *random.pick(&[
            Conversion::None,
            Conversion::None,
            Conversion::Windows,
            Conversion::Automatic,
            Conversion::Off,
        ]);
        let mut common = Common::default();
        let committed = committed(random, conversion);
        let mut staged = committed.clone();
        let count = random.between(0, 3);
        edits::edit(random, &mut staged, &Common::default(), count);
        let mut tree = staged.clone();
        let count = random.between(0, 5);
        edits::edit(random, &mut tree, &Common::default(), count);
        let taken = taken(random);
        common.taken.extend(taken.iter().cloned());
        common.taken.extend(tree.keys().filter(|path| names::is_ignored(path)).cloned());
        common.alike = (0..3).map(|_| (names::path(random), edits::node(random))).collect();
        let tasks = skeletons(random);
        let user = random.chance(40).then(|| {
            let mut after = tree.clone();
            let count = random.between(1, 4);
            let alike = Common { alike: common.alike.clone(), taken: Vec::new() };
            edits::edit(random, &mut after, &alike, count);
            let free = (0..tasks.len()).filter(|at| tasks[*at].depends_on.is_empty());
            UserEdit { during: *random.pick(&free.collect::<Vec<_>>()), tree: after }
        });
        let mut made = Self { committed, staged, tree, taken, user, tasks };
        made.let_tasks_edit(random, &common, scratch);
        made
    }

    /// Returns the user's tree as a landing finds it.
    pub(super) fn tree_at_landing(&self) -> &Files {
        self.user.as_ref().map_or(&self.tree, |user| &user.tree)
    }

    fn let_tasks_edit(&mut self, random: &mut Random, common: &Common, scratch: &Path) {
        let tracked = &self.staged;
        let is_work = |path: &Name| tracked.contains_key(path) || !names::is_ignored(path);
        let mut frozen = self.tree.clone();
        frozen.retain(|path, _| is_work(path));
        let order = oracle::order(&self.tasks);
        for at in order.iter().copied() {
            let ancestors = oracle::ancestors(&self.tasks, at);
            let mut start = frozen.clone();
            let done = ancestors.iter().all(|on| self.tasks[*on].ending == Ending::Done);
            let merged = |on: &usize| {
                oracle::add(scratch, &mut start, &[], &self.tasks[*on].changes).is_ok()
            };
            let starts = done && order.iter().filter(|on| ancestors.contains(on)).all(merged);
            let task = &mut self.tasks[at];
            if !starts {
                task.ending = Ending::NotStarted;
                continue;
            }
            let mut end = start.clone();
            let count = if random.chance(5) { 0 } else { random.between(1, 4) };
            edits::edit(random, &mut end, common, count);
            task.changes = changes(&start, &end, &is_work);
            (task.start, task.end) = (start, end);
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listings = [
            ("committed", &self.committed),
            ("staged", &self.staged),
            ("the user's tree", &self.tree),
        ];
        listings.iter().try_for_each(|(title, files)| write!(f, "{}", Listing(title, files)))?;
        for path in &self.taken {
            writeln!(f, "neither file nor symlink: {}", path.escape_ascii())?;
        }
        if let Some(UserEdit { during, tree }) = &self.user {
            writeln!(f, "the user edits the tree while t{during} runs")?;
            write!(f, "{}", Listing("the user's tree after that", tree))?;
        }
        for Task { name, depends_on, ending, changes, .. } in &self.tasks {
            writeln!(f, "{name} depends on {depends_on:?}, {ending:?}, and changes:")?;
            for (path, Change { base, task }) in changes {
                writeln!(f, "  {}: {base:?} to {task:?}", path.escape_ascii())?;
            }
        }
        Ok(())
    }
}

/// Returns what a task that left `end` has done: not what git ignores and does not track.
fn changes(start: &Files, end: &Files, is_work: &dyn Fn(&Name) -> bool) -> Changes {
    let new = end.keys().filter(|path| !start.contains_key(*path) && is_work(path));
    let paths = start.keys().chain(new);
    let change = |path: &Name| {
        let change = Change { base: start.get(path).cloned(), task: end.get(path).cloned() };
        (change.base != change.task).then(|| (path.clone(), change))
    };
    paths.filter_map(change).collect()
}

fn committed(random: &mut Random, conversion: Conversion) -> Files {
    let mut files = Files::new();
    for _ in 0..random.between(3, 14) {
        let node = edits::node(random);
        edits::put(&mut files, &names::path(random), node);
    }
    if random.chance(40) {
        // Tracked, although the rules say that it is ignored.
        edits::put(&mut files, &names::ignored(random), Node::file(content::fresh(random)));
    }
    files.insert(b".gitignore".to_vec(), Node::file(names::RULES));
    if let Some(attributes) = conversion.attributes() {
        files.insert(b".gitattributes".to_vec(), Node::file(attributes));
    }
    files
}

/// Returns paths that hold a repository of its own and a named pipe, in some rounds.
fn taken(random: &mut Random) -> Vec<Name> {
    let mut taken = Vec::new();
    if random.chance(20) {
        taken.push(super::disk::REPOSITORY.to_vec());
    }
    if random.chance(10) {
        taken.push(super::disk::PIPE.to_vec());
    }
    taken
}

/// Returns tasks that have not done anything yet. No task depends on itself.
fn skeletons(random: &mut Random) -> Vec<Task> {
    let count = random.between(2, 10);
    let mut ranks: Vec<usize> = (0..count).collect();
    random.shuffle(&mut ranks);
    let depending = if random.chance(35) { 40 } else { 0 };
    let task = |at: usize| {
        let lower: Vec<_> = (0..count).filter(|other| ranks[*other] < ranks[at]).collect();
        let mut depends_on = Vec::new();
        while !lower.is_empty() && depends_on.len() < 2 && random.chance(depending) {
            depends_on.push(*random.pick(&lower));
        }
        depends_on.sort_unstable();
        depends_on.dedup();
        let ending = if random.chance(6) { Ending::Failed } else { Ending::Done };
        Task {
            name: format!("t{at}"),
            depends_on,
            ending,
            start: Files::new(),
            end: Files::new(),
            changes: Changes::new(),
        }
    };
    (0..count).map(task).collect()
}
