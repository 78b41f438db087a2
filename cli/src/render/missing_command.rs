//! What helps where a command was not found in a workspace, because it is in a folder that git ignores.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use protocol::{Landed, Outcome};

use super::next_commands::CommandHints;
use super::printable::{fit, width};
use super::unverified::unverified;

/// A folder that git ignores in most repositories, and has commands in it.
struct Folder {
    name: &'static str,
    /// Where its commands are.
    commands: &'static [&'static str],
    /// The set-up that makes the folder where the repository has a file.
    setups: &'static [(&'static str, &'static str)],
    /// Whether its commands are called by their names alone.
    is_of_names: bool,
}

const FOLDERS: [Folder; 5] = [
    Folder {
        name: "node_modules",
        commands: &[".bin"],
        setups: &[
            ("package-lock.json", "npm ci"),
            ("npm-shrinkwrap.json", "npm ci"),
            ("yarn.lock", "yarn install --frozen-lockfile"),
            ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
            ("package.json", "npm install"),
        ],
        is_of_names: true,
    },
    Folder {
        name: ".venv",
        commands: &["bin"],
        setups: &[
            (
                "requirements.txt",
                "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
            ),
            ("pyproject.toml", "python3 -m venv .venv && .venv/bin/pip install ."),
        ],
        is_of_names: true,
    },
    Folder {
        name: "venv",
        commands: &["bin"],
        setups: &[
            (
                "requirements.txt",
                "python3 -m venv venv && venv/bin/pip install -r requirements.txt",
            ),
            ("pyproject.toml", "python3 -m venv venv && venv/bin/pip install ."),
        ],
        is_of_names: true,
    },
    Folder {
        name: "vendor",
        commands: &["bin"],
        setups: &[("composer.json", "composer install")],
        is_of_names: true,
    },
    Folder {
        name: "target",
        commands: &["debug", "release"],
        setups: &[("Cargo.toml", "cargo build")],
        is_of_names: false,
    },
];

/// The longest command that fits on a terminal of 80 columns behind the word `hint`.
const LONG: usize = 72;

/// What the message of a failure contains if the shell has not found a command.
const NOT_FOUND: &str = "code 127";

/// Finds in a repository the commands that its workspaces lack, because git ignores their folders.
#[derive(Clone, Debug)]
pub struct CommandFinder<'a> {
    /// The root of the repository, if there is one.
    root: Option<PathBuf>,
    /// The globs of the files that are carried into the workspaces.
    carried: &'a [String],
    /// The commands that set the workspaces up.
    setups: &'a [String],
}

/// A folder that the workspaces lack.
struct MissingFolder {
    folder: &'static Folder,
    /// Where the command is in the repository.
    place: String,
    /// The set-up that makes the folder.
    setup: Option<&'static str>,
}

impl MissingFolder {
    /// Returns the path by which a command is found that was called by its name alone.
    fn path(&self) -> Option<&str> {
        Some(self.place.as_str()).filter(|place| *place != self.folder.name)
    }
}

impl<'a> CommandFinder<'a> {
    /// Returns the finder for the repository that `hints` name.
    #[must_use]
    pub fn of(hints: &CommandHints, carried: &'a [String], setups: &'a [String]) -> Self {
        Self { root: root(hints.repo.as_deref()), carried, setups }
    }

    /// Returns the names of the options that bring the command of a failure into the workspace, if the command
    /// was not found there and is in the repository. [`Self::lines`] has the whole options.
    #[must_use]
    pub fn hint(&self, why: &str) -> Option<&'static str> {
        let MissingFolder { setup, .. } = self.missing([why]).into_iter().next()?;
        Some(if setup.is_some() { "try --carry or --setup" } else { "try --carry" })
    }

    /// Returns the same for several failures, as lines with each option and what it does.
    #[must_use]
    pub fn lines<'r>(&self, reasons: impl IntoIterator<Item = &'r str>) -> Vec<String> {
        let missing = self.missing(reasons);
        let Some(MissingFolder { place, .. }) = missing.first() else { return Vec::new() };
        let mut commands = Vec::new();
        for MissingFolder { folder: Folder { name, .. }, setup, .. } in &missing {
            commands.push((format!("--carry '{name}/**'"), format!("copies {name}")));
            let made = |setup| (format!("--setup '{setup}'"), format!("makes {name}"));
            commands.extend(setup.map(made));
        }
        // The folder is not on the PATH of a workspace.
        let paths = missing.iter().filter_map(MissingFolder::path);
        commands.extend(paths.map(|path| (path.to_owned(), "is the command there".to_owned())));
        let widest = commands.iter().map(|(command, _)| width(command)).max().unwrap_or(0);
        let indent = if widest > LONG { "  " } else { "        " };
        let why = format!("hint    a command was not found, and the workspaces have no {place}");
        let commands =
            commands.iter().map(|(it, why)| format!("{indent}{}  {why}", fit(it, widest)));
        std::iter::once(why).chain(commands).collect()
    }

    fn missing<'r>(&self, reasons: impl IntoIterator<Item = &'r str>) -> Vec<MissingFolder> {
        let missing =
            reasons.into_iter().filter(|why| why.contains(NOT_FOUND)).map(missing_command);
        let missing: BTreeSet<_> = missing.collect();
        let Some(root) = self.root.as_deref().filter(|_| !missing.is_empty()) else {
            return Vec::new();
        };
        let lacking = FOLDERS.iter().filter(|folder| root.join(folder.name).is_dir());
        let lacking = lacking.filter(|folder| !self.carries(folder.name));
        let lacking: Vec<_> = lacking
            .map(|folder| {
                let setup = folder.setups.iter().find(|(file, _)| root.join(file).is_file());
                (folder, setup.map(|(_, setup)| *setup))
            })
            .filter(|(_, setup)| setup.is_none_or(|setup| !self.sets_up(setup)))
            .collect();
        let placed = |place: &dyn Fn(&Folder) -> Option<String>| {
            let placed = lacking.iter().filter_map(|(folder, setup)| {
                Some(MissingFolder { folder, place: place(folder)?, setup: *setup })
            });
            placed.collect::<Vec<_>>()
        };
        let found =
            placed(&|folder| missing.iter().find_map(|command| folder.place_of(*command, root)));
        // A command by its name alone may come with a folder that the repository has not filled yet.
        let is_name = missing.iter().any(|command| command.is_some_and(|name| !name.contains('/')));
        let may_be = |folder: &Folder| folder.is_of_names.then(|| folder.name.to_owned());
        if found.is_empty() && is_name { placed(&may_be) } else { found }
    }

    fn sets_up(&self, setup: &str) -> bool {
        self.setups.iter().any(|given| given.contains(setup))
    }

    fn carries(&self, folder: &str) -> bool {
        let in_it = |glob: &String| glob == folder || glob.starts_with(&format!("{folder}/"));
        self.carried.iter().any(in_it)
    }
}

/// Returns the command that a shell has not found, if its message names it: `sh: 1: mocha: not found`,
/// `bash: line 1: mocha: command not found`, `zsh:1: command not found: mocha`.
fn missing_command(why: &str) -> Option<&str> {
    let said = why.split(" (code ").next().unwrap_or_default();
    let before =
        said.strip_suffix(": command not found").or_else(|| said.strip_suffix(": not found"));
    let behind = || said.split_once("command not found: ").map(|(_, name)| name);
    let name = before.and_then(|before| before.rsplit(": ").next()).or_else(behind)?;
    Some(name.trim()).filter(|name| !name.is_empty())
}

impl Folder {
    /// Returns where a command is in this folder of the repository, or the folder if it may be there. A
    /// command without a name may be anywhere.
    fn place_of(&self, command: Option<&str>, root: &Path) -> Option<String> {
        let Some(command) = command else { return Some(self.name.to_owned()) };
        if command.contains('/') {
            return Path::new(command)
                .components()
                .any(|part| part.as_os_str() == self.name)
                .then(|| self.name.to_owned());
        }
        let places = self.commands.iter().map(|folder| format!("{}/{folder}/{command}", self.name));
        places.into_iter().find(|place| root.join(place).exists())
    }
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
    use super::super::OutputWidth;
    use super::super::line_wrap::wrapped;
    use super::*;

    #[test]
    fn a_command_that_is_not_found_beside_an_ignored_folder_names_both_ways_to_have_it() {
        let repository = tempfile::tempdir().unwrap();
        let at = |path: &str| repository.path().join(path);
        for folder in [".git", "node_modules/.bin", "src"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let hints = CommandHints { repo: Some(at("src")), ..CommandHints::default() };
        let lines = |why: &str, carried: &[String]| {
            CommandFinder::of(&hints, carried, &[]).lines(["other", why])
        };
        let hint =
            |why: &str, carried: &[String]| CommandFinder::of(&hints, carried, &[]).hint(why);
        let why = "sh: 1: mocha: not found (code 127: the shell did not find a command)";
        let carry = "        --carry 'node_modules/**'  copies node_modules";
        let first = "hint    a command was not found, and the workspaces have no node_modules";
        assert_eq!(lines(why, &[]), [first, carry], "it is not there either");
        let path = "sh: 1: ./mocha: not found (code 127: the shell did not find a command)";
        assert_eq!(lines(path, &[]), [""; 0], "no folder has it");
        std::fs::write(at("node_modules/.bin/mocha"), "").unwrap();
        let [first, carry, setup] = [
            "hint    a command was not found, and the workspaces have no node_modules/.bin/mocha",
            "        --carry 'node_modules/**'  copies node_modules",
            "        --setup 'npm ci'           makes node_modules",
        ];
        let short = "        node_modules/.bin/mocha    is the command there";
        assert_eq!(lines(why, &[]), [first, carry, short], "nothing says what makes it");
        assert_eq!(hint(why, &[]), Some("try --carry"));
        std::fs::write(at("package-lock.json"), "").unwrap();
        assert_eq!(lines(why, &[]), [first, carry, setup, short]);
        let set_up = ["npm ci".to_owned()];
        assert_eq!(CommandFinder::of(&hints, &[], &set_up).hint(why), None, "it was set up so");
        assert_eq!(hint(why, &[]), Some("try --carry or --setup"));
        let path = "sh: 1: ./node_modules/.bin/x: not found (code 127)";
        for why in ["it ended with code 127", path] {
            let first = "hint    a command was not found, and the workspaces have no node_modules";
            assert_eq!(lines(why, &[]), [first, carry, setup], "{why}");
        }
        for (why, carried) in [("code 1", &[][..]), (why, &["node_modules/**".to_owned()])] {
            assert_eq!((lines(why, carried), hint(why, carried)), (Vec::new(), None), "{why}");
        }
    }

    #[test]
    fn a_long_set_up_is_whole_on_a_line_of_80_columns() {
        let repository = tempfile::tempdir().unwrap();
        let at = |path: &str| repository.path().join(path);
        for folder in [".git", ".venv/bin", "venv/bin"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("requirements.txt"), "").unwrap();
        let hints = CommandHints { repo: Some(at("")), ..CommandHints::default() };
        let finder = CommandFinder::of(&hints, &[], &[]);
        let lines = finder.lines(["sh: 1: ruff: not found (code 127: x)"]);
        let shown = wrapped(&lines.join("\n"), OutputWidth::Columns(80));
        assert!(shown.lines().all(|line| width(line) <= 80), "{shown}");
        let setup =
            "  --setup 'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt'";
        assert!(shown.lines().any(|line| line == setup), "{shown}");
    }

    #[test]
    fn the_command_that_a_shell_has_not_found_is_in_its_message() {
        for (why, name) in [
            ("sh: 1: mocha: not found (code 127: x)", Some("mocha")),
            ("bash: line 1: a/b: command not found (code 127: x)", Some("a/b")),
            ("zsh:1: command not found: mocha (code 127)", Some("mocha")),
            ("it ended with code 127", None),
            ("npm error: file not found (code 127)", None),
        ] {
            assert_eq!(missing_command(why), name, "{why}");
        }
    }
}
