//! What selects the carried files of a run: the globs that the user gives, or else the patterns of the
//! file `.worktreeinclude`.

use engine::ports::CarryRequest;
use protocol::{CarryDefault, DecodedText, RepoPath};

use super::globs::{CarryGlobs, MatchesOthers, path_and_folders};
use crate::error::{OrCannot, Result, error_text, is_denied};
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
    /// Nothing, because the file with patterns cannot be used, for this reason.
    Unusable(String),
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
        let unusable = |why: &str| Self::Unusable(why.to_owned());
        Ok(match tree.read_entry(&file) {
            Ok(TreeEntry::File { bytes, .. }) => Self::of_file(bytes),
            Ok(TreeEntry::Missing | TreeEntry::Blocked(_)) => Self::Nothing,
            Ok(TreeEntry::Link { .. }) => unusable("it is a symbolic link, and not a file"),
            Ok(TreeEntry::Folder) => unusable("it is a folder, and not a file"),
            Ok(TreeEntry::Special) => unusable("it is not a file"),
            Err(error) if is_denied(&error) => unusable("permissions keep us out of it"),
            Err(error) => unusable(&error_text(&error)),
        })
    }

    /// Returns what a file with patterns selects. Only text in UTF-16 is decoded: names of files have any
    /// bytes.
    fn of_file(bytes: Vec<u8>) -> Self {
        let bytes = match bytes.first_chunk() {
            Some([0xff, 0xfe] | [0xfe, 0xff]) => DecodedText::of(bytes).text.into_bytes(),
            _ => bytes,
        };
        if bytes.contains(&0) {
            return Self::Unusable("it has NUL bytes; save it as UTF-8".to_owned());
        }
        Self::Patterns(IncludePatterns::read(&bytes))
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
            Self::Nothing | Self::Unusable(_) => false,
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
            Self::Nothing | Self::Patterns(_) | Self::Unusable(_) => {}
        }
    }

    /// Returns whether it may select a path below `folder`.
    pub(super) fn may_match_below(&self, folder: &[u8]) -> bool {
        match self {
            Self::Nothing | Self::Unusable(_) => false,
            Self::Globs(globs) => globs.may_match_below(folder),
            Self::Patterns(patterns) => patterns.has_paths(),
        }
    }

    /// Returns the globs that have matched nothing, with whether each matches one of `others`.
    pub(super) fn unused(&self, others: &dyn Fn() -> Vec<Vec<u8>>) -> Vec<(&str, MatchesOthers)> {
        match self {
            Self::Globs(globs) => globs.unused(others),
            Self::Nothing | Self::Patterns(_) | Self::Unusable(_) => Vec::new(),
        }
    }
}
