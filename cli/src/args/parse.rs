//! From a command line to what it asks for.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use super::{Arguments, complaint, unbuilt};
use crate::error::Error;

/// What a command line comes to.
#[derive(Debug)]
pub enum Parsed {
    /// Do this.
    Command(Box<Arguments>),
    /// Print this: help that was asked for, or the version.
    Text(String),
}

/// Reads a command line, its first word being the name of the program.
///
/// # Errors
/// What is wrong with it, and what to type instead.
pub fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Parsed, Error> {
    let line: Vec<OsString> = line.into_iter().collect();
    let matches = match grammar().try_get_matches_from(&line) {
        Ok(matches) => matches,
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                return Ok(Parsed::Text(error.render().to_string()));
            }
            _ => return Err(complaint::about(&error, &line)),
        },
    };
    unbuilt::refuse(&matches)?;
    let arguments =
        Arguments::from_arg_matches(&matches).map_err(|error| complaint::about(&error, &line))?;
    Ok(Parsed::Command(Box::new(arguments)))
}

/// Returns the help text of a command, or of the whole program where `path` is empty. None if
/// there is no such command.
#[must_use]
pub fn help_of(path: &[String]) -> Option<String> {
    let mut command = grammar();
    command.build();
    let mut found = &mut command;
    for name in path {
        found = found.find_subcommand_mut(name).filter(|command| !command.is_hide_set())?;
    }
    Some(found.render_long_help().to_string())
}

fn grammar() -> clap::Command {
    unbuilt::add(Arguments::command())
}

#[cfg(test)]
mod tests;
