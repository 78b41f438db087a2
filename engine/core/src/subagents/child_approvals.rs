//! Which calls of a subagent run without a question.

use protocol::{ApprovalMode, Approvals, WorkspaceKind};

/// Returns the approvals of a subagent that works in `workspace`: the rules of its caller, whose mode is `mode`. In
/// the tree of the caller, that mode counts; in a copy, only a mode that was set.
#[must_use]
pub fn child_approvals(
    caller: &Approvals,
    mode: ApprovalMode,
    workspace: WorkspaceKind,
) -> Approvals {
    let mode = match workspace {
        WorkspaceKind::Shared => Some(mode),
        WorkspaceKind::Private => caller.mode,
    };
    Approvals { mode, ..caller.clone() }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;
    use proptest::sample::{select, subsequence};
    use protocol::ApprovalRule;

    use super::*;
    use crate::approvals::{ApprovalPolicy, CallRequest, Decision, Target};
    use crate::ports::{ShellPart, ShellWord};

    const RULES: [&str; 6] =
        ["read(src)", "edit(src/**)", "write", "bash", "bash(cargo *)", "mcp__x"];

    fn rules() -> impl Strategy<Value = Vec<ApprovalRule>> {
        let parsed = |rules: Vec<&str>| rules.iter().map(|rule| rule.parse().unwrap()).collect();
        subsequence(RULES.to_vec(), 0..=2).prop_map(parsed)
    }

    fn approvals() -> impl Strategy<Value = Approvals> {
        let modes = [ApprovalMode::Ask, ApprovalMode::Write, ApprovalMode::Yolo];
        let mode = prop::option::of(select(modes.to_vec()));
        (mode, rules(), rules(), rules()).prop_map(|(mode, deny, ask, allow)| Approvals {
            mode,
            deny,
            ask,
            allow,
        })
    }

    fn workspace() -> impl Strategy<Value = WorkspaceKind> {
        select(vec![WorkspaceKind::Shared, WorkspaceKind::Private])
    }

    fn requests() -> Vec<CallRequest> {
        let target = |path: &str| Target::Path(PathBuf::from(path));
        let command = |line: &str| {
            let words = line.split(' ').map(|word| ShellWord::Literal(word.to_owned())).collect();
            CallRequest::exec("bash", vec![ShellPart::Command { variables: vec![], words }], target)
        };
        vec![
            CallRequest::read("read", vec![target("src/a.rs")]),
            CallRequest::write("edit", vec![target("src/a.rs")]),
            CallRequest::write("write", vec![target("docs/a.md")]),
            command("cat src/a.rs"),
            command("cargo test"),
        ]
    }

    fn rank(policy: &ApprovalPolicy, request: &CallRequest) -> u8 {
        match policy.decide(request) {
            Decision::Allow => 0,
            Decision::Ask(_) => 1,
            Decision::Deny(_) => 2,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        #[test]
        fn no_child_allows_what_its_caller_does_not(
            caller in approvals(),
            places in prop::collection::vec(workspace(), 2..=4),
        ) {
            let mut above = ApprovalPolicy::from(caller).in_workspace(places[0]);
            for place in &places[1..] {
                let (own, mode) = above.own();
                let child = ApprovalPolicy::from(child_approvals(&own, mode, *place));
                let child = child.in_workspace(*place);
                // In a copy, a mode that was not set is that of copies; the rules hold there as well.
                if own.mode.is_none() && *place == WorkspaceKind::Private {
                    above = above.in_mode(ApprovalMode::Yolo);
                }
                for request in requests() {
                    let (of_caller, of_child) = (rank(&above, &request), rank(&child, &request));
                    prop_assert!(of_child >= of_caller, "{request:?}: {of_child} under {of_caller}");
                }
                above = child;
            }
        }
    }
}
