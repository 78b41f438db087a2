//! The powers of a project's settings: what they would run now, and whether that is what the user has
//! trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use config::{Key, ProjectMark, WithheldPower};
use isolation::head_tree;
use serde_json::Value;
use store::TrustedPower;

use super::bound_files::{BoundFiles, files_of_commands, files_of_values};

/// A power of a project, and what it would be trusted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Power {
    /// The setting, its place and its value.
    pub setting: WithheldPower,
    /// The value, and what it would run.
    pub now: TrustedPower,
    /// Whether it is trusted.
    pub state: PowerState,
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

/// What is trusted in a repository, by the key of the setting.
pub type TrustedPowers = BTreeMap<String, TrustedPower>;

impl Power {
    /// Returns a power of the repository at `root`, which is canonical.
    pub(super) fn of(root: &Path, setting: WithheldPower, trusted: &TrustedPowers) -> Self {
        let mut texts = Vec::new();
        texts_of(&setting.value, &mut texts);
        let texts = texts.into_iter();
        let files = match ProjectMark::of(setting.key) {
            ProjectMark::Commands => files_of_commands(root, texts),
            ProjectMark::Harmless | ProjectMark::Narrows | ProjectMark::Power => {
                files_of_values(root, texts)
            }
        };
        let BoundFiles { digests, is_open } = files;
        let tree = if is_open { head_tree(root) } else { None };
        let is_unbounded = is_open && tree.is_none();
        let now = TrustedPower { value: setting.value.clone(), files: digests, tree };
        let state = match trusted.get(setting.key.as_str()) {
            _ if is_unbounded => PowerState::Unbounded,
            None => PowerState::New,
            Some(was) if *was == now => PowerState::Trusted,
            Some(was) => PowerState::Changed(was.clone()),
        };
        Self { setting, now, state }
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

/// Returns the keys of the powers that are trusted.
pub(super) fn trusted_keys(powers: &[Power]) -> BTreeSet<Key> {
    let trusted = powers.iter().filter(|power| power.state == PowerState::Trusted);
    trusted.map(|power| power.setting.key).collect()
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
