//! What git does to a blob when it checks it out, and doing so again for one that the user's tree
//! no longer has: line ends and `$Id$` through libgit2, programs never.

use std::path::Path;

use git2::build::CheckoutBuilder;
use git2::{AttrCheckFlags, AttrValue, Index, IndexEntry, IndexTime, ObjectType, Oid, Repository};
use protocol::RepoPath;

use crate::entry::Mode;
use crate::error::{OrCannot, Result, cannot};

/// What happens to a blob on its way into the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// Nothing.
    None,
    /// Something libgit2 does itself.
    BuiltIn,
    /// Something a program would have to do; this attribute says so.
    Program(String),
}

/// Returns the bytes of a blob as git would check it out at `path`.
pub(super) fn checked_out(
    git: &Repository,
    path: &RepoPath,
    blob: Oid,
    mode: Mode,
    scratch: &Path,
) -> Result<Vec<u8>> {
    let what = || format!("restore {path} as it was");
    let conversion = match mode {
        Mode::Link => Conversion::None,
        Mode::File | Mode::Executable => conversion(git, path).or_cannot(what)?,
    };
    match conversion {
        Conversion::None => {
            let found = git.find_blob(blob).map(|blob| blob.content().to_vec());
            found.or_cannot(what)
        }
        Conversion::BuiltIn => through_libgit2(git, path, blob, scratch),
        Conversion::Program(attribute) => Err(cannot(
            what(),
            format!("it has changed since the run began, and {attribute} names a program"),
        )),
    }
}

/// Returns what happens to the bytes at `path` on their way in and out.
pub(crate) fn conversion(
    git: &Repository,
    path: &RepoPath,
) -> std::result::Result<Conversion, git2::Error> {
    let value = |name: &str| -> std::result::Result<Option<String>, git2::Error> {
        let bytes = git.get_attr_bytes(path.as_path(), name, AttrCheckFlags::FILE_THEN_INDEX)?;
        Ok(match AttrValue::from_bytes(bytes) {
            AttrValue::True => Some("true".to_owned()),
            AttrValue::String(text) => Some(text.to_owned()),
            AttrValue::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            AttrValue::False | AttrValue::Unspecified => None,
        })
    };
    for name in ["filter", "working-tree-encoding"] {
        if let Some(value) = value(name)? {
            return Ok(Conversion::Program(format!("{name}={value}")));
        }
    }
    for name in ["text", "eol", "crlf", "ident"] {
        if value(name)?.is_some() {
            return Ok(Conversion::BuiltIn);
        }
    }
    // `true`, and `input`, which converts on the way in only; libgit2 knows the difference.
    let config = git.config()?.snapshot()?;
    let automatic = config.get_str("core.autocrlf").is_ok_and(|value| value != "false");
    Ok(if automatic { Conversion::BuiltIn } else { Conversion::None })
}

/// Has libgit2 check out one file into a folder of its own.
fn through_libgit2(git: &Repository, path: &RepoPath, id: Oid, scratch: &Path) -> Result<Vec<u8>> {
    let what = || format!("restore {path} as it was");
    let folder = tempfile::Builder::new().prefix(".restore-").tempdir_in(scratch);
    let folder = folder.or_cannot(what)?;
    let nothing = IndexTime::new(0, 0);
    let entry = IndexEntry {
        ctime: nothing,
        mtime: nothing,
        dev: 0,
        ino: 0,
        mode: Mode::File.to_git(),
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    };
    let mut index = Index::new().or_cannot(what)?;
    index.add(&entry).or_cannot(what)?;
    let mut checkout = CheckoutBuilder::new();
    checkout.target_dir(folder.path()).force().update_index(false).refresh(false);
    let done = git.checkout_index(Some(&mut index), Some(&mut checkout));
    let file = folder.path().join(path.as_path());
    if done.is_err() || !file.is_file() {
        // Where HEAD has something else than a file, libgit2 replaces only what is there.
        put_what_head_has(git, path, folder.path()).or_cannot(what)?;
        git.checkout_index(Some(&mut index), Some(&mut checkout)).or_cannot(what)?;
    }
    std::fs::read(file).or_cannot(what)
}

/// Checks out what HEAD has at `path`, or the file it has in the place of one of its folders.
fn put_what_head_has(
    git: &Repository,
    path: &RepoPath,
    place: &Path,
) -> std::result::Result<(), git2::Error> {
    let tree = git.head()?.peel_to_tree()?;
    let is_in_the_way = |path: &RepoPath| {
        tree.get_path(path.as_path()).is_ok_and(|entry| entry.kind() != Some(ObjectType::Tree))
    };
    let above = path.folders().find(is_in_the_way);
    let mut checkout = CheckoutBuilder::new();
    checkout.target_dir(place).force().update_index(false).refresh(false);
    checkout.path(above.as_ref().unwrap_or(path).as_bytes()).disable_pathspec_match(true);
    git.checkout_head(Some(&mut checkout))
}
