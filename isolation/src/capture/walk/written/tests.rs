//! A task that only used views is captured, and its copy restored, by the record of what they wrote.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::ports::{
    AttemptEnd, Found, Replace, Reuse, ViewError, ViewPath, Workspace, WorkspaceRequest,
    WorkspaceStart, WorkspaceView,
};
use protocol::Captured;

use crate::backends::{FrozenRun, FrozenTree as _};
use crate::baseline::Snapshot;
use crate::testing::{Sample, faults, prepare, prepare_after, write};
use crate::view::DiskThreads;

const FILES: &[(&str, &str)] = &[
    ("one", "one\n"),
    ("two", "two\n"),
    ("sub/a", "a\n"),
    ("sub/deep/b", "b\n"),
    ("wide/a", "a\n"),
    (".gitignore", "*.log\nbuild/\n"),
    ("build/kept", "tracked although ignored\n"),
];

fn sample() -> Sample {
    let sample = Sample::empty();
    for (path, text) in FILES {
        sample.write(path, text);
    }
    symlink("sub", sample.root.join("link")).unwrap();
    fs::set_permissions(sample.root.join("two"), fs::Permissions::from_mode(0o755)).unwrap();
    sample.git(&["add", "-A", "-f"]);
    sample.git(&["commit", "-q", "-m", "Work"]);
    sample
}

/// Freezes without the check of debug builds, which would look at everything.
fn unchecked(sample: &Sample) -> FrozenRun<Snapshot> {
    sample.try_freeze("raaaa", 1 << 28, &faults("fail@capture.record.check:*")).unwrap()
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(future)
}

/// The view of a task.
struct Task {
    workspace: Workspace,
    view: Arc<dyn WorkspaceView>,
}

impl Task {
    fn of(frozen: &FrozenRun<Snapshot>, workspace: Workspace) -> Self {
        let view = frozen.view(&workspace, &DiskThreads::default());
        Self { workspace, view }
    }

    fn new(frozen: &FrozenRun<Snapshot>, name: &str) -> Self {
        Self::of(frozen, prepare(frozen, name))
    }

    /// Writes a file as the tool `write` does.
    fn write(&self, path: &str, text: &str) {
        wait(async {
            let (path, replace) = match self.view.find(Path::new(path)).await.unwrap() {
                Found::File { path, stat } => (path, Replace::Exactly(stat.version)),
                Found::Missing { above, rest } => {
                    let path = above.as_path().join(rest.iter().collect::<PathBuf>());
                    let path = ViewPath::new(&path).unwrap();
                    self.view.make_folders(&path.split().unwrap().0).await.unwrap();
                    (path, Replace::Absent { mode: None })
                }
                Found::Folder(_) => return,
            };
            self.view.write(&path, text.into(), replace).await.unwrap();
        });
    }

    fn capture(&self, frozen: &FrozenRun<Snapshot>) -> Captured {
        frozen.capture(&self.workspace, &AttemptEnd::default()).unwrap()
    }

    /// Captures the task after another program has written to its workspace, and returns whether that
    /// was found.
    fn finds_a_stranger(&self, frozen: &FrozenRun<Snapshot>) -> bool {
        write(&self.workspace.root, "wide/stranger", "not through the view\n");
        let before = usize::try_from(self.capture(frozen).changes.files).unwrap();
        let _gone = fs::remove_file(self.workspace.root.join("wide/stranger"));
        before > 0
    }
}

/// Returns everything in a tree but its link to git.
fn contents(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let bytes = if meta.is_dir() {
                waiting.push(path.clone());
                Vec::new()
            } else if meta.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(
                path.strip_prefix(root).unwrap().to_owned(),
                (meta.permissions().mode(), bytes),
            );
        }
    }
    found.retain(|path, _| !path.starts_with(".git"));
    found
}

#[test]
fn a_task_that_only_used_its_view_is_captured_without_a_look_at_anything_else() {
    let sample = sample();
    let frozen = unchecked(&sample);
    let task = Task::new(&frozen, "a");
    assert!(!task.finds_a_stranger(&frozen), "nothing was written through the view");
    let task = Task::new(&frozen, "b");
    write(&task.workspace.root, "wide/stranger", "not through the view\n");
    task.write("one", "changed\n");
    task.write("new/folder/file", "new\n");
    task.write("link/a", "through a link\n");
    task.write("build/other", "ignored\n");
    task.write("build/kept", "changed\n");
    task.write("x.log", "ignored\n");
    wait(task.view.remove(&ViewPath::new(Path::new("two")).unwrap())).unwrap();
    let captured = task.capture(&frozen);
    let changes = sample.store().changes(&captured.capture).unwrap();
    let paths: Vec<_> = changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(paths, ["build/kept", "new/folder/file", "one", "sub/a", "two"]);
    assert_eq!(changes[4].task, None);
}

/// What a task does first, with the path of a file.
type Begin = fn(&Task, ViewPath);

#[test]
fn whatever_else_may_have_written_leads_to_a_look_at_everything() {
    let sample = sample();
    let path = |text: &str| ViewPath::new(Path::new(text)).unwrap();
    let begin: [(&str, Begin); 4] = [
        ("a process", |task, _| drop(task.view.process_root().to_owned())),
        ("an error", |task, one| {
            let stat = wait(task.view.stat(&one)).unwrap();
            task.write("one", "newer\n");
            let stale = Replace::Exactly(stat.version);
            let end = wait(task.view.write(&one, b"stale\n".to_vec(), stale));
            assert!(matches!(end, Err(ViewError::Changed)));
        }),
        ("a name that git does not accept", |task, _| task.write(".GIT/x", "x\n")),
        ("no view of this engine", |_, _| {}),
    ];
    for (number, (what, begin)) in begin.into_iter().enumerate() {
        let frozen = unchecked(&sample);
        let workspace = prepare(&frozen, &format!("t{number}"));
        if number == 3 {
            frozen.pool.forget(&workspace.task);
        }
        let task = Task::of(&frozen, workspace);
        begin(&task, path("one"));
        assert!(task.finds_a_stranger(&frozen), "{what}");
        frozen.discard(&task.workspace, Reuse::Refused).unwrap();
    }
    // No view at all, work of a predecessor, and a set-up.
    let frozen = unchecked(&sample);
    let bare = prepare(&frozen, "bare");
    write(&bare.root, "wide/stranger", "x\n");
    let work = frozen.capture(&bare, &AttemptEnd::default()).unwrap();
    assert_eq!(work.changes.files, 1);
    let after = prepare_after(&frozen, "after", &[("bare", &work.capture)]).unwrap();
    let after = Task::of(&frozen, after);
    fs::write(after.workspace.root.join("one"), "not through the view\n").unwrap();
    assert_eq!(after.capture(&frozen).changes.files, 1);
    let request = WorkspaceRequest {
        task: "setup".parse().unwrap(),
        attempt: 1,
        predecessors: Vec::new(),
        start: WorkspaceStart::AfterSetup,
        carry: None,
    };
    let setup = Task::of(&frozen, frozen.prepare(&request).unwrap());
    frozen.accept_setup(&setup.workspace).unwrap();
    assert!(setup.finds_a_stranger(&frozen));
    // The record of the view is not used.
    let frozen = sample.try_freeze("rbbbb", 1 << 28, &faults("fail@capture.record:*")).unwrap();
    assert!(Task::new(&frozen, "unrecorded").finds_a_stranger(&frozen));
}

#[test]
fn a_debug_build_notices_what_a_record_does_not_have() {
    let sample = sample();
    let frozen = sample.freeze("raaaa");
    let task = Task::new(&frozen, "a");
    task.write("one", "changed\n");
    fs::write(task.workspace.root.join("two"), "not through the view\n").unwrap();
    let captured =
        catch_unwind(AssertUnwindSafe(|| frozen.capture(&task.workspace, &AttemptEnd::default())));
    assert!(captured.is_err(), "{captured:?}");
}

#[test]
fn copies_restored_by_records_are_as_new_for_every_task() {
    let sample = sample();
    // With the check of debug builds: each capture is compared with a walk, each copy looked at.
    let frozen = sample.freeze("raaaa");
    let new = contents(&sample.root);
    let names = [
        "one",
        "two",
        "sub/a",
        "sub/deep/b",
        "sub/new",
        "wide",
        "wide/a",
        "wide/new/x",
        "new",
        "build/kept",
        "build/x",
        "x.log",
        ".gitignore",
        "link/x",
        "a/b/c/d",
        "sub/deep/x.log",
    ];
    let mut state = 0x5eed_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut folders = std::collections::BTreeSet::new();
    for number in 0..test_limit::by_depth(10, 40) {
        let task = Task::new(&frozen, &format!("t{number}"));
        assert_eq!(contents(&task.workspace.root), new, "task {number}");
        let top = fs::metadata(&task.workspace.folder).unwrap();
        folders.insert(std::os::unix::fs::MetadataExt::ino(&top));
        for _ in 0..random(6) {
            let name = names[random(names.len())];
            let texts = ["text\n", "build/\n", "one\n", "!*.log\n", ""];
            if random(5) > 0 {
                // A file may be where a folder would have to be.
                let write = AssertUnwindSafe(|| task.write(name, texts[random(texts.len())]));
                let _in_the_way = catch_unwind(write);
            } else if let Ok(Found::File { path, .. }) = wait(task.view.find(Path::new(name))) {
                wait(task.view.remove(&path)).unwrap();
            }
        }
        task.capture(&frozen);
        frozen.discard(&task.workspace, Reuse::Allowed).unwrap();
    }
    assert_eq!(folders.len(), 1, "one copy served all of them");
}

/// Returns the text of the file `two` in the copy of a task for the next one, after another task,
/// which may have had processes, has replaced it since it was captured.
fn two_of_the_next(
    own: impl FnOnce(&Task),
    other: impl FnOnce(Task, &FrozenRun<Snapshot>),
) -> String {
    let sample = sample();
    let frozen = unchecked(&sample);
    let (first, sibling) = (Task::new(&frozen, "first"), Task::new(&frozen, "other"));
    first.write("one", "changed\n");
    own(&first);
    first.capture(&frozen);
    let written = sample.root.with_extension("new");
    fs::write(&written, "not through the view\n").unwrap();
    fs::rename(written, first.workspace.root.join("two")).unwrap();
    other(sibling, &frozen);
    frozen.discard(&first.workspace, Reuse::Allowed).unwrap();
    let next = prepare(&frozen, "next");
    assert_eq!(fs::read(next.root.join("one")).unwrap(), b"one\n");
    fs::read_to_string(next.root.join("two")).unwrap()
}

fn no_process(_: &Task) {}

fn process(task: &Task) {
    let _root = task.view.process_root();
}

#[test]
fn a_copy_is_looked_at_before_it_is_used_again_if_a_process_has_run_in_the_run() {
    for own in [no_process, process] {
        let of_living = two_of_the_next(own, |other, _| process(&other));
        assert_eq!(of_living, "two\n");
        let of_captured = two_of_the_next(own, |other, frozen| {
            process(&other);
            other.capture(frozen);
            frozen.discard(&other.workspace, Reuse::Allowed).unwrap();
        });
        assert_eq!(of_captured, "two\n");
        let of_given_up = two_of_the_next(own, |other, frozen| {
            process(&other);
            frozen.discard(&other.workspace, Reuse::Refused).unwrap();
        });
        assert_eq!(of_given_up, "two\n");
        let of_verification =
            two_of_the_next(own, |_, frozen| drop(frozen.merged_copies().unwrap().make()));
        assert_eq!(of_verification, "two\n");
    }
}

#[test]
fn a_copy_is_looked_at_once_if_no_process_of_another_task_can_have_written_to_it() {
    for own in [no_process, process] {
        let of_nobody = two_of_the_next(own, |_, _| {});
        assert_eq!(of_nobody, "not through the view\n", "nobody looked");
        let of_views = two_of_the_next(own, |other, frozen| {
            other.write("wide/b", "new\n");
            other.capture(frozen);
            frozen.discard(&other.workspace, Reuse::Allowed).unwrap();
        });
        assert_eq!(of_views, "not through the view\n", "nobody looked");
    }
}
