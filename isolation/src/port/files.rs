//! Reads single files of a snapshot.

use engine::ports::IsolationError;
use protocol::RepoPath;

use crate::backends::FrozenTree;
use crate::error::{Result, cannot};
use crate::file_entry::Mode;

/// How many symlinks are followed for one path.
const LINKS: usize = 8;

/// Returns the file at `path`; `None` if there is none. A symlink that leads out of the tree is
/// none.
pub(super) fn read_file(tree: &dyn FrozenTree, path: &RepoPath) -> Result<Option<Vec<u8>>> {
    let mut path = path.clone();
    for _ in 0..=LINKS {
        match tree.read(&path)? {
            None => return Ok(None),
            Some((Mode::File | Mode::Executable, bytes)) => return Ok(Some(bytes)),
            Some((Mode::Link, target)) => match linked(&path, &target) {
                Some(next) => path = next,
                None => return Ok(None),
            },
        }
    }
    Err::<_, IsolationError>(cannot(format!("read {path}"), "it is a circle of symlinks"))
}

/// Returns the path to which a symlink at `path` leads; `None` if that is outside of the tree.
fn linked(path: &RepoPath, target: &[u8]) -> Option<RepoPath> {
    if target.starts_with(b"/") {
        return None;
    }
    let mut parts: Vec<&[u8]> = path.as_bytes().split(|byte| *byte == b'/').collect();
    parts.pop();
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    RepoPath::new(parts.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symlink_leads_to_a_path_in_the_tree_or_nowhere() {
        let link = |path: &str, target: &str| {
            let to = linked(&RepoPath::new(path).unwrap(), target.as_bytes());
            to.map(|to| String::from_utf8(to.as_bytes().to_vec()).unwrap())
        };
        assert_eq!(link("AGENTS.md", "CLAUDE.md").as_deref(), Some("CLAUDE.md"));
        assert_eq!(link("a/b/AGENTS.md", "../.././x/y.md").as_deref(), Some("x/y.md"));
        for outside in ["/etc/passwd", "../x", "..", ".", "a/../../x", ".git/config"] {
            assert_eq!(link("AGENTS.md", outside), None, "{outside}");
        }
    }
}
