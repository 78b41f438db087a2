//! One run of many agents, each of which asks a server of its own: what one server says costs the
//! account of no other agent anything.

use tests::model::{LoopbackModel, Script, Wire, marker};
use tests::sandbox::{Invocation, Plan, Repository, Sandbox};

use super::fallbacks::id_of;
use crate::binary::models::directory::write_models;

/// An agent with a server of its own. Its task, its provider and its conversation have its name.
pub(crate) struct Agent {
    pub(crate) name: String,
    pub(crate) wire: Wire,
    pub(crate) server: LoopbackModel,
}

impl Agent {
    /// Returns an agent whose server says what `script` says.
    pub(crate) fn new(name: &str, wire: Wire, script: impl Script + 'static) -> Self {
        let server = LoopbackModel::start();
        server.talk(name, script);
        Self { name: name.to_owned(), wire, server }
    }

    /// Returns how often its server was asked.
    pub(crate) fn requests(&self) -> usize {
        self.server.asked(&self.name).len()
    }

    /// Returns the variable with its key, if the file of models names none.
    pub(crate) fn variable(&self) -> String {
        format!("{}_API_KEY", self.name.to_uppercase().replace('-', "_"))
    }
}

/// What the file of models says of each provider, what it says of its model, beginning with a comma,
/// and the level at which that thinks.
#[derive(Clone, Copy)]
pub(crate) struct Described<'text> {
    pub(crate) provider: &'text str,
    pub(crate) model: &'text str,
    pub(crate) level: &'text str,
}

/// Providers that take any key, and models whose window nothing fills: nothing is compacted.
pub(crate) const PLAIN: Described<'static> =
    Described { provider: "apiKey: any-123456", model: ", contextWindow: 4000000", level: "" };

/// Writes a file of models with these providers.
pub(crate) fn write_providers<'agents>(
    place: &Sandbox,
    providers: impl IntoIterator<Item = (&'agents str, Wire, &'agents LoopbackModel)>,
    Described { provider, model, .. }: Described<'_>,
) {
    let mut yaml = "providers:\n".to_owned();
    for (name, wire, server) in providers {
        let (url, api, id) = (server.url_of(wire), wire.name(), id_of(wire));
        yaml += &format!(
            "  {name}: {{ baseUrl: '{url}', api: {api}, {provider}, models: [{{ id: {id}{model} }}] }}\n"
        );
    }
    write_models(place, &yaml);
}

/// Begins a run of these agents.
pub(crate) fn begin_all(
    place: &Sandbox,
    repository: &Repository,
    agents: &[Agent],
    described: Described<'_>,
) -> Invocation {
    let providers = agents.iter().map(|agent| (agent.name.as_str(), agent.wire, &agent.server));
    write_providers(place, providers, described);
    let plan = agents.iter().fold(Plan::default(), |plan, Agent { name, wire, .. }| {
        let plan = plan.agent(name, &format!("Do it. {}", marker(name)));
        plan.with(&format!("model = '{name}/{}{}'", id_of(*wire), described.level))
    });
    place.run_plan(repository, &plan)
}

/// Checks that no request was wrong.
pub(crate) fn expect_no_violation(agents: &[Agent], what: &impl std::fmt::Display) {
    for Agent { name, server, .. } in agents {
        assert_eq!(server.take_violations(), Vec::<String>::new(), "{name}: {what}");
    }
}
