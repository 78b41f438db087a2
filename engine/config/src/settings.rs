//! The settings of one start: the layers laid over each other, and their values checked.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{IsolationMode, MergeMode, ModelRoute, TaskLimits};

use crate::error::{SettingsError, UnknownKey};
use crate::key::Key;
use crate::layer::Layer;
use crate::origin::{Origin, Setting};
use crate::prices::ModelPrice;
use crate::value::{Expected, Given};

/// The defaults, with what each setting means.
const DEFAULTS: &str = include_str!("defaults.yml");
const DEFAULTS_FILE: &str = "defaults.yml";

/// What settings are read from. The later ones win: the defaults, the user's file, the environment,
/// the command line.
pub struct Sources<'a> {
    /// The user's file, which need not be there: [`crate::Places::config_file`].
    pub file: &'a Path,
    /// The user's home, for paths that begin with `~/`: [`crate::Places::home`].
    pub home: Option<&'a Path>,
    /// Looks up an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The options that set something.
    pub flags: &'a [Flag],
}

/// An option of the command line that sets something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// What it sets.
    pub key: Key,
    /// How it was typed: `--jobs`.
    pub name: String,
    /// What it was given.
    pub value: String,
}

/// Every setting, with where its value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many tasks run at the same time; nothing for as many as suit the work.
    pub max_concurrency: Setting<Option<NonZeroUsize>>,
    /// How tasks are kept apart.
    pub isolation_mode: Setting<IsolationMode>,
    /// Where their work goes.
    pub merge_mode: Setting<MergeMode>,
    /// The folder of the workspaces; nothing for the usual one.
    pub isolation_dir: Setting<Option<PathBuf>>,
    /// How many bytes of untracked files may be copied into each workspace.
    pub untracked_limit: Setting<u64>,
    /// What the names of branches begin with.
    pub branch_prefix: Setting<String>,
    /// Which variables tasks do not get.
    pub env_remove: Setting<Vec<String>>,
    /// Which variables alone tasks get; nothing for all but the removed ones.
    pub env_keep_only: Setting<Option<Vec<String>>>,
    /// Which variables tasks get although they would be removed.
    pub env_pass: Setting<Vec<String>>,
    /// How long a task may run.
    pub limit_wall: Setting<Duration>,
    /// How many bytes of a task's output are kept.
    pub limit_output: Setting<u64>,
    /// How often a model may answer.
    pub limit_turns: Setting<NonZeroU32>,
    /// How many tokens a model may use; nothing for as many as it likes.
    pub limit_tokens: Setting<Option<NonZeroU64>>,
    /// The model where none is named.
    pub model_default: Setting<Option<ModelRoute>>,
    /// The model for small things.
    pub model_smol: Setting<Option<ModelRoute>>,
    /// The model for hard things.
    pub model_slow: Setting<Option<ModelRoute>>,
    /// The model that plans.
    pub model_plan: Setting<Option<ModelRoute>>,
    /// What models cost, by `PROVIDER/ID`.
    pub prices: Setting<BTreeMap<String, ModelPrice>>,
    /// How many requests of one account run at the same time; nothing for any number.
    pub provider_concurrency: Setting<Option<NonZeroUsize>>,
    /// Whether a provider that cannot answer at the moment is asked again.
    pub retry_enabled: Setting<bool>,
    /// How often it is.
    pub retry_max_retries: Setting<u32>,
    /// How long it is left alone before the first time; twice as long each time after.
    pub retry_base_delay: Setting<Duration>,
    /// How long a provider may take until it begins to answer; zero for as long as it likes.
    pub stream_first_event_timeout: Setting<Duration>,
    /// How long a provider may pause in an answer; zero for as long as it likes.
    pub stream_idle_timeout: Setting<Duration>,
}

impl Settings {
    /// Reads and checks all layers. What comes back with the settings are keys in the file that
    /// nobody knows, to be told.
    ///
    /// # Errors
    /// The file cannot be read, or a value cannot be what it is, even one that another layer
    /// overrides.
    pub fn load(sources: &Sources<'_>) -> Result<(Self, Vec<UnknownKey>), SettingsError> {
        let home = sources.home;
        let user = Layer::of_file(sources.file)?;
        let unknown = user.unknown;
        let flags = sources.flags.iter().map(|Flag { key, name, value }| {
            let origin = Origin::CommandLine { flag: name.clone() };
            (*key, (Given::Words(value.clone()), origin))
        });
        let flags = Layer { given: flags.collect(), unknown: Vec::new() };
        let mut values =
            Layer::of_text(DEFAULTS, Path::new(DEFAULTS_FILE), |_| Origin::BuiltIn)?.given;
        for layer in [user.given, Layer::of_environment(sources.variable).given, flags.given] {
            // A mistake does not go unnoticed because something else hides it today.
            for (key, (given, origin)) in &layer {
                check(*key, given, home)
                    .map_err(|expected| wrong(*key, given, origin, expected))?;
            }
            values.extend(layer);
        }
        Ok((Self::cut(&values, home)?, unknown))
    }

    /// Returns the limits of a task that sets none itself.
    #[must_use]
    pub fn task_limits(&self) -> TaskLimits {
        TaskLimits {
            wall: self.limit_wall.value,
            output: self.limit_output.value,
            turns: self.limit_turns.value,
            tokens: self.limit_tokens.value.map(NonZeroU64::get),
        }
    }

    fn cut(values: &Values, home: Option<&Path>) -> Result<Self, SettingsError> {
        Ok(Self {
            max_concurrency: optional(values, Key::MaxConcurrency, Given::count)?,
            isolation_mode: required(values, Key::IsolationMode, Given::isolation)?,
            merge_mode: required(values, Key::MergeMode, Given::merge)?,
            isolation_dir: optional(values, Key::IsolationDir, |given| given.folder(home))?,
            untracked_limit: required(values, Key::UntrackedLimit, Given::size)?,
            branch_prefix: required(values, Key::BranchPrefix, Given::prefix)?,
            env_remove: required(values, Key::EnvRemove, Given::variables)?,
            env_keep_only: optional(values, Key::EnvKeepOnly, Given::some_variables)?,
            env_pass: required(values, Key::EnvPass, Given::variables)?,
            limit_wall: required(values, Key::LimitWall, Given::duration)?,
            limit_output: required(values, Key::LimitOutput, Given::size)?,
            limit_turns: required(values, Key::LimitTurns, Given::turns)?,
            limit_tokens: optional(values, Key::LimitTokens, Given::tokens)?,
            model_default: optional(values, Key::ModelDefault, Given::model)?,
            model_smol: optional(values, Key::ModelSmol, Given::model)?,
            model_slow: optional(values, Key::ModelSlow, Given::model)?,
            model_plan: optional(values, Key::ModelPlan, Given::model)?,
            prices: required(values, Key::Prices, Given::prices)?,
            provider_concurrency: optional(values, Key::ProviderConcurrency, Given::count)?,
            retry_enabled: required(values, Key::RetryEnabled, Given::flag)?,
            retry_max_retries: required(values, Key::RetryMaxRetries, Given::times)?,
            retry_base_delay: required(values, Key::RetryBaseDelay, Given::milliseconds)?,
            stream_first_event_timeout: required(
                values,
                Key::StreamFirstEventTimeout,
                Given::patience,
            )?,
            stream_idle_timeout: required(values, Key::StreamIdleTimeout, Given::patience)?,
        })
    }
}

/// What all layers together give.
type Values = BTreeMap<Key, (Given, Origin)>;

/// Checks one value of one layer.
fn check(key: Key, given: &Given, home: Option<&Path>) -> Result<(), Expected> {
    match key {
        Key::MaxConcurrency | Key::ProviderConcurrency => given.count().map(drop),
        Key::IsolationMode => given.isolation().map(drop),
        Key::MergeMode => given.merge().map(drop),
        Key::IsolationDir => given.folder(home).map(drop),
        Key::UntrackedLimit | Key::LimitOutput => given.size().map(drop),
        Key::BranchPrefix => given.prefix().map(drop),
        Key::EnvRemove | Key::EnvPass => given.variables().map(drop),
        Key::EnvKeepOnly => given.some_variables().map(drop),
        Key::LimitWall => given.duration().map(drop),
        Key::LimitTurns => given.turns().map(drop),
        Key::LimitTokens => given.tokens().map(drop),
        Key::ModelDefault | Key::ModelSmol | Key::ModelSlow | Key::ModelPlan => {
            given.model().map(drop)
        }
        Key::Prices => given.prices().map(drop),
        Key::RetryEnabled => given.flag().map(drop),
        Key::RetryMaxRetries => given.times().map(drop),
        Key::RetryBaseDelay => given.milliseconds().map(drop),
        Key::StreamFirstEventTimeout | Key::StreamIdleTimeout => given.patience().map(drop),
    }
}

/// Reads a setting that may be unset, which is then as the defaults have it.
fn optional<T>(
    values: &Values,
    key: Key,
    read: impl Fn(&Given) -> Result<T, Expected>,
) -> Result<Setting<Option<T>>, SettingsError> {
    let Some((given, origin)) = values.get(&key) else {
        return Ok(Setting { value: None, origin: Origin::BuiltIn });
    };
    let value = read(given).map_err(|expected| wrong(key, given, origin, expected))?;
    Ok(Setting { value: Some(value), origin: origin.clone() })
}

/// Reads a setting that has a default.
fn required<T>(
    values: &Values,
    key: Key,
    read: impl Fn(&Given) -> Result<T, Expected>,
) -> Result<Setting<T>, SettingsError> {
    let Setting { value, origin } = optional(values, key, read)?;
    let value = value.expect("the defaults file gives every setting that is never unset");
    Ok(Setting { value, origin })
}

fn wrong(key: Key, given: &Given, origin: &Origin, expected: Expected) -> SettingsError {
    // One of the right kind with something wrong in it is not set against that kind.
    let found = given.found();
    let found = if expected.starts_with(&found) { "this one".to_owned() } else { found };
    let origin = origin.clone();
    SettingsError::Value { origin, key, expected: expected.to_owned(), found }
}

#[cfg(test)]
mod tests;
