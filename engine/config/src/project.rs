//! The settings of a project: `.regatta/config.yml` at the root of a repository. Anyone may have written
//! them, so those that are powers wait until the user trusts them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value as Json;

use crate::error::{Origin, SettingsError, UnknownKey};
use crate::key::Key;
use crate::layer::Layer;
use crate::narrower::{is_joined, is_narrower};
use crate::project_mark::ProjectMark;
use crate::settings::{Values, check_layer};

/// The path of the file in the repository.
pub const PROJECT_FILE: &str = ".regatta/config.yml";

/// The settings of a project, all of them valid.
#[derive(Clone, Debug)]
pub struct ProjectSettings {
    layer: Values,
    pub(crate) unknown: Vec<UnknownKey>,
}

/// A setting of a project that does not count, because the user does not trust it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldPower {
    /// The setting.
    pub key: Key,
    /// Its place in the project's file.
    pub origin: Origin,
    /// Its value.
    pub value: Json,
}

impl ProjectSettings {
    /// Reads the settings of the repository at `root`; `None` if it has no file of them. `home` is the
    /// user's home, for paths.
    ///
    /// # Errors
    /// The file is outside of the repository, cannot be read, or has an invalid value.
    pub fn read(root: &Path, home: Option<&Path>) -> Result<Option<Self>, SettingsError> {
        let file = root.join(PROJECT_FILE);
        let is_missing = |error: &io::Error| {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        };
        if file.symlink_metadata().is_err_and(|error| is_missing(&error)) {
            return Ok(None);
        }
        let unreadable = |source| SettingsError::Unreadable { file: file.clone(), source };
        let found = fs::canonicalize(&file).map_err(unreadable)?;
        if !found.starts_with(fs::canonicalize(root).map_err(unreadable)?) {
            return Err(SettingsError::Outside { file });
        }
        let origin = |line| Origin::Project { file: file.clone(), line };
        let layer = Layer::of_file(&found, &file, origin)?;
        check_layer(&layer.given, home)?;
        Ok(Some(Self { layer: layer.given, unknown: layer.unknown }))
    }

    /// Puts the values that count over `below`, and returns the others. The powers of `trusted` count.
    pub(crate) fn lay_over(
        &self,
        below: &mut Values,
        trusted: &BTreeSet<Key>,
    ) -> Vec<WithheldPower> {
        let mut withheld = Vec::new();
        for (key, (given, origin)) in &self.layer {
            let under = below.get(key);
            let counts = trusted.contains(key)
                || match ProjectMark::of(*key) {
                    ProjectMark::Harmless => true,
                    ProjectMark::Narrows => is_narrower(*key, given, under) == Some(true),
                    ProjectMark::Power | ProjectMark::Commands => false,
                };
            if counts {
                let value = match under {
                    Some((under, _)) if is_joined(*key) => under.joined(given),
                    _ => given.clone(),
                };
                below.insert(*key, (value, origin.clone()));
            } else {
                let (key, origin, value) = (*key, origin.clone(), given.to_json());
                withheld.push(WithheldPower { key, origin, value });
            }
        }
        withheld
    }
}

#[cfg(test)]
mod tests;
