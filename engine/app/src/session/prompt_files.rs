//! The files that a command line includes into a prompt: `@FILE`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use protocol::{Attachment, AttachmentKind, DecodedText, ForeignBytes, InputId};
use rustix::fs::{FileType, Mode, OFlags};
use tools::{ImageSizes, LARGEST_IMAGE, Resized, fit, image_type};

use crate::error::Error;
use crate::text::count;

/// The size of the longest text that is included, in bytes.
const LONGEST_TEXT: u64 = 5 << 20;

/// A file that was read.
pub struct ReadFile {
    /// Its whole name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// What is in it.
    pub content: FileContent,
}

/// What a file is to a model.
pub enum FileContent {
    /// A text.
    Text(DecodedText),
    /// An image.
    Image(IncludedImage),
    /// More than can be included.
    TooLarge,
    /// Something else.
    NotText,
}

/// An image, in a size that models take.
pub struct IncludedImage {
    /// The image.
    pub image: Attachment,
    /// What the model should know about its size, if it was made smaller.
    dimensions: String,
    /// What the user should know about that.
    pub notice: Option<String>,
}

impl ReadFile {
    /// Returns why the file is not included, and its size.
    pub fn skipped(&self) -> Option<String> {
        let why = match self.content {
            FileContent::Text(_) | FileContent::Image(_) => return None,
            FileContent::TooLarge => "too large",
            FileContent::NotText => "not a text",
        };
        Some(format!("{why}, {}", size_text(self.size)))
    }
}

/// A file as part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludedFile {
    /// The text, with the name of the file; empty for an empty file.
    pub text: String,
    /// The file itself, if it is an image.
    pub image: Option<Attachment>,
    /// What the user should know if the file is not included as it is.
    pub notice: Option<String>,
}

/// Reads the file at `path`, which begins at `folder` or, with `~`, at `home`. A file that is too
/// long or not text is named, but not included.
///
/// # Errors
/// It does not exist, is not a regular file, or cannot be read.
pub fn include(
    path: &[u8],
    folder: &Path,
    home: Option<&Path>,
    sizes: ImageSizes,
) -> Result<IncludedFile, Error> {
    let path = find(path, folder, home);
    let file = read(&path, sizes).map_err(|error| {
        Error::usage(format!("cannot read the file `{}`", path.display())).caused_by(&error)
    })?;
    let name = &file.name;
    if let Some(why) = file.skipped() {
        return Ok(IncludedFile {
            text: format!("<file name=\"{name}\">(skipped: {why})</file>\n"),
            image: None,
            notice: Some(format!("warning: `{name}` is not included: {why}")),
        });
    }
    Ok(match file.content {
        FileContent::Image(IncludedImage { image, dimensions, notice }) => {
            let text = format!("<file name=\"{name}\">{dimensions}</file>\n");
            IncludedFile { text, image: Some(image), notice }
        }
        FileContent::Text(DecodedText { text, foreign }) if !text.is_empty() => {
            let notice = foreign_note(&format!("`{name}`"), foreign);
            let text = format!("<file name=\"{name}\">\n{text}\n</file>\n");
            IncludedFile { text, image: None, notice }
        }
        _empty => IncludedFile { text: String::new(), image: None, notice: None },
    })
}

/// Reads a text or an image whose path is `path`.
///
/// # Errors
/// It does not exist, is not a regular file, or cannot be read.
pub fn read(path: &Path, sizes: ImageSizes) -> io::Result<ReadFile> {
    let (file, size) = open(path)?;
    let name = std::path::absolute(path).unwrap_or_else(|_unknown_folder| path.to_owned());
    let name = name.to_string_lossy().into_owned();
    let mut bytes = Vec::new();
    let (mut begin, rest) = (file.try_clone()?.take(16), file);
    begin.read_to_end(&mut bytes)?;
    let image = image_type(&bytes);
    let most = if image.is_some() { LARGEST_IMAGE } else { LONGEST_TEXT };
    if size <= most {
        // It may have grown since.
        let more = (most + 1).saturating_sub(bytes.len() as u64);
        rest.take(more).read_to_end(&mut bytes)?;
    }
    let content = match image {
        _ if size > most || bytes.len() as u64 > most => FileContent::TooLarge,
        Some(mime_type) => {
            FileContent::Image(included_image(path, &name, (bytes, mime_type), sizes))
        }
        None => match DecodedText::of(bytes) {
            decoded if decoded.text.contains('\0') => FileContent::NotText,
            decoded => FileContent::Text(decoded),
        },
    };
    Ok(ReadFile { name, size, content })
}

/// Returns what the user should know about a text with bytes that are none in its encoding.
pub fn foreign_note(what: &str, foreign: Option<ForeignBytes>) -> Option<String> {
    let (encoding, bytes, read_as) = match foreign? {
        ForeignBytes::Windows1252(bytes) => ("UTF-8", bytes, "windows-1252"),
        ForeignBytes::BrokenUtf16(bytes) => ("UTF-16", bytes, "U+FFFD"),
    };
    let bytes = count(bytes, "byte");
    Some(format!("warning: {what} is not {encoding} throughout: {bytes} read as {read_as}"))
}

/// Includes an image, in a size that models take.
fn included_image(
    path: &Path,
    name: &str,
    (mut bytes, mut mime_type): (Vec<u8>, &'static str),
    sizes: ImageSizes,
) -> IncludedImage {
    let (mut dimensions, mut notice) = (String::new(), None);
    match fit(&bytes, mime_type, sizes) {
        Ok(None) => {}
        Ok(Some(smaller)) => {
            let Resized { from, to } = smaller.resized;
            let (from, to) = (format!("{}×{}", from.0, from.1), format!("{}×{}", to.0, to.1));
            notice = Some(format!("note: `{name}` has {from} pixels; the model gets it with {to}"));
            dimensions = smaller.resized.for_model();
            (bytes, mime_type) = (smaller.bytes, smaller.mime_type);
        }
        Err(error) => {
            notice = Some(format!("warning: `{name}` could not be made smaller: {error}"));
        }
    }
    let image = Attachment {
        id: InputId::generate().to_string(),
        kind: AttachmentKind::Image,
        file_name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        mime_type: mime_type.to_owned(),
        size: bytes.len() as u64,
        content: BASE64.encode(&bytes),
        extracted_text: None,
        preview: None,
    };
    IncludedImage { image, dimensions, notice }
}

/// Returns the path of a file. Names of macOS screenshots have a narrow no-break space where people
/// type a space.
pub fn find(path: &[u8], folder: &Path, home: Option<&Path>) -> PathBuf {
    let given = Path::new(OsStr::from_bytes(path));
    let path = match (given.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => folder.join(given),
    };
    if path.exists() {
        return path;
    }
    let typed = path.to_string_lossy();
    let spaced = ["AM.", "PM."].iter().fold(typed.clone().into_owned(), |name, half| {
        name.replace(&format!(" {half}"), &format!("\u{202f}{half}"))
    });
    let spaced = PathBuf::from(spaced);
    if spaced.exists() { spaced } else { path }
}

/// Opens a regular file without waiting for anything. Returns its size, too.
fn open(path: &Path) -> io::Result<(File, u64)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let stat = rustix::fs::fstat(&file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((file, u64::try_from(stat.st_size).unwrap_or(0))),
        FileType::Directory => Err(io::Error::other("it is a directory")),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

fn size_text(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1_024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_and_one_that_is_not_text_are_named_and_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("long");
        File::create(&long).unwrap().set_len(6 << 20).unwrap();
        std::fs::write(folder.path().join("binary"), b"a\0b").unwrap();
        // Without its mark nothing says what it is.
        std::fs::write(folder.path().join("utf-16"), b"a\0b\0").unwrap();
        for (name, why) in [
            ("long", "too large, 6.0 MiB"),
            ("binary", "not a text, 3 B"),
            ("utf-16", "not a text, 4 B"),
        ] {
            let included =
                include(name.as_bytes(), folder.path(), None, ImageSizes::Fitted).unwrap();
            let path = folder.path().join(name);
            let expected = format!("<file name=\"{}\">(skipped: {why})</file>\n", path.display());
            assert_eq!(included.text, expected);
            assert!(included.notice.is_some());
        }
    }

    #[test]
    fn a_text_of_other_tools_is_included_and_bytes_that_are_not_utf_8_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for (bytes, text, notice) in [
            (&b"\xef\xbb\xbfa\r\nb"[..], "a\r\nb", None),
            (b"\xff\xfe\xe4\0\n\0", "ä\n", None),
            (b"caf\xe9 \x80 5", "café € 5", Some("2 bytes read as windows-1252")),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let included = include(b"a", folder.path(), None, ImageSizes::Fitted).unwrap();
            let expected = format!("<file name=\"{}\">\n{text}\n</file>\n", path.display());
            assert_eq!(included.text, expected);
            assert_eq!(included.notice.is_some(), notice.is_some(), "{:?}", included.notice);
            assert!(included.notice.unwrap_or_default().ends_with(notice.unwrap_or_default()));
        }
    }

    #[test]
    fn a_large_image_is_made_smaller_and_one_that_is_too_large_is_left_out_and_both_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let include =
            |name: &str, sizes| include(name.as_bytes(), folder.path(), None, sizes).unwrap();
        image::RgbImage::new(4_000, 20).save(folder.path().join("wide.png")).unwrap();
        let wide = include("wide.png", ImageSizes::Fitted);
        assert!(wide.text.contains("original 4000x20, shown at 2000x10"), "{}", wide.text);
        assert!(wide.notice.unwrap().ends_with("4000×20 pixels; the model gets it with 2000×10"));
        let as_it_is = include("wide.png", ImageSizes::AsTheyAre);
        let size = std::fs::metadata(folder.path().join("wide.png")).unwrap().len();
        assert_eq!((as_it_is.image.unwrap().size, as_it_is.notice), (size, None));

        let huge = folder.path().join("huge.png");
        std::fs::write(&huge, b"\x89PNG\r\n\x1a\n").unwrap();
        File::options().write(true).open(&huge).unwrap().set_len(26 << 20).unwrap();
        let huge = include("huge.png", ImageSizes::Fitted);
        assert!(huge.text.ends_with("(skipped: too large, 26.0 MiB)</file>\n"), "{}", huge.text);
        assert!(
            huge.image.is_none() && huge.notice.unwrap().contains("is not included: too large")
        );
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
        let said = include(b"fifo", folder.path(), None, ImageSizes::Fitted).unwrap_err();
        let said = said.to_string();
        assert!(said.contains("not a regular file"), "{said}");
    }

    #[test]
    fn a_screenshot_is_found_by_the_name_that_people_type() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("Shot 10.15\u{202f}AM.txt"), "x").unwrap();
        let included =
            include(b"Shot 10.15 AM.txt", folder.path(), None, ImageSizes::Fitted).unwrap();
        assert!(included.text.contains("\nx\n"), "{}", included.text);
    }
}
