//! The files of a patch while its changes are made in memory, so that all of them fit before any is written.

use std::ffi::OsString;
use std::path::PathBuf;

use engine::ports::{
    CallJournal, ChangeShown, FileStat, Found, PlannedChange, Replace, ToolContext, ViewError,
    ViewPath, WorkspaceView,
};
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
    change_shown: ChangeShown,
    pub(super) files: Vec<PatchedFile>,
}

/// A text that a file is to have in place of the one that it has.
pub(crate) struct NewText {
    /// The path, as a model writes it.
    pub(crate) path: String,
    pub(crate) before: String,
    pub(crate) after: String,
}

/// A file of a patch.
pub(super) struct PatchedFile {
    pub(super) path: ViewPath,
    /// The path as the model wrote it.
    pub(super) shown: String,
    /// The folders above it that are not there, from the first.
    new_folders: Vec<ViewPath>,
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
    pub(super) fn new(
        session: &'a Session,
        view: &'a dyn WorkspaceView,
        change_shown: ChangeShown,
    ) -> Self {
        Self { session, view, change_shown, files: Vec::new() }
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
                    let text = after.map_err(|error| {
                        PatchError::hunk(shown, error.for_model(self.change_shown))
                    })?;
                    self.set_text(number, to.as_deref(), text, encoding).await?;
                }
            }
        }
        Ok(self.check_folders()?)
    }

    /// Makes the change of a file in memory that has the text before.
    pub(super) async fn replace(&mut self, text: &NewText) -> Result<(), ToolError> {
        let number = self.existing(&text.path).await?;
        let TextFile { text: now, encoding } = self.files[number].text()?;
        if now != text.before {
            return Err(FileError::Changed(self.files[number].shown.clone()).into());
        }
        self.set_text(number, None, text.after.clone(), encoding).await
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
        let (path, new_folders) = match &found {
            Found::Folder(_) => return Err(folder().into()),
            Found::File { path, .. } => (path.clone(), Vec::new()),
            Found::Missing { .. } if text.ends_with('/') => return Err(folder().into()),
            Found::Missing { above, rest } => {
                let path = |names| below(above, &rest[..names]).ok_or_else(folder);
                (path(rest.len())?, (1..rest.len()).map(path).collect::<Result<_, _>>()?)
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
        self.files.push(PatchedFile { path, shown, new_folders, before, after: After::Same });
        Ok((self.files.len() - 1, found))
    }

    /// Fails if a file that is to be made is a folder of another one.
    fn check_folders(&self) -> Result<(), PatchError> {
        let made = || self.files.iter().filter(|file| matches!(file.after, After::Text { .. }));
        for file in made() {
            let is_below =
                |other: &&PatchedFile| other.path.as_path().starts_with(file.path.as_path());
            if let Some(below) = made().filter(is_below).find(|other| other.path != file.path) {
                let (file, below) = (file.shown.clone(), below.shown.clone());
                return Err(PatchError::FileAndFolder { file, below });
            }
        }
        Ok(())
    }

    /// Writes all files, after it was decided that they can be. If one cannot be, takes back the others. What
    /// is going to be written is recorded before, in case the engine is killed meanwhile.
    pub(super) async fn write(&self, context: &ToolContext) -> Result<(), ToolError> {
        let planned = self.planned(context.journal.as_ref())?;
        let recorded = context.journal.begin(&context.call_id, &planned).await;
        recorded.map_err(|error| PatchError::Unrecorded(error.to_string()))?;
        let mut done = Vec::new();
        let Err(error) = self.write_all(&mut done).await else { return Ok(()) };
        let mut left = Vec::new();
        for step in done.into_iter().rev() {
            if let Err(file) = self.take_back(step).await {
                left.push(file.shown.clone());
            }
        }
        // The session ends on exhaustion, and who reads why needs to know what is left.
        let (is_exhaustion, reason) = (error.is_exhaustion(), error.message());
        Err(match (left.is_empty(), is_exhaustion) {
            (true, true) => error,
            (true, false) => PatchError::TakenBack(reason).into(),
            (false, true) => ToolError::Exhausted(PatchError::Partly { left, reason }.to_string()),
            (false, false) => PatchError::Partly { left, reason }.into(),
        })
    }

    /// Returns the changes of the files on the disk.
    fn planned(&self, journal: &dyn CallJournal) -> Result<Vec<PlannedChange>, ToolError> {
        let mut planned = Vec::new();
        for file in &self.files {
            let after = match &file.after {
                After::Same => continue,
                After::Removed => None,
                After::Text { text, encoding, .. } => {
                    Some(journal.digest(&encoded(file, text, *encoding)?))
                }
            };
            let before = file.before.as_ref().map(|before| journal.digest(&before.bytes));
            if before != after {
                planned.push(PlannedChange { path: file.path.clone(), before, after });
            }
        }
        Ok(planned)
    }

    /// Writes files first, and removes others then, so that what was moved is always somewhere.
    async fn write_all<'f>(&'f self, done: &mut Vec<Done<'f>>) -> Result<(), ToolError> {
        for file in &self.files {
            if let After::Text { text, encoding, from } = &file.after {
                let bytes = encoded(file, text, *encoding)?;
                self.write_file(file, bytes, *from, done).await?;
            }
        }
        for file in &self.files {
            if let (After::Removed, Some(before)) = (&file.after, &file.before) {
                let failed = |error| FileError::of("remove", &file.shown, error);
                let stat = self.view.stat(&file.path).await.map_err(failed)?;
                if stat.version != before.stat.version {
                    return Err(failed(ViewError::Changed).into());
                }
                self.view.remove(&file.path).await.map_err(failed)?;
                self.session.seen.forget(&file.path);
                done.push(Done::Removed(file, before));
            }
        }
        Ok(())
    }

    async fn write_file<'f>(
        &'f self,
        file: &'f PatchedFile,
        bytes: Vec<u8>,
        from: Option<usize>,
        done: &mut Vec<Done<'f>>,
    ) -> Result<(), ToolError> {
        let replace = match &file.before {
            Some(before) if before.bytes == bytes => return Ok(()),
            Some(before) => Replace::Exactly(before.stat.version),
            None => {
                let origin = from.and_then(|from| self.files[from].before.as_ref());
                Replace::Absent { mode: origin.map(|origin| origin.stat.mode) }
            }
        };
        if let Some(deepest) = file.new_folders.last() {
            done.extend(file.new_folders.iter().map(Done::Folder));
            let made = self.view.make_folders(deepest).await;
            made.map_err(|error| FileError::of("make the folders of", &file.shown, error))?;
        }
        let (path, shown) = (&file.path, &file.shown);
        self.session.write(self.view, path, shown, bytes.clone(), replace).await?;
        done.push(Done::Written(file, bytes));
        Ok(())
    }

    /// Takes a step back. Returns the file that stays as the patch has made it if that fails.
    async fn take_back<'f>(&self, step: Done<'f>) -> Result<(), &'f PatchedFile> {
        let (file, undone) = match step {
            Done::Folder(path) => {
                // What something else has put into it stays, and so does the folder.
                let _is_used = self.view.remove(path).await;
                return Ok(());
            }
            Done::Written(file, bytes) => (file, self.unwrite(file, &bytes).await),
            Done::Removed(file, before) => {
                let replace = Replace::Absent { mode: Some(before.stat.mode) };
                (file, self.write_before(file, before, replace).await)
            }
        };
        undone.map_err(|_the_first_error_is_told| file)
    }

    /// Gives a file that was written its content before, unless something else has changed it since.
    async fn unwrite(&self, file: &PatchedFile, written: &[u8]) -> Result<(), ToolError> {
        let (bytes, stat) = read_bytes(self.view, &file.path, &file.shown).await?;
        if bytes != written {
            return Err(FileError::Changed(file.shown.clone()).into());
        }
        if let Some(before) = &file.before {
            return self.write_before(file, before, Replace::Exactly(stat.version)).await;
        }
        let removed = self.view.remove(&file.path).await;
        removed.map_err(|error| FileError::of("remove", &file.shown, error))?;
        self.session.seen.forget(&file.path);
        Ok(())
    }

    async fn write_before(
        &self,
        file: &PatchedFile,
        before: &Before,
        replace: Replace,
    ) -> Result<(), ToolError> {
        self.session.write(self.view, &file.path, &file.shown, before.bytes.clone(), replace).await
    }
}

/// What was done.
enum Done<'a> {
    /// A folder was made, unless it was there already.
    Folder(&'a ViewPath),
    Written(&'a PatchedFile, Vec<u8>),
    Removed(&'a PatchedFile, &'a Before),
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

fn encoded(file: &PatchedFile, text: &str, encoding: TextEncoding) -> Result<Vec<u8>, FileError> {
    let bytes = encoding.encode(text.to_owned());
    bytes.map_err(|letter| FileError::unencodable(&file.shown, letter, encoding))
}

fn below(above: &ViewPath, rest: &[OsString]) -> Option<ViewPath> {
    ViewPath::new(&above.as_path().join(rest.iter().collect::<PathBuf>()))
}
