//! An agent as the resolver of conflicts: a run of one task, in a workspace in which the files that
//! conflict have markers, and the sides of each lie beside them.

use std::time::Duration;

use engine::ports::WrittenFile;
use engine::run::RunRecord;
use isolation::CapturedFile;
use protocol::{
    Agent, ChangeDemand, Conflict, LandTime, LedgerEntry, MergeMode, ModelRoute, OnFailure,
    Outcome, ResolverRecord, RunId, RunSpec, ServerChoice, SettledBy, TaskId, TaskLimits, TaskName,
    TaskSpec, VerifySpec, Work, WorkspaceNeeds,
};
use store::TaskRow;

use super::context::CommandContext;
use super::programs::record_of;
use super::resolver_workspace::{Case, FOLDER, cases, lay_out, prompt};
use super::run::RunResult;
use super::side_check::{Allowed, check_written};
use super::unsettled::Unsettled;
use crate::render::one_line;
use crate::resolve::Defaults;
use regatta::error::{Error, ErrorKind, TEMPORARY_HINT};
use regatta::model::{
    BaseUrl, ModelChoice, ModelOption, ModelSelection, PlannedModel, anchor_scenario,
};
use regatta::runs::Target;

/// An agent that resolves conflicts.
pub(super) struct ResolverAgent {
    /// The model; without one, that of the task whose work conflicts.
    pub(super) model: Option<Box<ModelChoice>>,
    /// Whether a side may be missing in what it writes.
    pub(super) allowed: Allowed,
    /// How long it may take.
    pub(super) timeout: Duration,
}

/// What an agent made of conflicts.
pub(super) struct AgentResolution {
    /// The files, in the order of the conflicts.
    pub(super) files: Vec<WrittenFile>,
    /// Its task, if its work is nothing else than these files.
    task: Option<TaskRow>,
    run: RunResult,
}

impl ResolverAgent {
    /// Lets an agent write the files of conflicts of the task of `target`.
    ///
    /// # Errors
    /// A conflict is not one of the contents of a file, the agent failed or was stopped, or what it
    /// wrote does not settle a conflict.
    pub(super) async fn resolve(
        &self,
        context: &CommandContext,
        target: &Target,
        conflicts: &[&Conflict],
    ) -> Result<AgentResolution, Unsettled> {
        let runs = context.resolvers.as_deref().ok_or_else(|| {
            Error::new(ErrorKind::Bug, "this command cannot let an agent resolve conflicts")
        })?;
        let record = record_of(context, &target.run.name)?;
        let task = &target.tasks[0].name;
        let cases = cases(context, (&record, task), conflicts)?;
        let folder = tempfile::Builder::new().prefix("regatta-settle-").tempdir();
        let folder = folder.map_err(|error| machine(&error).hint(TEMPORARY_HINT))?;
        let setup = lay_out(folder.path(), &cases);
        let setup = setup.map_err(|error| machine(&error))?;
        let spec = self.spec(&runs.defaults().await, (&record, task), &cases, setup)?;
        let model = match &spec.tasks[0].work {
            Work::Agent(agent) => agent.model.to_string(),
            Work::Command(_) | Work::Conversation(_) => String::new(),
        };
        let id = spec.id;
        let run = runs.run(spec).await?;
        let rows = context.runs.reader.tasks(id).map_err(Error::from)?;
        let row = rows.into_iter().next().ok_or_else(|| Error::usage("its run has no task"))?;
        let record = ResolverRecord {
            program: format!("agent:{model}"),
            exit_code: None,
            run: Some(run.run.clone()),
            capture: None,
        };
        self.take(context, (row, run), &cases, &record)
    }

    /// Returns the run of the agent.
    fn spec(
        &self,
        defaults: &Defaults,
        (record, task): (&RunRecord, &TaskName),
        cases: &[Case<'_>],
        setup: String,
    ) -> Result<RunSpec, Error> {
        let model = self.route(record, task, &defaults.roles)?;
        let run = &record.name;
        let earlier = &record.spec;
        let mut needs = resolver_needs(record, task);
        needs.setup.push(setup);
        let prompt = prompt((record, task), cases);
        let approvals = defaults.approvals.clone();
        let (fallback, yields, context) = (Vec::new(), Vec::new(), None);
        let (subagent, servers) = (None, ServerChoice::None);
        let agent =
            Agent { model, prompt, fallback, yields, context, approvals, subagent, servers };
        Ok(RunSpec {
            id: RunId::generate(),
            label: Some(format!("resolve {run}/{task}")),
            tasks: vec![TaskSpec {
                id: TaskId::generate(),
                name: TaskName::nearest("resolve"),
                title: format!("Resolve the conflicts of {run}/{task}"),
                items: Vec::new(),
                work: agent.into(),
                depends_on: Vec::new(),
                priority: 0,
                change: ChangeDemand::Optional,
                schema: None,
                limits: TaskLimits { wall: self.timeout, ..defaults.limits },
                needs: protocol::TaskNeeds::default(),
            }],
            merge: MergeMode::None,
            stack: None,
            land: LandTime::End,
            union: Vec::new(),
            on_failure: OnFailure::Continue,
            needs,
            verify: VerifySpec::default(),
            group: None,
            retry: None,
            caller: None,
            ..earlier.clone()
        })
    }

    /// Returns the model: the one that is named, else that of the task, else that of the settings. The
    /// provider is where the run had it.
    fn route(
        &self,
        record: &RunRecord,
        task: &TaskName,
        roles: &regatta::model::Roles,
    ) -> Result<ModelRoute, Error> {
        let of_task = |task: &TaskSpec| match &task.work {
            Work::Agent(agent) => Some(agent.model.clone()),
            Work::Command(_) | Work::Conversation(_) => None,
        };
        let own = record.task_named(task).and_then(|task| of_task(&task.spec));
        if let (None, Some(own)) = (&self.model, own) {
            return Ok(own);
        }
        let typed = ModelOption { model: self.model.as_deref(), base_url: None };
        let selection = ModelSelection { typed, planned: PlannedModel::default(), roles };
        let mut route = selection.route(None)?;
        let known = record.tasks().iter().filter_map(|task| of_task(&task.spec));
        let same = known.into_iter().find(|known| known.provider == route.provider);
        let url = same.and_then(|known| known.base_url?.parse::<BaseUrl>().ok());
        route.base_url = url.map(|url| url.as_str().to_owned());
        anchor_scenario(&mut route);
        Ok(route)
    }

    /// Takes what the agent left at the paths of the conflicts.
    fn take(
        &self,
        context: &CommandContext,
        (row, run): (TaskRow, RunResult),
        cases: &[Case<'_>],
        record: &ResolverRecord,
    ) -> Result<AgentResolution, Unsettled> {
        let name = format!("{}/{}", run.run, row.name);
        let look = context.hints.command(&format!("logs {name}"));
        let error = |case: &Case<'_>, why: &str| {
            Error::usage(format!("the resolver did not settle {}", one_line(case.path)))
                .because(why)
                .hint(&look)
                .exit(protocol::ExitCode::Kept)
        };
        let failed = |case: &Case<'_>, why: String| {
            let error = error(case, &why);
            Unsettled::by(record.clone(), &case.conflict.path, &why, error)
        };
        match row.report.as_ref().map(|report| &report.outcome) {
            Some(Outcome::Done { .. }) => {}
            Some(Outcome::Failed { failure }) => {
                let why = format!("its agent failed: {}: {}", failure.class, failure.message);
                return Err(failed(&cases[0], why));
            }
            Some(Outcome::Cancelled) | None => {
                let code = match run.exit_code {
                    protocol::ExitCode::Success => protocol::ExitCode::Kept,
                    code => code,
                };
                return Err(error(&cases[0], "its agent was stopped").exit(code).into());
            }
        }
        let captured = row.captured.as_ref().map(|captured| &captured.capture);
        let captured = captured.ok_or_else(|| Error::usage("nothing was captured"))?;
        let mut found = context.runs.captured.files(captured).map_err(Error::from)?;
        let mut files = Vec::new();
        for case in cases {
            let Case { conflict, sides, .. } = case;
            let bytes = match found.remove(&conflict.path) {
                // Elsewhere than around the markers, the capture does not have what the set-up left.
                Some(CapturedFile { base: Some(base), task: Some(_) }) if base != sides.marked => {
                    let why = "markers of a conflict are left in the file";
                    return Err(failed(case, why.to_owned()));
                }
                Some(CapturedFile { task: Some(bytes), .. }) => bytes,
                Some(CapturedFile { task: None, .. }) => {
                    return Err(failed(case, "its agent removed the file".to_owned()));
                }
                // A file that is as in the tree again is not a change of a task.
                None => return Err(failed(case, UNCHANGED.to_owned())),
            };
            check_written(&bytes, &sides.marked, (sides.texts(), &sides.hunks), self.allowed)
                .map_err(|why| failed(case, why))?;
            files.push(WrittenFile {
                bytes: Some(bytes),
                ours: conflict.ours.clone(),
                theirs: conflict.theirs.clone(),
                by: SettledBy::Resolver,
                resolver: Some(record.clone()),
            });
        }
        found.retain(|path, _| !path.to_string().starts_with(FOLDER));
        if !found.is_empty() {
            let others = crate::render::count(found.len(), "other file");
            let diff = context.hints.command(&format!("diff {name}"));
            // The work is kept even if the note cannot be written.
            let _unread = std::io::Write::write_fmt(
                &mut std::io::stderr(),
                format_args!("note: the resolver changed {others}, left where it is: {diff}\n"),
            );
        }
        Ok(AgentResolution { files, task: found.is_empty().then_some(row), run })
    }
}

impl AgentResolution {
    /// Discards the capture of the agent's task, all of which is in another one by now. The log and
    /// the usage of its run stay.
    ///
    /// # Errors
    /// The ledger or the task store cannot be written.
    pub(super) async fn forget(&self, context: &CommandContext) -> Result<(), Error> {
        let Some(row) = &self.task else { return Ok(()) };
        context.record(vec![LedgerEntry::TaskDiscarded { task: row.id }]).await?;
        if let Some(captured) = &row.captured {
            context.runs.captured.remove(&self.run.run, &captured.capture)?;
        }
        Ok(())
    }
}

/// Returns what the workspace of the task needed whose conflicts an agent resolves.
fn resolver_needs(record: &RunRecord, task: &TaskName) -> WorkspaceNeeds {
    let of_task = record.task_named(task).map(|task| record.spec.needs_of(&task.spec));
    of_task.unwrap_or_else(|| record.spec.needs.clone())
}

/// Why a file is not settled that the agent's capture does not have.
const UNCHANGED: &str =
    "it left the file as it was, or wrote the version of the tree, as --ours does";

fn machine(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Machine, "cannot write the sides of a conflict").caused_by(error)
}

#[cfg(test)]
mod tests {
    use protocol::TaskNeeds;

    use super::*;
    use crate::resolve::sample;

    #[test]
    fn the_workspace_of_the_agent_has_what_that_of_the_task_had() {
        let mut spec = sample(&[("own", "true"), ("other", "true")]);
        spec.needs.setup = vec!["all".to_owned()];
        let (setup, carry) = (vec!["npm ci".to_owned()], vec![".env".to_owned()]);
        spec.tasks[0].needs = TaskNeeds { setup: Some(setup.clone()), carry: Some(carry.clone()) };
        let of_run = spec.needs.clone();
        let record = RunRecord::opened("raaaa".parse().unwrap(), spec);
        let own = resolver_needs(&record, &"own".parse().unwrap());
        assert_eq!((own.setup, own.carry), (setup, carry));
        assert_eq!(resolver_needs(&record, &"other".parse().unwrap()), of_run);
    }
}
