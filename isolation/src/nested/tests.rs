//! Bounds and rules of nested repositories, without a run.

use std::fs;

use protocol::CaptureRef;

use crate::backends::RunContext;
use crate::baseline::{MOST_NESTED, Snapshot};
use crate::file_entry::{Change, Entry, Mode};
use crate::nested::{NO_LINKS, NestedWork, Part};
use crate::store::{Contents, OwnCommit, Series};
use crate::testing::{Sample, git, path, prepare, run};
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

#[test]
fn a_capture_says_what_was_done_in_nested_repositories() {
    let sample = Sample::with(&[("file", "x\n")]);
    let store = sample.store();
    let entry = |bytes: &[u8]| Entry { mode: Mode::File, oid: store.write(bytes).unwrap() };
    let oid = |digit: &str| Some(git2::Oid::from_str(&digit.repeat(40)).unwrap());
    let commit = OwnCommit {
        author: "Ada".to_owned(),
        email: "ada@localhost".to_owned(),
        time: 1,
        offset: 60,
        message: "Mine\n".to_owned(),
        paths: [(path("deep/a"), Some(entry(b"of the commit\n"))), (path("gone"), None)].into(),
    };
    let series = Series { commits: vec![commit], ..Series::default() };
    let work = |folder: &str, series| NestedWork {
        path: path(folder),
        from: oid("1"),
        to: None,
        message: Some("Mine\n\nand more\n".to_owned()),
        series,
    };
    let nested = vec![work("lib", Series::default()), work("lib/odd \n", series)];
    let task = Some(entry(b"work\n"));
    let changes = vec![Change::new(path("lib/odd \n/deep/a"), None, task)];
    let contents = Contents { changes, nested, ..Contents::default() };
    let capture = CaptureRef::of(&run("raaaa"), &"a".parse().unwrap(), 1);
    store.put_capture(&capture, &contents, "raaaa/a 1").unwrap();
    assert_eq!(store.contents(&capture).unwrap(), contents);
    assert_eq!(store.nested_roots(&capture).unwrap(), [path("lib"), path("lib/odd \n")]);
    let part = Part::Nested(&contents.nested[1].path);
    let git = sample.repo().git().unwrap();
    let part = part.of(contents.clone(), &git);
    assert_eq!(part.changes[0].path, path("deep/a"));
    assert_eq!(part.series, contents.nested[1].series);
    assert_eq!(Part::Root(&NO_LINKS).of(contents, &git).changes, []);
}

fn why(snapshot: &Snapshot) -> Vec<&str> {
    let named = snapshot.notices.iter().filter(|it| it.from == "repositories inside this one");
    named.map(|notice| notice.why.as_str()).collect()
}

#[test]
fn more_than_a_thousand_nested_repositories_are_told() {
    let sample = Sample::with(&[("file", "x\n")]);
    assert_eq!(MOST_NESTED, 1_000);
    let most = test_limit::by_depth(20, MOST_NESTED);
    let name = |number: usize| format!("n{number:04}");
    for number in 0..most + 2 {
        empty_repository(&sample, &name(number));
    }
    let snapshot = sample.freeze_with("raaaa", |context| {
        assert_eq!(context.most_nested, MOST_NESTED);
        RunContext { most_nested: most, ..context }
    });
    assert_eq!(snapshot.nested.len(), most);
    let told = [most, most + 1].map(|it| format!("{} (there are more than {most})", name(it)));
    assert_eq!(why(&snapshot), [format!("they cannot be used: {}", told.join(", "))]);
    assert!(snapshot.table.folders.contains_key(name(most - 1).as_bytes()));
    assert!(!snapshot.table.folders.contains_key(name(most).as_bytes()));
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
