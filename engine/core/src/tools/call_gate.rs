//! Decides about a call of a tool before it runs: resolves its paths, takes its command apart, and asks the
//! policy.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use protocol::{ApprovalMode, ApprovalRule, ToolCall};
use serde_json::Value;

use super::ToolSet;
use crate::approvals::{ApprovalPolicy, CallRequest, Decision, Target, shell_paths};
use crate::ports::{AccessClass, ChangeShown, CommandShell, ShellSyntax, Tool, WorkspaceView};

/// Decides about the calls of one session.
#[derive(Clone)]
pub struct CallGate {
    policy: ApprovalPolicy,
    shell: Arc<dyn ShellSyntax>,
}

/// What was decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// What the call is about: its command, or its paths.
    pub what: String,
    /// The folder in which the command of the call starts, if the call names one: its path from the root of
    /// the working tree.
    pub folder: Option<PathBuf>,
    /// What was judged, of which an equal call has the same; empty if nothing was.
    pub subjects: Vec<Subject>,
    /// The decision.
    pub decision: Decision,
    /// What was decided about, if anything was.
    pub request: Option<CallRequest>,
}

/// What is judged of a call. Paths are from the root of the working tree, with symlinks followed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A change of this file, by any tool.
    Change(PathBuf),
    /// A command.
    Command {
        /// The tool that runs it.
        tool: String,
        /// Its text.
        command: String,
        /// The folder in which it starts.
        folder: PathBuf,
    },
    /// Another call.
    Call {
        /// The tool.
        tool: String,
        /// The arguments, as JSON.
        arguments: String,
        /// Those of its paths that are known.
        paths: Vec<PathBuf>,
    },
}

impl CallGate {
    /// Returns a gate that follows `policy`, and takes commands apart with `shell`.
    #[must_use]
    pub fn new(policy: ApprovalPolicy, shell: Arc<dyn ShellSyntax>) -> Self {
        Self { policy, shell }
    }

    /// Returns a gate that decides in another mode.
    #[must_use]
    pub fn in_mode(&self, mode: ApprovalMode) -> Self {
        Self { policy: self.policy.clone().in_mode(mode), shell: Arc::clone(&self.shell) }
    }

    /// Returns the policy.
    #[must_use]
    pub fn policy(&self) -> &ApprovalPolicy {
        &self.policy
    }

    /// Returns the shell of commands: what it makes of a text that is judged is only in the text.
    #[must_use]
    pub fn shell(&self) -> CommandShell {
        match self.policy.allows_everything() {
            true => CommandShell::User,
            false => CommandShell::Plain,
        }
    }

    /// Decides about a call. A call that no tool takes is allowed, since it only gets an error.
    pub async fn decide(
        &self,
        tools: &ToolSet,
        call: &ToolCall,
        view: &dyn WorkspaceView,
    ) -> Decided {
        let allowed = Decided {
            what: String::new(),
            folder: None,
            subjects: Vec::new(),
            decision: Decision::Allow,
            request: None,
        };
        if self.policy.allows_everything() {
            return allowed;
        }
        let Some((tool, access)) = tools.classified(call) else { return allowed };
        let name = &tool.spec().name;
        let mut shown_folder = None;
        let (what, subjects, request) = match access.class {
            AccessClass::Read(paths) => {
                let targets = targets(tool, view, &paths).await;
                let subjects = vec![other_call(name, call, &targets)];
                (paths.join(", "), subjects, CallRequest::read(name, targets))
            }
            AccessClass::Write(paths) => {
                let targets = targets(tool, view, &paths).await;
                let known = known(&targets);
                let subjects = match known.len() == targets.len() && !known.is_empty() {
                    true => known.into_iter().map(Subject::Change).collect(),
                    false => vec![other_call(name, call, &targets)],
                };
                (paths.join(", "), subjects, CallRequest::write(name, targets))
            }
            AccessClass::Exec { command, folder: written } => {
                let parts = self.shell.parts(&command);
                let folder = if written.is_empty() { "." } else { &written };
                let folder = tool.find(view, folder).await.map(|found| found.path());
                if !written.is_empty() {
                    shown_folder = Some(folder.clone().unwrap_or_else(|| written.into()));
                }
                let subject = match folder.clone() {
                    Some(folder) => {
                        let (tool, command) = (name.clone(), command.clone());
                        Subject::Command { tool, command, folder }
                    }
                    None => other_call(name, call, &[]),
                };
                let mut resolved = BTreeMap::new();
                for path in shell_paths(&parts) {
                    let target = match &folder {
                        Some(folder) => shell_target(view, folder, Path::new(path)).await,
                        None => Target::Unknown,
                    };
                    resolved.insert(path.to_owned(), target);
                }
                let target = |path: &str| resolved.get(path).cloned().unwrap_or(Target::Unknown);
                (command, vec![subject], CallRequest::exec(name, parts, target))
            }
            AccessClass::Server { what } => {
                (what, vec![other_call(name, call, &[])], CallRequest::server(name))
            }
        };
        let decision = self.policy.decide(&request);
        Decided { what, folder: shown_folder, subjects, decision, request: Some(request) }
    }

    /// Returns whether a call that has to be asked about is allowed with these rules of the user.
    #[must_use]
    pub fn is_allowed_by(&self, rules: &[ApprovalRule], decided: &Decided) -> bool {
        let policy = self.policy.allowing(rules);
        decided.request.as_ref().is_some_and(|request| policy.decide(request) == Decision::Allow)
    }

    /// Returns whether what the changed files contain may be shown: a rule may forbid to read what a call may
    /// replace.
    #[must_use]
    pub fn shows_change(&self, decided: &Decided) -> ChangeShown {
        let reads = decided.request.as_ref().and_then(CallRequest::reading_the_same);
        match reads.is_none_or(|reads| self.policy.decide(&reads) == Decision::Allow) {
            true => ChangeShown::Yes,
            false => ChangeShown::No,
        }
    }

    /// Returns the rules that always allow a call.
    #[must_use]
    pub fn always(&self, decided: &Decided) -> Vec<ApprovalRule> {
        decided.request.as_ref().map(|request| self.policy.always(request)).unwrap_or_default()
    }
}

/// Returns the subject of a call that neither changes known files nor runs a command in a known folder.
fn other_call(tool: &str, call: &ToolCall, targets: &[Target]) -> Subject {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    Subject::Call { tool: tool.to_owned(), arguments, paths: known(targets) }
}

/// Returns the paths that are known.
fn known(targets: &[Target]) -> Vec<PathBuf> {
    let path = |target: &Target| match target {
        Target::Path(path) => Some(path.clone()),
        Target::Outside | Target::Unknown => None,
    };
    targets.iter().filter_map(path).collect()
}

/// Resolves paths as the tool does.
async fn targets(tool: &dyn Tool, view: &dyn WorkspaceView, paths: &[String]) -> Vec<Target> {
    let mut targets = Vec::new();
    for path in paths {
        let found = tool.find(view, path).await;
        targets.push(found.map_or(Target::Unknown, |found| Target::Path(found.path())));
    }
    targets
}

/// Resolves a path of a command that starts in `folder`. Where a path that leaves the tree ends is not known: it
/// may come back.
async fn shell_target(view: &dyn WorkspaceView, folder: &Path, path: &Path) -> Target {
    let below = match path.is_absolute() {
        false => folder.join(path),
        true => match view.inside(path).await {
            Some(below) => below,
            None if may_come_back(path) => return Target::Unknown,
            None => return Target::Outside,
        },
    };
    match view.find(&below).await {
        Ok(found) => Target::Path(found.path()),
        Err(_) => Target::Unknown,
    }
}

/// Returns whether a path outside of the tree may lead into it: by `..`, or by the links of a process.
fn may_come_back(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
        || path.starts_with("/proc")
        || path.starts_with("/dev/fd")
}
