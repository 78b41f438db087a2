//! The private git directory of a workspace. It reads the user's objects, writes its own, and shows
//! the user's status. A template is made once per run and copied for each task.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use git2::{Config, Repository};

use crate::error::{OrCannot, Result};
use crate::nested::git_folder_of;
use crate::repository::Repo;

/// The copied settings, which decide what git shows and writes. None of them runs a program.
const SETTINGS: [&str; 14] = [
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.quotepath",
    "core.excludesfile",
    "core.attributesfile",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "user.name",
    "user.email",
];

/// The settings that keep the git of a task from starting programs that the task did not ask for: those
/// that sign, which want a key or a person, those that watch a tree, and hooks of the user. Filters,
/// credential helpers, aliases, and tools that compare or merge stay as they are.
const WITHOUT_PROGRAMS: [(&str, &str); 6] = [
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
    ("tag.forceSignAnnotated", "false"),
    ("push.gpgSign", "false"),
    ("core.fsmonitor", "false"),
    // An empty value would name the root of the file system.
    ("core.hooksPath", "/dev/null"),
];

/// The name of the template in a run's folder.
pub(crate) const GIT_TEMPLATE: &str = ".git-seed";

/// The depth to which alternates of alternates are followed, as in git.
const ALTERNATES: usize = 5;

/// The template of a run, from which each task's git directory is copied.
pub(crate) struct GitTemplate {
    folder: PathBuf,
}

impl GitTemplate {
    /// Returns the template of the run with this folder.
    pub(crate) fn of_run(folder: &Path) -> Self {
        Self { folder: folder.join(GIT_TEMPLATE) }
    }

    /// Returns the template of the nested repository with this number.
    pub(crate) fn of_nested(folder: &Path, number: usize) -> Self {
        Self { folder: git_folder_of(&folder.join(GIT_TEMPLATE), number) }
    }

    /// Returns the path of its index.
    pub(crate) fn index(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// Makes the template from the current state of the user's repository.
    pub(crate) fn write(&self, repo: &Repo, git: &Repository) -> Result<()> {
        let what = || format!("make {}", self.folder.display());
        for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
            fs::create_dir_all(self.folder.join(folder)).or_cannot(what)?;
        }
        self.write_head(repo, git)?;
        self.write_references(git)?;
        self.write_config(git).or_cannot(what)?;
        let alternates = alternates(&repo.common_dir.join("objects"));
        fs::write(self.folder.join("objects/info/alternates"), alternates).or_cannot(what)?;
        let (own, common) = (&repo.git_dir, &repo.common_dir);
        // The copy keeps the modification time of the user's index, by which git recognizes racy
        // entries.
        take(&own.join("index"), &self.index())?;
        take(&own.join("info/sparse-checkout"), &self.folder.join("info/sparse-checkout"))?;
        for file in ["info/exclude", "info/attributes", "shallow"] {
            take(&common.join(file), &self.folder.join(file))?;
        }
        Ok(())
    }

    /// Copies the template to `copy`. Nothing in it names the workspace.
    pub(super) fn copy_to(&self, copy: &Path) -> Result<()> {
        copy_folder(&self.folder, copy)
    }

    /// Writes HEAD, as a symbolic reference if the user's is one.
    fn write_head(&self, repo: &Repo, git: &Repository) -> Result<()> {
        let what = || format!("read HEAD of {}", repo.root.display());
        let head = git.find_reference("HEAD").or_cannot(what)?;
        let text = match (head.symbolic_target_bytes(), head.target()) {
            (Some(name), _) => [b"ref: ", name, b"\n"].concat(),
            (None, Some(oid)) => format!("{oid}\n").into_bytes(),
            (None, None) => return Err("it names nothing").or_cannot(what),
        };
        fs::write(self.folder.join("HEAD"), text).or_cannot(what)
    }

    /// Writes every reference, packed; symbolic ones get their own files.
    fn write_references(&self, git: &Repository) -> Result<()> {
        let what = || format!("copy the references of {}", git.path().display());
        let mut packed: Vec<(Vec<u8>, git2::Oid)> = Vec::new();
        // Broken references are left out.
        for reference in git.references().or_cannot(what)?.flatten() {
            if let Some(oid) = reference.target() {
                packed.push((reference.name_bytes().to_vec(), oid));
            } else if let (Ok(name), Some(target)) =
                (reference.name(), reference.symbolic_target_bytes())
            {
                let file = self.folder.join(name);
                fs::create_dir_all(file.parent().unwrap_or(&self.folder)).or_cannot(what)?;
                fs::write(file, [b"ref: ", target, b"\n"].concat()).or_cannot(what)?;
            }
        }
        packed.sort();
        let mut text = b"# pack-refs with: sorted \n".to_vec();
        for (name, oid) in packed {
            text.extend_from_slice(format!("{oid} ").as_bytes());
            text.extend_from_slice(&name);
            text.push(b'\n');
        }
        fs::write(self.folder.join("packed-refs"), text).or_cannot(what)
    }

    fn write_config(&self, git: &Repository) -> std::result::Result<(), git2::Error> {
        let file = self.folder.join("config");
        // libgit2 makes the file if it does not exist.
        let mut config = Config::open(&file)?;
        config.set_i32("core.repositoryformatversion", 0)?;
        config.set_bool("core.bare", false)?;
        // The copied files have other inodes and change times than the copied index records.
        config.set_str("core.checkStat", "minimal")?;
        config.set_bool("core.trustctime", false)?;
        config.set_i32("gc.auto", 0)?;
        for (name, value) in WITHOUT_PROGRAMS {
            config.set_str(name, value)?;
        }
        let users = git.config()?.snapshot()?;
        for name in SETTINGS {
            if let Ok(value) = users.get_str(name) {
                config.set_str(name, value)?;
            }
        }
        Ok(())
    }
}

/// Writes a `.git` file to the workspace at `tree` that names `git_dir`, the final path of its git
/// directory.
pub(super) fn link(git_dir: &Path, tree: &Path) -> Result<()> {
    let link = [b"gitdir: ", git_dir.as_os_str().as_bytes(), b"\n"].concat();
    fs::write(tree.join(".git"), link)
        .or_cannot(|| format!("write {}", tree.join(".git").display()))
}

/// Returns the lines of an alternates file: the folder `objects`, and its own alternates.
fn alternates(objects: &Path) -> Vec<u8> {
    let mut found = Vec::new();
    collect_alternates(objects, ALTERNATES, &mut found);
    found.iter().flat_map(|store| [alternate_line(store), b"\n".to_vec()].concat()).collect()
}

fn collect_alternates(objects: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(objects) = fs::canonicalize(objects) else { return };
    if found.contains(&objects) {
        return;
    }
    found.push(objects.clone());
    let Some(depth) = depth.checked_sub(1) else { return };
    let text = fs::read(objects.join("info/alternates")).unwrap_or_default();
    for line in text.split(|byte| *byte == b'\n') {
        if !line.is_empty() && line[0] != b'#' {
            // A relative line is relative to the objects that have it; `join` keeps absolute ones.
            let line = std::ffi::OsStr::from_bytes(line);
            collect_alternates(&objects.join(line), depth, found);
        }
    }
}

/// Formats a path for an alternates file, quoted if it contains a line break.
fn alternate_line(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    if !bytes.contains(&b'\n') {
        return bytes.to_vec();
    }
    let mut line = vec![b'"'];
    for byte in bytes {
        match byte {
            b'\n' => line.extend_from_slice(b"\\n"),
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', *byte]),
            other => line.push(*other),
        }
    }
    line.push(b'"');
    line
}

/// Copies a regular file with its modification time, if it exists.
fn take(from: &Path, to: &Path) -> Result<()> {
    let what = || format!("copy {}", from.display());
    let meta = match fs::symlink_metadata(from) {
        Ok(meta) if meta.is_file() => meta,
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).or_cannot(what),
    };
    let bytes = fs::read(from).or_cannot(what)?;
    let mut file = File::create(to).or_cannot(what)?;
    file.write_all(&bytes).or_cannot(what)?;
    let changed = meta.modified().or_cannot(what)?;
    file.set_modified(changed).or_cannot(what)
}

/// Copies a folder recursively.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let what = || format!("copy {} to {}", from.display(), to.display());
    fs::create_dir(to).or_cannot(what)?;
    for entry in fs::read_dir(from).or_cannot(what)? {
        let entry = entry.or_cannot(what)?;
        let target = to.join(entry.file_name());
        if entry.file_type().or_cannot(what)?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            take(&entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use crate::testing::{Sample, prepare, write};

    #[test]
    fn no_program_signs_watches_or_checks_what_the_git_of_a_task_does() {
        let sample = Sample::with(&[("file", "x\n")]);
        let snapshot = sample.freeze("raaaa");
        let workspace = prepare(&snapshot, "a");
        let home = sample.root.parent().unwrap();
        let ran = home.join("ran");
        // Each of these programs leaves a trace, and fails.
        let program = home.join("bin/pre-commit");
        write(home, "bin/pre-commit", format!("#!/bin/sh\n: >'{}'\nexit 1\n", ran.display()));
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, executable).unwrap();
        let (program, hooks) = (program.display(), home.join("bin"));
        let settings = format!(
            "[user]\nname = Ada\nemail = ada@localhost\nsigningkey = x\n[gpg]\nprogram = {program}\n\
             [commit]\ngpgsign = true\n[tag]\ngpgsign = true\nforceSignAnnotated = true\n\
             [core]\nfsmonitor = {program}\nhooksPath = {}\n[push]\ngpgSign = true\n\
             [alias]\nnote = commit\n",
            hooks.display(),
        );
        write(home, "settings", settings);
        write(&workspace.root, "file", "y\n");
        for words in [
            &["status"][..],
            &["note", "-q", "-a", "-m", "Work"],
            &["tag", "-a", "-m", "A tag", "v1"],
            &["push", "-q", ".", "HEAD:refs/heads/pushed"],
        ] {
            let mut git = Command::new("git");
            git.args(words).current_dir(&workspace.root);
            git.env("GIT_CONFIG_GLOBAL", home.join("settings")).env("GIT_CONFIG_NOSYSTEM", "1");
            let output = git.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !ran.exists(), "{words:?}: {said}");
        }
    }
}
