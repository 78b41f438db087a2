//! The policy: rules and a mode.

use protocol::{ApprovalMode, ApprovalRule, Approvals, RuleCalls, WorkspaceKind};

use super::pattern::{self, Match, Names};
use super::request::{CallRequest, Part, Target, Wants, may_name_any};
use crate::ports::ShellWord;

/// Which calls run, which are asked about, and which are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalPolicy {
    pub(super) approvals: Approvals,
    /// Where the work is done, on which the mode depends if none is set; `None` if it is not known.
    workspace: Option<WorkspaceKind>,
}

/// What happens to a call, the mildest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// It runs.
    Allow,
    /// It runs if a person says so. The text says why it is asked about.
    Ask(String),
    /// It is refused by this rule.
    Deny(String),
}

/// Variables that change what a command prints, and not what it does.
const HARMLESS_VARIABLES: &[&str] = &[
    "CARGO_TERM_COLOR",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

impl From<Approvals> for ApprovalPolicy {
    fn from(approvals: Approvals) -> Self {
        Self { approvals, workspace: None }
    }
}

impl ApprovalPolicy {
    /// Returns the policy for work in this kind of workspace.
    #[must_use]
    pub fn in_workspace(self, workspace: WorkspaceKind) -> Self {
        Self { workspace: Some(workspace), ..self }
    }

    /// Returns the policy with another mode.
    #[must_use]
    pub fn in_mode(mut self, mode: ApprovalMode) -> Self {
        self.approvals.mode = Some(mode);
        self
    }

    /// Returns the rules and the mode that somebody has set, and the mode that counts.
    #[must_use]
    pub fn own(&self) -> (Approvals, ApprovalMode) {
        (self.approvals.clone(), self.mode())
    }

    /// Returns whether every call is allowed, so that no call has to be looked at.
    #[must_use]
    pub fn allows_everything(&self) -> bool {
        let is_open = self.approvals.deny.is_empty() && self.approvals.ask.is_empty();
        is_open && self.mode() == ApprovalMode::Yolo
    }

    /// Decides about a call.
    #[must_use]
    pub fn decide(&self, request: &CallRequest) -> Decision {
        let approvals = &self.approvals;
        let mut doubtful = None;
        for rule in &approvals.deny {
            match matches(rule, request) {
                Match::Yes => return Decision::Deny(rule.to_string()),
                Match::Maybe => doubtful = doubtful.or(Some(rule)),
                Match::No => {}
            }
        }
        if let Some(rule) = doubtful {
            return Decision::Ask(format!(
                "whether the rule `{rule}` forbids it cannot be decided"
            ));
        }
        // A command may do each of these.
        let is_doable = |rule: &ApprovalRule| !matches!(rule.calls, RuleCalls::Tool(_));
        let denies = approvals.deny.iter().any(is_doable);
        if let Some(reason) = undecidable(request).filter(|_| denies) {
            return Decision::Ask(format!("what it runs cannot be decided: {reason}"));
        }
        if let Some(rule) = approvals.ask.iter().find(|rule| matches(rule, request) != Match::No) {
            return Decision::Ask(format!("the rule `{rule}` asks about it"));
        }
        let mode = self.mode();
        if is_allowed(&approvals.allow, request) || !asks(mode, request) {
            return Decision::Allow;
        }
        let what = match request.wants {
            Wants::Exec(_) => "commands",
            Wants::Server => "calls of servers",
            Wants::Read(_) | Wants::Write(_) => "changes of files",
        };
        Decision::Ask(format!("the approval mode `{}` asks about {what}", mode.name()))
    }

    fn mode(&self) -> ApprovalMode {
        // Where it is not known where the work is done, it may be the user's own folder.
        self.approvals.mode_in(self.workspace.unwrap_or(WorkspaceKind::Shared))
    }
}

/// Returns why it is not known what a command runs.
fn undecidable(request: &CallRequest) -> Option<&'static str> {
    let Wants::Exec(parts) = &request.wants else { return None };
    parts.iter().find_map(|part| match part {
        Part::Undecidable(reason) => Some(*reason),
        _ => None,
    })
}

/// Returns whether a mode asks about calls of this kind.
fn asks(mode: ApprovalMode, request: &CallRequest) -> bool {
    match (&request.wants, mode) {
        (_, ApprovalMode::Yolo) | (Wants::Read(_), _) | (Wants::Write(_), ApprovalMode::Write) => {
            false
        }
        (Wants::Write(_), ApprovalMode::Ask) => true,
        (Wants::Server, ApprovalMode::Ask | ApprovalMode::Write) => true,
        (Wants::Exec(parts), ApprovalMode::Ask | ApprovalMode::Write) => {
            !parts.iter().all(|part| matches!(part, Part::Command { reads: Some(_), .. }))
        }
    }
}

/// Returns whether a rule that denies or asks matches a call, in any of its parts.
fn matches(rule: &ApprovalRule, request: &CallRequest) -> Match {
    let of_targets = |glob: &Option<String>, targets: &[Target]| match glob {
        // `yield` reads nothing.
        None if targets.is_empty() => Match::No,
        None => Match::Yes,
        Some(glob) => best(targets.iter().map(|target| of_target(glob, target))),
    };
    match (&rule.calls, &request.wants) {
        (RuleCalls::Tool(name), _) if pattern::tool(name, &request.tool) => Match::Yes,
        (RuleCalls::Read(glob), Wants::Read(targets))
        | (RuleCalls::Write(glob), Wants::Write(targets)) => of_targets(glob, targets),
        (RuleCalls::Command(None), Wants::Exec(_)) => Match::Yes,
        (calls, Wants::Exec(parts)) => best(parts.iter().map(|part| of_part(calls, part))),
        _ => Match::No,
    }
}

fn best(matches: impl Iterator<Item = Match>) -> Match {
    matches.max().unwrap_or(Match::No)
}

fn of_target(glob: &str, target: &Target) -> Match {
    match target {
        Target::Path(path) if pattern::path(glob, path) => Match::Yes,
        Target::Path(_) | Target::Outside => Match::No,
        Target::Unknown => Match::Maybe,
    }
}

fn of_part(calls: &RuleCalls, part: &Part) -> Match {
    let of_one = |glob: &Option<String>, target: &Target| {
        glob.as_ref().map_or(Match::Yes, |glob| of_target(glob, target))
    };
    match (calls, part) {
        (RuleCalls::Command(Some(pattern)), Part::Command { words, .. } | Part::Wrapper(words)) => {
            pattern::command(pattern, words, Names::Base)
        }
        (RuleCalls::Write(glob), Part::Output(target))
        | (RuleCalls::Read(glob), Part::Input(target)) => of_one(glob, target),
        (RuleCalls::Read(glob), Part::Command { reads: Some(reads), .. }) => {
            best(reads.iter().map(|target| of_one(glob, target)))
        }
        (RuleCalls::Read(Some(glob)), Part::Command { words, names, reads: None, .. }) => {
            of_names(glob, words, names)
        }
        _ => Match::No,
    }
}

/// Returns whether a command that may do anything with its arguments may read what a glob matches.
fn of_names(glob: &str, words: &[ShellWord], names: &[(String, Target)]) -> Match {
    let is_named = |(name, target): &(String, Target)| match target {
        Target::Path(path) => pattern::path(glob, path),
        Target::Outside => false,
        Target::Unknown => pattern::shares_name(glob, name),
    };
    match may_name_any(words) || names.iter().any(is_named) {
        true => Match::Maybe,
        false => Match::No,
    }
}

/// Returns whether the rules that allow cover every part of a call.
fn is_allowed(rules: &[ApprovalRule], request: &CallRequest) -> bool {
    let covers = |glob: &Option<String>, targets: &[Target]| match glob {
        None => true,
        Some(glob) => {
            let is_covered = |target: &Target| of_target(glob, target) == Match::Yes;
            !targets.is_empty() && targets.iter().all(is_covered)
        }
    };
    let by_rule = rules.iter().any(|rule| match (&rule.calls, &request.wants) {
        (RuleCalls::Tool(name), _) => pattern::tool(name, &request.tool),
        (RuleCalls::Read(glob), Wants::Read(targets))
        | (RuleCalls::Write(glob), Wants::Write(targets)) => covers(glob, targets),
        _ => false,
    });
    by_rule
        || match &request.wants {
            Wants::Exec(parts) => {
                // What needs no rule is up to the mode where no rule is about the rest.
                parts.iter().any(needs_rule)
                    && parts.iter().all(|part| is_part_allowed(rules, part))
            }
            Wants::Read(_) | Wants::Write(_) | Wants::Server => false,
        }
}

/// Returns whether a part runs or writes something, so that only a rule can allow it.
fn needs_rule(part: &Part) -> bool {
    matches!(part, Part::Command { reads: None, .. } | Part::Output(_) | Part::Undecidable(_))
}

fn is_part_allowed(rules: &[ApprovalRule], part: &Part) -> bool {
    let is_written = |target: &Target| {
        rules.iter().any(|rule| match (&rule.calls, target) {
            (RuleCalls::Write(None), Target::Path(_)) => true,
            (RuleCalls::Write(Some(glob)), target) => of_target(glob, target) == Match::Yes,
            _ => false,
        })
    };
    match part {
        Part::Command { reads: Some(_), .. } | Part::Wrapper(_) | Part::Stream => true,
        Part::Command { variables, words, reads: None, .. } => {
            variables.iter().all(|variable| is_harmless(variable))
                && rules.iter().any(|rule| match &rule.calls {
                    RuleCalls::Command(None) => true,
                    RuleCalls::Command(Some(pattern)) => {
                        pattern::command(pattern, words, Names::Written) == Match::Yes
                    }
                    _ => false,
                })
        }
        Part::Assignment(variable) => is_harmless(variable),
        Part::Input(target) => matches!(target, Target::Path(_)),
        Part::Output(target) => is_written(target),
        Part::Undecidable(_) => false,
    }
}

fn is_harmless(variable: &str) -> bool {
    HARMLESS_VARIABLES.contains(&variable) || variable.starts_with("LC_")
}

#[cfg(test)]
mod tests;
