//! What selects the carried files of a run: the globs that the user gives, or else the patterns of the
//! file `.worktreeinclude`.

use engine::ports::CarryRequest;
use protocol::{CarryDefault, RepoPath};

use super::globs::{CarryGlobs, MatchesOthers, path_and_folders};
use crate::error::{OrCannot, Result};
use crate::ignore::{IncludePatterns, PathKind};
use crate::tree::{Tree, TreeEntry};

/// The name of the file with patterns, at the root of a repository.
pub(super) const INCLUDE_FILE: &str = ".worktreeinclude";

/// What selects the carried files.
#[derive(Debug)]
pub(super) enum Wanted {
    Nothing,
    Globs(CarryGlobs),
    Patterns(IncludePatterns),
}

impl Wanted {
    /// Returns what a request asks for the workspaces of tasks that name their own.
    pub(super) fn of_tasks(request: &CarryRequest) -> Result<Self> {
        Self::of_globs(&request.of_tasks.concat())
    }

    /// Returns what a request asks for all other workspaces, in this tree.
    pub(super) fn of_run(request: &CarryRequest, tree: &Tree) -> Result<Self> {
        if !request.globs.is_empty() {
            return Self::of_globs(&request.globs);
        }
        if request.default == CarryDefault::Nothing {
            return Ok(Self::Nothing);
        }
        let file = RepoPath::new(INCLUDE_FILE).expect("a plain name is a path");
        // One that cannot be read selects nothing, as a `.gitignore` that cannot be read.
        Ok(match tree.read_entry(&file) {
            Ok(TreeEntry::File { bytes, .. }) => Self::Patterns(IncludePatterns::read(&bytes)),
            Ok(_) | Err(_) => Self::Nothing,
        })
    }

    fn of_globs(globs: &[String]) -> Result<Self> {
        if globs.is_empty() {
            return Ok(Self::Nothing);
        }
        let globs = CarryGlobs::parse(globs).map_err(|error| error.to_string());
        globs.map(Self::Globs).or_cannot(|| "carry ignored files")
    }

    /// Returns whether it selects exactly this path.
    pub(super) fn matches(&self, path: &[u8], kind: PathKind) -> bool {
        match self {
            Self::Nothing => false,
            Self::Globs(globs) => globs.matches(path),
            Self::Patterns(patterns) => patterns.selects(path, kind),
        }
    }

    /// Returns whether it selects this path or a folder above it.
    pub(super) fn matches_from_root(&self, path: &[u8], kind: PathKind) -> bool {
        path_and_folders(path).any(|part| {
            let kind = if part.len() < path.len() { PathKind::Folder } else { kind };
            self.matches(part, kind)
        })
    }

    /// Notes what matches a path that is selected already.
    pub(super) fn note(&self, path: &[u8]) {
        match self {
            Self::Globs(globs) => globs.note(path),
            Self::Nothing | Self::Patterns(_) => {}
        }
    }

    /// Returns whether it may select a path below `folder`.
    pub(super) fn may_match_below(&self, folder: &[u8]) -> bool {
        match self {
            Self::Nothing => false,
            Self::Globs(globs) => globs.may_match_below(folder),
            Self::Patterns(patterns) => patterns.has_paths(),
        }
    }

    /// Returns the globs that have matched nothing, with whether each matches one of `others`.
    pub(super) fn unused(&self, others: &dyn Fn() -> Vec<Vec<u8>>) -> Vec<(&str, MatchesOthers)> {
        match self {
            Self::Globs(globs) => globs.unused(others),
            Self::Nothing | Self::Patterns(_) => Vec::new(),
        }
    }
}
