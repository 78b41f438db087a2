//! Changes which servers are defined and used.

use std::path::PathBuf;

use config::mcp::{EnabledServer, ServerFile, ServerFileError, check_server};
use protocol::error_chain;
use serde_json::Value;

use super::servers::{ListedServer, McpServers};
use crate::error::{Error, ErrorKind};
use crate::text::one_line;
use crate::trust::check_outside_task;

/// Whose file of servers is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerOwner {
    /// That of the user.
    User,
    /// That of the repository.
    Project,
}

impl McpServers {
    /// Returns the path of a file of servers that is changed.
    #[must_use]
    pub fn file_of(&self, owner: ServerOwner) -> PathBuf {
        self.server_file(owner).path().to_owned()
    }

    /// Adds a server; returns false, and changes nothing, if the file has one of this name.
    ///
    /// # Errors
    /// It cannot be a server, the file cannot be changed, or a task of a run has started this program.
    pub fn add(&self, owner: ServerOwner, name: &str, entry: &Value) -> Result<bool, Error> {
        check_outside_task()?;
        check_server(name, entry).map_err(|why| {
            Error::usage(format!("cannot add the MCP server `{}`", one_line(name))).because(why)
        })?;
        self.server_file(owner).add(name, entry).map_err(unchanged)
    }

    /// Removes a server; returns false if the file has none of this name.
    ///
    /// # Errors
    /// The file cannot be changed, or a task of a run has started this program.
    pub fn remove(&self, owner: ServerOwner, name: &str) -> Result<bool, Error> {
        check_outside_task()?;
        self.server_file(owner).remove(name).map_err(unchanged)
    }

    /// Enables a server, one of another program's file as it is now; returns false if there is nothing to change.
    ///
    /// # Errors
    /// A file that is not the user's own disables it, the user's own cannot be changed, or a task of a run has started
    /// this program.
    pub fn enable(&self, server: &ListedServer) -> Result<bool, Error> {
        check_outside_task()?;
        let (name, place) = (&server.entry.name, &server.entry.place);
        if !server.entry.is_enabled && !place.is_own() {
            return Err(Error::usage(format!("cannot enable the MCP server `{name}`"))
                .because(format!("{} disables it", one_line(&place.to_string())))
                .hint("change it there"));
        }
        let of_other = server.is_foreign().then(|| EnabledServer {
            name: name.clone(),
            source: place.file.to_string_lossy().into_owned(),
            definition: server.definition_digest(),
        });
        let file = self.server_file(ServerOwner::User);
        file.enable(name, of_other.as_ref()).map_err(unchanged)
    }

    /// Disables a server; returns false if it is already.
    ///
    /// # Errors
    /// The user's own file cannot be changed, or a task of a run has started this program.
    pub fn disable(&self, server: &ListedServer) -> Result<bool, Error> {
        check_outside_task()?;
        self.server_file(ServerOwner::User).disable(&server.entry.name).map_err(unchanged)
    }

    fn server_file(&self, owner: ServerOwner) -> ServerFile {
        match owner {
            ServerOwner::User => ServerFile::of_user(self.own_file.clone()),
            ServerOwner::Project => ServerFile::of_project(self.root()),
        }
    }
}

fn unchanged(error: ServerFileError) -> Error {
    Error::new(ErrorKind::Settings, error_chain(&error))
}
