//! The output of `read` for a folder: the names in it, and some of those in its folders.

use std::sync::Arc;

use engine::ports::{
    FileKind, FolderContents, FolderEntry, FolderRequest, Sizes, ToolOutput, ViewError, ViewPath,
    WorkspaceView,
};
use serde_json::json;

use crate::display::{self, LISTED_NAMES, SCANNED_NAMES};
use crate::ignore_rules::{GIT, IgnoreRules};

/// How many names are listed of each folder in the folder.
const INNER_NAMES: usize = 12;

/// Returns the output for a folder, of at most `limit` names if there is one.
pub(super) async fn folder_output(
    view: &dyn WorkspaceView,
    folder: &ViewPath,
    limit: Option<u64>,
) -> Result<ToolOutput, ViewError> {
    let most = limit.and_then(|limit| usize::try_from(limit).ok());
    let most = most.unwrap_or(LISTED_NAMES).clamp(1, LISTED_NAMES);
    let request = FolderRequest { most: SCANNED_NAMES, enough: usize::MAX, sizes: Sizes::Skip };
    let read = view.read_folders(std::slice::from_ref(folder), request).await?;
    let mut contents = read.into_iter().next().unwrap_or_else(|| Ok(FolderContents::default()))?;
    contents.sort_for_people();
    let count = contents.entries.len();
    let inner = inner_folders(view, folder, &contents).await?;
    let mut left = most.saturating_sub(count);
    let mut text = String::new();
    for entry in contents.entries.iter().take(most) {
        push_line(&mut text, "", entry);
        let Some((_, inner)) = inner.iter().find(|(name, _)| *name == entry.name) else { continue };
        let shown = INNER_NAMES.min(left).min(inner.entries.len());
        inner.entries.iter().take(shown).for_each(|entry| push_line(&mut text, "  ", entry));
        left -= shown;
        let more = inner.entries.len() - shown;
        if more > 0 && left > 0 {
            let than = if inner.is_cut { "more than " } else { "" };
            text.push_str(&format!("  … {than}{more} more\n"));
            left -= 1;
        }
    }
    let more = if contents.is_cut { "more than " } else { "" };
    if count == 0 {
        text.push_str("(empty folder)\n");
    }
    let is_cut = count > most || contents.is_cut;
    if is_cut {
        text.push_str(&format!(
            "\n[Showing {most} of {more}{count} names. Use ls with a limit for more]\n"
        ));
    }
    let path = display::path(folder.as_path());
    let details = json!({ "path": path, "entries": count, "truncated": is_cut });
    Ok(ToolOutput::text(text.trim_end()).with_details(details))
}

/// Reads those folders in a folder that git does not ignore.
async fn inner_folders(
    view: &dyn WorkspaceView,
    folder: &ViewPath,
    contents: &FolderContents,
) -> Result<Vec<(std::ffi::OsString, FolderContents)>, ViewError> {
    let rules: Arc<IgnoreRules> = IgnoreRules::above(view, folder).await;
    let rules = rules.entering(view, folder, contents).await;
    let folders = contents.entries.iter().take(LISTED_NAMES).filter_map(|entry| {
        let path = folder.join(&entry.name)?;
        let is_listed = entry.kind == FileKind::Folder
            && entry.name != GIT
            && !rules.ignores(&path, entry.kind);
        is_listed.then_some((entry.name.clone(), path))
    });
    let (names, paths): (Vec<_>, Vec<_>) = folders.unzip();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let request = FolderRequest { most: LISTED_NAMES, enough: SCANNED_NAMES, sizes: Sizes::Skip };
    let read = view.read_folders(&paths, request).await?;
    // A folder that cannot be read is listed without what is in it.
    let inner = names.into_iter().zip(read).filter_map(|(name, read)| Some((name, read.ok()?)));
    let mut inner: Vec<_> = inner.collect();
    inner.iter_mut().for_each(|(_, contents)| contents.sort_for_people());
    Ok(inner)
}

fn push_line(text: &mut String, indent: &str, entry: &FolderEntry) {
    text.push_str(indent);
    text.push_str(&display::name(&entry.name));
    text.push_str(display::kind_mark(entry.kind));
    text.push('\n');
}
