//! The folders that named sessions of commands carry over: where the last command of a name has ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use engine::ports::{Found, WorkspaceView};

use crate::error::ToolError;
use crate::paths::Paths;

/// The most names that are kept, and the most bytes of one.
const NAMES: usize = 64;
const LONGEST: usize = 64;

/// What a shell runs at its exit: it reports its folder in an escape sequence, which is not shown, on a line
/// of its own.
pub(super) const REPORT: &str = r#"trap 'cd -P . && printf "\n\033]7;%s\033\\" "$PWD"' EXIT"#;

/// The beginning of the report. The folder and an ESC follow.
const REPORT_START: &str = "\u{1b}]7;";

/// The folders by name, as absolute paths of processes.
#[derive(Debug, Default)]
pub(crate) struct Folders(Mutex<BTreeMap<String, String>>);

impl Folders {
    /// Returns the folder of `name`; `None` if it has none yet.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Checks whether `name` can carry a folder over.
    pub(super) fn check(&self, name: &str) -> Result<(), ToolError> {
        let folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if name.is_empty() || name.len() > LONGEST {
            return Err(ToolError::Arguments(format!(
                "/session: a name has 1 to {LONGEST} bytes, not {}",
                name.len()
            )));
        }
        if !folders.contains_key(name) && folders.len() >= NAMES {
            return Err(ToolError::Arguments(format!(
                "/session: there are {NAMES} names already; use one of them"
            )));
        }
        Ok(())
    }

    /// Notes where a command of `name` has ended, by the last line of its output. Returns what the model should
    /// know about it.
    pub(super) async fn note(
        &self,
        name: &str,
        last_line: Option<&str>,
        (view, paths): (&dyn WorkspaceView, &Paths),
    ) -> Option<String> {
        let folder = last_line.and_then(reported)?;
        if view.inside(Path::new(folder)).await.is_none() {
            return Some(
                "The folder it ended in is outside of the working tree and is not kept".into(),
            );
        }
        if let Ok(Found::Folder(_)) = paths.find(view, folder).await {
            let mut folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            folders.insert(name.to_owned(), folder.to_owned());
        }
        None
    }

    /// Forgets the folder of `name`.
    pub(super) fn forget(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

/// Returns the folder that a shell has reported in this line.
fn reported(line: &str) -> Option<&str> {
    let (_before, after) = line.rsplit_once(REPORT_START)?;
    let (folder, _end) = after.split_once('\u{1b}')?;
    Some(folder).filter(|folder| folder.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_report_of_a_line_counts_and_only_a_whole_one() {
        assert_eq!(reported("x\u{1b}]7;/a\u{1b}\\\u{1b}]7;/a b\u{1b}\\"), Some("/a b"));
        for line in ["", "/a", "\u{1b}]7;/a", "\u{1b}]7;a\u{1b}\\", "\u{1b}]7;\u{1b}\\"] {
            assert_eq!(reported(line), None, "{line:?}");
        }
    }
}
