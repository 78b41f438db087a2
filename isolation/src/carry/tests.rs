//! Carried files in real repositories.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use engine::ports::{
    AttemptEnd, CancelToken, CarryRequest, FreezeRequest, IsolationError, Reuse, WorkspaceRequest,
    WorkspaceStart,
};
use protocol::{CarryDefault, IsolationMode};

use crate::backends::{FrozenRun, FrozenTree as _, LandingWait};
use crate::baseline::Snapshot;
use crate::error::{Result, error_text};
use crate::pool::{is_in_pool, make_ahead};
use crate::testing::{Sample, captured, faults, freeze_at, prepare, prepare_after, write};

/// Freezes a tree of which these files come along.
fn freeze(sample: &Sample, globs: &[&str], limit: u64) -> Result<FrozenRun<Snapshot>> {
    freeze_with(sample, globs, CarryDefault::IncludeFile, limit)
}

fn freeze_with(
    sample: &Sample,
    globs: &[&str],
    default: CarryDefault,
    limit: u64,
) -> Result<FrozenRun<Snapshot>> {
    let globs = globs.iter().map(|glob| (*glob).to_owned()).collect();
    freeze_for(sample, CarryRequest { globs, default, limit, workspaces: 1, of_tasks: Vec::new() })
}

fn freeze_for(sample: &Sample, carry: CarryRequest) -> Result<FrozenRun<Snapshot>> {
    let request = FreezeRequest {
        run: "raaaa".parse().unwrap(),
        mode: IsolationMode::Worktree,
        untracked_limit: 1 << 20,
        branches: None,
        carry,
        union: Vec::new(),
    };
    let landings = LandingWait { cancel: &CancelToken::default(), notify: &|_| {} };
    freeze_at(&sample.repo(), &sample.paths(), &faults(""), &request, landings)
}

fn sample() -> Sample {
    let sample = Sample::with(&[(".gitignore", "ignored/\n*.log\n"), ("file", "x\n")]);
    sample.write("ignored/a", "a\n");
    sample.write("ignored/b/c", "c\n");
    sample.write("some.log", "log\n");
    sample
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries.map(|entry| name(entry).into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_come_along_as_they_are_when_the_workspace_is_made() {
    let sample = sample();
    let snapshot = freeze(&sample, &["ignored/**", "*.log"], 1000).unwrap();
    sample.write("ignored/a", "changed\n");
    sample.write("ignored/new", "too late\n");
    fs::remove_dir_all(sample.root.join("ignored/b")).unwrap();
    let workspace = prepare(&snapshot, "a");
    assert_eq!(fs::read(workspace.root.join("ignored/a")).unwrap(), b"changed\n");
    assert_eq!(fs::read(workspace.root.join("some.log")).unwrap(), b"log\n");
    assert_eq!(names(&workspace.root.join("ignored")), ["a", "b"]);
    assert_eq!(names(&workspace.root.join("ignored/b")), Vec::<String>::new());
}

#[test]
fn files_that_grow_beyond_the_limit_during_the_run_are_not_copied() {
    let sample = sample();
    let snapshot = freeze(&sample, &["ignored/**"], 100).unwrap();
    sample.write("ignored/a", [b'x'; 200]);
    let error = prepare_after(&snapshot, "a", &[]).unwrap_err();
    let text = error_text(&error);
    assert!(text.contains("have grown beyond 100 bytes since the run began"), "{text}");
    assert_eq!(names(&snapshot.context.folder).iter().filter(|name| *name == "a").count(), 0);
}

#[test]
fn our_own_folders_never_come_along() {
    let sample = sample();
    let paths = crate::IsolationPaths {
        workspaces: sample.root.join("ignored/ours/workspaces"),
        stores: sample.root.join("ignored/ours/stores"),
        landings: sample.root.join("ignored/ours/landings"),
    };
    let request = FreezeRequest {
        run: "raaaa".parse().unwrap(),
        mode: IsolationMode::Worktree,
        untracked_limit: 1 << 20,
        branches: None,
        carry: CarryRequest {
            globs: vec!["ignored".to_owned()],
            limit: 1000,
            workspaces: 1,
            ..CarryRequest::default()
        },
        union: Vec::new(),
    };
    let freeze = || {
        let landings = LandingWait { cancel: &CancelToken::default(), notify: &|_| {} };
        freeze_at(&sample.repo(), &paths.of(&sample.root), &faults(""), &request, landings)
    };
    drop(freeze().unwrap());
    let snapshot = freeze().unwrap();
    let workspace = prepare(&snapshot, "a");
    assert_eq!(names(&workspace.root.join("ignored")), ["a", "b", "ours"]);
    let ours = workspace.root.join("ignored/ours");
    assert_eq!(names(&ours), Vec::<String>::new(), "nothing of a run or a store");
}

#[test]
fn more_than_the_limit_is_refused_before_the_run_has_a_table() {
    let sample = sample();
    let Err(error) = freeze(&sample, &["ignored/**"], 3) else { panic!("it is too much") };
    let IsolationError::Refused { because, .. } = error else { panic!("{error}") };
    assert_eq!(because, "they are 4 bytes in 2 files, and the limit is 3 bytes: ignored (4 bytes)");
    assert!(!sample.paths().workspaces.join("raaaa").exists());
}

#[test]
fn a_folder_is_measured_until_it_is_large_or_ten_thousand_files_were_looked_at() {
    let sample = sample();
    sample.write(".gitignore", "one/\ntwo/\n");
    let large = |folder: &str| {
        write(&sample.root, format!("{folder}/large"), "");
        let file = fs::File::options().write(true).open(sample.root.join(folder).join("large"));
        file.unwrap().set_len(60_000_000).unwrap();
    };
    large("two");
    fs::create_dir(sample.root.join("one")).unwrap();
    // Names of one file are made sooner than files.
    let first = sample.root.join("one/first");
    fs::File::create(&first).unwrap();
    for number in 0..10_050 {
        fs::hard_link(&first, sample.root.join(format!("one/{number}"))).unwrap();
    }
    let told = |run: &FrozenRun<Snapshot>| {
        let notices = run.notices.iter().filter(|notice| notice.from.contains("50 MB"));
        notices.map(|notice| notice.why.clone()).collect::<Vec<_>>()
    };
    let unmeasured = freeze(&sample, &[], 0).unwrap();
    assert_eq!(told(&unmeasured), Vec::<String>::new(), "too many files came before");
    drop(unmeasured);
    large("one");
    let measured = freeze(&sample, &[], 0).unwrap();
    let spent = "one; there may be others: 10000 files were looked at";
    assert_eq!(told(&measured), [spent]);
}

#[test]
fn without_globs_the_include_file_selects_what_comes_along_and_the_largest_beyond_the_limit_stay() {
    let run = |globs: &[&str], default: CarryDefault, limit: u64| {
        let sample = sample();
        sample.write(".worktreeinclude", "# to build\n*.log\n!other.log\n/ignored/b/\n");
        sample.write("other.log", "log\n");
        sample.write("file.log", "x".repeat(100));
        let snapshot = freeze_with(&sample, globs, default, limit).unwrap();
        let workspace = prepare(&snapshot, "a");
        let all = ["file.log", "ignored/a", "ignored/b/c", "other.log", "some.log"];
        let carried = all.into_iter().filter(|path| workspace.root.join(path).exists());
        let notices = snapshot.notices.iter().filter(|it| it.from.contains(".worktreeinclude"));
        let told: Vec<String> = notices.map(|notice| notice.to.clone()).collect();
        (carried.collect::<Vec<_>>(), told)
    };
    let (carried, told) = run(&[], CarryDefault::IncludeFile, 1000);
    assert_eq!(carried, ["file.log", "ignored/b/c", "some.log"]);
    let copied = "3 ignored files (106 bytes) are copied into each workspace: \
                  file.log, ignored, some.log";
    assert_eq!(told, [copied]);
    let (carried, told) = run(&[], CarryDefault::IncludeFile, 50);
    assert_eq!(carried, ["ignored/b/c", "some.log"]);
    assert!(told[1].contains("file.log (100 bytes)"), "{told:?}");
    let given = run(&["other.log"], CarryDefault::IncludeFile, 1000);
    assert_eq!(given, (vec!["other.log"], Vec::new()));
    assert_eq!(run(&[], CarryDefault::Nothing, 1000), (Vec::new(), Vec::new()));
}

#[test]
fn an_include_file_that_selects_nothing_or_has_lines_that_cannot_says_so() {
    let nothing = "nothing is copied into the workspaces".to_owned();
    let told = |make: &dyn Fn(&Path)| {
        let sample = sample();
        make(&sample.root.join(".worktreeinclude"));
        let notices = freeze(&sample, &[], 1000).unwrap().notices.clone();
        let of_file = notices.into_iter().filter(|it| it.from == "what .worktreeinclude selects");
        of_file.map(|notice| (notice.to, notice.why)).collect::<Vec<_>>()
    };
    let file = |bytes: &'static [u8]| told(&move |path: &Path| fs::write(path, bytes).unwrap());
    let unmatched = "git ignores no file that its patterns match; in ignored folders, only patterns with \
                     a slash count";
    for (bytes, why) in [
        (&b"*.o\n!some.log\n"[..], Some(unmatched)),
        (b"a\n", Some(unmatched)),
        (b"\xff\xfe*\0.\0o\0\n\0", Some(unmatched)),
        (b"*\0.\0l\0o\0g\0", Some("it has NUL bytes; save it as UTF-8")),
        (b"# nothing\n!*.o\n", None),
    ] {
        let expected: Vec<_> =
            why.map(|why| (nothing.clone(), why.to_owned())).into_iter().collect();
        assert_eq!(file(bytes), expected, "{bytes:?}");
    }
    let found = file(b"\xff\xfe*\0.\0l\0o\0g\0\r\0\n\0");
    assert!(found[0].0.starts_with("1 ignored file (4 bytes) is copied"), "{found:?}");
    let useless = file(b"some.log\n[a\n./x\n a//b\r\nsub/..\nb\\\n");
    let lines = "these of its lines match no path: `./x`, `[a`, `a//b` and 2 more";
    assert_eq!(useless[0].0, lines);
    assert!(useless[1].0.starts_with("1 ignored file"), "{useless:?}");
    for (why, make) in [
        (
            "it is a folder, and not a file",
            &(|path: &Path| fs::create_dir(path).unwrap()) as &dyn Fn(&Path),
        ),
        ("it is a symbolic link, and not a file", &|path| symlink("file", path).unwrap()),
    ] {
        assert_eq!(told(make), [(nothing.clone(), why.to_owned())]);
    }
}

#[test]
fn a_task_gets_the_files_of_its_own_globs_and_the_others_those_of_the_run() {
    let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>();
    let all = ["ignored/a", "ignored/b/c", "some.log"];
    let cases = [
        (owned(&["some.log"]), vec!["some.log"]),
        (owned(&[]), vec!["ignored/b/c"]), // by the include file
    ];
    for (globs, of_run) in cases {
        let sample = sample();
        sample.write(".worktreeinclude", "/ignored/b/\n");
        let own = [owned(&["ignored/a"]), owned(&["ignored"]), owned(&[])];
        let request = CarryRequest {
            globs,
            limit: 1000,
            workspaces: 1,
            of_tasks: own.to_vec(),
            ..CarryRequest::default()
        };
        let frozen = freeze_for(&sample, request).unwrap();
        let [first, second, third] = own.map(Some);
        let tasks = [
            ("one", first, vec!["ignored/a"]),
            ("two", second, vec!["ignored/a", "ignored/b/c"]),
            ("three", third, vec![]),
            ("four", None, of_run),
        ];
        for (task, carry, expected) in tasks {
            let is_own = carry.is_some();
            let workspace = frozen.prepare(&request_of(task, carry)).unwrap();
            let carried = all.into_iter().filter(|path| workspace.root.join(path).exists());
            assert_eq!(carried.collect::<Vec<_>>(), expected, "{task}");
            let is_new = workspace.root.join("ignored").exists();
            assert_eq!(is_new, expected.iter().any(|path| path.starts_with("ignored")), "{task}");
            fs::write(workspace.root.join("some.log"), "changed\n").unwrap();
            fs::write(workspace.root.join("file"), "work\n").unwrap();
            assert_eq!(captured(&frozen, &workspace).changes.files, 1, "{task}");
            // No other task gets a copy that lacks files which it needs.
            let taken = frozen.pool.take_back(&frozen, &workspace).unwrap();
            assert_eq!(taken, !is_own, "{task}");
        }
    }
}

fn request_of(task: &str, carry: Option<Vec<String>>) -> WorkspaceRequest {
    let (attempt, start) = (1, WorkspaceStart::AtOnce);
    let task = task.parse().unwrap();
    WorkspaceRequest { task, attempt, predecessors: Vec::new(), start, carry }
}

#[test]
fn only_tasks_with_other_carried_files_than_the_run_get_copies_of_their_own() {
    let sample = sample();
    let owned = |glob: &str| vec![glob.to_owned()];
    let request = CarryRequest {
        globs: owned("some.log"),
        limit: 1000,
        workspaces: 1,
        of_tasks: vec![owned("ignored/a"), owned("*.log")],
        ..CarryRequest::default()
    };
    let frozen = freeze_for(&sample, request).unwrap();
    make_ahead(&frozen, 1, &AtomicBool::new(false));
    let pooled = || {
        let entries = fs::read_dir(&frozen.context.folder).unwrap().flatten();
        entries.filter(is_in_pool).map(|copy| copy.metadata().unwrap().ino()).collect::<Vec<_>>()
    };
    let ahead = pooled();
    assert_eq!(ahead.len(), 1);
    let both: &[_] = &[".gitignore", "file", "some.log"];
    let own: &[_] = &[".gitignore", "file", "ignored"];
    for (task, carry, expected, is_pooled) in [
        ("one", None, both, true),
        ("own", Some(owned("ignored/a")), own, false),
        ("two", None, both, true),
        ("same", Some(owned("*.log")), both, true),
    ] {
        let workspace = frozen.prepare(&request_of(task, carry)).unwrap();
        let mut there = names(&workspace.root);
        there.retain(|name| name != ".git");
        assert_eq!(there, expected, "{task}");
        let inode = fs::metadata(&workspace.folder).unwrap().ino();
        assert_eq!(ahead.contains(&inode), is_pooled, "{task}");
        fs::write(workspace.root.join("file"), "work\n").unwrap();
        write(&workspace.root, "ignored/a", "what only another task gets\n");
        let captured = frozen.capture(&workspace, &AttemptEnd::default()).unwrap();
        assert_eq!(captured.changes.files, 1, "{task}");
        frozen.discard(&workspace, Reuse::Allowed).unwrap();
    }
    assert_eq!(pooled(), ahead);
}

#[test]
fn what_the_include_file_selects_beyond_the_limit_is_left_out_also_beside_tasks_with_globs() {
    let sample = sample();
    sample.write(".worktreeinclude", "*.log\n");
    sample.write("file.log", "x".repeat(100));
    let of_tasks = vec![vec!["ignored/a".to_owned()]];
    let request =
        |limit| CarryRequest { limit, workspaces: 1, of_tasks: of_tasks.clone(), ..<_>::default() };
    let frozen = freeze_for(&sample, request(50)).unwrap();
    let told = frozen.notices.iter().filter(|notice| notice.from.contains(".worktreeinclude"));
    let told: Vec<_> = told.map(|notice| notice.to.as_str()).collect();
    let copied = "1 ignored file (4 bytes) is copied into the workspaces of the tasks without carried \
                  files of their own: some.log";
    let left_out = "some of it is not copied: file.log (100 bytes)";
    assert_eq!(told, [copied, left_out]);
    let carried = |task: &str, carry| {
        let workspace = frozen.prepare(&request_of(task, carry)).unwrap();
        let all = ["file.log", "ignored/a", "some.log"];
        all.map(|path| workspace.root.join(path).exists())
    };
    assert_eq!(carried("one", None), [false, false, true]);
    assert_eq!(carried("own", Some(of_tasks[0].clone())), [false, true, false]);
    drop(frozen);
    // Globs ask for exactly their files.
    let Err(error) = freeze_for(&sample, request(1)) else { panic!("it is too much") };
    let IsolationError::Refused { because, .. } = error else { panic!("{error}") };
    assert_eq!(because, "they are 2 bytes in 1 file, and the limit is 1 byte: ignored (2 bytes)");
}

#[test]
fn what_is_left_out_is_named_once_with_the_limit_or_the_full_disk() {
    let limit = |bytes: &str| format!("the limit is {bytes} (isolation.carryLimit)");
    let disk = "the disk has too little room for the copies";
    for (bytes, workspaces, expected) in [
        (0, 1, limit("0 bytes")),
        (1000, usize::MAX, disk.to_owned()),
        (3, usize::MAX, format!("{}, and {disk}", limit("3 bytes"))),
    ] {
        let sample = sample();
        sample.write(".worktreeinclude", "*.log\n/ignored/b/\n");
        // Copies to another file system cannot share their blocks with the originals.
        let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let places = crate::IsolationPaths {
            workspaces: memory.path().join("workspaces"),
            ..sample.all_places()
        };
        let carry = CarryRequest {
            default: CarryDefault::IncludeFile,
            limit: bytes,
            workspaces,
            ..CarryRequest::default()
        };
        let (run, mode) = ("raaaa".parse().unwrap(), IsolationMode::Worktree);
        let (untracked_limit, branches, union) = (1 << 20, None, Vec::new());
        let request = FreezeRequest { run, mode, untracked_limit, branches, carry, union };
        let landings = LandingWait { cancel: &CancelToken::default(), notify: &|_| {} };
        let (paths, repo) = (places.of(&sample.root), sample.repo());
        let run = freeze_at(&repo, &paths, &faults(""), &request, landings).unwrap();
        let why = |is_it: &dyn Fn(&str, &str) -> bool| {
            let found = run.notices.iter().find(|notice| is_it(&notice.from, &notice.to));
            found.unwrap().why.clone()
        };
        assert_eq!(why(&|_, to| to.starts_with("some of it is not copied")), expected);
        let ignored = "git ignores ignored, some.log";
        assert_eq!(why(&|from, _| from == "ignored files"), ignored);
    }
}
