//! The tool `notebook`: edits, inserts and deletes cells of a Jupyter notebook.

pub(crate) mod document;

use std::sync::Arc;

use engine::ports::{Access, Found, Replace, ToolContext, ToolOutcome, ToolOutput};
use protocol::quote;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::document::{CellType, Notebook, NotebookError};
use crate::builtin::{Builtin, Session, rename, write_access};
use crate::change::diff;
use crate::display::{self, DIFF_KEPT};
use crate::error::{FileError, ToolError};
use crate::text_file::{decode, read_bytes};

/// The tool `notebook`.
pub(crate) struct NotebookTool(Arc<Session>);

/// What to change.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct NotebookArguments {
    /// The notebook, relative to the folder you are in.
    path: String,
    /// edit replaces the source of a cell, insert adds a cell before it, delete removes it.
    action: Action,
    /// The cell, counted from 0, as read shows it.
    #[schemars(range(min = 0, max = 1_000_000))]
    cell: usize,
    /// The source of the cell; for edit and insert.
    content: Option<String>,
    /// What the cell contains; code if left out of insert, and as it is if left out of edit.
    #[serde(default)]
    #[schemars(with = "CellType")]
    cell_type: Option<CellType>,
}

/// What happens to a cell.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Edit,
    Insert,
    Delete,
}

impl Action {
    fn done(self) -> &'static str {
        match self {
            Self::Edit => "Edited",
            Self::Insert => "Inserted",
            Self::Delete => "Deleted",
        }
    }
}

/// Why a notebook was not changed.
#[derive(Debug, thiserror::Error)]
#[error("{path} was not changed: {error}")]
struct NotChanged {
    path: String,
    error: NotebookError,
}

impl Builtin for NotebookTool {
    const NAME: &'static str = "notebook";
    const DESCRIPTION: &'static str = "Edits, inserts or deletes a cell of a Jupyter notebook. Read the \
        notebook before: read shows its cells with their numbers.";
    const EXAMPLE: &'static str =
        r#"{"path":"a.ipynb","action":"insert","cell":0,"content":"print(1)","cellType":"code"}"#;

    type Arguments = NotebookArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "path", &["notebook_path", "file_path", "filePath", "file"]);
        rename(arguments, "action", &["edit_mode"]);
        rename(arguments, "cell", &["cell_index", "cellIndex", "index", "cell_number"]);
        rename(arguments, "content", &["source", "new_source", "text"]);
        rename(arguments, "cellType", &["cell_type"]);
        // Claude Code has this name for it.
        if arguments.get("action").is_some_and(|action| action == "replace") {
            arguments.insert("action".to_owned(), json!("edit"));
        }
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    fn classify(arguments: &Map<String, Value>) -> Access {
        write_access(arguments)
    }

    async fn run(
        &self,
        arguments: NotebookArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let _guard = self.0.lock_changes(&context.cancel).await?;
        let (view, session) = (context.view.as_ref(), &self.0);
        let shown = quote(&arguments.path);
        let path = match session.paths.find_to_change(view, &arguments.path).await? {
            Found::Folder(_) => return Err(FileError::Folder(shown).into()),
            found @ Found::Missing { .. } => {
                return Err(session.paths.missing(view, &arguments.path, &found).await.into());
            }
            Found::File { path, .. } => path,
        };
        let (bytes, stat) = read_bytes(view, &path, &shown).await?;
        session.refuse_unseen(&path, &shown, &bytes).await?;
        let file = decode(bytes, &shown)?;
        let changed = arguments.changed(&file.text);
        let (text, count) =
            changed.map_err(|error| ToolError::own(NotChanged { path: shown.clone(), error }))?;
        let change = diff(&file.text, &text);
        let bytes = file.encode(text, &shown)?;
        session.write(view, &path, &shown, bytes, Replace::Exactly(stat.version)).await?;
        let NotebookArguments { action, cell, .. } = arguments;
        let text = format!("{} cell {cell} of {shown}, which has {count} cells now", action.done());
        let details = json!({
            "path": display::path(path.as_path()), "cell": cell, "cells": count,
            "diff": change.shortened(DIFF_KEPT),
        });
        Ok(ToolOutcome::Output(ToolOutput::text(text).with_details(details)))
    }
}

impl NotebookArguments {
    /// Returns the text of the notebook after the change, and the number of its cells.
    fn changed(&self, text: &str) -> Result<(String, usize), NotebookError> {
        let mut notebook = Notebook::parse(text)?;
        let source = self.content.as_deref();
        match self.action {
            Action::Edit => {
                let source = source.ok_or(NotebookError::NoContent)?;
                notebook.edit(self.cell, source, self.cell_type)?;
            }
            Action::Insert => {
                let source = source.ok_or(NotebookError::NoContent)?;
                notebook.insert(self.cell, source, self.cell_type.unwrap_or(CellType::Code))?;
            }
            Action::Delete => notebook.delete(self.cell)?,
        }
        Ok((notebook.text()?, notebook.count()))
    }
}
