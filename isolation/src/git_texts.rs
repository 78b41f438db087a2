//! Files as git has them: in UTF-8, whatever their encoding in the working tree. People and tools read
//! these, and lines are counted in them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository, RepositoryOpenFlags};
use protocol::RepoPath;

use crate::baseline::{Conversion, conversion};
use crate::encoding::is_git_text;
use crate::error::Result;
use crate::merge::{BlobForm, Blobs};
use crate::repository::open_git;

/// The texts of one repository. It is opened for its attributes when the first file is not UTF-8.
pub(crate) struct GitTexts {
    root: PathBuf,
    git: OnceCell<Option<Repository>>,
}

impl GitTexts {
    /// Returns the texts of the repository at `root`.
    pub(crate) fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), git: OnceCell::new() }
    }

    /// Returns the bytes of a file as git has them; as they are where they are not in the encoding of
    /// their file, or where the repository cannot be read.
    pub(crate) fn text<'a>(&self, path: &RepoPath, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if is_git_text(bytes) {
            return bytes.into();
        }
        let open = || open_git(&self.root, RepositoryOpenFlags::NO_SEARCH).ok();
        let git = self.git.get_or_init(open);
        let conversion = git.as_ref().and_then(|git| conversion(git, path).ok());
        match conversion {
            Some(Conversion::Encoding(encoding)) => match encoding.decode(bytes) {
                Some((text, _form)) => text.into(),
                None => bytes.into(),
            },
            Some(
                Conversion::None
                | Conversion::BuiltIn
                | Conversion::OtherEncoding(_)
                | Conversion::Program(_),
            )
            | None => bytes.into(),
        }
    }
}

/// The blobs of the versions of one file, as git has them.
pub(crate) struct TextBlobs<'a> {
    pub(crate) blobs: &'a dyn Blobs,
    pub(crate) texts: &'a GitTexts,
    pub(crate) path: &'a RepoPath,
}

impl Blobs for TextBlobs<'_> {
    fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        let bytes = self.blobs.read(oid)?;
        Ok(self.texts.text(self.path, &bytes).into_owned())
    }

    fn write(&self, bytes: &[u8]) -> Result<Oid> {
        self.blobs.write(bytes)
    }

    fn form(&self) -> BlobForm {
        self.blobs.form()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sample;

    #[test]
    fn a_text_in_the_encoding_of_its_file_is_read_as_utf8_and_anything_else_as_it_is() {
        let sample = Sample::empty();
        let attributes =
            "*.le working-tree-encoding=UTF-16LE-BOM\n*.any working-tree-encoding=UTF-16\n";
        sample.write(".gitattributes", attributes);
        let texts = GitTexts::of(&sample.root);
        let text = |path: &str, bytes: &[u8]| {
            texts.text(&RepoPath::new(path).unwrap(), bytes).into_owned()
        };
        assert_eq!(text("a.le", b"\xff\xfea\0\n\0"), b"a\n");
        for (path, bytes) in [
            ("a.le", &b"as git has it\n"[..]),
            ("a.any", b"odd\0"),
            ("a.txt", b"\xff\xfea\0\n\0"),
            ("a.le", b""),
        ] {
            assert_eq!(text(path, bytes), bytes, "{path} {bytes:?}");
        }
        let nowhere = GitTexts::of(Path::new("/nowhere"));
        let bytes = b"\xff\xfea\0\n\0";
        assert_eq!(*nowhere.text(&RepoPath::new("a.le").unwrap(), bytes), bytes[..]);
    }
}
