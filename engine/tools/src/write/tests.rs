use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::ports::ToolAnswer;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::limits::WHOLE_FILE;
use crate::stage::Stage;

#[tokio::test]
async fn a_new_file_is_made_with_its_folders() {
    let stage = Stage::new();
    let written = stage.answer("write", json!({ "path": "a/b/c.txt", "content": "é\n" })).await;
    assert_eq!(written.text, "Created new file a/b/c.txt (3 bytes)");
    let details = json!({ "path": "a/b/c.txt", "size": 3, "isNew": true });
    assert_eq!(written.details, Some(details));
    assert_eq!(stage.text("a/b/c.txt"), "é\n");
}

#[tokio::test]
async fn an_old_file_is_overwritten_and_keeps_its_permissions() {
    let stage = Stage::new();
    stage.put("run.sh", "old!!");
    fs::set_permissions(stage.at("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let written = stage.answer("write", json!({ "file_path": "run.sh", "content": "new" })).await;
    assert_eq!(written.text, "Overwrote run.sh (3 bytes, before: 5)");
    assert_eq!(written.details.unwrap()["isNew"], false);
    assert_eq!(stage.text("run.sh"), "new");
    assert_eq!(fs::metadata(stage.at("run.sh")).unwrap().mode() & 0o777, 0o755);
    assert_eq!(stage.names(), ["run.sh"]);
}

#[tokio::test]
async fn another_name_of_the_file_keeps_the_old_content() {
    let stage = Stage::new();
    stage.put("a", "old");
    fs::hard_link(stage.at("a"), stage.beside("other")).unwrap();
    stage.said("write", json!({ "path": "a", "content": "new" })).await;
    assert_eq!(fs::read_to_string(stage.beside("other")).unwrap(), "old");
}

#[tokio::test]
async fn a_link_that_stays_inside_is_written_through() {
    let stage = Stage::new();
    stage.put("real/a.txt", "old");
    symlink("real", stage.at("folder")).unwrap();
    symlink("real/new.txt", stage.at("dangling")).unwrap();
    symlink("../real/a.txt", stage.at("real/again")).unwrap();
    stage.said("write", json!({ "path": "folder/a.txt", "content": "1" })).await;
    assert_eq!(stage.text("real/a.txt"), "1");
    stage.said("write", json!({ "path": "folder/again", "content": "2" })).await;
    assert_eq!(stage.text("real/a.txt"), "2");
    let written = stage.answer("write", json!({ "path": "dangling", "content": "3" })).await;
    assert_eq!(stage.text("real/new.txt"), "3");
    assert_eq!(written.details.unwrap()["path"], "real/new.txt");
    assert!(fs::symlink_metadata(stage.at("dangling")).unwrap().is_symlink());
}

#[tokio::test]
async fn nothing_is_written_outside_of_the_tree() {
    let stage = Stage::new();
    fs::create_dir_all(stage.beside("repo/src")).unwrap();
    fs::write(stage.beside("secret"), "old").unwrap();
    symlink("../secret", stage.at("up")).unwrap();
    symlink(stage.beside("secret"), stage.at("absolute")).unwrap();
    symlink("..", stage.at("parent")).unwrap();
    symlink("/proc/self/cwd", stage.at("magic")).unwrap();
    let secret = stage.beside("secret").display().to_string();
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
        let refused = stage.failed("write", json!({ "path": path, "content": "x" })).await;
        assert!(refused.contains("working tree") || refused.contains("not found"), "{refused}");
        let refused = stage.failed("read", json!({ "path": path })).await;
        assert!(!refused.contains("old"), "{refused}");
    }
    assert_eq!(fs::read_to_string(stage.beside("secret")).unwrap(), "old");
    let users = stage.beside("repo/src/a.rs").display().to_string();
    let refused = stage.failed("write", json!({ "path": users, "content": "x" })).await;
    assert!(refused.ends_with("that is the user's own checkout; use the relative path `src/a.rs`"));
    assert_eq!(fs::read_dir(stage.beside("repo/src")).unwrap().count(), 0);
    let inside = stage.at("in.txt").display().to_string();
    stage.said("write", json!({ "path": inside, "content": "x" })).await;
    assert_eq!(stage.text("in.txt"), "x");
}

#[tokio::test]
async fn nothing_is_written_that_belongs_to_git() {
    let stage = Stage::new();
    stage.put(".git/config", "[core]");
    stage.put("sub/x", "");
    symlink(".git", stage.at("g")).unwrap();
    symlink("../.git/config", stage.at("sub/c")).unwrap();
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
        let refused = stage.failed("write", json!({ "path": path, "content": "x" })).await;
        assert!(refused.contains("belongs to git"), "{path}: {refused}");
    }
    let edits = json!([{ "oldText": "core", "newText": "x" }]);
    let refused = stage.failed("edit", json!({ "path": "g/config", "edits": edits })).await;
    assert!(refused.contains("belongs to git"), "{refused}");
    assert_eq!(stage.text(".git/config"), "[core]");
    assert_eq!(stage.said("read", json!({ "path": ".git/config" })).await, "     1  [core]");
    stage.said("write", json!({ "path": ".gitignore", "content": "x" })).await;
}

#[tokio::test]
async fn what_cannot_be_a_file_is_told() {
    let stage = Stage::new();
    stage.put("folder/x", "");
    let write =
        async |path: &str| stage.failed("write", json!({ "path": path, "content": "x" })).await;
    assert_eq!(write("folder").await, "`folder` is a folder; name a file in it");
    assert_eq!(write("new/").await, "`new/` is a folder; name a file in it");
    assert_eq!(write(".").await, "`.` is a folder; name a file in it");
    assert!(write("folder/x/y").await.contains("is a file and no folder"));
    assert!(write("none/../x").await.starts_with("File not found"));
    symlink("two", stage.at("one")).unwrap();
    symlink("one", stage.at("two")).unwrap();
    assert_eq!(write("one").await, "`one` leads through too many symlinks");
    assert_eq!(stage.names(), ["folder", "one", "two"]);
}

#[tokio::test]
async fn a_path_may_be_deep_but_not_too_deep() {
    let stage = Stage::new();
    let deepest = format!("{}file", "d/".repeat(128));
    stage.said("write", json!({ "path": deepest, "content": "x" })).await;
    assert_eq!(stage.said("read", json!({ "path": deepest })).await, "     1  x");
    let deeper = format!("d/{deepest}");
    let refused = stage.failed("write", json!({ "path": deeper, "content": "x" })).await;
    assert_eq!(refused, "the path is too deep: more than 128 folders below each other");
    let deeper = format!("new/{deepest}");
    let refused = stage.failed("write", json!({ "path": deeper, "content": "x" })).await;
    assert!(refused.starts_with("the path is too deep"), "{refused}");
    assert_eq!(stage.names(), ["d"]);
}

#[tokio::test]
async fn too_much_is_refused_before_anything_is_made() {
    let stage = Stage::new();
    let content = "x".repeat(usize::try_from(WHOLE_FILE).unwrap() + 1);
    let refused = stage.failed("write", json!({ "path": "a/b", "content": content })).await;
    assert!(refused.starts_with("`a/b` is too large for this"), "{refused}");
    assert_eq!(stage.names(), [""; 0]);
}

#[tokio::test]
async fn a_folder_that_may_not_be_written_is_told_and_nothing_is_left() {
    let stage = Stage::new();
    stage.put("locked/a", "old");
    fs::set_permissions(stage.at("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    let answer = stage.call("write", json!({ "path": "locked/a", "content": "new" })).await;
    fs::set_permissions(stage.at("locked"), fs::Permissions::from_mode(0o755)).unwrap();
    // Who is root may write everywhere.
    if let ToolAnswer::Failed(text) = answer {
        assert_eq!(text.text, "cannot write `locked/a`: Permission denied (os error 13)");
        assert_eq!(stage.text("locked/a"), "old");
    }
    assert_eq!(fs::read_dir(stage.at("locked")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_mark_before_a_path_is_tolerated_where_no_such_folder_is() {
    let stage = Stage::new();
    stage.put("src/a", "");
    stage.put("@types/b", "t");
    stage.said("write", json!({ "path": "@src/a", "content": "1" })).await;
    assert_eq!(stage.text("src/a"), "1");
    assert_eq!(stage.said("read", json!({ "path": "@types/b" })).await, "     1  t");
    assert_eq!(stage.names(), ["@types", "src"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_folder_that_becomes_a_link_at_any_moment_never_leads_outside() {
    let stage = Stage::new();
    fs::create_dir_all(stage.beside("outside")).unwrap();
    fs::write(stage.beside("outside/a"), "secret").unwrap();
    stage.put("folder/a", "inside");
    symlink("../outside", stage.at("link")).unwrap();
    let (folder, link) = (stage.at("folder"), stage.at("link"));
    let is_done = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&is_done);
    let exchanging = std::thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        }
    });
    let (mut inside, mut refused) = (0, 0);
    for _ in 0..500 {
        match stage.call("read", json!({ "path": "folder/a" })).await {
            ToolAnswer::Said(text) => {
                assert_eq!(text.text, "     1  inside");
                inside += 1;
            }
            _ => refused += 1,
        }
        for path in ["folder/a", "folder/new", "folder/deep/new"] {
            stage.call("write", json!({ "path": path, "content": "inside" })).await;
        }
    }
    is_done.store(true, Ordering::Relaxed);
    exchanging.join().unwrap();
    assert!(inside > 0 && refused > 0, "{inside} {refused}");
    assert_eq!(fs::read_to_string(stage.beside("outside/a")).unwrap(), "secret");
    assert_eq!(fs::read_dir(stage.beside("outside")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_path_is_known_by_the_name_that_commands_see() {
    let stage = Stage::new();
    stage.put("sub/a", "x");
    let (real, link) = (stage.at("").canonicalize().unwrap(), stage.beside("link"));
    symlink(stage.beside(""), &link).unwrap();
    let bench = engine::ports::Workbench {
        root: link.join("tree"),
        folder: link.join("tree/sub"),
        repo: link.join("repo"),
        environment: Default::default(),
        artifacts: stage.beside("artifacts"),
        keep: 1,
        schema: None,
    };
    let tree = crate::tree::Tree::new(bench.root, bench.folder, bench.repo);
    for path in [&*real.join("sub/a"), &*link.join("tree/sub/a"), std::path::Path::new("a")] {
        let found = tree.find(path.to_str().unwrap()).unwrap();
        assert!(matches!(found, crate::tree::Found::File { .. }), "{}", path.display());
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
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn lead_nowhere_but_inside(
            links in proptest::collection::vec((steps(), 0..3_u8), 2), path in steps(),
        ) {
            let stage = Stage::new();
            fs::create_dir_all(stage.beside("outside/a")).unwrap();
            fs::write(stage.beside("outside/b"), "secret").unwrap();
            stage.put("a/b/c", "inside");
            stage.put("b", "inside");
            for (name, (target, kind)) in ["l1", "a/l2"].iter().zip(&links) {
                let target = match kind {
                    0 => target.clone(),
                    1 => stage.beside(target).display().to_string(),
                    _ => stage.at(target).display().to_string(),
                };
                symlink(target, stage.at(name)).unwrap();
            }
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let answer = stage.call("read", json!({ "path": path })).await;
                assert!(!format!("{answer:?}").contains("secret"), "{answer:?}");
                stage.call("write", json!({ "path": path, "content": "new" })).await;
            });
            prop_assert_eq!(fs::read_to_string(stage.beside("outside/b")).unwrap(), "secret");
            let count = |path: &str| fs::read_dir(stage.beside(path)).unwrap().count();
            prop_assert_eq!((count("outside"), count("outside/a"), count("")), (2, 0, 2));
        }
    }
}
