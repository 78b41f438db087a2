//! The files outside of the working tree from which git reads ignore rules and attributes.

use std::fs;
use std::path::{Path, PathBuf};

use git2::Config;

/// The largest file of rules that is read; a larger one counts as empty.
const LARGEST: u64 = 16 << 20;

/// Returns the path of the user's own file of rules: the value of `setting`, or else `name` beside
/// the user's git settings.
pub(crate) fn of_the_user(config: &Config, setting: &str, name: &str) -> Option<PathBuf> {
    if let Ok(file) = config.get_path(setting) {
        return Some(file);
    }
    let configured = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    let folder = configured.map(PathBuf::from);
    let folder = folder.or_else(|| Some(std::env::home_dir()?.join(".config")))?;
    Some(folder.join("git").join(name))
}

/// Returns the content of a file of rules, which is empty if it cannot be read.
pub(crate) fn content(file: &Path) -> Vec<u8> {
    let plain = fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST);
    if plain { fs::read(file).unwrap_or_default() } else { Vec::new() }
}
