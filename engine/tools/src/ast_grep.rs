//! The tool `ast_grep`: the code that matches a pattern of its syntax.

use std::sync::Arc;

use engine::ports::{Access, ToolContext, ToolOutcome, ToolOutput, Visibility};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::builtin::{Builtin, Requires, Session, rename};
use crate::code_search::{CodeFile, CodeQuery, FoundCode, find_code};
use crate::display::{SEARCH_BYTES, SEARCH_COLUMNS, head, visible};
use crate::error::ToolError;
use crate::search_place::{FOLDER_NAMES, access, title};

/// The tool `ast_grep`.
pub(crate) struct AstGrep(Arc<Session>);

/// How many matches are shown, if the call does not say it, and how many lines of each.
const MATCHES: usize = 100;
const MAX_MATCHES: usize = 1_000;
const SHOWN_LINES: usize = 5;

/// What to search.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AstGrepArguments {
    /// Code, in which $NAME stands for one piece of code and $$$NAME for any number of them.
    #[schemars(length(min = 1, max = 4000))]
    pattern: String,
    /// The language: go, javascript, python, rust, tsx or typescript.
    language: String,
    /// The folder or file to search, relative to the folder you are in; that one if left out.
    path: Option<String>,
    /// A glob of the files to search, such as src/**/*.rs.
    glob: Option<String>,
    /// How many matches at most; 100 if left out.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
}

/// Gives the arguments that models spell differently their names.
pub(crate) fn reshape(arguments: &mut Map<String, Value>) {
    rename(arguments, "pattern", &["query", "ast_pattern"]);
    rename(arguments, "language", &["lang"]);
    rename(arguments, "path", FOLDER_NAMES);
    rename(arguments, "path", &["file", "file_path"]);
    rename(arguments, "glob", &["include"]);
}

impl Builtin for AstGrep {
    const NAME: &'static str = "ast_grep";
    const DESCRIPTION: &'static str = "Searches code by its syntax: the pattern is code, in which $NAME stands \
        for an expression, a name or a statement, and $$$NAME for several, such as all arguments. Blanks and \
        comments do not count. What git ignores is left out.";
    const EXAMPLE: &'static str = r#"{"pattern":"$A.unwrap()","language":"rust","path":"src"}"#;
    const VISIBILITY: Visibility = Visibility::OnRequest;
    const REQUIRES: Requires = Requires::Syntax;

    type Arguments = AstGrepArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        reshape(arguments);
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
        arguments: AstGrepArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let AstGrepArguments { pattern, language, path, glob, limit } = arguments;
        let limit = limit.unwrap_or(MATCHES).clamp(1, MAX_MATCHES);
        let query = CodeQuery { language, pattern, rewrite: None, path, glob };
        let mut found = find_code(&self.0, context, query, limit).await?;
        let mut text = String::new();
        for file in &found.files {
            if text.len() >= SEARCH_BYTES {
                break;
            }
            text.push_str(&format!("{}\n", self.0.paths.seen(&file.path)));
            push_matches(&mut text, file);
            text.push('\n');
        }
        // What does not fit is not shown.
        found.is_full |= text.len() >= SEARCH_BYTES;
        Ok(ToolOutcome::Output(output(text, &found)))
    }
}

fn push_matches(text: &mut String, CodeFile { file, matches, .. }: &CodeFile) {
    let (mut line, mut counted) = (1, 0);
    for found in matches {
        if text.len() >= SEARCH_BYTES {
            return;
        }
        line += file.text[counted..found.range.start].matches('\n').count();
        counted = found.range.start;
        // From the beginning of its first line to the end of its last.
        let begin = file.text[..found.range.start].rfind('\n').map_or(0, |end| end + 1);
        let end = file.text[found.range.end..].find('\n');
        let end = end.map_or(file.text.len(), |end| found.range.end + end);
        for (number, shown) in file.text[begin..end].lines().take(SHOWN_LINES).enumerate() {
            let mark = if number == 0 { ':' } else { '-' };
            let shown = head(shown.trim_end_matches('\r'), SEARCH_COLUMNS);
            text.push_str(&format!("{}{mark}{}\n", line + number, visible(shown)));
        }
    }
}

fn output(text: String, found: &FoundCode) -> ToolOutput {
    let mut notices = found.notices();
    if found.is_full {
        notices.insert(
            0,
            "There are more matches; name a folder, a glob or a larger limit".to_owned(),
        );
    }
    let mut text = match text.is_empty() {
        true => "No matches found".to_owned(),
        false => text.trim_end().to_owned(),
    };
    if !notices.is_empty() {
        text.push_str(&format!("\n\n[{}]", notices.join(". ")));
    }
    let details = json!({
        "matches": found.matches, "files": found.files.len(), "truncated": found.is_full,
    });
    ToolOutput::text(text).with_details(details)
}
