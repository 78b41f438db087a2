//! Captures as patches in git's format, with files as git has them.

use std::borrow::Cow;
use std::path::Path;

use git2::build::TreeUpdateBuilder;
use git2::{DiffFormat, DiffOptions, FileMode, Oid, Repository, Tree};
use protocol::{CaptureRef, RepoPath};

use crate::branch::keep_in_memory;
use crate::captures::PathFilter;
use crate::error::{OrCannot, Result};
use crate::file_entry::{Change, Entry, Mode};
use crate::git_texts::GitTexts;
use crate::merge::Blobs;
use crate::repository::open_bare;
use crate::store::TaskStore;
use crate::store::renamed_patch::ShownRenames;

/// A change as git has it.
struct Converted {
    change: Change,
    /// Whether a version of it is another one in the capture.
    is_converted: bool,
}

/// The number of digits of ids in a patch. Binary patches need all digits of an id.
const DIGITS: u16 = 40;

impl TaskStore {
    /// Returns a capture as a patch in git's format, with files as git has them.
    pub(crate) fn patch(
        &self,
        capture: &CaptureRef,
        filter: &PathFilter,
        texts: &GitTexts,
    ) -> Result<Vec<u8>> {
        let what = || format!("show {capture} of the task store {}", self.path.display());
        let wanted = |change: &Change| match filter {
            PathFilter::Everything => true,
            PathFilter::Below(path) => change.path == *path || change.path.is_below(path),
        };
        let changes = self.changes(capture)?.into_iter().filter(wanted);
        // The texts are only held in memory: in that of a handle that writes nothing else.
        let git = open_bare(&self.path).or_cannot(what)?;
        let odb = git.odb().or_cannot(what)?;
        let _memory = keep_in_memory(&odb)?;
        let patch = CapturePatch { store: self, git: &git };
        let converted = changes.map(|change| patch.as_git_has_it(change, texts));
        let converted: Vec<Converted> = converted.collect::<Result<_>>()?;
        let changes: Vec<_> = converted.iter().map(|converted| converted.change.clone()).collect();
        let renames = ShownRenames::find(&patch, &changes)?;
        patch.text(capture, filter, (&renames, &converted)).or_cannot(what)
    }
}

/// A patch that is being made of a capture.
struct CapturePatch<'a> {
    store: &'a TaskStore,
    /// The repository of the store, with the texts that git has.
    git: &'a Repository,
}

impl Blobs for CapturePatch<'_> {
    fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        match self.git.find_blob(oid) {
            Ok(blob) => Ok(blob.content().to_vec()),
            Err(_elsewhere) => self.store.read(oid),
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<Oid> {
        self.git.blob(bytes).or_cannot(|| "make a text of a patch")
    }
}

impl CapturePatch<'_> {
    /// Returns a change with the texts that git has.
    fn as_git_has_it(&self, change: Change, texts: &GitTexts) -> Result<Converted> {
        let text = |entry: Option<Entry>| -> Result<Option<Entry>> {
            let Some(entry) = entry.filter(|entry| entry.mode != Mode::Link) else {
                return Ok(entry);
            };
            let bytes = self.store.read(entry.oid)?;
            match texts.text(&change.path, &bytes) {
                Cow::Borrowed(_) => Ok(Some(entry)),
                Cow::Owned(text) => Ok(Some(Entry { oid: self.write(&text)?, ..entry })),
            }
        };
        let (base, task) = (text(change.base)?, text(change.task)?);
        let is_converted = (base, task) != (change.base, change.task);
        Ok(Converted { change: Change { base, task, ..change }, is_converted })
    }

    /// Returns the text of the patch.
    fn text(
        &self,
        capture: &CaptureRef,
        filter: &PathFilter,
        (renames, converted): (&ShownRenames, &[Converted]),
    ) -> std::result::Result<Vec<u8>, git2::Error> {
        let whole = self.git.find_reference(capture.as_str())?.peel_to_tree()?;
        let base = self.text_side(&whole, "base", converted, |change| change.base)?;
        let task = self.text_side(&whole, "task", converted, |change| change.task)?;
        let mut options = DiffOptions::new();
        options.show_binary(true).id_abbrev(DIGITS).old_prefix("a").new_prefix("b");
        if let PathFilter::Below(path) = filter {
            options.pathspec(path.as_bytes()).disable_pathspec_match(true);
        }
        let diff = self.git.diff_tree_to_tree(base.as_ref(), task.as_ref(), Some(&mut options))?;
        let path_of = |delta: &git2::DiffDelta<'_>| {
            let path = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes());
            path.and_then(RepoPath::new)
        };
        let mut texts: Vec<(Option<RepoPath>, Vec<u8>)> = Vec::new();
        diff.print(DiffFormat::Patch, |delta, _, line| {
            let path = path_of(&delta);
            if texts.last().is_none_or(|(last, _)| *last != path) {
                texts.push((path, Vec::new()));
            }
            let Some((_, text)) = texts.last_mut() else { return false };
            // libgit2 returns lines of content without their sign, and all other lines complete.
            if matches!(line.origin(), '+' | '-' | ' ') {
                text.extend(u8::try_from(line.origin()));
            }
            text.extend_from_slice(line.content());
            true
        })?;
        let mut whole = Vec::new();
        for (path, text) in texts {
            match &path {
                Some(path) if renames.is_source(path) => {}
                Some(path) => {
                    whole.extend(renames.patch(self.git, path, &mut options)?.unwrap_or(text))
                }
                None => whole.extend(text),
            }
        }
        Ok(whole)
    }

    /// Returns one side of a capture with the texts that git has; `None` if it is empty.
    fn text_side(
        &self,
        whole: &Tree<'_>,
        name: &str,
        converted: &[Converted],
        entry: impl Fn(&Change) -> Option<Entry>,
    ) -> std::result::Result<Option<Tree<'_>>, git2::Error> {
        let Some(side) = self.side(whole, name)? else { return Ok(None) };
        let mut update = TreeUpdateBuilder::new();
        for Converted { change, .. } in converted.iter().filter(|it| it.is_converted) {
            if let Some(Entry { mode, oid }) = entry(change) {
                let mode = match mode {
                    Mode::File => FileMode::Blob,
                    Mode::Executable => FileMode::BlobExecutable,
                    Mode::Link => FileMode::Link,
                };
                update.upsert(change.path.as_path(), oid, mode);
            }
        }
        let with_texts = update.create_updated(self.git, &side)?;
        self.git.find_tree(with_texts).map(Some)
    }

    /// Returns one side of a capture; `None` if it is empty.
    fn side(
        &self,
        whole: &Tree<'_>,
        name: &str,
    ) -> std::result::Result<Option<Tree<'_>>, git2::Error> {
        match whole.get_path(Path::new(name)) {
            Ok(entry) => self.git.find_tree(entry.id()).map(Some),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
