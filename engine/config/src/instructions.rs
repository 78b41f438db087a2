//! The texts that a user gives to models: the context file in the folder of the settings, and texts
//! on the command line that may name a file.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use protocol::utf8_text;

/// The largest file with a text for models, in bytes.
const LARGEST: u64 = 1 << 20;

/// Returns the beginning of the context file at `path`, at most `most` bytes of it and one more;
/// `None` if there is none.
///
/// # Errors
/// It is not a regular file, or it cannot be read.
pub fn read_context_file(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    // A pipe would block.
    match fs::metadata(path) {
        Ok(there) if there.is_file() => {}
        Ok(_) => return Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Why the text of an option cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The file cannot be read.
    #[error("{} cannot be read", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// The file is too large.
    #[error("{} is larger than {} MiB", .0.display(), LARGEST >> 20)]
    TooLarge(PathBuf),
    /// The file is not text.
    #[error("{} is not UTF-8", .0.display())]
    NotText(PathBuf),
}

/// Returns the content of the file that `given` names, or `given` itself if there is no such file.
///
/// # Errors
/// There is a file, which cannot be a text.
pub fn text_or_file(given: &str) -> Result<String, TextError> {
    let path = Path::new(given);
    // A text may be longer than any path, or have characters that no path has.
    if given.contains(['\n', '\0']) || !matches!(fs::metadata(path), Ok(there) if !there.is_dir()) {
        return Ok(given.to_owned());
    }
    let path = path.to_owned();
    match read_context_file(&path, LARGEST) {
        Ok(None) => Ok(given.to_owned()),
        Ok(Some(bytes)) if bytes.len() as u64 > LARGEST => Err(TextError::TooLarge(path)),
        Ok(Some(bytes)) => utf8_text(bytes).map_err(|_not_utf8| TextError::NotText(path)),
        Err(error) => Err(TextError::Unreadable(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_a_file_or_is_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prompt.md");
        fs::write(&file, "Be brief.\n").unwrap();
        assert_eq!(text_or_file(file.to_str().unwrap()).unwrap(), "Be brief.\n");
        let none = folder.path().to_str().unwrap();
        let long = "word ".repeat(10_000);
        for text in ["Be brief.", "", "two\nlines", "a\0b", &long, none] {
            assert_eq!(text_or_file(text).unwrap(), text);
        }
        fs::write(&file, "\u{feff}Be brief.\r\n").unwrap();
        assert_eq!(text_or_file(file.to_str().unwrap()).unwrap(), "Be brief.\r\n");
        fs::write(&file, b"\xff\xfe").unwrap();
        let error = text_or_file(file.to_str().unwrap()).unwrap_err();
        assert!(matches!(error, TextError::NotText(_)), "{error}");
        fs::write(&file, vec![b'a'; (1 << 20) + 1]).unwrap();
        let error = text_or_file(file.to_str().unwrap()).unwrap_err();
        assert!(matches!(error, TextError::TooLarge(_)), "{error}");
        let error = text_or_file("/dev/zero").unwrap_err();
        assert!(error.to_string().ends_with("cannot be read"), "{error}");
    }

    #[test]
    fn a_context_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("AGENTS.md");
        assert_eq!(read_context_file(&file, 3).unwrap(), None);
        fs::write(&file, "abcdef").unwrap();
        assert_eq!(read_context_file(&file, 3).unwrap().as_deref(), Some(&b"abcd"[..]));
        assert!(read_context_file(folder.path(), 3).is_err(), "it is a folder");
    }
}
