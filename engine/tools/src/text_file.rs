//! Reads a file that is to be changed, as a text, and turns the changed text into its bytes.

use engine::ports::{FileStat, FileVersion, Found, Replace, ViewPath, WorkspaceView};
use protocol::quote;

use crate::builtin::Session;
use crate::display::MAX_FILE_BYTES;
use crate::encoding::TextEncoding;
use crate::error::{FileError, ToolError};

/// A text file, as it was when it was read.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    /// The text, with its byte order mark if it has one.
    pub(crate) text: String,
    pub(crate) encoding: TextEncoding,
}

impl TextFile {
    /// Returns the bytes of the file with another text.
    pub(crate) fn encode(&self, text: String, shown: &str) -> Result<Vec<u8>, FileError> {
        let lacking = |letter| FileError::unencodable(shown, letter, self.encoding);
        self.encoding.encode(text).map_err(lacking)
    }
}

/// A text file that is there and is to be changed.
pub(crate) struct FileToChange {
    pub(crate) path: ViewPath,
    /// The path as the model wrote it.
    pub(crate) shown: String,
    pub(crate) file: TextFile,
    version: FileVersion,
}

impl FileToChange {
    /// Finds and reads the file at a path. Refuses one that has changed since the session has seen it.
    pub(crate) async fn open(
        session: &Session,
        view: &dyn WorkspaceView,
        text: &str,
    ) -> Result<Self, ToolError> {
        let shown = quote(text);
        let path = match session.paths.find_to_change(view, text).await? {
            Found::Folder(_) => return Err(FileError::Folder(shown).into()),
            found @ Found::Missing { .. } => {
                return Err(session.paths.missing(view, text, &found).await.into());
            }
            Found::File { path, .. } => path,
        };
        let (bytes, stat) = read_bytes(view, &path, &shown).await?;
        session.refuse_unseen(&path, &shown, &bytes).await?;
        let file = decode(bytes, &shown)?;
        Ok(Self { path, shown, file, version: stat.version })
    }

    /// Writes the changed text, unless the file has changed meanwhile.
    pub(crate) async fn write(
        &self,
        session: &Session,
        view: &dyn WorkspaceView,
        text: String,
    ) -> Result<(), ToolError> {
        let bytes = self.file.encode(text, &self.shown)?;
        session.write(view, &self.path, &self.shown, bytes, Replace::Exactly(self.version)).await
    }
}

/// Reads the bytes of a file, with the state of the file at that moment.
pub(crate) async fn read_bytes(
    view: &dyn WorkspaceView,
    path: &ViewPath,
    shown: &str,
) -> Result<(Vec<u8>, FileStat), FileError> {
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
    Ok((bytes, stat))
}

/// Returns the text of a file with these bytes.
pub(crate) fn decode(bytes: Vec<u8>, shown: &str) -> Result<TextFile, FileError> {
    let length = bytes.len() as u64;
    match TextEncoding::decode(bytes) {
        Some((_, text)) if text.contains('\0') => {
            Err(FileError::Binary { path: shown.to_owned(), bytes: length })
        }
        Some((encoding, text)) => Ok(TextFile { text, encoding }),
        None => Err(FileError::Encoding(shown.to_owned())),
    }
}
