//! The tool `write`, and where no file tool gets to.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::ports::ToolOutcome;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use super::apply_patch::patch;
use super::session::{Session, ViewKind, read};

over_both_views! {
    a_new_file_is_made_with_its_folders,
    an_old_file_is_overwritten_and_keeps_its_permissions,
    a_change_that_the_session_has_not_seen_is_told_once_and_not_overwritten,
    a_link_that_stays_inside_is_written_through,
    nothing_is_written_outside_of_the_tree,
    nothing_is_written_that_belongs_to_git,
    what_cannot_be_a_file_is_told,
    a_path_may_be_deep_but_not_too_deep,
    too_much_is_refused_before_anything_is_made,
    a_mark_before_a_path_is_tolerated_where_no_such_folder_is,
}

async fn a_new_file_is_made_with_its_folders(kind: ViewKind) {
    let session = Session::new(kind).await;
    let written = session.answer("write", json!({ "path": "a/b/c.txt", "content": "é\n" })).await;
    assert_eq!(written.text, "Created new file a/b/c.txt (3 bytes)");
    let details = json!({ "path": "a/b/c.txt", "size": 3, "isNew": true });
    assert_eq!(written.details, Some(details));
    assert_eq!(session.text("a/b/c.txt").await, "é\n");
}

async fn an_old_file_is_overwritten_and_keeps_its_permissions(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("run.sh", "old!!");
    session.set_mode("run.sh", 0o755).await;
    let written = session.answer("write", json!({ "file_path": "run.sh", "content": "new" })).await;
    assert_eq!(written.text, "Overwrote run.sh (3 bytes, before: 5)");
    let details = written.details.unwrap();
    assert_eq!(details["isNew"], false);
    let diff = details["diff"].as_str().expect("a change of a text has a diff");
    assert!(diff.starts_with("@@ -1 +1 @@\n-old!!\n") && diff.contains("\n+new\n"), "{diff:?}");
    assert_eq!(session.text("run.sh").await, "new");
    assert_eq!(session.mode("run.sh").await, 0o755);
    assert_eq!(session.names("").await, ["run.sh"]);
    // What is no text, and what stays as it is, has none.
    session.put("binary", "a\0b");
    for (path, content) in [("binary", "text"), ("run.sh", "new")] {
        let written = session.answer("write", json!({ "path": path, "content": content })).await;
        assert_eq!(written.details.unwrap().get("diff"), None, "{path}");
    }
}

async fn a_change_that_the_session_has_not_seen_is_told_once_and_not_overwritten(kind: ViewKind) {
    let session = Session::new(kind).await;
    let write = |content: &str| json!({ "path": "a", "content": content });
    let edits = json!([{ "oldText": "two", "newText": "2" }]);
    let edit = json!({ "path": "a", "edits": edits });
    // What it has never seen may be overwritten, and what it wrote is what it has seen.
    session.put("a", "zero\n");
    session.said("write", write("one\ntwo\n")).await;
    session.said("write", write("one\ntwo\nthree\n")).await;
    session.put("a", "one\ntwo\nTHREE\n");
    for (tool, arguments) in [("edit", edit.clone()), ("write", write("new\n"))] {
        let refused = session.failed(tool, arguments).await;
        let expected = "`a` was changed by something else since you have seen it, and is as it was \
                        after that. What has changed (5 lines of diff):\n\n@@ -1,3 +1,3 @@\n one\n \
                        two\n-three\n+THREE\n\nNow that you know, repeat the call, or change it \
                        to what is right now";
        assert_eq!(refused, expected, "{tool}");
        assert_eq!(session.text("a").await, "one\ntwo\nTHREE\n");
        // A read sees the file as it is; then something changes it again.
        session.put("a", "one\ntwo\nthree\n");
        session.said("read", json!({ "path": "a", "limit": 1 })).await;
        session.put("a", "one\ntwo\nTHREE\n");
    }
    session.failed("edit", edit.clone()).await;
    session.said("edit", edit).await;
    assert_eq!(session.text("a").await, "one\n2\nTHREE\n");
    // The same bytes again are no change.
    session.put("a", "one\n2\nTHREE\n");
    session.said("write", write("x\n")).await;
    session.put("a", "y\n".repeat(1_000));
    let refused = session.failed("write", write("z\n")).await;
    assert!(refused.contains("(1002 lines of diff)"), "{refused}");
    assert!(refused.contains("[the rest of the diff is left out]"), "{refused}");
    assert_eq!(refused.matches("+y").count(), 198, "200 lines with the two before them");
    session.put("a", b"\0");
    assert!(session.failed("write", write("z\n")).await.contains("It is a binary file now."));
    session.said("write", write("z\n")).await;
}

#[test]
async fn another_name_of_the_file_keeps_the_old_content() {
    let kind = ViewKind::Directory;
    let session = Session::new(kind).await;
    session.put("a", "old");
    fs::hard_link(session.at("a"), session.beside("other")).unwrap();
    session.said("write", json!({ "path": "a", "content": "new" })).await;
    assert_eq!(fs::read_to_string(session.beside("other")).unwrap(), "old");
}

async fn a_link_that_stays_inside_is_written_through(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("real/a.txt", "old");
    session.put_symlink("real", "folder");
    session.put_symlink("real/new.txt", "dangling");
    session.put_symlink("../real/a.txt", "real/again");
    session.said("write", json!({ "path": "folder/a.txt", "content": "1" })).await;
    assert_eq!(session.text("real/a.txt").await, "1");
    session.said("write", json!({ "path": "folder/again", "content": "2" })).await;
    assert_eq!(session.text("real/a.txt").await, "2");
    let written = session.answer("write", json!({ "path": "dangling", "content": "3" })).await;
    assert_eq!(session.text("real/new.txt").await, "3");
    assert_eq!(written.details.unwrap()["path"], "real/new.txt");
    assert!(session.is_symlink("dangling").await);
}

async fn nothing_is_written_outside_of_the_tree(kind: ViewKind) {
    let session = Session::new(kind).await;
    fs::create_dir_all(session.beside("repo/src")).unwrap();
    fs::write(session.beside("secret"), "old").unwrap();
    session.put_symlink("../secret", "up");
    session.put_symlink(session.beside("secret"), "absolute");
    session.put_symlink("..", "parent");
    session.put_symlink("/proc/self/cwd", "magic");
    let secret = session.beside("secret").display().to_string();
    let paths = [
        "../secret",
        "a/../../secret",
        &secret,
        "up",
        "absolute",
        "parent/secret",
        "magic/x",
        "~/x",
    ];
    for path in paths {
        let refused = session.failed("write", json!({ "path": path, "content": "x" })).await;
        assert!(refused.contains("working tree") || refused.contains("not found"), "{refused}");
        let refused = session.failed("read", json!({ "path": path })).await;
        assert!(!refused.contains("old"), "{refused}");
    }
    assert_eq!(fs::read_to_string(session.beside("secret")).unwrap(), "old");
    let users = session.beside("repo/src/a.rs").display().to_string();
    let refused = session.failed("write", json!({ "path": users, "content": "x" })).await;
    assert!(refused.ends_with("that is the user's own checkout; use the relative path `src/a.rs`"));
    assert_eq!(fs::read_dir(session.beside("repo/src")).unwrap().count(), 0);
    let inside = session.at("in.txt").display().to_string();
    session.said("write", json!({ "path": inside, "content": "x" })).await;
    assert_eq!(session.text("in.txt").await, "x");
}

async fn nothing_is_written_that_belongs_to_git(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put(".git/config", "[core]");
    session.put("sub/x", "");
    session.put_symlink(".git", "g");
    session.put_symlink("../.git/config", "sub/c");
    let paths = [
        ".git/config",
        ".git/hooks/pre-commit",
        "g/config",
        "sub/c",
        "sub/.GIT/x",
        ".git",
        "sub/../.git/y",
    ];
    for path in paths {
        let refused = session.failed("write", json!({ "path": path, "content": "x" })).await;
        assert!(refused.contains("belongs to git"), "{path}: {refused}");
    }
    let edits = json!([{ "oldText": "core", "newText": "x" }]);
    let refused = session.failed("edit", json!({ "path": "g/config", "edits": edits })).await;
    assert!(refused.contains("belongs to git"), "{refused}");
    assert_eq!(session.text(".git/config").await, "[core]");
    assert_eq!(session.said("read", json!({ "path": ".git/config" })).await, "     1  [core]");
    session.said("write", json!({ "path": ".gitignore", "content": "x" })).await;
}

async fn what_cannot_be_a_file_is_told(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("folder/x", "");
    let write =
        async |path: &str| session.failed("write", json!({ "path": path, "content": "x" })).await;
    assert_eq!(write("folder").await, "`folder` is a folder; name a file in it");
    assert_eq!(write("new/").await, "`new/` is a folder; name a file in it");
    assert_eq!(write(".").await, "`.` is a folder; name a file in it");
    assert!(write("folder/x/y").await.contains("is a file, not a folder"));
    assert!(write("none/../x").await.starts_with("File not found"));
    session.put_symlink("two", "one");
    session.put_symlink("one", "two");
    assert_eq!(write("one").await, "`one` leads through too many symlinks");
    assert_eq!(session.names("").await, ["folder", "one", "two"]);
}

async fn a_path_may_be_deep_but_not_too_deep(kind: ViewKind) {
    let session = Session::new(kind).await;
    let deepest = format!("{}file", "d/".repeat(128));
    session.said("write", json!({ "path": deepest, "content": "x" })).await;
    assert_eq!(session.said("read", json!({ "path": deepest })).await, "     1  x");
    let deeper = format!("d/{deepest}");
    let refused = session.failed("write", json!({ "path": deeper, "content": "x" })).await;
    assert_eq!(refused, "the path is too deep: more than 128 folders below each other");
    let deeper = format!("new/{deepest}");
    let refused = session.failed("write", json!({ "path": deeper, "content": "x" })).await;
    assert!(refused.starts_with("the path is too deep"), "{refused}");
    assert_eq!(session.names("").await, ["d"]);
}

async fn too_much_is_refused_before_anything_is_made(kind: ViewKind) {
    let session = Session::new(kind).await;
    let content = "x".repeat((16 << 20) + 1);
    let refused = session.failed("write", json!({ "path": "a/b", "content": content })).await;
    assert!(refused.starts_with("`a/b` is too large for this"), "{refused}");
    assert_eq!(session.names("").await, [""; 0]);
}

#[test]
async fn a_folder_that_may_not_be_written_is_told_and_nothing_is_left() {
    let kind = ViewKind::Directory;
    let session = Session::new(kind).await;
    session.put("locked/a", "old");
    fs::set_permissions(session.at("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    let answer = session.call("write", json!({ "path": "locked/a", "content": "new" })).await;
    fs::set_permissions(session.at("locked"), fs::Permissions::from_mode(0o755)).unwrap();
    // Who is root may write everywhere.
    if let ToolOutcome::Failed(output) = answer {
        assert_eq!(read(output).text, "cannot write `locked/a`: Permission denied (os error 13)");
        assert_eq!(session.text("locked/a").await, "old");
    }
    assert_eq!(fs::read_dir(session.at("locked")).unwrap().count(), 1);
}

async fn a_mark_before_a_path_is_tolerated_where_no_such_folder_is(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("src/a", "");
    session.put("@types/b", "t");
    session.said("write", json!({ "path": "@src/a", "content": "1" })).await;
    assert_eq!(session.text("src/a").await, "1");
    assert_eq!(session.said("read", json!({ "path": "@types/b" })).await, "     1  t");
    assert_eq!(session.names("").await, ["@types", "src"]);
}

#[test(flavor = "multi_thread", worker_threads = 4)]
async fn a_folder_that_becomes_a_link_at_any_moment_never_leads_outside() {
    let kind = ViewKind::Directory;
    let session = Session::new(kind).await;
    fs::create_dir_all(session.beside("outside")).unwrap();
    fs::write(session.beside("outside/a"), "secret").unwrap();
    session.put("folder/a", "inside");
    session.put_symlink("../outside", "link");
    let (folder, link) = (session.at("folder"), session.at("link"));
    let is_done = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&is_done);
    let exchanging = std::thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        }
    });
    let (mut inside, mut refused) = (0, 0);
    for _ in 0..test_limit::by_depth(100, 1_000) {
        match session.call("read", json!({ "path": "folder/a" })).await {
            ToolOutcome::Output(output) => {
                assert_eq!(read(output).text, "     1  inside");
                inside += 1;
            }
            _ => refused += 1,
        }
        for path in ["folder/a", "folder/new", "folder/deep/new"] {
            session.call("write", json!({ "path": path, "content": "inside" })).await;
        }
        for (tool, arguments) in [
            ("edit", json!({ "path": "folder/a", "oldText": "secret", "newText": "inside" })),
            ("apply_patch", patch("*** Add File: folder/b\n+x\n*** Delete File: folder/b")),
            ("apply_patch", patch("*** Update File: folder/a\n-secret\n+inside")),
            ("notebook", json!({ "path": "folder/a", "action": "delete", "cell": 0 })),
            ("ls", json!({ "path": "folder" })),
            ("find", json!({ "pattern": "*", "path": "folder" })),
            ("grep", json!({ "pattern": "sec.et", "path": "folder" })),
        ] {
            let text = session.outcome_text(tool, arguments).await;
            assert!(tool != "grep" || !text.contains("1:secret"), "{text}");
        }
    }
    is_done.store(true, Ordering::Relaxed);
    exchanging.join().unwrap();
    assert!(inside > 0 && refused > 0, "{inside} {refused}");
    assert_eq!(fs::read_to_string(session.beside("outside/a")).unwrap(), "secret");
    assert_eq!(fs::read_dir(session.beside("outside")).unwrap().count(), 1);
}

#[test]
async fn a_path_is_known_by_the_name_that_commands_see() {
    let kind = ViewKind::Directory;
    let session = Session::new(kind).await;
    session.put("sub/a", "x");
    let (real, link) = (session.at("").canonicalize().unwrap(), session.beside("link"));
    symlink(session.beside(""), &link).unwrap();
    let session = session.seen_at(link.join("tree"), "sub").await;
    for path in [&*real.join("sub/a"), &*link.join("tree/sub/a"), std::path::Path::new("a")] {
        let said = session.said("read", json!({ "path": path })).await;
        assert_eq!(said, "     1  x", "{}", path.display());
    }
}

mod links_at_random {
    use proptest::prelude::*;

    use super::*;

    /// Steps of paths and of links.
    fn steps() -> impl Strategy<Value = String> {
        let step = prop_oneof![
            Just(".."),
            Just("a"),
            Just("b"),
            Just("c"),
            Just("l1"),
            Just("l2"),
            Just("."),
            Just("outside"),
            Just("tree"),
        ];
        proptest::collection::vec(step, 1..6).prop_map(|steps| steps.join("/"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(test_limit::by_depth(25, 100)))]

        #[test]
        fn lead_nowhere_but_inside(
            links in proptest::collection::vec((steps(), 0..3_u8), 2), path in steps(),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let answers = [ViewKind::Directory, ViewKind::Memory].map(|kind| {
                runtime.block_on(async {
                    let session = Session::new(kind).await;
                    fs::create_dir_all(session.beside("outside/a")).unwrap();
                    fs::write(session.beside("outside/b"), "secret").unwrap();
                    session.put("a/b/c", "inside");
                    session.put("b", "inside");
                    for (name, (target, kind)) in ["l1", "a/l2"].iter().zip(&links) {
                        let target = match kind {
                            0 => target.into(),
                            1 => session.beside(target),
                            _ => session.at(target),
                        };
                        session.put_symlink(target, name);
                    }
                    let before = session.call("read", json!({ "path": path })).await;
                    let write = json!({ "path": path, "content": "new" });
                    let written = session.call("write", write).await;
                    let after = session.call("read", json!({ "path": path })).await;
                    let secret = fs::read_to_string(session.beside("outside/b")).unwrap();
                    assert_eq!(secret, "secret");
                    let count = |path: &str| fs::read_dir(session.beside(path)).unwrap().count();
                    assert_eq!((count("outside"), count("outside/a")), (2, 0));
                    (before, written, after)
                })
            });
            prop_assert!(!format!("{answers:?}").contains("secret"), "{answers:?}");
            prop_assert_eq!(&answers[0], &answers[1]);
        }
    }
}
