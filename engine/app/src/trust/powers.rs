//! The powers of a project, which are settings and MCP servers: what they would run now, and whether that is what
//! the user has trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use config::{Key, Origin, ProjectMark, WithheldPower};
use isolation::head_tree;
use serde_json::Value;
use store::TrustedPower;

use super::bound_files::{BoundFiles, files_of_commands, files_of_values};
use super::server_files::files_of_server;
use crate::mcp::ProjectServer;

/// A power of a project, and what it would be trusted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Power {
    /// What it is.
    pub kind: PowerKind,
    /// Its place in a file of the project.
    pub origin: Origin,
    /// The value, and what it would run.
    pub now: TrustedPower,
    /// Whether it is trusted.
    pub state: PowerState,
}

/// What a power is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PowerKind {
    /// A setting.
    Setting(Key),
    /// The MCP server of this name.
    Server(String),
}

impl PowerKind {
    /// Returns whether it runs commands.
    #[must_use]
    pub fn is_command(&self) -> bool {
        match self {
            Self::Setting(key) => ProjectMark::of(*key) == ProjectMark::Commands,
            Self::Server(_) => true,
        }
    }
}

impl fmt::Display for PowerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(key) => write!(f, "{key}"),
            Self::Server(name) => write!(f, "mcp.{name}"),
        }
    }
}

/// Whether a power is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PowerState {
    /// It never was.
    New,
    /// It is as it was when the user trusted it.
    Trusted,
    /// It was, but is not the same any more. This is what it was.
    Changed(TrustedPower),
    /// It may run any file, and there is no commit whose files would say when one changes. It cannot be trusted.
    Unbounded,
}

/// What is trusted in a repository, by the key of the setting, or by `mcp.` and the name of the server.
pub type TrustedPowers = BTreeMap<String, TrustedPower>;

impl Power {
    /// Returns a setting of the repository at `root`, which is canonical.
    pub(super) fn of_setting(root: &Path, setting: WithheldPower, trusted: &TrustedPowers) -> Self {
        let mut texts = Vec::new();
        texts_of(&setting.value, &mut texts);
        let texts = texts.into_iter();
        let files = match ProjectMark::of(setting.key) {
            ProjectMark::Commands => files_of_commands(root, texts),
            ProjectMark::Harmless | ProjectMark::Narrows | ProjectMark::Power => {
                files_of_values(root, texts)
            }
        };
        let kind = PowerKind::Setting(setting.key);
        Self::new(root, (kind, setting.origin), (setting.value, files), trusted)
    }

    /// Returns a server of the repository at `root`, which is canonical.
    pub(super) fn of_server(root: &Path, server: ProjectServer, trusted: &TrustedPowers) -> Self {
        let files = files_of_server(root, &server.entry.address);
        let place = server.entry.place;
        let origin = Origin::Project { file: place.file, line: place.line };
        let kind = PowerKind::Server(server.entry.name);
        Self::new(root, (kind, origin), (server.definition, files), trusted)
    }

    fn new(
        root: &Path,
        (kind, origin): (PowerKind, Origin),
        (value, files): (Value, BoundFiles),
        trusted: &TrustedPowers,
    ) -> Self {
        let BoundFiles { digests, is_open } = files;
        let tree = if is_open { head_tree(root) } else { None };
        let is_unbounded = is_open && tree.is_none();
        let now = TrustedPower { value, files: digests, tree };
        let state = match trusted.get(&kind.to_string()) {
            _ if is_unbounded => PowerState::Unbounded,
            None => PowerState::New,
            Some(was) if *was == now => PowerState::Trusted,
            Some(was) => PowerState::Changed(was.clone()),
        };
        Self { kind, origin, now, state }
    }

    /// Returns what is different since the user trusted it, in words.
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        let PowerState::Changed(was) = &self.state else { return Vec::new() };
        let mut changes = Vec::new();
        if was.value != self.now.value {
            changes.push(format!("its value was {}", was.value));
        }
        let paths: BTreeSet<_> = was.files.keys().chain(self.now.files.keys()).collect();
        for path in paths {
            match (was.files.get(path), self.now.files.get(path)) {
                (Some(was), Some(now)) if was == now => {}
                (Some(_), Some(_)) => changes.push(format!("{path} has changed")),
                (None, _) => changes.push(format!("{path} is new")),
                (_, None) => changes.push(format!("{path} is gone")),
            }
        }
        if was.tree != self.now.tree {
            changes.push("HEAD has other files".to_owned());
        }
        changes
    }
}

/// Returns the keys of the settings that are trusted.
pub(super) fn trusted_keys(powers: &[Power]) -> BTreeSet<Key> {
    let trusted = powers.iter().filter(|power| power.state == PowerState::Trusted);
    let keys = trusted.filter_map(|power| match power.kind {
        PowerKind::Setting(key) => Some(key),
        PowerKind::Server(_) => None,
    });
    keys.collect()
}

/// Collects the texts in a value, the keys of its mappings among them.
fn texts_of<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts_of(value, texts)),
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            texts.push(name);
            texts_of(value, texts);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
