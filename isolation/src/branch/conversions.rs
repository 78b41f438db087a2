//! The bytes of a file in the working tree and those that git commits, without running programs.

use std::io::Write as _;

use git2::build::CheckoutBuilder;
use git2::{Oid, Repository};
use protocol::RepoPath;

use crate::baseline::{Conversion, conversion};
use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};

/// Returns the id of the blob that git would commit for these bytes of the working tree. Those that are
/// not in the encoding of their file stay as they are.
pub(crate) fn committed_bytes(
    git: &Repository,
    path: &RepoPath,
    mode: Mode,
    bytes: &[u8],
) -> Result<Oid> {
    let what = || format!("make a blob of {path}");
    if mode == Mode::Link {
        return git.blob(bytes).or_cannot(what);
    }
    let text = match conversion(git, path).or_cannot(what)? {
        Conversion::Encoding(encoding) => encoding.decode(bytes).map(|(text, _form)| text),
        Conversion::None
        | Conversion::BuiltIn
        | Conversion::OtherEncoding(_)
        | Conversion::Program(_) => None,
    };
    committed_text(git, path, text.as_deref().unwrap_or(bytes))
}

/// Returns the id of the blob that git would commit for a text that is in UTF-8 already.
pub(crate) fn committed_text(git: &Repository, path: &RepoPath, text: &[u8]) -> Result<Oid> {
    let what = || format!("make a blob of {path}");
    let mut writer = git.blob_writer(Some(path.as_path())).or_cannot(what)?;
    writer.write_all(text).or_cannot(what)?;
    writer.commit().or_cannot(what)
}

/// Returns the bytes that a file of a commit has in the working tree.
pub(crate) fn working_bytes(
    git: &Repository,
    path: &RepoPath,
    entry: Entry,
    conversion: &Conversion,
) -> Result<Vec<u8>> {
    let what = || format!("convert {path} to the form of the working tree");
    let blob = git.find_blob(entry.oid).or_cannot(what)?;
    if entry.mode == Mode::Link || *conversion == Conversion::None {
        return Ok(blob.content().to_vec());
    }
    // libgit2 converts files only while it writes them.
    let folder = tempfile::tempdir().or_cannot(what)?;
    let mut tree = entry.oid;
    let mut mode = entry.mode.to_git().cast_signed();
    for name in path.as_bytes().rsplit(|byte| *byte == b'/') {
        let mut builder = git.treebuilder(None).or_cannot(what)?;
        builder.insert(name, tree, mode).or_cannot(what)?;
        (tree, mode) = (builder.write().or_cannot(what)?, 0o040_000);
    }
    let tree = git.find_object(tree, None).or_cannot(what)?;
    let mut checkout = CheckoutBuilder::new();
    checkout.target_dir(folder.path()).force().update_index(false).refresh(false);
    git.checkout_tree(&tree, Some(&mut checkout)).or_cannot(what)?;
    let bytes = std::fs::read(folder.path().join(path.as_path())).or_cannot(what)?;
    Ok(match conversion {
        // What is not in UTF-8 stays as it is, as in git.
        Conversion::Encoding(encoding) => {
            encoding.encode(&bytes, encoding.usual_form()).unwrap_or(bytes)
        }
        Conversion::None
        | Conversion::BuiltIn
        | Conversion::OtherEncoding(_)
        | Conversion::Program(_) => bytes,
    })
}
