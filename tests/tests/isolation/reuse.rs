//! A workspace that another task has used before is like a new one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use engine::fault::Faults;
use engine::ports::{
    AttemptEnd, Baseline, CancelToken, CarryRequest, FreezeRequest, Isolation as _, IsolationError,
    Reuse, Workspace, WorkspaceRequest, WorkspaceStart,
};
use isolation::{Captures, IsolationPaths, PathFilter, Repositories};
use protocol::{CaptureRef, Captured, IsolationMode, RunName};
use test_limit::{Rounds, by_depth};
use tests::fuzz::Random;
use tests::sandbox::{Repository as UserRepository, skip};
use tokio::runtime::{Builder, Runtime};

use super::kit::{link, raw};
use super::reuse_kit::{self, RandomTask, observe};

/// A repository of the user's with two runs, so that a workspace can be compared with a new one.
struct Bench {
    home: tempfile::TempDir,
    user: UserRepository,
    runtime: Runtime,
    pooled: Arc<dyn Baseline>,
    fresh: Arc<dyn Baseline>,
}

impl Bench {
    fn new() -> Self {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(folder: &Path) -> Self {
        isolation::initialise();
        let home = tempfile::tempdir_in(folder).expect("a folder can be made");
        let user = UserRepository::init(&home.path().join("app"));
        for path in
            ["one", "two", "sub/deep/file", "sub/other", "wide/a", "wide/b", "-odd \n\"name"]
        {
            user.write(path, format!("{path}\n"));
        }
        user.write(raw(b"not-text-\xff"), "one\n");
        user.write("empty", "");
        user.write("run.sh", "#!/bin/sh\n");
        user.make_executable("run.sh");
        user.write(".gitignore", "*.log\nbuild/\ndeps/\n");
        link("one", &user.path("link"));
        user.commit("everything");
        let head = user.git(&["rev-parse", "HEAD"]);
        let module = format!("160000,{},module", head.trim());
        user.git(&["update-index", "--add", "--cacheinfo", &module]);
        fs::create_dir(user.path("module")).expect("a folder can be made");
        user.commit("a submodule");
        user.write("two", "two\nand changed\n");
        user.write("untracked", "never added\n");
        user.write("deps/lib/code", "carried\n");
        user.write("deps/lib/run", "carried\n");
        user.make_executable("deps/lib/run");
        link("code", &user.path("deps/lib/link"));
        let runtime = Builder::new_multi_thread().worker_threads(1).build().expect("it starts");
        let freeze = |run: &str| runtime.block_on(frozen(&home, &user, run));
        let (pooled, fresh) = (freeze("raaaa"), freeze("rbbbb"));
        Self { home, user, runtime, pooled, fresh }
    }

    fn prepare(
        &self,
        baseline: &Arc<dyn Baseline>,
        task: &str,
        after: Option<&CaptureRef>,
        start: WorkspaceStart,
    ) -> Workspace {
        let predecessors = after.map(|capture| (name("before"), capture.clone()));
        let predecessors = predecessors.into_iter().collect();
        let request =
            WorkspaceRequest { task: name(task), attempt: 1, predecessors, start, carry: None };
        self.runtime.block_on(baseline.prepare(request)).expect("it can be made")
    }

    /// Returns the paths of the work in a capture.
    fn paths_of(&self, capture: &CaptureRef) -> BTreeSet<PathBuf> {
        let captures = Captures::of(self.user.root(), &paths(&self.home));
        let paths = captures.paths(capture).expect("it can be read");
        paths.iter().map(|path| path.as_path().to_owned()).collect()
    }

    /// Returns whether a workspace can begin with this work, which may be in the way of a submodule.
    fn can_begin_with(&self, capture: &CaptureRef) -> bool {
        let is_in_the_way = |path: &PathBuf| path.as_os_str().as_bytes().starts_with(b"module");
        !self.paths_of(capture).iter().any(is_in_the_way)
    }

    fn capture(&self, baseline: &Arc<dyn Baseline>, workspace: &Workspace) -> Option<Captured> {
        match self.runtime.block_on(baseline.capture(workspace, &AttemptEnd::default())) {
            Ok(captured) => captured,
            Err(_) if !workspace.root.exists() => None, // there may be work beside the tree
            Err(error) => panic!("{}", error.to_failure().message),
        }
    }

    fn discard(&self, baseline: &Arc<dyn Baseline>, workspace: &Workspace, reuse: Reuse) {
        self.runtime.block_on(baseline.discard(workspace, reuse)).expect("it can be discarded");
    }

    /// Returns what a capture says, without where it is.
    fn told(&self, captured: &Captured) -> (String, String, String) {
        let captures = Captures::of(self.user.root(), &paths(&self.home));
        let diff = captures.diff(&captured.capture, &PathFilter::Everything);
        let diff = diff.expect("it can be read").escape_ascii().to_string();
        let left_out = protocol::LeftOut { workspace: None, ..captured.left_out.clone() };
        (diff, format!("{:?}", captured.changes), format!("{left_out:?}"))
    }
}

fn name<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("a name")
}

fn paths(home: &tempfile::TempDir) -> IsolationPaths {
    let data = home.path().join("data");
    IsolationPaths {
        workspaces: data.join("workspaces"),
        stores: data.join("stores"),
        landings: data.join("landings"),
    }
}

async fn frozen(home: &tempfile::TempDir, user: &UserRepository, run: &str) -> Arc<dyn Baseline> {
    let engine = Repositories::new(paths(home), Faults::default());
    let repository = engine.open(user.root()).await.expect("it can be worked on");
    let run: RunName = name(run);
    let lock = repository.lock_run(&run).expect("nobody else has it");
    let carry = CarryRequest {
        globs: vec!["deps/".to_owned()],
        limit: 1 << 20,
        workspaces: 1,
        ..CarryRequest::default()
    };
    let request = FreezeRequest {
        run,
        mode: IsolationMode::Worktree,
        untracked_limit: 1 << 20,
        branches: None,
        carry,
        union: Vec::new(),
    };
    let frozen = repository.freeze(request, lock, CancelToken::default(), Arc::new(|_| {}));
    frozen.await.expect("the tree can be frozen")
}

/// Replaces a file, adds one and removes one in the copies of a run that no task uses, as a process of any
/// of its tasks can.
fn change_idle_copies(run: &Path) {
    let entries = fs::read_dir(run).expect("the run has a folder").flatten();
    let copies = entries.map(|entry| entry.path());
    let is_idle = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".pool-"))
    };
    for root in copies.filter(is_idle).map(|folder| folder.join("tree")) {
        // The task before may have removed the tree, or made a folder of the file.
        let _no_tree = fs::write(root.join("a-sibling's"), "a sibling's\n");
        let _no_tree = fs::write(root.join("new"), "a sibling's\n");
        let _other_now = fs::rename(root.join("new"), root.join("one"));
        let _gone = fs::remove_file(root.join("sub/other"));
    }
}

/// Runs one random task, and then another one in the same files and in new ones. Returns whether it
/// was the same files, which may also have been beyond repair.
fn compare_a_pair(bench: &Bench, random: &mut Random) -> bool {
    let Bench { pooled, fresh, .. } = bench;
    let at_once = WorkspaceStart::AtOnce;
    // Something to build on.
    let before = random.chance(30).then(|| {
        let workspace = bench.prepare(fresh, "before", None, at_once);
        RandomTask { root: &workspace.root, random }.work(6);
        let captured = bench.capture(fresh, &workspace);
        bench.discard(fresh, &workspace, Reuse::Refused);
        captured.map(|captured| captured.capture)
    });
    let before = before.flatten().filter(|capture| bench.can_begin_with(capture));
    let setup = if random.chance(20) { WorkspaceStart::AfterSetup } else { at_once };
    let first = bench.prepare(pooled, "first", before.as_ref(), setup);
    let sibling = random.chance(40).then(|| bench.prepare(pooled, "sibling", None, at_once));
    if setup == WorkspaceStart::AfterSetup {
        RandomTask { root: &first.root, random }.work(4);
        let accepted = bench.runtime.block_on(pooled.accept_setup(&first));
        assert!(matches!(accepted, Ok(()) | Err(IsolationError::Vanished { .. })), "{accepted:?}");
    }
    let steps = random.between(0, 14);
    RandomTask { root: &first.root, random }.work(steps);
    if random.chance(2) {
        fs::remove_dir_all(&first.root).expect("it can be removed");
    }
    if random.chance(90) {
        bench.capture(pooled, &first);
    }
    let identity = reuse_kit::identity(&first.folder);
    bench.discard(pooled, &first, Reuse::Allowed);
    assert!(!first.folder.exists(), "the first workspace is given up");
    if sibling.is_some() {
        change_idle_copies(first.folder.parent().expect("it is the run's"));
    }

    let before = before.filter(|_| random.chance(50));
    let again = bench.prepare(pooled, "second", before.as_ref(), at_once);
    let new = bench.prepare(fresh, "second", before.as_ref(), at_once);
    let is_reused = identity == reuse_kit::identity(&again.folder);
    let written = before.as_ref().map(|capture| bench.paths_of(capture)).unwrap_or_default();
    compare(&again, &new, &written);
    let captured = [(pooled, &again), (fresh, &new)].map(|(baseline, workspace)| {
        let mut random = random.clone();
        RandomTask { root: &workspace.root, random: &mut random }.work(8);
        let captured = bench.capture(baseline, workspace);
        captured.map(|captured| bench.told(&captured))
    });
    assert_eq!(captured[0], captured[1], "the second task has another capture than in new files");
    bench.discard(pooled, &again, Reuse::Allowed);
    bench.discard(fresh, &new, Reuse::Refused);
    if let Some(sibling) = sibling {
        bench.capture(pooled, &sibling);
        bench.discard(pooled, &sibling, Reuse::Allowed);
    }
    is_reused
}

/// How often a pair of tasks is tried until the second works in the files of the first.
const TRIES: usize = 30;

/// Fails unless the two workspaces look the same.
fn compare(again: &Workspace, new: &Workspace, written: &BTreeSet<PathBuf>) {
    let [again, new] = [again, new].map(|workspace| {
        let folder = &workspace.folder;
        observe(folder, folder.to_str().expect("the path of a test is text"), written)
    });
    let differing: Vec<_> = again
        .keys()
        .chain(new.keys())
        .filter(|path| again.get(*path) != new.get(*path))
        .map(|path| format!("{path:?}: {:?}, but new {:?}", again.get(path), new.get(path)))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn a_task_in_the_files_of_another_sees_and_captures_what_it_would_in_new_files() {
    let rounds = Rounds::new("reuse", 16, 2_000);
    let benches: Mutex<Vec<Bench>> = Mutex::default();
    let done = rounds.run(2, |seed| {
        let random = &mut Random::new(seed);
        let idle = benches.lock().expect("nothing panics here").pop();
        let bench = idle.unwrap_or_else(Bench::new);
        let reused = (0..TRIES).any(|_| compare_a_pair(&bench, random));
        assert!(reused, "in none of {TRIES} pairs the files were used again");
        // Once nothing can be known about the processes of a run, every copy is looked at again.
        if random.chance(95) {
            benches.lock().expect("nothing panics here").push(bench);
        }
    });
    done.report("P8", 1, "tasks in the files of another");
}

#[test]
fn what_git_does_to_an_edit_in_place_does_not_depend_on_the_second_in_which_it_runs() {
    let bench = Bench::new();
    let workspace = bench.prepare(&bench.fresh, "one", None, WorkspaceStart::AtOnce);
    let file = workspace.root.join("one");
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let opened = fs::File::options().write(true).open(&file).expect("it is there");
    opened.set_modified(earlier).expect("it is the test's");
    let task = RandomTask { root: &workspace.root, random: &mut Random::new(1) };
    task.run_git("add -A").expect("git can be run");
    task.overwrite(&file).expect("it is the test's");
    assert_ne!(fs::read(&file).expect("it is there"), b"one\n");
    task.run_git("reset -q --hard").expect("git can be run");
    assert_eq!(fs::read(&file).expect("it is there"), b"one\n");
}

/// A file system whose times are whole seconds, unmounted when dropped.
struct CoarseDisk(tempfile::TempDir);

impl CoarseDisk {
    fn mount() -> Result<Self, String> {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (image, folder) = (home.path().join("image"), home.path().join("disk"));
        let file = fs::File::create(&image).and_then(|file| file.set_len(64 << 20));
        file.and_then(|()| fs::create_dir(&folder)).map_err(|error| error.to_string())?;
        let run = |command: &mut Command| match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(format!("{command:?}: {error}")),
        };
        // Inodes of 128 bytes have no room for nanoseconds.
        run(Command::new("mkfs.ext2").args(["-q", "-F", "-I", "128"]).arg(&image))?;
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&folder))?;
        Ok(Self(home))
    }
}

impl Drop for CoarseDisk {
    fn drop(&mut self) {
        let disk = self.0.path().join("disk");
        let unmounted = Command::new("umount").arg("--lazy").arg(disk).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "it can be unmounted");
    }
}

#[test]
fn where_times_are_whole_seconds_a_task_in_the_files_of_another_sees_what_it_would_in_new_files() {
    let disk = match CoarseDisk::mount() {
        Ok(disk) => disk,
        Err(why) => return skip("isolation::reuse", &why),
    };
    let bench = Bench::new_in(&disk.0.path().join("disk"));
    let pairs = by_depth(3, 12);
    let reused = (0..pairs).filter(|seed| compare_a_pair(&bench, &mut Random::new(*seed))).count();
    assert!(reused >= by_depth(1, 6), "only {reused} of {pairs} were used again");
    drop(bench);
}
