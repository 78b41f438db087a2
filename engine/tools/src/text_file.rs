//! Reads a file that is to be changed, as a text.

use engine::ports::{FileStat, ViewPath, WorkspaceView};

use crate::display::MAX_FILE_BYTES;
use crate::error::FileError;

/// Reads the text of a file, with the state of the file at that moment.
pub(crate) async fn read_text(
    view: &dyn WorkspaceView,
    path: &ViewPath,
    shown: &str,
) -> Result<(String, FileStat), FileError> {
    let file = view.open(path).await;
    let mut file = file.map_err(|error| FileError::of("open", shown, error))?;
    let stat = file.stat();
    let too_large =
        |bytes| FileError::TooLarge { path: shown.to_owned(), bytes, most: MAX_FILE_BYTES };
    if stat.size > MAX_FILE_BYTES {
        return Err(too_large(stat.size));
    }
    let most = usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX);
    let bytes = file.read(most.saturating_add(1)).await;
    let bytes = bytes.map_err(|error| FileError::of("read", shown, error))?;
    // The file has grown since its size was checked.
    if bytes.len() > most {
        return Err(too_large(bytes.len() as u64));
    }
    if bytes.contains(&0) {
        return Err(FileError::Binary { path: shown.to_owned(), bytes: bytes.len() as u64 });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, stat)),
        Err(_) => Err(FileError::Encoding(shown.to_owned())),
    }
}
