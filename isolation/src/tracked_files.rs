//! The files that git tracks.

use std::path::Path;

use protocol::RepoPath;

use crate::error::{OrCannot as _, Result};
use crate::repository::Repo;

/// The mode of a submodule in the index.
const GITLINK: u32 = 0o160_000;

/// Returns the tracked files of the repository that contains `at`, relative to its root and sorted
/// by bytes. Submodules and files that are missing in the working tree are left out.
///
/// # Errors
/// The repository cannot be worked on, or its index cannot be read.
pub fn tracked_files(at: &Path) -> Result<Vec<RepoPath>> {
    let repo = Repo::open(at)?;
    let git = repo.git()?;
    let index = git.index().or_cannot(|| format!("read the index of {}", repo.root.display()))?;
    let entries = index.iter().filter(|entry| entry.mode != GITLINK);
    let mut files: Vec<_> = entries.filter_map(|entry| RepoPath::new(entry.path)).collect();
    files.retain(|file| repo.root.join(file.as_path()).symlink_metadata().is_ok());
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sample;

    #[test]
    fn what_git_tracks_and_has_is_listed() {
        let sample = Sample::with(&[("b/c", "1"), ("a b\n", "2"), ("gone", "3")]);
        sample.write("untracked", "4");
        std::fs::remove_file(sample.root.join("gone")).unwrap();
        let files = tracked_files(&sample.root.join("b")).unwrap();
        let names: Vec<_> = files.iter().map(RepoPath::as_bytes).collect();
        assert_eq!(names, [&b"a b\n"[..], b"b/c"]);
    }
}
