//! What is judged of a call: what an answer for a session is about.

use std::path::Path;
use std::sync::Arc;

use engine::ports::{ShellPart, ShellSyntax};
use engine::tools::{CallGate, Decided};
use protocol::{ApprovalMode, Approvals};
use serde_json::{Value, json};

use super::session::{Session, ViewKind, call};

over_both_views! {
    an_answer_for_the_session_is_about_what_was_judged,
}

/// Finds nothing to decide in a command.
struct NoShell;

impl ShellSyntax for NoShell {
    fn parts(&self, _script: &str) -> Vec<ShellPart> {
        Vec::new()
    }
}

async fn decided(session: &Session, tool: &str, arguments: Value) -> Decided {
    let approvals = Approvals { mode: ApprovalMode::Ask, ..Approvals::default() };
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
