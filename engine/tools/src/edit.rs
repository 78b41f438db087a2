//! The tool `edit`: replaces exact blocks of text in a file.

mod mismatch;
mod replace;

use std::sync::Arc;

use engine::ports::{
    Access, Found, Replace, ToolContext, ToolOutcome, ToolOutput, ViewPath, WorkspaceView,
};
use protocol::quote;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::mismatch::{EditError, Mismatch};
use self::replace::{TextEdit, replaced};
use crate::builtin::{Builtin, Session, rename, run_blocking, write_access};
use crate::change::{Change, diff};
use crate::display::{self, DIFF_KEPT, DIFF_SHOWN};
use crate::error::{FileError, ToolError};
use crate::text_file::read_text;

/// The tool `edit`.
pub(crate) struct Edit(Arc<Session>);

/// What to edit.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditArguments {
    /// The file, relative to the folder you are in.
    path: String,
    /// The pieces to replace. All of them are looked for in the file as it is now.
    #[schemars(length(min = 1))]
    edits: Vec<OneEdit>,
}

/// One piece.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OneEdit {
    /// The exact text as it stands in the file, with its indentation and without line numbers. It
    /// has to be there exactly once: take as many lines as that needs.
    old_text: String,
    /// What is to be there instead.
    new_text: String,
}

/// Other names of `oldText` and `newText`.
const OLD: &[&str] = &["old_text", "old_string", "oldString", "old", "old_str"];
const NEW: &[&str] = &["new_text", "new_string", "newString", "new", "new_str"];

impl Builtin for Edit {
    const NAME: &'static str = "edit";
    const DESCRIPTION: &'static str = "Replaces exact pieces of a text file, each of which must \
        be in it exactly once. All edits are made, or none. Read the file before.";
    const EXAMPLE: &'static str =
        r#"{"path":"src/main.rs","edits":[{"oldText":"let a = 1;","newText":"let a = 2;"}]}"#;

    type Arguments = EditArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "path", &["file_path", "filePath", "file", "filename"]);
        rename_texts(arguments);
        // Edits never replace all occurrences, so `replace_all = false` asks for nothing special.
        if arguments.get("replace_all") == Some(&Value::Bool(false)) {
            arguments.remove("replace_all");
        }
        let mut edits = match arguments.remove("edits") {
            Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            edits => edits.unwrap_or_default(),
        };
        match &mut edits {
            Value::Array(edits) => {
                edits.iter_mut().filter_map(Value::as_object_mut).for_each(rename_texts);
            }
            Value::Object(edit) => {
                rename_texts(edit);
                edits = Value::Array(vec![edits]);
            }
            _ => {}
        }
        move_into_edits(arguments, &mut edits);
        if !edits.is_null() {
            arguments.insert("edits".to_owned(), edits);
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
        arguments: EditArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let _guard = self.0.lock_changes(&context.cancel).await?;
        let view = context.view.as_ref();
        let EditArguments { path: text, edits } = arguments;
        let shown = quote(&text);
        let path = self.find(view, &text, &shown).await?;
        let (before, stat) = read_text(view, &path, &shown).await?;
        let (after, change) = run_blocking(move || edited(&before, &edits))
            .await?
            .map_err(|(count, mismatch)| EditError::new(&shown, count, mismatch))
            .map_err(ToolError::own)?;
        let written = view.write(&path, after.into_bytes(), Replace::Exactly(stat.version)).await;
        written.map_err(|error| FileError::of("write", &shown, error))?;
        let (added, removed) = (change.added, change.removed);
        let text = format!(
            "Edited {shown}: +{added} −{removed} lines\n\n{}",
            change.shortened(DIFF_SHOWN)
        );
        let details = json!({
            "path": display::path(path.as_path()), "diff": change.shortened(DIFF_KEPT),
            "firstChangedLine": change.first,
        });
        Ok(ToolOutcome::Output(ToolOutput::text(text.trim_end()).with_details(details)))
    }
}

impl Edit {
    async fn find(
        &self,
        view: &dyn WorkspaceView,
        text: &str,
        shown: &str,
    ) -> Result<ViewPath, ToolError> {
        match self.0.paths.find_to_change(view, text).await? {
            Found::Folder(_) => Err(FileError::Folder(shown.to_owned()).into()),
            found @ Found::Missing { .. } => {
                Err(self.0.paths.missing(view, text, &found).await.into())
            }
            Found::File { path, .. } => Ok(path),
        }
    }
}

/// Returns the text with all edits applied, and the change. If an edit does not apply, returns the
/// number of edits and the reason as an error.
fn edited(before: &str, edits: &[OneEdit]) -> Result<(String, Change), (usize, Mismatch)> {
    let pieces: Vec<_> =
        edits.iter().map(|edit| TextEdit::new(&edit.old_text, &edit.new_text)).collect();
    let after = replaced(before, &pieces).map_err(|mismatch| (edits.len(), mismatch))?;
    let change = diff(before, &after);
    Ok((after, change))
}

fn rename_texts(arguments: &mut Map<String, Value>) {
    rename(arguments, "oldText", OLD);
    rename(arguments, "newText", NEW);
}

/// Moves `oldText` and `newText` from the top level of the arguments into the list of edits. If one
/// of the two is missing, nothing is moved, and the check of the arguments refuses the call.
fn move_into_edits(arguments: &mut Map<String, Value>, edits: &mut Value) {
    let has = |name: &str| arguments.contains_key(name);
    if !(has("oldText") && has("newText")) || !(edits.is_null() || edits.is_array()) {
        return;
    }
    let names = ["oldText", "newText"];
    let one: Map<_, _> = names.iter().filter_map(|name| arguments.remove_entry(*name)).collect();
    match edits {
        Value::Array(edits) => edits.push(Value::Object(one)),
        none => *none = Value::Array(vec![Value::Object(one)]),
    }
}
