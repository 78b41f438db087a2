//! Merging of the work of several tasks that rename one file, or its folder, one after the other.

use super::*;

fn lines(name: &str) -> String {
    (0..20).map(|line| format!("{name} {line}\n")).collect()
}

/// A task: the earlier ones with whose work it began, and its changes.
type Step<'a> = (&'a [usize], Vec<Change>);

/// A tree, by path, and the conflicts of a task.
type Merged = (BTreeMap<String, String>, Vec<(String, ConflictReason, Option<TaskName>)>);

impl Memory {
    /// Merges tasks, and returns the tree afterwards and the conflicts of the last one.
    fn merge_steps(&self, steps: &[Step<'_>]) -> Merged {
        let mut merger = Merger::over(self, &self.bytes);
        let mut last = Vec::new();
        for (number, (after, changes)) in steps.iter().enumerate() {
            assert_eq!(last, [], "all but the last one are merged");
            let after = after.iter().map(|number| task(*number)).collect();
            let added = merger.add(&task(number), &after, changes).unwrap();
            last = reasons(&added.err().unwrap_or_default());
        }
        let mut tree = self.entries.clone();
        tree.extend(merger.finish().into_iter().map(|(path, merged)| (path, merged.after)));
        let text = |entry: Entry| String::from_utf8(self.bytes.read(entry.oid).unwrap()).unwrap();
        let files = tree.into_iter().filter_map(|(path, entry)| Some((path, text(entry?))));
        (files.map(|(path, text)| (path.to_string(), text)).collect(), last)
    }

    /// The changes of a task that renames files without a change.
    fn renames(&self, renames: &[(&str, &str, &str)]) -> Vec<Change> {
        let renames = renames.iter();
        let both = renames
            .flat_map(|(from, to, text)| [self.change(from, text, ""), self.change(to, "", text)]);
        both.collect()
    }
}

/// Checks what becomes of the removal and of an edit of a file that earlier tasks have moved to `to`:
/// the removal conflicts, and the edit follows.
fn follows(memory: &Memory, steps: &[Step<'_>], (after, from): (&[usize], &str), to: &str) {
    let text = lines("file");
    let edited = format!("{text}edited\n");
    let with = |change: Change| [steps, &[(after, vec![change])]].concat();
    let (tree, conflicts) = memory.merge_steps(&with(memory.change(from, &text, "")));
    let [(path, reason, with_task)] = &conflicts[..] else { panic!("{from}: {conflicts:?}") };
    assert_eq!((&path[..], reason), (to, &ConflictReason::RenamedAndRemoved));
    assert!(with_task.is_some(), "{from}");
    assert_eq!(tree.get(to), Some(&text), "{from}");
    let (tree, conflicts) = memory.merge_steps(&with(memory.change(from, &text, &edited)));
    assert_eq!(conflicts, [], "{from}");
    assert_eq!(tree.get(to), Some(&edited), "{from}");
}

#[test]
fn a_renamed_file_whose_folder_another_task_renames_is_still_the_same_file() {
    let [file, a, b] = ["file", "a", "b"].map(lines);
    let memory = Memory::of(&[("c/d/a", &a), ("c/d/b", &b), ("e/f2", &file), ("z/w/k", "k\n")]);
    let renamed = || memory.renames(&[("e/f2", "c/d/m22", &file)]);
    let folder = |from: &str, to: &str| {
        let paths = ["a", "b"].map(|name| (format!("{from}/{name}"), format!("{to}/{name}")));
        let [(a_from, a_to), (b_from, b_to)] = &paths;
        memory.renames(&[(a_from, a_to, &a), (b_from, b_to, &b)])
    };
    let first: Step<'_> = (&[], renamed());
    let second: Step<'_> = (&[], folder("c/d", "z/w"));
    // The file goes with the folder that it is in, whichever is renamed first.
    for steps in [[first.clone(), second.clone()], [second.clone(), first.clone()]] {
        follows(&memory, &steps, (&[], "e/f2"), "z/w/m22");
    }
    // What began with the first task's work knows the file by its new name.
    let steps = [first.clone(), second.clone()];
    follows(&memory, &steps, (&[0], "c/d/m22"), "z/w/m22");
    // Another task renames the same folder on, after the second, and once more.
    let third: Step<'_> = (&[1], folder("z/w", "y/v"));
    let fourth: Step<'_> = (&[1, 2], folder("y/v", "c/d"));
    let mut with_k = third.clone();
    with_k.1.extend(memory.renames(&[("z/w/k", "y/v/k", "k\n")]));
    let mut back = fourth.clone();
    back.1.extend(memory.renames(&[("y/v/k", "c/d/k", "k\n")]));
    let steps = [first.clone(), second.clone(), with_k.clone()];
    follows(&memory, &steps, (&[], "e/f2"), "y/v/m22");
    follows(&memory, &[first, second, with_k, back], (&[], "e/f2"), "c/d/m22");
}

#[test]
fn a_file_that_follows_a_folder_to_where_an_earlier_task_has_put_it_is_that_tasks_file() {
    let [a, file, k] = ["a", "file", "k"].map(lines);
    let memory = Memory::of(&[("e/a", &a), ("e/f", &file), ("z/w/k", &k)]);
    let all = [("e/a", "m/a", &a[..]), ("e/f", "m/f", &file), ("z/w/k", "m/k", &k)];
    let into_folder = [("e/a", "z/w/a", &a[..]), ("e/f", "z/w/f", &file)];
    let [all, into_folder]: [Step<'_>; 2] =
        [(&[], memory.renames(&all)), (&[], memory.renames(&into_folder))];
    let steps = [all.clone(), into_folder.clone()];
    follows(&memory, &steps, (&[1], "z/w/f"), "m/f");
    follows(&memory, &[into_folder, all], (&[0], "z/w/f"), "m/f");
    follows(&memory, &steps, (&[], "e/f"), "m/f");
    // The earlier task is the one with whose work the second began.
    let steps: [Step<'_>; 3] = [
        (&[], memory.renames(&[("e/f", "q/f", &file)])),
        (&[], memory.renames(&[("z/w/k", "m/k", &k)])),
        (&[0], memory.renames(&[("q/f", "z/w/f", &file)])),
    ];
    follows(&memory, &steps, (&[0, 2], "z/w/f"), "m/f");
}

#[test]
fn a_file_that_tasks_rename_after_each_other_is_still_the_same_file() {
    let file = lines("file");
    let memory = Memory::of(&[("one", &file), ("other", "other\n")]);
    let step = |after, from, to| -> Step<'_> { (after, memory.renames(&[(from, to, &file)])) };
    let steps =
        [step(&[], "one", "two"), step(&[0], "two", "three"), step(&[0, 1], "three", "d/four")];
    follows(&memory, &steps[..2], (&[], "one"), "three");
    follows(&memory, &steps[..2], (&[0], "two"), "three");
    follows(&memory, &steps, (&[], "one"), "d/four");
    follows(&memory, &steps, (&[0], "two"), "d/four");
    follows(&memory, &steps, (&[0, 1], "three"), "d/four");
    // Renamed back, it is where it was.
    let steps = [step(&[], "one", "two"), step(&[0], "two", "one")];
    let edited = format!("{file}edited\n");
    let edit = vec![memory.change("one", &file, &edited)];
    let (tree, conflicts) = memory.merge_steps(&[&steps[..], &[(&[], edit)]].concat());
    assert_eq!((tree.get("one"), conflicts), (Some(&edited), Vec::new()));
    // A task that began while it was renamed finds it there, and wherever it goes from there.
    follows(&memory, &steps, (&[0], "two"), "one");
    let steps = [&steps[..], &[step(&[0, 1], "one", "three")]].concat();
    follows(&memory, &steps, (&[0], "two"), "three");
    follows(&memory, &steps, (&[0, 1], "one"), "three");
    follows(&memory, &steps, (&[], "one"), "three");
}

#[test]
fn files_that_tasks_swap_are_those_at_the_names_that_they_get() {
    let [file, other] = ["file", "other"].map(lines);
    let memory = Memory::of(&[("one", &file), ("two", &other)]);
    let steps: [Step<'_>; 3] = [
        (&[], memory.renames(&[("one", "aside", &file)])),
        (&[0], memory.renames(&[("two", "one", &other)])),
        (&[0, 1], memory.renames(&[("aside", "two", &file)])),
    ];
    let (tree, conflicts) = memory.merge_steps(&steps);
    let swapped = [("one".to_owned(), other.clone()), ("two".to_owned(), file.clone())];
    assert_eq!((tree, conflicts), (swapped.into(), Vec::new()));
    // While the second name is free, the first file is still aside.
    follows(&memory, &steps[..1], (&[], "one"), "aside");
    let edited = format!("{file}edited\n");
    let edit: Step<'_> = (&[0], vec![memory.change("aside", &file, &edited)]);
    // As in git, a file that gets the name of another one is a change of that one.
    let conflicts = memory.merge_steps(&[&steps[..], &[edit]].concat()).1;
    let reasons: Vec<_> = conflicts.iter().map(|conflict| conflict.1).collect();
    assert_eq!(reasons, [ConflictReason::ChangedAndRemoved], "{conflicts:?}");
}

#[test]
fn a_file_that_follows_a_folder_to_the_old_name_of_another_does_not_count_as_a_change_of_that() {
    let [file, other, one, two] = ["file", "other", "one", "two"].map(lines);
    let memory = Memory::of(&[("b/f", &file), ("e/x", &other), ("c/d/1", &one), ("c/d/2", &two)]);
    let renames = [("b/f", "a/f", &file[..]), ("e/x", "c/f", &other)];
    let mut last = memory.renames(&[("c/d/1", "b/d/1", &one), ("c/d/2", "b/d/2", &two)]);
    last.push(memory.change("b/f", &file, ""));
    let steps: [Step<'_>; 3] =
        [(&[], memory.renames(&renames[..1])), (&[], memory.renames(&renames[1..])), (&[], last)];
    // The last task moves `c/f` to `b/f`, and removes the file that was there, which is `a/f` by now.
    let (tree, conflicts) = memory.merge_steps(&steps);
    let removed = ("a/f".to_owned(), ConflictReason::RenamedAndRemoved, Some(task(0)));
    assert_eq!(conflicts, [removed]);
    assert_eq!(tree.keys().collect::<Vec<_>>(), ["a/f", "c/d/1", "c/d/2", "c/f"]);
}
