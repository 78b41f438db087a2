//! Loads the settings: merges the layers and checks every value.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use super::{RulesBelow, Settings, wrong};
use crate::error::{Origin, SettingsError, UnknownKey};
use crate::key::Key;
use crate::layer::Layer;
use crate::narrower::is_joined;
use crate::project::{ProjectSettings, WithheldPower};
use crate::value::{Expected, RawValue};

/// The text of the defaults file, which also explains each setting.
pub(crate) const DEFAULTS: &str = include_str!("../defaults.yml");
const DEFAULTS_FILE: &str = "defaults.yml";

/// The sources of settings besides the defaults and a project. The user's file overrides the defaults, a
/// project the user's file, the environment a project, and the command line the environment.
pub struct Sources<'a> {
    /// The user's file, which need not exist: [`crate::DataPaths::config_file`].
    pub file: &'a Path,
    /// The user's home, for paths that begin with `~/`: [`crate::DataPaths::home`].
    pub home: Option<&'a Path>,
    /// Looks up an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The command line options that change a setting.
    pub flags: &'a [Flag],
}

/// A command line option that changes a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The setting.
    pub key: Key,
    /// The option as it was typed: `--jobs`.
    pub name: String,
    /// The value of the option.
    pub value: String,
}

/// The settings of all layers.
#[derive(Debug)]
pub struct LoadedSettings {
    /// The settings.
    pub settings: Settings,
    /// The unknown keys of the files, for warnings.
    pub unknown: Vec<UnknownKey>,
    /// What the project sets and does not count.
    pub withheld: Vec<WithheldPower>,
    values: Values,
    /// The origin below that of a project, of the lists to which the project adds.
    under: BTreeMap<Key, Origin>,
}

impl LoadedSettings {
    /// Returns the other origin of a list to which a project adds.
    #[must_use]
    pub fn other_origin(&self, key: Key) -> Option<&Origin> {
        let (_, origin) = self.values.get(&key)?;
        self.under.get(&key).filter(|_| matches!(origin, Origin::Project { .. }))
    }

    /// Returns each setting that has a value, with the value as it was given and its origin.
    pub fn listed(&self) -> impl Iterator<Item = (Key, serde_json::Value, &Origin)> {
        let listed = |key: Key| self.values.get(&key).map(|it| (key, it.0.to_json(), &it.1));
        Key::ALL.into_iter().filter_map(listed)
    }
}

impl Settings {
    /// Reads and checks all layers but that of a project. Returns the settings, and the unknown keys of the
    /// file for a warning.
    ///
    /// # Errors
    /// The file cannot be read, or a value is invalid, even one that another layer overrides.
    pub fn load(sources: &Sources<'_>) -> Result<(Self, Vec<UnknownKey>), SettingsError> {
        let loaded = Self::load_all(sources, None)?;
        Ok((loaded.settings, loaded.unknown))
    }

    /// Reads and checks all layers. Of the project's powers, those of these keys are trusted.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn load_all(
        sources: &Sources<'_>,
        project: Option<(&ProjectSettings, &BTreeSet<Key>)>,
    ) -> Result<LoadedSettings, SettingsError> {
        let home = sources.home;
        let origin = |line| Origin::User { file: sources.file.to_owned(), line };
        let user = Layer::of_file(sources.file, sources.file, origin)?;
        let mut unknown = user.unknown;
        let flags = sources.flags.iter().map(|Flag { key, name, value }| {
            let origin = Origin::CommandLine { flag: name.clone() };
            (*key, (RawValue::Text(value.clone()), origin))
        });
        let flags: Values = flags.collect();
        let environment = Layer::of_environment(sources.variable).given;
        for layer in [&user.given, &environment, &flags] {
            check_layer(layer, home)?;
        }
        let mut values =
            Layer::of_text(DEFAULTS, Path::new(DEFAULTS_FILE), |_| Origin::BuiltIn)?.given;
        values.extend(user.given);
        let mut withheld = Vec::new();
        let joined = values
            .iter()
            .filter(|(key, (_, origin))| is_joined(**key) && *origin != Origin::BuiltIn);
        let under = joined.map(|(key, (_, origin))| (*key, origin.clone())).collect();
        let rules = [Key::ApprovalsDeny, Key::ApprovalsAsk, Key::ApprovalsAllow];
        let rules_below = rules.map(|key| RulesBelow::of(&values, key));
        if let Some((project, trusted)) = project {
            withheld = project.lay_over(&mut values, trusted);
            unknown.extend(project.unknown.iter().cloned());
        }
        values.extend(environment);
        values.extend(flags);
        let mut settings = Self::from_values(&values, home)?;
        settings.name_rules_below(rules_below);
        Ok(LoadedSettings { settings, unknown, withheld, values, under })
    }
}

/// The merged values of all layers.
pub(crate) type Values = BTreeMap<Key, (RawValue, Origin)>;

/// Checks the values of a layer. An invalid value is an error even if another layer overrides it.
pub(crate) fn check_layer(layer: &Values, home: Option<&Path>) -> Result<(), SettingsError> {
    layer.iter().try_for_each(|(key, (given, origin))| {
        check_rules(*key, given, origin)?;
        check(*key, given, home).map_err(|expected| wrong(*key, given, origin, expected))
    })
}

/// Checks one value of a layer.
fn check(key: Key, given: &RawValue, home: Option<&Path>) -> Result<(), Expected> {
    match key {
        Key::MaxConcurrency | Key::ProviderConcurrency => given.count().map(drop),
        Key::AgentModels => given.agent_models().map(drop),
        Key::DisabledAgents => given.agent_names().map(drop),
        Key::MaxRecursionDepth => given.depth().map(drop),
        Key::IsolationMode => given.isolation().map(drop),
        Key::MergeMode => given.merge().map(drop),
        Key::CommitStyle => given.commit_style().map(drop),
        Key::IsolationDir => given.folder(home).map(drop),
        Key::UntrackedLimit | Key::CarryLimit | Key::LimitOutput => given.size().map(drop),
        Key::IsolationSetup | Key::Notify => given.commands().map(drop),
        Key::Alert => given.alert().map(drop),
        Key::IsolationCarry | Key::IsolationUnion => given.globs().map(drop),
        Key::ApprovalMode => given.approval_mode().map(drop),
        Key::ApprovalsDeny | Key::ApprovalsAsk | Key::ApprovalsAllow => given.rules().map(drop),
        Key::EditMode => given.edit_mode().map(drop),
        Key::McpForeign => given.switch().map(drop),
        Key::BranchPrefix => given.prefix().map(drop),
        Key::EnvRemove | Key::EnvPass => given.variables().map(drop),
        Key::EnvKeepOnly => given.some_variables().map(drop),
        Key::LimitWall => given.duration().map(drop),
        Key::RetentionOlderThan => given.age().map(drop),
        Key::RetentionKeepSize => given.store_size().map(drop),
        Key::LimitTurns => given.turns().map(drop),
        Key::LimitTokens => given.tokens().map(drop),
        Key::LimitCost => given.cost().map(drop),
        Key::ModelDefault | Key::ModelSmol | Key::ModelSlow | Key::ModelPlan => {
            given.model().map(drop)
        }
        Key::Prices => given.prices().map(drop),
        Key::RetryEnabled
        | Key::CompactionEnabled
        | Key::BranchSummaryEnabled
        | Key::ImagesAutoResize
        | Key::SessionsDurable => given.boolean().map(drop),
        Key::CompactionThresholdPercent => given.percent().map(drop),
        Key::CompactionThresholdTokens
        | Key::CompactionReserve
        | Key::CompactionKeepRecent
        | Key::BranchSummaryReserve => given.tokens().map(drop),
        Key::RetryMaxRetries => given.retries().map(drop),
        Key::RetryBaseDelay => given.milliseconds().map(drop),
        Key::RetryFallbackChains => given.fallback_chains().map(drop),
        Key::RetryFallbackRevertPolicy => given.revert_policy().map(drop),
        Key::QuotaWait => given.duration().map(drop),
        Key::RetryOutage | Key::StreamFirstEventTimeout | Key::StreamIdleTimeout => {
            given.timeout().map(drop)
        }
    }
}

/// Checks the rules of one value, each of which has an error of its own.
fn check_rules(key: Key, given: &RawValue, origin: &Origin) -> Result<(), SettingsError> {
    match key {
        Key::ApprovalsDeny | Key::ApprovalsAsk | Key::ApprovalsAllow => match given.rule_error() {
            Some(error) => Err(SettingsError::Rule { origin: origin.clone(), key, error }),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
