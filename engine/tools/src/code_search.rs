//! Finds code by its syntax in a file, or in the files below a folder.

use std::sync::Arc;

use engine::ports::{FileKind, SyntaxMatch, SyntaxPattern, ToolContext, ViewPath, WorkspaceView};
use protocol::quote;

use crate::builtin::{Session, run_blocking};
use crate::display;
use crate::error::{FileError, ToolError};
use crate::globs::PathGlob;
use crate::search_place::{FolderOrFile, SearchPlace, below, cannot_list, walk_notice};
use crate::text_file::{TextFile, decode, read_bytes};
use crate::walk::{Include, Walk, WalkOptions};

/// The largest file that is parsed, and how much of files with matches is held at once.
const MAX_PARSED: usize = 1 << 20;
const MAX_HELD: usize = 16 << 20;

/// What is searched, and where.
pub(crate) struct CodeQuery {
    pub(crate) language: String,
    pub(crate) pattern: String,
    pub(crate) rewrite: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) glob: Option<String>,
}

/// A file with matches.
pub(crate) struct CodeFile {
    pub(crate) path: ViewPath,
    pub(crate) file: TextFile,
    pub(crate) matches: Vec<SyntaxMatch>,
}

/// What was found.
#[derive(Default)]
pub(crate) struct FoundCode {
    pub(crate) files: Vec<CodeFile>,
    pub(crate) matches: usize,
    /// Whether there is more than was asked for, or than is held.
    pub(crate) is_full: bool,
    held: usize,
    /// The number of files that are binary, too large, or cannot be parsed.
    left_out: usize,
    walk_notice: Option<String>,
}

impl FoundCode {
    /// Returns what was left out.
    pub(crate) fn notices(&self) -> Vec<String> {
        let left_out = (self.left_out > 0).then(|| {
            let count = self.left_out;
            format!(
                "Left out, because they are binary, over 1 MB or cannot be parsed: {count} files"
            )
        });
        left_out.into_iter().chain(self.walk_notice.clone()).collect()
    }
}

/// Finds at most `most` matches.
pub(crate) async fn find_code(
    session: &Session,
    context: &ToolContext,
    query: CodeQuery,
    most: usize,
) -> Result<FoundCode, ToolError> {
    let Some(syntax) = session.syntax.clone() else {
        return Err(ToolError::Arguments("there are no grammars".to_owned()));
    };
    let CodeQuery { language, pattern, rewrite, path, glob } = query;
    let glob = glob.as_deref().map(PathGlob::new).transpose();
    let glob = glob.map_err(|error| ToolError::Arguments(format!("/glob: {error}")))?;
    let (of, language) = (Arc::clone(&syntax), language.to_lowercase());
    let wanted = language.clone();
    let pattern = run_blocking(move || of.pattern(&wanted, &pattern, rewrite.as_deref())).await?;
    let pattern = pattern.map_err(|error| ToolError::Arguments(error.to_string()))?;
    let mut search =
        Search { view: context.view.as_ref(), pattern, most, found: FoundCode::default() };
    let place = SearchPlace::find(search.view, &session.paths, path.as_deref()).await?;
    match place.found {
        FolderOrFile::File(path, stat) if stat.kind == FileKind::Regular => {
            search.file(&path, &place.shown).await?;
        }
        FolderOrFile::File(..) => return Err(FileError::Special(place.shown).into()),
        FolderOrFile::Folder(folder) => {
            let selects = |path: &ViewPath| {
                syntax.language_of(path.as_path()) == Some(language.as_str())
                    && glob.as_ref().is_none_or(|glob| glob.selects(below(path, &folder)))
            };
            search.folder(context, &folder, &place.shown, selects).await?;
        }
    }
    Ok(search.found)
}

struct Search<'a> {
    view: &'a dyn WorkspaceView,
    pattern: Arc<dyn SyntaxPattern>,
    most: usize,
    found: FoundCode,
}

impl Search<'_> {
    async fn folder(
        &mut self,
        context: &ToolContext,
        folder: &ViewPath,
        shown: &str,
        selects: impl Fn(&ViewPath) -> bool,
    ) -> Result<(), ToolError> {
        let options = WalkOptions { ignored: Include::No, hidden: Include::Yes };
        let mut walk = Walk::new(self.view, folder.clone(), options).await;
        loop {
            let batch = walk.next().await.map_err(|error| cannot_list(shown, error))?;
            if batch.is_empty() {
                break;
            }
            for entry in batch {
                if context.cancel.is_cancelled() {
                    return Err(ToolError::Aborted);
                }
                if self.found.is_full {
                    return Ok(());
                }
                if entry.kind == FileKind::Regular && selects(&entry.path) {
                    let shown = quote(&display::path(entry.path.as_path()));
                    match self.file(&entry.path, &shown).await {
                        Err(error) if error.is_exhaustion() => return Err(error),
                        Err(ToolError::Aborted) => return Err(ToolError::Aborted),
                        Ok(()) => {}
                        Err(_) => self.found.left_out += 1,
                    }
                }
            }
        }
        self.found.walk_notice = walk_notice(&walk);
        Ok(())
    }

    /// Adds the matches of one file.
    async fn file(&mut self, path: &ViewPath, shown: &str) -> Result<(), ToolError> {
        let (bytes, _) = read_bytes(self.view, path, shown).await?;
        let length = bytes.len();
        if length > MAX_PARSED {
            let (path, bytes, most) = (shown.to_owned(), length as u64, MAX_PARSED as u64);
            return Err(FileError::TooLarge { path, bytes, most }.into());
        }
        let file = decode(bytes, shown)?;
        let (pattern, text) = (Arc::clone(&self.pattern), file.text.clone());
        // One more than is wanted, to know whether there are more.
        let most = self.most.saturating_sub(self.found.matches).saturating_add(1);
        let found = run_blocking(move || pattern.find(&text, most)).await?;
        let found = found.map_err(|error| ToolError::Arguments(format!("{shown}: {error}")));
        let mut matches = found?;
        self.found.held += if matches.is_empty() { 0 } else { length };
        self.found.is_full = matches.len() == most || self.found.held > MAX_HELD;
        matches.truncate(most - 1);
        self.found.matches += matches.len();
        if !matches.is_empty() {
            self.found.files.push(CodeFile { path: path.clone(), file, matches });
        }
        Ok(())
    }
}
