//! Loads the settings with those of a project. They are read once, from the user's own tree: what a task
//! writes into its copy changes nothing.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use config::{DataPaths, Key, LoadedSettings, Origin, ProjectSettings, Setting, Settings, Sources};
use isolation::git_state_at;
use protocol::error_chain;
use store::TrustFile;

use super::changes::is_in_task;
use super::powers::{Power, PowerState, TrustedPowers, trusted_keys};
use crate::engine_wide::is_engine_wide;
use crate::error::Error;
use crate::mcp::{ProjectServer, servers_of_project};

/// The settings of all layers, and the powers of the project: settings and MCP servers.
#[derive(Debug)]
pub struct LoadedProject {
    /// The root of the project; `None` if only the settings of the user were loaded.
    pub root: Option<PathBuf>,
    /// The settings. Of the project's powers, those that are trusted count.
    pub loaded: LoadedSettings,
    /// The powers of the project, with their states.
    pub powers: Vec<Power>,
    /// Why nothing is trusted, if the file of trust cannot be used.
    pub unusable: Option<String>,
    /// Why the settings of the project are left out, if they are.
    pub left_out: Option<String>,
}

/// Returns the root of the project at `folder`: that of its repository, or the folder itself. It is
/// canonical if it is there.
#[must_use]
pub fn project_root(folder: &Path) -> PathBuf {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_gone| folder.to_owned());
    git_state_at(&folder).map_or(folder, |(root, _)| root)
}

/// Loads the settings of this user and of the environment, with those of the project at `folder` if one is
/// given: the project's powers as far as the user trusts them. In a task of a run none is trusted.
///
/// # Errors
/// A file of settings cannot be read, or has an invalid value.
pub fn project_settings(places: &DataPaths, folder: Option<&Path>) -> Result<LoadedProject, Error> {
    settings_of(places, folder, &|name| std::env::var_os(name))
}

/// Loads the settings as [`project_settings`] does, but leaves out those of the project if they cannot be
/// used: work must not be out of reach because of a file that a task has written.
///
/// # Errors
/// The settings of the user or of the environment cannot be read, or have an invalid value.
pub fn settings_to_look(places: &DataPaths, folder: Option<&Path>) -> Result<LoadedProject, Error> {
    project_settings(places, folder).or_else(|error| {
        let user = project_settings(places, None)?;
        Ok(LoadedProject { left_out: Some(error.what_and_why()), ..user })
    })
}

/// Loads the settings as [`project_settings`] does, with `variable` in place of the environment.
pub(crate) fn settings_of(
    places: &DataPaths,
    folder: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<LoadedProject, Error> {
    let root = folder.map(project_root);
    let sources =
        Sources { file: &places.config_file(), home: places.home(), variable, flags: &[] };
    // In the workspace of a task, the task may have written the settings.
    let trust_file = (!is_in_task()).then(|| TrustFile::new(places.trust_file()));
    let mut project = load_settings(&sources, root.as_deref(), trust_file.as_ref())?;
    if let (Some(root), Some(folder)) = (root, folder) {
        let servers = servers_of_project(places, (&root, folder), &project.loaded.settings);
        project.add_servers(root, servers, trust_file.as_ref());
    }
    Ok(project)
}

/// Returns whether a setting of the project at `root` has its value still, and the user trusts that with
/// the files that it runs now.
#[must_use]
pub fn counts_still<T: PartialEq>(
    places: &DataPaths,
    root: &Path,
    setting: &Setting<T>,
    of: impl FnOnce(&Settings) -> &Setting<T>,
) -> bool {
    project_settings(places, Some(root)).is_ok_and(|now| {
        let now = of(&now.loaded.settings);
        now.value == setting.value && now.origin.project_root() == setting.origin.project_root()
    })
}

/// Loads the settings with those of the project at `root`, if one is given. Without a `trust_file` none of
/// its powers is trusted.
fn load_settings(
    sources: &Sources<'_>,
    root: Option<&Path>,
    trust_file: Option<&TrustFile>,
) -> Result<LoadedProject, Error> {
    let project = match root {
        Some(root) => ProjectSettings::read(root, sources.home)?.map(|project| (root, project)),
        None => None,
    };
    let Some((root, project)) = project else {
        let loaded = Settings::load_all(sources, None)?;
        return Ok(LoadedProject::without_powers(None, loaded));
    };
    let found = Some(root.to_owned());
    let nothing = BTreeSet::new();
    let mut loaded = Settings::load_all(sources, Some((&project, &nothing)))?;
    if loaded.withheld.is_empty() {
        return Ok(LoadedProject::without_powers(found, loaded));
    }
    let (trusted, unusable) = trusted_in(root, trust_file);
    let powers = loaded.withheld.clone().into_iter();
    let powers: Vec<_> = powers.map(|setting| Power::of_setting(root, setting, &trusted)).collect();
    let keys = trusted_keys(&powers);
    if !keys.is_empty() {
        loaded = Settings::load_all(sources, Some((&project, &keys)))?;
    }
    Ok(LoadedProject { root: found, loaded, powers, unusable, left_out: None })
}

/// Returns what is trusted in the repository at `root`, and why it is nothing if the file cannot be used.
fn trusted_in(root: &Path, trust_file: Option<&TrustFile>) -> (TrustedPowers, Option<String>) {
    match trust_file.map(|file| file.of(root)).transpose() {
        Ok(trust) => (trust.unwrap_or_default().powers, None),
        Err(error) => (TrustedPowers::new(), Some(error_chain(&error))),
    }
}

impl LoadedProject {
    /// Adds the MCP servers of the project at `root` to its powers.
    fn add_servers(
        &mut self,
        root: PathBuf,
        servers: Vec<ProjectServer>,
        trust_file: Option<&TrustFile>,
    ) {
        if servers.is_empty() {
            return;
        }
        let (trusted, unusable) = trusted_in(&root, trust_file);
        let servers = servers.into_iter();
        self.powers.extend(servers.map(|server| Power::of_server(&root, server, &trusted)));
        self.unusable = self.unusable.take().or(unusable);
        self.root = Some(root);
    }

    fn without_powers(root: Option<PathBuf>, loaded: LoadedSettings) -> Self {
        Self { root, loaded, powers: Vec::new(), unusable: None, left_out: None }
    }

    /// Returns the file of the project's settings, and those of its keys that count, and of which an engine
    /// has one value for all its runs; `None` if there are none.
    #[must_use]
    pub fn engine_wide(&self) -> Option<(&Path, Vec<Key>)> {
        let of_project = self.loaded.listed().filter_map(|(key, _, origin)| match origin {
            Origin::Project { file, .. } if is_engine_wide(key) => Some((file, key)),
            _ => None,
        });
        let (files, keys): (Vec<_>, Vec<_>) = of_project.unzip();
        files.first().map(|file| (file.as_path(), keys))
    }

    /// Returns what the user should know: unknown keys, settings that are left out, and one line about the
    /// powers that do not count. `command` is what trusts them.
    #[must_use]
    pub fn warnings(&self, command: &str) -> Vec<String> {
        let mut lines: Vec<_> =
            self.loaded.unknown.iter().map(|key| format!("warning: {key}")).collect();
        lines.extend(self.unusable.iter().map(|why| format!("warning: {why}")));
        lines.extend(self.left_out.iter().map(|why| {
            format!("warning: {why}; until that is mended, no setting of this project counts")
        }));
        let is_withheld = |power: &&Power| power.state != PowerState::Trusted;
        let mut withheld: Vec<_> = self.powers.iter().filter(is_withheld).collect();
        // One that was trusted before is named first, then commands.
        withheld.sort_by_key(|power| (power.state == PowerState::New, !power.kind.is_command()));
        if let [first, more @ ..] = withheld.as_slice() {
            let others = match more.len() {
                0 => String::new(),
                1 => " and one more".to_owned(),
                count => format!(" and {count} more"),
            };
            let why = match (&first.state, more.is_empty()) {
                (PowerState::Changed(_), true) => {
                    "has changed since you trusted it, and does not count"
                }
                (PowerState::Changed(_), false) => {
                    "have changed since you trusted them, and do not count"
                }
                (_, true) => "does not count before you trust it",
                (_, false) => "do not count before you trust them",
            };
            let (origin, key) = (&first.origin, &first.kind);
            lines.push(format!("warning: {origin}: `{key}`{others} {why}: {command}"));
        }
        lines
    }
}
