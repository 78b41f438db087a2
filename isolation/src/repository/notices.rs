//! Notices about a repository: submodules, filter programs, partial clones.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use engine::ports::Notice;
use engine::texts::counted;
use git2::Repository;
use protocol::RepoPath;

use crate::baseline::split_path;
use crate::encoding::Encoding;
use crate::index_file::ReadEntry;
use crate::user_git_files;

/// The mode of a submodule in the index.
const GITLINK: u32 = 0o160_000;

/// The name of an attributes file.
const GITATTRIBUTES: &[u8] = b".gitattributes";

/// The largest attributes file that is read.
const ATTRIBUTES: u64 = 1 << 20;

/// The entries of an index about which there may be notices.
#[derive(Debug, Default)]
pub(super) struct IndexFacts {
    /// The paths of its submodules.
    submodules: Vec<Vec<u8>>,
    /// The paths of its attributes files.
    attributes: Vec<RepoPath>,
    /// How many files git does not expect in the working tree.
    skipped: usize,
}

impl IndexFacts {
    /// Adds an entry, if there may be a notice about it.
    pub(super) fn add(&mut self, entry: ReadEntry<'_>) {
        self.skipped += usize::from(entry.is_skipped);
        if entry.mode == GITLINK {
            self.submodules.push(entry.path.to_vec());
        } else if split_path(entry.path).1 == GITATTRIBUTES {
            self.attributes.extend(RepoPath::new(entry.path));
        }
    }
}

/// Returns the notices about a repository with this index.
pub(super) fn notices(git: &Repository, root: &Path, index: &IndexFacts) -> Vec<Notice> {
    let words = attribute_words(git, index, root);
    let found = [
        submodules(index, root),
        filters(&words),
        encodings(&words),
        merge_drivers(git, &words),
        sparse(git, index),
        partial(git),
    ];
    found.into_iter().flatten().collect()
}

/// Returns the notice about submodules that are not checked out.
fn submodules(index: &IndexFacts, root: &Path) -> Option<Notice> {
    let is_empty = |path: &&Vec<u8>| {
        let folder = root.join(OsStr::from_bytes(path));
        folder.join(".git").symlink_metadata().is_err()
    };
    let count = index.submodules.iter().filter(is_empty).count();
    (count > 0).then(|| Notice {
        from: "submodules".to_owned(),
        to: "each is an empty folder in a workspace, and left as it is".to_owned(),
        why: format!("{count} in this repository are not checked out; git submodule update --init"),
    })
}

/// Returns the words of all attributes files that are not patterns: attributes and their values.
fn attribute_words(git: &Repository, index: &IndexFacts, root: &Path) -> BTreeSet<String> {
    let tracked = index.attributes.iter().map(|path| root.join(path.as_path()));
    let own = [git.commondir().join("info/attributes")];
    tracked.chain(own).chain(global(git)).flat_map(|file| words_of(&file)).collect()
}

fn filters(words: &BTreeSet<String>) -> Option<Notice> {
    words.iter().any(|word| word.starts_with("filter=")).then(|| Notice {
        from: "filter programs (LFS, git-crypt)".to_owned(),
        to: AS_THEY_ARE.to_owned(),
        why: "the attributes name a filter, and a repository's programs are never run".to_owned(),
    })
}

/// Returns the notice about encodings that are not converted here.
fn encodings(words: &BTreeSet<String>) -> Option<Notice> {
    let names = words.iter().filter_map(|word| word.strip_prefix("working-tree-encoding="));
    let others = names.filter(|it| Encoding::named(it).is_none() && !Encoding::is_of_git(it));
    let others: Vec<&str> = others.collect();
    (!others.is_empty()).then(|| Notice {
        from: format!("the encoding {}", others.join(", ")),
        to: AS_THEY_ARE.to_owned(),
        why: "git converts files in it when it adds them, and this program does not".to_owned(),
    })
}

/// What becomes of files that only git converts.
const AS_THEY_ARE: &str = "files are taken and land as they are in the working tree; on branches \
                           (--merge branch or stack), each change of one is a conflict";

/// Returns the notice about merge drivers that git would run.
fn merge_drivers(git: &Repository, words: &BTreeSet<String>) -> Option<Notice> {
    let config = git.config().ok()?.snapshot().ok()?;
    let is_program = |name: &&str| config.get_str(&format!("merge.{name}.driver")).is_ok();
    let names: Vec<&str> =
        words.iter().filter_map(|word| word.strip_prefix("merge=")).filter(is_program).collect();
    (!names.is_empty()).then(|| Notice {
        from: format!("merge drivers ({})", names.join(", ")),
        to: "their files are merged line by line".to_owned(),
        why: "they are programs, and a repository's programs are never run".to_owned(),
    })
}

/// Returns the path of the user's own attributes file.
fn global(git: &Repository) -> Option<PathBuf> {
    let config = git.config().ok()?;
    user_git_files::of_the_user(&config, "core.attributesfile", "attributes")
}

fn words_of(file: &Path) -> Vec<String> {
    // Only regular files: a symlink may lead to a device.
    let small =
        fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file() && meta.len() <= ATTRIBUTES);
    let bytes = if small { fs::read(file).unwrap_or_default() } else { Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(|line| line.split_whitespace().skip(1)).map(str::to_owned).collect()
}

/// Returns the notice about a sparse checkout.
fn sparse(git: &Repository, index: &IndexFacts) -> Option<Notice> {
    let config = git.config().ok()?.snapshot().ok()?;
    let is_sparse = config.get_bool("core.sparsecheckout").unwrap_or(false) && index.skipped > 0;
    is_sparse.then(|| Notice {
        from: "all tracked files".to_owned(),
        to: "a workspace has those that are checked out, and writing another one is a conflict"
            .to_owned(),
        why: format!(
            "it is a sparse checkout, which leaves out {}",
            counted(index.skipped, "file")
        ),
    })
}

/// Returns the notice about a partial clone. Missing objects are not fetched, so a run works only
/// if it needs none of them.
fn partial(git: &Repository) -> Option<Notice> {
    is_partial(git).then(|| Notice {
        from: "all objects of the repository".to_owned(),
        to: "objects that are not here are not fetched".to_owned(),
        why: "it is a partial clone".to_owned(),
    })
}

/// Returns whether a repository is a partial clone, which may lack objects that its remote has.
pub(crate) fn is_partial(git: &Repository) -> bool {
    let config = git.config().and_then(|mut config| config.snapshot());
    let Ok(config) = config else { return false };
    let mut promised = config.get_str("extensions.partialclone").is_ok();
    let entries = config.entries(Some(r"remote\..*\.promisor"));
    let read = entries.and_then(|entries| entries.for_each(|_| promised = true));
    read.is_ok() && promised
}
