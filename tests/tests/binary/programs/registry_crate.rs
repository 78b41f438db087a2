//! A crate of about a hundred files, as it came from a registry, as the repository: one of those
//! that we depend on, so that it is there wherever these tests can be compiled.

use std::process::{Command, Stdio};

use test_limit::by_depth;
use tests::sandbox::{Plan, Repository, Sandbox, copy_of_a_dependency, rustup_home, skip};

use super::readme::command_of;
use crate::binary::sandbox;

/// The crate.
const CRATE: &str = "proptest";

fn repository(place: &Sandbox) -> Repository {
    let repository = copy_of_a_dependency(CRATE, &place.folder().join("mine"));
    let files = repository.git(&["ls-files"]).lines().count();
    assert!((90..=150).contains(&files), "about a hundred files: {files}");
    repository
}

/// Returns a plain copy of a repository, to be the judge.
fn copy(place: &Sandbox, repository: &Repository) -> Repository {
    let plain = place.folder().join("plain");
    let copied = Command::new("cp").arg("-a").arg(repository.root()).arg(&plain).status();
    assert!(copied.is_ok_and(|status| status.success()));
    Repository::at(&plain)
}

#[test]
fn the_readmes_rustfmt_over_a_crate_fails_nowhere_and_does_what_rustfmt_does() {
    let name = "the_readmes_rustfmt_over_a_crate_fails_nowhere_and_does_what_rustfmt_does";
    let mut rustfmt = Command::new("rustfmt");
    let rustfmt = rustfmt.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !rustfmt.is_ok_and(|status| status.success()) {
        return skip(name, "there is no rustfmt");
    }
    let place = sandbox();
    let repository = repository(&place);
    let plain = copy(&place, &repository);
    let line = command_of("--exec 'rustfmt ");
    let line = line.replacen("regatta ", "\"$0\" ", 1);
    let git = repository.dot_git();
    let call = place.regatta(repository.root()).env("RUSTUP_HOME", rustup_home());
    let finished = call.shell(&line).run().expect_code(0);
    assert!(!finished.stdout.contains("failed"), "{finished}");
    assert!(!finished.stdout.contains("conflict"), "{finished}");

    let by_hand = "find src -name '*.rs' | sort | xargs rustfmt --edition 2021";
    let by_hand = Command::new("sh").args(["-c", by_hand]).current_dir(plain.root()).status();
    assert!(by_hand.is_ok_and(|status| status.success()));
    assert_eq!(plain.tree().differences(&repository.tree()), Vec::<String>::new(), "{finished}");
    assert!(repository.git(&["diff", "--name-only"]).lines().count() > 20, "it has work to do");
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}

/// Returns sixteen scripts, in quick depth eight: edits at both ends of one file, edits of files of their
/// own, additions, deletions, a rename, and a mode.
fn mixed(files: &[String]) -> Vec<(String, String)> {
    let [shared, others @ ..] = files else { panic!("the crate has files") };
    let mut scripts = vec![
        format!("sed -i '1i // first' {shared}"),
        format!("echo '// last' >> {shared}"),
        format!("mkdir -p new/folder; echo moved > new/folder/one.txt; rm {}", others[0]),
        format!("mv {} renamed.rs; echo '// renamed' >> renamed.rs", others[1]),
        format!("chmod +x {}", others[2]),
    ];
    for (number, file) in others[3..by_depth(4, 10)].iter().enumerate() {
        scripts.push(format!("sed -i '1i // edited by {number}' {file}; echo '// end' >> {file}"));
    }
    scripts.extend(others[10..by_depth(11, 12)].iter().map(|file| format!("rm {file}")));
    scripts.extend((0..by_depth(1, 2)).map(|number| format!("echo {number} > new-{number}.txt")));
    let named = scripts.into_iter().enumerate().map(|(at, script)| (format!("t-{at}"), script));
    named.collect()
}

/// Does what the tasks do on a branch each, and merges them one after the other.
fn merge_by_hand(plain: &Repository, scripts: &[(String, String)]) {
    let main = plain.git(&["symbolic-ref", "--short", "HEAD"]);
    for (name, script) in scripts {
        plain.git(&["checkout", "--quiet", "-b", name, main.trim()]);
        let ran = Command::new("sh").args(["-ec", script]).current_dir(plain.root()).status();
        assert!(ran.is_ok_and(|status| status.success()), "{script}");
        plain.commit(name);
    }
    plain.git(&["checkout", "--quiet", main.trim()]);
    for (name, _script) in scripts {
        plain.git(&["merge", "--quiet", "--no-edit", "--no-ff", name]);
    }
}

#[test]
fn mixed_tasks_over_a_crate_land_as_git_would_have_merged_them() {
    let place = sandbox();
    let repository = repository(&place);
    let plain = copy(&place, &repository);
    let listed = repository.git(&["ls-files", "src/*.rs"]);
    let files: Vec<_> = listed.lines().step_by(5).map(str::to_owned).collect();
    let scripts = mixed(&files);
    assert_eq!(scripts.len(), by_depth(8, 16));
    merge_by_hand(&plain, &scripts);

    let plan = scripts.iter().fold(Plan::default(), |plan, (name, script)| plan.task(name, script));
    let git = repository.dot_git();
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    assert_eq!(finished.landed().len(), scripts.len(), "{finished}");
    assert_eq!(plain.tree().differences(&repository.tree()), Vec::<String>::new(), "{finished}");
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    assert_eq!(plain.tree_id(), repository.tree_id(), "{finished}");
    place.expect_nothing_left(&repository);
}
