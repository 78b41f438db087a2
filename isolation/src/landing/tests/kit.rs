//! A repository, a task store and journals in a temporary folder, and faults that strike here.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use engine::fault::{FaultHooks, Faults};
use engine::ports::{
    CancelToken, IsolationError, LandingNotice, LandingRequest, LandingTarget, LandingTask,
    SettleRequest,
};
use protocol::{CaptureRef, Landed, LandingId, LandingReport, RepoPath, Rescue, RunName, TaskName};
use tempfile::TempDir;

use crate::file_entry::{Change, Entry, Mode};
use crate::landing;
use crate::paths::{IsolationPaths, RepoPaths};
use crate::repository::Repo;
use crate::store::{Contents, TaskStore};

/// Everything in a folder but `.git`: files with their permissions, symlinks, folders.
pub(crate) type Snapshot = BTreeMap<Vec<u8>, (u32, Vec<u8>)>;

pub(crate) struct Kit {
    pub(crate) folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) repo: Repo,
    pub(crate) paths: RepoPaths,
    pub(crate) run: RunName,
    /// Everything that landings and recoveries had to say.
    pub(crate) told: Mutex<Vec<LandingNotice>>,
}

impl Kit {
    /// Makes a repository with these files in its only commit.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Self::within(tempfile::tempdir().unwrap(), files)
    }

    /// The same, where nothing has to wait for a disk if the machine has such a place.
    pub(crate) fn in_memory(files: &[(&str, &str)]) -> Self {
        let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self::within(memory.unwrap(), files)
    }

    fn within(folder: TempDir, files: &[(&str, &str)]) -> Self {
        let root = folder.path().join("repo");
        fs::create_dir(&root).unwrap();
        git(&root, &["init", "-q", "-b", "main"]);
        for (path, content) in files {
            write(&root, path, content);
        }
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "-q", "--allow-empty", "-m", "first"]);
        Self::over(folder, root)
    }

    /// Opens a repository that is there already.
    pub(crate) fn over(folder: TempDir, root: PathBuf) -> Self {
        let repo = Repo::open(&root).unwrap();
        let data = folder.path().join("data");
        let paths = IsolationPaths {
            workspaces: data.join("workspaces"),
            stores: data.join("stores"),
            landings: data.join("landings"),
        };
        let paths = paths.of(&repo.root);
        let run = "r7k3f".parse().unwrap();
        Self { folder, root, repo, paths, run, told: Mutex::default() }
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.root, arguments)
    }

    pub(crate) fn store(&self) -> TaskStore {
        TaskStore::open(&self.paths.store).unwrap()
    }

    /// Captures what `edit` makes of a copy of the working tree.
    pub(crate) fn task(&self, name: &str, edit: impl FnOnce(&Path)) -> LandingTask {
        self.task_on(name, &[], edit)
    }

    /// The same, over the work of other tasks, which `edit` has to make itself before it calls
    /// what it is given.
    pub(crate) fn task_on(
        &self,
        name: &str,
        depends_on: &[&str],
        edit: impl FnOnce(&Path),
    ) -> LandingTask {
        let before = snapshot(&self.root);
        let copy = tempfile::tempdir_in(self.folder.path()).unwrap();
        restore(copy.path(), &before);
        edit(copy.path());
        let changes = self.changes(&before, &snapshot(copy.path()));
        self.captured(name, depends_on, &changes)
    }

    pub(crate) fn captured(&self, name: &str, on: &[&str], changes: &[Change]) -> LandingTask {
        let task: TaskName = name.parse().unwrap();
        let capture = CaptureRef::of(&self.run, &task, 1);
        let contents = Contents { changes: changes.to_vec(), ..Contents::default() };
        self.store().put_capture(&capture, &contents, name).unwrap();
        let depends_on = on.iter().map(|name| name.parse().unwrap()).collect();
        LandingTask {
            task,
            capture,
            depends_on,
            message: format!("What {name} did"),
            settle: SettleRequest::default(),
        }
    }

    pub(crate) fn changes(&self, before: &Snapshot, after: &Snapshot) -> Vec<Change> {
        let store = self.store();
        let entry = |found: Option<&(u32, Vec<u8>)>| {
            let (mode, bytes) = found.filter(|(mode, _)| !is_folder(*mode))?;
            let kind =
                if mode & 0o170_000 == 0o120_000 { Mode::Link } else { Mode::of_file(*mode) };
            Some(Entry { mode: kind, oid: store.write(bytes).unwrap() })
        };
        let paths: BTreeSet<&Vec<u8>> = before.keys().chain(after.keys()).collect();
        let changes = paths.into_iter().map(|path| {
            let sides = (entry(before.get(path)), entry(after.get(path)));
            Change::new(RepoPath::new(path.clone()).unwrap(), sides.0, sides.1)
        });
        changes.filter(|change| change.base != change.task).collect()
    }

    pub(crate) fn request(&self, tasks: &[LandingTask]) -> LandingRequest {
        let (run, target) = (self.run.clone(), LandingTarget::Tree);
        let (landed, union) = (Vec::new(), Vec::new());
        LandingRequest { run, target, tasks: tasks.to_vec(), landed, union }
    }

    /// Lands the tasks, and sees that this was foretold.
    pub(crate) fn land(&self, tasks: &[LandingTask]) -> LandingReport {
        let foretold = self.dry_run(&self.request(tasks)).unwrap();
        let report = self.land_with(&Faults::default(), tasks).unwrap();
        assert_eq!(foretold, report);
        report
    }

    /// Returns what a landing would do, and sees that nothing is done.
    fn dry_run(&self, request: &LandingRequest) -> Result<LandingReport, IsolationError> {
        let everything = || (self.snapshot(), self.git(&["for-each-ref"]));
        let before = everything();
        let report = landing::dry_run(&self.repo, &self.paths, &Faults::default(), request);
        assert_eq!(everything(), before);
        report
    }

    /// Makes branches below `prefix` of the tasks, and sees that this was foretold.
    pub(crate) fn branch(
        &self,
        prefix: &str,
        tasks: &[LandingTask],
    ) -> Result<LandingReport, IsolationError> {
        let target = LandingTarget::Branches { prefix: prefix.to_owned() };
        let foretold = self.dry_run(&LandingRequest { target, ..self.request(tasks) });
        let report = self.branch_with(&Faults::default(), prefix, tasks);
        assert_eq!(foretold.as_ref().ok(), report.as_ref().ok());
        report
    }

    /// Makes branches of which not everything can be foretold.
    pub(crate) fn branch_with(
        &self,
        faults: &Faults,
        prefix: &str,
        tasks: &[LandingTask],
    ) -> Result<LandingReport, IsolationError> {
        let target = LandingTarget::Branches { prefix: prefix.to_owned() };
        let request = LandingRequest { target, ..self.request(tasks) };
        landing::land(
            &self.repo,
            &self.paths,
            faults,
            LandingId::generate(),
            request,
            &CancelToken::default(),
            &|_| {},
        )
    }

    /// Makes branches until a planned kill strikes. Nothing comes back if one did.
    pub(crate) fn branch_or_die(&self, plan: &str, tasks: &[LandingTask]) -> Option<LandingReport> {
        let faults = faults(plan);
        alive(|| self.branch_with(&faults, "regatta", tasks).unwrap())
    }

    pub(crate) fn land_with(
        &self,
        faults: &Faults,
        tasks: &[LandingTask],
    ) -> Result<LandingReport, IsolationError> {
        self.land_unless(&CancelToken::default(), faults, tasks)
    }

    /// Lands unless it is withdrawn in time.
    pub(crate) fn land_unless(
        &self,
        cancel: &CancelToken,
        faults: &Faults,
        tasks: &[LandingTask],
    ) -> Result<LandingReport, IsolationError> {
        let request = self.request(tasks);
        let record_notice = |notify| self.record_notice(notify);
        let report = landing::land(
            &self.repo,
            &self.paths,
            faults,
            LandingId::generate(),
            request,
            cancel,
            &record_notice,
        )?;
        landing::acknowledge(&self.paths, faults, &self.run)?;
        Ok(report)
    }

    /// Lands until a planned kill strikes. Nothing comes back if one did.
    pub(crate) fn land_or_die(&self, plan: &str, tasks: &[LandingTask]) -> Option<LandingReport> {
        let faults = faults(plan);
        alive(|| self.land_with(&faults, tasks).unwrap())
    }

    /// Recovers and acknowledges what was found.
    pub(crate) fn recover(&self) -> Vec<(RunName, LandingReport)> {
        self.recover_with(&Faults::default()).unwrap()
    }

    fn record_notice(&self, notify: LandingNotice) {
        self.told.lock().unwrap().push(notify);
    }

    /// What was rescued so far.
    pub(crate) fn rescued(&self) -> Vec<Rescue> {
        let told = self.told.lock().unwrap();
        let rescues = told.iter().filter_map(|notify| match notify {
            LandingNotice::Rescued(rescue) => Some(rescue.clone()),
            _ => None,
        });
        rescues.collect()
    }

    pub(crate) fn recover_or_die(&self, plan: &str) -> Option<Vec<(RunName, LandingReport)>> {
        let faults = faults(plan);
        alive(|| self.recover_with(&faults).unwrap())
    }

    pub(crate) fn recover_with(
        &self,
        faults: &Faults,
    ) -> Result<Vec<(RunName, LandingReport)>, IsolationError> {
        let found =
            landing::recover(&self.repo, &self.paths, faults, &BTreeSet::new(), &|notify| {
                self.record_notice(notify)
            })?;
        for landing in &found {
            landing::acknowledge(&self.paths, faults, &landing.run)?;
        }
        Ok(found.into_iter().map(|landing| (landing.run, landing.report)).collect())
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        snapshot(&self.root)
    }

    /// The journals that are not done.
    pub(crate) fn open_journals(&self) -> Vec<String> {
        let Ok(listed) = fs::read_dir(&self.paths.landings) else { return Vec::new() };
        let names = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "done" && !name.ends_with(".tmp")).collect()
    }

    /// Every byte below `.git`.
    pub(crate) fn git_folder(&self) -> Snapshot {
        snapshot(&self.root.join(".git"))
    }
}

thread_local! {
    static HOOK: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

/// Makes `slow` faults of this thread call `hook`.
pub(crate) fn on_slow(hook: impl FnMut() + 'static) {
    HOOK.with_borrow_mut(|slot| *slot = Some(Box::new(hook)));
}

/// Faults that strike in this process: a kill unwinds, so that nothing is tidied up.
pub(crate) fn faults(plan: &str) -> Faults {
    let wait = || HOOK.with_borrow_mut(|hook| hook.as_mut().unwrap()());
    let kill = || std::panic::resume_unwind(Box::new(Killed));
    Faults::read(plan, FaultHooks { kill, wait }).unwrap()
}

struct Killed;

fn alive<T>(work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(end) => Some(end),
        Err(panic) if panic.is::<Killed>() => None,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

pub(crate) fn landed(report: &LandingReport) -> Vec<&Landed> {
    report.tasks.iter().map(|landing| &landing.landed).collect()
}

pub(crate) const LANDED: Landed = Landed::Landed { branch: None, joined: Vec::new() };

pub(crate) fn write(root: &Path, path: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
    let path = root.join(path.as_ref());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub(crate) fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap()
}

pub(crate) fn git(root: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(arguments)
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn is_folder(mode: u32) -> bool {
    mode & 0o170_000 == 0o040_000
}

pub(crate) fn snapshot(root: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            if folder.as_os_str().is_empty() && entry.file_name() == ".git" {
                continue;
            }
            let path = folder.join(entry.file_name());
            let mode = entry.metadata().unwrap().mode();
            let bytes = match mode & 0o170_000 {
                0o040_000 => {
                    folders.push(path.clone());
                    Vec::new()
                }
                0o120_000 => fs::read_link(entry.path()).unwrap().as_os_str().as_bytes().to_vec(),
                0o100_000 => fs::read(entry.path()).unwrap(),
                _ => Vec::new(),
            };
            found.insert(path.as_os_str().as_bytes().to_vec(), (mode, bytes));
        }
    }
    found
}

fn restore(root: &Path, snapshot: &Snapshot) {
    for (path, (mode, bytes)) in snapshot {
        let path = root.join(OsStr::from_bytes(path));
        match mode & 0o170_000 {
            0o040_000 => fs::create_dir(path).unwrap(),
            0o120_000 => symlink(OsStr::from_bytes(bytes), path).unwrap(),
            0o100_000 => {
                fs::write(&path, bytes).unwrap();
                fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o777)).unwrap();
            }
            _ => {}
        }
    }
}
