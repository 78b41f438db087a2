//! Bounds and rules of nested repositories, without a run.

use std::fs;

use crate::baseline::Snapshot;
use crate::nested::{has_whole_link, link_text};
use crate::testing::{Sample, git, prepare};
use crate::workspace::tree_of;

/// Makes a repository without a commit, by hand: a thousand of them take no time so.
fn empty_repository(sample: &Sample, folder: &str) {
    for folder in [format!("{folder}/.git/objects"), format!("{folder}/.git/refs/heads")] {
        fs::create_dir_all(sample.root.join(folder)).unwrap();
    }
    sample.write(format!("{folder}/.git/HEAD"), "ref: refs/heads/main\n");
    sample.write(format!("{folder}/.git/config"), "[core]\n\tbare = false\n");
    sample.write(format!("{folder}/file"), "x\n");
}

fn why(snapshot: &Snapshot) -> Vec<&str> {
    let named = snapshot.notices.iter().filter(|it| it.from == "repositories inside this one");
    named.map(|notice| notice.why.as_str()).collect()
}

#[test]
fn more_than_a_thousand_nested_repositories_are_told() {
    let sample = Sample::with(&[("file", "x\n")]);
    for number in 0..1_002 {
        empty_repository(&sample, &format!("n{number:04}"));
    }
    let snapshot = sample.freeze("raaaa");
    assert_eq!(snapshot.nested.len(), 1_000);
    let expected = "they cannot be used: n1000 (there are more than 1000), \
                    n1001 (there are more than 1000)";
    assert_eq!(why(&snapshot), [expected]);
    let workspace = prepare(&snapshot, "a");
    assert!(workspace.root.join("n0999/file").exists());
    assert!(!workspace.root.join("n1000").exists());
    let number = 999;
    let folder = fs::File::open(workspace.root.join("n0999")).unwrap();
    assert!(has_whole_link(&folder, &link_text(b"n0999", number)));
}

#[test]
fn each_nested_repository_has_its_own_index_and_ignore_rules() {
    let sample = Sample::with(&[("file", "x\n"), (".gitignore", "*.log\n/vendor/\n")]);
    for (folder, rules) in [("lib", "*.o\n"), ("vendor", "")] {
        let root = sample.root.join(folder);
        fs::create_dir(&root).unwrap();
        git(&root, &["init", "-q", "-b", "main"]);
        sample.write(format!("{folder}/.gitignore"), rules);
        sample.write(format!("{folder}/a.log"), "not ignored here\n");
        sample.write(format!("{folder}/a.o"), "x\n");
        sample.write(format!("{folder}/.git/info/exclude"), "*.tmp\n");
        sample.write(format!("{folder}/a.tmp"), "x\n");
    }
    sample.write("a.log", "x\n");
    sample.write("a.tmp", "x\n");
    let snapshot = sample.freeze("raaaa");
    assert_eq!(why(&snapshot), Vec::<&str>::new());
    let workspace = prepare(&snapshot, "a");
    let there = |path: &str| workspace.root.join(path).exists();
    let expected = [
        ("a.log", false),
        ("a.tmp", true),
        ("lib/a.log", true),
        ("lib/a.o", false),
        ("lib/a.tmp", false),
        ("vendor/a.log", true),
        ("vendor/a.o", true),
        ("vendor/a.tmp", false),
    ];
    let found = expected.map(|(path, _)| (path, there(path)));
    assert_eq!(found, expected);
    // What the task makes is judged by the same rules.
    for (path, _) in expected {
        fs::write(tree_of(&workspace.folder).join(path.replace("a.", "b.")), "work\n").unwrap();
    }
    let captured = crate::testing::captured(&snapshot, &workspace);
    let changes = sample.store().changes(&captured.capture).unwrap();
    let changed: Vec<String> = changes.iter().map(|change| change.path.to_string()).collect();
    let there = expected.iter().filter(|(_, there)| *there);
    let expected: Vec<String> = there.map(|(path, _)| path.replace("a.", "b.")).collect();
    assert_eq!(changed, expected);
}
