//! The runs of a call: one for the items that work in the tree of the caller, and one for each kind of copy.

use engine::ports::{Caller, Repository, SpawnCall};
use engine::subagents::child_approvals;
use protocol::{
    Agent, ApprovalMode, ChangeDemand, IsolationMode, MergeMode, OnFailure, RunCaller, RunSpec,
    Subagent, TaskId, TaskName, TaskNeeds, TaskSpec, Work,
};

use super::resolve::{ItemPlace, ResolvedItem};
use crate::app_context::AppContext;
use crate::error::Error;
use crate::text::one_line;

/// The items that one run does.
pub(super) struct Group {
    pub(super) place: ItemPlace,
    pub(super) items: Vec<(TaskName, ResolvedItem)>,
}

/// Returns the items by where they work, in their order.
pub(super) fn groups(items: Vec<(TaskName, ResolvedItem)>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (name, item) in items {
        match groups.iter_mut().find(|group| group.place == item.place) {
            Some(group) => group.items.push((name, item)),
            None => groups.push(Group { place: item.place, items: vec![(name, item)] }),
        }
    }
    groups
}

impl Group {
    /// Returns the run of the group.
    ///
    /// # Errors
    /// A setting is invalid.
    pub(super) fn spec(
        &self,
        app: &AppContext,
        repository: &dyn Repository,
        (call, caller): (&SpawnCall, &Caller),
    ) -> Result<RunSpec, Error> {
        let tasks = self.items.iter().map(|(name, item)| self.task(name, item, (call, caller)));
        let mut spec = app.run_of(repository, tasks.collect())?;
        let isolation = match self.place {
            ItemPlace::Shared => IsolationMode::None,
            ItemPlace::Isolated | ItemPlace::Kept => spec.isolation,
        };
        let lands = self.place == ItemPlace::Isolated && caller.mode != ApprovalMode::Ask;
        spec.isolation = isolation;
        spec.label = Some(self.label());
        // In the tree of the caller, nothing is captured that could land.
        spec.merge = if lands || self.place == ItemPlace::Shared {
            MergeMode::Patch
        } else {
            MergeMode::None
        };
        spec.jobs = app.subagents_at_once();
        spec.subfolder.clone_from(&repository.facts().subfolder);
        spec.on_failure =
            if call.fail_fast { OnFailure::CancelTheRest } else { OnFailure::Continue };
        let task = caller.origin.task.map(|task| (task.run, task.task));
        spec.caller = Some(RunCaller { session: caller.origin.session, task });
        if self.place == ItemPlace::Shared {
            spec.needs = Default::default(); // the caller's tree is set up already
        }
        Ok(spec)
    }

    /// Returns what the run is called in lists.
    fn label(&self) -> String {
        let titles = self
            .items
            .iter()
            .map(|(name, item)| item.item.description.clone().unwrap_or_else(|| name.to_string()));
        one_line(&format!("subagents: {}", titles.collect::<Vec<_>>().join(", ")))
    }

    fn task(
        &self,
        name: &TaskName,
        resolved: &ResolvedItem,
        (call, caller): (&SpawnCall, &Caller),
    ) -> TaskSpec {
        let ResolvedItem { item, agent, model, schema, tools, limits, place: _ } = resolved;
        let title = item.description.as_deref().or(item.assignment.lines().next());
        let depends_on = item.depends_on.iter().filter_map(|on| {
            let is_it =
                |(_, other): &&(TaskName, ResolvedItem)| other.item.id.eq_ignore_ascii_case(on);
            self.items.iter().find(is_it).map(|(name, _)| name.clone())
        });
        let subagent = Subagent {
            name: name.to_string(),
            agent: agent.name.clone(),
            depth: caller.lineage.depth + 1,
            tools: tools.clone(),
            spawns: agent.spawns.clone(),
        };
        let work = Agent {
            model: model.clone(),
            fallback: Vec::new(),
            prompt: item.assignment.clone(),
            yields: Vec::new(),
            context: Some(context(&agent.prompt, call.context.as_deref())),
            approvals: child_approvals(&caller.approvals, caller.mode, self.place.workspace()),
            subagent: Some(Box::new(subagent)),
            servers: caller.servers.clone(),
        };
        TaskSpec {
            id: TaskId::generate(),
            name: name.clone(),
            title: one_line(title.unwrap_or_default()),
            items: Vec::new(),
            work: Work::from(work),
            depends_on: depends_on.collect(),
            priority: 0,
            change: ChangeDemand::Optional,
            schema: schema.clone().map(Box::new),
            limits: *limits,
            needs: TaskNeeds::default(),
        }
    }
}

/// Returns what stands before the assignment of an agent.
fn context(prompt: &str, shared: Option<&str>) -> String {
    let parts = [Some(prompt.trim()), shared.map(str::trim)];
    let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}
