//! The tool `edit`: replaces exact pieces of a file.

mod diff;
mod error;
mod pieces;

use std::sync::Arc;

use engine::ports::{ToolAnswer, ToolConcurrency, ToolText};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(crate) use self::error::EditError;

use self::diff::diff;
use self::pieces::{Piece, replaced};
use crate::arguments::rename;
use crate::builtin::{Builtin, Errand};
use crate::desk::Desk;
use crate::limits::{DIFF_KEPT, DIFF_SAID, WHOLE_FILE};
use crate::shown;
use crate::tree::{FileError, Found, Tree, open_file, read_whole, replace, seen};
use crate::trouble::Trouble;

/// Edits.
pub(crate) struct Edit;

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

const OLD: &[&str] = &["old_text", "old_string", "oldString", "old", "old_str"];
const NEW: &[&str] = &["new_text", "new_string", "newString", "new", "new_str"];

impl Builtin for Edit {
    const NAME: &'static str = "edit";
    const CAPABILITY: &'static str = "F103";
    const DESCRIPTION: &'static str = "Replaces exact pieces of a text file, each of which must \
        be in it exactly once. All edits are made, or none. Read the file before.";
    // A later call of the same answer counts on what this one has written.
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Exclusive;
    const EXAMPLE: &'static str =
        r#"{"path":"src/main.rs","edits":[{"oldText":"let a = 1;","newText":"let a = 2;"}]}"#;

    type Arguments = EditArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "path", &["file_path", "filePath", "file", "filename"]);
        name_texts(arguments);
        // What never happens here need not be said.
        if arguments.get("replace_all") == Some(&Value::Bool(false)) {
            arguments.remove("replace_all");
        }
        let mut edits = match arguments.remove("edits") {
            Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            edits => edits.unwrap_or_default(),
        };
        match &mut edits {
            Value::Array(edits) => {
                edits.iter_mut().filter_map(Value::as_object_mut).for_each(name_texts);
            }
            Value::Object(edit) => {
                name_texts(edit);
                edits = Value::Array(vec![edits]);
            }
            _ => {}
        }
        add_flat(arguments, &mut edits);
        if !edits.is_null() {
            arguments.insert("edits".to_owned(), edits);
        }
    }

    async fn call(
        arguments: EditArguments,
        desk: Arc<Desk>,
        errand: Errand,
    ) -> Result<ToolAnswer, Trouble> {
        let tree = Arc::clone(&desk.tree);
        desk.change(&errand.stop, move || edit(&tree, &arguments)).await
    }
}

fn name_texts(arguments: &mut Map<String, Value>) {
    rename(arguments, "oldText", OLD);
    rename(arguments, "newText", NEW);
}

/// Takes an edit that stands beside the others, or alone, to the others. A half of one stays where
/// it is and is told.
fn add_flat(arguments: &mut Map<String, Value>, edits: &mut Value) {
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

fn edit(tree: &Tree, arguments: &EditArguments) -> Result<ToolText, Trouble> {
    let shown = shown::quote(&arguments.path);
    let (folder, name, stat, path) = match tree.find_to_change(&arguments.path)? {
        Found::Folder { .. } => return Err(FileError::Folder(shown).into()),
        found @ Found::Missing { .. } => {
            return Err(tree.missing(&arguments.path, &found).into());
        }
        Found::File { folder, name, stat, path } => (folder, name, stat, path),
    };
    let (mut file, stat) = open_file(&folder, &name, &stat, &shown)?;
    let bytes = read_whole(&mut file, &stat, WHOLE_FILE, &shown)?;
    if bytes.contains(&0) {
        return Err(FileError::Binary { path: shown, bytes: bytes.len() as u64 }.into());
    }
    let Ok(before) = String::from_utf8(bytes) else {
        return Err(FileError::Encoding(shown).into());
    };
    let pieces = arguments.edits.iter().map(|edit| Piece::new(&edit.old_text, &edit.new_text));
    let after = replaced(&before, &pieces.collect::<Vec<_>>())
        .map_err(|mismatch| EditError::new(&shown, arguments.edits.len(), mismatch))?;
    replace(&folder, &name, after.as_bytes(), Some(seen(&stat)), &shown)?;
    let change = diff(&before, &after);
    let (added, removed) = (change.added, change.removed);
    let text =
        format!("Edited {shown}: +{added} −{removed} lines\n\n{}", change.shortened(DIFF_SAID));
    let details = json!({
        "path": shown::path(&path), "diff": change.shortened(DIFF_KEPT),
        "firstChangedLine": change.first,
    });
    Ok(ToolText { text: text.trim_end().to_owned(), details: Some(details) })
}

#[cfg(test)]
mod tests;
