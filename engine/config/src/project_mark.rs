//! What a project may set: the marks of the defaults file, one behind each key.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::key::Key;
use crate::settings::DEFAULTS;

/// What the settings of a project may do with a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectMark {
    /// The project's value counts.
    Harmless,
    /// Without trust it counts only if it is narrower than the user's.
    Narrows,
    /// It counts only with trust.
    Power,
    /// It counts only with trust, and is a list of commands, which may run files of the repository.
    Commands,
}

impl ProjectMark {
    /// Returns the mark of a key. One that has none is a power.
    #[must_use]
    pub fn of(key: Key) -> Self {
        static MARKS: LazyLock<BTreeMap<Key, ProjectMark>> = LazyLock::new(|| {
            let marks = documented_keys(DEFAULTS);
            marks.into_iter().filter_map(|it| Some((it.key, it.mark?))).collect()
        });
        MARKS.get(&key).copied().unwrap_or(Self::Power)
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "harmless" => Some(Self::Harmless),
            "narrows" => Some(Self::Narrows),
            "power" => Some(Self::Power),
            "commands" => Some(Self::Commands),
            _ => None,
        }
    }
}

/// A key in the defaults file.
pub(crate) struct DocumentedKey<'a> {
    pub(crate) key: Key,
    /// Its mark, if it has one.
    pub(crate) mark: Option<ProjectMark>,
    /// The line above it.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test compares it"))]
    pub(crate) above: &'a str,
}

/// Returns the keys of a defaults file in the order of their lines.
pub(crate) fn documented_keys(text: &str) -> Vec<DocumentedKey<'_>> {
    let mut found = Vec::new();
    let mut groups: Vec<(usize, &str)> = Vec::new();
    let mut above = "";
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        if let Some((name, value)) = line.trim().split_once(':').filter(|(it, _)| !it.contains('#'))
        {
            groups.retain(|(outer, _)| *outer < depth);
            groups.push((depth, name));
            let path: Vec<_> = groups.iter().map(|(_, name)| *name).collect();
            if let Some(key) = Key::find(&path.join(".")) {
                let mark =
                    value.rsplit_once('#').and_then(|(_, word)| ProjectMark::named(word.trim()));
                found.push(DocumentedKey { key, mark, above });
            }
        }
        above = line;
    }
    found
}
