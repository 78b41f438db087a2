//! What a capture holds, and what becomes of it: a landing, another task's start.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use engine::ports::{AttemptEnd, IsolationError, Reuse, Workspace};
use protocol::{ChangeSummary, Landed};

use super::kit::{
    Fixture, RUN, capture, link, over_all, prepare, prepare_after, prepare_for_setup, raw, tree_of,
    write,
};

/// Changes a workspace in every way there is, and returns the paths that changed.
fn change(workspace: &Workspace) -> Vec<String> {
    let place = |path: &str| workspace.root.join(path);
    let remove = |path: &str| fs::remove_file(place(path)).expect("it is there");
    write(workspace, "clean", "edited\n");
    write(workspace, "unstaged", "edited as well\n");
    write(workspace, "new/file", "added\n");
    write(workspace, "binary", b"\0\x02\xfe\n");
    write(workspace, "other.log", "ignored\n");
    write(workspace, "build/output", "ignored\n");
    fs::write(workspace.root.join(raw(b"not-text-\xff")), "two\n").expect("it can be written");
    remove("staged");
    remove("sub/deep/file");
    let runs = fs::Permissions::from_mode(0o755);
    fs::set_permissions(place("empty"), runs).expect("a mode can be set");
    remove("link");
    link("untracked", &place("link"));
    remove("dangling");
    write(workspace, "dangling", "a file now\n");
    // These are as they were.
    write(workspace, "untracked", "never added\n");
    let mut changed: Vec<String> = [
        "binary",
        "clean",
        "dangling",
        "empty",
        "link",
        "new/file",
        "staged",
        "sub/deep/file",
        "unstaged",
    ]
    .map(str::to_owned)
    .to_vec();
    changed.push(protocol::quote_path(b"not-text-\xff"));
    changed
}

/// Sorts paths as people read them.
fn sorted(mut paths: Vec<String>) -> Vec<String> {
    paths.sort();
    paths
}

#[test]
async fn a_second_capture_of_a_dead_task_replaces_no_first_one_that_holds_more() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let workspace = prepare(&baseline, "a").await;
            write(&workspace, "clean", "edited\n");
            let first = capture(&baseline, &workspace).await;
            let recapture = async || baseline.recapture(&workspace).await.map(Option::unwrap);
            assert_eq!(recapture().await.expect("it is there").capture, first.capture);
            write(&workspace, "clean", "clean\n");
            let second = recapture().await.expect("it is there");
            assert_ne!(second.capture, first.capture);
            assert_eq!(fixture.paths(&first), ["clean"]);
            assert_eq!(fixture.paths(&second), Vec::<String>::new());
            baseline.discard(&workspace, Reuse::Refused).await.expect("it can be removed");
            let gone = recapture().await.expect_err("it is gone");
            assert!(matches!(gone, IsolationError::Vanished { .. }), "{gone:?}");
        },
    )
    .await;
}

#[test]
async fn what_a_setup_changes_is_in_no_capture() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let workspace = prepare_for_setup(&baseline, "a").await;
            let _by_the_setup = change(&workspace);
            let pending = capture(&baseline, &workspace).await;
            assert_eq!(fixture.paths(&pending), Vec::<String>::new(), "it may be half done");
            baseline.accept_setup(&workspace).await.expect("there is a workspace");
            let unchanged = capture(&baseline, &workspace).await;
            assert_eq!(fixture.paths(&unchanged), Vec::<String>::new());
            write(&workspace, "clean", "edited\nby the task\n");
            write(&workspace, "staged", "here again\n");
            fs::remove_file(workspace.root.join("unstaged")).expect("it is there");
            let captured = capture(&baseline, &workspace).await;
            assert_eq!(fixture.paths(&captured), ["clean", "staged", "unstaged"]);
        },
    )
    .await;
}

#[test]
async fn a_capture_has_what_the_task_changed_and_nothing_else() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let (a, idle) = (prepare(&baseline, "a").await, prepare(&baseline, "idle").await);
            let changed = change(&a);
            let captured = capture(&baseline, &a).await;
            assert_eq!(captured.capture.as_str(), format!("refs/tasks/{RUN}/a/1"));
            assert_eq!(captured.changes.files, changed.len() as u64);
            assert_eq!(sorted(fixture.paths(&captured)), sorted(changed));
            let nothing = capture(&baseline, &idle).await;
            assert_eq!(nothing.changes, ChangeSummary::default());
            assert_eq!(fixture.paths(&nothing), Vec::<String>::new());
        },
    )
    .await;
}

#[test]
async fn a_landed_capture_makes_the_users_tree_what_the_task_made_of_its_own() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let workspace = prepare(&baseline, "a").await;
            change(&workspace);
            let captured = capture(&baseline, &workspace).await;
            for ignored in ["other.log", "build/output"] {
                fs::remove_file(workspace.root.join(ignored)).expect("it is there");
            }
            fs::remove_dir(workspace.root.join("build")).expect("it is empty");
            // As git does: a folder that has nothing left goes too.
            fs::remove_dir_all(workspace.root.join("sub")).expect("it is there");
            let made = tree_of(&workspace);
            baseline.discard(&workspace, Reuse::Allowed).await.expect("it is captured");
            baseline.close().await.expect("the run is over");
            let report = fixture.land(&[("a", &captured)]).await;
            assert_eq!(report.tasks[0].landed, Landed::Landed { branch: None, joined: Vec::new() });
            assert_eq!(made.differences(&fixture.users_tree()), Vec::<String>::new());
            assert_eq!(fixture.user.text("debug.log"), "ignored\n");
        },
    )
    .await;
}

#[test]
async fn a_task_begins_with_its_predecessors_work_and_its_capture_has_only_its_own() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let (a, b) = (prepare(&baseline, "a").await, prepare(&baseline, "b").await);
            write(&a, "clean", "of a\n");
            write(&a, "new/of a", "added\n");
            fs::remove_file(a.root.join("run.sh")).expect("it is there");
            write(&b, "unstaged", "of b\n");
            let (a, b) = (capture(&baseline, &a).await, capture(&baseline, &b).await);
            let on = [("a", &a.capture), ("b", &b.capture)];
            let after = prepare_after(&baseline, "c", &on).await.expect("they can be merged");
            let read = |path: &str| fs::read_to_string(after.root.join(path)).ok();
            let found = ["clean", "new/of a", "run.sh", "unstaged", "untracked"].map(read);
            let merged =
                [Some("of a\n"), Some("added\n"), None, Some("of b\n"), Some("never added\n")];
            assert_eq!(found.each_ref().map(Option::as_deref), merged);
            write(&after, "clean", "of c\n");
            assert_eq!(fixture.paths(&capture(&baseline, &after).await), ["clean"]);
        },
    )
    .await;
}

#[test]
async fn predecessors_that_conflict_are_named_and_no_workspace_is_made() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let (a, b) = (prepare(&baseline, "a").await, prepare(&baseline, "b").await);
            write(&a, "clean", "of a\n");
            write(&b, "clean", "of b\n");
            let (a, b) = (capture(&baseline, &a).await, capture(&baseline, &b).await);
            let on = [("a", &a.capture), ("b", &b.capture)];
            let error = prepare_after(&baseline, "c", &on).await.expect_err("they conflict");
            let IsolationError::Predecessors { tasks, paths } = error else { panic!("{error}") };
            assert_eq!(tasks.iter().map(|task| task.as_str()).collect::<Vec<_>>(), ["a", "b"]);
            assert_eq!(paths, ["clean"]);
            assert!(!fixture.run_folder().join("c").exists());
            assert!(prepare_after(&baseline, "c", &on[..1]).await.is_ok());
        },
    )
    .await;
}

#[test]
async fn a_checkpoint_is_the_start_of_another_workspace_and_goes_with_the_run() {
    over_all(
        |can| can.can_checkpoint,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let workspace = prepare(&baseline, "a").await;
            write(&workspace, "clean", "first turn\n");
            let checkpoint = baseline.checkpoint(&workspace).await.expect("it can be recorded");
            let checkpoint = checkpoint.expect("what can make checkpoints does");
            change(&workspace);
            let resumed = [("a", &checkpoint.capture)];
            let resumed = prepare_after(&baseline, "b", &resumed).await.expect("it can be read");
            let text = fs::read_to_string(resumed.root.join("clean")).expect("it is there");
            assert_eq!(text, "first turn\n");
            assert!(resumed.root.join("staged").exists(), "what came later is not in it");
            baseline.checkpoint(&workspace).await.expect("the next is in its place");
            let captured = capture(&baseline, &workspace).await;
            assert_eq!(captured.changes.files, 10, "a capture is whole all the same");
            checkpoints(&fixture, 1);
            for workspace in [&workspace, &resumed] {
                baseline.discard(workspace, Reuse::Allowed).await.expect("it is not needed");
            }
            baseline.close().await.expect("the run is over");
            checkpoints(&fixture, 0);
        },
    )
    .await;
}

/// Checks how many checkpoints the task store keeps, beside the one capture.
fn checkpoints(fixture: &Fixture, expected: usize) {
    let references = fixture.references();
    let begin = |prefix: &str| references.iter().filter(|name| name.starts_with(prefix)).count();
    assert_eq!(begin("refs/checkpoints/"), expected, "{references:?}");
    assert_eq!(begin("refs/tasks/"), 1, "{references:?}");
}

#[test]
async fn where_nothing_can_be_captured_nothing_is_and_the_work_stays_where_it_was_done() {
    over_all(
        |can| !can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let workspace = prepare(&baseline, "a").await;
            write(&workspace, "clean", "in place\n");
            assert_eq!(
                baseline
                    .capture(&workspace, &AttemptEnd::default())
                    .await
                    .expect("it is not asked"),
                None
            );
            assert_eq!(baseline.checkpoint(&workspace).await.expect("nor this"), None);
            baseline.discard(&workspace, Reuse::Allowed).await.expect("nothing is removed");
            baseline.close().await.expect("the run is over");
            assert_eq!(fixture.user.text("clean"), "in place\n");
            assert!(!fixture.run_folder().exists());
        },
    )
    .await;
}
