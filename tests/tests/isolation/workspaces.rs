//! What a workspace holds when its task begins, and who sees what is done in it.

use std::fs;

use protocol::{BaseState, WorkspaceKind};
use tests::sandbox::Fingerprint;

use super::kit::{capture, over_all, prepare, prepare_after, raw, tree_of, write};

#[test]
async fn a_workspace_is_the_users_tree_without_what_git_ignores() {
    over_all(
        |can| can.workspace == WorkspaceKind::Private,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let workspace = prepare(&baseline, "a").await;
            let differences = fixture.users_tree().differences(&tree_of(&workspace));
            assert_eq!(differences, Vec::<String>::new());
            assert!(fixture.user.has("debug.log") && !workspace.root.join("debug.log").exists());
            assert!(fixture.user.has("build/output") && !workspace.root.join("build").exists());
            assert!(workspace.root.join(raw(b"not-text-\xff")).exists());
            assert!(baseline.notices().iter().any(|notice| notice.why.contains("debug.log")));
        },
    )
    .await;
}

#[test]
async fn a_shared_workspace_is_the_users_tree_itself() {
    over_all(
        |can| can.workspace == WorkspaceKind::Shared,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let workspace = prepare(&baseline, "a").await;
            assert_eq!(workspace.root, fixture.user.root());
            assert_eq!(prepare(&baseline, "b").await.root, workspace.root);
            assert_eq!(baseline.notices().len(), 1, "people are told");
        },
    )
    .await;
}

#[test]
async fn what_the_user_does_after_the_run_began_is_seen_by_no_task_of_a_frozen_tree() {
    over_all(
        |_| true,
        |fixture| async move {
            let began = fixture.users_tree();
            let baseline = fixture.freeze().await;
            for path in ["clean", "staged", "unstaged", "untracked", "run.sh", "binary"] {
                fixture.user.write(path, "changed since\n");
            }
            fixture.user.write("new since", "new since\n");
            fs::remove_file(fixture.user.path("empty")).expect("it is there");
            let workspace = prepare(&baseline, "a").await;
            let began = began.differences(&without_ignored(&workspace.root));
            let frozen = fixture.capabilities.base == BaseState::Snapshot;
            assert_eq!(began.is_empty(), frozen, "{began:?}");
        },
    )
    .await;
}

/// Takes down a tree without what is ignored in the fixture's.
fn without_ignored(root: &std::path::Path) -> Fingerprint {
    Fingerprint::without(root, &[".git", "debug.log", "build"])
}

#[test]
async fn tasks_with_workspaces_of_their_own_see_nothing_of_each_other_nor_the_user_of_them() {
    over_all(
        |_| true,
        |fixture| async move {
            let users = fixture.users_tree();
            let git = fixture.user.dot_git();
            let baseline = fixture.freeze().await;
            let (a, b) = (prepare(&baseline, "a").await, prepare(&baseline, "b").await);
            let before = tree_of(&b);
            write(&a, "clean", "of a\n");
            write(&a, "new/file", "of a\n");
            fs::remove_file(a.root.join("run.sh")).expect("it is there");
            let private = fixture.capabilities.workspace == WorkspaceKind::Private;
            assert_eq!(before.differences(&tree_of(&b)).is_empty(), private);
            assert_eq!(users.differences(&fixture.users_tree()).is_empty(), private);
            assert_eq!(git.differences(&fixture.user.dot_git()), Vec::<String>::new());
            if fixture.capabilities.can_capture {
                capture(&baseline, &b).await;
                assert_eq!(fixture.paths(&capture(&baseline, &a).await).len(), 3);
                assert_eq!(git.differences(&fixture.user.dot_git()), Vec::<String>::new());
            }
        },
    )
    .await;
}

#[test]
async fn a_workspace_that_stands_is_never_made_over() {
    over_all(
        |can| can.workspace == WorkspaceKind::Private,
        |fixture| async move {
            let baseline = fixture.freeze().await;
            let workspace = prepare(&baseline, "a").await;
            write(&workspace, "work", "precious\n");
            assert!(prepare_after(&baseline, "a", &[]).await.is_err());
            assert_eq!(fs::read(workspace.root.join("work")).expect("it is there"), b"precious\n");
            assert_eq!(fixture.paths(&capture(&baseline, &workspace).await), ["work"]);
        },
    )
    .await;
}
