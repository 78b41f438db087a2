//! Makes a small sample repository with one commit, for demonstrations.

use std::fs;
use std::path::Path;

use git2::{
    DiffFormat, DiffOptions, IndexAddOption, Repository, RepositoryInitOptions,
    RepositoryOpenFlags, Signature, Time,
};
use protocol::RepoPath;

use crate::error::{OrCannot, Result, cannot};
use crate::repository::{init_git, open_git};

/// The author of the commits.
const NAME: &str = "Regatta Demo";
const EMAIL: &str = "demo@localhost";

/// Makes a repository at `root` with these files and one commit that holds them all.
///
/// Makes the folder if it does not exist. The user's git settings have no effect, because the
/// settings of the repository name the author of commits and the line endings.
///
/// # Errors
/// A path leads out of the repository, or the system or libgit2 fails.
pub fn init(root: &Path, files: &[(String, String)], message: &str) -> Result<()> {
    let what = || format!("make a sample repository in {}", root.display());
    let mut options = RepositoryInitOptions::new();
    // The user's template may contain hooks.
    options.external_template(false).no_reinit(true).initial_head("main");
    let repository = init_git(root, &options).or_cannot(what)?;
    for (path, content) in files {
        let path = RepoPath::new(path.as_str())
            .ok_or_else(|| cannot(what(), format!("{path} is not a path")))?;
        let target = root.join(path.as_path());
        let folder = target.parent().unwrap_or(root);
        fs::create_dir_all(folder).or_cannot(what)?;
        fs::write(&target, content).or_cannot(what)?;
    }
    commit(&repository, message).or_cannot(what)
}

fn commit(repository: &Repository, message: &str) -> std::result::Result<(), git2::Error> {
    let mut config = repository.config()?.open_level(git2::ConfigLevel::Local)?;
    for (key, value) in [
        ("user.name", NAME),
        ("user.email", EMAIL),
        ("core.autocrlf", "false"),
        ("commit.gpgsign", "false"),
    ] {
        config.set_str(key, value)?;
    }
    let mut index = repository.index()?;
    index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let author = Signature::new(NAME, EMAIL, &Time::new(1_767_225_600, 0))?;
    repository.commit(Some("HEAD"), &author, &author, message, &tree, &[])?;
    Ok(())
}

/// Returns how the working tree at `root` differs from its last commit, as a patch.
///
/// # Errors
/// The error of libgit2.
pub fn diff(root: &Path) -> Result<Vec<u8>> {
    let what = || format!("compare the tree at {} with its last commit", root.display());
    patch(root).or_cannot(what)
}

fn patch(root: &Path) -> std::result::Result<Vec<u8>, git2::Error> {
    let repository = open_git(root, RepositoryOpenFlags::NO_SEARCH)?;
    let tree = repository.head()?.peel_to_tree()?;
    let mut options = DiffOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).show_untracked_content(true);
    let diff = repository.diff_tree_to_workdir(Some(&tree), Some(&mut options))?;
    let mut patch = Vec::new();
    diff.print(DiffFormat::Patch, |_delta, _hunk, line| {
        if matches!(line.origin(), '+' | '-' | ' ') {
            patch.push(u8::try_from(line.origin()).unwrap_or(b' '));
        }
        patch.extend_from_slice(line.content());
        true
    })?;
    Ok(patch)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(root: &Path, words: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("-C").arg(root).args(words).env("GIT_CONFIG_GLOBAL", "/dev/null");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    fn file(path: &str, content: &str) -> (String, String) {
        (path.to_owned(), content.to_owned())
    }

    #[test]
    fn a_sample_is_a_clean_repository_with_one_commit() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("sample");
        let files = [file("README.md", "hello\n"), file("src/a.rs", "// a\n")];
        init(&root, &files, "Begin").unwrap();
        assert_eq!(git(&root, &["log", "--format=%s"]), "Begin\n");
        assert_eq!(git(&root, &["status", "--porcelain"]), "");
        assert_eq!(git(&root, &["ls-files"]), "README.md\nsrc/a.rs\n");
        assert_eq!(git(&root, &["symbolic-ref", "HEAD"]), "refs/heads/main\n");
        assert_eq!(diff(&root).unwrap(), b"");
    }

    #[test]
    fn the_patch_of_a_sample_is_what_git_says() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("sample");
        init(&root, &[file("a", "one\ntwo\n")], "Begin").unwrap();
        fs::write(root.join("a"), "one\n2\n").unwrap();
        fs::write(root.join("b"), "new\n").unwrap();
        let ours = String::from_utf8(diff(&root).unwrap()).unwrap();
        git(&root, &["add", "-N", "b"]);
        assert_eq!(ours, git(&root, &["diff", "HEAD"]));
    }

    #[test]
    fn a_sample_never_takes_over_a_repository_or_leaves_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let sample = [file("a", "x")];
        init(folder.path(), &sample, "Begin").unwrap();
        assert!(init(folder.path(), &sample, "Again").is_err());
        let outside = [file("../a", "x")];
        assert!(init(&folder.path().join("b"), &outside, "Begin").is_err());
    }
}
