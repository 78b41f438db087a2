//! The tool `ls`: the names in a folder, with the sizes of its files.

use std::sync::Arc;

use engine::ports::{
    Access, FolderContents, FolderRequest, Sizes, ToolContext, ToolOutcome, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::builtin::{Builtin, Session, rename};
use crate::display::{self, SCANNED_NAMES};
use crate::error::ToolError;
use crate::search_place::{FOLDER_NAMES, SearchPlace, access, cannot_list, title};

/// The tool `ls`.
pub(crate) struct Ls(Arc<Session>);

/// How many names are listed, if the call does not say it, and at most.
const NAMES: usize = 500;
const MAX_NAMES: usize = 5_000;

/// What to list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LsArguments {
    /// The folder, relative to the folder you are in; that one if left out.
    path: Option<String>,
    /// How many names at most; 500 if left out.
    #[schemars(range(min = 1, max = 5_000))]
    limit: Option<u64>,
}

impl Builtin for Ls {
    const NAME: &'static str = "ls";
    const DESCRIPTION: &'static str = "Lists the names in a folder, also those that git ignores: \
        folders end with /, symlinks with @, and the size of a file in bytes follows its name.";
    const EXAMPLE: &'static str = r#"{"path":"src"}"#;

    type Arguments = LsArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "path", FOLDER_NAMES);
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
        arguments: LsArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let view = context.view.as_ref();
        let place = SearchPlace::find(view, &self.0.paths, arguments.path.as_deref()).await?;
        let (folder, shown) = place.into_folder()?;
        let failed = |error| cannot_list(&shown, error);
        let request = FolderRequest { most: SCANNED_NAMES, enough: 1, sizes: Sizes::Read };
        let read = view.read_folders(std::slice::from_ref(&folder), request).await;
        let contents = match read.map_err(failed)?.into_iter().next() {
            Some(contents) => contents.map_err(failed)?,
            None => FolderContents::default(),
        };
        let limit = arguments.limit.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(NAMES).clamp(1, MAX_NAMES);
        Ok(ToolOutcome::Output(listing(contents, limit, &display::path(folder.as_path()))))
    }
}

fn listing(mut contents: FolderContents, limit: usize, path: &str) -> ToolOutput {
    contents.sort_for_people();
    let count = contents.entries.len();
    let mut text = String::new();
    for entry in contents.entries.iter().take(limit) {
        text.push_str(&display::name(&entry.name));
        text.push_str(display::kind_mark(entry.kind));
        if let Some(size) = entry.size {
            text.push_str(&format!("  {size}"));
        }
        text.push('\n');
    }
    if count == 0 {
        text.push_str("(empty folder)");
    }
    let is_cut = count > limit || contents.is_cut;
    if is_cut {
        let more = if contents.is_cut { "more than " } else { "" };
        let larger = (limit * 2).min(MAX_NAMES);
        let how = match larger > limit {
            true => format!("Use limit={larger} for more"),
            false => "Use find with a glob for the others".to_owned(),
        };
        text.push_str(&format!("\n[Showing {limit} of {more}{count} names. {how}]"));
    }
    let details = json!({ "path": path, "entries": count, "truncated": is_cut });
    ToolOutput::text(text.trim_end()).with_details(details)
}
