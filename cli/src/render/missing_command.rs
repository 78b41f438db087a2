//! What helps where a command was not found in a workspace, because it is in a folder that git ignores.

use std::path::{Path, PathBuf};

use protocol::{Landed, Outcome};

use super::next_commands::CommandHints;
use super::printable::{fit, width};
use super::unverified::unverified;

/// Folders that git ignores in most repositories, each with a set-up that makes it.
const FOLDERS: [(&str, &str); 5] = [
    ("node_modules", "npm ci"),
    (".venv", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"),
    ("venv", "python3 -m venv venv && venv/bin/pip install -r requirements.txt"),
    ("bower_components", "bower install"),
    ("target", "cargo build"),
];

/// What the message of a failure contains if the shell has not found a command.
const NOT_FOUND: &str = "code 127";

/// Returns the options that bring the folders of the repository into the workspaces, if a command was
/// not found there. `reasons` are the messages of failures, `carried` the globs of the files that were
/// carried along.
#[must_use]
pub fn missing_command_lines<'a>(
    reasons: impl IntoIterator<Item = &'a str>,
    carried: &[String],
    hints: &CommandHints,
) -> Vec<String> {
    if !reasons.into_iter().any(|why| why.contains(NOT_FOUND)) {
        return Vec::new();
    }
    let Some(root) = root(hints.repo.as_deref()) else { return Vec::new() };
    let is_carried = |folder: &str| {
        let in_it = |glob: &String| glob == folder || glob.starts_with(&format!("{folder}/"));
        carried.iter().any(in_it)
    };
    let lacking = FOLDERS.iter().filter(|(folder, _)| root.join(folder).is_dir());
    let lacking: Vec<_> = lacking.filter(|(folder, _)| !is_carried(folder)).collect();
    let Some((first, _)) = lacking.first() else { return Vec::new() };
    let mut commands = Vec::new();
    for (folder, setup) in &lacking {
        commands.push((format!("--carry '{folder}/**'"), format!("copies {folder}")));
        commands.push((format!("--setup '{setup}'"), format!("makes {folder}")));
    }
    let widest = commands.iter().map(|(command, _)| width(command)).max().unwrap_or(0);
    let why = format!("hint    a command was not found, and the workspaces have no {first}");
    let commands = commands.iter().map(|(it, why)| format!("        {}  {why}", fit(it, widest)));
    std::iter::once(why).chain(commands).collect()
}

/// Returns why a task failed, or why its work is not verified.
#[must_use]
pub fn failure_reason<'a>(
    outcome: Option<&'a Outcome>,
    landing: Option<&'a Landed>,
) -> Option<&'a str> {
    match outcome {
        Some(Outcome::Failed { failure }) => Some(&failure.message),
        Some(Outcome::Done { .. } | Outcome::Cancelled) | None => {
            unverified(landing).map(|unverified| unverified.message.as_str())
        }
    }
}

/// Returns the root of the repository that contains `folder`, or the current folder.
fn root(folder: Option<&Path>) -> Option<PathBuf> {
    let folder = std::path::absolute(folder.unwrap_or(Path::new("."))).ok()?;
    folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_not_found_beside_an_ignored_folder_names_both_ways_to_have_it() {
        let repository = tempfile::tempdir().unwrap();
        for folder in [".git", "node_modules", "src"] {
            std::fs::create_dir(repository.path().join(folder)).unwrap();
        }
        let repo = Some(repository.path().join("src"));
        let hints = CommandHints { repo, ..CommandHints::default() };
        let lines =
            |why, carried: &[String]| missing_command_lines(["other", why], carried, &hints);
        let why = "mocha: not found (code 127: the shell did not find a command)";
        assert_eq!(
            lines(why, &[]),
            [
                "hint    a command was not found, and the workspaces have no node_modules",
                "        --carry 'node_modules/**'  copies node_modules",
                "        --setup 'npm ci'           makes node_modules",
            ]
        );
        assert_eq!(lines("code 1", &[]), [""; 0]);
        assert_eq!(lines(why, &["node_modules/**".to_owned()]), [""; 0]);
        std::fs::remove_dir(repository.path().join("node_modules")).unwrap();
        assert_eq!(lines(why, &[]), [""; 0]);
    }
}
