//! The files of rules that git reads besides those of the working tree.

use std::fs;
use std::path::{Path, PathBuf};

use git2::Config;

/// How many bytes of a file of rules count.
const LARGEST: u64 = 16 << 20;

/// Returns where the user's own file of rules is: where `setting` says, else `name` beside the
/// user's settings.
pub(crate) fn of_the_user(config: &Config, setting: &str, name: &str) -> Option<PathBuf> {
    if let Ok(file) = config.get_path(setting) {
        return Some(file);
    }
    let beside = Config::find_xdg().ok().and_then(|file| Some(file.parent()?.join(name)));
    beside.or_else(|| Some(std::env::home_dir()?.join(".config/git").join(name)))
}

/// Returns what is in such a file; nothing if it cannot be read.
pub(crate) fn content(file: &Path) -> Vec<u8> {
    let plain = fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST);
    if plain { fs::read(file).unwrap_or_default() } else { Vec::new() }
}
