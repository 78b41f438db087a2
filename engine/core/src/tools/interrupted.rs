//! The result of a call that had none when the engine was killed.

use protocol::{ToolCall, quote};

use crate::ports::{CallJournal, CallProgress, PlannedChange, ViewError, ViewPath, WorkspaceView};

/// Nothing is known of the call.
const UNKNOWN: &str = "interrupted: the engine was restarted before this call had a result. It may have run, \
    in part or not at all, and is not run again by itself; look before you repeat it.";

/// The call had begun.
const BEGUN: &str = "interrupted: the engine was restarted while this call ran. Its effects may be there, and \
    it is not run again by itself; look before you repeat it.";

/// The call waited for another one or for an answer of the user.
const NOT_BEGUN: &str = "not run: the engine was restarted before this call began.";

/// The beginning of the result of a call of which it is known which files it was changing.
const CHANGING: &str = "interrupted: the engine was restarted while this call changed files. It is not run \
    again by itself. Its files now:";

/// The largest file whose content is compared, and the most that is read at once.
const LARGEST: u64 = 64 << 20;
const PIECE: usize = 1 << 20;

/// Returns the result of a call that had none when the engine was killed: whether it had begun, and which of its
/// files it had changed, if that is known.
pub async fn interrupted_result(
    call: &ToolCall,
    journal: &dyn CallJournal,
    view: &dyn WorkspaceView,
) -> String {
    let changes = match journal.progress(&call.id).await {
        CallProgress::Unknown => return UNKNOWN.to_owned(),
        CallProgress::NotBegun => return NOT_BEGUN.to_owned(),
        CallProgress::Begun(changes) if changes.is_empty() => return BEGUN.to_owned(),
        CallProgress::Begun(changes) => changes,
    };
    let mut text = CHANGING.to_owned();
    for change in &changes {
        let state = state_of(change, journal, view).await;
        text.push_str(&format!("\n{}: {state}", quote(&change.path.as_path().to_string_lossy())));
    }
    text
}

/// Returns what has become of a file.
async fn state_of(
    change: &PlannedChange,
    journal: &dyn CallJournal,
    view: &dyn WorkspaceView,
) -> &'static str {
    let now = match content(&change.path, view).await {
        Ok(content) => Some(journal.digest(&content)),
        Err(ViewError::Missing | ViewError::NotFolder { .. }) => None,
        Err(_) => return "cannot be read",
    };
    match (now == change.after, now == change.before) {
        (true, _) if now.is_none() => "removed",
        (true, _) => "written",
        (false, true) if now.is_none() => "not written",
        (false, true) => "as it was before",
        (false, false) => "neither as before nor as the call makes it",
    }
}

async fn content(path: &ViewPath, view: &dyn WorkspaceView) -> Result<Vec<u8>, ViewError> {
    let mut file = view.open(path).await?;
    if file.stat().size > LARGEST {
        return Err(ViewError::Special);
    }
    let mut content = Vec::new();
    loop {
        let piece = file.read(PIECE).await?;
        if piece.is_empty() || content.len() as u64 > LARGEST {
            return Ok(content);
        }
        content.extend(piece);
    }
}
