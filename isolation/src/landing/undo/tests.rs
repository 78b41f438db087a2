//! Random chains of tasks that rename files and folders, landed, and taken back task by task.

use std::collections::{BTreeMap, BTreeSet};

use engine::fault::Faults;
use engine::ports::{
    CancelToken, LandingRequest, LandingTask, UndoReport, UndoRequest, UndoScope, UndoTask,
};
use protocol::{CaptureRef, Landed, LandingId, LandingReport, TaskLanding, TaskName};
use test_limit::Rounds;

use crate::file_entry::{Change, Entry, Mode};
use crate::landing::tests::kit::{Kit, read, write};
use crate::landing::{self, WorkInTree, work_in_tree};
use crate::merge::chain_samples::Chain;
use crate::merge::random::Random;
use crate::merge::tree_judge_tests::{Entries, Judge};
use crate::merge::tree_samples::Files;
use crate::merge::tree_tests::{TreeTarget, changes, name};
use crate::merge::{Blobs as _, Merger};
use crate::settle::concerned_paths;
use crate::testing::begin;

/// A chain whose tasks can be landed and taken back.
struct Landing {
    kit: Kit,
    judge: Judge,
    /// The tasks, each with those on whose work it builds.
    tasks: Vec<(LandingTask, BTreeSet<TaskName>)>,
    /// The tree before and after each task whose work lands, in their order.
    works: Vec<(LandingTask, [Entries; 2])>,
    base: Entries,
}

impl Landing {
    fn of(chain: &Chain) -> Self {
        let texts = chain.base.iter().map(|(path, (_, bytes))| (&path[..], text(bytes)));
        let kit = Kit::in_memory(&texts.collect::<Vec<_>>());
        let (judge, store) = (Judge::of_reverts(), kit.store());
        let base = judge.entries(&chain.base);
        let target = TreeTarget(base.clone());
        let mut merger = Merger::over(&target, &store);
        let (mut tasks, mut works) = (Vec::new(), Vec::new());
        for (_, bytes) in chain.base.values() {
            store.write(bytes).unwrap();
        }
        let (mut tree, mut there) = (base.clone(), BTreeSet::new());
        for (number, step) in chain.steps.iter().enumerate() {
            let made =
                changes(&judge.entries(chain.start(step.after)), &judge.entries(&step.files));
            for bytes in step.files.values().map(|(_, bytes)| bytes) {
                store.write(bytes).unwrap();
            }
            let on = step.after.map(name);
            let depends_on: Vec<&str> = on.iter().map(TaskName::as_str).collect();
            let task = kit.captured(name(number).as_str(), &depends_on, &made);
            let before = predecessors(chain, number);
            tasks.push((task.clone(), before.clone()));
            if on.is_some_and(|on| !there.contains(&on))
                || merger.add(&task.task, &before, &made).unwrap().is_err()
            {
                continue;
            }
            there.insert(task.task.clone());
            if !made.is_empty() {
                let mut after = base.clone();
                for (path, merged) in merger.so_far().unwrap() {
                    match merged.after {
                        Some(entry) => after.insert(path.to_string(), entry),
                        None => after.remove(&path.to_string()),
                    };
                }
                for entry in after.values() {
                    judge.write(&store.read(entry.oid).unwrap()).unwrap();
                }
                works.push((task, [tree, after.clone()]));
                tree = after;
            }
        }
        Self { kit, judge, tasks, works, base }
    }

    /// Lands all tasks. However they land, the result is the same.
    fn land(&self, landings: Landings) {
        let tasks = self.tasks.iter().map(|(task, _)| task.clone());
        let report = match landings {
            Landings::One => self.kit.land(&tasks.collect::<Vec<_>>()).tasks,
            Landings::OfEach => self.land_each(),
        };
        let landed = report.iter().filter(|task| matches!(task.landed, Landed::Landed { .. }));
        let landed: BTreeSet<TaskName> = landed.map(|task| task.task.clone()).collect();
        assert_eq!(landed, made_of(&self.works), "{:#?}", self.told());
        self.check_is_there(self.works.iter().map(|(task, _)| task));
        let end = self.works.last().map_or(&self.base, |(_, [_, after])| after);
        assert!(&self.tree() == end, "{:#?}", self.told());
    }

    /// Lands each task that does not wait for another, one landing after the other.
    fn land_each(&self) -> Vec<TaskLanding> {
        let (mut reports, mut landed) = (Vec::new(), Vec::<LandingTask>::new());
        for (task, before) in &self.tasks {
            let is_there = |on: &TaskName| landed.iter().any(|there| there.task == *on);
            if !task.depends_on.iter().all(is_there) {
                continue;
            }
            let below = landed.iter().filter(|there| before.contains(&there.task)).cloned();
            let request = self.kit.request(std::slice::from_ref(task));
            let request = LandingRequest { landed: below.collect(), ..request };
            let report = land(&self.kit, request);
            if matches!(report.tasks[0].landed, Landed::Landed { .. } | Landed::Unchanged) {
                landed.push(task.clone());
            }
            self.check_is_there(landed.iter());
            reports.extend(report.tasks);
        }
        reports
    }

    /// Checks that nothing of work that has landed counts as missing.
    fn check_is_there<'t>(&self, landed: impl Iterator<Item = &'t LandingTask>) {
        let captures: Vec<CaptureRef> = landed.map(|task| task.capture.clone()).collect();
        let (kit, store) = (&self.kit, self.kit.store());
        let found = work_in_tree(&kit.root, &kit.paths, &store, &captures).unwrap();
        for (capture, found) in captures.iter().zip(found) {
            let is_missing = matches!(found, WorkInTree::Missing(_));
            assert!(!is_missing, "{capture}: {found:?} of {:#?}", self.told());
        }
    }

    /// Returns the files that are in the working tree.
    fn tree(&self) -> Entries {
        let snapshot = self.kit.snapshot().into_iter();
        let files = snapshot.filter(|(_, (mode, _))| mode & 0o170_000 == 0o100_000);
        let files = files.map(|(path, (mode, bytes))| {
            (String::from_utf8(path).unwrap(), (Mode::of_file(mode), bytes))
        });
        self.judge.entries(&files.collect::<Files>())
    }

    /// Returns what each work has changed, for a message.
    fn told(&self) -> Vec<String> {
        let sides = |change: &Change| {
            format!("{} {}>{}", change.path, short(change.base), short(change.task))
        };
        let work = |(task, [before, after]): &(LandingTask, [Entries; 2])| {
            let made: Vec<_> = changes(before, after).iter().map(sides).collect();
            format!("{}: {}", task.task, made.join(", "))
        };
        self.works.iter().map(work).collect()
    }

    fn undo(&self, scope: UndoScope, works: &[usize]) -> UndoReport {
        undo(&self.kit, scope, works.iter().map(|work| &self.works[*work].0))
    }

    /// Takes one work back, and compares that with `git revert`. Returns whether all of it came back.
    fn revert(&self, work: usize) -> bool {
        let (task, [before, after]) = &self.works[work];
        let now = self.tree();
        let pair = self.judge.commit_all(&[[after.clone(), now.clone(), before.clone()]]);
        let git = self.judge.merge_all(&pair).pop().unwrap();
        let report = self.undo(UndoScope::Tasks, &[work]);
        let tree = self.tree();
        let left: Vec<_> = report.left.iter().flat_map(concerned_paths).collect();
        let told = || {
            let paths = |tree: &Entries| {
                let told =
                    |(path, entry): (&String, &Entry)| format!("{path}:{}", short(Some(*entry)));
                tree.iter().map(told).collect::<Vec<_>>().join(" ")
            };
            let works = self.told();
            let [before, after, now] = [before, after, &now].map(paths);
            let (task, left) = (&task.task, &report.left);
            format!(
                "{works:#?}\n{task}: {before}\n -> {after}\nnow {now}\nhere {}\nleft {left:?}\ngit {:?}",
                paths(&tree),
                git.as_ref().map(|git| (git.is_clean, paths(&git.tree), &git.said)),
            )
        };
        let Some(git) = &git else { return left.is_empty() };
        assert_eq!(git.is_clean, left.is_empty(), "{}", told());
        if git.is_clean {
            assert!(git.tree == tree, "{}", told());
        }
        left.is_empty()
    }
}

/// How many landings all tasks have.
#[derive(Clone, Copy, Debug)]
enum Landings {
    One,
    OfEach,
}

fn short(entry: Option<Entry>) -> String {
    entry.map_or("-".to_owned(), |entry| entry.oid.to_string()[..4].to_owned())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn made_of(works: &[(LandingTask, [Entries; 2])]) -> BTreeSet<TaskName> {
    works.iter().map(|(task, _)| task.task.clone()).collect()
}

fn predecessors(chain: &Chain, task: usize) -> BTreeSet<TaskName> {
    let mut on = chain.steps[task].after;
    let next = || {
        let task = on?;
        on = chain.steps[task].after;
        Some(name(task))
    };
    std::iter::from_fn(next).collect()
}

fn land(kit: &Kit, request: LandingRequest) -> LandingReport {
    let (faults, cancel, id) = (Faults::default(), CancelToken::default(), LandingId::generate());
    let report =
        landing::land(&kit.repo, &kit.paths, &faults, id, request, &cancel, &|_| {}).unwrap();
    landing::acknowledge(&kit.paths, &faults, &kit.run).unwrap();
    report
}

/// Takes work of a run back, and sees that this was foretold.
fn undo<'t>(
    kit: &Kit,
    scope: UndoScope,
    tasks: impl Iterator<Item = &'t LandingTask>,
) -> UndoReport {
    let task = |task: &LandingTask| UndoTask {
        task: task.task.clone(),
        capture: Some(task.capture.clone()),
    };
    let request = UndoRequest { run: kit.run.clone(), scope, tasks: tasks.map(task).collect() };
    let faults = Faults::default();
    let foretold = landing::dry_run_undo(&kit.repo, &kit.paths, &faults, &request).unwrap();
    let cancel = CancelToken::default();
    let request = (LandingId::generate(), &request);
    let report =
        landing::undo(&kit.repo, &kit.paths, &faults, request, (&cancel, &|_| {})).unwrap();
    landing::acknowledge(&kit.paths, &faults, &kit.run).unwrap();
    assert_eq!(foretold, report);
    report
}

#[test]
fn each_task_of_a_chain_of_renames_is_taken_back_as_git_reverts_it() {
    let mut rounds = Rounds::new("reverted_chains", 6, 500);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in rounds.by_ref() {
        let mut random = Random::new(seed);
        let chain = Chain::new(&mut random);
        *counts.entry("changes").or_default() += chain.changes;
        *counts.entry("folders").or_default() += chain.folder_renames;
        let landing = Landing::of(&chain);
        let works = landing.works.len();
        if landing.works.last().is_none_or(|(_, [_, end])| *end == landing.base) {
            continue; // Nothing is written, and nothing recorded.
        }
        let first = landing.kit.snapshot();
        let landings = if seed % 2 == 0 { Landings::One } else { Landings::OfEach };
        let seed = format!("{seed}, {landings:?}");
        // A landing finds what those before it have renamed by the files with which the run began.
        let begin = || begin(&landing.kit.repo, &landing.kit.paths, &landing.kit.run);
        let _began = matches!(landings, Landings::OfEach).then(begin);

        // The last one first, each is taken back whole.
        landing.land(landings);
        for work in (0..works).rev() {
            let report = landing.undo(UndoScope::Tasks, &[work]);
            assert_eq!(report.left, [], "{seed}: {work}");
            assert!(landing.tree() == landing.works[work].1[0], "{seed}: {work}");
            landing.check_is_there(landing.works[..work].iter().map(|(task, _)| task));
        }
        assert!(landing.kit.snapshot() == first, "{seed}: something is left");

        // All at once.
        landing.land(landings);
        let all: Vec<usize> = (0..works).collect();
        let report = landing.undo(UndoScope::Run, &all);
        assert_eq!(report.left, [], "{seed}: all at once");
        assert!(landing.kit.snapshot() == first, "{seed}: all at once");

        // In another order, as by git.
        landing.land(landings);
        let mut left: Vec<usize> = (0..works).collect();
        for _ in 0..works {
            let work = left.swap_remove(random.below(left.len()));
            let end = if landing.revert(work) { "clean" } else { "refused" };
            *counts.entry(end).or_default() += 1;
        }

        // What they have left, with the whole run.
        let report = landing.undo(UndoScope::Run, &all);
        assert_eq!(report.left, [], "{seed}: the rest of {:#?}", landing.told());
        assert!(landing.kit.snapshot() == first, "{seed}: the rest of {:#?}", landing.told());
        let nothing = landing.undo(UndoScope::Run, &all);
        assert_eq!(nothing.paths, [], "{seed}: again");
    }
    let done = rounds.done();
    done.report("R20", 1, "chains of renames taken back as git reverts them");
    if done.count >= 100 {
        assert!(counts["folders"] * 10 >= counts["changes"] * 4, "{counts:?}");
        assert!(counts["refused"] > 0 && counts["clean"] > counts["refused"], "{counts:?}");
    }
}

#[test]
fn work_that_has_landed_is_not_missing_where_files_and_folders_have_changed_places_since() {
    let mut rounds = Rounds::new("swapped_chains", 8, 500);
    for seed in rounds.by_ref() {
        let landing = Landing::of(&Chain::of_swaps(&mut Random::new(seed)));
        let Some((_, [_, end])) = landing.works.last() else { continue };
        if *end == landing.base {
            continue; // Nothing is written, and nothing recorded.
        }
        let first = landing.kit.snapshot();
        for landings in [Landings::One, Landings::OfEach] {
            let begin = || begin(&landing.kit.repo, &landing.kit.paths, &landing.kit.run);
            let _began = matches!(landings, Landings::OfEach).then(begin);
            landing.land(landings);
            let all: Vec<usize> = (0..landing.works.len()).collect();
            assert_eq!(landing.undo(UndoScope::Run, &all).left, [], "{seed}, {landings:?}");
            assert!(landing.kit.snapshot() == first, "{seed}, {landings:?}: something is left");
        }
    }
    rounds.done().report("R20", 1, "chains of files and folders that change places");
}

#[test]
fn what_an_undo_has_left_is_taken_back_later_and_nothing_that_is_back_is_written_again() {
    let kit = Kit::with(&[("p", "p0\n"), ("q", "q0\n"), ("r", "r0\n")]);
    let one = kit.task("one", |root| {
        write(root, "p", "p1\n");
        write(root, "q", "q1\n");
    });
    kit.land(std::slice::from_ref(&one));
    let two = kit.task("two", |root| {
        write(root, "p", "p2\n");
        write(root, "r", "r1\n");
    });
    kit.land(std::slice::from_ref(&two));
    write(&kit.root, "r", "mine\n");
    let both = || [&one, &two].into_iter();
    let report = undo(&kit, UndoScope::Run, both());
    assert_eq!(report.left.len(), 1, "{report:?}");
    let files = || ["p", "q", "r"].map(|path| read(&kit.root, path));
    assert_eq!(files(), ["p0\n", "q0\n", "mine\n"]);
    write(&kit.root, "r", "r1\n");
    let report = undo(&kit, UndoScope::Run, both());
    assert_eq!(report.left, []);
    assert_eq!(files(), ["p0\n", "q0\n", "r0\n"]);
    assert_eq!(undo(&kit, UndoScope::Run, both()).paths, []);
}

#[test]
fn an_edit_of_the_users_that_came_back_with_a_renamed_file_stays_when_the_rest_is_taken_back() {
    let old: String = (0..20).map(|line| format!("line {line}\n")).collect();
    let kit = Kit::with(&[("old", &old), ("q", "q0\n")]);
    let rename = kit.task("rename", |root| {
        std::fs::rename(root.join("old"), root.join("new")).unwrap();
    });
    let edit = kit.task("edit", |root| write(root, "q", "q1\n"));
    kit.land(&[rename.clone(), edit.clone()]);
    let edited = format!("{old}mine\n");
    write(&kit.root, "new", &edited);
    assert_eq!(undo(&kit, UndoScope::Tasks, [&rename].into_iter()).left, []);
    assert_eq!(read(&kit.root, "old"), edited);
    assert_eq!(undo(&kit, UndoScope::Run, [&rename, &edit].into_iter()).left, []);
    assert_eq!([read(&kit.root, "old"), read(&kit.root, "q")], [edited, "q0\n".to_owned()]);
}

/// A folder that a task renames after another one has added a file to it, or a file that the other one has
/// added, in landings of their own.
#[test]
fn a_rename_that_landed_after_what_it_moved_is_taken_back_as_git_reverts_it() {
    let rename = |from: &'static str, to: &'static str| {
        move |root: &std::path::Path| std::fs::rename(root.join(from), root.join(to)).unwrap()
    };
    for (from, to) in [("d", "z"), ("d/new", "new")] {
        let kit = Kit::with(&[("d/f1", "1\n2\n3\n"), ("d/f2", "4\n5\n6\n")]);
        let _began = begin(&kit.repo, &kit.paths, &kit.run);
        let add = kit.task("add", |root| write(root, "d/new", "7\n8\n9\n"));
        let of_one = match from {
            // It began without the file.
            "d" => Some(kit.task("rename", rename(from, to))),
            _ => None,
        };
        kit.land(std::slice::from_ref(&add));
        let moving = of_one.unwrap_or_else(|| kit.task_on("rename", &["add"], rename(from, to)));
        let before = kit.snapshot();
        kit.land(std::slice::from_ref(&moving));
        assert!(!kit.root.join("d/new").exists(), "{from}");
        assert_eq!(undo(&kit, UndoScope::Tasks, [&moving].into_iter()).left, [], "{from}");
        assert!(kit.snapshot() == before, "{from}");
        assert_eq!(undo(&kit, UndoScope::Run, [&add, &moving].into_iter()).left, [], "{from}");
        assert!(!kit.root.join("d/new").exists(), "{from}");
    }
}
