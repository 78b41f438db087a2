//! Conflicts of renamed files and folders that are settled by markers, in memory.

use engine::ports::{ConflictingRest, SettleChoice};

use super::*;

/// The files of a tree: mode and content by path.
type Files = BTreeMap<String, (Mode, String)>;

fn lines(name: &str) -> String {
    (0..20).map(|line| format!("{name} {line}\n")).collect()
}

/// Merges two tasks, the conflicts of the second settled by `choice`. Returns the tree, and the
/// conflicts that the second has without a choice and with it.
fn settled(
    memory: &Memory,
    [ours, theirs]: [&[Change]; 2],
    choice: SettleChoice,
) -> (Files, [Vec<Conflict>; 2]) {
    let merge = |request: &SettleRequest| {
        let mut merger = Merger::over(memory, &memory.bytes);
        merger.add(&task(0), &none(), ours).unwrap().unwrap();
        let second = (&task(1), &none());
        let conflicts = merger.add_settled(second, theirs, request).unwrap().conflicts;
        (conflicts, merger.finish())
    };
    let (conflicts, _) = merge(&SettleRequest::default());
    let rest = ConflictingRest::LandClean;
    let (left, merged) =
        merge(&SettleRequest { all: Some(choice), rest, ..SettleRequest::default() });
    let mut tree = memory.entries.clone();
    tree.extend(merged.into_iter().map(|(path, merged)| (path, merged.after)));
    let text = |entry: Entry| String::from_utf8(memory.bytes.read(entry.oid).unwrap()).unwrap();
    let files = tree.into_iter().filter_map(|(path, entry)| Some((path, entry?)));
    let files = files.map(|(path, entry)| (path.to_string(), (entry.mode, text(entry))));
    (files.collect(), [conflicts, left])
}

fn file(text: &str) -> (Mode, String) {
    (Mode::File, text.to_owned())
}

#[test]
fn a_file_that_one_side_renamed_and_the_other_made_a_symlink_is_one_conflict_and_both_are_kept() {
    let old = lines("old");
    let memory = Memory::of(&[("old", &old)]);
    let renamed = [memory.change("old", &old, ""), memory.change("new", "", &old)];
    let link = memory.entry(Mode::Link, "target");
    let link = [Change::new(path("old"), memory.entry(Mode::File, &old), link)];
    let link_there = ("old".to_owned(), (Mode::Link, "target".to_owned()));
    let file_there = ("new".to_owned(), file(&old));
    let both = [link_there.clone(), file_there.clone()];
    for (sides, [ours, theirs]) in [
        ([&renamed[..], &link[..]], [&file_there, &link_there]),
        ([&link[..], &renamed[..]], [&link_there, &file_there]),
    ] {
        let (files, [conflicts, left]) = settled(&memory, sides, SettleChoice::Markers);
        assert_eq!(conflicts.len(), 1, "{conflicts:?}");
        assert_eq!(conflicts[0].reason, ConflictReason::Kind);
        assert_eq!((files, left), (both.clone().into(), Vec::new()));
        for (choice, kept) in [(SettleChoice::Ours, ours), (SettleChoice::Theirs, theirs)] {
            let (files, [_, left]) = settled(&memory, sides, choice);
            assert_eq!((files, left), ([kept.clone()].into(), Vec::new()));
        }
    }
}

#[test]
fn a_file_without_lines_that_has_two_new_names_keeps_each_version_at_its_own() {
    let [old, one, two] = ["", "one", "two"].map(|end| format!("\0{}{end}\n", lines("old")));
    let memory = Memory::of(&[("old", &old)]);
    let renamed =
        |name: &str, text: &str| [memory.change("old", &old, ""), memory.change(name, "", text)];
    let (ours, theirs) = (renamed("ours", &one), renamed("theirs", &two));
    let (files, [conflicts, left]) = settled(&memory, [&ours, &theirs], SettleChoice::Markers);
    assert_eq!(conflicts[0].reason, ConflictReason::RenamedTwice);
    let kept = [("ours".to_owned(), file(&one)), ("theirs".to_owned(), file(&two))];
    assert_eq!((files, left), (kept.into(), Vec::new()));
}

#[test]
fn a_file_without_lines_that_both_sides_changed_has_the_mode_that_one_of_them_gave_it() {
    let memory = Memory::of(&[("data", "\0")]);
    let ours = [memory.change("data", "\0", "\0ours")];
    let mut theirs = [memory.change("data", "\0", "\0theirs")];
    theirs[0].task = memory.entry(Mode::Executable, "\0theirs");
    let (files, [conflicts, left]) = settled(&memory, [&ours, &theirs], SettleChoice::Markers);
    assert_eq!(conflicts[0].reason, ConflictReason::Binary);
    let merged = ("data".to_owned(), (Mode::Executable, "\0ours".to_owned()));
    assert_eq!((files, left), ([merged].into(), Vec::new()));
}

#[test]
fn a_path_in_two_conflicts_is_settled_in_both() {
    let [old, ours, theirs] = [lines("old"), lines("ours"), format!("{}more\n", lines("old"))];
    let memory = Memory::of(&[("old", &old)]);
    let removed = [memory.change("old", &old, ""), memory.change("new", "", &ours)];
    let renamed = [memory.change("old", &old, ""), memory.change("new", "", &theirs)];
    let (files, [conflicts, left]) = settled(&memory, [&removed, &renamed], SettleChoice::Markers);
    let reasons: Vec<_> = conflicts.iter().map(|conflict| conflict.reason).collect();
    assert_eq!(reasons, [ConflictReason::RenamedAndRemoved, ConflictReason::BothAdded]);
    let marked = file(&format!("<<<<<<< ours\n{ours}=======\n{theirs}>>>>>>> theirs\n"));
    assert_eq!((files, left), ([("new".to_owned(), marked)].into(), Vec::new()));
}

#[test]
fn what_follows_a_folder_to_below_a_file_is_kept_and_the_file_is_put_beside_it() {
    let [file_of_base, other] = ["file", "other"].map(lines);
    let edited = format!("{file_of_base}edited\n");
    let memory = Memory::of(&[("c/f", &file_of_base), ("c/g", &other)]);
    let folder = [
        memory.change("c/f", &file_of_base, ""),
        memory.change("c/f/inside", "", "inside\n"),
        memory.change("c/new", "", "new\n"),
    ];
    let renamed = [
        memory.change("c/f", &file_of_base, ""),
        memory.change("c/g", &other, ""),
        memory.change("moved/f", "", &edited),
        memory.change("moved/g", "", &other),
    ];
    let (files, [_, left]) = settled(&memory, [&folder, &renamed], SettleChoice::Markers);
    let kept = [
        ("moved/f/inside".to_owned(), file("inside\n")),
        ("moved/f~theirs".to_owned(), file(&edited)),
        ("moved/g".to_owned(), file(&other)),
        ("moved/new".to_owned(), file("new\n")),
    ];
    assert_eq!((files, left), (kept.into(), Vec::new()));
}

#[test]
fn a_folder_whose_place_is_known_is_not_split_by_a_file_that_went_elsewhere() {
    let [one, two, three, four] = ["one", "two", "three", "four"].map(lines);
    let elsewhere = format!("{one}edited\n");
    let memory = Memory::of(&[
        ("a/kept", "kept\n"),
        ("a/x/deep/1", &one),
        ("a/x/deep/2", &two),
        ("a/x/3", &three),
        ("a/x/4", &four),
    ]);
    let moved = [
        memory.change("a/other", "", &elsewhere),
        memory.change("a/x/deep/1", &one, ""),
        memory.change("a/x/deep/2", &two, ""),
        memory.change("a/x/3", &three, ""),
        memory.change("a/x/4", &four, ""),
        memory.change("new/deep/2", "", &two),
        memory.change("new/3", "", &three),
        memory.change("new/4", "", &four),
    ];
    let added = [memory.change("a/x/new", "", "new\n")];
    let (after, conflicts) = memory.merge_all(&[moved.to_vec(), added.to_vec()]);
    assert!(conflicts.iter().all(Vec::is_empty), "{conflicts:?}");
    assert_eq!(after["new/new"], "new\n");
}

#[test]
fn two_files_in_the_place_of_a_symlink_are_merged_as_two_new_files_with_the_mode_of_ours() {
    let [ours, theirs] = ["ours", "theirs"].map(lines);
    let mut memory = Memory::of(&[]);
    let link = memory.entry(Mode::Link, "target");
    memory.entries.insert(path("place"), link);
    let side = |mode, text: &str| [Change::new(path("place"), link, memory.entry(mode, text))];
    let (executable, plain) = (side(Mode::Executable, &ours), side(Mode::File, &theirs));
    let marked = format!("<<<<<<< ours\n{ours}=======\n{theirs}>>>>>>> theirs\n");
    let (files, [conflicts, left]) = settled(&memory, [&executable, &plain], SettleChoice::Markers);
    assert_eq!(conflicts[0].reason, ConflictReason::Content, "{conflicts:?}");
    let merged = ("place".to_owned(), (Mode::Executable, marked));
    assert_eq!((files, left), ([merged].into(), Vec::new()));
}

#[test]
fn a_name_that_two_files_would_get_is_two_conflicts_and_each_can_be_settled() {
    let [x, y, z] = ["x", "y", "z"].map(lines);
    let memory = Memory::of(&[("d/k", &x), ("e/k", &y), ("z", &z)]);
    let edited = format!("{z}edited\n");
    let ours = [
        memory.change("d/new", "", "new in d\n"),
        memory.change("m/new", "", "in the way\n"),
        memory.change("z", &z, &edited),
    ];
    let theirs = [
        memory.change("d/k", &x, ""),
        memory.change("m/k", "", &x),
        memory.change("z", &z, ""),
        memory.change("m/new", "", &z),
    ];
    let (_, [conflicts, _]) = settled(&memory, [&ours, &theirs], SettleChoice::Ours);
    let names = conflicts.iter().filter(|it| it.reason == ConflictReason::SameName);
    let from: Vec<_> = names.filter_map(|it| Some(it.renamed.as_ref()?.from.to_string())).collect();
    assert_eq!(from, ["d/new", "z"], "{conflicts:?}");
    for choice in [SettleChoice::Ours, SettleChoice::Theirs] {
        let (_, [_, left]) = settled(&memory, [&ours, &theirs], choice);
        assert_eq!(left, Vec::new());
    }
}

#[test]
fn a_symlink_that_follows_a_folder_to_the_name_of_a_file_has_it_and_the_file_is_beside() {
    let old = lines("old");
    let memory = Memory::of(&[("a/old", &old), ("b/k", "k\n")]);
    let renamed = [memory.change("a/old", &old, ""), memory.change("b/new", "", &old)];
    let link = |target| memory.entry(Mode::Link, target);
    let links = [
        Change::new(path("a/new"), None, link("one")),
        Change::new(path("a/old"), memory.entry(Mode::File, &old), link("two")),
    ];
    let link = |target: &str| (Mode::Link, target.to_owned());
    for (sides, beside) in
        [([&renamed, &links], "b/new~ours"), ([&links, &renamed], "b/new~theirs")]
    {
        let (files, [conflicts, left]) =
            settled(&memory, sides.map(|side| &side[..]), SettleChoice::Markers);
        let reasons: Vec<_> = conflicts.iter().map(|conflict| conflict.reason).collect();
        assert_eq!(reasons, [ConflictReason::BothAdded]);
        let kept = [
            ("a/old".to_owned(), link("two")),
            ("b/k".to_owned(), file("k\n")),
            ("b/new".to_owned(), link("one")),
            (beside.to_owned(), file(&old)),
        ];
        assert_eq!((files, left), (kept.into(), Vec::new()));
    }
}

#[test]
fn a_file_that_follows_a_folder_to_the_old_name_of_another_is_not_taken_for_that() {
    let [old, other, own] = ["old", "other", "own"].map(lines);
    let edited = format!("{old}edited\n");
    let memory = Memory::of(&[("a/g", &other), ("d/f", &old), ("d/k", "k\n")]);
    let link = memory.entry(Mode::Link, "target");
    let folder = [
        memory.change("a/g", &other, ""),
        Change::new(path("d/f"), memory.entry(Mode::File, &old), link),
        memory.change("d/g", "", &other),
    ];
    let renamed = [
        memory.change("a/f", "", &own),
        memory.change("d/f", &old, ""),
        memory.change("lib/f", "", &edited),
    ];
    // The old file is renamed, or removed.
    for (count, moved) in [(2, &renamed[..]), (1, &renamed[..2])] {
        for (sides, beside) in
            [([&folder[..], moved], "d/f~theirs"), ([moved, &folder[..]], "d/f~ours")]
        {
            let (files, [conflicts, left]) = settled(&memory, sides, SettleChoice::Markers);
            assert_eq!(conflicts.len(), count, "{conflicts:?}");
            let kept = [
                ("d/f".to_owned(), (Mode::Link, "target".to_owned())),
                (beside.to_owned(), file(&own)),
                ("d/g".to_owned(), file(&other)),
                ("d/k".to_owned(), file("k\n")),
                ("lib/f".to_owned(), file(&edited)),
            ];
            let kept = kept.into_iter().take(3 + count).collect::<Files>();
            assert_eq!((files, left), (kept, Vec::new()));
        }
    }
}

#[test]
fn a_file_that_follows_a_folder_to_the_name_of_a_folder_is_put_beside_that() {
    let [one, two] = ["one", "two"].map(lines);
    let memory = Memory::of(&[("a/one", &one), ("a/two", &two)]);
    let renamed = [memory.change("a/f", "", &one), memory.change("a/one", &one, "")];
    let folder = [
        memory.change("a/one", &one, ""),
        memory.change("a/two", &two, ""),
        memory.change("lib/f/inside", "", "inside\n"),
        memory.change("lib/one", "", &one),
        memory.change("lib/two", "", &two),
    ];
    let (files, [_, left]) = settled(&memory, [&renamed, &folder], SettleChoice::Markers);
    let kept = [
        ("lib/f/inside".to_owned(), file("inside\n")),
        ("lib/f~ours".to_owned(), file(&one)),
        ("lib/one".to_owned(), file(&one)),
        ("lib/two".to_owned(), file(&two)),
    ];
    assert_eq!((files, left), (kept.into(), Vec::new()));
}

#[test]
fn a_file_that_another_conflict_keeps_is_not_put_beside_a_folder() {
    let [old, other, own] = ["old", "other", "own"].map(lines);
    let memory = Memory::of(&[("c/g", &other), ("d/f", &old), ("d/k", "k\n")]);
    let added = [memory.change("c/f", "", &own)];
    let folder = [
        memory.change("c/g", &other, ""),
        memory.change("d/f", &old, ""),
        memory.change("d/f/inside", "", "inside\n"),
        memory.change("d/g", "", &other),
    ];
    let (files, [conflicts, _]) = settled(&memory, [&added, &folder], SettleChoice::Markers);
    assert_eq!(conflicts.len(), 2, "{conflicts:?}");
    let kept = [
        ("c/f".to_owned(), file(&own)),
        ("d/f".to_owned(), file(&old)),
        ("d/g".to_owned(), file(&other)),
        ("d/k".to_owned(), file("k\n")),
    ];
    assert_eq!(files, kept.into());
}

#[test]
fn a_renamed_file_that_follows_a_folder_to_a_cleared_name_goes_with_the_symlink_in_its_old_place() {
    let [old, gone, kept] = ["old", "gone", "kept"].map(lines);
    let memory = Memory::of(&[("b/f", &gone), ("c/f", &old), ("lib/k", &kept)]);
    let link = memory.entry(Mode::Link, "target");
    let renamed = [
        memory.change("b/f", &gone, ""),
        memory.change("c/f", &old, ""),
        memory.change("lib/f", "", &old),
    ];
    let folder = [
        memory.change("b/k", "", &kept),
        Change::new(path("c/f"), memory.entry(Mode::File, &old), link),
        memory.change("lib/k", &kept, ""),
    ];
    let end = [
        ("b/f".to_owned(), file(&old)),
        ("b/k".to_owned(), file(&kept)),
        ("c/f".to_owned(), (Mode::Link, "target".to_owned())),
    ];
    for sides in [[&renamed[..], &folder[..]], [&folder[..], &renamed[..]]] {
        let (files, [conflicts, _]) = settled(&memory, sides, SettleChoice::Markers);
        assert_eq!((files, conflicts), (end.clone().into(), Vec::new()));
    }
}

#[test]
fn a_choice_that_leaves_a_renamed_file_without_its_new_name_leaves_it_its_old_one() {
    let [old, other, third] = ["old", "other", "third"].map(lines);
    let edited = format!("{old}edited\n");
    let memory = Memory::of(&[("d/1", &other), ("d/2", &third), ("old", &old)]);
    let added = [memory.change("new", "", "ours\n")];
    let folder = [memory.change("new/inside", "", "inside\n")];
    let moved_folder = [
        memory.change("d/1", &other, ""),
        memory.change("d/2", &third, ""),
        memory.change("e/1", "", &other),
        memory.change("e/2", "", &third),
        memory.change("e/new", "", "ours\n"),
    ];
    let renamed = |name: &str, text: &str| {
        [memory.change("old", &old, ""), memory.change(name, "", text)].to_vec()
    };
    let link = memory.entry(Mode::Link, "target");
    let link = [Change::new(path("new"), None, link)];
    // What ours has at the new name, the work of the task, and whether the old name is in a conflict, too.
    let rows: [(&[Change], Vec<Change>); 6] = [
        (&added, renamed("new", &old)),
        (&added, renamed("new", &edited)),
        (&folder, renamed("new", &old)),
        (&folder, renamed("new", &edited)),
        (&link, renamed("new", &old)),
        (&moved_folder, renamed("d/new", &old)),
    ];
    for (ours, theirs) in &rows {
        let (before, _) = settled(&memory, [ours, &[]], SettleChoice::Ours);
        let (files, [conflicts, left]) = settled(&memory, [ours, theirs], SettleChoice::Ours);
        assert!(!conflicts.is_empty() && left.is_empty(), "{conflicts:?} {left:?}");
        assert_eq!(files, before, "{conflicts:?}");
        // Without a choice neither name lands, nor do both.
        let (files, _) = settled(&memory, [ours, theirs], SettleChoice::Union);
        let count = files.values().filter(|(_, text)| text.contains(&old)).count();
        assert_eq!(count, 1, "{files:?}");
    }
}

#[test]
fn a_renamed_file_that_one_of_two_conflicts_at_its_new_name_puts_there_leaves_its_old_one() {
    let [old, other] = ["old", "other"].map(lines);
    let edited = format!("{old}edited\n");
    let memory = Memory::of(&[("old", &old), ("other", &other)]);
    let ours = [memory.change("other", &other, ""), memory.change("new", "", &other)];
    let theirs = [
        memory.change("old", &old, ""),
        memory.change("other", &other, ""),
        memory.change("new", "", &edited),
    ];
    let (files, [conflicts, left]) = settled(&memory, [&ours, &theirs], SettleChoice::Markers);
    let reasons: Vec<_> = conflicts.iter().map(|conflict| conflict.reason).collect();
    assert_eq!(reasons, [ConflictReason::RenamedAndRemoved, ConflictReason::BothAdded]);
    assert!(files.keys().eq(["new"]) && left.is_empty(), "{files:?} {left:?}");
}

#[test]
fn a_file_beside_a_folder_at_its_new_name_has_the_changes_of_both_sides() {
    let memory = Memory::of(&[("old", &lines("old"))]);
    let [old, top, end] = [lines("old"), format!("top\n{}", lines("old")), lines("old") + "end\n"];
    let folder = [memory.change("old", &old, &top), memory.change("new/inside", "", "inside\n")];
    let renamed = [memory.change("old", &old, ""), memory.change("new", "", &end)];
    let both = [("theirs", [&folder, &renamed]), ("ours", [&renamed, &folder])];
    for (side, [ours, theirs]) in both {
        let (files, _) = settled(&memory, [ours, theirs], SettleChoice::Markers);
        let (inside, merged) = (file("inside\n"), file(&format!("top\n{end}")));
        let kept = [("new/inside".to_owned(), inside), (format!("new~{side}"), merged)];
        assert_eq!(files, kept.into());
    }
}
