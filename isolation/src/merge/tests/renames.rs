//! Merging of renamed files and folders, in memory.

use super::*;
use crate::merge::OutsideChanges;

fn lines(name: &str) -> String {
    (0..20).map(|line| format!("{name} {line}\n")).collect()
}

#[test]
fn a_new_file_follows_a_folder_to_where_another_file_was_renamed_away() {
    let [a, b, x] = ["a", "b", "x"].map(lines);
    let edited = format!("{x}edited\n");
    let memory = Memory::of(&[("d1/k", "stays\n"), ("d1/x", &x), ("d2/a", &a), ("d2/b", &b)]);
    let folder = vec![
        memory.change("d1/a", "", &a),
        memory.change("d1/b", "", &b),
        memory.change("d1/x", &x, &edited),
        memory.change("d2/a", &a, ""),
        memory.change("d2/b", &b, ""),
    ];
    let file = vec![
        memory.change("d1/x", &x, ""),
        memory.change("d2/x", "", "a file of its own\n"),
        memory.change("e/x", "", &x),
    ];
    let own = "a file of its own\n";
    let end =
        [("d1/a", &a[..]), ("d1/b", &b), ("d1/k", "stays\n"), ("d1/x", own), ("e/x", &edited)];
    let expected = Memory::of(&end).merge_all(&[]).0;
    for tasks in [[folder.clone(), file.clone()], [file, folder]] {
        let (after, conflicts) = memory.merge_all(&tasks);
        assert!(conflicts.iter().all(Vec::is_empty), "{conflicts:?}");
        assert_eq!(after, expected);
    }
}

#[test]
fn a_renamed_file_follows_a_folder_to_a_name_that_its_own_side_has_cleared() {
    let [own, gone, kept] = ["own", "gone", "kept"].map(lines);
    let edited = format!("{own}edited\n");
    let memory = Memory::of(&[("b/f", &gone), ("c/k", &kept), ("lib/f", &own)]);
    let moved = vec![
        memory.change("b/f", &gone, ""),
        memory.change("c/f", "", &own),
        memory.change("lib/f", &own, ""),
    ];
    let folder = vec![
        memory.change("b/k", "", &kept),
        memory.change("c/k", &kept, ""),
        memory.change("lib/f", &own, &edited),
    ];
    let expected = Memory::of(&[("b/f", &edited), ("b/k", &kept)]).merge_all(&[]).0;
    for tasks in [[moved.clone(), folder.clone()], [folder, moved]] {
        let (after, conflicts) = memory.merge_all(&tasks);
        assert!(conflicts.iter().all(Vec::is_empty), "{conflicts:?}");
        assert_eq!(after, expected);
    }
}

/// A tree in which the user renamed `c/z` to `c/w` and made `d2/mine`.
struct Edited(BTreeMap<RepoPath, Option<Entry>>);

impl OutsideChanges for Edited {
    fn had_folder(&self, _: &RepoPath) -> bool {
        true
    }

    fn bases(&self) -> Result<&BTreeMap<RepoPath, Option<Entry>>> {
        Ok(&self.0)
    }

    fn old_path(&self, _: &RepoPath, _: Option<Entry>) -> Option<RepoPath> {
        None
    }

    fn has_landed_in(&self, _: &RepoPath) -> bool {
        false
    }

    fn author(&self, _: &RepoPath, _: Option<Entry>) -> Option<TaskName> {
        None
    }
}

#[test]
fn a_new_file_of_the_user_stays_where_it_is_when_a_task_renames_its_folder() {
    let [a, b, z] = ["a", "b", "z"].map(lines);
    let edited = format!("{z}edited\n");
    let memory = Memory::of(&[("c/w", &z), ("d2/a", &a), ("d2/b", &b), ("d2/mine", "mine\n")]);
    let bases = [(path("c/z"), memory.entry(Mode::File, &z))];
    let added = [(path("c/w"), None), (path("d2/mine"), None)];
    let outside = Edited(bases.into_iter().chain(added).collect());
    let mut merger = Merger::over(&memory, &memory.bytes).beside(&outside);
    let changes = [
        memory.change("c/z", &z, &edited),
        memory.change("d1/a", "", &a),
        memory.change("d1/b", "", &b),
        memory.change("d2/a", &a, ""),
        memory.change("d2/b", &b, ""),
    ];
    merger.add(&task(0), &none(), &changes).unwrap().unwrap();
    let merged = merger.finish();
    let paths: Vec<_> = merged.keys().map(RepoPath::to_string).collect();
    assert_eq!(paths, ["c/w", "d1/a", "d1/b", "d2/a", "d2/b"]);
    assert_eq!(merged[&path("c/w")].after, memory.entry(Mode::File, &edited));
}

#[test]
fn a_recorded_rename_meets_an_edit_however_little_the_file_is_alike() {
    let base = lines("x");
    let head = "x 0\nx 1\n";
    let body: String = (2..20).map(|line| format!("another text in line {line}\n")).collect();
    let rewritten = format!("{head}{body}");
    let edited = base.replace("x 0\n", "edited\n");
    let memory = Memory::of(&[("old", &base), ("other", "other\n")]);
    let edit = vec![memory.change("old", &base, &edited)];
    let gone = memory.change("old", &base, "");
    let new = memory.change("new", "", &rewritten);
    let similar = vec![new.clone(), gone.clone()];
    let recorded = vec![Change { from: Some(path("old")), ..new }, gone];
    let both = rewritten.replace("x 0\n", "edited\n");
    let expected = Memory::of(&[("new", &both), ("other", "other\n")]).merge_all(&[]).0;
    for tasks in [[recorded.clone(), edit.clone()], [edit.clone(), recorded.clone()]] {
        let (after, conflicts) = memory.merge_all(&tasks);
        assert!(conflicts.iter().all(Vec::is_empty), "{conflicts:?}");
        assert_eq!(after, expected);
    }
    // Without the record it is another file, and the edit has lost its own.
    let conflicts = memory.merge_all(&[similar, edit]).1;
    assert_eq!(conflicts[1].len(), 1, "{conflicts:?}");
    // Two tasks that renamed it to different names are reported with both, alike or not.
    let elsewhere = Change { from: Some(path("old")), ..memory.change("third", "", &rewritten) };
    let twice = [recorded, vec![memory.change("old", &base, ""), elsewhere]];
    let conflicts = memory.merge_all(&twice).1;
    let reasons: Vec<_> = conflicts[1].iter().map(|conflict| conflict.reason).collect();
    assert_eq!(reasons, [ConflictReason::RenamedTwice], "{conflicts:?}");
}
