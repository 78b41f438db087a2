use std::fs;

use protocol::CaptureRef;

use crate::testing::{Sample, captured, git, prepare, write};

fn lines(word: &str) -> String {
    (0..20).map(|line| format!("{word} {line}\n")).collect()
}

/// Returns the recorded renames of a capture.
fn renames(sample: &Sample, capture: &CaptureRef) -> Vec<(String, String)> {
    let changes = sample.store().changes(capture).unwrap().into_iter();
    changes.filter_map(|it| Some((it.from?.to_string(), it.path.to_string()))).collect()
}

#[test]
fn what_git_moved_in_the_index_or_in_commits_is_recorded_however_it_was_written_anew() {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(lines);
    let files = [("a", &a[..]), ("b", &b), ("c", &c), ("d", &d), ("e", "same\n"), ("f", "same\n")];
    let sample = Sample::with(&files);
    let snapshot = sample.freeze("raaaa");
    let workspace = prepare(&snapshot, "t");
    let root = &workspace.root;
    let new = |path: &str| write(root, path, lines("something else"));
    // In the index.
    git(root, &["mv", "a", "a2"]);
    new("a2");
    // In a commit, and then on in the index, with a change between the two.
    git(root, &["mv", "b", "b2"]);
    git(root, &["commit", "-q", "-m", "move b"]);
    new("b2");
    git(root, &["commit", "-q", "-a", "-m", "write b"]);
    git(root, &["mv", "b2", "b3"]);
    // Without git.
    fs::rename(root.join("c"), root.join("c2")).unwrap();
    new("c2");
    // Back to where it was.
    git(root, &["mv", "d", "d2"]);
    git(root, &["mv", "d2", "d"]);
    new("d");
    // Files of one content go to where their names are.
    fs::create_dir(root.join("x")).unwrap();
    git(root, &["mv", "f", "e", "x"]);
    let done = captured(&snapshot, &workspace);
    let expected = [("a", "a2"), ("b", "b3"), ("e", "x/e"), ("f", "x/f")];
    let expected = expected.map(|(from, to)| (from.to_owned(), to.to_owned()));
    assert_eq!(renames(&sample, &done.capture), expected);
}

#[test]
fn an_index_that_cannot_be_read_or_says_what_is_not_so_records_nothing() {
    let [a, b] = ["a", "b"].map(lines);
    let sample = Sample::with(&[("a", &a), ("b", &b)]);
    let snapshot = sample.freeze("raaaa");
    for (task, damage) in [("cut", true), ("lie", false)] {
        let workspace = prepare(&snapshot, task);
        let root = &workspace.root;
        git(root, &["mv", "a", "new"]);
        write(root, "new", lines("something else"));
        if damage {
            let index = root.join(".git/index");
            let index = if index.exists() { index } else { git_dir(root).join("index") };
            let bytes = fs::read(&index).unwrap();
            fs::write(&index, &bytes[..bytes.len() / 2]).unwrap();
        } else {
            // The file that is said to be gone is there.
            write(root, "a", &a);
        }
        let done = captured(&snapshot, &workspace);
        assert_eq!(renames(&sample, &done.capture), [], "{task}");
    }
}

/// Returns the git folder that the `.git` file of a workspace names.
fn git_dir(root: &std::path::Path) -> std::path::PathBuf {
    root.join(git(root, &["rev-parse", "--git-dir"]).trim())
}
