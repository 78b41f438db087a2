//! The tool `find`: the paths that match a glob.

use std::sync::Arc;

use engine::ports::{Access, FileKind, ToolContext, ToolOutcome, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::builtin::{Builtin, Session, rename};
use crate::display::{self, SEARCH_BYTES};
use crate::error::ToolError;
use crate::globs::PathGlob;
use crate::search_place::{
    FOLDER_NAMES, SearchPlace, access, below, cannot_list, limit_notice, title, walk_notice,
};
use crate::walk::{Include, Walk, WalkOptions};

/// The tool `find`.
pub(crate) struct Find(Arc<Session>);

/// How many results there are at most, if the call does not say it.
const RESULTS: u64 = 1000;
const MAX_RESULTS: u64 = 10_000;

/// What to find.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FindArguments {
    /// A glob: *.rs is compared with names at any depth, src/**/*.rs with paths below the folder.
    pattern: String,
    /// The folder to search, relative to the folder you are in; that one if left out.
    path: Option<String>,
    /// Whether names that begin with a dot are searched; true if left out.
    hidden: Option<bool>,
    /// Whether what git ignores is left out; true if left out.
    gitignore: Option<bool>,
    /// How many results to skip.
    #[schemars(range(min = 0, max = 1_000_000))]
    offset: Option<u64>,
    /// How many results at most; 1000 if left out.
    #[schemars(range(min = 1, max = 10_000))]
    limit: Option<u64>,
}

impl Builtin for Find {
    const NAME: &'static str = "find";
    const DESCRIPTION: &'static str = "Finds files and folders by a glob, in the order of their \
        paths: folders end with /, symlinks with @ and are not followed. What git ignores is left \
        out.";
    const EXAMPLE: &'static str = r#"{"pattern":"*.rs","path":"src"}"#;

    type Arguments = FindArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "pattern", &["glob", "name"]);
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
        arguments: FindArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let glob = PathGlob::new(&arguments.pattern);
        let glob = glob.map_err(|error| ToolError::Arguments(format!("/pattern: {error}")))?;
        let (view, paths) = (context.view.as_ref(), &self.0.paths);
        let place = SearchPlace::find(view, paths, arguments.path.as_deref()).await?;
        let (folder, shown) = place.into_folder()?;
        let options = arguments.walk_options();
        let mut walk = Walk::new(view, folder.clone(), options).await;
        let mut results = Results::new(&arguments);
        while !results.is_full {
            if context.cancel.is_cancelled() {
                return Err(ToolError::Aborted);
            }
            let batch = walk.next().await;
            let batch = batch.map_err(|error| cannot_list(&shown, error))?;
            if batch.is_empty() {
                break;
            }
            for entry in batch {
                let below = below(&entry.path, &folder);
                if glob.selects(below) && !results.push(&paths.seen(&entry.path), entry.kind) {
                    break;
                }
            }
        }
        let notices = [walk_notice(&walk)];
        Ok(ToolOutcome::Output(results.output(notices.into_iter().flatten().collect())))
    }
}

impl FindArguments {
    fn walk_options(&self) -> WalkOptions {
        let ignored = if self.gitignore == Some(false) { Include::Yes } else { Include::No };
        let hidden = if self.hidden == Some(false) { Include::No } else { Include::Yes };
        WalkOptions { ignored, hidden }
    }
}

/// The results of a call.
struct Results {
    text: String,
    /// How many paths have matched, also those that are skipped.
    matched: u64,
    shown: u64,
    skip: u64,
    limit: u64,
    /// Whether there are more than are shown.
    is_full: bool,
}

impl Results {
    fn new(arguments: &FindArguments) -> Self {
        let limit = arguments.limit.unwrap_or(RESULTS).clamp(1, MAX_RESULTS);
        let skip = arguments.offset.unwrap_or(0);
        Self { text: String::new(), matched: 0, shown: 0, skip, limit, is_full: false }
    }

    /// Adds a path. Returns whether there is space for more.
    fn push(&mut self, path: &str, kind: FileKind) -> bool {
        if self.matched >= self.skip {
            self.is_full = self.shown == self.limit || self.text.len() >= SEARCH_BYTES;
            if self.is_full {
                return false;
            }
            self.text.push_str(path);
            self.text.push_str(display::kind_mark(kind));
            self.text.push('\n');
            self.shown += 1;
        }
        self.matched += 1;
        true
    }

    fn output(self, mut notices: Vec<String>) -> ToolOutput {
        let mut text = match (self.shown, self.matched) {
            (0, 0) => "No files found matching pattern".to_owned(),
            (0, matched) => format!("No more files: {matched} match the pattern"),
            _ => self.text.trim_end().to_owned(),
        };
        if self.is_full {
            let notice = limit_notice("results", self.shown, self.limit, MAX_RESULTS, self.skip);
            notices.insert(0, notice);
        }
        if !notices.is_empty() {
            text.push_str(&format!("\n\n[{}]", notices.join(". ")));
        }
        let details = json!({ "results": self.shown, "truncated": self.is_full });
        ToolOutput::text(text).with_details(details)
    }
}
