//! The repositories in which a run is asked for.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use regatta::error::{Error, ErrorKind};

use crate::args::{Globals, RunArgs};

/// The size of the largest list, in bytes.
const LARGEST_LIST: u64 = 16 << 20;

/// A repository in which a run is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) struct GroupRepository {
    /// What it is called in the display: the name of its folder, or its path where two have the same name.
    pub(in crate::commands) label: String,
    /// Its folder, without symlinks if it is there.
    pub(in crate::commands) root: PathBuf,
}

/// Returns the repositories, if several are named; `None` if a run in one is asked for.
///
/// # Errors
/// The list of repositories cannot be read, or a repository is named twice or lies in another one.
pub(in crate::commands) fn repositories(
    globals: &Globals,
    args: &RunArgs,
) -> Result<Option<Vec<GroupRepository>>, Error> {
    let mut named = globals.repos.clone();
    match &args.repo_list {
        Some(list) => named.extend(read_list(list)?),
        None if named.len() < 2 => return Ok(None),
        None => {}
    }
    if named.is_empty() {
        return Err(Error::usage("there is no repository in the list"));
    }
    let roots: Vec<_> = named.iter().map(|at| root_of(at)).collect();
    check_apart(&roots)?;
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let short = |root: &Path| root.file_name().map(|name| name.to_string_lossy().into_owned());
    roots
        .iter()
        .filter_map(|root| short(root))
        .for_each(|name| *names.entry(name).or_default() += 1);
    let label = |root: &PathBuf| {
        let name = short(root).filter(|name| names.get(name) == Some(&1));
        name.unwrap_or_else(|| root.to_string_lossy().into_owned())
    };
    let label = |root: &PathBuf| crate::render::one_line(&label(root));
    Ok(Some(
        roots
            .iter()
            .map(|root| GroupRepository { label: label(root), root: root.clone() })
            .collect(),
    ))
}

/// Returns the root of the repository at `at`, or the folder itself if that is not known.
pub(in crate::commands) fn root_of(at: &Path) -> PathBuf {
    let found =
        isolation::git_state_at(&fs::canonicalize(at).unwrap_or_else(|_gone| at.to_owned()));
    found.map_or_else(
        || fs::canonicalize(at).unwrap_or_else(|_gone| at.to_owned()),
        |(root, _)| root,
    )
}

/// Refuses a repository that is named twice, and one inside of another.
fn check_apart(roots: &[PathBuf]) -> Result<(), Error> {
    for (at, root) in roots.iter().enumerate() {
        for other in &roots[..at] {
            if root == other {
                return Err(Error::usage(format!("`{}` is named twice", root.display()))
                    .because("two runs of a group never work in one repository"));
            }
            let (inner, outer) = match (root.starts_with(other), other.starts_with(root)) {
                (true, _) => (root, other),
                (_, true) => (other, root),
                _ => continue,
            };
            return Err(Error::usage(format!(
                "`{}` lies in `{}`, which is named, too",
                inner.display(),
                outer.display()
            ))
            .because("a run in the outer repository would see the work in the inner one")
            .hint("leave one of them out"));
        }
    }
    Ok(())
}

/// Reads a list of folders, one a line, from a file, or from standard input if it is `-`. `~/` is the user's
/// home.
fn read_list(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |error: &io::Error| {
        let what = format!("cannot read the list of repositories {}", path.display());
        Error::new(ErrorKind::Plan, what).caused_by(error)
    };
    let mut text = String::new();
    let read = match path == Path::new("-") {
        true => io::stdin().take(LARGEST_LIST).read_to_string(&mut text),
        false => File::open(path).and_then(|it| it.take(LARGEST_LIST).read_to_string(&mut text)),
    };
    read.map_err(|error| failed(&error))?;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let folder = |line: &str| match (line.strip_prefix("~/"), &home) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(line),
    };
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(folder).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(repos: &[&Path], list: Option<&Path>) -> Result<Option<Vec<String>>, Error> {
        let mut globals = Globals::default();
        globals.repos = repos.iter().map(PathBuf::from).collect();
        let args = RunArgs { repo_list: list.map(Path::to_owned), ..RunArgs::default() };
        let found = repositories(&globals, &args)?;
        Ok(found.map(|found| found.into_iter().map(|it| it.label).collect()))
    }

    #[test]
    fn several_repositories_are_named_by_options_and_by_a_list() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let at = |name: &str| folder.join(name);
        for name in ["a/app", "b/app", "lib", "lib/inner"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        assert_eq!(labels(&[], None), Ok(None));
        assert_eq!(labels(&[&at("lib")], None), Ok(None));
        let two = labels(&[&at("lib"), &at("a/app")], None).unwrap().unwrap();
        assert_eq!(two, ["lib", "app"]);
        let same = labels(&[&at("b/app"), &at("a/app")], None).unwrap().unwrap();
        assert_eq!(same, [at("b/app").display().to_string(), at("a/app").display().to_string()]);
        let list = at("list");
        fs::write(&list, format!("# all of them\n\n  {}  \n", at("a/app").display())).unwrap();
        assert_eq!(labels(&[], Some(&list)).unwrap().unwrap(), ["app"]);
        assert_eq!(labels(&[&at("lib")], Some(&list)).unwrap().unwrap(), ["lib", "app"]);
    }

    #[test]
    fn a_repository_that_is_named_twice_or_lies_in_another_is_one_clear_error() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let at = |name: &str| folder.join(name);
        fs::create_dir_all(at("lib/inner")).unwrap();
        std::os::unix::fs::symlink(at("lib"), at("link")).unwrap();
        let twice = labels(&[&at("lib"), &at("link")], None).unwrap_err();
        assert!(twice.what.ends_with("is named twice"), "{twice}");
        let inner = labels(&[&at("lib/inner"), &at("lib")], None).unwrap_err();
        assert!(inner.what.contains("lies in"), "{inner}");
        let missing = labels(&[], Some(&at("no list"))).unwrap_err();
        assert!(missing.what.starts_with("cannot read the list"), "{missing}");
        fs::write(at("empty"), "# none\n").unwrap();
        let empty = labels(&[], Some(&at("empty"))).unwrap_err();
        assert_eq!(empty.what, "there is no repository in the list");
    }
}
