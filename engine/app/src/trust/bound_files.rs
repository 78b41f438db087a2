//! Which files of a repository the commands of its settings run, so that trust can end when one of them
//! changes. What is not known is bound to the whole tree of HEAD.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use engine::ports::{ShellPart, ShellSyntax as _, ShellWord};
use protocol::ModelRoute;
use sha2::{Digest as _, Sha256};
use shell_syntax::BashSyntax;

use super::runners::{files_of, is_shell};

/// The maximum number of files. Commands that run more are bound to the tree.
const MOST: usize = 256;

/// The maximum number of names and folders that are looked for. Commands with more are bound to the tree.
const MOST_LOOKED_FOR: usize = 20_000;

/// The maximum size of a file in bytes, and of the part of it that is searched for names of others.
const LARGEST: u64 = 64 << 20;
const SEARCHED: usize = 1 << 20;

/// The endings of files that are scripts of a shell, whether they are executable or not.
const SHELL_SCRIPTS: [&str; 4] = ["sh", "bash", "zsh", "fish"];

/// The endings of scripts that import others by names that are not paths.
const IMPORTING: [&str; 14] =
    ["py", "pyw", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "rb", "pl", "php", "lua"];

/// Files that the runners of packages write.
const LOCK_FILES: [&str; 15] = [
    "Cargo.lock",
    "Gemfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "deno.lock",
    "go.sum",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pdm.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// The files that commands run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BoundFiles {
    /// The digest of each file, by its path from the root.
    pub(super) digests: BTreeMap<String, String>,
    /// Whether they may run others, too.
    pub(super) is_open: bool,
}

/// Returns the files of the repository at `root` that these commands run. `root` is canonical.
pub(super) fn files_of_commands<'a>(
    root: &Path,
    commands: impl Iterator<Item = &'a str>,
) -> BoundFiles {
    let mut search = Search::new(root);
    for command in commands {
        search.folders = BTreeSet::from([PathBuf::new()]);
        search.command_line(command);
    }
    search.found
}

/// Returns the file that a value names, if it is one of the repository.
pub(super) fn files_of_values<'a>(
    root: &Path,
    values: impl Iterator<Item = &'a str>,
) -> BoundFiles {
    let mut search = Search::new(root);
    for value in values {
        search.argument(value);
        // Where a model is scripted, its file is looked for in the folder of the command.
        search.found.is_open |= value.parse().is_ok_and(|route: ModelRoute| route.is_scripted());
    }
    search.found
}

struct Search<'a> {
    root: &'a Path,
    /// The folders in which the commands may work, from the root.
    folders: BTreeSet<PathBuf>,
    /// How many names and folders were looked for.
    looked_for: usize,
    found: BoundFiles,
}

impl<'a> Search<'a> {
    fn new(root: &'a Path) -> Self {
        let folders = BTreeSet::from([PathBuf::new()]);
        Self { root, folders, looked_for: 0, found: BoundFiles::default() }
    }

    /// Counts names that are looked for, and returns whether they are not too many. What is left out may be
    /// anything.
    fn may_look_for(&mut self, count: usize) -> bool {
        self.looked_for = self.looked_for.saturating_add(count);
        self.found.is_open |= self.looked_for > MOST_LOOKED_FOR;
        self.looked_for <= MOST_LOOKED_FOR
    }

    /// Returns the folders in which a name is looked for.
    fn folders(&mut self) -> Vec<PathBuf> {
        match self.may_look_for(self.folders.len()) {
            true => self.folders.iter().cloned().collect(),
            false => Vec::new(),
        }
    }

    fn command_line(&mut self, script: &str) {
        for part in BashSyntax.parts(script) {
            match part {
                ShellPart::Command { variables, words } => {
                    // A variable may name what is run: `PATH`, `NODE_OPTIONS`.
                    self.found.is_open |= !variables.is_empty();
                    self.command(&words);
                }
                // The command that it runs is a part of its own.
                ShellPart::Wrapper(words) => self.arguments(&words),
                ShellPart::Input(word) => self.arguments(&[word]),
                ShellPart::Output(_) | ShellPart::Stream => {}
                ShellPart::Assignment(_) | ShellPart::Undecidable(_) => self.found.is_open = true,
            }
        }
    }

    fn command(&mut self, words: &[ShellWord]) {
        let Some(name) = words.first().and_then(ShellWord::literal) else {
            self.found.is_open = true;
            return;
        };
        let program = name.rsplit('/').next().unwrap_or(name);
        let arguments = &words[1..];
        let literal: Vec<_> = arguments.iter().filter_map(ShellWord::literal).collect();
        if program == "cd" {
            match literal.as_slice() {
                [folder] if arguments.len() == 1 => self.enter(folder),
                _ => self.found.is_open = true,
            }
            return;
        }
        let is_file = name.contains('/') && self.argument(name);
        self.arguments(arguments);
        match files_of(program) {
            Some(files) => {
                for folder in self.folders() {
                    for file in files {
                        let path = folder.join(file);
                        if is_lock_file(&path) {
                            let _not_searched = self.digest(&path);
                        } else {
                            self.bind(&path);
                        }
                    }
                }
                // Without the name of a script, a shell runs what it reads.
                let is_script = |word: &&str| !word.starts_with('-');
                self.found.is_open |= is_shell(program) && !literal.iter().any(is_script);
            }
            None => self.found.is_open |= !is_file,
        }
    }

    fn arguments(&mut self, words: &[ShellWord]) {
        for word in words {
            match word.literal() {
                Some(text) => {
                    self.argument(text);
                }
                None => self.found.is_open = true,
            }
        }
    }

    /// Binds a file that an argument names, also behind `=`, and adds a folder to those in which the command
    /// may work. Returns whether it is a file.
    fn argument(&mut self, text: &str) -> bool {
        let value = text.split_once('=').map(|(_, value)| value);
        let mut is_file = false;
        for text in [Some(text), value].into_iter().flatten().filter(|it| !it.is_empty()) {
            for folder in self.folders() {
                let Some(path) = inside(&folder, text) else { continue };
                match fs::metadata(self.root.join(&path)) {
                    Ok(meta) if meta.is_file() => is_file |= self.bind(&path),
                    Ok(meta) if meta.is_dir() => drop(self.folders.insert(path)),
                    _ => {}
                }
            }
        }
        is_file
    }

    fn enter(&mut self, folder: &str) {
        // A folder outside of the repository is none of the repository's.
        let entered = self.folders().into_iter().filter_map(|it| inside(&it, folder));
        self.folders.extend(entered);
    }

    /// Binds a file and the scripts that it names. Returns whether it is there.
    fn bind(&mut self, path: &Path) -> bool {
        let Some(mut named) = self.bind_one(path) else { return false };
        while let Some(path) = named.pop() {
            named.extend(self.bind_one(&path).into_iter().flatten());
        }
        true
    }

    /// Binds a file, and returns the scripts that it names; `None` if it is not there.
    fn bind_one(&mut self, path: &Path) -> Option<Vec<PathBuf>> {
        let text = self.digest(path)?;
        // What it names is not looked for where its runner reads it.
        self.found.is_open |= imports(path, &text) || is_lock_file(path);
        Some(self.scripts_named_in(path, &text))
    }

    /// Binds a file, and returns the beginning of its text, which is empty if it was bound before; `None` if the
    /// file is not there.
    fn digest(&mut self, path: &Path) -> Option<String> {
        let full = self.root.join(path);
        // What lies behind a symlink out of the repository is not the repository's.
        let is_inside = fs::canonicalize(&full).is_ok_and(|found| found.starts_with(self.root));
        if !is_inside || !fs::metadata(&full).is_ok_and(|meta| meta.is_file()) {
            return None;
        }
        let Some(key) = path.to_str().map(str::to_owned) else {
            self.found.is_open = true;
            return Some(String::new());
        };
        if self.found.digests.contains_key(&key) {
            return Some(String::new());
        }
        let has_room = self.found.digests.len() < MOST;
        let Some((digest, text)) = has_room.then(|| read(&full).ok()).flatten() else {
            self.found.is_open = true;
            return Some(String::new());
        };
        self.found.digests.insert(key, digest);
        Some(text)
    }

    fn scripts_named_in(&mut self, path: &Path, text: &str) -> Vec<PathBuf> {
        let scripts = if path.file_name().is_some_and(|it| it == "package.json") {
            scripts_of_package(text)
        } else {
            text.to_owned()
        };
        let beside = path.parent().unwrap_or(Path::new("")).to_owned();
        let is_of_path = |letter: char| letter.is_alphanumeric() || "_./@+-".contains(letter);
        let sourced = sourced_in(&scripts);
        // What a shell reads from a path that it computes can be any file.
        self.found.is_open |=
            sourced.iter().any(|name| name.contains(['$', '`', '*', '?', '[', '~']));
        let names: BTreeSet<_> = scripts
            .split(|letter| !is_of_path(letter))
            .map(|name| name.trim_start_matches('/'))
            .filter(|name| (2..256).contains(&name.len()))
            .chain(sourced.iter().copied())
            .collect();
        let mut found = Vec::new();
        for name in names {
            if !self.may_look_for(2) {
                break;
            }
            for folder in [Path::new(""), &beside] {
                let Some(path) = inside(folder, name) else { continue };
                if sourced.contains(name) || is_script(&self.root.join(&path)) {
                    found.push(path);
                }
            }
        }
        found
    }
}

/// Returns the text of the scripts of a `package.json`, or all of it if it is none.
fn scripts_of_package(text: &str) -> String {
    let package = serde_json::from_str::<serde_json::Value>(text).unwrap_or_default();
    let Some(scripts) = package.get("scripts").and_then(|scripts| scripts.as_object()) else {
        return if package.is_object() { String::new() } else { text.to_owned() };
    };
    scripts.values().filter_map(|script| script.as_str()).collect::<Vec<_>>().join("\n")
}

/// Returns the names of files that a script of a shell reads with `.` or `source`, as far as its words tell.
fn sourced_in(script: &str) -> BTreeSet<&str> {
    let mut sourced = BTreeSet::new();
    for line in script.lines() {
        let mut words =
            line.split(|letter: char| letter.is_whitespace() || ";&|(){}".contains(letter));
        while let Some(word) = words.next() {
            if matches!(word, "." | "source")
                && let Some(name) = words.find(|word| !word.is_empty())
            {
                sourced.insert(name.trim_matches(['"', '\'']));
            }
        }
    }
    sourced
}

/// Returns whether a file has versions of packages, and runs nothing. It may have very many names.
fn is_lock_file(path: &Path) -> bool {
    path.file_name().is_some_and(|it| LOCK_FILES.iter().any(|name| it == *name))
}

/// Returns whether a file is a script that may import others, which its text does not name by their paths.
fn imports(path: &Path, text: &str) -> bool {
    let mut first = text.lines().next().unwrap_or_default().strip_prefix("#!").into_iter();
    let is_of_shell = |word: &str| is_shell(word.rsplit('/').next().unwrap_or(word));
    has_ending(path, &IMPORTING) || first.any(|line| !line.split_whitespace().any(is_of_shell))
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|it| endings.iter().any(|ending| it == *ending))
}

fn is_script(path: &Path) -> bool {
    let named = has_ending(path, &SHELL_SCRIPTS) || has_ending(path, &IMPORTING);
    fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && (named || meta.permissions().mode() & 0o111 != 0))
}

/// Returns `name` as a path from the root, if it stays below it.
fn inside(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut path = if name.starts_with('/') { return None } else { folder.to_owned() };
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// Returns the digest of a file, and the beginning of its text.
fn read(path: &Path) -> io::Result<(String, String)> {
    let mut file = File::open(path)?.take(LARGEST + 1);
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    let (mut text, mut size) = (Vec::new(), 0);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        digest.update(&buffer[..count]);
        size += count as u64;
        let room = SEARCHED.saturating_sub(text.len()).min(count);
        text.extend_from_slice(&buffer[..room]);
    }
    if size > LARGEST {
        return Err(io::Error::other("it is too large"));
    }
    let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((digest, String::from_utf8_lossy(&text).into_owned()))
}

#[cfg(test)]
mod tests;
