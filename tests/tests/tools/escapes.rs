//! Paths that lead out of the tree, into git's folder, or to what is not a file, for every tool that takes one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use engine::ports::ToolOutcome;
use serde_json::{Value, json};

use super::session::{Session, ViewKind, read};

over_both_views! {
    no_path_whatever_leads_a_tool_outside_or_into_gits_folder,
}

/// What only the file outside has.
const SECRET: &str = "only-outside-k5";

/// Paths as a model writes them; `OUT` is the absolute path of the folder outside, `IN` that of the tree.
const PATHS: [&str; 80] = [
    "../outside/secret",
    "../../etc/passwd",
    "a/../../outside/secret",
    "./../outside/secret",
    "a/b/../../../outside/secret",
    "a/./../../outside/./secret",
    "missing/../../outside/secret",
    "..",
    "../",
    "../.",
    "a/../..",
    "..//outside//secret",
    "/..",
    "/../etc/passwd",
    "OUT/secret",
    "OUT",
    "OUT/",
    "IN/../outside/secret",
    "IN/../outside/../outside/secret",
    "//etc/passwd",
    "/etc/passwd",
    "/etc/../etc/passwd",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd",
    "/proc/self/environ",
    "/proc/self/fd/0",
    "/proc/1/environ",
    "/proc/self/mem",
    "/dev/zero",
    "/dev/stdin",
    "/dev/fd/0",
    "/dev/tty",
    "file:///etc/passwd",
    "file://OUT/secret",
    "~/.ssh/id_rsa",
    "~root/x",
    "artifact://../../outside/secret",
    "artifact://0/../../outside/secret",
    "..\0/outside/secret",
    "a\0",
    "\0../outside/secret",
    "to-file",
    "to-absolute",
    "to-folder",
    "to-folder/secret",
    "to-folder/new",
    "to-folder/new/deep",
    "to-folder/../outside/secret",
    "to-up",
    "to-up/outside/secret",
    "to-up/outside/new",
    "to-root/etc/passwd",
    "to-proc/outside/secret",
    "to-chain",
    "to-chain-folder/secret",
    "a/to-file",
    "a/to-folder/secret",
    "a/to-folder/new",
    "to-inside-out/secret",
    "to-dots",
    "to-zero",
    "to-loop",
    "to-loop/x",
    "to-itself",
    "dangling-out",
    "dangling-out/x",
    ".git",
    ".git/config",
    ".git/hooks/pre-commit",
    ".GIT/config",
    ".Git/new",
    "a/../.git/config",
    "sub/.git/config",
    "sub/.GIT/hooks/x",
    ".g\u{200c}it/config",
    ".git\u{200d}/new",
    "to-git/config",
    "to-git/new",
    "pipe",
    "pipe/x",
];

/// Returns a tree in which links lead everywhere, and the folder outside.
async fn tree(kind: ViewKind) -> Session {
    let session = Session::new(kind).await;
    let outside = session.beside("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("secret"), SECRET).unwrap();
    fs::write(outside.join("book.ipynb"), "{}").unwrap();
    session.put("a/b/inside.txt", "inside\n");
    session.put(".git/config", "[core]\n");
    session.put("sub/.git/config", "[core]\n");
    session.put_pipe("pipe");
    for (target, at) in [
        ("../outside/secret", "to-file"),
        ("../outside", "to-folder"),
        ("..", "to-up"),
        ("/", "to-root"),
        ("/proc/self/cwd", "to-proc"),
        ("to-file", "to-chain"),
        ("a/to-folder", "to-chain-folder"),
        ("../../outside/secret", "a/to-file"),
        ("../../outside", "a/to-folder"),
        ("a/../../outside", "to-inside-out"),
        ("a/../../outside/secret", "to-dots"),
        ("/dev/zero", "to-zero"),
        ("to-loop-2", "to-loop"),
        ("to-loop", "to-loop-2"),
        ("to-itself", "to-itself"),
        ("../outside/none", "dangling-out"),
        (".git", "to-git"),
    ] {
        session.put_symlink(target, at);
    }
    session.put_symlink(outside.join("secret"), "to-absolute");
    session
}

/// Returns a call of each tool that takes a path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let patch =
        |lines: String| json!({ "input": format!("*** Begin Patch\n{lines}\n*** End Patch") });
    vec![
        ("read", json!({ "path": path })),
        ("ls", json!({ "path": path })),
        ("grep", json!({ "pattern": "only-outside|core|root:", "path": path })),
        ("find", json!({ "pattern": "*", "path": path })),
        ("bash", json!({ "command": "true", "cwd": path })),
        (
            "report_finding",
            json!({ "title": "x", "body": "", "priority": "P3", "confidence": 1,
            "file_path": path, "line_start": 1, "line_end": 1 }),
        ),
        ("edit", json!({ "path": path, "oldText": SECRET, "newText": "x" })),
        ("edit", json!({ "path": path, "oldText": "[core]", "newText": "x" })),
        ("notebook", json!({ "path": path, "action": "insert", "cell": 0, "content": "x" })),
        ("apply_patch", patch(format!("*** Update File: {path}\n-{SECRET}\n+x"))),
        ("apply_patch", patch(format!("*** Update File: {path}\n-[core]\n+x"))),
        ("apply_patch", patch(format!("*** Delete File: {path}"))),
        ("apply_patch", patch(format!("*** Add File: {path}\n+x"))),
        (
            "apply_patch",
            patch(format!("*** Update File: a/b/inside.txt\n*** Move to: {path}\n-inside\n+x")),
        ),
        ("write", json!({ "path": path, "content": "x" })),
    ]
}

/// Returns each file below a folder with its content.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap_or_default())
        })
        .collect()
}

async fn no_path_whatever_leads_a_tool_outside_or_into_gits_folder(kind: ViewKind) {
    let session = tree(kind).await;
    let (outside, root) = (session.beside("outside"), session.at(""));
    let (before, shadow) = (files(&outside), session.names("").await);
    let git = (session.names(".git").await, session.names("sub/.git").await);
    for path in test_limit::sample(PATHS, 20) {
        let text = path.replace("OUT", outside.to_str().unwrap());
        let text = text.replace("IN", root.to_str().unwrap().trim_end_matches('/'));
        for (tool, arguments) in calls(&text) {
            let outcome = session.call(tool, arguments).await;
            let shown = match outcome {
                ToolOutcome::Output(output) | ToolOutcome::Failed(output) => read(output).text,
                other => panic!("{tool} {path:?}: {other:?}"),
            };
            let leaks = [SECRET, "root:x:"].iter().any(|secret| {
                // The error of an edit quotes what the call itself has.
                shown.contains(secret) && !matches!(tool, "edit" | "apply_patch")
            });
            assert!(!leaks, "{tool} {path:?}: {shown}");
        }
        assert_eq!(files(&outside), before, "{path:?}");
        let now = (session.names(".git").await, session.names("sub/.git").await);
        assert_eq!(now, git, "{path:?}");
        for config in [".git/config", "sub/.git/config"] {
            assert_eq!(session.text(config).await, "[core]\n", "{path:?}");
        }
        assert_eq!(session.text("a/b/inside.txt").await, "inside\n", "{path:?}");
    }
    let folders: Vec<_> =
        session.commands.requests.lock().unwrap().iter().map(|it| it.folder.clone()).collect();
    let strays: Vec<_> = folders.iter().filter(|folder| !folder.starts_with(&root)).collect();
    assert!(strays.is_empty(), "{strays:?}");
    assert!(session.names("").await.len() <= shadow.len() + PATHS.len());
}
