//! What a call wants to do, with its paths resolved and its command taken apart.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::harmless::{read_paths, reads_nothing};
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
    /// Has a server do something, which may be anything.
    Server,
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
        /// The texts among its arguments that may be paths, whatever it does with them.
        names: Vec<(String, Target)>,
    },
    Wrapper(Vec<ShellWord>),
    Assignment(String),
    Input(Target),
    Output(Target),
    Stream,
    Undecidable(&'static str),
}

/// How many arguments of commands are resolved that may be paths. Further ones are only compared by their names.
const MOST_NAMES: usize = 64;

/// Returns the texts in the arguments of a command that may be paths: `x`, `--option=x`, `-ox`, `@x`.
fn names(words: &[ShellWord]) -> impl Iterator<Item = &str> {
    let name = words.first().and_then(ShellWord::literal);
    let arguments = if name.is_some_and(reads_nothing) { &[] } else { words };
    let texts = arguments.iter().skip(1).filter_map(ShellWord::literal);
    let can_be = |text: &&str| {
        // The system takes no longer path, and no longer name.
        !text.is_empty() && text.len() < 4096 && text.split('/').all(|name| name.len() < 256)
    };
    texts
        .flat_map(|text| {
            let joined = text.strip_prefix('-').and_then(|option| option.get(1..));
            let behind = |mark: char| text.split_once(mark).map(|(_, behind)| behind);
            [Some(text), joined, behind('='), behind(':'), behind('@')].into_iter().flatten()
        })
        .filter(can_be)
}

/// Returns whether a computed argument of a command may be the path of a file that it reads.
pub(super) fn may_name_any(words: &[ShellWord]) -> bool {
    let name = words.first().and_then(ShellWord::literal);
    !name.is_some_and(reads_nothing) && words.iter().any(|word| word.literal().is_none())
}

/// Returns the paths in a command that have to be resolved before [`CallRequest::exec`] is called.
#[must_use]
pub fn shell_paths(parts: &[ShellPart]) -> BTreeSet<&str> {
    let mut paths = BTreeSet::new();
    for part in parts {
        match part {
            ShellPart::Command { words, .. } => {
                paths.extend(read_paths(words).unwrap_or_default());
                let room = MOST_NAMES.saturating_sub(paths.len());
                paths.extend(names(words).take(room));
            }
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

    /// Returns the request of a call that has a server do something.
    #[must_use]
    pub fn server(tool: &str) -> Self {
        Self { tool: tool.to_owned(), wants: Wants::Server }
    }

    /// Returns the request to read the files that a call changes by their names.
    #[must_use]
    pub fn reading_the_same(&self) -> Option<Self> {
        match &self.wants {
            Wants::Write(targets) => Some(Self::read("read", targets.clone())),
            Wants::Read(_) | Wants::Exec(_) | Wants::Server => None,
        }
    }

    /// Returns the request of a call that runs a command. `resolve` gets the paths of [`shell_paths`],
    /// relative to the folder in which the command starts.
    #[must_use]
    pub fn exec(tool: &str, parts: Vec<ShellPart>, resolve: impl Fn(&str) -> Target) -> Self {
        let moves = parts.iter().any(changes_folder);
        let links = parts.iter().any(changes_links);
        // Where the command is by then, or where a path leads, is not known.
        let resolve = |path: &str| match links || (moves && !path.starts_with('/')) {
            true => Target::Unknown,
            false => resolve(path),
        };
        let target = |word: &ShellWord| word.literal().map_or(Target::Unknown, resolve);
        let parts = parts.into_iter().map(|part| match part {
            ShellPart::Command { variables, words } => {
                let reads = read_paths(&words).filter(|_| variables.is_empty());
                let reads = reads.map(|paths| paths.into_iter().map(resolve).collect::<Vec<_>>());
                let is_inside = |target: &Target| matches!(target, Target::Path(_));
                let reads = reads.filter(|reads| !moves && !links && reads.iter().all(is_inside));
                let names = names(&words).map(|name| (name.to_owned(), resolve(name))).collect();
                Part::Command { variables, words, reads, names }
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
            name.is_none_or(|name| matches!(name, "cd" | "chdir" | "pushd" | "popd"))
        }
        ShellPart::Undecidable(_) => true,
        ShellPart::Wrapper(_)
        | ShellPart::Assignment(_)
        | ShellPart::Input(_)
        | ShellPart::Output(_)
        | ShellPart::Stream => false,
    }
}

/// Returns whether paths may lead elsewhere after this part.
fn changes_links(part: &ShellPart) -> bool {
    let ShellPart::Command { words, .. } = part else { return false };
    let name = words.first().and_then(ShellWord::literal).unwrap_or_default();
    let base = name.rsplit('/').next().unwrap_or(name);
    matches!(base, "cp" | "link" | "ln" | "mount" | "mv")
}
