//! The tool `apply_patch`: changes several files by one patch.

mod error;
mod files;
mod hunks;
mod parse;

use std::sync::Arc;

use engine::ports::{
    Access, AccessClass, ChangeShown, Concurrency, ToolContext, ToolOutcome, ToolOutput,
    WorkspaceView,
};
use protocol::EditMode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(crate) use self::files::NewText;

use self::error::PatchError;
use self::files::{After, Files, PatchedFile};
use self::parse::Patch;
use crate::builtin::{Builtin, Session, rename, run_blocking, text};
use crate::change::{Change, diff};
use crate::display::{self, DIFF_KEPT, DIFF_SHOWN, head};
use crate::error::ToolError;
use crate::preview::{MOST_BYTES, headed_diff};

/// The tool `apply_patch`.
pub(crate) struct ApplyPatch(Arc<Session>);

/// What to change.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApplyPatchArguments {
    /// The patch, from *** Begin Patch to *** End Patch.
    input: String,
}

impl Builtin for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const DESCRIPTION: &'static str = "Changes files by a patch. It begins with *** Begin Patch and ends with \
        *** End Patch. Between them are *** Add File: PATH with lines after +; *** Delete File: PATH; *** Update \
        File: PATH, which *** Move to: PATH may follow, with hunks. A hunk begins with @@, or with @@ and a line \
        above it, such as that of its function; then come lines to keep after a blank, to remove after -, to add \
        after +; *** End of File ends one that is at the end. All of it is applied, or nothing.";
    const EXAMPLE: &'static str =
        r#"{"input":"*** Begin Patch\n*** Add File: notes.md\n+text\n*** End Patch"}"#;

    const EDIT_MODE: Option<EditMode> = Some(EditMode::ApplyPatch);

    type Arguments = ApplyPatchArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(
            arguments,
            "input",
            &["patch", "patchText", "patch_text", "diff", "text", "content"],
        );
    }

    fn title(arguments: &Map<String, Value>) -> Option<String> {
        Some(paths(arguments).join(", "))
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    fn classify(arguments: &Map<String, Value>) -> Access {
        let class = AccessClass::Write(paths(arguments));
        // Several files, of which not all may be known.
        Access { class, concurrency: Concurrency::Exclusive }
    }

    async fn preview(
        &self,
        arguments: ApplyPatchArguments,
        view: &dyn WorkspaceView,
    ) -> Option<String> {
        let mut files = Files::new(&self.0, view, ChangeShown::Yes);
        files.plan(Patch::parse(&arguments.input).ok()?).await.ok()?;
        let texts = texts(&files.files);
        run_blocking(move || whole_diff(&texts)).await.ok()?
    }

    async fn check(
        &self,
        arguments: ApplyPatchArguments,
        view: &dyn WorkspaceView,
    ) -> Result<(), ToolError> {
        let mut files = Files::new(&self.0, view, ChangeShown::Yes);
        planned(&mut files, &arguments.input).await.map(|_| ())
    }

    async fn run(
        &self,
        arguments: ApplyPatchArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let _guard = self.0.lock_changes(&context.cancel).await?;
        let mut files = Files::new(&self.0, context.view.as_ref(), context.change_shown);
        let changes = planned(&mut files, &arguments.input).await?;
        files.write(context).await?;
        Ok(ToolOutcome::Output(output(&changes, context.change_shown)))
    }
}

/// Writes the texts of files, all of them or none.
pub(crate) async fn write_texts(
    session: &Session,
    context: &ToolContext,
    texts: &[NewText],
) -> Result<ToolOutcome, ToolError> {
    let _guard = session.lock_changes(&context.cancel).await?;
    let mut files = Files::new(session, context.view.as_ref(), context.change_shown);
    for text in texts {
        files.replace(text).await?;
    }
    let changes = changes(&files.files).await?;
    files.write(context).await?;
    Ok(ToolOutcome::Output(output(&changes, context.change_shown)))
}

/// Makes the changes of a patch in memory, and returns them.
async fn planned(files: &mut Files<'_>, patch: &str) -> Result<Vec<ChangedFile>, ToolError> {
    files.plan(Patch::parse(patch).map_err(PatchError::Parse)?).await?;
    let changes = changes(&files.files).await?;
    if changes.is_empty() { Err(PatchError::NoChange.into()) } else { Ok(changes) }
}

/// Returns the paths that a patch changes; none if it is none.
fn paths(arguments: &Map<String, Value>) -> Vec<String> {
    let patch = Patch::parse(&text(arguments, "input"));
    patch
        .map_or_else(|_| Vec::new(), |patch| patch.paths().into_iter().map(str::to_owned).collect())
}

/// The change of one file.
struct ChangedFile {
    kind: Kind,
    path: String,
    /// The path before, if it has another.
    from: Option<String>,
    change: Change,
}

/// The texts of one file before and after its change.
struct ChangedText {
    kind: Kind,
    path: String,
    /// The path before, if it has another.
    from: Option<String>,
    before: String,
    after: String,
}

/// What happens to a file.
#[derive(Clone, Copy)]
enum Kind {
    Add,
    Update,
    Move,
    Delete,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Update => "update",
            Self::Move => "move",
            Self::Delete => "delete",
        }
    }
}

/// Returns the changes of all files that are not as they were.
async fn changes(files: &[PatchedFile]) -> Result<Vec<ChangedFile>, ToolError> {
    let mut changes = Vec::new();
    for ChangedText { kind, path, from, before, after } in texts(files) {
        let change = run_blocking(move || diff(&before, &after)).await?;
        changes.push(ChangedFile { kind, path, from, change });
    }
    Ok(changes)
}

/// Returns the texts of all files that are not as they were.
fn texts(files: &[PatchedFile]) -> Vec<ChangedText> {
    let path = |file: &PatchedFile| display::path(file.path.as_path());
    let moved = |number: usize| {
        files.iter().any(
            |file| matches!(file.after, After::Text { from: Some(from), .. } if from == number),
        )
    };
    let mut texts = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let (kind, from, before, after) = match &file.after {
            After::Same => continue,
            After::Removed if !file.is_there() || moved(number) => continue,
            After::Removed => (Kind::Delete, None, file.text_before(), String::new()),
            After::Text { text, from, .. } => {
                let origin = from.map(|from| &files[from]).filter(|_| !file.is_there());
                let before = origin.unwrap_or(file).text_before();
                let kind = match (file.is_there(), origin) {
                    (true, _) => Kind::Update,
                    (false, Some(_)) => Kind::Move,
                    (false, None) => Kind::Add,
                };
                (kind, origin.map(path), before, text.clone())
            }
        };
        if matches!(kind, Kind::Update) && before == after {
            continue;
        }
        texts.push(ChangedText { kind, path: path(file), from, before, after });
    }
    texts
}

/// Returns the diff of all files; `None` if nothing changes, or if it is too long.
fn whole_diff(texts: &[ChangedText]) -> Option<String> {
    let mut whole = String::new();
    for ChangedText { kind, path, from, before, after } in texts {
        let (from, to) = match kind {
            Kind::Add => (None, Some(path.as_str())),
            Kind::Update | Kind::Move => {
                (Some(from.as_ref().unwrap_or(path).as_str()), Some(path.as_str()))
            }
            Kind::Delete => (Some(path.as_str()), None),
        };
        whole.push_str(&headed_diff((from, before), (to, after)));
        if whole.len() > MOST_BYTES {
            return None;
        }
    }
    Some(whole).filter(|whole| !whole.is_empty())
}

fn output(changes: &[ChangedFile], change_shown: ChangeShown) -> ToolOutput {
    let added: usize = changes.iter().map(|file| file.change.added).sum();
    let removed: usize = changes.iter().map(|file| file.change.removed).sum();
    let count = match changes.len() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let mut text = format!("Changed {count}: +{added} −{removed} lines\n");
    let (mut hunks, mut listed) = (String::new(), Vec::new());
    for ChangedFile { kind, path, from, change } in changes {
        let line = match from {
            Some(from) => format!("{} {from} to {path}", kind.name()),
            None => format!("{} {path}", kind.name()),
        };
        text.push_str(&format!("{line}\n"));
        let shown = change.shortened(DIFF_KEPT);
        if !shown.is_empty() && hunks.len() < DIFF_KEPT {
            hunks.push_str(&format!("*** {line}\n{}\n", shown.trim_end()));
        }
        let mut file = json!({ "path": path, "change": kind.name() });
        if let Some(from) = from {
            file["from"] = json!(from);
        }
        listed.push(file);
    }
    let shown = |most: usize| match hunks.len() <= most {
        true => hunks.clone(),
        false => format!("{}\n[the rest of the diff is left out]\n", head(&hunks, most).trim_end()),
    };
    if change_shown == ChangeShown::Yes {
        text.push_str(&format!("\n{}", shown(DIFF_SHOWN)));
    }
    let details = json!({ "files": listed, "diff": shown(DIFF_KEPT) });
    ToolOutput::text(text.trim_end()).with_details(details)
}
