//! Decides about a call of a tool before it runs: resolves its paths, takes its command apart, and asks the
//! policy.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use protocol::ToolCall;

use super::ToolSet;
use crate::approvals::{ApprovalPolicy, CallRequest, Decision, Target, shell_paths};
use crate::ports::{AccessClass, ShellSyntax, Tool, ViewError, WorkspaceView};

/// Decides about the calls of one session.
pub struct CallGate {
    policy: ApprovalPolicy,
    shell: Arc<dyn ShellSyntax>,
}

/// What was decided about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// What the call is about: its command, or its paths.
    pub what: String,
    /// The decision.
    pub decision: Decision,
}

impl CallGate {
    /// Returns a gate that follows `policy`, and takes commands apart with `shell`.
    #[must_use]
    pub fn new(policy: ApprovalPolicy, shell: Arc<dyn ShellSyntax>) -> Self {
        Self { policy, shell }
    }

    /// Decides about a call. A call that no tool takes is allowed, since it only gets an error.
    pub async fn decide(
        &self,
        tools: &ToolSet,
        call: &ToolCall,
        view: &dyn WorkspaceView,
    ) -> Decided {
        let allowed = Decided { what: String::new(), decision: Decision::Allow };
        if self.policy.allows_everything() {
            return allowed;
        }
        let Some((tool, access)) = tools.classified(call) else { return allowed };
        let name = &tool.spec().name;
        let (what, request) = match access.class {
            AccessClass::Read(paths) => {
                let targets = targets(tool, view, &paths).await;
                (paths.join(", "), CallRequest::read(name, targets))
            }
            AccessClass::Write(paths) => {
                let targets = targets(tool, view, &paths).await;
                (paths.join(", "), CallRequest::write(name, targets))
            }
            AccessClass::Exec { command, folder } => {
                let parts = self.shell.parts(&command);
                let folder = if folder.is_empty() { "." } else { &folder };
                let folder = tool.find(view, folder).await.map(|found| found.path());
                let mut resolved = BTreeMap::new();
                for path in shell_paths(&parts) {
                    let target = match &folder {
                        Some(folder) => shell_target(view, folder, Path::new(path)).await,
                        None => Target::Unknown,
                    };
                    resolved.insert(path.to_owned(), target);
                }
                let target = |path: &str| resolved.get(path).cloned().unwrap_or(Target::Unknown);
                (command, CallRequest::exec(name, parts, target))
            }
        };
        Decided { what, decision: self.policy.decide(&request) }
    }
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

/// Resolves a path of a command that starts in `folder`.
async fn shell_target(view: &dyn WorkspaceView, folder: &Path, path: &Path) -> Target {
    let below = match path.is_absolute() {
        false => folder.join(path),
        true => match view.inside(path).await {
            Some(below) => below,
            None => return Target::Outside,
        },
    };
    match view.find(&below).await {
        Ok(found) => Target::Path(found.path()),
        Err(ViewError::Outside { .. }) => Target::Outside,
        Err(_) => Target::Unknown,
    }
}
