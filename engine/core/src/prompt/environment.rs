//! Where a session works, for its model.

use protocol::Timestamp;
use serde::Serialize;

/// Where a session works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Environment {
    /// The operating system and the processor: `linux x86_64`.
    pub system: String,
    /// The day: `2026-01-02`.
    pub date: String,
    /// The folder; `None` for tasks, each of which has another one.
    pub folder: Option<String>,
    /// The repository of which the folder is a copy, in a session that works in one.
    pub copy_of: Option<String>,
    /// The repository, if there is one.
    pub git: Option<GitState>,
}

/// The state of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GitState {
    /// The branch that is checked out, if one is.
    pub branch: Option<String>,
    /// The commit that is checked out: its short id and its subject. `None` before the first one.
    pub commit: Option<String>,
}

/// The longest text that a repository or a path may bring, in characters.
const LONGEST: usize = 200;

impl Environment {
    /// Returns what is known everywhere, at the time `at`.
    #[must_use]
    pub fn at(at: Timestamp) -> Self {
        let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
        let date = at.to_string().chars().take(10).collect();
        Self { system, date, folder: None, copy_of: None, git: None }
    }

    /// Returns it with the texts of others in one line each.
    pub(super) fn printable(&self) -> Self {
        let git = self.git.as_ref().map(|git| GitState {
            branch: git.branch.as_deref().map(one_line),
            commit: git.commit.as_deref().map(one_line),
        });
        let [folder, copy_of] =
            [&self.folder, &self.copy_of].map(|path| path.as_deref().map(one_line));
        Self { folder, copy_of, git, ..self.clone() }
    }
}

fn one_line(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(LONGEST).collect()
}
