//! The versions of one file as git compares them: in UTF-8, whatever their encoding in the working tree.

use std::cell::{Cell, OnceCell};

use git2::Oid;
use protocol::RepoPath;

use crate::encoding::{Encoding, Form};
use crate::error::{Result, cannot};
use crate::merge::{BlobForm, Blobs, MergeRules};

/// The content that stands for bytes that are not in the encoding of their file: it has no lines.
const NO_TEXT: &[u8] = &[0];

/// The blobs of one file. What is written has the byte order of what was read first.
pub(super) struct PathTexts<'a> {
    blobs: &'a dyn Blobs,
    rules: Option<&'a MergeRules>,
    path: &'a RepoPath,
    encoding: OnceCell<Option<Encoding>>,
    form: Cell<Option<Form>>,
}

impl<'a> PathTexts<'a> {
    /// Returns the versions of the file at `path`. Without rules, no attributes are known.
    pub(super) fn of(
        blobs: &'a dyn Blobs,
        rules: Option<&'a MergeRules>,
        path: &'a RepoPath,
    ) -> Self {
        Self { blobs, rules, path, encoding: OnceCell::new(), form: Cell::new(None) }
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
}

impl Blobs for PathTexts<'_> {
    fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        let bytes = self.blobs.read(oid)?;
        let Some(encoding) = self.encoding()? else { return Ok(bytes) };
        let Some((text, form)) = encoding.decode(&bytes) else { return Ok(NO_TEXT.to_vec()) };
        if self.form.get().is_none() {
            self.form.set(Some(form));
        }
        Ok(text)
    }

    fn write(&self, text: &[u8]) -> Result<Oid> {
        let Some(encoding) = self.encoding()? else { return self.blobs.write(text) };
        let form = self.form.get().unwrap_or_else(|| encoding.usual_form());
        let bytes = encoding.encode(text, form);
        let bytes =
            bytes.ok_or_else(|| cannot(format!("encode {}", self.path), "it is not UTF-8"))?;
        self.blobs.write(&bytes)
    }
}
