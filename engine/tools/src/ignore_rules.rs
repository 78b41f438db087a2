//! Git's ignore rules in a view: the `.gitignore` files, nearest first, and `info/exclude`. The user's
//! own file is not in the view and does not count.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::ports::{
    FileKind, FolderContents, IGNORE_FILE, MAX_IGNORE_BYTES, ViewPath, WorkspaceView,
};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The name of git's own folder.
pub(crate) const GIT: &str = ".git";

/// The rules that apply to the entries of a folder.
pub(crate) struct IgnoreRules {
    /// The folder of the file with the rules.
    folder: PathBuf,
    own: Gitignore,
    above: Option<Arc<IgnoreRules>>,
}

impl IgnoreRules {
    /// Returns the rules that apply to `folder` from the folders above it.
    pub(crate) async fn above(view: &dyn WorkspaceView, folder: &ViewPath) -> Arc<Self> {
        let root = ViewPath::default();
        let mut rules = Self::of_repository(view, &root).await;
        let mut here = root;
        for name in folder.names() {
            let Some(next) = here.join(name) else { break };
            if here.split().is_some() && is_repository(view, &here).await {
                rules = Self::of_repository(view, &here).await;
            }
            let file = beginning(view, &here, &[IGNORE_FILE]).await;
            rules = Self::below(rules, &here, file.as_deref());
            here = next;
        }
        rules
    }

    /// Returns the rules for the entries of a folder, from what was read of it and from those above it.
    /// Rules from outside of a nested repository do not apply in it.
    pub(crate) async fn entering(
        self: Arc<Self>,
        view: &dyn WorkspaceView,
        folder: &ViewPath,
        contents: &FolderContents,
    ) -> Arc<Self> {
        let is_nested =
            folder.split().is_some() && contents.entries.iter().any(|entry| entry.name == GIT);
        let above = if is_nested { Self::of_repository(view, folder).await } else { self };
        Self::below(above, folder, contents.ignore_rules.as_deref())
    }

    /// Returns whether git ignores an entry, provided that it is untracked and its folder not ignored.
    pub(crate) fn ignores(&self, path: &ViewPath, kind: FileKind) -> bool {
        let mut next = Some(self);
        while let Some(rules) = next {
            let inside = path.as_path().strip_prefix(&rules.folder).unwrap_or(Path::new(""));
            match rules.own.matched(inside, kind == FileKind::Folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = rules.above.as_deref(),
            }
        }
        false
    }

    async fn of_repository(view: &dyn WorkspaceView, root: &ViewPath) -> Arc<Self> {
        let exclude = beginning(view, root, &[GIT, "info", "exclude"]).await.unwrap_or_default();
        let folder = root.as_path().to_owned();
        Arc::new(Self { folder, own: matcher(&exclude), above: None })
    }

    fn below(above: Arc<Self>, folder: &ViewPath, file: Option<&[u8]>) -> Arc<Self> {
        let Some(file) = file else { return above };
        let folder = folder.as_path().to_owned();
        Arc::new(Self { folder, own: matcher(file), above: Some(above) })
    }
}

async fn is_repository(view: &dyn WorkspaceView, folder: &ViewPath) -> bool {
    match folder.join(GIT.as_ref()) {
        Some(git) => view.stat(&git).await.is_ok(),
        None => false,
    }
}

/// Returns the beginning of a regular file, if there is one.
async fn beginning(view: &dyn WorkspaceView, folder: &ViewPath, names: &[&str]) -> Option<Vec<u8>> {
    let path = names.iter().try_fold(folder.clone(), |path, name| path.join(name.as_ref()))?;
    view.open(&path).await.ok()?.read(MAX_IGNORE_BYTES).await.ok()
}

/// Returns the matcher of a file with rules. A line that is not a pattern matches nothing, as in git.
fn matcher(file: &[u8]) -> Gitignore {
    // Paths are relative to the folder of the file.
    let mut builder = GitignoreBuilder::new(".");
    let text = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    for line in text.split(|byte| *byte == b'\n') {
        if let Ok(line) = std::str::from_utf8(line) {
            let _malformed = builder.add_line(None, line);
        }
    }
    builder.build().unwrap_or_else(|_too_large| Gitignore::empty())
}
