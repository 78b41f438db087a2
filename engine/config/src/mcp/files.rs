//! Finds and reads the files that define servers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use protocol::{quote_within, utf8_text};

use super::entry::{
    EnabledServer, ServerCatalog, ServerLevel, ServerPlace, ServerProgram, ServerWarning,
};
use super::file_table::{DefinitionFile, FILES, Folder, Format};
use super::server::server;
use super::{jsonc, toml_tree};
use crate::data_paths::DataPaths;
use crate::instructions::read_context_file;
use crate::mistake::Mistake;
use crate::yaml::{Node, Value};

/// The largest file of a project, in bytes. Files of the user may be larger: that of Claude Code has the history of
/// its conversations as well.
const LARGEST_OF_PROJECT: u64 = 1_000_000;
const LARGEST_OF_USER: u64 = 32_000_000;

/// The maximum number of servers of a file.
const MOST_SERVERS: usize = 200;

/// Which servers are sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// All.
    All,
    /// Those of the project and of the user's own file, and what the user has chosen. No file of the user is read that
    /// may be large.
    ProjectAndChoices,
}

/// Returns the servers of the user and of the project with the root `root`, as seen from its folder `folder`.
#[must_use]
pub fn discover(
    places: &DataPaths,
    (root, folder): (&Path, &Path),
    sought: Sought,
) -> ServerCatalog {
    let root = fs::canonicalize(root).unwrap_or_else(|_gone| root.to_owned());
    let folder = fs::canonicalize(folder).unwrap_or_else(|_gone| root.clone());
    let mut search = Search {
        root,
        folder,
        places,
        catalog: ServerCatalog::default(),
        program: ServerProgram::Regatta,
        of_user: BTreeSet::new(),
    };
    let of_user = FILES.iter().filter_map(|place| search.file_of_user(place));
    search.of_user = of_user.filter_map(|file| fs::canonicalize(file).ok()).collect();
    let is_sought = |place: &&DefinitionFile| sought == Sought::All || place.folder != Folder::Home;
    FILES.iter().filter(is_sought).for_each(|place| search.add(place));
    search.catalog
}

struct Search<'a> {
    root: PathBuf,
    folder: PathBuf,
    places: &'a DataPaths,
    catalog: ServerCatalog,
    /// The program whose file is read.
    program: ServerProgram,
    /// The files of the user. In the user's home, they are files of a project as well.
    of_user: BTreeSet<PathBuf>,
}

impl Search<'_> {
    fn file_of_user(&self, place: &DefinitionFile) -> Option<PathBuf> {
        match place.folder {
            Folder::Config => Some(self.places.mcp_file()),
            Folder::Home => Some(self.places.home()?.join(place.path)),
            Folder::Project => None,
        }
    }

    /// Returns the nearest file, from the working folder up to the root of the project.
    fn file_of_project(&self, place: &DefinitionFile) -> Option<PathBuf> {
        let inside = self.folder.ancestors().take_while(|it| it.starts_with(&self.root));
        let mut files = inside.map(|it| it.join(place.path));
        let file = files.find(|file| file.symlink_metadata().is_ok())?;
        let is_of_user = fs::canonicalize(&file).is_ok_and(|file| self.of_user.contains(&file));
        (!is_of_user).then_some(file)
    }

    /// Adds the servers of the file at a place, if it is there.
    fn add(&mut self, place: &DefinitionFile) {
        self.program = place.program;
        let (file, level) = match place.folder {
            Folder::Project => (self.file_of_project(place), ServerLevel::Project),
            Folder::Config | Folder::Home => (self.file_of_user(place), ServerLevel::User),
        };
        let Some(file) = file else { return };
        let text = match self.text(&file, level) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(why) => return self.warn(&file, None, format!("it is skipped: {why}")),
        };
        let root = match place.format {
            Format::Toml(_) => toml_tree::read(&text),
            Format::Json(_) | Format::Projects => jsonc::read(&text),
        };
        match root {
            Ok(root) => self.add_servers(place, level, &file, &root),
            Err(Mistake { line, message, .. }) => {
                self.warn(&file, Some(line), format!("it is skipped: {message}"));
            }
        }
    }

    /// Returns the text of a file; `None` if it is not there.
    fn text(&self, file: &Path, level: ServerLevel) -> Result<Option<String>, String> {
        let largest = match level {
            ServerLevel::User => LARGEST_OF_USER,
            ServerLevel::Project => LARGEST_OF_PROJECT,
        };
        let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
        if level == ServerLevel::Project {
            let real = fs::canonicalize(file).map_err(unreadable)?;
            if !real.starts_with(&self.root) {
                return Err("it is a link out of the repository".to_owned());
            }
        }
        let Some(bytes) = read_context_file(file, largest).map_err(unreadable)? else {
            return Ok(None);
        };
        if bytes.len() as u64 > largest {
            return Err(format!("it is larger than {} MB", largest / 1_000_000));
        }
        let text = utf8_text(bytes).map_err(|(error, _)| format!("it is {}", error.what))?;
        Ok(Some(text))
    }

    fn add_servers(
        &mut self,
        place: &DefinitionFile,
        level: ServerLevel,
        file: &Path,
        root: &Node,
    ) {
        let own = place.program == ServerProgram::Regatta && level == ServerLevel::User;
        if own {
            self.read_choices(file, root);
        }
        let Some((key, servers)) = self.servers_of(place.format, root) else { return };
        let Value::Map(members) = &servers.value else {
            let message = format!("`{key}` must be an object of names and servers; it is skipped");
            return self.warn(file, Some(servers.line), message);
        };
        for (index, (name, node)) in members.iter().enumerate() {
            if index == MOST_SERVERS {
                let message = format!("more than {MOST_SERVERS} servers; the others are skipped");
                return self.warn(file, Some(name.line), message);
            }
            let name_text = name.value.as_name().unwrap_or_default();
            let place = ServerPlace {
                program: place.program,
                level,
                file: file.to_owned(),
                line: name.line,
            };
            let mut unknown = Vec::new();
            match server(place, &name_text, (&key, node), &mut unknown) {
                Ok(entry) => self.catalog.entries.push(entry),
                Err(Mistake { line, message, .. }) => {
                    let name = quote_within(&name_text, 60);
                    let message = format!("the server `{name}` is left out: {message}");
                    self.warn(file, Some(line), message);
                }
            }
            for Mistake { line, message, .. } in unknown {
                self.warn(file, Some(line), message);
            }
        }
    }

    /// Returns the key below which the servers of a file are, and the object of them.
    fn servers_of<'n>(&self, format: Format, root: &'n Node) -> Option<(String, &'n Node)> {
        match format {
            Format::Json(keys) => {
                let node = keys.iter().try_fold(root, |node, key| member(node, key))?;
                Some((keys.join("."), node))
            }
            Format::Toml(key) => Some((key.to_owned(), member(root, key)?)),
            Format::Projects => {
                let projects = member(root, "projects")?;
                let inside = self.folder.ancestors().take_while(|it| it.starts_with(&self.root));
                let mut found = inside
                    .filter_map(|folder| member(member(projects, folder.to_str()?)?, "mcpServers"));
                Some(("projects.….mcpServers".to_owned(), found.next()?))
            }
        }
    }

    /// Reads what the user has chosen about the servers of other files.
    fn read_choices(&mut self, file: &Path, root: &Node) {
        if let Some(node) = member(root, "disabledServers") {
            match texts(node) {
                Some(names) => self.catalog.disabled.extend(names),
                None => self.warn(
                    file,
                    Some(node.line),
                    "`disabledServers` must be a list of names; no server is disabled by it"
                        .to_owned(),
                ),
            }
        }
        let Some(node) = member(root, "enabledServers") else { return };
        let items = match &node.value {
            Value::List(items) => items.as_slice(),
            _ => &[],
        };
        for item in items {
            let text = |key| match &member(item, key)?.value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            };
            let read = || {
                let (name, source) = (text("name")?, text("source")?);
                Some(EnabledServer { name, source, definition: text("definition")? })
            };
            match read() {
                Some(enabled) => self.catalog.enabled.push(enabled),
                None => self.warn(
                    file,
                    Some(item.line),
                    "an entry of `enabledServers` is not what `regatta mcp enable` writes; it is left out"
                        .to_owned(),
                ),
            }
        }
    }

    fn warn(&mut self, file: &Path, line: Option<u64>, message: String) {
        let program = self.program;
        let warning = ServerWarning { program, file: file.to_owned(), line, message };
        // A file that has servers at two places is read twice.
        if !self.catalog.warnings.contains(&warning) {
            self.catalog.warnings.push(warning);
        }
    }
}

/// Returns the member of an object. Of several with the same name, the last counts.
pub(super) fn member<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    let Value::Map(members) = &node.value else { return None };
    let is_named = |key: &Node| matches!(&key.value, Value::Text(text) if text == name);
    members.iter().rev().find(|(key, _)| is_named(key)).map(|(_, value)| value)
}

/// Returns the texts of a list; `None` if it is something else.
pub(super) fn texts(node: &Node) -> Option<Vec<String>> {
    let Value::List(items) = &node.value else { return None };
    let text = |item: &Node| match &item.value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    items.iter().map(text).collect()
}
