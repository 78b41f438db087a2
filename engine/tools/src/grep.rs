//! The tool `grep`: the lines that match a regular expression.

mod arguments;
mod blocking_file;
mod file_search;
mod report;

use std::io::Read as _;
use std::sync::Arc;

use engine::ports::{
    Access, FileKind, ToolContext, ToolOutcome, ViewError, ViewFile, ViewPath, VisitedFile,
    WorkspaceView,
};
use protocol::quote;
use serde_json::{Map, Value};

use self::arguments::{FileFilter, GrepArguments};
use self::blocking_file::BlockingFile;
use self::file_search::{Found as FileFound, LineSearch, SearchJob, StopSearch};
use self::report::Report;
use crate::artifact;
use crate::builtin::{Builtin, Session, rename, run_blocking};
use crate::error::{FileError, ToolError};
use crate::search_place::{FolderOrFile, SearchPlace, access, below, title, walk_notice};
use crate::walk::{Include, Walk, WalkOptions};

/// How many files are searched in one step by two threads.
const FILES_AT_ONCE: usize = 512;

/// The tool `grep`.
pub(crate) struct Grep(Arc<Session>);

impl Builtin for Grep {
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Searches files for a regular expression, line by line. Below \
        the path of each file, a match is NUMBER:LINE and a line around it NUMBER-LINE. What git \
        ignores, binary files and symlinks are left out. The path artifact://N is the whole output of a \
        call whose result names it.";
    const EXAMPLE: &'static str = r#"{"pattern":"fn main","path":"src","glob":"*.rs"}"#;

    type Arguments = GrepArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "pattern", &["regex", "query"]);
        rename(arguments, "path", &["dir", "directory", "folder", "file", "file_path", "cwd"]);
        rename(arguments, "glob", &["include"]);
        rename(arguments, "ignoreCase", &["ignore_case", "i", "-i"]);
        rename(arguments, "context", &["-C", "-A", "-B", "pre", "post"]);
        rename(arguments, "limit", &["head_limit", "max_results"]);
    }

    fn title(arguments: &Map<String, Value>) -> Option<String> {
        Some(title(arguments))
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    fn classify(arguments: &Map<String, Value>) -> Access {
        access(arguments)
    }

    async fn run(
        &self,
        arguments: GrepArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let filter = arguments.filter()?;
        let options = arguments.line_options();
        let search = run_blocking(move || LineSearch::new(&options)).await??;
        let (view, paths) = (context.view.as_ref(), &self.0.paths);
        let path = arguments.path.as_deref();
        let shown = quote(path.unwrap_or("."));
        let mut call = Call {
            view,
            search,
            // Dropping it ends the searches on other threads.
            stop: StopSearch::new(context.cancel.clone()),
            report: Report::new(&arguments),
            shown: shown.clone(),
        };
        if let Some(file) = artifact::open(&context.artifacts, path.unwrap_or_default()).await? {
            call.search_artifact(file).await?;
            return Ok(ToolOutcome::Output(call.report.output(&|_| shown.clone())));
        }
        match SearchPlace::find(view, paths, path).await?.found {
            FolderOrFile::File(path, stat) => {
                if stat.kind != FileKind::Regular {
                    return Err(FileError::Special(call.shown).into());
                }
                call.search_file(path, stat.size).await?;
            }
            FolderOrFile::Folder(folder) => {
                let options = WalkOptions { ignored: arguments.ignored(), hidden: Include::Yes };
                let mut walk = Walk::new(view, folder.clone(), options).await;
                call.search_folder(&mut walk, &folder, &filter).await?;
                call.report.notices.extend(walk_notice(&walk));
            }
        }
        let output = call.report.output(&|path| paths.seen(path));
        Ok(ToolOutcome::Output(output))
    }
}

/// One call.
struct Call<'a> {
    view: &'a dyn WorkspaceView,
    search: LineSearch,
    stop: StopSearch,
    report: Report,
    /// The path as the model wrote it.
    shown: String,
}

impl Call<'_> {
    async fn search_file(&mut self, path: ViewPath, bytes: u64) -> Result<(), ToolError> {
        let found = self.search(vec![path]).await?;
        if found.binary > 0 {
            return Err(FileError::Binary { path: self.shown.clone(), bytes }.into());
        }
        if let Some(error) = found.error {
            return Err(FileError::of("read", &self.shown, error).into());
        }
        self.report.add(found);
        Ok(())
    }

    async fn search_artifact(&mut self, file: Box<dyn ViewFile>) -> Result<(), ToolError> {
        let job = SearchJob::new(&self.search, self.report.job(), self.stop.flag());
        let (most, found) = (job.most_bytes(), job.found());
        let mut visit = job.into_visitor();
        let (stat, mut content) = (file.stat(), BlockingFile::new(file).take(most));
        run_blocking(move || {
            let file = VisitedFile { stat, content: &mut content };
            let _only_file = visit(&ViewPath::default(), Ok(file));
        })
        .await?;
        if self.stop.is_set() {
            return Err(ToolError::Aborted);
        }
        self.report.add(found.take());
        Ok(())
    }

    async fn search_folder(
        &mut self,
        walk: &mut Walk<'_>,
        folder: &ViewPath,
        filter: &FileFilter,
    ) -> Result<(), ToolError> {
        let mut waiting = Vec::new();
        let mut is_end = false;
        while !is_end && !self.report.is_full() {
            if self.stop.is_set() {
                return Err(ToolError::Aborted);
            }
            let batch = walk.next().await;
            let batch = batch.map_err(|error| FileError::of("list", &self.shown, error))?;
            is_end = batch.is_empty();
            let files = batch.into_iter().filter(|entry| entry.kind == FileKind::Regular);
            let files = files.map(|entry| entry.path);
            waiting.extend(files.filter(|path| filter.selects(below(path, folder))));
            while waiting.len() >= FILES_AT_ONCE || (is_end && !waiting.is_empty()) {
                let rest = waiting.split_off(waiting.len().min(FILES_AT_ONCE));
                self.search_files(std::mem::replace(&mut waiting, rest)).await?;
                if self.report.is_full() {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn search_files(&mut self, mut files: Vec<ViewPath>) -> Result<(), ToolError> {
        // Which of its matches are skipped is known to the first half only.
        if files.len() < 8 || self.report.skips() {
            let found = self.search(files).await?;
            self.report.add(found);
            return Ok(());
        }
        let second = files.split_off(files.len() / 2);
        let (first, second) = tokio::join!(self.search(files), self.search(second));
        self.report.add(first?);
        self.report.add(second?);
        Ok(())
    }

    async fn search(&self, files: Vec<ViewPath>) -> Result<FileFound, ToolError> {
        if self.stop.is_set() {
            return Err(ToolError::Aborted);
        }
        let job = SearchJob::new(&self.search, self.report.job(), self.stop.flag());
        let (most, found) = (job.most_bytes(), job.found());
        let visited = self.view.visit_files(&files, most, job.into_visitor()).await;
        visited.map_err(|error: ViewError| FileError::of("read", &self.shown, error))?;
        match self.stop.is_set() {
            true => Err(ToolError::Aborted),
            false => Ok(found.take()),
        }
    }
}
