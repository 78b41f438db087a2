//! Large texts of sessions, each in a file that is named for what is in it. Equal texts share a file.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use protocol::SessionId;
use sha2::{Digest as _, Sha256};

/// How a reference to a blob begins; the hash of the text follows.
pub(super) const REFERENCE: &str = "blob:sha256:";

/// The largest blob that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// The folder of large texts.
#[derive(Clone, Debug)]
pub struct BlobFolder(PathBuf);

impl BlobFolder {
    /// Returns the blobs in `folder`, which is created for the first of them.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Stores a text durably, and returns a reference to it.
    pub(super) fn put(&self, text: &str) -> io::Result<String> {
        let hash = hash(text);
        let path = self.0.join(&hash);
        if self.read(&hash)?.is_none() {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
            let temporary = self.0.join(format!(".{hash}.{}.tmp", SessionId::generate()));
            let written = write_new(&temporary, text).and_then(|()| fs::rename(&temporary, &path));
            if let Err(error) = written {
                let _gone = fs::remove_file(&temporary); // it may never have been there
                return Err(error);
            }
            File::open(&self.0)?.sync_all()?;
        }
        Ok(format!("{REFERENCE}{hash}"))
    }

    /// Returns the text of a reference; `None` if it is not there, or is not what it was.
    pub(super) fn get(&self, reference: &str) -> Option<String> {
        let hash = reference.strip_prefix(REFERENCE)?;
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash { self.read(hash).ok().flatten() } else { None }
    }

    fn read(&self, hash_of_it: &str) -> io::Result<Option<String>> {
        let file = match File::open(self.0.join(hash_of_it)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(String::from_utf8(bytes).ok().filter(|text| hash(text) == hash_of_it))
    }
}

fn hash(text: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(text).iter().fold(String::new(), |mut hash, byte| {
        let _infallible = write!(hash, "{byte:02x}");
        hash
    })
}

fn write_new(path: &std::path::Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_by_its_reference_until_its_file_is_gone_or_changed() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = BlobFolder::new(folder.path().join("blobs"));
        let reference = blobs.put("a text").unwrap();
        assert_eq!(blobs.put("a text").unwrap(), reference);
        assert_eq!(blobs.get(&reference).as_deref(), Some("a text"));
        let files: Vec<_> = fs::read_dir(folder.path().join("blobs")).unwrap().flatten().collect();
        assert_eq!(files.len(), 1, "{files:?}");
        fs::write(files[0].path(), "a texT").unwrap();
        assert_eq!(blobs.get(&reference), None);
        assert_eq!(blobs.put("a text").unwrap(), reference);
        assert_eq!(blobs.get(&reference).as_deref(), Some("a text"));
        fs::remove_file(files[0].path()).unwrap();
        assert_eq!(blobs.get(&reference), None);
    }

    #[test]
    fn what_is_no_hash_leads_to_no_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "x").unwrap();
        let blobs = BlobFolder::new(folder.path().join("blobs"));
        for reference in ["blob:sha256:../secret", "blob:sha256:", "secret", "blob:sha256:é"] {
            assert_eq!(blobs.get(reference), None, "{reference}");
        }
    }
}
