//! The files that a conversation has read and changed, as far as its tool calls tell.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use protocol::{Message, ToolCall};

use super::details::CompactionDetails;

/// What a call does with its file.
enum FileUse {
    Read,
    Modified,
}

/// Adds the files of `messages` to those of the compaction before. A file that was modified is not
/// listed as read.
pub(super) fn files_of(
    messages: &[Arc<Message>],
    before: Option<&CompactionDetails>,
) -> CompactionDetails {
    let known = before.cloned().unwrap_or_default();
    let mut read: BTreeSet<String> = known.read_files.into_iter().collect();
    let mut modified: BTreeSet<String> = known.modified_files.into_iter().collect();
    let answers = messages.iter().filter_map(|message| match message.as_ref() {
        Message::Assistant(answer) => Some(answer),
        Message::User(_) | Message::ToolResult(_) => None,
    });
    for (use_of, path) in answers.flat_map(|answer| answer.calls()).filter_map(file_of) {
        match use_of {
            FileUse::Read => read.insert(path),
            FileUse::Modified => modified.insert(path),
        };
    }
    CompactionDetails {
        read_files: read.difference(&modified).cloned().collect(),
        modified_files: modified.into_iter().collect(),
        ..CompactionDetails::default()
    }
}

/// Returns the file of a call.
fn file_of(call: &ToolCall) -> Option<(FileUse, String)> {
    let use_of = match call.name.as_str() {
        "read" => FileUse::Read,
        "write" | "edit" => FileUse::Modified,
        _ => return None,
    };
    let path = ["path", "file_path"].iter().find_map(|key| call.arguments.get(*key)?.as_str())?;
    let shown = !path.is_empty() && !path.chars().any(char::is_control);
    shown.then(|| (use_of, path.to_owned()))
}

/// Returns the files as blocks below a summary, in at most `most` bytes.
pub(super) fn blocks(files: &CompactionDetails, most: usize) -> String {
    let lists = [("read-files", &files.read_files), ("modified-files", &files.modified_files)];
    let lists = lists.into_iter().filter(|(_, files)| !files.is_empty());
    let mut blocks = String::new();
    for (name, files) in lists {
        let (mut text, mut left) = (String::new(), files.len());
        for file in files {
            if text.len() + file.len() > most / 2 {
                break;
            }
            let _infallible = writeln!(text, "{file}");
            left -= 1;
        }
        if left > 0 {
            let _infallible = writeln!(text, "[and {left} more]");
        }
        let _infallible = write!(blocks, "\n\n<{name}>\n{text}</{name}>");
    }
    blocks
}
