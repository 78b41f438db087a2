//! The versions of one file as git compares them: in UTF-8, whatever their encoding in the working tree.

use std::cell::OnceCell;

use git2::Oid;
use protocol::RepoPath;

use crate::encoding::{Encoding, Form, is_git_text};
use crate::error::{Result, cannot};
use crate::file_entry::{Entry, Mode};
use crate::merge::{BlobForm, Blobs, MergeRules};

/// The content that stands for bytes that are not in the encoding of their file: it has no lines.
const NO_TEXT: &[u8] = &[0];

/// The blobs of one file. What is written has the byte order and the mark that a merge of the versions
/// leaves: those of ours unless only theirs changed them.
pub(super) struct PathTexts<'a> {
    blobs: &'a dyn Blobs,
    rules: Option<&'a MergeRules>,
    path: &'a RepoPath,
    encoding: OnceCell<Option<Encoding>>,
    /// The base, ours and theirs, where they are files.
    versions: [Option<Oid>; 3],
}

impl<'a> PathTexts<'a> {
    /// Returns the versions of the file at `path`: the base, ours and theirs. Without rules, no
    /// attributes are known.
    pub(super) fn of(
        blobs: &'a dyn Blobs,
        rules: Option<&'a MergeRules>,
        path: &'a RepoPath,
        versions: [Option<Entry>; 3],
    ) -> Self {
        let file = |version: Option<Entry>| version.filter(|entry| entry.mode != Mode::Link);
        let versions = versions.map(|version| file(version).map(|entry| entry.oid));
        Self { blobs, rules, path, encoding: OnceCell::new(), versions }
    }

    fn encoding(&self) -> Result<Option<Encoding>> {
        if let Some(encoding) = self.encoding.get() {
            return Ok(*encoding);
        }
        let encoding = match (self.blobs.form(), self.rules) {
            (BlobForm::WorkingTree, Some(rules)) => rules.encoding(self.path)?,
            (BlobForm::WorkingTree, None) | (BlobForm::Committed, _) => None,
        };
        Ok(*self.encoding.get_or_init(|| encoding))
    }

    /// Returns the form of the merged text. An empty version has none.
    fn merged_form(&self, encoding: Encoding) -> Result<Form> {
        let mut forms = [None; 3];
        for (form, version) in forms.iter_mut().zip(self.versions) {
            let bytes = version.map(|version| self.blobs.read(version)).transpose()?;
            let bytes = bytes.filter(|bytes| !bytes.is_empty());
            *form = bytes.and_then(|bytes| encoding.decode(&bytes)).map(|(_text, form)| form);
        }
        let [base, ours, theirs] = forms;
        let merged = if ours == base { theirs.or(ours) } else { ours.or(theirs).or(base) };
        Ok(merged.unwrap_or_else(|| encoding.usual_form()))
    }
}

impl Blobs for PathTexts<'_> {
    fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        let bytes = self.blobs.read(oid)?;
        let Some(encoding) = self.encoding()? else { return Ok(bytes) };
        Ok(encoding.decode(&bytes).map_or_else(|| NO_TEXT.to_vec(), |(text, _form)| text))
    }

    fn write(&self, text: &[u8]) -> Result<Oid> {
        // A tool may have written the file in its encoding.
        let Some(encoding) = self.encoding()?.filter(|_| is_git_text(text)) else {
            return self.blobs.write(text);
        };
        let form = self.merged_form(encoding)?;
        let bytes = encoding.encode(text, form);
        let bytes =
            bytes.ok_or_else(|| cannot(format!("encode {}", self.path), "it is not UTF-8"))?;
        self.blobs.write(&bytes)
    }
}
