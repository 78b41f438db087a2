//! The files of agents: where they are, and what was read from them, as long as they do not change.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use protocol::{
    AgentCatalog, AgentDefinition, AgentFamily, AgentSource, AgentWarning, DecodedText,
};

use super::definition::{FileOrigin, of_file};
use crate::data_paths::DataPaths;
use crate::instructions::read_context_file;

/// The largest file of an agent, in bytes.
const LARGEST: u64 = 1_000_000;

/// The maximum number of files of one folder, and the maximum of their bytes.
const MOST_FILES: usize = 500;
const MOST_BYTES: u64 = 16_000_000;

/// Of how many files it is known what they say.
const MOST_KNOWN: usize = 2_000;

/// How deep the folders below that of the agents may be nested.
const DEPTH: usize = 3;

/// The files of agents that were read, with what they say.
#[derive(Default)]
pub struct AgentFiles {
    read: Mutex<HashMap<PathBuf, (Stamp, Arc<Reading>)>>,
}

/// What a file says: an agent, or why it is skipped; `None` if it is not about an agent.
type Reading = Option<Result<AgentDefinition, AgentWarning>>;

/// What changes when a file is written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    source: AgentSource,
}

impl AgentFiles {
    /// Adds the agents of the nearest folder of a family, from `folder` up to `root`.
    pub(super) fn add_of_project(
        &self,
        catalog: &mut AgentCatalog,
        family: AgentFamily,
        places: &DataPaths,
        root: &Path,
        folder: &Path,
    ) {
        let Ok(root) = fs::canonicalize(root) else { return };
        let folder = fs::canonicalize(folder).unwrap_or_else(|_gone| root.clone());
        let inside = folder.ancestors().take_while(|it| it.starts_with(&root));
        let mut candidates = inside.map(|it| it.join(family.folder()).join("agents"));
        let Some(agents) = candidates.find(|agents| agents.is_dir()) else { return };
        // In the home of the user, the two are the same.
        let of_user = user_folder(family, places).and_then(|it| fs::canonicalize(it).ok());
        let place = fs::canonicalize(&agents).ok();
        if place.is_some() && place == of_user {
            return;
        }
        let within = Some(root.as_path());
        self.add_of_folder(catalog, &agents, family, AgentSource::Project, within);
    }

    /// Adds the agents of the user's folder of a family.
    pub(super) fn add_of_user(
        &self,
        catalog: &mut AgentCatalog,
        family: AgentFamily,
        places: &DataPaths,
    ) {
        if let Some(folder) = user_folder(family, places) {
            self.add_of_folder(catalog, &folder, family, AgentSource::User, None);
        }
    }

    /// Adds the agents of a folder, whose files must be below `within` if it is given.
    fn add_of_folder(
        &self,
        catalog: &mut AgentCatalog,
        folder: &Path,
        family: AgentFamily,
        source: AgentSource,
        within: Option<&Path>,
    ) {
        let (paths, rest) = files_below(folder, family);
        if rest > 0 {
            let message = format!("more than {MOST_FILES} files; the others are skipped");
            catalog.warnings.push(AgentWarning { path: folder.to_owned(), line: None, message });
        }
        let mut bytes = 0;
        for path in paths {
            let origin = FileOrigin { path: path.clone(), family, source };
            match self.read(&origin, within, &mut bytes).as_ref() {
                Some(Ok(agent)) => catalog.add(agent.clone()),
                Some(Err(warning)) => catalog.warnings.push(warning.clone()),
                None => {}
            }
        }
    }

    /// Returns what a file says.
    fn read(&self, origin: &FileOrigin, within: Option<&Path>, bytes: &mut u64) -> Arc<Reading> {
        let stamp = match stamp(origin, within, bytes) {
            Ok(stamp) => stamp,
            Err(message) => return Arc::new(Some(Err(origin.warning(None, message)))),
        };
        let read = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, reading)) = read().get(&origin.path)
            && *known == stamp
        {
            return Arc::clone(reading);
        }
        let reading = Arc::new(reading(origin));
        let mut known = read();
        if known.len() >= MOST_KNOWN {
            known.clear(); // each copy of a tree has files of its own
        }
        known.insert(origin.path.clone(), (stamp, Arc::clone(&reading)));
        reading
    }
}

/// Returns the folder of the user's agents of a family.
fn user_folder(family: AgentFamily, places: &DataPaths) -> Option<PathBuf> {
    let home = |folder: &str| Some(places.home()?.join(folder));
    match family {
        AgentFamily::Regatta => Some(places.agents()),
        AgentFamily::Omp => home(".omp/agent/agents"),
        AgentFamily::Pi => home(".pi/agent/agents"),
        AgentFamily::Claude => home(".claude/agents"),
        AgentFamily::Codex => home(".codex/agents"),
        AgentFamily::Gemini => home(".gemini/agents"),
    }
}

/// Returns the files of agents below a folder, sorted, and how many there are beyond the limit. Only Claude
/// Code looks into the folders in it.
fn files_below(folder: &Path, family: AgentFamily) -> (Vec<PathBuf>, usize) {
    let depth = if family == AgentFamily::Claude { DEPTH } else { 0 };
    let mut found = BTreeSet::new();
    let mut rest = 0;
    let mut folders = vec![(folder.to_owned(), depth)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
            let is_toml = family == AgentFamily::Codex && extension.eq_ignore_ascii_case("toml");
            if is_folder && depth > 0 {
                folders.push((path, depth - 1));
            } else if !is_folder && (extension.eq_ignore_ascii_case("md") || is_toml) {
                found.insert(path);
                if found.len() > MOST_FILES {
                    found.pop_last();
                    rest += 1;
                }
            }
        }
    }
    (found.into_iter().collect(), rest)
}

/// Returns the stamp of a file, or why it is skipped.
fn stamp(origin: &FileOrigin, within: Option<&Path>, bytes: &mut u64) -> Result<Stamp, String> {
    let unreadable = |error: io::Error| format!("it is skipped: it cannot be read: {error}");
    if let Some(root) = within {
        let real = fs::canonicalize(&origin.path).map_err(unreadable)?;
        if !real.starts_with(root) {
            return Err("it is skipped: it is a link out of the repository".to_owned());
        }
    }
    let there: Metadata = fs::metadata(&origin.path).map_err(unreadable)?;
    if there.len() > LARGEST {
        return Err("it is skipped: it is larger than 1 MB".to_owned());
    }
    *bytes += there.len();
    if *bytes > MOST_BYTES {
        return Err("it is skipped: the files of its folder have more than 16 MB".to_owned());
    }
    Ok(Stamp {
        device: there.dev(),
        inode: there.ino(),
        size: there.len(),
        modified: (there.mtime(), there.mtime_nsec()),
        changed: (there.ctime(), there.ctime_nsec()),
        source: origin.source,
    })
}

fn reading(origin: &FileOrigin) -> Reading {
    let skipped = |why: String| Some(Err(origin.warning(None, format!("it is skipped: {why}"))));
    let bytes = match read_context_file(&origin.path, LARGEST) {
        Ok(Some(bytes)) if bytes.len() as u64 > LARGEST => {
            return skipped("it is larger than 1 MB".to_owned());
        }
        Ok(Some(bytes)) => bytes,
        Ok(None) => return None,
        Err(error) => return skipped(format!("it cannot be read: {error}")),
    };
    let DecodedText { text, foreign } = DecodedText::of(bytes);
    let mut reading = of_file(origin, &text);
    if let (Some(Ok(agent)), Some(_)) = (&mut reading, foreign) {
        let message = "it is not UTF-8; some of its characters may be wrong".to_owned();
        agent.warnings.push(origin.warning(None, message));
    }
    reading
}
