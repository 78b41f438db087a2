//! What a freeze finds, judged by git, and what it holds on to.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use engine::fault::{FaultHooks, Faults};
use engine::ports::{CancelLevel, CancelToken};
use test_limit::eventually;

use crate::backends::{FrozenRun, LandingWait};
use crate::baseline::pins::pin;
use crate::baseline::scan::{DirtyCandidate, scan};
use crate::baseline::{ContentLocation, ContentReader, Snapshot, Table};
use crate::file_entry::Mode;
use crate::landing::LandingLock;
use crate::paths::RepoPaths;
use crate::testing::{Sample, faults, freeze_at, git, path, prepare, run, tomorrow_ns};
use crate::tree::{Stat, Tree, join};

/// Every path of a frozen table.
fn frozen_paths(sample: &Sample, run: &str) -> BTreeSet<String> {
    let snapshot = sample.freeze(run);
    let folders = snapshot.table.folders.iter();
    let paths = folders
        .flat_map(|(path, folder)| folder.files.keys().map(|name| join(path, name)))
        .map(|path| String::from_utf8(path).unwrap())
        .collect();
    snapshot.close().unwrap();
    paths
}

#[test]
fn what_is_ignored_is_what_git_ignores() {
    let sample = Sample::empty();
    sample.write(
        ".gitignore",
        "*.o\n!keep.o\n/top\nbuild/\nlogs/*\n!logs/keep\n**/deep/*.tmp\na/**/z\n\\#hash\n\
         trail \nspace\\ \n[ab]c\nfoo/*\n!foo/bar/\n# comment\n\n!/never\n*.d/\nq?z\n",
    );
    sample.write("sub/.gitignore", "!x.o\n/only\nnested/\n");
    sample.write(".git/info/exclude", "excluded\n");
    let names = [
        "x.o",
        "keep.o",
        "top",
        "sub/top",
        "build/x",
        "sub/build/x",
        "logs/x",
        "logs/keep",
        "deep/x.tmp",
        "p/deep/x.tmp",
        "p/deep/q/x.tmp",
        "a/z",
        "a/b/z",
        "a/b/c/z",
        "#hash",
        "trail",
        "space ",
        "ac",
        "bc",
        "cc",
        "foo/x",
        "foo/bar/x",
        "never",
        "x.d/y",
        "q.z",
        "sub/x.o",
        "sub/y.o",
        "sub/only",
        "sub/p/only",
        "sub/nested/x",
        "excluded",
        "sub/excluded",
        "sub/deep/x.tmp",
        "build.o/x",
        "p/x.o/y",
        "tracked/x.o",
        "tracked/build/y",
    ];
    for name in names {
        sample.write(name, name);
    }
    sample.git(&["add", "-f", "tracked"]);
    sample.git(&["commit", "-q", "-m", "x"]);
    let listed = sample.git(&["ls-files", "-z", "-o", "-c", "--exclude-standard"]);
    let expected: BTreeSet<String> =
        listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    assert_eq!(frozen_paths(&sample, "raaaa"), expected);
}

#[test]
fn only_what_git_does_not_have_is_pinned() {
    let sample = Sample::with(&[("clean", "x\n"), ("touched", "x\n"), ("dirty", "x\n")]);
    sample.write("touched", "x\n");
    sample.write("dirty", "y\n");
    sample.write("untracked", "z\n");
    let snapshot = sample.freeze_tomorrow("raaaa");
    let pinned = |name: &str| {
        matches!(snapshot.table.get(&path(name)).unwrap().source, ContentLocation::Pin(_))
    };
    assert_eq!(["clean", "touched", "dirty", "untracked"].map(pinned), [false, false, true, true]);
    let held = git(&sample.paths().store, &["ls-tree", "-r", "--name-only", "refs/pins/raaaa"]);
    assert_eq!(held, "dirty\nuntracked\n");
}

#[test]
fn a_file_that_was_just_written_is_pinned_because_its_next_change_may_not_show() {
    let sample = Sample::with(&[("file", "one\n")]);
    sample.write("file", "one\n");
    let snapshot = sample.freeze("raaaa");
    sample.write("file", "two\n");
    let frozen = *snapshot.table.get(&path("file")).unwrap();
    assert_eq!(
        ContentReader::open(&snapshot).unwrap().of(&path("file"), &frozen).unwrap(),
        b"one\n"
    );
}

#[test]
fn what_is_young_is_pinned_although_it_is_what_was_committed() {
    let sample = Sample::with(&[("file", "one\n")]);
    let (tree, store) = (Tree::open_at(&sample.root).unwrap(), sample.store());
    let tracked = sample.git(&["rev-parse", "HEAD:file"]).trim().parse().ok();
    assert!(tracked.is_some());
    let pinned = |now_ns| {
        let dirty_candidates = vec![DirtyCandidate { path: path("file"), size: 4, tracked }];
        let mut table = Table::default();
        pin(&tree, &store, &run("raaaa"), dirty_candidates, &mut table, now_ns).unwrap();
        matches!(table.get(&path("file")).unwrap().source, ContentLocation::Pin(_))
    };
    // In 1970 nothing is older than what was written now.
    assert!(pinned(|| 0));
    assert!(!pinned(tomorrow_ns));
}

/// A file of the user's and the index that has it, both of an age at which their stats tell all.
fn of_age() -> Sample {
    let sample = Sample::empty();
    sample.write("file", "one\n");
    sample.of_yesterday("file");
    sample.commit();
    sample
}

#[test]
fn an_edit_of_the_same_size_that_got_its_old_time_back_is_pinned() {
    let sample = of_age();
    let place = sample.root.join("file");
    let modified = fs::metadata(&place).unwrap().modified().unwrap();
    let changed = || Stat::of(&rustix::fs::stat(&place).unwrap()).ctime_ns;
    let before = changed();
    eventually(Duration::from_secs(30), "the clock of the file system goes on", || {
        fs::write(&place, "two\n").unwrap();
        fs::File::options().write(true).open(&place).unwrap().set_modified(modified).unwrap();
        changed() != before
    });
    let snapshot = sample.freeze_tomorrow("raaaa");
    let frozen = snapshot.table.get(&path("file")).unwrap();
    assert!(matches!(frozen.source, ContentLocation::Pin(_)), "{frozen:?}");
}

#[test]
fn what_is_as_young_as_the_index_is_looked_at() {
    let sample = of_age();
    let dirty_candidates = || {
        let tree = Tree::open_at(&sample.root).unwrap();
        scan(&sample.repo().git().unwrap(), &tree, &[], tomorrow_ns())
            .unwrap()
            .dirty_candidates
            .len()
    };
    assert_eq!(dirty_candidates(), 0);
    let modified = fs::metadata(sample.root.join("file")).unwrap().modified().unwrap();
    let index = fs::File::options().write(true).open(sample.root.join(".git/index")).unwrap();
    index.set_modified(modified).unwrap();
    assert_eq!(dirty_candidates(), 1);
}

/// Freezes in a thread while a landing is under way, and returns its end when `meanwhile` is over,
/// which is called once the freeze has said that it waits.
fn freeze_during_a_landing(
    sample: &Sample,
    faults: &Faults,
    meanwhile: impl FnOnce(&CancelToken, LandingLock),
) -> crate::error::Result<FrozenRun<Snapshot>> {
    let landing =
        LandingLock::try_acquire(&|| Ok(vec![sample.repo().common_dir.clone()])).unwrap().unwrap();
    let cancel = CancelToken::default();
    let (waits, waiting) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let freezing = scope.spawn(|| {
            let notify = move |_| waits.send(()).unwrap();
            sample.freeze_unless(&cancel, &notify, "raaaa", 1 << 20, faults)
        });
        waiting.recv_timeout(Duration::from_secs(60)).unwrap();
        meanwhile(&cancel, landing);
        freezing.join().unwrap()
    })
}

#[test]
fn a_freeze_waits_for_a_landing_that_is_under_way_however_long_it_takes() {
    static LOOKS: AtomicU32 = AtomicU32::new(0);
    let wait = || {
        LOOKS.fetch_add(1, Ordering::Relaxed);
    };
    let at_each_look =
        Faults::read("slow@landing.lock:*", FaultHooks { wait, ..FaultHooks::default() });
    let sample = Sample::with(&[("file", "one\n")]);
    let snapshot = freeze_during_a_landing(&sample, &at_each_look.unwrap(), |_, landing| {
        let looks = || LOOKS.load(Ordering::Relaxed);
        eventually(Duration::from_secs(60), "it looks again", || looks() > 5);
        sample.write("file", "landed\n");
        drop(landing);
    });
    let snapshot = snapshot.unwrap();
    let frozen = *snapshot.table.get(&path("file")).unwrap();
    assert_eq!(
        ContentReader::open(&snapshot).unwrap().of(&path("file"), &frozen).unwrap(),
        b"landed\n"
    );
}

#[test]
fn a_freeze_that_is_withdrawn_while_it_waits_leaves_nothing_behind() {
    let sample = Sample::with(&[("file", "one\n")]);
    let snapshot = freeze_during_a_landing(&sample, &faults(""), |cancel, landing| {
        cancel.cancel(CancelLevel::Gently);
        // The turn stays taken until the freeze has ended.
        std::mem::forget(landing);
    });
    assert!(matches!(snapshot, Err(engine::ports::IsolationError::Withdrawn)));
    assert!(!sample.paths().workspaces.join("raaaa").exists());
}

#[test]
fn a_freeze_that_cannot_have_the_lock_of_landings_fails_and_leaves_nothing_behind() {
    let sample = Sample::with(&[("file", "one\n")]);
    let refused = sample.try_freeze("raaaa", 1 << 20, &faults("fail@landing.lock"));
    expect_no_lock(&sample, refused);
    // And so does one that had to wait before.
    let at_the_second_look = faults("fail@landing.lock:2");
    let refused = freeze_during_a_landing(&sample, &at_the_second_look, |_, landing| drop(landing));
    expect_no_lock(&sample, refused);
}

/// Expects that a freeze failed because of the lock, and that nothing was made for it.
fn expect_no_lock(sample: &Sample, snapshot: crate::error::Result<FrozenRun<Snapshot>>) {
    let error = snapshot.err().expect("without the lock nothing is snapshot");
    let git = sample.root.join(".git");
    assert_eq!(error.to_string(), format!("cannot lock {} for landing", git.display()));
    let RepoPaths { workspaces, store, landings, .. } = sample.paths();
    for place in [workspaces, store, landings] {
        assert!(!place.exists(), "{}", place.display());
    }
}

#[test]
fn an_entry_of_a_frozen_file_has_the_bytes_of_the_working_tree_not_of_the_blob() {
    let sample = Sample::with(&[(".gitattributes", "*.txt text eol=crlf\n"), ("a.txt", "a\r\n")]);
    let snapshot = sample.freeze("raaaa");
    let bytes = ContentReader::open(&snapshot).unwrap();
    let frozen = *snapshot.table.get(&path("a.txt")).unwrap();
    let entry = bytes.entry(&path("a.txt"), &frozen).unwrap();
    assert_eq!((bytes.store.read(entry.oid).unwrap(), entry.mode), (b"a\r\n".to_vec(), Mode::File));
}

#[test]
fn a_frozen_tree_reads_back_from_disk_as_it_was() {
    let sample = Sample::with(&[("a/b/c", "x\n"), ("d", "y\n")]);
    sample.write("untracked", "z\n");
    fs::create_dir(sample.root.join("empty")).unwrap();
    let snapshot = sample.freeze("raaaa");
    let table = fs::read(snapshot.context.folder.join(".baseline")).unwrap();
    assert_eq!(crate::baseline::table::decode_table(&table).as_ref(), Some(&snapshot.table));
    assert!(snapshot.table.folders.contains_key(&b"empty"[..]));
}

#[test]
fn our_own_places_inside_a_repository_are_not_part_of_it() {
    let sample = Sample::with(&[("file", "x\n")]);
    let data = sample.root.join("data");
    let paths = crate::IsolationPaths {
        workspaces: data.join("workspaces"),
        stores: data.join("stores"),
        landings: data.join("landings"),
    };
    let paths = paths.of(&sample.root);
    let request = |run: &str| engine::ports::FreezeRequest {
        run: run.parse().unwrap(),
        mode: protocol::IsolationMode::Worktree,
        untracked_limit: 1 << 20,
        branches: None,
        carry: engine::ports::CarryRequest::default(),
        union: Vec::new(),
    };
    let freeze = |run: &str| {
        let landings = LandingWait { cancel: &CancelToken::default(), notify: &|_| {} };
        freeze_at(&sample.repo(), &paths, &faults(""), &request(run), landings).unwrap()
    };
    let first = freeze("raaaa");
    prepare(&first, "a");
    sample.write("data/other", "x\n");
    let second = freeze("rbbbb");
    let seen: Vec<_> = second.table.folders.keys().map(Vec::as_slice).collect();
    assert_eq!(seen, [&b""[..], b"data"]);
}

#[test]
fn rules_put_together_at_random_ignore_what_git_ignores() {
    let sample = Sample::empty();
    let names = ["a", "b", "ab", "a.b"];
    for top in names {
        for below in names {
            sample.write(format!("{top}.d/{below}"), "x");
            sample.write(format!("d/{top}.d/e/{below}"), "x");
            sample.write(format!("d/{top}"), "x");
        }
    }
    let pieces = ["a", "b", "*", "**", "/", "/", "?", "[ab]", "[!a]", ".", "\\a", ".d", "d", "e"];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for round in 0..test_limit::by_depth(10, 60) {
        let mut rules = || {
            let lines = (0..1 + random(4)).map(|_| {
                let mark = if random(3) == 0 { "!" } else { "" };
                let line = (0..1 + random(5)).map(|_| pieces[random(pieces.len())]);
                format!("{mark}{}\n", line.collect::<String>())
            });
            lines.collect::<String>()
        };
        let (top, nested) = (rules(), rules());
        sample.write(".gitignore", &top);
        sample.write("d/.gitignore", &nested);
        let listed = sample.git(&["ls-files", "-z", "-o", "--exclude-standard"]);
        let expected: BTreeSet<String> =
            listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
        assert_eq!(frozen_paths(&sample, "raaaa"), expected, "round {round}: {top:?} {nested:?}");
    }
}
