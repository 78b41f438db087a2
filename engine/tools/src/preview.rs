//! The change that a call would make to a file, as a person judges it before.

use std::path::PathBuf;

use engine::ports::{Found, ViewPath, WorkspaceView};
use protocol::quote;
use similar::TextDiff;

use crate::builtin::{Session, run_blocking};
use crate::change::TIMEOUT;
use crate::display;
use crate::text_file::{decode, read_bytes};

/// The most bytes of a diff that a person judges a change by.
pub(crate) const MOST_BYTES: usize = 64 << 10;

/// Returns the diff of the file at a path, whose text becomes what `after` returns for the text that it has, if
/// it is there. `None` if nothing changes, if `after` returns none, or if the diff is too long.
pub(crate) async fn preview(
    session: &Session,
    view: &dyn WorkspaceView,
    path: &str,
    after: impl FnOnce(Option<&str>) -> Option<String> + Send + 'static,
) -> Option<String> {
    let shown = quote(path);
    let (path, before) = match session.paths.find(view, path).await.ok()? {
        Found::Folder(_) => return None,
        Found::File { path, .. } => {
            let (bytes, _) = read_bytes(view, &path, &shown).await.ok()?;
            (path, Some(decode(bytes, &shown).ok()?.text))
        }
        Found::Missing { above, rest } => {
            let path = above.as_path().join(rest.iter().collect::<PathBuf>());
            (ViewPath::new(&path)?, None)
        }
    };
    let diff = run_blocking(move || {
        let after = after(before.as_deref())?;
        file_diff(&display::path(path.as_path()), before.as_deref(), &after)
    });
    diff.await.ok()?
}

/// Returns the diff of a file; `None` if nothing changes, or if the diff is too long.
pub(crate) fn file_diff(path: &str, before: Option<&str>, after: &str) -> Option<String> {
    if before == Some(after) {
        return None;
    }
    let from = (before.map(|_| path), before.unwrap_or_default());
    Some(headed_diff(from, (Some(path), after))).filter(|text| text.len() <= MOST_BYTES)
}

/// Returns the diff of a file, of which each side has a path, if the file is there, and a text.
pub(crate) fn headed_diff(
    (from, before): (Option<&str>, &str),
    (to, after): (Option<&str>, &str),
) -> String {
    let path = |side: &str, path: Option<&str>| {
        path.map_or_else(|| "/dev/null".to_owned(), |path| format!("{side}/{path}"))
    };
    let mut diff = TextDiff::configure();
    let diff = diff.timeout(TIMEOUT).diff_lines(before, after);
    // A file without lines, and one that is only moved, have headers too.
    let headers = format!("--- {}\n+++ {}\n", path("a", from), path("b", to));
    headers + &diff.unified_diff().context_radius(3).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_every_character_of_the_lines_and_is_whole_or_not_there() {
        let diff = |before, after: &str| file_diff("x", before, after);
        let text = diff(Some("one\ntwo\n"), "one\nthree\r\n").unwrap();
        assert_eq!(text, "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+three\r\n");
        assert!(diff(None, "one\n").unwrap().starts_with("--- /dev/null\n+++ b/x\n"));
        assert_eq!(diff(Some("same"), "same"), None);
        assert_eq!(diff(None, &"long line\n".repeat(10_000)), None);
    }
}
