//! The main job on a real repository: a copy of this project's own source.

use tests::sandbox::{Finished, Repository, Sandbox, copy_of_this_source};

use super::sandbox;

/// Returns sixteen files of the repository.
fn sixteen(repository: &Repository) -> Vec<String> {
    let listed = repository.git(&["ls-files", "*.rs"]);
    let files: Vec<_> = listed.lines().step_by(3).take(16).map(str::to_owned).collect();
    assert_eq!(files.len(), 16);
    files
}

/// Runs sixteen tasks, each of which appends a line to a file of its own.
fn run(place: &Sandbox, repository: &Repository, files: &[String], merge: &str) -> Finished {
    let script = "echo \"// appended by {{index}}\" >> {{item}}";
    let run = place.run_in(repository).words("--each - --jobs 4").arg("--merge").arg(merge);
    let finished = run.exec(script).stdin(files.join("\n")).run().expect_code(0);
    assert_eq!(finished.landed().len(), 16, "{finished}");
    assert_eq!(finished.names_in("task_finished").len(), 16, "{finished}");
    finished
}

/// Checks that each file has its line, in the tree, and that nothing else has changed there.
fn expect_sixteen_lines(repository: &Repository, files: &[String], before: &[String]) {
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

#[test]
fn sixteen_tasks_over_a_copy_of_this_source_land_sixteen() {
    let place = sandbox();
    let repository = copy_of_this_source(&place.folder().join("engine"));
    let files = sixteen(&repository);
    let (before, git, tree) = (texts(&repository, &files), repository.dot_git(), repository.tree());
    run(&place, &repository, &files, "patch");
    expect_sixteen_lines(&repository, &files, &before);
    assert_eq!(tree.differences(&repository.tree()).len(), 16);
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}

#[test]
fn sixteen_tasks_over_a_dirty_copy_of_this_source_leave_the_users_work_as_it_was() {
    let place = sandbox();
    let repository = copy_of_this_source(&place.folder().join("engine"));
    repository.make_dirty();
    let files = sixteen(&repository);
    let (before, git, dirt) = (texts(&repository, &files), repository.dot_git(), repository.dirt());
    run(&place, &repository, &files, "patch");
    expect_sixteen_lines(&repository, &files, &before);
    assert_eq!(dirt, repository.dirt());
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}

/// Checks that there are sixteen branches, each HEAD and one commit that changes one file.
fn expect_sixteen_branches(repository: &Repository, finished: &Finished, files: &[String]) {
    let run = finished.run_name();
    let pattern = format!("refs/heads/regatta/{run}");
    let listed = repository.git(&["for-each-ref", "--format=%(refname:short)", &pattern]);
    let branches: Vec<_> = listed.lines().collect();
    assert_eq!(branches.len(), 16, "{listed}");
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

#[test]
fn sixteen_tasks_over_a_copy_of_this_source_make_sixteen_branches() {
    let place = sandbox();
    let repository = copy_of_this_source(&place.folder().join("engine"));
    let files = sixteen(&repository);
    let (tree, index) = (repository.tree(), repository.read(".git/index"));
    let finished = run(&place, &repository, &files, "branch");
    expect_sixteen_branches(&repository, &finished, &files);
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    assert_eq!(index, repository.read(".git/index"));
    place.expect_nothing_left(&repository);
}

#[test]
fn sixteen_branches_grow_beside_the_users_dirty_tree() {
    let place = sandbox();
    let repository = copy_of_this_source(&place.folder().join("engine"));
    repository.make_dirty();
    let files = sixteen(&repository);
    let (tree, dirt) = (repository.tree(), repository.dirt());
    let finished = run(&place, &repository, &files, "branch");
    expect_sixteen_branches(&repository, &finished, &files);
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    assert_eq!(dirt, repository.dirt());
    place.expect_nothing_left(&repository);
}
