//! Reads the lines of a file in its encoding, or the bytes of an image, and notes what the session has seen of
//! a text.

use encoding_rs::Decoder;
use engine::ports::{ViewFile, ViewPath, WorkspaceView};

use super::page::{CHUNK, LineRange, Page, PageReader};
use crate::builtin::run_blocking;
use crate::display::{SCAN_BYTES, is_binary};
use crate::encoding::TextEncoding;
use crate::error::{FileError, ToolError};
use crate::images::{LARGEST_IMAGE, image_type};
use crate::notebook::document::Notebook;
use crate::seen_files::SeenFiles;
use crate::text_file::{decode, read_bytes};

/// What a file is to a model.
pub(super) enum FileContent {
    /// A page of a text.
    Page(Page),
    /// All bytes of an image, and its media type.
    Image(Vec<u8>, &'static str),
}

/// Reads the lines in `range` of a file of the tree; of a notebook, those of its cells; an image whole.
pub(super) async fn file_content(
    view: &dyn WorkspaceView,
    path: &ViewPath,
    range: LineRange,
    shown: &str,
    seen: &SeenFiles,
) -> Result<FileContent, ToolError> {
    if path.as_path().extension().is_some_and(|name| name == "ipynb")
        && let Some(cells) = cells(view, path, shown, seen).await
    {
        let mut pager = PageReader::new(range, SCAN_BYTES);
        let page = pager.push(cells.as_bytes()).unwrap_or_else(|| pager.finish());
        return Ok(FileContent::Page(page));
    }
    let mut encoding = None;
    loop {
        let file = view.open(path).await;
        let file = file.map_err(|error| FileError::of("open", shown, error))?;
        let mut glance = seen.glance();
        match page(file, range, shown, encoding, &mut |bytes| glance.push(bytes)).await? {
            Paged::Page(page) => {
                seen.saw(path, glance);
                return Ok(FileContent::Page(page));
            }
            Paged::Image(begun, mime_type) => {
                let bytes = begun.rest(shown).await?;
                return Ok(FileContent::Image(bytes, mime_type));
            }
            // The file is read again from its beginning, in the encoding that takes all bytes.
            Paged::NotUtf8 => encoding = Some(TextEncoding::Windows1252),
        }
    }
}

/// Returns the cells of a notebook; `None` if it is none, which is read as any other file.
async fn cells(
    view: &dyn WorkspaceView,
    path: &ViewPath,
    shown: &str,
    seen: &SeenFiles,
) -> Option<String> {
    let (bytes, _) = read_bytes(view, path, shown).await.ok()?;
    let mut glance = seen.glance();
    glance.push(&bytes);
    let text = decode(bytes, shown).ok()?.text;
    let cells = run_blocking(move || Some(Notebook::parse(&text).ok()?.readable()));
    let cells = cells.await.ok()??;
    seen.saw(path, glance);
    Some(cells)
}

/// Reads the lines in `range` of an artifact, which is UTF-8.
pub(super) async fn artifact_page(
    file: Box<dyn ViewFile>,
    range: LineRange,
    shown: &str,
) -> Result<Page, ToolError> {
    match page(file, range, shown, Some(TextEncoding::Utf8), &mut |_| ()).await? {
        Paged::Page(page) => Ok(page),
        Paged::NotUtf8 => Err(FileError::Encoding(shown.to_owned()).into()),
        Paged::Image(begun, _) => Err(begun.binary(shown).into()),
    }
}

/// What was read of a file.
enum Paged {
    Page(Page),
    /// It is not UTF-8, which it was taken for.
    NotUtf8,
    /// It is an image of this media type.
    Image(Begun, &'static str),
}

/// A file that is not text, of which the beginning was read.
struct Begun {
    file: Box<dyn ViewFile>,
    beginning: Vec<u8>,
}

impl Begun {
    fn binary(&self, shown: &str) -> FileError {
        FileError::Binary { path: shown.to_owned(), bytes: self.file.stat().size }
    }

    /// Returns all bytes of an image.
    async fn rest(self, shown: &str) -> Result<Vec<u8>, FileError> {
        let Self { mut file, beginning: mut bytes } = self;
        let most = usize::try_from(LARGEST_IMAGE).unwrap_or(usize::MAX);
        let size = file.stat().size;
        if size <= LARGEST_IMAGE {
            // It may have grown since.
            let rest = file.read(most.saturating_sub(bytes.len()).saturating_add(1)).await;
            bytes.extend(rest.map_err(|error| FileError::of("read", shown, error))?);
        }
        if size > LARGEST_IMAGE || bytes.len() > most {
            let (path, bytes) = (shown.to_owned(), size.max(bytes.len() as u64));
            return Err(FileError::TooLarge { path, bytes, most: LARGEST_IMAGE });
        }
        Ok(bytes)
    }
}

/// Reads the lines in `range` of a file in `encoding`, or in that of its mark, or UTF-8.
async fn page(
    mut file: Box<dyn ViewFile>,
    range: LineRange,
    shown: &str,
    encoding: Option<TextEncoding>,
    glance: &mut (dyn FnMut(&[u8]) + Send),
) -> Result<Paged, ToolError> {
    let failed = |error| FileError::of("read", shown, error);
    let mut chunk = file.read(CHUNK).await.map_err(failed)?;
    let marked = TextEncoding::marked(&chunk);
    let is_guess = encoding.is_none() && marked.is_none();
    let encoding = encoding.or(marked).unwrap_or(TextEncoding::Utf8);
    if matches!(encoding, TextEncoding::Utf8 | TextEncoding::Windows1252) && is_binary(&chunk) {
        let (image, begun) = (image_type(&chunk), Begun { file, beginning: chunk });
        return match image {
            Some(mime_type) => Ok(Paged::Image(begun, mime_type)),
            None => Err(begun.binary(shown).into()),
        };
    }
    let mut decoder = encoding.decoder();
    let mut pager = PageReader::new(range, SCAN_BYTES);
    let mut is_lossy = false;
    loop {
        glance(&chunk);
        let is_end = chunk.is_empty();
        let (text, has_faults) = decoded(&mut decoder, &chunk);
        if has_faults && is_guess {
            return Ok(Paged::NotUtf8);
        }
        is_lossy |= has_faults;
        let done = match is_end {
            // What is left of an incomplete character comes before the end.
            true => pager.push(&text).or_else(|| Some(pager.finish())),
            false => pager.push(&text),
        };
        if let Some(mut page) = done {
            page.is_lossy |= is_lossy;
            page.encoding = encoding;
            return Ok(Paged::Page(page));
        }
        chunk = file.read(CHUNK).await.map_err(failed)?;
    }
}

/// Decodes the next bytes of a file; no bytes are its end. Returns whether some are not in its encoding, for
/// which a sign stands.
fn decoded(decoder: &mut Decoder, bytes: &[u8]) -> (Vec<u8>, bool) {
    let room = decoder.max_utf8_buffer_length(bytes.len());
    let mut text = String::with_capacity(room.expect("a chunk is small"));
    let (.., has_faults) = decoder.decode_to_string(bytes, &mut text, bytes.is_empty());
    (text.into_bytes(), has_faults)
}
