//! What is judged of a call: what an answer for a session is about.

use std::path::Path;
use std::sync::Arc;

use engine::ports::{ShellPart, ShellSyntax};
use engine::tools::{CallGate, ChangeShown, Decided};
use protocol::{ApprovalMode, Approvals};
use serde_json::{Value, json};

use super::session::{Session, ViewKind, call};

over_both_views! {
    an_answer_for_the_session_is_about_what_was_judged,
    a_change_is_known_before_as_the_diff_of_its_file,
    a_change_of_a_file_that_a_rule_forbids_to_read_is_not_shown,
}

/// Finds nothing to decide in a command.
struct NoShell;

impl ShellSyntax for NoShell {
    fn parts(&self, _script: &str) -> Vec<ShellPart> {
        Vec::new()
    }
}

async fn decided(session: &Session, tool: &str, arguments: Value) -> Decided {
    let approvals = Approvals { mode: Some(ApprovalMode::Ask), ..Approvals::default() };
    let gate = CallGate::new(approvals.into(), Arc::new(NoShell));
    let view = session.view();
    gate.decide(session.tools(), &call(tool, arguments), view.as_ref()).await
}

async fn an_answer_for_the_session_is_about_what_was_judged(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("sub/a.txt", "x");
    session.put("other/a.txt", "x");
    session.put_symlink("sub", "link");
    session.put_symlink("other", "other-link");
    let edit = |path: &str| json!({ "path": path, "oldText": "x", "newText": "y" });
    let write = |path: &str| json!({ "path": path, "content": path });
    let allowed = decided(&session, "write", write("link/a.txt")).await;
    assert!(!allowed.subjects.is_empty());
    for (tool, arguments, is_equal) in [
        ("write", write("./sub/a.txt"), true),
        ("edit", edit("sub/a.txt"), true),
        ("edit", edit("link/../sub/a.txt"), true),
        ("write", write("sub/b.txt"), false),
        ("write", write("other-link/a.txt"), false),
        ("bash", json!({ "command": "link/a.txt" }), false),
    ] {
        let other = decided(&session, tool, arguments.clone()).await;
        assert_eq!(other.subjects == allowed.subjects, is_equal, "{tool} {arguments}");
    }
    let allowed = decided(&session, "bash", json!({ "command": "pwd > out" })).await;
    assert_eq!(allowed.folder, None);
    for (arguments, is_equal, folder) in [
        (json!({ "cmd": "pwd > out", "timeout": 9 }), true, None),
        (json!({ "command": "pwd > out", "cwd": "sub/.." }), true, Some("")),
        (json!({ "command": "pwd > out", "cwd": "link" }), false, Some("sub")),
        (json!({ "command": "pwd > out", "workdir": "none" }), false, Some("none")),
        (json!({ "command": "pwd  > out" }), false, None),
    ] {
        let other = decided(&session, "bash", arguments.clone()).await;
        assert_eq!(other.subjects == allowed.subjects, is_equal, "{arguments}");
        assert_eq!(other.folder.as_deref(), folder.map(Path::new), "{arguments}");
    }
}

async fn a_change_is_known_before_as_the_diff_of_its_file(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a.txt", "one\ntwo\n");
    session.put("bytes", [0, 159]);
    let edit = |old: &str| json!({ "path": "./a.txt", "old_string": old, "new_string": "three" });
    let write = |path: &str| json!({ "path": path, "content": "one\n" });
    let head = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1";
    for (tool, arguments, expected) in [
        ("edit", edit("two"), Some(format!("{head},2 @@\n one\n-two\n+three\n"))),
        ("edit", edit("none"), None),
        ("write", write("a.txt"), Some(format!("{head} @@\n one\n-two\n"))),
        ("write", write("new/b"), Some("--- /dev/null\n+++ b/new/b\n@@ -0,0 +1 @@\n+one\n".into())),
        ("write", write("bytes"), None),
        ("write", write("../outside"), None),
        ("write", json!({ "path": "a.txt" }), None),
        ("bash", json!({ "command": "rm a.txt" }), None),
    ] {
        let call = call(tool, arguments.clone());
        let view = session.view();
        let shown = session.tools().preview(&call, view.as_ref()).await;
        assert_eq!(shown, expected, "{tool} {arguments}");
    }
    assert_eq!(session.text("a.txt").await, "one\ntwo\n", "nothing is changed");
}

async fn a_change_of_a_file_that_a_rule_forbids_to_read_is_not_shown(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("secret/key", "x");
    session.put("open", "x");
    session.put_symlink("secret", "link");
    let deny = vec!["read(secret/**)".parse().unwrap()];
    let approvals = Approvals { mode: Some(ApprovalMode::Yolo), deny, ..Approvals::default() };
    let gate = CallGate::new(approvals.into(), Arc::new(NoShell));
    for (path, shown) in [
        ("open", ChangeShown::Yes),
        ("secret/key", ChangeShown::No),
        ("link/key", ChangeShown::No),
        ("secret/new", ChangeShown::No),
    ] {
        let call = call("write", json!({ "path": path, "content": "y" }));
        let view = session.view();
        let decided = gate.decide(session.tools(), &call, view.as_ref()).await;
        assert_eq!(gate.shows_change(&decided), shown, "{path}");
    }
}
