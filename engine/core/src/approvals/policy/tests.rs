use std::path::PathBuf;

use super::*;
use crate::approvals::{refusal, refusal_by_user, refusal_unanswered};
use crate::ports::{ShellPart, ShellWord};

fn rules(texts: &[&str]) -> Vec<ApprovalRule> {
    texts.iter().map(|text| text.parse().unwrap_or_else(|error| panic!("{error}"))).collect()
}

fn target(path: &str) -> Target {
    match path {
        "?" => Target::Unknown,
        _ if path.starts_with('/') => Target::Outside,
        _ => Target::Path(PathBuf::from(path)),
    }
}

fn command(line: &str) -> CallRequest {
    let words = line.split(' ').map(|word| ShellWord::Literal(word.to_owned())).collect();
    CallRequest::exec("bash", vec![ShellPart::Command { variables: Vec::new(), words }], target)
}

fn decide(mode: ApprovalMode, [deny, ask, allow]: [&[&str]; 3], request: &CallRequest) -> char {
    let mode = Some(mode);
    let approvals = Approvals { mode, deny: rules(deny), ask: rules(ask), allow: rules(allow) };
    match ApprovalPolicy::from(approvals).decide(request) {
        Decision::Allow => '+',
        Decision::Ask(_) => '?',
        Decision::Deny(_) => '-',
    }
}

#[test]
fn each_class_of_call_in_each_mode_with_each_kind_of_rule() {
    let read = CallRequest::read("read", vec![target("src/a.rs")]);
    let write = CallRequest::write("edit", vec![target("src/a.rs")]);
    let (harmless, exec) = (command("cat src/a.rs"), command("cargo test"));
    let outside = CallRequest::write("write", vec![target("/etc/x")]);
    let unknown = CallRequest::write("write", vec![target("?")]);
    // Of each row: the verdicts in the modes ask, write and yolo.
    for (name, rules, request, expected) in [
        ("read", [&[][..], &[], &[]], &read, "+++"),
        ("write", [&[], &[], &[]], &write, "?++"),
        ("harmless command", [&[], &[], &[]], &harmless, "+++"),
        ("command", [&[], &[], &[]], &exec, "??+"),
        ("denied read", [&["read(src)"], &[], &[]], &read, "---"),
        ("denied read by a command", [&["read(src)"], &[], &[]], &harmless, "---"),
        ("another denied", [&["read(docs)"], &[], &[]], &read, "+++"),
        ("denied tool", [&["mcp__x", "grep"], &[], &[]], &read, "+++"),
        ("denied write", [&["edit(*.rs)"], &[], &[]], &write, "---"),
        ("denied writes", [&["write"], &[], &[]], &write, "---"),
        ("denied write that is unknown", [&["edit(*.rs)"], &[], &[]], &unknown, "???"),
        ("denied command", [&["bash(cargo *)"], &[], &[]], &exec, "---"),
        ("denied commands", [&["Bash"], &[], &[]], &exec, "---"),
        ("asked command", [&[], &["bash(cargo *)"], &[]], &exec, "???"),
        ("asked write", [&[], &["edit(src/**)"], &[]], &write, "???"),
        ("asked read", [&[], &["read"], &[]], &read, "???"),
        ("allowed command", [&[], &[], &["bash(cargo test *)"]], &exec, "+++"),
        ("allowed commands", [&[], &[], &["bash"]], &exec, "+++"),
        ("another allowed", [&[], &[], &["bash(cargo build)"]], &exec, "??+"),
        ("allowed write", [&[], &[], &["edit(src/**)"]], &write, "+++"),
        ("allowed write elsewhere", [&[], &[], &["edit(docs/**)"]], &write, "?++"),
        ("allowed write that is unknown", [&[], &[], &["edit(src)"]], &unknown, "?++"),
        ("denied write that is outside", [&["edit(*.rs)"], &[], &[]], &outside, "?++"),
        ("allowed write that is outside", [&[], &[], &["edit(etc)"]], &outside, "?++"),
        ("deny before allow", [&["bash(cargo *)"], &[], &["bash"]], &exec, "---"),
        ("deny before ask", [&["bash(cargo *)"], &["bash"], &[]], &exec, "---"),
        ("ask before allow", [&[], &["bash(cargo *)"], &["bash"]], &exec, "???"),
    ] {
        let modes = [ApprovalMode::Ask, ApprovalMode::Write, ApprovalMode::Yolo];
        let found: String = modes.map(|mode| decide(mode, rules, request)).into_iter().collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_rule_about_a_tool_by_its_name_is_about_every_call_of_it() {
    let call = CallRequest::exec("mcp__web__fetch", Vec::new(), target);
    assert_eq!(decide(ApprovalMode::Yolo, [&["mcp__web__fetch"], &[], &[]], &call), '-');
    let grep = CallRequest::read("grep", vec![target("src")]);
    assert_eq!(decide(ApprovalMode::Yolo, [&["Grep"], &[], &[]], &grep), '-');
    assert_eq!(decide(ApprovalMode::Yolo, [&[], &["ls"], &[]], &grep), '+');
}

#[test]
fn a_refusal_says_what_was_refused_and_what_the_user_can_set() {
    assert_eq!(refusal("bash", "ls", &Decision::Allow), None);
    let asked = refusal("bash", "rm\nx", &Decision::Ask("why".to_owned())).unwrap();
    let begin = "This call was refused: why, and there is no one to answer. Nothing was run of `bash` of \
                 `rm\\nx`. ";
    assert!(asked.starts_with(begin), "{asked}");
    assert!(asked.contains("approvals.allow") && asked.contains("--approval-mode yolo"), "{asked}");
    let denied = refusal("edit", &"a".repeat(9_000), &Decision::Deny("edit".to_owned())).unwrap();
    let long = "for i in 1 2 3; do ".repeat(9);
    for said in [&denied, &refusal_by_user("bash", &long), &refusal_unanswered("bash", &long)] {
        assert!(
            said.starts_with("This call was refused: the "),
            "what cuts the line keeps it: {said}"
        );
    }
    assert!(denied.contains("approvals.deny") && denied.len() < 500, "{denied}");
}

#[test]
fn a_mode_that_is_not_set_follows_from_the_place_of_the_work_and_one_that_is_set_holds_everywhere()
{
    let decided = |policy: &ApprovalPolicy| match policy.decide(&command("cargo test")) {
        Decision::Allow => '+',
        Decision::Ask(_) => '?',
        Decision::Deny(_) => '-',
    };
    let of = |mode| ApprovalPolicy::from(Approvals { mode, ..Approvals::default() });
    let (ask, yolo) = (Some(ApprovalMode::Ask), Some(ApprovalMode::Yolo));
    assert_eq!(decided(&of(None)), '?', "it may be the folder of the user");
    for (mode, in_place, in_copy) in [(None, '?', '+'), (ask, '?', '?'), (yolo, '+', '+')] {
        let policy = of(mode);
        let place = policy.clone().in_workspace(WorkspaceKind::Shared);
        let copy = policy.in_workspace(WorkspaceKind::Private);
        assert_eq!((decided(&place), decided(&copy)), (in_place, in_copy), "{mode:?}");
        assert_eq!(copy.allows_everything(), in_copy == '+');
        assert_eq!(decided(&copy.in_mode(ApprovalMode::Yolo)), '+', "{mode:?}");
    }
}
