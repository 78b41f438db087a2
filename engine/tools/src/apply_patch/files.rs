//! The files of a patch while its changes are made in memory, so that all of them fit before any is written.

use std::ffi::OsString;
use std::path::PathBuf;

use engine::ports::{FileStat, Found, Replace, ViewError, ViewPath, WorkspaceView};
use protocol::quote;

use super::error::PatchError;
use super::hunks::patched;
use super::parse::{FileChange, Patch};
use crate::builtin::{Session, run_blocking};
use crate::encoding::TextEncoding;
use crate::error::{FileError, ToolError};
use crate::text_file::{TextFile, decode, read_bytes};

/// The files of a patch.
pub(super) struct Files<'a> {
    session: &'a Session,
    view: &'a dyn WorkspaceView,
    pub(super) files: Vec<PatchedFile>,
}

/// A file of a patch.
pub(super) struct PatchedFile {
    pub(super) path: ViewPath,
    /// The path as the model wrote it.
    pub(super) shown: String,
    /// Whether folders above it are not there.
    missing_folders: bool,
    before: Option<Before>,
    pub(super) after: After,
}

/// A file as it is on the disk.
struct Before {
    bytes: Vec<u8>,
    stat: FileStat,
}

/// A file as it is to be.
pub(super) enum After {
    /// As it is.
    Same,
    Removed,
    Text {
        text: String,
        encoding: TextEncoding,
        from: Option<usize>,
    },
}

impl<'a> Files<'a> {
    pub(super) fn new(session: &'a Session, view: &'a dyn WorkspaceView) -> Self {
        Self { session, view, files: Vec::new() }
    }

    /// Makes the changes of a patch in memory.
    pub(super) async fn plan(&mut self, patch: Patch) -> Result<(), ToolError> {
        for change in patch.changes {
            match change {
                FileChange::Add { path, text } => {
                    let number = self.free(&path).await?;
                    let encoding = TextEncoding::Utf8;
                    self.files[number].after = After::Text { text, encoding, from: None };
                }
                FileChange::Delete { path } => {
                    let number = self.existing(&path).await?;
                    self.files[number].after = After::Removed;
                }
                FileChange::Update { path, to, hunks } => {
                    let number = self.existing(&path).await?;
                    let TextFile { text, encoding } = self.files[number].text()?;
                    let after = run_blocking(move || patched(&text, &hunks)).await?;
                    let shown = &self.files[number].shown;
                    let text = after.map_err(|error| PatchError::hunk(shown, error))?;
                    self.set_text(number, to.as_deref(), text, encoding).await?;
                }
            }
        }
        Ok(())
    }

    /// Sets the text of a file, which is to be at `to` then.
    async fn set_text(
        &mut self,
        number: usize,
        to: Option<&str>,
        text: String,
        encoding: TextEncoding,
    ) -> Result<(), ToolError> {
        // A text that the encoding lacks is refused before anything is written.
        let file = &self.files[number];
        if let Err(letter) = encoding.encode(text.clone()) {
            return Err(FileError::unencodable(&file.shown, letter, encoding).into());
        }
        let origin = match &file.after {
            After::Text { from, .. } => *from,
            After::Same | After::Removed => None,
        };
        let Some(to) = to else {
            self.files[number].after = After::Text { text, encoding, from: origin };
            return Ok(());
        };
        let target = self.free(to).await?;
        let from = origin.or(self.files[number].before.as_ref().map(|_| number));
        self.files[number].after = After::Removed;
        self.files[target].after = After::Text { text, encoding, from };
        Ok(())
    }

    /// Returns the file at a path, which is there.
    async fn existing(&mut self, path: &str) -> Result<usize, ToolError> {
        let (number, found) = self.load(path).await?;
        let file = &self.files[number];
        match (&file.after, &file.before) {
            (After::Same, Some(_)) | (After::Text { .. }, _) => Ok(number),
            (After::Same, None) | (After::Removed, _) => {
                Err(self.session.paths.missing(self.view, path, &found).await.into())
            }
        }
    }

    /// Returns the file at a path, where none is.
    async fn free(&mut self, path: &str) -> Result<usize, ToolError> {
        let (number, _) = self.load(path).await?;
        let file = &self.files[number];
        match (&file.after, &file.before) {
            (After::Same, None) | (After::Removed, _) => Ok(number),
            (After::Same, Some(_)) | (After::Text { .. }, _) => {
                Err(PatchError::Exists(file.shown.clone()).into())
            }
        }
    }

    /// Finds the file at a path, and reads it if the patch has not named it before.
    async fn load(&mut self, text: &str) -> Result<(usize, Found), ToolError> {
        let shown = quote(text);
        let found = self.session.paths.find_to_change(self.view, text).await?;
        let folder = || FileError::Folder(shown.clone());
        let (path, missing_folders) = match &found {
            Found::Folder(_) => return Err(folder().into()),
            Found::File { path, .. } => (path.clone(), false),
            Found::Missing { .. } if text.ends_with('/') => return Err(folder().into()),
            Found::Missing { above, rest } => {
                (below(above, rest).ok_or_else(folder)?, rest.len() > 1)
            }
        };
        if let Some(known) = self.files.iter().position(|file| file.path == path) {
            return Ok((known, found));
        }
        let before = match &found {
            Found::File { .. } => {
                let (bytes, stat) = read_bytes(self.view, &path, &shown).await?;
                self.session.refuse_unseen(&path, &shown, &bytes).await?;
                Some(Before { bytes, stat })
            }
            Found::Folder(_) | Found::Missing { .. } => None,
        };
        self.files.push(PatchedFile { path, shown, missing_folders, before, after: After::Same });
        Ok((self.files.len() - 1, found))
    }

    /// Writes all files, after it was decided that they can be. Returns what has been written if one fails.
    pub(super) async fn write(&mut self) -> Result<(), (Vec<String>, ToolError)> {
        let mut done = Vec::new();
        let mut renamed = vec![false; self.files.len()];
        for number in 0..self.files.len() {
            if matches!(self.files[number].after, After::Text { .. }) {
                let written = self.write_file(number, &mut renamed).await;
                written.map_err(|error| (done.clone(), error))?;
                done.push(self.files[number].shown.clone());
            }
        }
        for (file, renamed) in self.files.iter().zip(renamed) {
            if matches!(file.after, After::Removed) && file.is_there() && !renamed {
                self.remove(file).await.map_err(|error| (done.clone(), error))?;
                done.push(file.shown.clone());
            }
        }
        Ok(())
    }

    async fn write_file(&self, number: usize, renamed: &mut [bool]) -> Result<(), ToolError> {
        let file = &self.files[number];
        let After::Text { text, encoding, from } = &file.after else { return Ok(()) };
        let lacking = |letter| FileError::unencodable(&file.shown, letter, *encoding);
        let bytes = encoding.encode(text.clone()).map_err(lacking)?;
        if let Some(before) = &file.before {
            if before.bytes == bytes {
                return Ok(());
            }
            let replace = Replace::Exactly(before.stat.version);
            return self.session.write(self.view, &file.path, &file.shown, bytes, replace).await;
        }
        if let Some((folders, _)) = file.path.split().filter(|_| file.missing_folders) {
            let made = self.view.make_folders(&folders).await;
            made.map_err(|error| FileError::of("make the folders of", &file.shown, error))?;
        }
        let origin = from.map(|from| (from, &self.files[from]));
        let Some((from, origin)) = origin
            .filter(|(from, origin)| matches!(origin.after, After::Removed) && !renamed[*from])
        else {
            return self
                .session
                .write(self.view, &file.path, &file.shown, bytes, Replace::Any)
                .await;
        };
        // Renamed, so that it keeps its mode.
        let failed = |error| FileError::of("rename", &origin.shown, error);
        self.still_is(origin).await.map_err(failed)?;
        self.view.rename(&origin.path, &file.path).await.map_err(failed)?;
        renamed[from] = true;
        self.session.seen.forget(&origin.path);
        let stat = self.view.stat(&file.path).await.map_err(failed)?;
        let replace = Replace::Exactly(stat.version);
        self.session.write(self.view, &file.path, &file.shown, bytes, replace).await
    }

    async fn remove(&self, file: &PatchedFile) -> Result<(), ToolError> {
        let failed = |error| FileError::of("remove", &file.shown, error);
        self.still_is(file).await.map_err(failed)?;
        self.view.remove(&file.path).await.map_err(failed)?;
        self.session.seen.forget(&file.path);
        Ok(())
    }

    /// Fails if a file has changed since it was read.
    async fn still_is(&self, file: &PatchedFile) -> Result<(), ViewError> {
        let stat = self.view.stat(&file.path).await?;
        match file.before.as_ref().is_some_and(|before| before.stat.version == stat.version) {
            true => Ok(()),
            false => Err(ViewError::Changed),
        }
    }
}

impl PatchedFile {
    /// Returns the text that the file has after the changes so far.
    fn text(&self) -> Result<TextFile, FileError> {
        match (&self.after, &self.before) {
            (After::Text { text, encoding, .. }, _) => {
                Ok(TextFile { text: text.clone(), encoding: *encoding })
            }
            (After::Same | After::Removed, Some(before)) => {
                decode(before.bytes.clone(), &self.shown)
            }
            (After::Same | After::Removed, None) => Err(FileError::Changed(self.shown.clone())),
        }
    }

    /// Returns the text that the file has on the disk; empty if it is none.
    pub(super) fn text_before(&self) -> String {
        let bytes = self.before.as_ref().map(|before| before.bytes.clone());
        bytes.and_then(TextEncoding::decode).map_or_else(String::new, |(_, text)| text)
    }

    /// Returns whether the file is on the disk.
    pub(super) fn is_there(&self) -> bool {
        self.before.is_some()
    }
}

fn below(above: &ViewPath, rest: &[OsString]) -> Option<ViewPath> {
    ViewPath::new(&above.as_path().join(rest.iter().collect::<PathBuf>()))
}
