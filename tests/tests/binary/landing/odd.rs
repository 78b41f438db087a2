//! Odd landings: a rebase that begins meanwhile, files that cannot be written or that have rules of
//! their own, and files that are too large.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::time::Duration;

use rustix::fs::{XattrFlags, getxattr, setxattr};
use test_limit::eventually;
use tests::sandbox::{Plan, skip};

use crate::binary::sandbox;

#[test]
fn a_rebase_that_begins_during_a_landing_keeps_its_state_and_nothing_is_lost() {
    let place = sandbox();
    let repository = place.repository().watched();
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    repository.write("notes.txt", &lines);
    repository.write("clash.txt", "white\n");
    repository.commit("files");
    repository.git(&["switch", "--quiet", "--create", "side"]);
    repository.write("clash.txt", "green\n");
    repository.commit("side");
    repository.git(&["switch", "--quiet", "main"]);
    repository.write("clash.txt", "blue\n");
    repository.write("notes.txt", lines.replace("line 39\n", "line 39 of main\n"));
    repository.commit("main");
    repository.git(&["switch", "--quiet", "side"]);
    let gate = place.folder().join("gate");
    let plan =
        Plan::default().task("top", "sed -i 's/^line 2$/line two/' notes.txt; echo x > new.txt");
    let running = place.run_plan(&repository, &plan).wait_at("landing.exchange", &gate).start();
    eventually(Duration::from_secs(60), "the tree is about to change", || gate.exists());
    let rebase = repository.try_git(&["rebase", "main"]);
    assert!(!rebase.status.success(), "the rebase stops at a conflict");
    let (index, dot_git) = (repository.read(".git/index"), repository.dot_git());
    let clash = repository.text("clash.txt");
    std::fs::remove_file(&gate).expect("it goes on then");
    let finished = running.wait().expect_code(0);
    assert_eq!(finished.landed(), ["top"], "{finished}");
    // What the rebase has checked out and what the task wanted are both there.
    let merged = lines.replace("line 39\n", "line 39 of main\n").replace("line 2\n", "line two\n");
    assert_eq!(repository.text("notes.txt"), merged, "{finished}");
    assert_eq!(repository.text("clash.txt"), clash);
    assert_eq!(dot_git.differences(&repository.dot_git()), Vec::<String>::new());
    assert_eq!(repository.read(".git/index"), index);
    repository.git(&["rebase", "--abort"]);
    assert_eq!(repository.text("new.txt"), "x\n");
    place.expect_nothing_left(&repository);
}

/// A list of who may do what with a file, as the kernel takes it: its owner, the user 12345, its
/// group, the mask and others.
fn rules() -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] =
        [(1, 6, u32::MAX), (2, 4, 12_345), (4, 4, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[test]
fn read_only_files_and_access_lists_of_files_are_as_before_when_work_has_landed_in_them() {
    let place = sandbox();
    let repository = place.repository().watched();
    for name in ["sealed.txt", "listed.txt"] {
        repository.write(name, "before\n");
    }
    repository.commit("files");
    let mode = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(repository.path("sealed.txt"), mode).expect("it has a mode");
    let listed = repository.path("listed.txt");
    if let Err(error) = setxattr(&listed, "system.posix_acl_access", &rules(), XattrFlags::empty())
    {
        let name =
            "read_only_files_and_access_lists_of_files_are_as_before_when_work_has_landed_in_them";
        return skip(name, &format!("this file system has no access lists: {error}"));
    }
    let script = "for file in sealed.txt listed.txt; do rm -f $file; echo after > $file; done";
    let finished = place.run_in(&repository).exec(script).run().expect_code(0);
    for name in ["sealed.txt", "listed.txt"] {
        assert_eq!(repository.text(name), "after\n", "{finished}");
    }
    let meta = std::fs::metadata(repository.path("sealed.txt")).expect("it is there");
    assert_eq!(meta.mode() & 0o777, 0o444);
    let mut found = vec![0; 256];
    let length = getxattr(&listed, "system.posix_acl_access", &mut found[..]).expect("it has one");
    assert_eq!(&found[..length], rules());
    place.expect_nothing_left(&repository);
}

#[test]
fn a_file_of_more_than_two_gigabytes_is_kept_in_its_workspace_and_work_on_one_waits_until_it_is_gone()
 {
    let place = sandbox();
    let repository = place.repository().watched();
    let plan = Plan::default()
        .task("big", "truncate -s 2049M big.bin; echo x > x.txt")
        .task("small", "echo y > y.txt");
    let run = place.run_plan(&repository, &plan).run().expect_code(3);
    assert_eq!(run.landed(), ["small"], "{run}");
    let finished = run.events_of("task_finished");
    let big = finished.iter().find(|event| event["task"] == "big").expect("it has ended");
    let message = big["failure"]["message"].as_str().expect("it says why");
    assert!(message.contains("big.bin") && message.contains("too large"), "{run}");
    let workspace = message.split("its workspace is kept at ").nth(1).expect("it is kept");
    let kept = std::path::Path::new(workspace).join("big.bin");
    assert_eq!(kept.metadata().expect("it is there").len(), 2_049 << 20, "{run}");
    assert!(!repository.has("big.bin") && !repository.has("x.txt"));

    // The user has such a file where a task has worked.
    repository.write("data.bin", "small\n");
    repository.commit("data");
    let script = "echo task > data.bin; echo x > x.txt; truncate -s 2049M $REGATTA_REPO/data.bin";
    let run = place.run_in(&repository).exec(script).run().expect_code(4);
    assert!(run.stdout.contains("cannot read data.bin"), "{run}");
    assert!(run.stdout.contains("File too large"), "{run}");
    let huge = || repository.path("data.bin").metadata().expect("it is there").len();
    assert!(huge() == 2_049 << 20 && !repository.has("x.txt"), "{run}");
    for words in ["apply", "apply @ t1 --theirs"] {
        let _kept = place.regatta(repository.root()).words(words).run();
        assert!(huge() == 2_049 << 20 && !repository.has("x.txt"), "{words}");
    }
    repository.write("data.bin", "small\n");
    let landed = place.regatta(repository.root()).words("apply").run().expect_code(0);
    assert_eq!(repository.text("data.bin"), "task\n", "{landed}");
    assert_eq!(repository.text("x.txt"), "x\n");
}
