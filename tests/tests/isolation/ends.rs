//! What becomes of workspaces at the end: of a task, of a run, of an engine that died.

use std::fs;

use engine::ports::{AttemptEnd, IsolationError, Recovered, Reuse, Uncaptured, Workspace};

use super::kit::{capture, over_all, prepare, run, write};

/// Puts a file in the place of the tree, as a task may.
fn spoil(workspace: &Workspace) {
    fs::remove_dir_all(&workspace.root).expect("it is there");
    fs::write(&workspace.root, "what becomes of this?\n").expect("it can be written");
}

#[test]
async fn discarding_a_workspace_leaves_its_capture_and_every_other_workspace() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let (a, b) = (prepare(&baseline, "a").await, prepare(&baseline, "b").await);
            write(&a, "new", "of a\n");
            write(&b, "new", "of b\n");
            let captured = capture(&baseline, &a).await;
            baseline.discard(&a, Reuse::Allowed).await.expect("it is captured");
            baseline.discard(&a, Reuse::Allowed).await.expect("it is gone already");
            assert!(!a.folder.exists());
            assert_eq!(fixture.paths(&captured), ["new"]);
            assert_eq!(fs::read(b.root.join("new")).expect("it is there"), b"of b\n");
            assert_eq!(fixture.paths(&capture(&baseline, &b).await), ["new"]);
            prepare(&baseline, "a").await;
        },
    )
    .await;
}

#[test]
async fn closing_a_run_removes_its_folder_unless_a_workspace_is_in_it() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let workspace = prepare(&baseline, "a").await;
            write(&workspace, "new", "of a\n");
            baseline.close().await.expect("the run is over");
            assert!(workspace.root.join("new").exists());
            assert_eq!(captured_files(&fixture.recover().await), [("a".to_owned(), 1)]);
            assert!(!fixture.run_folder().exists());
            let baseline = fixture.freeze().await;
            let workspace = prepare(&baseline, "b").await;
            baseline.discard(&workspace, Reuse::Allowed).await.expect("it is not needed");
            baseline.close().await.expect("the run is over");
            assert!(!fixture.run_folder().exists());
        },
    )
    .await;
}

/// Returns of each task that was found how many files its workspace had changed.
fn captured_files(recovered: &Recovered) -> Vec<(String, u64)> {
    let files = |task: &engine::ports::RecoveredTask| {
        let captured = task.captured.as_ref().expect("it was captured");
        (task.task.to_string(), captured.changes.files)
    };
    recovered.tasks.iter().map(files).collect()
}

#[test]
async fn a_workspace_that_cannot_be_read_is_kept_also_by_the_next_start() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let (bad, good) = (prepare(&baseline, "bad").await, prepare(&baseline, "good").await);
            write(&good, "new", "of good\n");
            spoil(&bad);
            let error =
                baseline.capture(&bad, &AttemptEnd::default()).await.expect_err("there is no tree");
            assert!(!matches!(error, IsolationError::Vanished { .. }), "{error}");
            drop(baseline);
            let recovered = fixture.recover().await;
            let kept = &recovered.tasks[0];
            assert_eq!(kept.task.as_str(), "bad");
            assert!(matches!(kept.captured, Err(Uncaptured::Kept(_))), "{:?}", kept.captured);
            let captured = recovered.tasks[1].captured.as_ref().expect("it is whole");
            assert_eq!(fixture.paths(captured), ["new"]);
            assert!(bad.root.is_file() && !good.folder.exists());
        },
    )
    .await;
}

#[test]
async fn a_workspace_that_its_task_removed_is_told_from_one_that_cannot_be_read() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let workspace = prepare(&baseline, "a").await;
            fs::remove_dir_all(&workspace.root).expect("it is there");
            let error = baseline
                .capture(&workspace, &AttemptEnd::default())
                .await
                .expect_err("there is no tree");
            assert!(matches!(error, IsolationError::Vanished { .. }), "{error}");
            drop(baseline);
            let recovered = fixture.recover().await;
            let gone = &recovered.tasks[0].captured;
            assert!(matches!(gone, Err(Uncaptured::Gone(_))), "{gone:?}");
            assert!(!fixture.run_folder().exists());
        },
    )
    .await;
}

#[test]
async fn what_an_engine_that_died_left_is_captured_once_and_then_removed() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let (a, b) = (prepare(&baseline, "a").await, prepare(&baseline, "b").await);
            write(&a, "new", "of a\n");
            write(&b, "clean", "of b\n");
            fs::remove_file(b.root.join("run.sh")).expect("it is there");
            assert_eq!(fixture.recover().await, Recovered::default(), "its engine lives");
            drop(baseline);
            fixture.user.write("clean", "of the user\n");
            let recovered = fixture.recover().await;
            assert_eq!(recovered.dead, [run()]);
            let expected = [("a".to_owned(), 1), ("b".to_owned(), 2)];
            assert_eq!(captured_files(&recovered), expected);
            assert!(!fixture.run_folder().exists());
            assert_eq!(fixture.recover().await, Recovered::default());
        },
    )
    .await;
}

#[test]
async fn a_workspace_that_was_captured_and_is_the_same_is_not_captured_again() {
    over_all(
        |can| can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let (a, b) = (prepare(&baseline, "a").await, prepare(&baseline, "b").await);
            write(&a, "new", "of a\n");
            write(&b, "new", "of b\n");
            let first = capture(&baseline, &a).await;
            capture(&baseline, &b).await;
            write(&b, "new", "of b, later\n");
            drop(baseline);
            let recovered = fixture.recover().await;
            let names: Vec<_> = recovered.tasks.iter().map(|task| task.captured.clone()).collect();
            assert_eq!(names[0].as_ref(), Ok(&first));
            let second = names[1].as_ref().expect("it was captured");
            assert_eq!(second.capture.as_str(), format!("refs/tasks/{}/b/2", run()));
            assert_eq!(fixture.references().len(), 3, "{:?}", fixture.references());
        },
    )
    .await;
}

#[test]
async fn a_run_in_place_leaves_nothing_to_recover() {
    over_all(
        |can| !can.can_capture,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let workspace = prepare(&baseline, "a").await;
            write(&workspace, "clean", "in place\n");
            drop(baseline);
            let recovered = fixture.recover().await;
            assert_eq!(recovered.tasks, []);
            assert!(!fixture.run_folder().exists());
            assert_eq!(fixture.user.text("clean"), "in place\n");
        },
    )
    .await;
}
