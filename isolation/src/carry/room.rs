//! Checks that the disk has room for the carried files of all workspaces.

use std::fs::File;
use std::path::Path;

use engine::ports::IsolationError;
use engine::texts::counted;
use protocol::RepoPath;
use rustix::fs::{Mode, OFlags, ioctl_ficlone, openat};

use super::carried::Carried;
use crate::baseline::size_text;
use crate::disk_room::free_bytes;
use crate::error::{OrCannot, Result};
use crate::tree::{Parent, Tree, join};

/// Refuses files of `bytes` bytes if there is no room for them in `workspaces` workspaces at the
/// same time and in the run's folder, from which they are copied. Each of these workspaces may have
/// others of `beside` bytes in their place. Copies that share their blocks with the originals need no
/// room.
pub(super) fn check_room(
    tree: &Tree,
    carried: &Carried,
    (bytes, beside): (u64, u64),
    workspaces: usize,
    run_folder: &Path,
) -> Result<()> {
    let what = || format!("look for free space in {}", run_folder.display());
    let free = free_bytes(run_folder).or_cannot(what)?;
    let copies = u64::try_from(workspaces).unwrap_or(u64::MAX);
    let in_workspaces = bytes.max(beside).saturating_mul(copies);
    let needed = in_workspaces.saturating_add(bytes).saturating_add(beside);
    if needed <= free || can_share_blocks(tree, carried, run_folder) {
        return Ok(());
    }
    let jobs = free.saturating_sub(beside).checked_div(bytes).unwrap_or_default().saturating_sub(1);
    let fewer =
        if jobs > 0 { format!("--jobs {jobs}, or carry less") } else { "carry less".into() };
    Err(IsolationError::Refused {
        what: format!(
            "cannot carry ignored files of {} into each workspace",
            tree.root().display()
        ),
        because: format!(
            "they are {}, copies for the run and for {} at once need {}, and {} are free in {}",
            size_text(bytes),
            counted(copies, "workspace"),
            size_text(needed),
            size_text(free),
            run_folder.display()
        ),
        hint: fewer,
    })
}

/// Returns whether a copy of a carried file can share its blocks with the original.
fn can_share_blocks(tree: &Tree, carried: &Carried, run_folder: &Path) -> bool {
    let files = carried.folders.iter().flat_map(|(folder, found)| {
        found.files.iter().filter_map(move |name| RepoPath::new(join(folder, name)))
    });
    // The first file that can be opened decides.
    for path in files {
        let Ok(Parent::Folder { fd, name }) = tree.parent(&path) else { continue };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let Ok(source) = openat(&fd, &name, flags, Mode::empty()).map(File::from) else { continue };
        if source.metadata().is_ok_and(|found| found.is_file() && found.len() > 0) {
            let probe = tempfile::tempfile_in(run_folder);
            return probe.is_ok_and(|probe| ioctl_ficlone(&probe, &source).is_ok());
        }
    }
    false
}
