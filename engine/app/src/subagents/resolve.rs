//! Finds the agent of each item of a call, and its model, schema, tools, limits and place.

use config::AgentModels;
use engine::ports::{Caller, Schemas as _, SpawnCall, SpawnItem, SpawnRefusal};
use engine::subagents::{Choice, Preferences, choose, may_call, may_spawn};
use protocol::{AgentCatalog, AgentDefinition, ModelRoute, TaskLimits, WorkspaceKind};
use schema::{JsonSchemas, read_schema};
use serde_json::{Value, json};

/// The agent of the items that name none.
pub(super) const USUAL_AGENT: &str = "task";

/// The name of the tool.
const TASK: &str = "task";

/// An item with its agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ResolvedItem {
    pub(super) item: SpawnItem,
    pub(super) agent: AgentDefinition,
    pub(super) model: ModelRoute,
    pub(super) schema: Option<Value>,
    pub(super) tools: Vec<String>,
    pub(super) limits: TaskLimits,
    pub(super) place: ItemPlace,
}

/// Where an item works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ItemPlace {
    /// In the tree of its caller.
    Shared,
    /// In a copy whose work lands there.
    Isolated,
    /// In a copy whose work is kept.
    Kept,
}

impl ItemPlace {
    pub(super) fn workspace(self) -> WorkspaceKind {
        match self {
            Self::Shared => WorkspaceKind::Shared,
            Self::Isolated | Self::Kept => WorkspaceKind::Private,
        }
    }
}

/// What calls are resolved with.
pub(super) struct Resolving<'a> {
    pub(super) catalog: &'a AgentCatalog,
    /// Finds the model that a name means, with a level behind a colon, if it can be used.
    pub(super) named: &'a dyn Fn(&str) -> Option<ModelRoute>,
    /// The models that the settings give agents.
    pub(super) agent_models: &'a AgentModels,
    pub(super) limits: TaskLimits,
    /// How deep calls may be below each other.
    pub(super) max_depth: u32,
    /// Whether copies can be made.
    pub(super) can_isolate: bool,
}

impl Resolving<'_> {
    /// Returns the items of a call with their agents, and what could not be done as asked.
    ///
    /// # Errors
    /// An item cannot be done, so that none is started.
    pub(super) fn resolve(
        &self,
        call: &SpawnCall,
        caller: &Caller,
    ) -> Result<(Vec<ResolvedItem>, Vec<String>), SpawnRefusal> {
        may_call(&caller.lineage, self.max_depth)?;
        let depth = caller.lineage.depth + 1;
        let mut notes = Vec::new();
        let mut items = Vec::new();
        for item in &call.items {
            let wanted = item.agent.as_deref().or(call.agent.as_deref()).unwrap_or(USUAL_AGENT);
            let agent = self.agent(wanted, caller)?;
            let isolated = item.isolated.unwrap_or(call.isolated || agent.isolated == Some(true));
            let place = match (isolated, item.apply.or(agent.apply).unwrap_or(true)) {
                (false, _) => ItemPlace::Shared,
                (true, true) => ItemPlace::Isolated,
                (true, false) => ItemPlace::Kept,
            };
            if isolated && !self.can_isolate {
                return Err(SpawnRefusal("Task isolation is disabled.".to_owned()));
            }
            let (model, schema) = self.choose(agent, (item, call), caller, &mut notes);
            let mut tools = agent.tools_for(&caller.tools);
            if depth >= self.max_depth {
                tools.retain(|tool| tool != TASK);
            }
            items.push(ResolvedItem {
                item: item.clone(),
                model,
                schema,
                tools,
                limits: agent.limits_for(caller.lineage.limits.as_ref().unwrap_or(&self.limits)),
                place,
                agent: agent.clone(),
            });
        }
        check_dependencies(&items)?;
        Ok((items, notes))
    }

    fn agent(&self, wanted: &str, caller: &Caller) -> Result<&AgentDefinition, SpawnRefusal> {
        let known = foreign_name(wanted).unwrap_or(wanted);
        let Some(agent) = self.catalog.find(wanted).or_else(|| self.catalog.find(known)) else {
            let names: Vec<_> = self.catalog.agents.iter().map(|agent| &*agent.name).collect();
            let is_disabled = self.catalog.disabled.iter().any(|it| it.name == known);
            let what = match is_disabled {
                true => format!("Agent \"{wanted}\" is disabled (task.disabledAgents)"),
                false => format!("Unknown agent \"{wanted}\""),
            };
            return Err(SpawnRefusal(format!("{what}. Available: {}", names.join(", "))));
        };
        may_spawn(&caller.lineage, &agent.name, USUAL_AGENT)?;
        Ok(agent)
    }

    /// Returns the model and the schema of an item, and adds what to say of them.
    fn choose(
        &self,
        agent: &AgentDefinition,
        (item, call): (&SpawnItem, &SpawnCall),
        caller: &Caller,
        notes: &mut Vec<String>,
    ) -> (ModelRoute, Option<Value>) {
        let models = self.agent_models.get(&agent.name).map_or(&[][..], Vec::as_slice);
        let preferences = Preferences {
            agent,
            models,
            schema: item.schema.as_ref().or(call.schema.as_ref()),
            caller_model: &caller.model,
            caller_schema: caller.schema.as_ref(),
        };
        let Choice { model, schema, unavailable } = choose(preferences, self.named);
        if !unavailable.is_empty() {
            let name = model.name();
            let note = format!(
                "agent {}: {} cannot be used here, so it works with {name}",
                agent.name,
                unavailable.join(", "),
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let sound = |given: &Value| {
            let schema = read_schema(given)?;
            JsonSchemas.compile(&schema).map(|_compiled| schema)
        };
        let schema = schema.map(|given| {
            sound(&given).unwrap_or_else(|fault| {
                let id = &item.id;
                notes.push(format!("{id}: any object is a result: the schema is invalid: {fault}"));
                json!({ "type": "object" })
            })
        });
        (model, schema)
    }
}

/// Returns our agent that does what one of another program does, if it has another name.
fn foreign_name(name: &str) -> Option<&'static str> {
    [
        ("general-purpose", USUAL_AGENT),
        ("default", USUAL_AGENT),
        ("Explore", "explore"),
        ("Plan", "plan"),
    ]
    .into_iter()
    .find_map(|(foreign, ours)| (foreign == name).then_some(ours))
}

/// Checks that items wait only for items of the same run.
fn check_dependencies(items: &[ResolvedItem]) -> Result<(), SpawnRefusal> {
    for item in items {
        for on in &item.item.depends_on {
            let other = items.iter().find(|other| other.item.id.eq_ignore_ascii_case(on));
            if other.is_some_and(|other| other.place != item.place) {
                return Err(SpawnRefusal(format!(
                    "Invalid tasks: '{}' depends on '{on}', and both have to work in the same place: all \
                     of them isolated with the same `apply`, or none",
                    item.item.id
                )));
            }
        }
    }
    Ok(())
}
