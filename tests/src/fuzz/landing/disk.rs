//! Brings a round to the disk: the repository as git makes it, and for each task a script that
//! turns the tree it begins with into the one it leaves.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{FileType, Mode, mknodat};
use tempfile::TempDir;

use super::names;
use super::scenario::{Ending, Scenario};
use crate::fuzz::Random;
use crate::fuzz::files::{self, Files, Name, Node, all_folders, place};
use crate::sandbox::{Plan, Repository, Sandbox};

/// Where a round's repository has another repository.
pub(super) const REPOSITORY: &[u8] = b"vendor";

/// Where a round's repository has a named pipe.
pub(super) const PIPE: &[u8] = b"pipe";

/// A round on the disk.
pub(super) struct Prepared {
    /// The user's repository.
    pub(super) repository: Repository,
    /// The run over it.
    pub(super) plan: Plan,
}

/// Makes the repository and the scripts of `scenario` below the folder of `sandbox`.
pub(super) fn prepare(sandbox: &Sandbox, scenario: &Scenario, random: &mut Random) -> Prepared {
    let repository = repository(sandbox, scenario, random);
    let scripts = sandbox.folder().join("scripts");
    let mut plan = Plan::default();
    for (at, task) in scenario.tasks.iter().enumerate() {
        let folder = scripts.join(&task.name);
        let edit = script(&folder.join("task"), &task.start, &task.end, random);
        let mut lines = vec![source(&edit)];
        if let Some(user) = scenario.user.as_ref().filter(|user| user.during == at) {
            let edit = script(&folder.join("user"), &scenario.tree, &user.tree, random);
            let line = format!("(cd \"$REGATTA_REPO\" && {})", source(&edit));
            let at = if random.chance(50) { 0 } else { 1 };
            lines.insert(at, line);
        }
        if task.ending == Ending::Failed {
            lines.push("exit 3".to_owned());
        }
        let on: Vec<_> = task.depends_on.iter().map(|on| &*scenario.tasks[*on].name).collect();
        plan = plan.task(&task.name, &format!("set -e\n{}", lines.join("\n")));
        if !on.is_empty() {
            plan = plan.after(&on);
        }
    }
    Prepared { repository, plan }
}

/// Returns the line that runs a script in the shell that reads it.
fn source(script: &Path) -> String {
    format!(". '{}'", script.display())
}

fn repository(sandbox: &Sandbox, scenario: &Scenario, random: &mut Random) -> Repository {
    let root = sandbox.folder().join("app");
    copy(empty_repository(), &root);
    let repository = Repository::at(&root);
    fs::write(repository.path(".git/info/exclude"), names::EXCLUDES).expect("it can be written");
    files::write(&root, &scenario.committed);
    // With force, because some of it is ignored.
    repository.git(&["add", "--all", "--force", "."]);
    repository.git(&["commit", "--quiet", "--no-verify", "--message", "begin"]);
    if random.chance(10) {
        repository.write("stashed.txt", "for later\n");
        repository.git(&["stash", "push", "--quiet", "--include-untracked"]);
    }
    if scenario.staged != scenario.committed {
        files::change(&root, &scenario.committed, &scenario.staged);
        repository.git(&["add", "--all", "--force", "."]);
    }
    files::change(&root, &scenario.staged, &scenario.tree);
    if scenario.taken.iter().any(|path| path == REPOSITORY) {
        copy(empty_repository(), &place(&root, REPOSITORY));
        repository.write(place(Path::new(""), REPOSITORY).join("file"), "of somebody else\n");
        // With such a configuration it is left alone: nothing lands in it.
        let config = place(Path::new(""), REPOSITORY).join(".git/config");
        let mut text = repository.text(&config);
        text.push_str("[include]\n\tpath = other\n");
        repository.write(&config, text);
    }
    if scenario.taken.iter().any(|path| path == PIPE) {
        let mode = Mode::from_raw_mode(0o644);
        mknodat(rustix::fs::CWD, place(&root, PIPE), FileType::Fifo, mode, 0)
            .expect("a named pipe can be made");
    }
    repository
}

/// Returns a repository without commits, made once: git takes longer to make one than to copy it.
fn empty_repository() -> &'static Path {
    static EMPTY: OnceLock<TempDir> = OnceLock::new();
    let folder = EMPTY.get_or_init(|| {
        let folder = TempDir::with_prefix("regatta-test-").expect("a folder can be made");
        let made = Repository::init_with(folder.path(), &["--template="]);
        fs::create_dir(made.path(".git/info")).expect("a folder can be made");
        folder
    });
    folder.path()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("a folder can be read") {
        let entry = entry.expect("a folder can be read");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("an entry has a kind").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("a file can be copied");
        }
    }
}

/// Writes a script that turns `before` into `after` in the folder it runs in, with the new files
/// that it copies beside it.
fn script(folder: &Path, before: &Files, after: &Files, random: &mut Random) -> PathBuf {
    let new: Files = after
        .iter()
        .filter(|(path, node)| before.get(*path) != Some(node))
        .map(|(path, node)| (path.clone(), node.clone()))
        .collect();
    let stay = all_folders(after);
    let empty = all_folders(before).into_iter().filter(|path| !stay.contains(path));
    let mut remove: Vec<Name> = empty.collect();
    for (path, node) in before.iter().filter(|(path, node)| after.get(*path) != Some(node)) {
        // A file may also be written over; a symlink would be followed.
        let files = [Some(node), after.get(path)];
        let over = files.iter().all(|node| matches!(node, Some(Node::File { .. })));
        if !over || random.chance(50) {
            remove.push(path.clone());
        }
    }
    // Where a file is new there may be a folder, and not only one that `before` knows: a workspace
    // has the folders of ignored files too.
    remove.extend(new.keys().filter(|path| !before.contains_key(*path)).cloned());
    files::write(&folder.join("new"), &new);
    let mut text = Vec::new();
    if !remove.is_empty() {
        text.extend_from_slice(b"rm -rf --");
        for path in &remove {
            text.push(b' ');
            text.extend_from_slice(&quoted(path));
        }
        text.push(b'\n');
    }
    if !new.is_empty() {
        // With the times of the copied files, or with those of the moment.
        let how = *random.pick(&["-a", "-dR --preserve=mode"]);
        text.extend_from_slice(format!("cp {how} '{}/new/.' .\n", folder.display()).as_bytes());
    }
    fs::create_dir_all(folder).expect("a folder can be made");
    let file = folder.join("edit.sh");
    fs::write(&file, text).expect("a file can be written");
    file
}

/// Returns a path as one word of a shell.
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut word = vec![b'\''];
    for byte in path {
        match byte {
            b'\'' => word.extend_from_slice(b"'\\''"),
            other => word.push(*other),
        }
    }
    word.push(b'\'');
    word
}
