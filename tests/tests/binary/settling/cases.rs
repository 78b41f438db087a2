//! The conflicts on which every way to settle one is tested, and what git makes of them.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use test_limit::{by_depth, sample};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

/// A conflict: what the repository begins with, what stands, and what the task wants.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The reason in JSON.
    pub(crate) reason: &'static str,
    /// A path of the conflict.
    pub(crate) path: &'static str,
    ours: &'static str,
    theirs: &'static str,
    judge: Judge,
    pub(crate) lines: Lines,
}

/// Whether both sides have lines that can be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    Both,
    NotBoth,
}

/// What says what a side is in git.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judge {
    /// `git checkout --ours` and `--theirs` after the merge.
    Stages,
    /// The commit of the side, because git has put the file beside its path.
    Commit,
    /// The user has the file without tracking it: for git, it is committed.
    Untracked,
}

const fn case(
    [name, reason, path]: [&'static str; 3],
    [ours, theirs]: [&'static str; 2],
    judge: Judge,
    lines: Lines,
) -> Case {
    Case { name, reason, path, ours, theirs, judge, lines }
}

pub(crate) const CASES: &[Case] = &[
    case(
        ["content", "content", "lines.txt"],
        [
            "sed -i 's/^line 5$/ours/; s/^line 20$/our end/' lines.txt",
            "sed -i 's/^line 5$/theirs/; s/^line 12$/their middle/' lines.txt; echo x > other.txt",
        ],
        Judge::Stages,
        Lines::Both,
    ),
    case(
        ["windows lines", "content", "crlf.txt"],
        ["sed -i 's/^a 2/ours/' crlf.txt", "sed -i 's/^a 2/theirs/; s/^a 9/more/' crlf.txt"],
        Judge::Stages,
        Lines::Both,
    ),
    case(
        ["list", "content", "list.txt"],
        ["echo ours >> list.txt", "printf 'theirs\\nlast without end' >> list.txt"],
        Judge::Stages,
        Lines::Both,
    ),
    case(
        ["removed by us", "changed_and_removed", "lines.txt"],
        ["rm lines.txt", "echo theirs >> lines.txt; echo x > other.txt"],
        Judge::Stages,
        Lines::NotBoth,
    ),
    case(
        ["removed by them", "changed_and_removed", "lines.txt"],
        ["echo ours >> lines.txt", "rm lines.txt; echo x > other.txt"],
        Judge::Stages,
        Lines::NotBoth,
    ),
    case(
        ["two names", "renamed_twice", "lines.txt"],
        [
            "git mv lines.txt ours.txt; sed -i 's/^line 3$/ours/' ours.txt",
            "git mv lines.txt theirs.txt; sed -i 's/^line 20$/theirs/' theirs.txt",
        ],
        Judge::Stages,
        Lines::NotBoth,
    ),
    case(
        ["two names and the same lines", "renamed_twice", "theirs.txt"],
        [
            "git mv lines.txt ours.txt; sed -i 's/^line 3$/ours/' ours.txt",
            "git mv lines.txt theirs.txt; sed -i 's/^line 3$/theirs/' theirs.txt",
        ],
        Judge::Commit,
        Lines::NotBoth,
    ),
    case(
        ["renamed by us, removed by them", "renamed_and_removed", "ours.txt"],
        ["git mv lines.txt ours.txt", "rm lines.txt; echo x > other.txt"],
        Judge::Stages,
        Lines::NotBoth,
    ),
    case(
        ["removed by us, renamed by them", "renamed_and_removed", "theirs.txt"],
        ["rm lines.txt", "git mv lines.txt theirs.txt; echo x > other.txt"],
        Judge::Stages,
        Lines::NotBoth,
    ),
    case(
        ["renamed and the same lines", "content", "theirs.txt"],
        [
            "sed -i 's/^line 5$/ours/' lines.txt",
            "git mv lines.txt theirs.txt; sed -i 's/^line 5$/theirs/' theirs.txt",
        ],
        Judge::Stages,
        Lines::Both,
    ),
    case(
        ["kind", "kind", "lines.txt"],
        ["echo ours >> lines.txt", "rm lines.txt; ln -s list.txt lines.txt"],
        Judge::Commit,
        Lines::NotBoth,
    ),
    case(
        ["kind the other way round", "kind", "lines.txt"],
        ["rm lines.txt; ln -s list.txt lines.txt", "echo theirs >> lines.txt"],
        Judge::Commit,
        Lines::NotBoth,
    ),
    case(
        ["links", "content", "link"],
        ["ln -sfn list.txt link", "ln -sfn crlf.txt link"],
        Judge::Stages,
        Lines::NotBoth,
    ),
    case(
        ["mode", "mode", "tool.sh"],
        ["echo run > tool.sh", "echo run > tool.sh; chmod +x tool.sh"],
        Judge::Stages,
        Lines::Both,
    ),
    case(
        ["binary", "binary", "data.bin"],
        ["printf 'a\\0ours' > data.bin", "printf 'a\\0theirs' > data.bin; echo x > other.txt"],
        Judge::Stages,
        Lines::NotBoth,
    ),
    case(
        ["both added", "both_added", "new.txt"],
        ["printf 'one\\nours\\nend\\n' > new.txt", "printf 'one\\ntheirs\\nend\\n' > new.txt"],
        Judge::Stages,
        Lines::Both,
    ),
    case(
        ["untracked", "untracked", "new.txt"],
        ["printf 'one\\nours\\nend\\n' > new.txt", "printf 'one\\ntheirs\\nend\\n' > new.txt"],
        Judge::Untracked,
        Lines::Both,
    ),
];

/// Conflicts of a file with a folder, and of all files of a folder.
pub(crate) const FOLDERS: &[Case] = &[
    case(
        ["a file for their folder", "in_the_way", "docs/new.md"],
        ["echo ours > docs", "mkdir docs; echo new > docs/new.md"],
        Judge::Stages,
        Lines::NotBoth,
    ),
    case(
        ["a folder for their file", "in_the_way", "docs"],
        ["mkdir docs; echo new > docs/new.md", "echo theirs > docs; echo x > other.txt"],
        Judge::Stages,
        Lines::NotBoth,
    ),
    case(
        ["an edit of what is a folder for them", "changed_and_removed", "lines.txt"],
        [
            "echo ours >> lines.txt",
            "rm lines.txt; mkdir lines.txt; echo new > lines.txt/new; echo more > lines.txt/more",
        ],
        Judge::Stages,
        Lines::NotBoth,
    ),
    case(
        ["a folder for what they edit", "changed_and_removed", "lines.txt"],
        ["rm lines.txt; mkdir lines.txt; echo new > lines.txt/new", "echo theirs >> lines.txt"],
        Judge::Stages,
        Lines::NotBoth,
    ),
    case(
        ["two names of a folder", "renamed_twice", "theirs/main.rs"],
        ["git mv src ours", "git mv src theirs"],
        Judge::Stages,
        Lines::NotBoth,
    ),
];

/// How a conflict is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Ours,
    Theirs,
    Union,
    Markers,
}

impl Choice {
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Ours => "--ours",
            Self::Theirs => "--theirs",
            Self::Union => "--union",
            Self::Markers => "--markers",
        }
    }
}

/// What markers look like.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Form {
    /// `merge.conflictStyle`, if it is not empty.
    pub(crate) style: &'static str,
    /// What is in `info/attributes`.
    pub(crate) attributes: &'static str,
}

/// Returns ways to settle conflicts with conflicts: in full depth each way with each conflict, else
/// `quick` pairs with each way in turn.
pub(crate) fn cells<'a, T: Copy>(
    ways: &[T],
    cases: impl IntoIterator<Item = &'a Case>,
    quick: usize,
) -> Vec<(T, &'a Case)> {
    let cases: Vec<&Case> = cases.into_iter().collect();
    let each = |way: &T| cases.iter().map(|case| (*way, *case)).collect::<Vec<_>>();
    let all = ways.iter().flat_map(each).collect();
    let some = ways.iter().copied().cycle().zip(sample(cases.iter().copied(), quick)).collect();
    by_depth(some, all)
}

/// Fills a repository with the files that the cases begin with.
pub(crate) fn begin(repository: &Repository) {
    let lines: String = (1..=24).map(|line| format!("line {line}\n")).collect();
    repository.write("lines.txt", &lines);
    repository.write("list.txt", "first\n");
    let crlf: String = (1..=12).map(|line| format!("a {line}\r\n")).collect();
    repository.write("crlf.txt", &crlf);
    repository.write("data.bin", "a\0b");
    std::os::unix::fs::symlink("README.md", repository.path("link")).expect("a link can be made");
    repository.commit("files");
}

impl Case {
    /// Returns whether two tasks can make the conflict: all but that of a file which git does not track.
    pub(crate) fn is_of_tasks(&self) -> bool {
        self.judge != Judge::Untracked
    }

    /// Brings the repository back to its commit and lets two tasks make the conflict.
    pub(crate) fn run(&self, place: &Sandbox, repository: &Repository) -> Finished {
        repository.git(&["reset", "--quiet", "--hard"]);
        repository.git(&["clean", "-fdq"]);
        let plan = match self.judge {
            Judge::Untracked => {
                let ours = format!("cd \"$REGATTA_REPO\"; {}; cd -; {}", self.ours, self.theirs);
                Plan::default().task("nothing", "true").task("theirs", &ours)
            }
            Judge::Stages | Judge::Commit => {
                Plan::default().task("ours", self.ours).task("theirs", self.theirs)
            }
        };
        place.run_plan(repository, &plan).run().expect_code(4)
    }

    /// Lets two tasks of a run with these options make the conflict.
    pub(crate) fn run_with(
        &self,
        place: &Sandbox,
        repository: &Repository,
        words: &str,
    ) -> Finished {
        let plan = Plan::default().task("ours", self.ours).task("theirs", self.theirs);
        place.run_plan(repository, &plan).words(words).run().expect_code(4)
    }

    /// Lets a task and a commit that the user makes meanwhile make the conflict.
    pub(crate) fn run_beside_a_commit(
        &self,
        place: &Sandbox,
        repository: &Repository,
        words: &str,
    ) -> Finished {
        let user = "git add --all; git commit --quiet --message ours";
        let task = format!("(cd \"$REGATTA_REPO\"; {}; {user})\n{}", self.ours, self.theirs);
        let plan = Plan::default().task("theirs", &task);
        place.run_plan(repository, &plan).words(words).run().expect_code(4)
    }

    /// Returns the id of the tree that git makes of the same conflict with the same choice.
    pub(crate) fn tree_in_git(&self, place: &Sandbox, choice: Choice, form: Form) -> String {
        let git = self.merged_in_git(place, choice, form);
        match choice {
            Choice::Ours | Choice::Theirs => self.take_side(&git, choice),
            Choice::Union => {}
            Choice::Markers => relabel(&git),
        }
        git.tree_id()
    }

    /// Returns a repository in which git has merged the same two sides, as far as it could.
    pub(crate) fn merged_in_git(&self, place: &Sandbox, choice: Choice, form: Form) -> Repository {
        let root = place.folder().join("judge");
        let _none_yet = std::fs::remove_dir_all(&root);
        let git = Repository::init(&root);
        git.write("README.md", "# App\n\nA small thing.\n");
        git.write("src/main.rs", "fn main() {\n    run();\n}\n");
        git.write("src/run.rs", "pub fn run() {}\n");
        begin(&git);
        if !form.style.is_empty() {
            git.git(&["config", "merge.conflictStyle", form.style]);
        }
        git.write(".git/info/attributes", form.attributes);
        for (branch, script) in [("theirs", self.theirs), ("ours", self.ours)] {
            git.git(&["checkout", "--quiet", "-b", branch, "main"]);
            let mut shell = Command::new("/bin/sh");
            let done = shell.arg("-ec").arg(script).current_dir(git.root()).status();
            assert!(done.expect("a shell can be run").success(), "{}", self.name);
            git.commit(branch);
        }
        if choice == Choice::Union {
            git.write(".git/info/attributes", "* merge=union\n");
        }
        let _conflicts = git.try_git(&["-c", "merge.directoryRenames=true", "merge", "theirs"]);
        git
    }

    fn take_side(&self, git: &Repository, choice: Choice) {
        let (commit, stage) = if choice == Choice::Ours { ("ours", "2") } else { ("theirs", "3") };
        let unmerged = git.git(&["ls-files", "-u"]);
        let mut paths: Vec<&str> =
            unmerged.lines().filter_map(|line| line.split('\t').nth(1)).collect();
        paths.dedup();
        for path in paths {
            if self.judge == Judge::Commit {
                git.git(&["rm", "--quiet", "-f", "--cached", path]);
                let _gone = std::fs::remove_file(git.path(path));
                // A path that this side does not have is removed.
                let _absent = git.try_git(&["checkout", "--quiet", commit, "--", path]);
                continue;
            }
            let has = unmerged.lines().any(|line| {
                line.ends_with(&format!("\t{path}")) && line.contains(&format!(" {stage}\t"))
            });
            if has {
                git.git(&["checkout", "--quiet", choice.option(), "--", path]);
            } else {
                git.git(&["rm", "--quiet", "-f", path]);
            }
        }
    }
}

/// Replaces git's name of our side in the files and their names.
pub(crate) fn relabel(git: &Repository) {
    let bases = git.git(&["log", "--format=%h", "main"]);
    for entry in std::fs::read_dir(git.root()).expect("it is a folder") {
        let entry = entry.expect("it can be read");
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().expect("it has a type").is_file() {
            let bytes = std::fs::read(&path).expect("it can be read");
            let mode = entry.metadata().expect("it is there").permissions().mode();
            let text = String::from_utf8_lossy(&bytes);
            if text.contains("< HEAD") {
                // git names both sides of a file with two new names, and the base by its commit.
                let mut text = text.replace("< HEAD", "< ours");
                for commit in bases.lines() {
                    text = text.replace(&format!("| {commit}"), "| base");
                }
                std::fs::write(&path, text).expect("it can be written");
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))
                    .expect("it has a mode");
            }
        }
        if let Some(file) = name.strip_suffix("~HEAD") {
            std::fs::rename(&path, git.path(format!("{file}~ours"))).expect("it can be renamed");
        }
    }
}
