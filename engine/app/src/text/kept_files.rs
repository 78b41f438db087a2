//! Describes files that are not where a user expects them: those that a capture left out, and
//! versions that a landing replaced.

use protocol::{LeftOut, LeftOutEntry, LeftOutKind, Rescue, RescueLocation};

use super::{count, one_line, shell_word};

/// The maximum number of entries in a note. The lines below a table contain all known entries.
const NOTED: usize = 3;

/// The maximum number of tasks that get lines below a table.
const TASKS: usize = 20;

/// Returns a note that names the files which a capture left out.
#[must_use]
pub fn left_out_note(left_out: &LeftOut) -> Option<String> {
    (!left_out.is_empty()).then(|| format!("left out: {}", entries(left_out, NOTED)))
}

/// Returns a note with the workspace that is kept because files in it were not captured.
#[must_use]
pub fn kept_workspace_note(left_out: &LeftOut) -> Option<String> {
    let workspace = left_out.workspace.as_deref()?;
    Some(format!("its workspace is kept until you remove it: {}", one_line(workspace)))
}

/// Returns the lines below a table: for each task, by its label, the files left out and the kept
/// workspace.
#[must_use]
pub fn left_out_lines(tasks: &[(String, &LeftOut)]) -> Vec<String> {
    let mut lines = Vec::new();
    let told: Vec<_> = tasks.iter().filter(|(_, left_out)| !left_out.is_empty()).collect();
    for (task, left_out) in told.iter().take(TASKS) {
        lines.push(format!("{task}: left out: {}", entries(left_out, LeftOut::MAX_ENTRIES)));
        lines.extend(kept_workspace_note(left_out).map(|kept| format!("{task}: {kept}")));
    }
    if told.len() > TASKS {
        lines.push(format!("and {} more", count(told.len() - TASKS, "task")));
    }
    lines
}

fn entries(left_out: &LeftOut, most: usize) -> String {
    let named: Vec<_> = left_out.entries.iter().take(most).map(entry).collect();
    match left_out.total.saturating_sub(named.len() as u64) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn entry(entry: &LeftOutEntry) -> String {
    let files = |files| match files {
        0 => "no files".to_owned(),
        files => count(files, "file"),
    };
    let kind = match entry.kind {
        LeftOutKind::Fifo => "FIFO".to_owned(),
        LeftOutKind::Socket => "socket".to_owned(),
        LeftOutKind::Device => "device".to_owned(),
        LeftOutKind::GitTwin { files: found } => format!("taken for .git, {}", files(found)),
        LeftOutKind::Submodule { files: found } => format!("submodule, {}", files(found)),
        LeftOutKind::Repository => "a repository's own".to_owned(),
    };
    format!("{} ({kind})", one_line(&entry.path))
}

/// Returns a printable line that says where the replaced version of a file is kept.
#[must_use]
pub fn rescue_line(rescue: &Rescue) -> String {
    let what = format!(
        "a version of {} that was replaced during the landing of run {} is kept",
        rescue.path, rescue.run
    );
    one_line(&match &rescue.kept {
        RescueLocation::Store { git_dir, object } => {
            let (git_dir, object) = (shell_word(git_dir), shell_word(object));
            format!("{what}: git --git-dir {git_dir} show {object} > FILE")
        }
        RescueLocation::Tree { file } => {
            format!("{what} as {file}, because a program still has it open for writing")
        }
    })
}

#[cfg(test)]
mod tests {
    use protocol::RepoPath;

    use super::*;

    fn of(entries: &[(&str, LeftOutKind)], total: u64) -> LeftOut {
        let entry =
            |(path, kind): &(&str, _)| LeftOutEntry { path: (*path).to_owned(), kind: *kind };
        let entries: Vec<_> = entries.iter().map(entry).collect();
        let files = entries.iter().map(|entry| entry.kind.files()).sum();
        let workspace = (files > 0).then(|| "/w/\u{1b}[2Jtree".to_owned());
        LeftOut { entries, total, files, workspace }
    }

    #[test]
    fn a_note_names_a_few_and_counts_the_rest() {
        let some = of(&[("a", LeftOutKind::Fifo), ("b", LeftOutKind::Socket)], 2);
        assert_eq!(left_out_note(&some).unwrap(), "left out: a (FIFO), b (socket)");
        let path = ["a", "b", "c", "d"];
        let many = of(&path.map(|path| (path, LeftOutKind::Device)), 60);
        let note = "left out: a (device), b (device), c (device) and 57 more";
        assert_eq!(left_out_note(&many).unwrap(), note);
        assert_eq!(left_out_note(&LeftOut::default()), None);
    }

    #[test]
    fn the_lines_name_what_is_known_and_the_workspace_that_is_kept() {
        let (one, two) = ("t1".to_owned(), "t2".to_owned());
        let work = [
            ("lib", LeftOutKind::Submodule { files: 3 }),
            (".GIT", LeftOutKind::GitTwin { files: 0 }),
            ("own/.git", LeftOutKind::Repository),
        ];
        let lines = left_out_lines(&[(one, &of(&work, 3)), (two, &LeftOut::default())]);
        let all = "t1: left out: lib (submodule, 3 files), .GIT (taken for .git, no files), \
                   own/.git (a repository's own)";
        assert_eq!(lines, [all, "t1: its workspace is kept until you remove it: /w/tree"]);
    }

    #[test]
    fn many_tasks_are_not_all_named() {
        let task = "t".to_owned();
        let socket = of(&[("s", LeftOutKind::Socket)], 1);
        let lines = left_out_lines(&vec![(task, &socket); 23]);
        assert_eq!(lines.len(), 21);
        assert_eq!(lines[20], "and 3 tasks more");
    }

    #[test]
    fn a_rescue_says_how_the_bytes_are_had() {
        let mut rescue = Rescue {
            path: RepoPath::new("src/x.rs").unwrap(),
            run: "r7k3f".parse().unwrap(),
            kept: RescueLocation::Store {
                git_dir: "/data/it's.git".to_owned(),
                object: "refs/rescued/12ab:bytes".to_owned(),
            },
        };
        assert_eq!(
            rescue_line(&rescue),
            r"a version of src/x.rs that was replaced during the landing of run r7k3f is kept: git --git-dir '/data/it'\''s.git' show refs/rescued/12ab:bytes > FILE"
        );
        rescue.kept = RescueLocation::Tree { file: RepoPath::new("src/.x.kept-1").unwrap() };
        assert_eq!(
            rescue_line(&rescue),
            "a version of src/x.rs that was replaced during the landing of run r7k3f is kept as src/.x.kept-1, because a program still has it open for writing"
        );
    }
}
