//! The names of files that are put beside others.

use protocol::RepoPath;

use super::conflict_sides::Sides;
use crate::error::Result;

/// The most names that are tried for a file that is put beside another.
const MOST_NAMES: u32 = 100;

/// Returns the names of a file that is put beside another: `PATH~SIDE`, `PATH~SIDE_0` and so on, as in
/// git.
pub(super) fn names_beside(path: &RepoPath, side: &str) -> impl Iterator<Item = RepoPath> {
    (0..MOST_NAMES).filter_map(move |number| {
        let end = if number == 0 { String::new() } else { format!("_{}", number - 1) };
        RepoPath::new([path.as_bytes(), b"~", side.as_bytes(), end.as_bytes()].concat())
    })
}

/// Returns a free name beside a path.
pub(super) fn free_name(
    path: &RepoPath,
    side: &str,
    sides: &Sides<'_>,
) -> Result<Option<RepoPath>> {
    for name in names_beside(path, side) {
        let taken = (sides.ours)(&name)?.is_some()
            || (sides.theirs)(&name).flatten().is_some()
            || (sides.is_foreign)(&name)?;
        if !taken {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
