//! The models of servers on this machine, which are asked what they have.

use config::DiscoveryKind;
use providers::{KnownProvider, LocalFound, ModelFacts, local_servers};

use super::user_models::UserModels;
use super::{ListedModel, ModelDirectory};

/// Which servers on this machine are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalSources {
    /// Those that the file of models says to ask: `discovery`. Enough where no model is named without its
    /// provider.
    Configured,
    /// Also those that may be where they always are.
    All,
}

/// The providers that may have a server at its usual address.
const USUAL: [&str; 3] = ["ollama", "llama.cpp", "lm-studio"];

impl LocalSources {
    /// Returns the servers, each with the name of its provider and its base URL.
    pub(super) fn servers(self, user: &UserModels) -> Vec<(String, String)> {
        let providers = &user.file().providers;
        let usual = USUAL.iter().filter(|_| self == Self::All).map(|name| (*name).to_owned());
        let configured = providers.iter().filter(|(_, entry)| entry.discovery.is_some());
        let mut names: Vec<String> =
            usual.chain(configured.map(|(name, _)| name.clone())).collect();
        names.sort();
        names.dedup();
        let address = |name: &str| {
            let entry = providers.get(name);
            let known = |name: &str| KnownProvider::find(name).map(|it| it.base_url.to_owned());
            let kind = || known(usual_name(entry?.discovery?));
            entry.and_then(|it| it.base_url.clone()).or_else(|| known(name)).or_else(kind)
        };
        names.into_iter().filter_map(|name| Some((name.clone(), address(&name)?))).collect()
    }
}

/// Returns the name of the provider that has servers of this kind.
fn usual_name(kind: DiscoveryKind) -> &'static str {
    match kind {
        DiscoveryKind::Ollama => "ollama",
        DiscoveryKind::LlamaCpp => "llama.cpp",
        DiscoveryKind::LmStudio => "lm-studio",
    }
}

impl ModelDirectory {
    /// Returns the directory of the user's models, with those that servers on this machine have. They
    /// are asked side by side, in 300 milliseconds at most.
    pub async fn with_local(user: &UserModels, sources: LocalSources) -> Self {
        let directory = Self::of_user(user);
        let servers = sources.servers(user);
        if servers.is_empty() {
            return directory;
        }
        let mut models = directory.models().to_vec();
        for server in local_servers(&servers).await {
            let LocalFound::Models(ids) = server.found else { continue };
            for id in ids {
                if !models.iter().any(|it| it.provider == server.provider && it.id == id) {
                    let (provider, facts) = (server.provider.clone(), ModelFacts::default());
                    models.push(ListedModel { provider, id, facts, obstacle: None });
                }
            }
        }
        directory.with_models(models)
    }
}
