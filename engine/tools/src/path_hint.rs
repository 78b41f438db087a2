//! What was perhaps meant by a path that leads nowhere: a like name where it ends, or a file of its
//! name elsewhere.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use engine::ports::{FileKind, Listing, ViewPath, WorkspaceView};
use similar::get_close_matches;

use crate::shown;

/// How many names are suggested, and how much they have to be alike.
const SUGGESTED: usize = 3;
const ALIKE: f32 = 0.6;

/// How many names of a folder are compared.
const COMPARED: usize = 2000;

/// How many names are looked at, in how many folders below each other, for a file elsewhere.
const SEARCHED: usize = 5000;
const DEEP: usize = 8;

/// Folders in which nobody means anything.
const SKIPPED: &[&str] = &[".git", "target", "node_modules"];

/// Returns the rest of a sentence about what is not there: `rest` below the folder `above`. The
/// paths in it are as seen from `seen_from`.
pub(crate) async fn hint(
    view: &dyn WorkspaceView,
    above: &ViewPath,
    rest: &[OsString],
    seen_from: &(dyn Fn(&Path) -> PathBuf + Sync),
) -> String {
    let (Some(wanted), Some(last)) = (rest.first(), rest.last()) else { return String::new() };
    let Ok(listing) = view.read_dir(above, COMPARED).await else { return String::new() };
    let names = alike(&listing, wanted);
    let mut found: Vec<_> = names.into_iter().filter_map(|name| above.join(&name)).collect();
    if found.is_empty() || rest.len() > 1 {
        found.extend(elsewhere(view, last).await);
    }
    let meant = found.iter().map(|path| shown::path(&seen_from(path.as_path())));
    match meant.collect::<Vec<_>>().as_slice() {
        [] if listing.names.is_empty() => "; the folder it would be in is empty".to_owned(),
        [] => {
            format!("; read `{}` to see what is there", shown::path(&seen_from(above.as_path())))
        }
        meant => format!("; did you mean {}?", meant.join(" or ")),
    }
}

/// The names of a folder that are most like `wanted`, without regard to case.
fn alike(listing: &Listing, wanted: &OsStr) -> Vec<OsString> {
    let lower = |name: &OsStr| name.to_string_lossy().to_lowercase();
    let names: Vec<String> = listing.names.iter().map(|(name, _)| lower(name)).collect();
    let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for close in get_close_matches(lower(wanted).as_str(), &candidates, SUGGESTED, ALIKE) {
        for (_, (name, _)) in names.iter().zip(&listing.names).filter(|(lower, _)| *lower == close)
        {
            if found.len() < SUGGESTED && !found.contains(name) {
                found.push(name.clone());
            }
        }
    }
    found
}

/// Where in the tree files of this name are, the nearest to the root first.
async fn elsewhere(view: &dyn WorkspaceView, wanted: &OsStr) -> Vec<ViewPath> {
    let mut found = Vec::new();
    let mut left = SEARCHED;
    let mut folders = VecDeque::from([ViewPath::default()]);
    while let Some(folder) = folders.pop_front() {
        let Ok(listing) = view.read_dir(&folder, left).await else { continue };
        left -= listing.names.len();
        for (name, kind) in listing.names {
            let Some(path) = folder.join(&name) else { continue };
            let skipped = SKIPPED.iter().any(|skipped| name == *skipped);
            if kind == FileKind::Folder && !skipped && folder.names().count() < DEEP {
                folders.push_back(path);
            } else if kind == FileKind::Regular && name == wanted {
                found.push(path);
            }
        }
        if found.len() >= SUGGESTED || left == 0 {
            break;
        }
    }
    found.truncate(SUGGESTED);
    found
}
