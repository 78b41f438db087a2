//! The main job on a real repository: a copy of this project's own source.

use test_limit::by_depth;
use tests::sandbox::{Finished, Repository, Sandbox, copy_of_this_source};

use crate::binary::sandbox;

/// How many tasks there are: sixteen in full depth.
fn count() -> usize {
    by_depth(5, 16)
}

/// Returns a file of the repository for each task.
fn files(repository: &Repository) -> Vec<String> {
    let listed = repository.git(&["ls-files", "*.rs"]);
    let files: Vec<_> = listed.lines().step_by(3).take(count()).map(str::to_owned).collect();
    assert_eq!(files.len(), count());
    files
}

/// Runs the tasks, each of which appends a line to a file of its own.
fn run(place: &Sandbox, repository: &Repository, files: &[String], merge: &str) -> Finished {
    let script = "echo \"// appended by {{index}}\" >> {{item}}";
    let run = place.run_in(repository).words("--each - --jobs 4").arg("--merge").arg(merge);
    let finished = run.exec(script).stdin(files.join("\n")).run().expect_code(0);
    assert_eq!(finished.landed().len(), count(), "{finished}");
    assert_eq!(finished.names_in("task_finished").len(), count(), "{finished}");
    finished
}

/// Checks that each file has its line, in the tree, and that nothing else has changed there.
fn expect_lines(repository: &Repository, files: &[String], before: &[String]) {
    for (file, before) in files.iter().zip(before) {
        let now = repository.text(file);
        let added = now.strip_prefix(before).unwrap_or_else(|| panic!("{file} was rewritten"));
        assert!(added.starts_with("// appended by "), "{file}: {added}");
        assert_eq!(added.lines().count(), 1, "{file}: {added}");
    }
}

fn texts(repository: &Repository, files: &[String]) -> Vec<String> {
    files.iter().map(|file| repository.text(file)).collect()
}

/// Checks that there is a branch for each task, each HEAD and one commit that changes one file.
fn expect_branches(repository: &Repository, finished: &Finished, files: &[String]) {
    let run = finished.run_name();
    let pattern = format!("refs/heads/regatta/{run}");
    let listed = repository.git(&["for-each-ref", "--format=%(refname:short)", &pattern]);
    let branches: Vec<_> = listed.lines().collect();
    assert_eq!(branches.len(), count(), "{listed}");
    let mut changed = Vec::new();
    for branch in branches {
        let range = format!("HEAD..{branch}");
        assert_eq!(repository.git(&["rev-list", "--count", &range]).trim(), "1", "{branch}");
        let names = repository.git(&["diff", "--numstat", "HEAD", branch]);
        let row: Vec<_> = names.trim().split('\t').collect();
        let [added, removed, file] = row[..] else { panic!("one file in {branch}: {names}") };
        assert_eq!((added, removed), ("1", "0"), "{branch}: {names}");
        changed.push(file.to_owned());
    }
    changed.sort_unstable();
    let mut wanted = files.to_vec();
    wanted.sort_unstable();
    assert_eq!(changed, wanted);
    assert_eq!(repository.faults(), "");
}

/// Checks that nothing is left. A program may end before its copies of so many files are removed.
fn expect_nothing_left(place: &Sandbox, repository: &Repository) {
    let _removed = place.regatta(repository.root()).words("gc").run().expect_code(0);
    place.expect_nothing_left(repository);
}

/// Lands the work in the tree, and checks it and the user's own work.
fn land_in_the_tree(place: &Sandbox, repository: &Repository, files: &[String]) {
    let before = texts(repository, files);
    let (git, tree, dirt) = (repository.dot_git(), repository.tree(), repository.dirt());
    run(place, repository, files, "patch");
    expect_lines(repository, files, &before);
    assert_eq!(tree.differences(&repository.tree()).len(), count());
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    assert_eq!(dirt, repository.dirt());
    expect_nothing_left(place, repository);
}

/// Makes branches of the work, and checks them and that nothing else has changed.
fn land_on_branches(place: &Sandbox, repository: &Repository, files: &[String]) {
    let (tree, index) = (repository.tree(), repository.read(".git/index"));
    let dirt = repository.dirt();
    let finished = run(place, repository, files, "branch");
    expect_branches(repository, &finished, files);
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    assert_eq!(index, repository.read(".git/index"));
    assert_eq!(dirt, repository.dirt());
    expect_nothing_left(place, repository);
}

#[test]
fn tasks_over_a_copy_of_this_source_clean_or_dirty_land_in_the_tree_or_make_branches() {
    let place = sandbox();
    let repository = copy_of_this_source(&place.folder().join("engine"));
    let files = files(&repository);
    // In quick depth a clean tree with one of the two and a dirty one with the other.
    land_on_branches(&place, &repository, &files);
    if by_depth(false, true) {
        land_in_the_tree(&place, &repository, &files);
        repository.commit("the work");
    }
    repository.make_dirty();
    if by_depth(false, true) {
        land_on_branches(&place, &repository, &files);
    }
    land_in_the_tree(&place, &repository, &files);
}
