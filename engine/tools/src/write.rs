//! The tool `write`: makes a file, or puts new content in the place of the old.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use engine::ports::{ToolAnswer, ToolConcurrency, ToolText};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::arguments::rename;
use crate::builtin::{Builtin, Errand};
use crate::desk::Desk;
use crate::limits::WHOLE_FILE;
use crate::shown;
use crate::tree::{FileError, Found, Seen, Tree, make_folders, replace, seen};
use crate::trouble::Trouble;

/// Writes.
pub(crate) struct Write;

/// What to write.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteArguments {
    /// The file, relative to the folder you are in. Folders that are not there are made.
    path: String,
    /// All that is to be in it.
    content: String,
}

impl Builtin for Write {
    const NAME: &'static str = "write";
    const CAPABILITY: &'static str = "F104";
    const DESCRIPTION: &'static str = "Writes a whole file: makes it, with the folders it needs, \
        or replaces all that is in it. To change a part of a file, use edit.";
    // A later call of the same answer counts on what this one has written.
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Exclusive;
    const EXAMPLE: &'static str = r#"{"path":"src/lib.rs","content":"pub mod parser;\n"}"#;

    type Arguments = WriteArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "path", &["file_path", "filePath", "file", "filename"]);
        rename(arguments, "content", &["contents", "text", "file_text"]);
    }

    async fn call(
        arguments: WriteArguments,
        desk: Arc<Desk>,
        errand: Errand,
    ) -> Result<ToolAnswer, Trouble> {
        let tree = Arc::clone(&desk.tree);
        desk.change(&errand.stop, move || write(&tree, &arguments)).await
    }
}

fn write(tree: &Tree, arguments: &WriteArguments) -> Result<ToolText, Trouble> {
    let (shown, bytes) = (shown::quote(&arguments.path), arguments.content.as_bytes());
    let size = bytes.len() as u64;
    if size > WHOLE_FILE {
        return Err(FileError::TooLarge { path: shown, bytes: size, most: WHOLE_FILE }.into());
    }
    let spot = spot(tree, &arguments.path, &shown)?;
    replace(&spot.folder, &spot.name, bytes, spot.before, &shown)?;
    let text = match spot.size {
        None => format!("Created new file {shown} ({size} bytes)"),
        Some(before) => format!("Overwrote {shown} ({size} bytes, before: {before})"),
    };
    let details = json!({
        "path": shown::path(&spot.path), "size": size, "isNew": spot.before.is_none(),
    });
    Ok(ToolText { text, details: Some(details) })
}

/// Where to write.
struct Spot {
    folder: OwnedFd,
    name: OsString,
    path: PathBuf,
    /// What is there now.
    before: Option<Seen>,
    size: Option<i64>,
}

fn spot(tree: &Tree, path: &str, shown: &str) -> Result<Spot, Trouble> {
    match tree.find_to_change(path)? {
        Found::Folder { .. } => Err(FileError::Folder(shown.to_owned()).into()),
        Found::File { folder, name, stat, path } => {
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Err(FileError::Special(shown.to_owned()).into());
            }
            Ok(Spot { folder, name, path, before: Some(seen(&stat)), size: Some(stat.st_size) })
        }
        Found::Missing { .. } if path.ends_with('/') => {
            Err(FileError::Folder(shown.to_owned()).into())
        }
        Found::Missing { folder, above, mut rest } => {
            let name = rest.pop().unwrap_or_default();
            let path = above.join(rest.iter().collect::<PathBuf>()).join(&name);
            let folder = make_folders(folder, &rest)
                .map_err(|error| FileError::cannot("make the folders of", shown, error))?;
            Ok(Spot { folder, name, path, before: None, size: None })
        }
    }
}

#[cfg(test)]
mod tests;
