//! The providers and models of the user: the file of models, the stored keys and the catalogue, each
//! read when it is first needed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use config::{
    AuthKind, DataPaths, KeyStore, ModelEntry, ModelPrice, ModelsFile, ProviderEntry, Secret,
    StoredKey, StoredKeys, ValueSource,
};
use protocol::ModelRoute;
use providers::{
    FactsTable, KnownProvider, ModelFacts, Price, PriceSource, PriceTier, PriceTiers, Rate,
};

use super::key_command;
use super::renewals::Renewals;
use super::stored_login::StoredLogin;

/// The largest file of facts that is read, in bytes.
const LARGEST_FACTS: u64 = 16 << 20;

/// The providers and models of the user.
pub struct UserModels {
    models_files: [PathBuf; 2],
    facts_file: PathBuf,
    store: KeyStore,
    file: OnceLock<ModelsFile>,
    facts: OnceLock<(FactsTable, Option<String>)>,
    stored: OnceLock<Result<StoredKeys, String>>,
    /// The keys given for this process, by provider.
    pub(super) given: Mutex<BTreeMap<String, Secret>>,
    /// The logins whose tokens are in use, by provider and name.
    pub(super) logins: Mutex<BTreeMap<(String, String), Arc<StoredLogin>>>,
    pub(super) renewals: Renewals,
    /// What the commands of the file of models have printed.
    commands: Mutex<BTreeMap<String, Result<Secret, String>>>,
}

impl fmt::Debug for UserModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A command may contain a secret.
        f.debug_struct("UserModels").field("store", &self.store).finish_non_exhaustive()
    }
}

/// Where the key of a provider is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// Given on the command line.
    Given,
    /// Stored under this name.
    Stored(String),
    /// In this environment variable.
    Environment(String),
    /// In the file of models.
    File,
    /// There is none, and none is needed.
    NotNeeded,
    /// There is none. This variable would hold it.
    Missing(String),
}

impl UserModels {
    /// Returns the providers and models of the user. Nothing is read yet.
    #[must_use]
    pub fn new(places: &DataPaths) -> Self {
        Self {
            models_files: places.models_files(),
            facts_file: places.model_facts(),
            store: KeyStore::new(places.keys_file()),
            file: OnceLock::new(),
            facts: OnceLock::new(),
            stored: OnceLock::new(),
            given: Mutex::default(),
            logins: Mutex::default(),
            renewals: Renewals::default(),
            commands: Mutex::default(),
        }
    }

    /// Returns the store of keys.
    pub fn store(&self) -> &KeyStore {
        &self.store
    }

    /// Returns what the file of models says.
    pub fn file(&self) -> &ModelsFile {
        self.file.get_or_init(|| ModelsFile::read(&self.models_files))
    }

    /// Returns what is known about models.
    pub fn facts(&self) -> &FactsTable {
        &self.all_facts().0
    }

    fn all_facts(&self) -> &(FactsTable, Option<String>) {
        self.facts.get_or_init(|| {
            let built_in = FactsTable::built_in();
            let file = self.facts_file.display();
            let large =
                std::fs::metadata(&self.facts_file).is_ok_and(|it| it.len() > LARGEST_FACTS);
            let read = match std::fs::read(&self.facts_file) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return (built_in, None);
                }
                Err(error) => Err(error.to_string()),
                Ok(_) if large => Err("it is too large".to_owned()),
                Ok(bytes) => FactsTable::parse(&bytes).map_err(|error| error.to_string()),
            };
            match read {
                // A catalogue that is older than this program has nothing to add.
                Ok(newer) if newer.date >= built_in.date => (newer.over(built_in), None),
                Ok(older) => (built_in.over(older), None),
                Err(why) => {
                    let note =
                        format!("{file} is not used: {why}; regatta models refresh writes it anew");
                    (built_in, Some(note))
                }
            }
        })
    }

    pub(super) fn stored(&self) -> Result<&StoredKeys, String> {
        let stored = self.stored.get_or_init(|| {
            self.store.read().map_err(|error| {
                let source = std::error::Error::source(&error);
                source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
            })
        });
        stored.as_ref().map_err(Clone::clone)
    }

    /// Returns what the user should know about the files, line by line.
    pub fn notes(&self) -> Vec<String> {
        let file = self.file();
        let stored = match self.stored() {
            Ok(stored) => stored.note.clone(),
            Err(why) => Some(format!("no stored key is used: {why}")),
        };
        let warnings = file.warnings.iter().map(ToString::to_string);
        self.faults().chain(warnings).chain(stored).chain(self.all_facts().1.clone()).collect()
    }

    /// Returns the mistakes in the file of models, each with its line and what follows from it.
    pub(super) fn faults(&self) -> impl Iterator<Item = String> {
        self.file().faults.iter().map(|fault| match &fault.provider {
            Some(provider) => format!("{fault}; the provider `{provider}` is not used"),
            None => format!("{fault}; nothing in the file is used"),
        })
    }

    /// Returns why nothing in the file of models is used; `None` if it is.
    pub fn file_fault(&self) -> Option<String> {
        let whole = self.file().faults.iter().find(|fault| fault.provider.is_none());
        whole.map(|fault| format!("{fault}; nothing in the file is used"))
    }

    /// Uses this key for a provider, before all others.
    pub fn give(&self, provider: &str, key: Secret) {
        let mut given = self.given.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        given.insert(provider.to_owned(), key);
    }

    /// Returns where the key of a provider is. No command is run.
    pub fn key_place(&self, provider: &str) -> KeyPlace {
        let given = self.given.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let entry = self.file().providers.get(provider);
        if entry.is_some_and(|entry| entry.auth == AuthKind::None) {
            return KeyPlace::NotNeeded;
        }
        if given.contains_key(provider) {
            return KeyPlace::Given;
        }
        if let Some(stored) = self.stored_keys(provider).next() {
            return KeyPlace::Stored(stored.name.clone());
        }
        let variables = providers::own_key_variables(provider);
        if let Some(set) = variables.iter().find(|name| variable(name).is_some()) {
            return KeyPlace::Environment(set.clone());
        }
        let configured = entry.and_then(|entry| entry.api_key.as_ref());
        if configured.is_some_and(|source| match source {
            ValueSource::Command(_) | ValueSource::NameOrText(_) => true,
            ValueSource::Variable(name) => variable(name).is_some(),
        }) {
            return KeyPlace::File;
        }
        if entry.is_some_and(|entry| entry.discovery.is_some()) {
            return KeyPlace::NotNeeded;
        }
        match KnownProvider::find(provider) {
            Some(known) if known.is_local() => KeyPlace::NotNeeded,
            _ => KeyPlace::Missing(variables.into_iter().next().unwrap_or_default()),
        }
    }

    /// Returns the stored keys of a provider, in the order in which they are used.
    pub(super) fn stored_keys(&self, provider: &str) -> impl Iterator<Item = &StoredKey> {
        let keys = self.stored().map_or_else(|_why| &[][..], |stored| &stored.keys);
        keys.iter().filter(move |key| key.provider == provider)
    }

    /// Runs the commands of the file of models whose output the providers need.
    pub async fn prepare(&self, names: impl IntoIterator<Item = &str>) {
        let entries = names.into_iter().filter_map(|name| self.file().providers.get(name));
        let sources = entries.flat_map(sources_of);
        let commands: std::collections::BTreeSet<&String> = sources
            .filter_map(|source| match source {
                ValueSource::Command(command) => Some(command),
                ValueSource::Variable(_) | ValueSource::NameOrText(_) => None,
            })
            .collect();
        for command in commands {
            let output = key_command::output(command).await;
            let mut known = self.commands.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            known.insert(command.clone(), output);
        }
    }

    /// Returns the first line that a command of the user prints. Each command runs once.
    pub(crate) async fn command_output(&self, command: &str) -> Result<Secret, String> {
        let known = || self.commands.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(Ok(output)) = known().get(command) {
            return Ok(output.clone());
        }
        let output = key_command::output(command).await;
        known().insert(command.to_owned(), output.clone());
        output
    }

    /// Returns a value of the file of models. The error names no value.
    pub(super) fn value(&self, source: &ValueSource) -> Result<Secret, String> {
        match source {
            ValueSource::Command(command) => {
                let known = self.commands.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                known
                    .get(command)
                    .cloned()
                    .unwrap_or_else(|| Err("its command did not run".to_owned()))
            }
            ValueSource::Variable(name) => {
                variable(name).ok_or_else(|| format!("the variable {name} is not set"))
            }
            ValueSource::NameOrText(text) => {
                Ok(variable(text.expose()).unwrap_or_else(|| text.clone()))
            }
        }
    }

    /// Returns the environment variables that the file of models reads. Tasks do not get them.
    pub fn variables(&self) -> Vec<String> {
        let entries = self.file().providers.values();
        let sources = entries.flat_map(sources_of);
        let names = sources.filter_map(|source| match source {
            ValueSource::Variable(name) => Some(name.clone()),
            ValueSource::NameOrText(text) => {
                variable(text.expose()).map(|_value| text.expose().to_owned())
            }
            ValueSource::Command(_) => None,
        });
        names.collect()
    }

    pub(super) fn file_shown(&self) -> String {
        let there = self.models_files.iter().find(|file| file.exists());
        there.unwrap_or(&self.models_files[0]).display().to_string()
    }

    /// Returns whether the user's file says of a model that it is there, and at which address.
    pub(super) fn defines(&self, route: &ModelRoute) -> bool {
        let entry = self.file().providers.get(&route.provider);
        let defined = entry.and_then(|entry| {
            let model = entry.models.get(&route.id)?;
            model.base_url.as_ref().or(entry.base_url.as_ref())
        });
        route.base_url.is_none() && defined.is_some()
    }

    /// Returns what the user's file and the catalogue say about a model.
    pub(super) fn known(&self, route: &ModelRoute) -> ModelFacts {
        let known = self.facts().model(&route.provider, &route.id).cloned().unwrap_or_default();
        let entry = self.file().providers.get(&route.provider);
        let own = entry.and_then(|it| it.models.get(&route.id));
        let said = own.or_else(|| entry.and_then(|it| it.overrides.get(&route.id)));
        match (own, said) {
            (Some(own), _) => facts_of_own(own, &known, &self.facts().limits(&route.id)),
            (None, Some(said)) => facts_of(said).or(&known),
            (None, None) => known,
        }
    }
}

/// Returns where the secrets of a provider are from.
fn sources_of(entry: &ProviderEntry) -> impl Iterator<Item = &ValueSource> {
    let oauth = entry.oauth.iter().filter_map(|oauth| oauth.client_secret.as_ref());
    let models = entry.models.values().chain(entry.overrides.values());
    let of_models = models.flat_map(|model| model.headers.values());
    entry.api_key.iter().chain(entry.headers.values()).chain(oauth).chain(of_models)
}

/// Returns the value of an environment variable that is set and not empty.
fn variable(name: &str) -> Option<Secret> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    let value = is_name.then(|| std::env::var(name).ok()).flatten();
    value.filter(|value| !value.trim().is_empty()).map(Secret::new)
}

/// Returns a price that the user says.
#[expect(clippy::cast_precision_loss, reason = "prices are far below 2^53 billionths of a dollar")]
pub fn price_of_user(said: ModelPrice) -> Option<Price> {
    let rate = |nanodollars: u64| Rate::per_million(nanodollars as f64 / 1e9);
    Some(Price {
        input: rate(said.input)?,
        output: rate(said.output)?,
        cache_read: Some(rate(said.cache_read)?),
        cache_write: Some(rate(said.cache_write)?),
        tiers: PriceTiers::default(),
        source: PriceSource::User,
    })
}

/// Returns the price that the user says in the entry of a model.
pub(super) fn price_of_entry(entry: &ModelEntry) -> Option<Price> {
    let tier = |(above, said): &(u64, ModelPrice)| {
        let Price { input, output, cache_read, cache_write, .. } = price_of_user(*said)?;
        Some(PriceTier { above: *above, input, output, cache_read, cache_write })
    };
    let tiers = entry.price_tiers.iter().map(tier).collect::<Option<Vec<_>>>()?;
    Some(Price { tiers: PriceTiers::of(tiers)?, ..price_of_user(entry.price?)? })
}

/// The window and the output limit of a model of the user's own that says neither, in tokens.
const OWN_WINDOW: u64 = 128_000;
const OWN_OUTPUT: u64 = 16_384;

/// Returns what the user says about a model of their own, as facts. `known` is what is known besides,
/// and `limits` are those of a model of the same id.
pub(super) fn facts_of_own(
    entry: &ModelEntry,
    known: &ModelFacts,
    limits: &ModelFacts,
) -> ModelFacts {
    let (context, output) = (Some(OWN_WINDOW), Some(OWN_OUTPUT));
    let facts = facts_of(entry).or(known).or(limits);
    facts.or(&ModelFacts { context, output, ..ModelFacts::default() })
}

/// Returns what the user says about a model, as facts.
pub(super) fn facts_of(entry: &ModelEntry) -> ModelFacts {
    ModelFacts {
        name: entry.name.clone(),
        context: entry.context,
        output: entry.output,
        images: entry.images,
        tools: entry.tools,
        thinking: entry.thinking,
        levels: entry.levels.clone(),
        thinking_mode: entry.thinking_mode,
        default_level: entry.default_level.clone(),
        cache_minimum: None,
        price: price_of_entry(entry),
    }
}

#[cfg(test)]
mod tests;
