//! What a call wants to do, with its paths resolved and its command taken apart.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::harmless::read_paths;
use crate::ports::{ShellPart, ShellWord};

/// A call of a tool, as the policy sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRequest {
    pub(super) tool: String,
    pub(super) wants: Wants,
}

/// What a call wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    Read(Vec<Target>),
    Write(Vec<Target>),
    Exec(Vec<Part>),
}

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Its path from the root of the working tree, with symlinks followed.
    Path(PathBuf),
    /// It is outside of the working tree.
    Outside,
    /// It cannot be known before.
    Unknown,
}

/// A part of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Command {
        variables: Vec<String>,
        words: Vec<ShellWord>,
        /// What it reads, if it does nothing else and all of it is in the working tree.
        reads: Option<Vec<Target>>,
    },
    Wrapper(Vec<ShellWord>),
    Assignment(String),
    Input(Target),
    Output(Target),
    Stream,
    Undecidable(&'static str),
}

/// Returns the paths in a command that have to be resolved before [`CallRequest::exec`] is called.
#[must_use]
pub fn shell_paths(parts: &[ShellPart]) -> BTreeSet<&str> {
    let mut paths = BTreeSet::new();
    for part in parts {
        match part {
            ShellPart::Command { words, .. } => paths.extend(read_paths(words).unwrap_or_default()),
            ShellPart::Input(target) | ShellPart::Output(target) => paths.extend(target.literal()),
            ShellPart::Wrapper(_)
            | ShellPart::Assignment(_)
            | ShellPart::Stream
            | ShellPart::Undecidable(_) => {}
        }
    }
    paths
}

impl CallRequest {
    /// Returns the request of a call that only reads.
    #[must_use]
    pub fn read(tool: &str, targets: Vec<Target>) -> Self {
        Self { tool: tool.to_owned(), wants: Wants::Read(targets) }
    }

    /// Returns the request of a call that changes files.
    #[must_use]
    pub fn write(tool: &str, targets: Vec<Target>) -> Self {
        Self { tool: tool.to_owned(), wants: Wants::Write(targets) }
    }

    /// Returns the request of a call that runs a command. `resolve` gets the paths of [`shell_paths`],
    /// relative to the folder in which the command starts.
    #[must_use]
    pub fn exec(tool: &str, parts: Vec<ShellPart>, resolve: impl Fn(&str) -> Target) -> Self {
        let moves = parts.iter().any(changes_folder);
        // Where the command is by then is not known.
        let resolve = |path: &str| match moves && !path.starts_with('/') {
            true => Target::Unknown,
            false => resolve(path),
        };
        let target = |word: &ShellWord| word.literal().map_or(Target::Unknown, resolve);
        let parts = parts.into_iter().map(|part| match part {
            ShellPart::Command { variables, words } => {
                let reads = read_paths(&words).filter(|_| variables.is_empty());
                let reads = reads.map(|paths| paths.into_iter().map(resolve).collect::<Vec<_>>());
                let is_inside = |target: &Target| matches!(target, Target::Path(_));
                let reads = reads.filter(|reads| !moves && reads.iter().all(is_inside));
                Part::Command { variables, words, reads }
            }
            ShellPart::Wrapper(words) => Part::Wrapper(words),
            ShellPart::Assignment(variable) => Part::Assignment(variable),
            ShellPart::Input(word) => Part::Input(target(&word)),
            ShellPart::Output(word) => Part::Output(target(&word)),
            ShellPart::Stream => Part::Stream,
            ShellPart::Undecidable(reason) => Part::Undecidable(reason),
        });
        Self { tool: tool.to_owned(), wants: Wants::Exec(parts.collect()) }
    }
}

/// Returns whether the folder may be another one after this part.
fn changes_folder(part: &ShellPart) -> bool {
    match part {
        ShellPart::Command { words, .. } => {
            let name = words.first().and_then(ShellWord::literal);
            name.is_none_or(|name| matches!(name, "cd" | "pushd" | "popd"))
        }
        ShellPart::Undecidable(_) => true,
        ShellPart::Wrapper(_)
        | ShellPart::Assignment(_)
        | ShellPart::Input(_)
        | ShellPart::Output(_)
        | ShellPart::Stream => false,
    }
}
