//! The rules that always allow a call: what becomes of the answer `always`.

use protocol::{ApprovalRule, RuleCalls};

use super::policy::{ApprovalPolicy, Decision};
use super::request::{CallRequest, Part, Target, Wants};
use crate::ports::ShellWord;

impl ApprovalPolicy {
    /// Returns the rules that allow exactly what this call does, wherever it is made in the repository; none if
    /// rules cannot say it, or if another rule would ask or deny all the same.
    #[must_use]
    pub fn always(&self, request: &CallRequest) -> Vec<ApprovalRule> {
        let rules = match &request.wants {
            Wants::Read(_) => None,
            Wants::Write(targets) => targets.iter().map(change).collect(),
            Wants::Exec(parts) => parts.iter().filter_map(part).collect(),
            Wants::Server => request.tool.parse().ok().map(|rule| vec![rule]),
        };
        let rules: Vec<ApprovalRule> = rules.unwrap_or_default();
        match self.allowing(&rules).decide(request) {
            Decision::Allow => rules,
            Decision::Ask(_) | Decision::Deny(_) => Vec::new(),
        }
    }

    /// Returns the policy with rules of the user that allow calls.
    #[must_use]
    pub fn allowing(&self, rules: &[ApprovalRule]) -> Self {
        let mut policy = self.clone();
        policy.approvals.allow.extend(rules.iter().cloned());
        policy
    }
}

/// Returns the rule that a part of a command needs, if it needs one; `Some(None)` if no rule can say it.
fn part(part: &Part) -> Option<Option<ApprovalRule>> {
    match part {
        Part::Command { words, reads: None, .. } => Some(command(words)),
        Part::Output(target) => Some(change(target)),
        Part::Undecidable(_) => Some(None),
        Part::Command { reads: Some(_), .. }
        | Part::Wrapper(_)
        | Part::Assignment(_)
        | Part::Input(_)
        | Part::Stream => None,
    }
}

/// Returns the rule of a command with exactly these words.
fn command(words: &[ShellWord]) -> Option<ApprovalRule> {
    let words: Option<Vec<&str>> = words.iter().map(ShellWord::literal).collect();
    let words = words?;
    let is_plain = |word: &&str| {
        !word.is_empty() && !word.contains(['*', '?']) && !word.contains(char::is_whitespace)
    };
    if !words.iter().all(is_plain) {
        return None;
    }
    let rule: ApprovalRule = format!("bash({})", words.join(" ")).parse().ok()?;
    match &rule.calls {
        RuleCalls::Command(Some(pattern)) if *pattern == words => Some(rule),
        _ => None,
    }
}

/// Returns the rule of changes of exactly this file.
fn change(target: &Target) -> Option<ApprovalRule> {
    let Target::Path(path) = target else { return None };
    let path = path.to_str()?;
    if path.contains(['*', '?']) {
        return None;
    }
    // A pattern without a `/` would be a name in any folder.
    let rule: ApprovalRule = match path.contains('/') {
        true => format!("edit({path})"),
        false => format!("edit(./{path})"),
    }
    .parse()
    .ok()?;
    matches!(rule.calls, RuleCalls::Write(Some(_))).then_some(rule)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use protocol::{ApprovalMode, Approvals};

    use super::*;
    use crate::ports::ShellPart;

    fn target(path: &str) -> Target {
        match path {
            "?" => Target::Unknown,
            _ => Target::Path(PathBuf::from(path)),
        }
    }

    fn run(variable: Option<&str>, line: &str, output: Option<&str>) -> CallRequest {
        let word = |word: &str| match word.starts_with('$') {
            true => ShellWord::Computed(word.to_owned()),
            false => ShellWord::Literal(word.replace('_', " ")),
        };
        let variables = variable.map(str::to_owned).into_iter().collect();
        let command = ShellPart::Command { variables, words: line.split(' ').map(word).collect() };
        let output = output.map(|path| ShellPart::Output(ShellWord::Literal(path.to_owned())));
        CallRequest::exec("bash", [command].into_iter().chain(output).collect(), target)
    }

    #[test]
    fn always_is_said_by_rules_that_allow_exactly_the_call_or_by_none() {
        let write = |paths: &[&str]| {
            CallRequest::write("edit", paths.iter().map(|path| target(path)).collect())
        };
        for (request, expected) in [
            (run(None, "cargo test -p x", None), &["bash(cargo test -p x)"][..]),
            (run(None, "cargo test", Some("log.txt")), &["bash(cargo test)", "edit(./log.txt)"]),
            (run(None, "cat c", Some("b/c")), &["edit(b/c)"]),
            (run(Some("RUST_LOG"), "cargo test", None), &["bash(cargo test)"]),
            (run(Some("PATH"), "cargo test", None), &[]),
            (run(None, "rm *", None), &[]),
            (run(None, "rm a_b", None), &[]),
            (run(None, "rm $X", None), &[]),
            (run(None, "npm run:*", None), &[]),
            (run(None, "touch", Some("?")), &[]),
            (run(None, "git push", None), &[]),
            (run(None, "make ask", None), &[]),
            (write(&["src/a.rs"]), &["edit(src/a.rs)"]),
            (write(&["Cargo.toml"]), &["edit(./Cargo.toml)"]),
            // One rule has to cover all files of a call.
            (write(&["src/a.rs", "Cargo.toml"]), &[]),
            (write(&["a*"]), &[]),
            (write(&["?"]), &[]),
            (CallRequest::read("read", vec![target("a")]), &[]),
        ] {
            let rules = |texts: &[&str]| -> Vec<ApprovalRule> {
                texts.iter().map(|text| text.parse().expect("it is a rule")).collect()
            };
            let policy = ApprovalPolicy::from(Approvals {
                mode: Some(ApprovalMode::Ask),
                deny: rules(&["bash(git push *)"]),
                ask: rules(&["bash(make ask)", "read(a)"]),
                allow: Vec::new(),
            });
            let found = policy.always(&request);
            let texts: Vec<_> = found.iter().map(ApprovalRule::as_str).collect();
            assert_eq!(texts, expected, "{request:?}");
        }
        let elsewhere = write(&["sub/Cargo.toml"]);
        let policy =
            ApprovalPolicy::from(Approvals { mode: Some(ApprovalMode::Ask), ..Default::default() });
        let rules = policy.always(&write(&["Cargo.toml"]));
        assert_ne!(policy.allowing(&rules).decide(&elsewhere), Decision::Allow);
    }
}
