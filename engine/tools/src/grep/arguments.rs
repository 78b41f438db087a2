//! The arguments of `grep`, and what they select.

use std::path::Path;

use ignore::types::{Types, TypesBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use similar::get_close_matches;

use super::file_search::LineOptions;
use crate::error::ToolError;
use crate::globs::PathGlob;
use crate::walk::Include;

/// How many matches are shown if the call does not say it, and at most.
const MATCHES: u64 = 100;
pub(super) const MAX_MATCHES: u64 = 2_000;

/// The most lines that are shown before and after a match.
const MAX_CONTEXT: u64 = 20;

/// What to search for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct GrepArguments {
    /// A regular expression in the syntax of Rust and ripgrep, or a text if literal is true.
    pub(super) pattern: String,
    /// The file or folder to search, relative to the folder you are in; that one if left out; or artifact://N or agent://NAME.
    pub(super) path: Option<String>,
    /// Only files that match this glob, for instance *.rs or src/**; with ! before it, only others.
    glob: Option<String>,
    /// Only files of this type, for instance rust, py or js.
    r#type: Option<String>,
    /// Whether upper and lower case are the same.
    ignore_case: Option<bool>,
    /// Whether the pattern is a plain text.
    literal: Option<bool>,
    /// Whether a match may span lines.
    multiline: Option<bool>,
    /// How many lines before and after each match are shown.
    #[schemars(range(min = 0, max = 20))]
    context: Option<u64>,
    /// Whether what git ignores is left out; true if left out.
    gitignore: Option<bool>,
    /// How many matches to skip.
    #[schemars(range(min = 0, max = 1_000_000))]
    offset: Option<u64>,
    /// How many matches at most; 100 if left out.
    #[schemars(range(min = 1, max = 2_000))]
    limit: Option<u64>,
}

impl GrepArguments {
    pub(super) fn limit(&self) -> u64 {
        self.limit.unwrap_or(MATCHES).clamp(1, MAX_MATCHES)
    }

    pub(super) fn skip(&self) -> u64 {
        self.offset.unwrap_or(0)
    }

    /// Returns whether files are searched that git ignores.
    pub(super) fn ignored(&self) -> Include {
        if self.gitignore == Some(false) { Include::Yes } else { Include::No }
    }

    /// Returns whether lines around matches are shown.
    pub(super) fn has_context(&self) -> bool {
        self.context.is_some_and(|lines| lines > 0)
    }

    pub(super) fn line_options(&self) -> LineOptions {
        let is_literal = self.literal == Some(true);
        // Only a match over several lines has a line break.
        let has_break =
            self.pattern.contains('\n') || (!is_literal && self.pattern.contains("\\n"));
        let context = self.context.unwrap_or(0).min(MAX_CONTEXT);
        LineOptions {
            pattern: self.pattern.clone(),
            ignores_case: self.ignore_case == Some(true),
            is_literal,
            spans_lines: self.multiline == Some(true) || has_break,
            context: usize::try_from(context).unwrap_or_default(),
        }
    }

    /// Returns which files are searched.
    pub(super) fn filter(&self) -> Result<FileFilter, ToolError> {
        let glob = self.glob.as_deref().filter(|glob| !glob.is_empty()).map(PathGlob::new);
        let glob = glob.transpose();
        let glob = glob.map_err(|error| ToolError::Arguments(format!("/glob: {error}")))?;
        let types = self.r#type.as_deref().filter(|name| !name.is_empty()).map(types);
        Ok(FileFilter { glob, types: types.transpose()? })
    }
}

/// Which files are searched.
pub(super) struct FileFilter {
    glob: Option<PathGlob>,
    types: Option<Types>,
}

impl FileFilter {
    /// Returns whether a file is searched; its path is relative to the searched folder.
    pub(super) fn selects(&self, path: &Path) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.selects(path))
            && self.types.as_ref().is_none_or(|types| types.matched(path, false).is_whitelist())
    }
}

fn types(name: &str) -> Result<Types, ToolError> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    builder.select(name).build().map_err(|_unknown| {
        let names = builder.definitions();
        let names: Vec<&str> = names.iter().map(|known| known.name()).collect();
        let close = get_close_matches(name, &names, 3, 0.6).join(", ");
        let hint =
            if close.is_empty() { "use glob".to_owned() } else { format!("like it: {close}") };
        ToolError::Arguments(format!("/type: there is no file type `{name}`; {hint}"))
    })
}
