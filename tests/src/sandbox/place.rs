//! A place of a test's own: a home for the binary, a folder for repositories, and the certainty
//! that nothing of it stays.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::fs::StatVfsMountFlags;
use tempfile::TempDir;

use super::user::publish;
use super::{Home, Invocation, Plan, Processes, Repository, User, eventually};

/// How many bytes must be free in memory for a place of a test's own to be there.
const NEEDED_IN_MEMORY: u64 = 512 << 20;

/// The name of its folder for temporary files.
const TEMPORARY: &str = "tmp";

/// Tells the marks of the sandboxes of one test process apart.
static SANDBOXES: AtomicU32 = AtomicU32::new(0);

/// A place of a test's own. Dropping it kills what still runs in it and removes it.
#[derive(Debug)]
pub struct Sandbox {
    binary: PathBuf,
    mark: String,
    home: Home,
    folder: TempDir,
}

impl Sandbox {
    /// Makes a place to run `binary` in: in memory, where this machine has room for it. Short runs
    /// take a fraction of the time there. What is written is as safe from a killed process as on a
    /// disk, but not from a power cut.
    #[must_use]
    pub fn new(binary: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let fits = rustix::fs::statvfs(memory).is_ok_and(|stat| {
            let free = stat.f_bavail * stat.f_frsize;
            free >= NEEDED_IN_MEMORY && !stat.f_flag.contains(StatVfsMountFlags::NOEXEC)
        });
        if fits { Self::within(memory, binary) } else { Self::on_disk(binary) }
    }

    /// Makes a place to run `binary` in where temporary files are, for what depends on a real file
    /// system.
    #[must_use]
    pub fn on_disk(binary: &str) -> Self {
        Self::within(&std::env::temp_dir(), binary)
    }

    fn within(parent: &Path, binary: &str) -> Self {
        let folder = TempDir::with_prefix_in("regatta-test-", parent);
        let folder = folder.expect("a folder can be made");
        let number = SANDBOXES.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        let home = Home::at(&folder.path().join("home"));
        for name in ["user", TEMPORARY] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder can be made");
        }
        Self { binary: binary.into(), mark, home, folder }
    }

    /// Returns the binary.
    #[must_use]
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Returns its folder; everything below it is the test's.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder for temporary files.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.folder().join(TEMPORARY)
    }

    /// Returns the home of its engines.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.home
    }

    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// Makes a repository with a few files in one commit.
    #[must_use]
    pub fn repository(&self) -> Repository {
        let repository = Repository::init(&self.folder().join("app"));
        repository.write("README.md", "# App\n\nA small thing.\n");
        repository.write("src/main.rs", "fn main() {\n    run();\n}\n");
        repository.write("src/run.rs", "pub fn run() {}\n");
        repository.commit("begin");
        repository
    }

    /// Begins a call of the binary in `folder`.
    #[must_use]
    pub fn regatta(&self, folder: &Path) -> Invocation {
        Invocation::new(self, folder)
    }

    /// Gives everything in it to `user`, and puts the binary where that user can run it.
    pub fn hand_to(&mut self, user: User) {
        let reachable = self.folder().join("regatta");
        if !reachable.exists() {
            publish(&self.binary, &reachable);
            self.binary = reachable;
        }
        user.own(self.folder());
    }

    /// Begins `regatta run --json` in a repository.
    #[must_use]
    pub fn run_in(&self, repository: &Repository) -> Invocation {
        self.regatta(repository.root()).words("run --json")
    }

    /// Begins `regatta run --json --plan -` with this plan in a repository.
    #[must_use]
    pub fn run_plan(&self, repository: &Repository, plan: &Plan) -> Invocation {
        self.run_in(repository).words("--plan -").stdin(plan.text())
    }

    /// Returns the processes that its engines started.
    #[must_use]
    pub fn processes(&self) -> Processes {
        Processes::marked(&self.mark)
    }

    /// Checks that nothing is left of any engine: no process, no workspace, no lock, no temporary
    /// file, no open journal.
    ///
    /// # Panics
    /// When something is left.
    pub fn expect_nothing_left(&self, repository: &Repository) {
        self.expect_no_process(Duration::from_secs(5));
        assert_eq!(self.home.leftovers(), Vec::<String>::new(), "left in the home");
        assert_eq!(repository.leftovers(), Vec::<String>::new(), "left in the repository");
        let temporary = std::fs::read_dir(self.temporary()).expect("it is there").flatten();
        let names = temporary.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let of_tasks: Vec<String> = names.filter(|name| name.starts_with("regatta-")).collect();
        assert_eq!(of_tasks, Vec::<String>::new(), "temporary folders of tasks");
    }

    /// Checks that no process of an engine lives, at the latest after `patience`, which is longer on a busy
    /// machine.
    ///
    /// # Panics
    /// When one does.
    pub fn expect_no_process(&self, patience: Duration) {
        let processes = self.processes();
        let gone = || processes.alive().is_empty();
        let more = || patience.mul_f64(test_limit::slowdown()).saturating_sub(patience);
        let in_time = test_limit::within(patience, gone) || test_limit::within(more(), gone);
        assert!(in_time, "no process left, but {:?}", processes.alive());
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let processes = self.processes();
        processes.kill();
        if !std::thread::panicking() {
            eventually(Duration::from_secs(5), "killed processes end", || {
                processes.kill();
                processes.alive().is_empty()
            });
        }
    }
}
