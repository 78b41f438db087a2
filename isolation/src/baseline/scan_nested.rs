//! Scans nested repositories, each by its own index and its own ignore rules, and adds what they
//! have to the scan of the repository around them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use git2::Repository;
use protocol::RepoPath;

use crate::baseline::scan::{DirtyCandidate, FoundRepository, Placement, Scan, printable, scan};
use crate::baseline::{Folder, FolderKind};
use crate::error::{Result, error_text};
use crate::nested::{NestedRepo, open_below};
use crate::repository::Repo;
use crate::tree::Tree;

/// The maximum number of nested repositories.
pub(crate) const MOST_NESTED: usize = 1_000;

/// How deep repositories may be nested in each other.
const DEEPEST: usize = 8;

/// The nested repositories of a scan, by their folders.
pub(super) type NestedRepos = std::collections::BTreeMap<Vec<u8>, NestedRepo>;

/// Scans the tree of `repo` and of all repositories in it that can be used, `most` of them. The others
/// are in the result as left out, with the reason.
pub(super) fn scan_with_nested(
    (repo, git): (&Repo, &Repository),
    tree: &Tree,
    ours: &[PathBuf],
    started_ns: i64,
    most: usize,
) -> Result<(Scan, NestedRepos)> {
    let mut whole = scan(git, tree, ours, started_ns)?;
    let found = std::mem::take(&mut whole.repositories);
    if found.is_empty() {
        return Ok((whole, NestedRepos::new()));
    }
    let (nested, git_dirs) = (NestedRepos::new(), BTreeSet::new());
    let mut scanner = Scanner { tree, ours, started_ns, most, whole, nested, git_dirs };
    let mut around = vec![repo.clone()];
    scanner.add_all(found, &mut around);
    let Scanner { mut whole, nested, .. } = scanner;
    whole.dirty_candidates.sort_by(|left, right| left.path.cmp(&right.path));
    Ok((whole, nested))
}

struct Scanner<'a> {
    tree: &'a Tree,
    ours: &'a [PathBuf],
    started_ns: i64,
    most: usize,
    whole: Scan,
    nested: NestedRepos,
    /// Their git folders: two folders cannot share one.
    git_dirs: BTreeSet<PathBuf>,
}

impl Scanner<'_> {
    /// Adds the repositories that were found in the last one of `around`.
    fn add_all(&mut self, mut found: Vec<FoundRepository>, around: &mut Vec<Repo>) {
        found.sort_by(|left, right| left.path.cmp(&right.path));
        for found in found {
            if let Err(why) = self.add(&found, around) {
                self.whole.nested.push(format!("{} ({why})", printable(&found.path)));
                if let Placement::Ignored(entry) = found.placement {
                    self.whole.ignored.push(entry);
                }
            }
        }
    }

    fn add(
        &mut self,
        found: &FoundRepository,
        around: &mut Vec<Repo>,
    ) -> std::result::Result<(), String> {
        if around.len() > DEEPEST {
            return Err(format!("it is more than {DEEPEST} repositories deep"));
        }
        if self.nested.len() >= self.most {
            return Err(format!("there are more than {}", self.most));
        }
        let nested = open_below(self.tree, around, &found.path)?;
        if !self.git_dirs.insert(nested.repo.git_dir.clone()) {
            return Err("another folder has the same git folder".to_owned());
        }
        let text = |error| error_text(&error);
        let tree = Tree::open_at(&nested.repo.root).map_err(text)?;
        let mut inner = scan(&nested.git, &tree, self.ours, self.started_ns).map_err(text)?;
        let deeper = std::mem::take(&mut inner.repositories);
        self.graft(inner, found);
        around.push(nested.repo.clone());
        self.nested.insert(found.path.clone(), nested);
        let deeper = deeper.into_iter().map(|deeper| deeper.below(&found.path)).collect();
        self.add_all(deeper, around);
        around.pop();
        Ok(())
    }

    /// Adds what was found in a nested repository, with paths as in the whole tree.
    fn graft(&mut self, inner: Scan, root: &FoundRepository) {
        let whole = |path: &[u8]| below(&root.path, path);
        for (path, folder) in inner.table.folders {
            let folder = match path.is_empty() {
                true => {
                    let (kind, permissions) = (FolderKind::Nested, root.permissions);
                    Folder { kind, permissions, ..folder }
                }
                false => folder,
            };
            self.whole.table.folders.insert(whole(&path), folder);
        }
        for file in inner.dirty_candidates {
            if let Some(path) = RepoPath::new(whole(file.path.as_bytes())) {
                self.whole.dirty_candidates.push(DirtyCandidate { path, ..file });
            }
        }
        for mut entry in inner.ignored {
            entry.path = whole(&entry.path);
            self.whole.ignored.push(entry);
        }
        let prefix = printable(&root.path);
        let named = |names: Vec<String>| {
            names.into_iter().map(|name| format!("{prefix}/{name}")).collect::<Vec<_>>()
        };
        self.whole.nested.extend(named(inner.nested));
        self.whole.special.extend(named(inner.special));
        self.whole.unreadable.extend(named(inner.unreadable));
        self.whole.invalid_names.extend(named(inner.invalid_names));
    }
}

/// Returns `path` in the folder `root`; the folder itself if it is empty.
pub(super) fn below(root: &[u8], path: &[u8]) -> Vec<u8> {
    if path.is_empty() { root.to_vec() } else { [root, b"/", path].concat() }
}
