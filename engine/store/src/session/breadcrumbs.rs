//! The session that each terminal used last.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::folder_names::bounded;

/// Variables that name a terminal without a device, each with the beginning of its name.
const VARIABLES: [(&str, &str); 4] = [
    ("KITTY_WINDOW_ID", "kitty"),
    ("TMUX_PANE", "tmux"),
    ("TERM_SESSION_ID", "apple"),
    ("WT_SESSION", "wt"),
];

/// The session that one terminal used last. Without a terminal, nothing is kept.
#[derive(Clone, Debug)]
pub struct Breadcrumbs(Option<PathBuf>);

impl Breadcrumbs {
    /// Returns what is kept in `folder` for a terminal: the one at the device `tty`, or else the one
    /// that the environment names.
    #[must_use]
    pub fn of_terminal(
        folder: &Path,
        tty: Option<&Path>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let device = tty.map(|tty| {
            let tty = tty.to_string_lossy();
            tty.strip_prefix("/dev/").unwrap_or(&tty).replace('/', "-")
        });
        let named = || {
            VARIABLES.iter().find_map(|(name, kind)| {
                let value = variable(name).filter(|value| !value.is_empty())?;
                let value = value.replace(|char: char| !char.is_ascii_alphanumeric(), "-");
                Some(format!("{kind}-{value}"))
            })
        };
        let id = device.filter(|device| !device.trim_matches('.').is_empty()).or_else(named);
        Self(id.map(|id| folder.join(bounded(&id))))
    }

    /// Remembers the session at `log`, which works in `cwd`. If that fails, the terminal has none.
    pub fn remember(&self, cwd: &Path, log: &Path) {
        let Some(file) = &self.0 else { return };
        let (Some(cwd), Some(log)) = (cwd.to_str(), log.to_str()) else { return };
        let written = file
            .parent()
            .map_or(Ok(()), |folder| DirBuilder::new().recursive(true).mode(0o700).create(folder));
        let written = written.and_then(|()| fs::write(file, format!("{cwd}\n{log}\n")));
        if let Err(error) = written {
            tracing::debug!(%error, "the session of a terminal was not remembered");
        }
    }

    /// Returns the file of the session that the terminal used last, if that worked in `cwd`.
    #[must_use]
    pub fn session_of(&self, cwd: &Path) -> Option<PathBuf> {
        let text = fs::read_to_string(self.0.as_ref()?).ok()?;
        let mut lines = text.lines();
        let (folder, log) = (lines.next()?, lines.next()?);
        let is_here = is_same_folder(Path::new(folder), cwd);
        Some(PathBuf::from(log)).filter(|log| is_here && log.is_absolute())
    }
}

/// Returns whether two paths lead to the same folder.
pub(super) fn is_same_folder(one: &Path, two: &Path) -> bool {
    one == two
        || matches!((fs::canonicalize(one), fs::canonicalize(two)), (Ok(one), Ok(two)) if one == two)
}
