//! What files are while a person judges a call that changes them: what is saved meanwhile is not overwritten.

use engine::ports::{AccessClass, Found, ViewPath, WorkspaceView};

use crate::display::MAX_FILE_BYTES;
use crate::paths::Paths;
use crate::seen_files::SeenFiles;

/// Remembers the files that a call changes, as they are now.
pub(crate) async fn judged(
    (paths, seen): (&Paths, &SeenFiles),
    view: &dyn WorkspaceView,
    access: AccessClass,
) {
    let AccessClass::Write(changed) = access else { return };
    for path in changed {
        let file = match paths.find(view, &path).await {
            Ok(Found::File { path, .. }) => content(view, &path).await.map(|bytes| (path, bytes)),
            // One that is not there counts as an empty one.
            Ok(found @ Found::Missing { .. }) => {
                ViewPath::new(&found.path()).map(|path| (path, Vec::new()))
            }
            Ok(Found::Folder(_)) | Err(_) => None,
        };
        if let Some((path, bytes)) = file {
            seen.judged(&path, &bytes);
        }
    }
}

async fn content(view: &dyn WorkspaceView, path: &ViewPath) -> Option<Vec<u8>> {
    // What is longer is not remembered.
    let most = usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX).saturating_add(1);
    view.open(path).await.ok()?.read(most).await.ok()
}
