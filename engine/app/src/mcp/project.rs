//! The servers of a project that would start if the user trusted them.

use std::collections::BTreeSet;
use std::path::Path;

use config::mcp::{
    EnabledServer, ServerCatalog, ServerEntry, ServerLevel, ServerProgram, Sought, discover,
};
use config::{DataPaths, Settings};
use serde_json::Value;

use super::definition::{definition, definition_digest};

/// A server of a project, and what trust in it is bound to.
pub(crate) struct ProjectServer {
    pub(crate) entry: ServerEntry,
    /// Its definition without secrets.
    pub(crate) definition: Value,
}

/// Returns the servers of the project at `root`, as seen from `folder`, that would start if the user trusted them.
/// Those of other programs' files are among them if they start by a setting, or if the user has enabled them.
pub(crate) fn servers_of_project(
    places: &DataPaths,
    (root, folder): (&Path, &Path),
    settings: &Settings,
) -> Vec<ProjectServer> {
    let mut catalog = discover(places, (root, folder), Sought::ProjectAndChoices);
    let entries = std::mem::take(&mut catalog.entries);
    let mut names: BTreeSet<_> = catalog.disabled.clone();
    let mut servers = Vec::new();
    for entry in in_order(entries, |entry| !is_enabled_by_user(entry, &catalog)) {
        let would_start = settings.mcp_foreign.value
            || entry.place.program == ServerProgram::Regatta
            || is_enabled_by_user(&entry, &catalog);
        // Of those with the same name, the first counts.
        if would_start && names.insert(entry.name.clone()) {
            let is_of_project = entry.place.level == ServerLevel::Project;
            if is_of_project && entry.is_enabled {
                servers.push(ProjectServer { definition: definition(&entry), entry });
            }
        }
    }
    servers
}

/// Returns entries with those first that `is_later` does not name. The servers of the user's own file stay before all.
pub(super) fn in_order<K: Ord>(
    mut entries: Vec<ServerEntry>,
    is_later: impl Fn(&ServerEntry) -> K,
) -> Vec<ServerEntry> {
    entries.sort_by_key(|entry| (!entry.place.is_own(), is_later(entry)));
    entries
}

/// Returns whether the user has enabled the server of another program's file as it is now.
pub(super) fn is_enabled_by_user(entry: &ServerEntry, catalog: &ServerCatalog) -> bool {
    enabled_before(entry, catalog).is_some_and(|it| it.definition == definition_digest(entry))
}

/// Returns what the user has enabled of this name in this file, whatever its definition was.
pub(super) fn enabled_before<'a>(
    entry: &ServerEntry,
    catalog: &'a ServerCatalog,
) -> Option<&'a EnabledServer> {
    let file = entry.place.file.to_string_lossy();
    catalog.enabled.iter().find(|it| it.name == entry.name && it.source == file)
}
