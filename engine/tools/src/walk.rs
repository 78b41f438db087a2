//! Walks the folders of a view in the order of paths, in batches: each step reads many folders at once.
//! A walk holds nothing open and works only when it is asked, so that dropping it ends it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use engine::ports::{
    FileKind, FolderContents, FolderRequest, MAX_PATH_DEPTH, Sizes, ViewError, ViewPath,
    WorkspaceView,
};

use crate::ignore_rules::{GIT, IgnoreRules};

/// How many folders, and how many of their entries, are read in one step by each of two threads.
const FOLDERS_AT_ONCE: usize = 64;
const ENTRIES_AT_ONCE: usize = 4_000;

/// The entries that are looked at, to find the next folders.
const LOOKED_AT: usize = 16_000;

/// The maximum number of entries of a batch.
const BATCH: usize = 4_000;

/// How many entries of one folder are read, and how many entries a walk visits.
const FOLDER_ENTRIES: usize = 100_000;
pub(crate) const VISITED: usize = 1_000_000;

/// What a walk leaves out. Git's own folders are never walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalkOptions {
    /// Whether git's ignore rules apply.
    pub(crate) ignored: Include,
    /// Whether entries are walked whose names begin with a dot.
    pub(crate) hidden: Include,
}

/// Whether entries of a kind are in a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    Yes,
    No,
}

/// An entry of the tree, which is not a part of the walk if git ignores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WalkEntry {
    pub(crate) path: ViewPath,
    pub(crate) kind: FileKind,
}

/// A walk of the entries below a folder.
pub(crate) struct Walk<'a> {
    view: &'a dyn WorkspaceView,
    options: WalkOptions,
    /// What is still to be walked, the next last.
    pending: Vec<Pending>,
    visited: usize,
    /// Whether there is more than the walk visits.
    pub(crate) is_cut: bool,
    /// The number of folders that cannot be read.
    pub(crate) unreadable: usize,
}

enum Pending {
    Entry(WalkEntry),
    /// A folder that is not read yet, with the rules from above it.
    Folder(ViewPath, Option<Arc<IgnoreRules>>),
}

impl<'a> Walk<'a> {
    /// Begins a walk of `folder`. The folder itself is walked even if git ignores it.
    pub(crate) async fn new(
        view: &'a dyn WorkspaceView,
        folder: ViewPath,
        options: WalkOptions,
    ) -> Self {
        let rules = match options.ignored {
            Include::Yes => None,
            Include::No => Some(IgnoreRules::above(view, &folder).await),
        };
        let pending = vec![Pending::Folder(folder, rules)];
        Self { view, options, pending, visited: 0, is_cut: false, unreadable: 0 }
    }

    /// Returns the next entries in the order of their paths; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Vec<WalkEntry>, ViewError> {
        loop {
            let ready = self.take_ready();
            if !ready.is_empty() || self.pending.is_empty() {
                return Ok(ready);
            }
            if self.visited >= VISITED {
                self.pending.clear();
                self.is_cut = true;
                continue;
            }
            self.read_folders().await?;
        }
    }

    /// Takes the entries before the next folder that is not read yet.
    fn take_ready(&mut self) -> Vec<WalkEntry> {
        let mut ready = Vec::new();
        while ready.len() < BATCH
            && let Some(Pending::Entry(entry)) =
                self.pending.pop_if(|next| matches!(next, Pending::Entry(_)))
        {
            ready.push(entry);
        }
        ready
    }

    /// Reads the next folders, and replaces each by its entries.
    async fn read_folders(&mut self) -> Result<(), ViewError> {
        let (mut next, mut folders) = (Vec::new(), Vec::new());
        while folders.len() < 2 * FOLDERS_AT_ONCE && next.len() < LOOKED_AT {
            let Some(pending) = self.pending.pop() else { break };
            if let Pending::Folder(folder, _) = &pending {
                folders.push(folder.clone());
            }
            next.push(pending);
        }
        let request =
            FolderRequest { most: FOLDER_ENTRIES, enough: ENTRIES_AT_ONCE, sizes: Sizes::Skip };
        let (first, second) = folders.split_at(folders.len().div_ceil(2));
        let (read_first, read_second) = match second {
            [] => (self.view.read_folders(first, request).await?, Vec::new()),
            _ => {
                let first = self.view.read_folders(first, request);
                let both = tokio::join!(first, self.view.read_folders(second, request));
                (both.0?, both.1?)
            }
        };
        // Each half has ended at the folder with which there were enough entries.
        let unread = |half: &[ViewPath], read: &[_]| (read.len()..half.len()).map(|_| None);
        let mut contents: Vec<Option<Result<FolderContents, ViewError>>> = Vec::new();
        let (left_first, left_second) = (unread(first, &read_first), unread(second, &read_second));
        contents.extend(read_first.into_iter().map(Some).chain(left_first));
        contents.extend(read_second.into_iter().map(Some).chain(left_second));
        let mut contents = contents.into_iter();
        let mut replaced = Vec::new();
        for pending in next {
            match pending {
                Pending::Entry(_) => replaced.push(pending),
                Pending::Folder(folder, rules) => match contents.next().flatten() {
                    None => replaced.push(Pending::Folder(folder, rules)),
                    Some(read) => self.enter(folder, rules, read, &mut replaced).await?,
                },
            }
        }
        self.pending.extend(replaced.into_iter().rev());
        Ok(())
    }

    /// Adds the entries of a folder to `replaced`.
    async fn enter(
        &mut self,
        folder: ViewPath,
        rules: Option<Arc<IgnoreRules>>,
        read: Result<FolderContents, ViewError>,
        replaced: &mut Vec<Pending>,
    ) -> Result<(), ViewError> {
        let contents = match read {
            Ok(contents) => contents,
            Err(error @ ViewError::Resources(_)) => return Err(error),
            // The folder was removed or replaced meanwhile.
            Err(ViewError::Missing | ViewError::Changed) => return Ok(()),
            Err(_) => {
                self.unreadable += 1;
                return Ok(());
            }
        };
        let rules = match rules {
            None => None,
            Some(rules) => Some(rules.entering(self.view, &folder, &contents).await),
        };
        self.visited += contents.entries.len();
        self.is_cut |= contents.is_cut;
        let is_deep = folder.names().count() >= MAX_PATH_DEPTH;
        self.is_cut |= is_deep;
        for entry in contents.entries {
            let Some(path) = folder.join(&entry.name) else { continue };
            let is_left_out = entry.name == GIT
                || (self.options.hidden == Include::No && is_hidden(&entry.name))
                || rules.as_ref().is_some_and(|rules| rules.ignores(&path, entry.kind));
            if is_left_out {
                continue;
            }
            let walked = WalkEntry { path: path.clone(), kind: entry.kind };
            replaced.push(Pending::Entry(walked));
            if entry.kind == FileKind::Folder && !is_deep {
                replaced.push(Pending::Folder(path, rules.clone()));
            }
        }
        Ok(())
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_bytes().first() == Some(&b'.')
}
