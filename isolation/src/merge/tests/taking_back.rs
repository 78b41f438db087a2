//! Work that is taken back, or merged in part: files get their names, or stay where they are.

use engine::ports::ConflictingRest;

use super::*;
use crate::merge::random::Random;

/// Files, by path.
type Files = BTreeMap<String, String>;

fn files(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(path, content)| (path.to_string(), lines(content))).collect()
}

fn lines(name: &str) -> String {
    (0..20).map(|line| format!("{name} {line}\n")).collect()
}

/// Takes the step from `before` to `landed` back in a tree that has `now`. Returns the tree, and the
/// paths that are left.
fn taken_back([before, landed, now]: [&Files; 3]) -> (Files, Vec<String>) {
    let listed: Vec<_> = now.iter().map(|(path, text)| (&path[..], &text[..])).collect();
    let memory = Memory::of(&listed);
    let at = |files: &Files, path: &str| files.get(path).cloned().unwrap_or_default();
    let paths: std::collections::BTreeSet<_> = before.keys().chain(landed.keys()).collect();
    let changes = paths.into_iter().map(|path| (path, at(landed, path), at(before, path)));
    let changes: Vec<Change> = changes
        .filter(|(_, base, task)| base != task)
        .map(|(path, base, task)| memory.change(path, &base, &task))
        .collect();
    let mut merger = Merger::over(&memory, &memory.bytes).taking_back();
    let rest = ConflictingRest::LandClean;
    let request = SettleRequest { rest, ..SettleRequest::default() };
    let added = merger.add_settled((&task(0), &none()), &changes, &request).unwrap();
    let left = added.conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
    let mut after = now.clone();
    for (path, merged) in merger.finish() {
        match merged.after {
            Some(entry) => {
                let text = String::from_utf8(memory.bytes.read(entry.oid).unwrap()).unwrap();
                after.insert(path.to_string(), text)
            }
            None => after.remove(&path.to_string()),
        };
    }
    (after, left)
}

#[test]
fn a_file_whose_old_name_another_file_has_stays_at_its_new_name() {
    let before = files(&[("a/0", "x"), ("a/1", "y")]);
    let landed = files(&[("b/0", "x"), ("c/1", "y")]);
    let mut now = landed.clone();
    now.insert("a/0".into(), lines("of the user"));
    let (after, left) = taken_back([&before, &landed, &now]);
    assert_eq!(after, files(&[("a/0", "of the user"), ("a/1", "y"), ("b/0", "x")]));
    assert_eq!(left, ["a/0"]);

    // In a chain of renames, none goes on.
    let before = files(&[("a", "x"), ("b", "y"), ("d", "z")]);
    let landed = files(&[("b", "x"), ("c", "y"), ("e", "z")]);
    let mut now = landed.clone();
    now.insert("a".into(), lines("of the user"));
    let (after, left) = taken_back([&before, &landed, &now]);
    let expected = files(&[("a", "of the user"), ("b", "x"), ("c", "y"), ("d", "z")]);
    assert_eq!(after, expected);
    assert_eq!(left, ["a", "b", "c"]);
}

#[test]
fn work_that_is_merged_in_part_renames_a_file_or_leaves_it() {
    let [x, of_the_user] = ["x", "of the user"].map(lines);
    let memory = Memory::of(&[("a", &x), ("b", &of_the_user), ("c", "1\n")]);
    let changes =
        [memory.change("a", &x, ""), memory.change("b", "", &x), memory.change("c", "1\n", "2\n")];
    let mut merger = Merger::over(&memory, &memory.bytes);
    let rest = ConflictingRest::LandClean;
    let request = SettleRequest { rest, ..SettleRequest::default() };
    let added = merger.add_settled((&task(0), &none()), &changes, &request).unwrap();
    let left: Vec<_> = added.conflicts.iter().flat_map(crate::settle::concerned_paths).collect();
    assert_eq!(left, [path("a"), path("b")]);
    assert_eq!(added.settled.landed, [path("c")]);
    assert_eq!(merger.finish().into_keys().collect::<Vec<_>>(), [path("c")]);
}

#[test]
fn no_file_is_at_neither_of_its_names_after_work_is_taken_back() {
    let names = ["a/0", "a/1", "b/0", "b/1", "c/0"];
    for seed in 0..4_000 {
        let mut random = Random::new(seed);
        let mut before = Files::new();
        let mut landed = Files::new();
        for name in &names[..3] {
            before.insert(names[random.below(5)].into(), lines(name));
            landed.insert(names[random.below(5)].into(), lines(name));
        }
        let mut now = landed.clone();
        for number in 0..random.below(3) {
            let name = names[random.below(5)];
            match random.below(3) {
                0 => now.remove(name),
                _ => now.insert(name.into(), lines(&format!("user {number}"))),
            };
        }
        let (after, left) = taken_back([&before, &landed, &now]);
        let all = format!("{seed}: {before:?} {landed:?} {now:?} {after:?} {left:?}");
        let stands = |files: &Files, text: &String| files.values().any(|other| other == text);
        for text in before.values().filter(|text| stands(&now, text)) {
            assert!(stands(&after, text), "{all}");
        }
        if now == landed {
            assert_eq!((&after, &left[..]), (&before, &[][..]), "{all}");
        }
    }
}
