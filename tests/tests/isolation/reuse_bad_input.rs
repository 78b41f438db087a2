//! Workspaces that are not fit to be used again, or only after some effort.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use engine::ports::{Baseline, Reuse, Workspace};
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use tests::sandbox::{SmallDisk, skip};

use super::kit::{Fixture, capture, over_worktree, prepare, tree_of};
use super::reuse_kit::identity;

/// Captures the workspace of the task `first`, gives it up, and makes one for the next task. Returns
/// it, and whether it has the files of the first.
async fn next(baseline: &Arc<dyn Baseline>, first: &Workspace, reuse: Reuse) -> (Workspace, bool) {
    let folder = identity(&first.folder).expect("it is there");
    capture(baseline, first).await;
    baseline.discard(first, reuse).await.expect("it can be given up");
    let second = prepare(baseline, "second").await;
    let again = identity(&second.folder) == Some(folder);
    (second, again)
}

/// Fails unless a workspace is as a new one.
async fn is_as_new(fixture: &Fixture, baseline: &Arc<dyn Baseline>, workspace: &Workspace) {
    assert_eq!(tree_of(workspace).differences(&fixture.users_tree()), Vec::<String>::new());
    let captured = capture(baseline, workspace).await;
    assert_eq!(fixture.paths(&captured), Vec::<String>::new());
}

/// Fails unless nothing is left of the run.
async fn leaves_nothing(fixture: &Fixture, baseline: &Arc<dyn Baseline>, second: &Workspace) {
    baseline.discard(second, Reuse::Allowed).await.expect("it can be given up");
    baseline.close().await.expect("the run can be closed");
    assert!(!fixture.run_folder().exists(), "the folder of the run is removed");
}

#[test]
async fn a_workspace_to_which_a_process_may_still_write_is_not_used_again() {
    over_worktree(|fixture| async move {
        let baseline = fixture.freeze().await;
        let first = prepare(&baseline, "first").await;
        let mut daemon = Command::new("sh");
        daemon.args(["-c", "while read -r line; do echo \"$line\" > written; echo; done"]);
        daemon.current_dir(&first.root).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut daemon = daemon.spawn().expect("there is a shell");
        let (second, again) = next(&baseline, &first, Reuse::Refused).await;
        let mut input = daemon.stdin.take().expect("it is piped");
        std::io::Write::write_all(&mut input, b"late\n").expect("it reads");
        let mut output = daemon.stdout.take().expect("it is piped");
        std::io::Read::read_exact(&mut output, &mut [0]).expect("it has written");
        drop(input);
        daemon.wait().expect("it ends");
        assert!(!again);
        is_as_new(&fixture, &baseline, &second).await;
        leaves_nothing(&fixture, &baseline, &second).await;
    })
    .await;
}

#[test]
async fn what_is_mounted_in_a_workspace_is_detached_and_stays_whole() {
    over_worktree(|fixture| async move {
        let baseline = fixture.freeze().await;
        let first = prepare(&baseline, "first").await;
        let precious = tempfile::tempdir().expect("a folder can be made");
        fs::write(precious.path().join("file"), "precious\n").expect("it can be written");
        let mode = fs::metadata(precious.path()).expect("it is there").mode();
        let folder = first.root.join("sub/deep");
        let mut mount = Command::new("mount");
        mount.arg("--bind").arg(precious.path()).arg(&folder).stderr(Stdio::null());
        if !mount.status().is_ok_and(|status| status.success()) {
            skip("isolation::reuse_bad_input", "this machine does not allow mounts");
            return;
        }
        let disk = SmallDisk::mount(&first.root.join("disk"), 64);
        let (second, again) = next(&baseline, &first, Reuse::Allowed).await;
        std::mem::forget(disk); // it is unmounted, and has moved
        assert!(!again, "what is mounted may be anything");
        is_as_new(&fixture, &baseline, &second).await;
        leaves_nothing(&fixture, &baseline, &second).await;
        let kept = fs::read_to_string(precious.path().join("file")).expect("it is there");
        assert_eq!(kept, "precious\n");
        assert_eq!(fs::metadata(precious.path()).expect("it is there").mode(), mode);
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("there are mounts");
        let own = fixture.run_folder().display().to_string();
        assert!(!mounts.contains(&own), "{mounts}");
    })
    .await;
}

/// Changes the flags of a file. Returns whether that is possible.
fn change_flags(path: &Path, change: impl FnOnce(&mut IFlags)) -> bool {
    let file = fs::File::open(path).expect("it can be opened");
    let Ok(mut flags) = ioctl_getflags(&file) else { return false };
    change(&mut flags);
    ioctl_setflags(file, flags).is_ok()
}

#[test]
async fn flags_that_forbid_changes_forbid_nothing_to_the_next_task() {
    over_worktree(|fixture| async move {
        let baseline = fixture.freeze().await;
        let first = prepare(&baseline, "first").await;
        fs::create_dir(first.root.join("added")).expect("it can be made");
        fs::write(first.root.join("added/file"), "x\n").expect("it can be written");
        let locked = [
            ("clean", IFlags::IMMUTABLE),
            ("staged", IFlags::APPEND),
            ("sub/deep", IFlags::IMMUTABLE),
            ("added/file", IFlags::IMMUTABLE),
            ("added", IFlags::APPEND),
        ];
        if !locked
            .iter()
            .all(|(path, flag)| change_flags(&first.root.join(path), |flags| flags.insert(*flag)))
        {
            skip("isolation::reuse_bad_input", "this user or file system has no such flags");
            for (path, flag) in locked {
                change_flags(&first.root.join(path), |flags| flags.remove(flag));
            }
            return;
        }
        let (second, _) = next(&baseline, &first, Reuse::Allowed).await;
        is_as_new(&fixture, &baseline, &second).await;
        fs::write(second.root.join("sub/deep/file"), "two\n").expect("it can be written");
        fs::write(second.root.join("clean"), "two\n").expect("it can be written");
        leaves_nothing(&fixture, &baseline, &second).await;
    })
    .await;
}

#[test]
async fn the_next_task_owns_its_files_whoever_owned_those_of_the_last() {
    over_worktree(|fixture| async move {
        let baseline = fixture.freeze().await;
        let first = prepare(&baseline, "first").await;
        let own = fs::metadata(first.root.join("clean")).expect("it is there").uid();
        for path in ["clean", "sub", "sub/deep/file", "."] {
            if chown(first.root.join(path), Some(4321), None).is_err() {
                skip("isolation::reuse_bad_input", "this user cannot give files away");
                return;
            }
        }
        let (second, _) = next(&baseline, &first, Reuse::Allowed).await;
        is_as_new(&fixture, &baseline, &second).await;
        for path in ["clean", "sub", "sub/deep/file", "."] {
            let meta = fs::metadata(second.root.join(path)).expect("it is there");
            assert_eq!(meta.uid(), own, "{path}");
        }
        leaves_nothing(&fixture, &baseline, &second).await;
    })
    .await;
}

#[test]
async fn a_task_that_removes_its_workspace_harms_no_other() {
    over_worktree(|fixture| async move {
        let baseline = fixture.freeze().await;
        let first = prepare(&baseline, "first").await;
        fs::remove_dir_all(&first.root).expect("it can be removed");
        baseline.discard(&first, Reuse::Allowed).await.expect("it can be given up");
        let second = prepare(&baseline, "second").await;
        fs::remove_dir_all(&second.folder).expect("it can be removed");
        baseline.discard(&second, Reuse::Allowed).await.expect("it can be given up");
        let third = prepare(&baseline, "third").await;
        is_as_new(&fixture, &baseline, &third).await;
        leaves_nothing(&fixture, &baseline, &third).await;
    })
    .await;
}

#[test]
async fn many_thousand_files_of_one_task_are_not_there_for_the_next() {
    over_worktree(|fixture| async move {
        let baseline = fixture.freeze().await;
        let first = prepare(&baseline, "first").await;
        for folder in 0..test_limit::by_depth(5, 100) {
            let folder = first.root.join(format!("build/{folder}"));
            fs::create_dir_all(&folder).expect("a folder can be made");
            for file in 0..1000 {
                fs::File::create(folder.join(file.to_string())).expect("a file can be made");
            }
        }
        let (second, again) = next(&baseline, &first, Reuse::Allowed).await;
        assert!(again);
        is_as_new(&fixture, &baseline, &second).await;
        leaves_nothing(&fixture, &baseline, &second).await;
    })
    .await;
}
