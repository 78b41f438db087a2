//! A repository with another one in `lib`, for the tests of nested repositories.

use std::fs;
use std::path::Path;

use tests::sandbox::{Fingerprint, Finished, Repository, Sandbox};

/// What the folder `lib` is for the repository around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A submodule that is checked out.
    Submodule,
    /// An untracked folder with a `.git`.
    Untracked,
    /// A folder with a `.git` that git ignores.
    Ignored,
}

/// Every kind.
pub(crate) const KINDS: [Kind; 3] = [Kind::Submodule, Kind::Untracked, Kind::Ignored];

/// The text of `lib/list.txt`: the lines 1 to 20.
pub(crate) fn list() -> String {
    (1..=20).map(|line| format!("{line}\n")).collect()
}

/// Two repositories, one in the other.
pub(crate) struct Nest {
    pub(crate) outer: Repository,
    pub(crate) lib: Repository,
    before: [Fingerprint; 2],
}

impl Nest {
    /// Makes the repositories. `lib` has two commits, of which the first lacks `late.txt`.
    pub(crate) fn of(place: &Sandbox, kind: Kind) -> Self {
        let outer = place.repository();
        let made = match kind {
            Kind::Submodule => Repository::init(&place.folder().join("library")),
            Kind::Untracked | Kind::Ignored => Repository::init(&outer.path("lib")),
        };
        made.write("list.txt", list());
        made.write("other.txt", "other\n");
        made.write(".gitignore", "*.o\n");
        made.commit("one");
        made.write("late.txt", "late\n");
        made.commit("two");
        match kind {
            Kind::Submodule => {
                let url = made.root().to_str().expect("it is text").to_owned();
                let allow = "protocol.file.allow=always";
                outer.git(&["-c", allow, "submodule", "--quiet", "add", &url, "lib"]);
                outer.commit("a submodule");
            }
            Kind::Ignored => {
                outer.write(".gitignore", "/lib/\n");
                outer.commit("ignored");
            }
            Kind::Untracked => {}
        }
        let lib = Repository::at(&outer.path("lib"));
        lib.git(&["config", "user.name", "Ada"]);
        lib.git(&["config", "user.email", "ada@example.org"]);
        Self::now(outer, lib)
    }

    fn now(outer: Repository, lib: Repository) -> Self {
        let before = [outer.dot_git(), git_folder(&lib)];
        Self { outer, lib, before }
    }

    /// Takes down the git folders again.
    pub(crate) fn again(self) -> Self {
        Self::now(self.outer, self.lib)
    }

    /// Checks that no byte in a git folder has changed.
    pub(crate) fn expect_same_git(&self, finished: &Finished) {
        let now = [self.outer.dot_git(), git_folder(&self.lib)];
        for (before, now) in self.before.iter().zip(&now) {
            assert_eq!(before.differences(now), Vec::<String>::new(), "{finished}");
        }
    }

    /// Returns the short status of `lib`.
    pub(crate) fn status(&self) -> String {
        self.lib.git(&["status", "--porcelain"])
    }
}

/// Takes down the git folder of a repository, wherever it is.
pub(crate) fn git_folder(repository: &Repository) -> Fingerprint {
    let folder = repository.git(&["rev-parse", "--absolute-git-dir"]);
    Fingerprint::of(Path::new(folder.trim_end()))
}

/// Returns what a task wrote to a file of this name in the sandbox.
pub(crate) fn told(place: &Sandbox, name: &str) -> String {
    fs::read_to_string(place.folder().join(name)).expect("the task has written it")
}

/// What is checked out in a repository: its HEAD, its index and its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckedOut {
    head: Vec<u8>,
    index: Vec<u8>,
    files: Fingerprint,
}

impl CheckedOut {
    /// Takes down what is checked out in `repository`.
    pub(crate) fn of(repository: &Repository) -> Self {
        let folder = repository.git(&["rev-parse", "--absolute-git-dir"]);
        let read = |name: &str| {
            fs::read(Path::new(folder.trim_end()).join(name)).expect("a repository has it")
        };
        let files = Fingerprint::without(repository.root(), &[".git", "lib/.git"]);
        Self { head: read("HEAD"), index: read("index"), files }
    }
}
