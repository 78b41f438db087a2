//! Which files a tool or a resolver would write, for a dry run, which runs neither.

use protocol::{Conflict, RepoPath};
use serde::Serialize;

use super::context::CommandContext;
use super::programs;
use super::side_program::check_sides;
use super::unsettled::shortened;
use crate::args::{Resolver, ResolverKind, SettleArgs};
use crate::render::{cut, one_line};
use regatta::error::Error;
use regatta::model::ModelChoice;
use regatta::runs::{Choices, SettleOption};

/// How much of a command is shown, in columns.
const PROGRAM: usize = 60;

/// A file that a program would write.
#[derive(Debug, Serialize)]
pub(super) struct PlannedFile {
    pub(super) path: RepoPath,
    /// Who would write it.
    pub(super) by: String,
}

/// Returns the files of `conflicts` that a tool or a resolver would write.
///
/// # Errors
/// There is no such program, or a conflict is not one of the contents of a file.
pub(super) fn planned(
    context: &CommandContext,
    (choices, args): (&Choices, &SettleArgs),
    conflicts: &[Conflict],
) -> Result<Vec<PlannedFile>, Error> {
    let resolver = args.resolver();
    let mut planned = Vec::new();
    for conflict in conflicts {
        let (name, by) = match (choices.of_conflict(conflict), &resolver) {
            (Some(SettleOption::Tool), _) => {
                let tool = programs::tool(args.timeout())?;
                (tool.name.clone(), tool.name)
            }
            (Some(SettleOption::Resolve), Some(resolver)) => {
                ("the resolver".to_owned(), name_of(resolver)?)
            }
            _ => continue,
        };
        check_sides(context, &name, conflict)?;
        planned.push(PlannedFile { path: conflict.path.clone(), by });
    }
    Ok(planned)
}

fn name_of(resolver: &Resolver) -> Result<String, Error> {
    Ok(match &resolver.kind {
        ResolverKind::Command(script) => {
            programs::refuse_missing(script)?;
            format!("`{}`", cut(&one_line(script), PROGRAM))
        }
        ResolverKind::Agent(Some(model)) => format!("an agent with the model {}", text(model)),
        ResolverKind::Agent(None) => {
            "an agent with the model of the task or the settings".to_owned()
        }
    })
}

fn text(model: &ModelChoice) -> String {
    shortened(&match model {
        ModelChoice::Route(route) => route.to_string(),
        ModelChoice::Role(role) => role.as_str().to_owned(),
        ModelChoice::Name(name) => name.clone(),
    })
}
