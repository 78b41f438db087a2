//! The directory of the user's models: those of the catalogue and of the user's file, with the reason
//! why one cannot be used, and the providers that share an account.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use config::{AuthKind, ModelsFile, ValueSource};
use providers::{FactsTable, KnownProvider, ModelFacts, known_providers, own_key_variables};

use super::user_models::{KeyPlace, UserModels, facts_of, facts_of_own};
use super::{ListedModel, ModelDirectory, Obstacle};

impl ModelDirectory {
    /// Returns the directory of the user's models.
    pub fn of_user(user: &UserModels) -> Self {
        let (file, facts) = (user.file(), user.facts());
        let known = known_providers().map(|known| known.id);
        let names: BTreeSet<&str> =
            known.chain(file.providers.keys().map(String::as_str)).collect();
        let models = names.into_iter().flat_map(|name| {
            let obstacle = provider_obstacle(file, name, &user.key_place(name));
            let models = models_of(file, facts, name).into_iter();
            models.map(move |(id, facts)| {
                let toolless = facts.tools == Some(false);
                let toolless = toolless.then(|| Obstacle::new("it cannot call tools"));
                let obstacle = toolless.or_else(|| obstacle.clone());
                ListedModel { provider: name.to_owned(), id, facts, obstacle }
            })
        });
        let directory = Self::new(models.collect()).with_equivalence(file.equivalence.clone());
        directory.with_accounts(user.shared_accounts()).with_file_fault(user.file_fault())
    }
}

impl UserModels {
    /// Returns the providers that reach an account of another one, each with the first provider of that
    /// account.
    pub(super) fn shared_accounts(&self) -> BTreeMap<String, String> {
        let (mut first, mut shared) = (BTreeMap::new(), BTreeMap::new());
        let known = known_providers().map(|known| known.id);
        let names = known.chain(self.file().providers.keys().map(String::as_str));
        for name in names.collect::<BTreeSet<&str>>() {
            let Some(account) = self.account_of(name) else { continue };
            match first.entry(account) {
                Entry::Vacant(new) => drop(new.insert(name)),
                Entry::Occupied(known) => {
                    shared.insert(name.to_owned(), (*known.get()).to_owned());
                }
            }
        }
        shared
    }

    /// Returns what providers of one account have in common: the host, and where the key is from.
    fn account_of(&self, name: &str) -> Option<(String, String)> {
        let (entry, known) = (self.file().providers.get(name), KnownProvider::find(name));
        let url = entry.and_then(|it| it.base_url.as_deref()).or(known.map(|it| it.base_url))?;
        let (_, rest) = url.split_once("://")?;
        let host = rest.split(['/', '?']).next()?.to_lowercase();
        let is_keyless = entry.is_some_and(|it| it.auth == AuthKind::None)
            || known.is_some_and(KnownProvider::is_local);
        let key = match entry.and_then(|it| it.api_key.as_ref()) {
            _ if is_keyless => String::new(),
            Some(ValueSource::Command(text) | ValueSource::Variable(text)) => text.clone(),
            Some(ValueSource::NameOrText(text)) => text.expose().to_owned(),
            None => own_key_variables(name).into_iter().next()?,
        };
        Some((host, key))
    }
}

/// Returns why no model of a provider can be used.
fn provider_obstacle(file: &ModelsFile, name: &str, key: &KeyPlace) -> Option<Obstacle> {
    let fault = file.faults.iter().find(|fault| fault.provider.as_deref() == Some(name));
    if let Some(fault) = fault {
        return Some(Obstacle::new(fault.to_string()));
    }
    match key {
        KeyPlace::Missing(variable) => {
            let hint = format!("regatta login {name} (or export {variable}=…)");
            Some(Obstacle::new("no key").hint(hint))
        }
        KeyPlace::Given
        | KeyPlace::Stored(_)
        | KeyPlace::Environment(_)
        | KeyPlace::File
        | KeyPlace::NotNeeded => None,
    }
}

/// Returns the models of a provider: those of the catalogue with the user's changes, and the user's
/// own.
fn models_of(file: &ModelsFile, facts: &FactsTable, name: &str) -> BTreeMap<String, ModelFacts> {
    let entry = file.providers.get(name);
    // A known provider at another address may have other models.
    let moved = entry.is_some_and(|it| it.base_url.is_some() && !it.models.is_empty());
    let is_known = KnownProvider::find(name).is_some();
    let known = facts.provider(name).filter(|_| is_known && !moved);
    let mut models: BTreeMap<String, ModelFacts> =
        known.map(|it| it.models.clone()).unwrap_or_default();
    if let Some(entry) = entry {
        for (id, said) in &entry.overrides {
            let known = models.remove(id).unwrap_or_default();
            models.insert(id.clone(), facts_of(said).or(&known));
        }
        for (id, said) in &entry.models {
            let known = models.remove(id).unwrap_or_default();
            models.insert(id.clone(), facts_of_own(said, &known, &facts.limits(id)));
        }
    }
    models
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_share_an_account_if_they_have_the_same_host_and_key() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().as_os_str().to_owned();
        let places =
            config::DataPaths::resolve(|name| (name == "REGATTA_HOME").then(|| home.clone()));
        let places = places.unwrap();
        let file = &places.models_files()[0];
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let provider = |name: &str, url: &str, key: &str| {
            format!(
                "  {name}: {{ baseUrl: '{url}', {key}, api: openai-completions, models: [{{ id: m }}] }}\n"
            )
        };
        let providers = [
            provider("gate", "https://gate.example/v1", "apiKey: $GATE_KEY"),
            provider("gate-chat", "https://GATE.example/chat/v1", "apiKey: GATE_KEY"),
            provider("gate-other", "https://gate.example/v1", "apiKey: OTHER_KEY"),
            provider("here", "http://127.0.0.1:11434/v1", "auth: none"),
            provider("there", "http://127.0.0.1:11435/v1", "auth: none"),
        ];
        std::fs::write(file, format!("providers:\n{}", providers.concat())).unwrap();
        let shared = UserModels::new(&places).shared_accounts();
        let shared: Vec<_> = shared.iter().map(|(name, of)| format!("{name} = {of}")).collect();
        assert_eq!(shared, ["gate-chat = gate", "ollama = here", "openai-completions = openai"]);
    }
}
