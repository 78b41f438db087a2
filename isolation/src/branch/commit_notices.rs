//! Notices about what git would do with a commit, and is not done: signing, and hooks.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use engine::ports::Notice;
use git2::Config;

use crate::error::{OrCannot, Result};
use crate::repository::Repo;

/// The hooks that git runs for commits and for moves of branches.
const HOOKS: [&str; 6] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-checkout",
    "reference-transaction",
];

/// Returns the notices about commits in this repository.
pub(crate) fn commit_notices(repo: &Repo) -> Result<Vec<Notice>> {
    let git = repo.git()?;
    let config = git.config().and_then(|mut config| config.snapshot());
    let config = config.or_cannot(|| "read the configuration of git")?;
    let why = "a repository's programs are never run";
    let signing = config.get_bool("commit.gpgsign").unwrap_or(false).then(|| Notice {
        from: "signed commits (commit.gpgsign)".to_owned(),
        to: "the commits of the run are not signed".to_owned(),
        why: format!(
            "{why}; sign them yourself: git rebase --exec 'git commit --amend --no-edit -S'"
        ),
    });
    let names = hooks(repo, &config);
    let hooks = (!names.is_empty()).then(|| Notice {
        from: format!("hooks ({})", names.join(", ")),
        to: "they do not run for the commits of the run".to_owned(),
        why: why.to_owned(),
    });
    Ok(signing.into_iter().chain(hooks).collect())
}

/// Returns the names of the hooks that git would run.
fn hooks(repo: &Repo, config: &Config) -> Vec<&'static str> {
    let folder = match config.get_path("core.hooksPath") {
        Ok(folder) => repo.root.join(folder),
        Err(_unset) => PathBuf::from(&repo.common_dir).join("hooks"),
    };
    let runs = |name: &&str| {
        let meta = fs::metadata(folder.join(name));
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    HOOKS.into_iter().filter(runs).collect()
}
