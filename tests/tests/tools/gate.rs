//! What is judged of a call: what an answer for a session is about.

use std::path::Path;
use std::sync::Arc;

use engine::ports::{ChangeShown, ShellPart, ShellSyntax, ToolOutcome, ToolOutput};
use engine::tools::{CallGate, Decided};
use protocol::{ApprovalMode, Approvals};
use serde_json::{Value, json};

use super::apply_patch::patch;
use super::session::{Session, ViewKind, call};

over_both_views! {
    an_answer_for_the_session_is_about_what_was_judged,
    a_change_is_known_before_as_the_diff_of_its_file,
    a_call_that_cannot_succeed_is_known_before_it_runs,
    a_change_of_a_file_that_a_rule_forbids_to_read_is_not_shown,
    of_a_file_that_may_not_be_shown_the_model_is_told_no_line,
    what_is_saved_while_a_change_is_judged_is_not_overwritten,
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
    session.put("moved", "x\n");
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
        (
            "apply_patch",
            patch("*** Update File: a.txt\n@@\n-two\n+three"),
            Some(format!("{head},2 @@\n one\n-two\n+three\n")),
        ),
        ("apply_patch", patch("*** Update File: a.txt\n@@\n-none\n+three"), None),
        (
            "apply_patch",
            patch(
                "*** Delete File: a.txt\n*** Add File: b\n+new\n*** Update File: moved\n*** Move to: to/moved\n@@\n-x\n+y",
            ),
            Some(
                "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n\
                 --- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+new\n\
                 --- a/moved\n+++ b/to/moved\n@@ -1 +1 @@\n-x\n+y\n"
                    .into(),
            ),
        ),
    ] {
        let call = call(tool, arguments.clone());
        let view = session.view();
        let shown = session.tools().preview(&call, view.as_ref()).await;
        assert_eq!(shown, expected, "{tool} {arguments}");
    }
    assert_eq!(session.text("a.txt").await, "one\ntwo\n", "nothing is changed");
}

async fn a_call_that_cannot_succeed_is_known_before_it_runs(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a.txt", "one\n");
    session.put("a.ipynb", r#"{"cells":[],"nbformat":4,"nbformat_minor":5,"metadata":{}}"#);
    let edit = |path: &str, old: &str| json!({ "path": path, "oldText": old, "newText": "x" });
    let cell = |path: &str, cell: u32| json!({ "path": path, "action": "delete", "cell": cell });
    for (tool, arguments, text) in [
        ("edit", edit("gone.txt", "one"), "File not found: gone.txt"),
        ("edit", edit("a.txt", "two"), "oldText is not in it"),
        ("edit", json!({ "path": "a.txt" }), "The arguments of edit are not right"),
        ("notebook", cell("gone.ipynb", 0), "File not found: gone.ipynb"),
        ("notebook", cell("a.ipynb", 3), "a.ipynb was not changed"),
        ("apply_patch", patch("*** Delete File: gone.txt"), "File not found: gone.txt"),
        ("apply_patch", patch("*** Add File: a.txt\n+x"), "a.txt"),
        ("write", json!({ "path": "new/", "content": "x" }), "is a folder"),
        ("write", json!({ "path": "../a", "content": "x" }), "outside of the working tree"),
        ("read", json!({ "path": "/etc/passwd" }), "outside of the working tree"),
        ("bash", json!({ "command": "ls", "cwd": "gone" }), "File not found: gone"),
        ("str_replace", edit("a.txt", "one"), "Tool str_replace not found"),
    ] {
        let (asked, view) = (call(tool, arguments.clone()), session.view());
        let known = session.tools().check(&asked, view.as_ref()).await;
        let outcome = ToolOutcome::Failed(ToolOutput::text(session.failed(tool, arguments).await));
        assert_eq!(known, Err(outcome.clone()), "{tool}");
        assert!(format!("{outcome:?}").contains(text), "{tool}: {outcome:?}");
    }
    for (tool, arguments) in [
        ("edit", edit("a.txt", "one")),
        ("write", json!({ "path": "new/b.txt", "content": "x" })),
        ("apply_patch", patch("*** Add File: new/c.txt\n+x")),
        ("bash", json!({ "command": "ls" })),
    ] {
        let (call, view) = (call(tool, arguments), session.view());
        assert_eq!(session.tools().check(&call, view.as_ref()).await, Ok(()), "{tool}");
    }
    assert_eq!(session.names("").await, ["a.ipynb", "a.txt"], "nothing is changed");
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

async fn of_a_file_that_may_not_be_shown_the_model_is_told_no_line(kind: ViewKind) {
    let shown = Session::new(kind).await;
    let hidden = shown.without_changes();
    let edit = |old: &str| json!({ "path": "env", "oldText": old, "newText": "name=2" });
    for (tool, arguments, told) in [
        ("edit", edit("name=1"), "Edited env: +1 −1 lines"),
        ("edit", edit("name = 1"), "oldText was found with other blanks or quotes on line 2]"),
        ("edit", edit("key=hidde\nno"), "env was not edited: oldText is not in it"),
        ("apply_patch", patch("*** Update File: env\n-name=1\n+name=2"), "update env"),
        ("apply_patch", patch("*** Update File: env\n-key=hidde\n+x"), "was not found"),
        ("write", json!({ "path": "env", "content": "name=2\n" }), "Now that you know, repeat"),
    ] {
        for (session, has_line) in [(&shown, true), (&hidden, false)] {
            session.put("env", "key=hidden\nname=1\n");
            session.said("read", json!({ "path": "env" })).await;
            if tool == "write" {
                session.put("env", "key=hidden\nname=one\n");
            }
            let text = session.outcome_text(tool, arguments.clone()).await;
            assert_eq!(text.contains("hidden"), has_line, "{tool} {arguments}: {text}");
            assert!(has_line || text.contains(told), "{tool} {arguments}: {text}");
        }
    }
}

async fn what_is_saved_while_a_change_is_judged_is_not_overwritten(kind: ViewKind) {
    for (tool, arguments, path) in [
        ("write", json!({ "path": "a", "content": "ours\n" }), "a"),
        ("edit", json!({ "path": "a", "oldText": "one", "newText": "ours" }), "a"),
        ("apply_patch", patch("*** Delete File: a"), "a"),
        ("write", json!({ "path": "new/b", "content": "ours\n" }), "new/b"),
    ] {
        let session = Session::new(kind).await;
        session.put("a", "one\n");
        let (call, view) = (call(tool, arguments.clone()), session.view());
        let judge = || session.tools().preview(&call, view.as_ref());
        judge().await;
        session.put(path, "one\nsaved\n");
        let refused = session.failed(tool, arguments.clone()).await;
        assert!(refused.contains("was changed by something else"), "{tool}: {refused}");
        assert!(refused.contains("+saved"), "{tool}: {refused}");
        assert_eq!(session.text(path).await, "one\nsaved\n", "{tool}");
        session.said(tool, arguments).await;
    }
    // What is judged last counts.
    let session = Session::new(kind).await;
    let write = json!({ "path": "a", "content": "ours\n" });
    for text in ["one\n", "two\n"] {
        session.put("a", text);
        session.tools().preview(&call("write", write.clone()), session.view().as_ref()).await;
    }
    session.said("write", write).await;
}
