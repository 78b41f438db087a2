//! The tool `ast_edit`: shows a rewrite of code by its syntax, and leaves it pending for `resolve`.

use std::sync::Arc;

use async_trait::async_trait;
use engine::ports::{Access, PendingAction, ToolContext, ToolOutcome, ToolOutput, Visibility};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::apply_patch::{NewText, write_texts};
use crate::ast_grep::reshape;
use crate::builtin::{Builtin, Requires, Session, rename, run_blocking};
use crate::change::diff;
use crate::code_search::{CodeFile, CodeQuery, find_code};
use crate::display::{DIFF_KEPT, DIFF_SHOWN, head};
use crate::error::ToolError;
use crate::preview::file_diff;
use crate::search_place::{access, title};

/// The tool `ast_edit`.
pub(crate) struct AstEdit(Arc<Session>);

/// How many matches are rewritten at most.
const MAX_MATCHES: usize = 2_000;

/// What to rewrite.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AstEditArguments {
    /// Code, in which $NAME stands for one piece of code and $$$NAME for any number of them.
    #[schemars(length(min = 1, max = 4000))]
    pattern: String,
    /// What is to be there instead, with the same names.
    #[schemars(length(max = 4000))]
    rewrite: String,
    /// The language: go, javascript, python, rust, tsx or typescript.
    language: String,
    /// The folder or file to rewrite, relative to the folder you are in; that one if left out.
    path: Option<String>,
    /// A glob of the files to rewrite, such as src/**/*.rs.
    glob: Option<String>,
}

impl Builtin for AstEdit {
    const NAME: &'static str = "ast_edit";
    const DESCRIPTION: &'static str = "Rewrites all code that matches a pattern of its syntax, as ast_grep finds \
        it: first it only shows the changes. Then call resolve to apply or discard them.";
    const EXAMPLE: &'static str =
        r#"{"pattern":"$A.unwrap()","rewrite":"$A?","language":"rust","path":"src"}"#;
    const VISIBILITY: Visibility = Visibility::OnRequest;
    const REQUIRES: Requires = Requires::Syntax;
    const LEAVES_PENDING: bool = true;

    type Arguments = AstEditArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        reshape(arguments);
        rename(arguments, "rewrite", &["replacement", "out", "fix"]);
    }

    fn title(arguments: &Map<String, Value>) -> Option<String> {
        Some(title(arguments))
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    // The change is a call of `resolve`.
    fn classify(arguments: &Map<String, Value>) -> Access {
        access(arguments)
    }

    async fn run(
        &self,
        arguments: AstEditArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let AstEditArguments { pattern, rewrite, language, path, glob } = arguments;
        let query = CodeQuery { language, pattern, rewrite: Some(rewrite), path, glob };
        let found = find_code(&self.0, context, query, MAX_MATCHES).await?;
        if found.is_full {
            let more = format!("more than {MAX_MATCHES} matches; name a folder, a file or a glob");
            return Err(ToolError::Arguments(more));
        }
        let notices = found.notices();
        let notice = match notices.is_empty() {
            true => String::new(),
            false => format!("\n\n[{}]", notices.join(". ")),
        };
        let (matches, session) = (found.matches, Arc::clone(&self.0));
        let planned = run_blocking(move || Planned::new(session, found.files)).await?;
        let count = planned.texts.len();
        if count == 0 {
            let text = format!("No matches found that would change{notice}");
            return Ok(ToolOutcome::Output(ToolOutput::text(text)));
        }
        let text = format!(
            "Would change {matches} matches in {count} files. Nothing is changed yet: call resolve with the \
             action apply or discard.{notice}\n\n{}",
            shortened(&planned.diff, DIFF_SHOWN)
        );
        let paths: Vec<_> = planned.texts.iter().map(|text| text.path.clone()).collect();
        let details = json!({
            "matches": matches, "files": paths, "diff": shortened(&planned.diff, DIFF_KEPT),
        });
        context.pending.leave(Arc::new(planned));
        Ok(ToolOutcome::Output(ToolOutput::text(text.trim_end()).with_details(details)))
    }
}

fn shortened(diff: &str, most: usize) -> String {
    match diff.len() <= most {
        true => diff.to_owned(),
        false => format!("{}\n[the rest of the diff is left out]", head(diff, most).trim_end()),
    }
}

/// The rewrite of some files, which is not applied yet.
struct Planned {
    session: Arc<Session>,
    texts: Vec<NewText>,
    /// The paths of the files from the root.
    paths: Vec<String>,
    /// The diff, as a model is shown it, and as a person judges it, if it is not too long.
    diff: String,
    judged: Option<String>,
}

impl Planned {
    fn new(session: Arc<Session>, files: Vec<CodeFile>) -> Self {
        let (mut texts, mut paths) = (Vec::new(), Vec::new());
        let (mut shown, mut judged) = (String::new(), Some(String::new()));
        for CodeFile { path, file, matches } in files {
            let before = file.text;
            let mut after = String::with_capacity(before.len());
            let mut done = 0;
            for found in matches {
                after.push_str(&before[done..found.range.start]);
                after.push_str(&found.replacement.unwrap_or_default());
                done = found.range.end;
            }
            after.push_str(&before[done..]);
            if after == before {
                continue;
            }
            let name = session.paths.seen(&path);
            if shown.len() < DIFF_KEPT {
                let change = diff(&before, &after).shortened(DIFF_KEPT);
                shown.push_str(&format!("*** {name}\n{}\n", change.trim_end()));
            }
            judged =
                judged.zip(file_diff(&name, Some(&before), &after)).map(|(all, one)| all + &one);
            paths.push(path.as_path().to_string_lossy().into_owned());
            texts.push(NewText { path: name, before, after });
        }
        Self { session, texts, paths, diff: shown, judged }
    }
}

#[async_trait]
impl PendingAction for Planned {
    fn tool(&self) -> &str {
        AstEdit::NAME
    }

    fn paths(&self) -> Vec<String> {
        self.paths.clone()
    }

    fn diff(&self) -> Option<String> {
        self.judged.clone()
    }

    async fn apply(&self, context: &ToolContext) -> ToolOutcome {
        let written = write_texts(&self.session, context, &self.texts).await;
        written.unwrap_or_else(|error| error.for_model(context.change_shown).into_outcome())
    }
}
