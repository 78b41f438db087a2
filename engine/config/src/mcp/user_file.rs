//! Changes a file of servers of Regatta.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::utf8_text;
use serde_json::{Value as Json, json};

use super::entry::EnabledServer;
use super::files::{member, texts};
use super::{edit, jsonc};
use crate::instructions::read_context_file;
use crate::mistake::Mistake;
use crate::replaced_file;
use crate::yaml::Value;

/// The largest file that is changed, in bytes.
const LARGEST: u64 = 1_000_000;

/// How long a change waits for another process.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The permissions of a new file, and of one that may have secrets.
const SHARED: u32 = 0o644;
const PRIVATE: u32 = 0o600;

/// A file of servers of Regatta.
#[derive(Clone, Debug)]
pub struct ServerFile {
    file: PathBuf,
    /// The permissions of the file if it is new.
    mode: u32,
}

/// Why a file of servers is not changed. It stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum ServerFileError {
    /// The file cannot be read, locked or written.
    #[error("cannot change {}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not JSON, or has something else in the place of servers.
    #[error("{}:{mistake}", .file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The mistake.
        mistake: Mistake,
    },
}

/// Returns whether a server can have this name.
#[must_use]
pub fn is_server_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=100).contains(&name.len()) && name.bytes().all(allowed)
}

impl ServerFile {
    /// Returns the file of the user, which may have secrets.
    #[must_use]
    pub fn of_user(file: PathBuf) -> Self {
        Self { file, mode: PRIVATE }
    }

    /// Returns the file of a project.
    #[must_use]
    pub fn of_project(root: &Path) -> Self {
        Self { file: root.join(".regatta/mcp.json"), mode: SHARED }
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Adds a server; returns false, and changes nothing, if there is one of this name.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn add(&self, name: &str, server: &Json) -> Result<bool, ServerFileError> {
        self.change(|text| {
            let keys = ["mcpServers", name];
            let root = jsonc::read(text)?;
            match member(&root, keys[0]).and_then(|servers| member(servers, name)) {
                Some(_) => Ok(None),
                None => edit::set(text, &keys, server).map(Some),
            }
        })
    }

    /// Removes a server; returns false if there is none of this name.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn remove(&self, name: &str) -> Result<bool, ServerFileError> {
        self.change(|text| {
            let left = edit::remove(text, &["mcpServers", name])?;
            // What was said about it would hold for the next server of this name.
            left.map(|text| without_choices(&text, name)).transpose()
        })
    }

    /// Disables the server of this name, in whatever file it is.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn disable(&self, name: &str) -> Result<bool, ServerFileError> {
        self.change(|text| {
            let mut names = disabled(text)?;
            if names.iter().any(|it| it == name) {
                return Ok(None);
            }
            names.push(name.to_owned());
            edit::set(text, &["disabledServers"], &json!(names)).map(Some)
        })
    }

    /// Enables the server of this name: where it is in this file, as `of_other` is `None`, or the one of another
    /// program's file as it is now.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn enable(
        &self,
        name: &str,
        of_other: Option<&EnabledServer>,
    ) -> Result<bool, ServerFileError> {
        self.change(|text| {
            let mut new = without_choices(text, name)?;
            match of_other {
                Some(server) => new = with_enabled(&new, server)?,
                None => {
                    for key in ["enabled", "disabled"] {
                        let left = edit::remove(&new, &["mcpServers", name, key])?;
                        new = left.unwrap_or(new);
                    }
                }
            }
            Ok((new != text).then_some(new))
        })
    }

    /// Changes the text of the file. Returns whether there was anything to change.
    fn change(
        &self,
        change: impl FnOnce(&str) -> Result<Option<String>, Mistake>,
    ) -> Result<bool, ServerFileError> {
        let failed = |source| ServerFileError::Io { file: self.file.clone(), source };
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let lock = self.file.with_extension("json.lock");
        let _lock = replaced_file::lock(&lock, MAX_WAIT)
            .and_then(|lock| lock.ok_or_else(|| io::Error::other("another process changes it")))
            .map_err(failed)?;
        let bytes = read_context_file(&self.file, LARGEST).map_err(failed)?;
        if bytes.as_ref().is_some_and(|bytes| bytes.len() as u64 > LARGEST) {
            return Err(failed(io::Error::other("it is larger than 1 MB")));
        }
        let text = utf8_text(bytes.unwrap_or_default())
            .map_err(|(error, _)| failed(io::Error::other(format!("it is {}", error.what))))?;
        let malformed = |mistake| ServerFileError::Malformed { file: self.file.clone(), mistake };
        let Some(new) = change(&text).map_err(malformed)? else { return Ok(false) };
        // A change that would break the file is not made.
        jsonc::read(&new).map_err(malformed)?;
        let mode = fs::metadata(&self.file).map_or(self.mode, |it| it.permissions().mode() & 0o777);
        replaced_file::replace(&self.file, new.as_bytes(), mode).map_err(failed)?;
        Ok(true)
    }
}

/// Returns the names in `disabledServers`.
fn disabled(text: &str) -> Result<Vec<String>, Mistake> {
    let root = jsonc::read(text)?;
    let Some(node) = member(&root, "disabledServers") else { return Ok(Vec::new()) };
    texts(node)
        .ok_or_else(|| Mistake::in_line(node.line, "`disabledServers` must be a list of names"))
}

/// Returns the text without what it says about the server of this name besides its definition.
fn without_choices(text: &str, name: &str) -> Result<String, Mistake> {
    let names = disabled(text)?;
    let left: Vec<_> = names.iter().filter(|it| *it != name).collect();
    let text = match left.len() == names.len() {
        true => text.to_owned(),
        false => edit::set(text, &["disabledServers"], &json!(left))?,
    };
    let enabled = enabled(&text)?;
    let left: Vec<_> = enabled.iter().filter(|it| it["name"] != name).collect();
    match left.len() == enabled.len() {
        true => Ok(text),
        false => edit::set(&text, &["enabledServers"], &json!(left)),
    }
}

fn with_enabled(text: &str, server: &EnabledServer) -> Result<String, Mistake> {
    let mut enabled = enabled(text)?;
    enabled.push(json!({
        "name": server.name,
        "source": server.source,
        "definition": server.definition,
    }));
    edit::set(text, &["enabledServers"], &json!(enabled))
}

/// Returns the entries of `enabledServers`, those that are not understood among them.
fn enabled(text: &str) -> Result<Vec<Json>, Mistake> {
    let root = jsonc::read(text)?;
    let Some(node) = member(&root, "enabledServers") else { return Ok(Vec::new()) };
    match &node.value {
        Value::List(items) => {
            Ok(items.iter().map(|item| crate::raw_json::to_json(&item.value)).collect())
        }
        _ => Err(Mistake::in_line(node.line, "`enabledServers` must be a list")),
    }
}
