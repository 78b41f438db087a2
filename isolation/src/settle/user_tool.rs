//! The merge tool of the user's own git configuration.

use git2::{Config, ErrorCode};

use crate::error::{OrCannot, Result};

/// The merge tool that the user's git configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeTool {
    /// The value of `merge.tool`.
    pub name: String,
    /// The value of `mergetool.NAME.cmd`, a script for a shell.
    pub command: Option<String>,
    /// The value of `mergetool.NAME.path`, the place of the program.
    pub path: Option<String>,
}

/// Returns the merge tool of the user. Only the configuration of the user and of the system counts,
/// never that of a repository, which anybody may have written.
///
/// # Errors
/// If the configuration cannot be read.
pub fn merge_tool() -> Result<Option<MergeTool>> {
    let what = || "read your git configuration";
    let config = Config::open_default().or_cannot(what)?;
    let value = |name: &str| match config.get_string(name) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error).or_cannot(what),
    };
    let Some(name) = value("merge.tool")? else { return Ok(None) };
    let command = value(&format!("mergetool.{name}.cmd"))?;
    let path = value(&format!("mergetool.{name}.path"))?;
    Ok(Some(MergeTool { name, command, path }))
}
