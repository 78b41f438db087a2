//! The tool `edit`: replaces exact pieces of text in a file.

mod folded;
mod mismatch;
mod places;
mod replace;

use std::sync::Arc;

use engine::ports::{Access, ChangeShown, ToolContext, ToolOutcome, ToolOutput, WorkspaceView};
use protocol::EditMode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::mismatch::{EditError, Mismatch};
use self::places::Wanted;
use self::replace::{Inexact, TextEdit, replaced};
use crate::builtin::{Builtin, Session, rename, run_blocking, write_access};
use crate::change::{Change, diff};
use crate::display::{self, DIFF_KEPT, DIFF_SHOWN};
use crate::error::ToolError;
use crate::preview::preview;
use crate::text_file::FileToChange;

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
    /// Whether every place that has oldText is replaced; false if left out.
    replace_all: Option<bool>,
}

/// Other names of `oldText` and `newText`.
const OLD: &[&str] = &["old_text", "old_string", "oldString", "old", "old_str"];
const NEW: &[&str] = &["new_text", "new_string", "newString", "new", "new_str"];
const ALL: &[&str] = &["replace_all", "all"];

/// How many pieces that were found in another form are listed.
const NOTED: usize = 5;

impl Builtin for Edit {
    const NAME: &'static str = "edit";
    const DESCRIPTION: &'static str = "Replaces exact pieces of a text file, each of which must \
        be in it exactly once, unless replaceAll is set. Several pieces of a file are one call. \
        All edits are made, or none. Read the file before.";
    const EXAMPLE: &'static str =
        r#"{"path":"src/main.rs","edits":[{"oldText":"let a = 1;","newText":"let a = 2;"}]}"#;

    const EDIT_MODE: Option<EditMode> = Some(EditMode::Replace);

    type Arguments = EditArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "path", &["file_path", "filePath", "file", "filename"]);
        rename_texts(arguments);
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

    async fn preview(
        &self,
        EditArguments { path, edits }: EditArguments,
        view: &dyn WorkspaceView,
    ) -> Option<String> {
        let after = move |before: Option<&str>| Some(edited(before?, &edits).ok()?.text);
        preview(&self.0, view, &path, after).await
    }

    async fn check(
        &self,
        EditArguments { path, edits }: EditArguments,
        view: &dyn WorkspaceView,
    ) -> Result<(), ToolError> {
        let FileToChange { shown, file, .. } = FileToChange::open(&self.0, view, &path).await?;
        let before = file.text.clone();
        let edited = run_blocking(move || edited(&before, &edits)).await?;
        let edited = edited.map_err(|(count, mismatch)| EditError::new(&shown, count, mismatch));
        file.encode(edited.map_err(ToolError::own)?.text, &shown)?;
        Ok(())
    }

    async fn run(
        &self,
        arguments: EditArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let _guard = self.0.lock_changes(&context.cancel).await?;
        let view = context.view.as_ref();
        let EditArguments { path, edits } = arguments;
        let file = FileToChange::open(&self.0, view, &path).await?;
        let FileToChange { path, shown, .. } = &file;
        let before = file.file.text.clone();
        let Edited { text, change, inexact } = run_blocking(move || edited(&before, &edits))
            .await?
            .map_err(|(count, mismatch)| {
                EditError::new(shown, count, mismatch.for_model(context.change_shown))
            })
            .map_err(ToolError::own)?;
        file.write(&self.0, view, text).await?;
        let (added, removed) = (change.added, change.removed);
        let mut text = format!("Edited {shown}: +{added} −{removed} lines");
        if context.change_shown == ChangeShown::Yes {
            text.push_str(&format!("\n\n{}", change.shortened(DIFF_SHOWN)));
            text.truncate(text.trim_end().len());
        }
        let mut details = json!({
            "path": display::path(path.as_path()), "diff": change.shortened(DIFF_KEPT),
            "firstChangedLine": change.first,
        });
        if !inexact.is_empty() {
            let see = match context.change_shown {
                ChangeShown::Yes => "; see the diff",
                ChangeShown::No => "",
            };
            text.push_str(&format!("\n\n[{}{see}]", inexact_notice(&inexact)));
            details["inexact"] = inexact.iter().map(|edit| edit.number).collect();
        }
        Ok(ToolOutcome::Output(ToolOutput::text(text).with_details(details)))
    }
}

/// A text after its edits.
struct Edited {
    text: String,
    change: Change,
    inexact: Vec<Inexact>,
}

/// Returns the text with all edits applied, and the change. If an edit does not apply, returns the
/// number of edits and the reason as an error.
fn edited(before: &str, edits: &[OneEdit]) -> Result<Edited, (usize, Mismatch)> {
    let piece = |edit: &OneEdit| {
        let wanted = if edit.replace_all == Some(true) { Wanted::All } else { Wanted::Only };
        TextEdit::new(&edit.old_text, &edit.new_text, wanted)
    };
    let pieces: Vec<_> = edits.iter().map(piece).collect();
    let after = replaced(before, &pieces).map_err(|mismatch| (edits.len(), mismatch))?;
    let change = diff(before, &after.text);
    Ok(Edited { text: after.text, change, inexact: after.inexact })
}

/// Returns what a model has to know about pieces that the file has in another form.
fn inexact_notice(inexact: &[Inexact]) -> String {
    let listed = inexact.iter().take(NOTED).map(|Inexact { number, line }| match inexact.len() {
        1 => format!("line {line}"),
        _ => format!("line {line} (edit {number})"),
    });
    let listed = listed.collect::<Vec<_>>().join(", ");
    let more = if inexact.len() > NOTED { ", …" } else { "" };
    format!("oldText was found with other blanks or quotes on {listed}{more}")
}

fn rename_texts(arguments: &mut Map<String, Value>) {
    rename(arguments, "oldText", OLD);
    rename(arguments, "newText", NEW);
    rename(arguments, "replaceAll", ALL);
}

/// Moves `oldText` and `newText` from the top level of the arguments into the list of edits. If one
/// of the two is missing, nothing is moved, and the check of the arguments refuses the call.
fn move_into_edits(arguments: &mut Map<String, Value>, edits: &mut Value) {
    if let (Value::Array(edits), Some(all)) = (&mut *edits, arguments.get("replaceAll")) {
        let members = edits.iter_mut().filter_map(Value::as_object_mut);
        members.for_each(|edit| {
            edit.entry("replaceAll").or_insert_with(|| all.clone());
        });
    }
    let has = |name: &str| arguments.contains_key(name);
    if !(has("oldText") && has("newText")) || !(edits.is_null() || edits.is_array()) {
        if edits.is_array() {
            arguments.remove("replaceAll");
        }
        return;
    }
    let names = ["oldText", "newText", "replaceAll"];
    let one: Map<_, _> = names.iter().filter_map(|name| arguments.remove_entry(*name)).collect();
    match edits {
        Value::Array(edits) => edits.push(Value::Object(one)),
        none => *none = Value::Array(vec![Value::Object(one)]),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use test_limit::took_at_most;

    use super::*;

    /// How long it takes to make edits of a text of as many lines, whose pieces end with `end`.
    fn work(count: usize, end: &str) -> Duration {
        let text: String = (0..count).map(|number| format!("line {number};\n")).collect();
        let edit = |number| OneEdit {
            old_text: format!("line {number}{end}"),
            new_text: format!("row {number};"),
            replace_all: None,
        };
        let edits: Vec<_> = (0..count).map(edit).collect();
        let begun = Instant::now();
        assert_eq!(edited(&text, &edits).ok().unwrap().change.added, count);
        begun.elapsed()
    }

    #[test]
    fn the_time_of_a_call_grows_with_its_edits_and_not_with_their_square() {
        for end in [";", " ;"] {
            let best = |count| (0..3).map(|_| work(count, end)).min().unwrap();
            let few = best(1_000);
            // Ten times as long, on a quiet machine; the square would be a hundred times.
            let many = best(10_000);
            took_at_most(many, few * 25, format!("1,000 edits with {end:?} took {few:?}"));
        }
    }
}
