//! Tasks that land one after the other, as with `--land eager` and `apply`: it is as if they had landed at
//! once.

use std::collections::{BTreeMap, BTreeSet};

use engine::fault::Faults;
use engine::ports::{CancelToken, LandingRequest, LandingTask};
use protocol::{Conflict, Landed, LandingId, RepoPath, TaskLanding};

use super::kit::Kit;
use crate::file_entry::{Change, Entry, Mode};
use crate::landing;
use crate::testing::begin;

type Files = BTreeMap<String, String>;

/// Before what a task does, the task on whose work it builds, if any: `k1: mv a b; edit b 3`.
type Step<'s> = &'s str;

/// What the tasks do, the files afterwards, and the conflicts of the last one.
type Row<'s> = (&'s [Step<'s>], &'s [&'s str], &'s [&'s str]);

const BASE: [&str; 5] = ["d/f1", "d/f2", "e/g1", "e/g2", "a"];

/// Renames in the order of the rows' comments, with what builds on them.
const ROWS: &[Row<'_>] = &[
    // A file that a task adds where an earlier one has moved a folder away, whose work it knows, stays.
    (&["mv d z", "k0: add d/new"], &["a", "d/new", "e/g1", "e/g2", "z/f1", "z/f2"], &[]),
    // One that does not know it follows.
    (&["mv d z", "add d/new"], &["a", "e/g1", "e/g2", "z/f1", "z/f2", "z/new"], &[]),
    // What stays of the work on which a task builds is not moved by that.
    (&["mv d z", "k0: mv z/f1 y/f1"], &["a", "e/g1", "e/g2", "y/f1", "z/f2"], &[]),
    // An edit of a file follows it, though others have moved what the predecessor had moved.
    (&["mv a b", "k0: mv b c", "k0: edit b 3"], &["c*", "d/f1", "d/f2", "e/g1", "e/g2"], &[]),
    // A file that is added to a folder follows its rename, and an edit the file.
    (
        &["mv d z", "add d/new", "k1: edit d/new 3"],
        &["a", "e/g1", "e/g2", "z/f1", "z/f2", "z/new*"],
        &[],
    ),
    // Renamed back: nothing has changed for what began with the first name.
    (
        &["mv d z", "k0: mv z d", "edit d/f1 3", "add d/new"],
        &["a", "d/f1*", "d/f2", "d/new", "e/g1", "e/g2"],
        &[],
    ),
    (&["mv a b", "k0: mv b a", "rm a"], &["d/f1", "d/f2", "e/g1", "e/g2"], &[]),
    // What knows the second name only goes back as well.
    (&["mv d z", "k0: mv z d", "k0: edit z/f1 3"], &["a", "d/f1*", "d/f2", "e/g1", "e/g2"], &[]),
    // Swapped, edited, renamed: the conflict is with the task that has moved the file away.
    (
        &["mv d t; mv e d; mv t e", "k0: edit e/f1 3", "mv d z"],
        &["a", "d/g1", "d/g2", "e/f1*", "e/f2"],
        &["z/f1 with k0", "z/f2 with k0"],
    ),
    (&["mv a b", "edit a 3", "rm a"], &["b*", "d/f1", "d/f2", "e/g1", "e/g2"], &["b with k0"]),
    // Of several edits it is with that of the same line.
    (
        &["edit a 3", "edit a 17", "edit a 3"],
        &["a*", "d/f1", "d/f2", "e/g1", "e/g2"],
        &["a with k0"],
    ),
    (
        &["edit a 17", "edit a 3", "edit a 3"],
        &["a*", "d/f1", "d/f2", "e/g1", "e/g2"],
        &["a with k1"],
    ),
    (
        &["edit a 3", "mv a b", "edit a 17", "edit a 3"],
        &["b*", "d/f1", "d/f2", "e/g1", "e/g2"],
        &["b with k0"],
    ),
];

/// Carries out what a task does. An edit ends with the number of a line.
fn carry_out(files: &mut Files, script: &str, number: usize) {
    for action in script.split("; ") {
        let words: Vec<&str> = action.split(' ').collect();
        match words[..] {
            ["mv", from, to] => {
                let below = format!("{from}/");
                let moved: Vec<String> = files
                    .keys()
                    .filter(|path| *path == from || path.starts_with(&below))
                    .cloned()
                    .collect();
                for path in moved {
                    let text = files.remove(&path).unwrap();
                    files.insert(format!("{to}{}", &path[from.len()..]), text);
                }
            }
            ["rm", path] => drop(files.remove(path).unwrap()),
            ["add", path] => drop(files.insert(path.to_owned(), text_of(path))),
            ["edit", path, line] => {
                let text = files.get_mut(path).unwrap();
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines[line.parse::<usize>().unwrap()] = format!("edited by {number}");
                *text = lines.join("\n") + "\n";
            }
            _ => panic!("{action}"),
        }
    }
}

fn text_of(path: &str) -> String {
    (0..20).map(|line| format!("{path} {line}\n")).collect()
}

/// The tasks of a row.
fn tasks(kit: &Kit, steps: &[Step<'_>]) -> Vec<LandingTask> {
    let store = kit.store();
    let entry = |files: &Files, path: &str| {
        let text = files.get(path)?;
        Some(Entry { mode: Mode::File, oid: store.write(text.as_bytes()).unwrap() })
    };
    let base: Files = BASE.iter().map(|path| ((*path).to_owned(), text_of(path))).collect();
    let mut left: Vec<Files> = Vec::new();
    let mut tasks = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let (on, script) = match step.split_once(": ") {
            Some((on, script)) => (Some(on), script),
            None => (None, *step),
        };
        let before = on.map_or(&base, |on| &left[on[1..].parse::<usize>().unwrap()]).clone();
        let mut after = before.clone();
        carry_out(&mut after, script, number);
        let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let change = |path: &&String| {
            let path: &str = path;
            Change::new(RepoPath::new(path).unwrap(), entry(&before, path), entry(&after, path))
        };
        let changes = paths.iter().map(change).filter(|change| change.base != change.task);
        let on: Vec<&str> = on.into_iter().collect();
        tasks.push(kit.captured(&format!("k{number}"), &on, &changes.collect::<Vec<_>>()));
        left.push(after);
    }
    tasks
}

/// Lands each task, with the work of those before it as what has landed.
fn land_each(kit: &Kit, tasks: &[LandingTask]) -> Vec<TaskLanding> {
    let land = |at: usize| {
        let on = &tasks[at].depends_on;
        let landed = tasks[..at].iter().filter(|before| on.contains(&before.task)).cloned();
        let request = kit.request(&tasks[at..=at]);
        let request = LandingRequest { landed: landed.collect(), ..request };
        let (faults, cancel) = (Faults::default(), CancelToken::default());
        let id = LandingId::generate();
        let report =
            landing::land(&kit.repo, &kit.paths, &faults, id, request, &cancel, &|_| {}).unwrap();
        landing::acknowledge(&kit.paths, &faults, &kit.run).unwrap();
        report.tasks
    };
    (0..tasks.len()).flat_map(land).collect()
}

/// The files of the working tree; those of which a line was edited with a star.
fn told(kit: &Kit) -> Vec<String> {
    let files = kit.snapshot().into_iter().filter(|(_, (mode, _))| mode & 0o170_000 == 0o100_000);
    let told = files.map(|(path, (_, bytes))| {
        let is_edited = String::from_utf8(bytes).unwrap().contains("edited");
        String::from_utf8(path).unwrap() + if is_edited { "*" } else { "" }
    });
    told.collect()
}

#[test]
fn tasks_that_land_one_after_the_other_come_to_what_they_come_to_at_once() {
    for (steps, files, conflicts) in ROWS {
        let texts: Vec<(&str, String)> = BASE.iter().map(|path| (*path, text_of(path))).collect();
        let texts: Vec<(&str, &str)> =
            texts.iter().map(|(path, text)| (*path, &text[..])).collect();
        let [at_once, apart] = [Kit::in_memory(&texts), Kit::in_memory(&texts)];
        let _began = [&at_once, &apart].map(|kit| begin(&kit.repo, &kit.paths, &kit.run));
        let reports =
            [at_once.land(&tasks(&at_once, steps)).tasks, land_each(&apart, &tasks(&apart, steps))];
        for (kit, report, how) in
            [(&at_once, &reports[0], "at once"), (&apart, &reports[1], "apart")]
        {
            let with = |conflict: &Conflict| {
                let with = conflict.with.as_ref().map_or("nobody", |task| task.as_str());
                format!("{} with {with}", conflict.path)
            };
            let met: Vec<String> = match &report.last().unwrap().landed {
                Landed::Conflicted { conflicts } => conflicts.iter().map(with).collect(),
                _ => Vec::new(),
            };
            assert_eq!(met, *conflicts, "{steps:?} {how}");
            assert_eq!(told(kit), *files, "{steps:?} {how}");
        }
        assert_eq!(reports[0], reports[1], "{steps:?}");
        assert!(at_once.snapshot() == apart.snapshot(), "{steps:?}");
    }
}
