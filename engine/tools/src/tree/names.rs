//! What was perhaps meant by a name that is not there.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;

use similar::get_close_matches;

use super::folder::list;
use crate::limits::LOOKED_AT;
use crate::shown;

/// How many names are suggested, and how much they have to be alike.
const SUGGESTED: usize = 3;
const ALIKE: f32 = 0.6;

/// Returns the rest of a sentence about what is not there: `rest` below the folder at `above`.
pub(super) fn similar(folder: &OwnedFd, above: &Path, rest: &[OsString]) -> String {
    let Some(wanted) = rest.first() else { return String::new() };
    let wanted = wanted.to_string_lossy();
    let Ok(listing) = list(folder, LOOKED_AT) else { return String::new() };
    let lower = wanted.to_lowercase();
    let names: Vec<_> = listing.names.iter().map(|(name, _)| name.to_string_lossy()).collect();
    let lowered: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let candidates: Vec<&str> = lowered.iter().map(String::as_str).collect();
    let close = get_close_matches(lower.as_str(), &candidates, SUGGESTED, ALIKE);
    let mut found: Vec<String> = Vec::new();
    for close in close {
        for (at, _) in lowered.iter().enumerate().filter(|(_, name)| *name == close) {
            let path = shown::path(&above.join(&listing.names[at].0));
            if found.len() < SUGGESTED && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    let place = shown::path(above);
    match found.as_slice() {
        [] if listing.names.is_empty() => format!("; the folder {place} is empty"),
        [] => format!("; nothing in {place} has a similar name, which read lists"),
        found => format!("; did you mean {}?", found.join(" or ")),
    }
}
