//! The tool `write`: creates a file, or replaces its content.

use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::{
    Access, FileKind, FileStat, Found, Replace, ToolContext, ToolOutcome, ToolOutput, ViewPath,
    WorkspaceView,
};
use protocol::quote;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::builtin::{Builtin, Session, rename, run_blocking, write_access};
use crate::change::diff;
use crate::display::{self, DIFF_KEPT, MAX_FILE_BYTES};
use crate::error::{FileError, ToolError};
use crate::preview::preview;
use crate::text_file::{decode, read_bytes};

/// The tool `write`.
pub(crate) struct Write(Arc<Session>);

/// What to write.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteArguments {
    /// The file, relative to the folder you are in. Folders that are not there are made.
    path: String,
    /// All that is to be in it.
    content: String,
}

impl Builtin for Write {
    const NAME: &'static str = "write";
    const DESCRIPTION: &'static str = "Writes a whole file: makes it, with the folders it needs, \
        or replaces all that is in it. To change a part of a file, use edit.";
    const EXAMPLE: &'static str = r#"{"path":"src/lib.rs","content":"pub mod parser;\n"}"#;

    type Arguments = WriteArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "path", &["file_path", "filePath", "file", "filename"]);
        rename(arguments, "content", &["contents", "text", "file_text"]);
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    fn classify(arguments: &Map<String, Value>) -> Access {
        write_access(arguments)
    }

    async fn preview(
        &self,
        WriteArguments { path, content }: WriteArguments,
        view: &dyn WorkspaceView,
    ) -> Option<String> {
        preview(&self.0, view, &path, |_before| Some(content)).await
    }

    async fn check(
        &self,
        WriteArguments { path, content }: WriteArguments,
        view: &dyn WorkspaceView,
    ) -> Result<(), ToolError> {
        let shown = quote(&path);
        check_size(&content, &shown)?;
        let target = target(self.0.paths.find_to_change(view, &path).await?, &path, &shown)?;
        if target.before.is_some()
            && let Ok((bytes, _)) = read_bytes(view, &target.path, &shown).await
        {
            self.0.refuse_unseen(&target.path, &shown, &bytes).await?;
        }
        Ok(())
    }

    async fn run(
        &self,
        arguments: WriteArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let _guard = self.0.lock_changes(&context.cancel).await?;
        let view = context.view.as_ref();
        let shown = quote(&arguments.path);
        let size = check_size(&arguments.content, &shown)?;
        let found = self.0.paths.find_to_change(view, &arguments.path).await?;
        let Target { path, new_folders, before } = target(found, &arguments.path, &shown)?;
        if let Some(folders) = new_folders {
            let made = view.make_folders(&folders).await;
            made.map_err(|error| FileError::of("make the folders of", &shown, error))?;
        }
        let replace = before
            .map_or(Replace::Absent { mode: None }, |before| Replace::Exactly(before.version));
        let diff = match before {
            Some(_) => self.change(view, &path, &shown, arguments.content.clone()).await?,
            None => None,
        };
        self.0.write(view, &path, &shown, arguments.content.into_bytes(), replace).await?;
        let text = match before {
            None => format!("Created new file {shown} ({size} bytes)"),
            Some(before) => format!("Overwrote {shown} ({size} bytes, before: {})", before.size),
        };
        let path = display::path(path.as_path());
        let mut details = json!({ "path": path, "size": size, "isNew": before.is_none() });
        if let Some(diff) = diff {
            details["diff"] = json!(diff);
        }
        Ok(ToolOutcome::Output(ToolOutput::text(text).with_details(details)))
    }
}

impl Write {
    /// Returns the change of an existing file; `None` if nothing changes, or if the file is not a text.
    async fn change(
        &self,
        view: &dyn WorkspaceView,
        path: &ViewPath,
        shown: &str,
        after: String,
    ) -> Result<Option<String>, ToolError> {
        let Ok((bytes, _)) = read_bytes(view, path, shown).await else { return Ok(None) };
        self.0.refuse_unseen(path, shown, &bytes).await?;
        let Ok(before) = decode(bytes, shown) else { return Ok(None) };
        let diff = run_blocking(move || diff(&before.text, &after).shortened(DIFF_KEPT)).await?;
        Ok(Some(diff).filter(|diff| !diff.is_empty()))
    }
}

/// The file to write.
struct Target {
    path: ViewPath,
    /// The folder that it is to be in, if that has to be made.
    new_folders: Option<ViewPath>,
    /// The existing file, if there is one.
    before: Option<FileStat>,
}

/// Returns the number of bytes to write.
fn check_size(content: &str, shown: &str) -> Result<u64, FileError> {
    let (bytes, most) = (content.len() as u64, MAX_FILE_BYTES);
    match bytes > most {
        true => Err(FileError::TooLarge { path: shown.to_owned(), bytes, most }),
        false => Ok(bytes),
    }
}

/// Returns the file to write, which was found for the path `text`.
fn target(found: Found, text: &str, shown: &str) -> Result<Target, FileError> {
    let folder = || FileError::Folder(shown.to_owned());
    match found {
        Found::Folder(_) => Err(folder()),
        Found::File { path, stat } => match stat.kind {
            FileKind::Regular => Ok(Target { path, new_folders: None, before: Some(stat) }),
            FileKind::Folder | FileKind::Symlink | FileKind::Special => {
                Err(FileError::Special(shown.to_owned()))
            }
        },
        Found::Missing { .. } if text.ends_with('/') => Err(folder()),
        Found::Missing { above, rest } => {
            let path = above.as_path().join(rest.iter().collect::<PathBuf>());
            let path = ViewPath::new(&path).ok_or_else(folder)?;
            let above = path.split().filter(|_| rest.len() > 1);
            Ok(Target { new_folders: above.map(|(folders, _)| folders), path, before: None })
        }
    }
}
