//! The tool `notebook`: edits, inserts and deletes cells of a Jupyter notebook.

pub(crate) mod document;

use std::sync::Arc;

use engine::ports::{Access, ToolContext, ToolOutcome, ToolOutput, WorkspaceView};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::document::{CellType, Notebook, NotebookError};
use crate::builtin::{Builtin, Session, rename, run_blocking, write_access};
use crate::change::{Change, diff};
use crate::display::{self, DIFF_KEPT};
use crate::error::ToolError;
use crate::text_file::FileToChange;

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

    async fn check(
        &self,
        arguments: NotebookArguments,
        view: &dyn WorkspaceView,
    ) -> Result<(), ToolError> {
        let FileToChange { shown: path, file, .. } =
            FileToChange::open(&self.0, view, &arguments.path).await?;
        let checked = run_blocking(move || arguments.changed(&file.text).map(|_| ())).await?;
        checked.map_err(|error| ToolError::own(NotChanged { path, error }))
    }

    async fn run(
        &self,
        arguments: NotebookArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let _guard = self.0.lock_changes(&context.cancel).await?;
        let view = context.view.as_ref();
        let file = FileToChange::open(&self.0, view, &arguments.path).await?;
        let FileToChange { path, shown, .. } = &file;
        let (action, cell, before) = (arguments.action, arguments.cell, file.file.text.clone());
        let Changed { text, count, change } = run_blocking(move || arguments.changed(&before))
            .await?
            .map_err(|error| ToolError::own(NotChanged { path: shown.clone(), error }))?;
        file.write(&self.0, view, text).await?;
        let text = format!("{} cell {cell} of {shown}, which has {count} cells now", action.done());
        let details = json!({
            "path": display::path(path.as_path()), "cell": cell, "cells": count,
            "diff": change.shortened(DIFF_KEPT),
        });
        Ok(ToolOutcome::Output(ToolOutput::text(text).with_details(details)))
    }
}

/// A notebook after its change.
struct Changed {
    text: String,
    /// The number of its cells.
    count: usize,
    change: Change,
}

impl NotebookArguments {
    /// Returns the notebook after the change.
    fn changed(&self, before: &str) -> Result<Changed, NotebookError> {
        let mut notebook = Notebook::parse(before)?;
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
        let text = notebook.text()?;
        Ok(Changed { count: notebook.count(), change: diff(before, &text), text })
    }
}
