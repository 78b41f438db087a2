//! The tool `read`: lines of a file, an image, or the names in a folder and in its folders.

mod file_page;
mod folder;
mod image;
mod page;

use std::sync::Arc;

use engine::ports::{
    Access, AccessClass, Concurrency, Found, ToolContext, ToolOutcome, ToolOutput,
};
use protocol::quote;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::file_page::{FileContent, artifact_page, file_content};
use self::folder::folder_output;
use self::image::image_output;
use self::page::{LineRange, Page, PageEnd, Total};
use crate::artifact;
use crate::builtin::{Builtin, Session, rename, text};
use crate::display::{self, READ_BYTES, READ_COLUMNS, READ_LINES, SCAN_BYTES};
use crate::error::{FileError, ToolError};

/// The tool `read`.
pub(crate) struct Read(Arc<Session>);

/// What to read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadArguments {
    /// The file, or the folder, relative to the folder you are in; or artifact://N or agent://NAME.
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
    const DESCRIPTION: &'static str = "Reads a text file: its lines, each after its number and \
        two spaces, which are not part of the file. Long files are read in parts with offset and \
        limit. An image is shown as it is. The path artifact://N is the whole output of a call whose result names it. For a \
        folder, lists the names in it and in its folders: folders end with /, symlinks with @.";
    const EXAMPLE: &'static str = r#"{"path":"src/main.rs","offset":1,"limit":200}"#;

    type Arguments = ReadArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "path", &["file_path", "filePath", "file", "filename"]);
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    fn classify(arguments: &Map<String, Value>) -> Access {
        let class = AccessClass::Read(vec![text(arguments, "path")]);
        Access { class, concurrency: Concurrency::Shared }
    }

    async fn run(
        &self,
        arguments: ReadArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let (view, paths, text) = (context.view.as_ref(), &self.0.paths, &arguments.path);
        let shown = quote(text);
        let range = LineRange {
            offset: arguments.offset.unwrap_or(1).max(1),
            limit: arguments.limit.unwrap_or(READ_LINES).clamp(1, READ_LINES),
        };
        if let Some(file) = artifact::open(&context.artifacts, text).await? {
            let page = artifact_page(file, range, &shown).await?;
            let output = page_output(&page, range, &arguments, &shown, &shown)?;
            return Ok(ToolOutcome::Output(output));
        }
        let output = match paths.find(view, text).await? {
            found @ Found::Missing { .. } => {
                return Err(paths.missing(view, text, &found).await.into());
            }
            Found::Folder(_) if arguments.offset.is_some_and(|offset| offset > 1) => {
                return Err(ReadError::FolderOffset(shown).into());
            }
            Found::Folder(path) => {
                let listed = folder_output(view, &path, arguments.limit).await;
                listed.map_err(|error| FileError::of("list", &shown, error))?
            }
            Found::File { path, .. } => {
                let seen_path = display::path(path.as_path());
                match file_content(view, &path, range, &shown, &self.0.seen).await? {
                    FileContent::Page(page) => {
                        page_output(&page, range, &arguments, &shown, &seen_path)?
                    }
                    FileContent::Image(bytes, mime_type) => {
                        let image = (bytes, mime_type);
                        image_output(image, self.0.images, &shown, seen_path).await?
                    }
                }
            }
        };
        Ok(ToolOutcome::Output(output))
    }
}

/// Why no lines can be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The offset is beyond the end of the file.
    #[error("offset {offset} is beyond the end of {path}, which has {total} lines")]
    BeyondEnd {
        /// The file.
        path: String,
        /// The requested line.
        offset: u64,
        /// The number of lines in the file.
        total: u64,
    },
    /// The offset is behind the part of the file that is searched.
    #[error(
        "line {offset} of {path} is deeper in it than read looks ({megabytes} MB); use bash, for \
         instance: sed -n '{offset},+200p' FILE"
    )]
    TooDeep {
        /// The file.
        path: String,
        /// The requested line.
        offset: u64,
        /// How many megabytes are searched.
        megabytes: u64,
    },
    /// A folder is read from an offset.
    #[error(
        "{0} is a folder, which is listed from its first name on; use ls with a limit for more names"
    )]
    FolderOffset(String),
}

impl From<ReadError> for ToolError {
    fn from(error: ReadError) -> Self {
        Self::own(error)
    }
}

/// Returns the output for a page of a file, with notices before and after the lines.
fn page_output(
    page: &Page,
    range: LineRange,
    arguments: &ReadArguments,
    shown: &str,
    path: &str,
) -> Result<ToolOutput, ReadError> {
    let LineRange { offset, .. } = range;
    if page.lines == 0 {
        match page.total {
            Total::Exactly(0) if offset == 1 => {}
            Total::Exactly(total) => {
                return Err(ReadError::BeyondEnd { path: shown.to_owned(), offset, total });
            }
            Total::MoreThan(_) => {
                let megabytes = SCAN_BYTES >> 20;
                return Err(ReadError::TooDeep { path: shown.to_owned(), offset, megabytes });
            }
        }
    }
    let mut text = String::new();
    let is_whole = page.lines == 0 || page.ending == PageEnd::File;
    let last = (offset + page.lines).saturating_sub(1);
    let (total, next) = (page.total, last + 1);
    let asked = arguments.limit.is_some();
    if !is_whole && page.ending == PageEnd::Limit && !asked {
        let lines = if offset == 1 { format!("first {last}") } else { format!("{offset}-{last}") };
        text.push_str(&format!(
            "WARNING: File has {total} lines, showing {lines}. Use offset={next} to continue.\n\n"
        ));
    }
    text.push_str(if page.lines == 0 { "(empty file)" } else { &page.text });
    let mut notices = Vec::new();
    if !is_whole && (asked || page.ending == PageEnd::Bytes) {
        let limit = match page.ending {
            PageEnd::Bytes => format!(" ({}KB limit)", READ_BYTES >> 10),
            PageEnd::File | PageEnd::Limit => String::new(),
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
        let notice = "Bytes that are not in its encoding are shown as \u{fffd}; edit refuses it";
        notices.push(notice.into());
    }
    notices.extend(page.encoding.note().map(str::to_owned));
    if page.has_unseen {
        notices.push("Characters that cannot be seen are shown as \u{fffd}".into());
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
    Ok(ToolOutput::text(text).with_details(details))
}

#[cfg(test)]
mod tests {
    use super::page::{CHUNK, PageReader};
    use super::*;

    /// Reads lines of a file with ten thousand lines, of which only the first 64 KiB are searched.
    fn deep(offset: u64, limit: u64) -> Result<String, String> {
        let file = "0123456789abcde\n".repeat(10_000);
        let range = LineRange { offset, limit };
        let mut pager = PageReader::new(range, 65_536);
        let page = file.as_bytes().chunks(CHUNK).find_map(|chunk| pager.push(chunk)).unwrap();
        let path = "huge".to_owned();
        let arguments = ReadArguments { path, offset: Some(offset), limit: Some(limit) };
        let output = page_output(&page, range, &arguments, "huge", "huge");
        let text = |output: ToolOutput| match output.content.as_slice() {
            [protocol::Content::Text { text }] => text.clone(),
            other => panic!("{other:?}"),
        };
        output.map(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_larger_than_is_looked_at_is_read_where_it_can_be() {
        let end = "[Showing lines 1-1 of more than 4096. Use offset=2 to continue]";
        assert!(deep(1, 1).unwrap().ends_with(end), "{}", deep(1, 1).unwrap());
        let begun = "[Showing lines 4096-4096 of more than 4096 (128KB limit). Use offset=4097 to \
                     continue]";
        assert!(deep(4096, 9).unwrap().ends_with(begun), "{}", deep(4096, 9).unwrap());
        assert_eq!(
            deep(4097, 9).unwrap_err(),
            "line 4097 of huge is deeper in it than read looks (256 MB); use bash, for instance: \
             sed -n '4097,+200p' FILE"
        );
    }
}
