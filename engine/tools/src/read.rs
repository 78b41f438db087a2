//! The tool `read`: lines of a file, or the names in a folder.

mod page;

use std::io::{Seek as _, SeekFrom};
use std::sync::Arc;

use engine::ports::{ToolAnswer, ToolConcurrency, ToolText};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::page::{Ending, Page, Total, Wanted, page};
use crate::arguments::rename;
use crate::builtin::{Builtin, Errand};
use crate::desk::Desk;
use crate::limits::{LISTED, LOOKED_AT, READ_BYTES, READ_COLUMNS, READ_LINES, SCAN_BYTES};
use crate::shown;
use crate::tree::{FileError, Found, Listing, Tree, list, open_file};
use crate::trouble::Trouble;

/// Reads.
pub(crate) struct Read;

/// What to read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadArguments {
    /// The file, or the folder, relative to the folder you are in.
    path: String,
    /// The line to begin with; the first is 1.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    offset: Option<u64>,
    /// How many lines at most.
    #[schemars(range(min = 1, max = 5000))]
    limit: Option<u64>,
}

impl Builtin for Read {
    const NAME: &'static str = "read";
    const CAPABILITY: &'static str = "F102";
    const DESCRIPTION: &'static str = "Reads a text file: its lines, each after its number and \
        two spaces, which are not part of the file. Long files are read in parts with offset and \
        limit. For a folder, lists the names in it: folders end with /, symlinks \
        with @.";
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Shared;
    const EXAMPLE: &'static str = r#"{"path":"src/main.rs","offset":1,"limit":200}"#;

    type Arguments = ReadArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "path", &["file_path", "filePath", "file", "filename"]);
    }

    async fn call(
        arguments: ReadArguments,
        desk: Arc<Desk>,
        _errand: Errand,
    ) -> Result<ToolAnswer, Trouble> {
        let tree = Arc::clone(&desk.tree);
        desk.aside(move || read(&tree, &arguments).map(ToolAnswer::Said)).await
    }
}

fn read(tree: &Tree, arguments: &ReadArguments) -> Result<ToolText, Trouble> {
    let shown = shown::quote(&arguments.path);
    match tree.find(&arguments.path)? {
        found @ Found::Missing { .. } => Err(tree.missing(&arguments.path, &found).into()),
        Found::Folder { fd, path } => {
            let listing = list(&fd, LOOKED_AT);
            let listing = listing.map_err(|error| FileError::cannot("list", &shown, error))?;
            Ok(listed(&listing, &shown::path(&path)))
        }
        Found::File { folder, name, stat, path } => {
            let (mut file, stat) = open_file(&folder, &name, &stat, &shown)?;
            let cannot = |error| FileError::cannot("read", &shown, error);
            let is_binary = page::is_binary(&mut file).map_err(cannot)?;
            if is_binary {
                let bytes = u64::try_from(stat.st_size).unwrap_or_default();
                return Err(FileError::Binary { path: shown, bytes }.into());
            }
            file.seek(SeekFrom::Start(0)).map_err(cannot)?;
            let wanted = Wanted {
                offset: arguments.offset.unwrap_or(1).max(1),
                limit: arguments.limit.unwrap_or(READ_LINES).clamp(1, READ_LINES),
            };
            let page = page(file, wanted, SCAN_BYTES).map_err(cannot)?;
            told(&page, wanted, arguments, &shown, &shown::path(&path))
        }
    }
}

fn listed(listing: &Listing, path: &str) -> ToolText {
    let mut text = String::new();
    for (name, kind) in listing.names.iter().take(LISTED) {
        text.push_str(&shown::name(name));
        text.push_str(match kind {
            FileType::Directory => "/\n",
            FileType::Symlink => "@\n",
            _ => "\n",
        });
    }
    let (count, more) = (listing.names.len(), if listing.is_cut { "more than " } else { "" });
    if count == 0 {
        text.push_str("(empty folder)\n");
    }
    if count > LISTED || listing.is_cut {
        text.push_str(&format!("\n[Showing {LISTED} of {more}{count} names. Use bash for more]\n"));
    }
    let details = json!({ "path": path, "entries": count, "truncated": count > LISTED });
    ToolText { text: text.trim_end().to_owned(), details: Some(details) }
}

/// Says what was read, with what is to be known about it before and after the lines.
fn told(
    page: &Page,
    wanted: Wanted,
    arguments: &ReadArguments,
    shown: &str,
    path: &str,
) -> Result<ToolText, Trouble> {
    let Wanted { offset, .. } = wanted;
    if page.lines == 0 {
        match page.total {
            Total::Exactly(0) if offset == 1 => {}
            Total::Exactly(total) => {
                return Err(Trouble::BeyondEnd { path: shown.to_owned(), offset, total });
            }
            Total::MoreThan(_) => {
                let megabytes = SCAN_BYTES >> 20;
                return Err(Trouble::TooDeep { path: shown.to_owned(), offset, megabytes });
            }
        }
    }
    let mut text = String::new();
    let is_whole = page.lines == 0 || page.ending == Ending::File;
    let last = (offset + page.lines).saturating_sub(1);
    let (total, next) = (page.total, last + 1);
    let asked = arguments.limit.is_some();
    if !is_whole && page.ending == Ending::Limit && !asked {
        let range = if offset == 1 { format!("first {last}") } else { format!("{offset}-{last}") };
        text.push_str(&format!(
            "WARNING: File has {total} lines, showing {range}. Use offset={next} to continue.\n\n"
        ));
    }
    text.push_str(if page.lines == 0 { "(empty file)" } else { &page.text });
    let mut notices = Vec::new();
    if !is_whole && (asked || page.ending == Ending::Bytes) {
        let limit = match page.ending {
            Ending::Bytes => format!(" ({}KB limit)", READ_BYTES >> 10),
            Ending::File | Ending::Limit => String::new(),
        };
        notices.push(format!(
            "Showing lines {offset}-{last} of {total}{limit}. Use offset={next} to continue"
        ));
    }
    if page.is_long {
        notices
            .push(format!("Some lines truncated to {READ_COLUMNS} bytes; use bash for the rest"));
    }
    if page.is_lossy {
        notices
            .push("Bytes that are not UTF-8 are shown as \u{fffd}; edit refuses this file".into());
    }
    if !notices.is_empty() {
        text.push_str(&format!("\n\n[{}]", notices.join(". ")));
    }
    let counted = match total {
        Total::Exactly(total) => Some(total),
        Total::MoreThan(_) => None,
    };
    let details = json!({
        "path": path, "totalLines": counted, "linesRead": page.lines, "offset": offset,
        "truncated": !is_whole,
    });
    Ok(ToolText { text, details: Some(details) })
}

#[cfg(test)]
mod tests;
