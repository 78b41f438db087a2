//! Which files the gate takes a redirection of a command to write.

use std::sync::Arc;

use engine::approvals::Decision;
use engine::ports::{ShellPart, ShellSyntax, ShellWord};
use engine::tools::CallGate;
use protocol::{ApprovalMode, Approvals};
use serde_json::json;

use super::session::{Session, ViewKind, call};

over_both_views! {
    a_path_that_leaves_the_tree_and_may_come_back_is_asked_about_where_a_rule_denies_changes,
}

/// Takes a whole script for the file that it writes.
struct WritesTo;

impl ShellSyntax for WritesTo {
    fn parts(&self, script: &str) -> Vec<ShellPart> {
        vec![ShellPart::Output(ShellWord::Literal(script.to_owned()))]
    }
}

async fn a_path_that_leaves_the_tree_and_may_come_back_is_asked_about_where_a_rule_denies_changes(
    kind: ViewKind,
) {
    let session = Session::new(kind).await;
    for path in [".github/f", "src/f", "sub/f"] {
        session.put(path, "x");
    }
    session.put_symlink(".github", "link");
    session.put_symlink("/", "out");
    let deny = vec!["edit(.github/**)".parse().unwrap()];
    let approvals = Approvals { mode: Some(ApprovalMode::Yolo), deny, ..Approvals::default() };
    let gate = CallGate::new(approvals.into(), Arc::new(WritesTo));
    for (path, expected) in [
        ("src/f", '+'),
        ("/elsewhere/f", '+'),
        (".github/f", '-'),
        ("./src/../.github/f", '-'),
        ("link/f", '-'),
        ("../tree/.github/f", '?'),
        ("sub/../../tree/.github/f", '?'),
        ("out/tree/.github/f", '?'),
        ("/elsewhere/../tree/.github/f", '?'),
        ("/proc/self/cwd/.github/f", '?'),
        ("/dev/fd/9/f", '?'),
    ] {
        let call = call("bash", json!({ "command": path }));
        let view = session.view();
        let decided = gate.decide(session.tools(), &call, view.as_ref()).await;
        let found = match decided.decision {
            Decision::Allow => '+',
            Decision::Ask(_) => '?',
            Decision::Deny(_) => '-',
        };
        assert_eq!(found, expected, "{path}");
    }
}
