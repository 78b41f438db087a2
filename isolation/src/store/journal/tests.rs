//! Captures go to the journal, and from there into git's format.

use std::fs;
use std::path::{Path, PathBuf};

use protocol::CaptureRef;

use super::{FILE, Journal, LARGE};
use crate::captures::PathFilter;
use crate::file_entry::{Change, Entry, Mode};
use crate::git_texts::GitTexts;
use crate::store::objects::LARGEST;
use crate::store::{Contents, TaskStore};
use crate::testing::{git, path, run};

struct Stage {
    home: tempfile::TempDir,
    journal: Journal,
}

impl Stage {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let journal = Journal::of(&home.path().join("app.git"));
        Self { home, journal }
    }

    fn store(&self) -> PathBuf {
        self.home.path().join("app.git")
    }

    /// Captures `bytes` as what one task has made.
    fn put(&self, number: usize, bytes: &[u8]) -> CaptureRef {
        let store = TaskStore::open(&self.store()).unwrap();
        store.begin_capture(&self.journal);
        let oid = store.write(bytes).unwrap();
        let task = Some(Entry { mode: Mode::File, oid });
        let changes = vec![Change::new(path("a/f"), None, task)];
        let name = CaptureRef::of(&run("raaaa"), &format!("t{number}").parse().unwrap(), 1);
        store.put_capture(&name, &Contents { changes, ..Contents::default() }, "x").unwrap();
        name
    }

    /// Returns the bytes of a capture.
    fn bytes(&self, capture: &CaptureRef) -> Vec<u8> {
        let store = TaskStore::open(&self.store()).unwrap();
        let changes = store.changes(capture).unwrap();
        store.read(changes[0].task.unwrap().oid).unwrap()
    }

    fn waiting(&self) -> u64 {
        fs::metadata(self.store().join(FILE)).map_or(0, |file| file.len())
    }

    fn expect_sound(&self) {
        git(&self.store(), &["fsck", "--full", "--strict", "--no-dangling"]);
    }
}

fn packs(store: &Path) -> usize {
    let files = fs::read_dir(store.join("objects/pack")).unwrap();
    files
        .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "pack"))
        .count()
}

#[test]
fn captures_wait_in_the_journal_until_somebody_reads_one_of_them() {
    for (count, expected) in [(3, 0), (30, 1)] {
        let stage = Stage::new();
        let bytes = |number: usize| format!("{number}\n").into_bytes();
        let captures: Vec<_> = (0..count).map(|number| stage.put(number, &bytes(number))).collect();
        assert!(stage.waiting() > 0);
        assert_eq!(git(&stage.store(), &["for-each-ref"]).trim(), "");
        for (number, capture) in captures.iter().enumerate() {
            assert_eq!(stage.bytes(capture), bytes(number));
            assert_eq!(stage.waiting(), 0);
        }
        let listed = TaskStore::open(&stage.store()).unwrap().captures(&run("raaaa")).unwrap();
        assert_eq!(listed.len(), count);
        assert_eq!(packs(&stage.store()), expected, "few captures are no pack of their own");
        stage.expect_sound();
    }
}

#[test]
fn captures_in_the_journal_are_read_where_they_are_if_that_is_asked_for() {
    let stage = Stage::new();
    let (first, second) = (stage.put(1, b"one\n"), stage.put(2, b"two\n"));
    let waiting = stage.waiting();
    let open = || TaskStore::open(&stage.store()).unwrap();
    let store = open().with_journal().unwrap();
    let oid = store.changes(&second).unwrap()[0].task.unwrap().oid;
    assert_eq!(store.read(oid).unwrap(), b"two\n");
    assert!(store.has_capture(&first).unwrap());
    assert_eq!(open().read(oid).unwrap(), b"two\n", "a blob is found wherever it is");
    // What is written meanwhile is on the disk, and can be read, too.
    let written = store.write(b"three\n").unwrap();
    assert_eq!(store.read(written).unwrap(), b"three\n");
    let again = open().with_journaled(store.into_journaled());
    assert_eq!(again.changes(&second).unwrap()[0].task.unwrap().oid, oid);
    assert_eq!(stage.waiting(), waiting, "nothing was moved");
    // Once they are moved, they are the same.
    assert_eq!(stage.bytes(&first), b"one\n");
    assert_eq!((stage.waiting(), again.read(oid).unwrap()), (0, b"two\n".to_vec()));
    stage.expect_sound();
}

#[test]
fn a_patch_of_a_capture_in_the_journal_shows_its_rename() {
    let stage = Stage::new();
    let store = TaskStore::open(&stage.store()).unwrap();
    store.begin_capture(&stage.journal);
    let oid = store.write(b"one\ntwo\nthree\n").unwrap();
    let entry = Some(Entry { mode: Mode::File, oid });
    let changes =
        vec![Change::new(path("new"), None, entry), Change::new(path("old"), entry, None)];
    let name = CaptureRef::of(&run("raaaa"), &"t1".parse().unwrap(), 1);
    store.put_capture(&name, &Contents { changes, ..Contents::default() }, "x").unwrap();
    assert!(stage.waiting() > 0);
    let reader = TaskStore::open(&stage.store()).unwrap();
    let texts = GitTexts::of(Path::new("/nowhere"));
    let patch = reader.patch(&name, &PathFilter::Everything, &texts).unwrap();
    let patch = String::from_utf8(patch).unwrap();
    assert!(patch.contains("rename from old\nrename to new\n"), "{patch}");
    assert_eq!(stage.waiting(), 0);
}

#[test]
fn a_journal_that_comes_back_after_it_was_moved_changes_nothing() {
    for count in [2, 20] {
        let stage = Stage::new();
        let captures: Vec<_> = (0..count).map(|number| stage.put(number, b"one\n")).collect();
        let journal = fs::read(stage.store().join(FILE)).unwrap();
        assert_eq!(stage.bytes(&captures[0]), b"one\n");
        // As if the machine had stopped before the journal was emptied.
        fs::write(stage.store().join(FILE), &journal).unwrap();
        for capture in &captures {
            assert_eq!(stage.bytes(capture), b"one\n");
        }
        assert_eq!(stage.waiting(), 0);
        stage.expect_sound();
        // And as if the machine had stopped while loose objects were written, before any pack.
        let objects = git(&stage.store(), &["rev-list", "--objects", captures[0].as_str()]);
        for pack in fs::read_dir(stage.store().join("objects/pack")).unwrap() {
            fs::remove_file(pack.unwrap().path()).unwrap();
        }
        for object in objects.lines() {
            let file = stage.store().join("objects").join(&object[..2]).join(&object[2..40]);
            let _absent = fs::remove_file(&file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
        }
        fs::write(stage.store().join(FILE), &journal).unwrap();
        assert_eq!(stage.bytes(&captures[1]), b"one\n");
        stage.expect_sound();
        // And while the pack was written: its name is there, and nothing in it.
        for pack in fs::read_dir(stage.store().join("objects/pack")).unwrap() {
            let file = pack.unwrap().path();
            if file.extension().is_some_and(|end| end == "pack") {
                fs::remove_file(&file).unwrap();
                fs::write(&file, "").unwrap();
            }
        }
        fs::write(stage.store().join(FILE), &journal).unwrap();
        assert_eq!(stage.bytes(&captures[1]), b"one\n");
        stage.expect_sound();
    }
}

#[test]
fn what_a_dead_process_has_left_of_a_pack_goes_with_the_next_move() {
    let stage = Stage::new();
    let capture = stage.put(1, b"one\n");
    let packs_folder = stage.store().join("objects/pack");
    let left = ["pack_git2_0123456789abcdef", "pack_git2_0123456789abidx.lock", "pack-12.idx"];
    for name in left {
        fs::write(packs_folder.join(name), "half").unwrap();
    }
    assert_eq!(stage.bytes(&capture), b"one\n");
    assert_eq!(fs::read_dir(&packs_folder).unwrap().count(), 0);
    // A complete pack stays.
    for number in 0..9 {
        stage.put(number, b"two\n");
    }
    assert_eq!(stage.bytes(&capture), b"two\n");
    fs::write(packs_folder.join(left[0]), "half").unwrap();
    crate::store::remove_leftovers(&stage.store());
    assert_eq!((packs(&stage.store()), fs::read_dir(&packs_folder).unwrap().count()), (1, 2));
    stage.expect_sound();
}

#[test]
fn a_later_capture_of_the_same_name_replaces_the_one_in_the_journal() {
    let stage = Stage::new();
    stage.put(1, b"one\n");
    let capture = stage.put(1, b"two\n");
    assert_eq!(stage.bytes(&capture), b"two\n");
    // The bytes of a large one are not held in memory, and are in the store at once.
    let large = vec![7; LARGEST + 1];
    stage.put(1, b"three\n");
    assert_eq!(stage.put(1, &large), capture);
    assert!(stage.waiting() < 1_000);
    assert_eq!(stage.bytes(&capture), large);
    assert_eq!(stage.waiting(), 0);
    stage.expect_sound();
}

#[test]
fn a_journal_that_has_become_large_is_moved_by_who_writes_to_it() {
    let stage = Stage::new();
    let bytes = |number: usize| vec![u8::try_from(number % 200).unwrap(); (200 << 10) + number];
    for number in 0..50 {
        stage.put(number, &bytes(number));
        assert!(stage.waiting() < LARGE + (300 << 10));
    }
    assert_eq!(packs(&stage.store()), 1);
    let name = CaptureRef::of(&run("raaaa"), &"t49".parse().unwrap(), 1);
    assert_eq!(stage.bytes(&name), bytes(49));
    stage.expect_sound();
}

#[test]
fn a_capture_of_many_files_is_in_packs_and_one_record() {
    let stage = Stage::new();
    let store = TaskStore::open(&stage.store()).unwrap();
    store.begin_capture(&stage.journal);
    let (mut changes, size) = (Vec::new(), LARGEST / 100);
    for number in 0..280_usize {
        let oid = store.write(&[number.to_le_bytes().as_slice(), &vec![b'x'; size]].concat());
        let oid = oid.unwrap();
        // What was written is there before the capture is complete.
        assert_eq!(store.read(oid).unwrap().len(), size + 8);
        let task = Some(Entry { mode: Mode::File, oid });
        changes.push(Change::new(path(format!("a/{number:03}")), None, task));
    }
    assert_eq!((packs(&stage.store()), stage.waiting()), (2, 0));
    let name = CaptureRef::of(&run("raaaa"), &"t1".parse().unwrap(), 1);
    let contents = Contents { changes, ..Contents::default() };
    store.put_capture(&name, &contents, "x").unwrap();
    assert!(stage.waiting() > 0);
    let reader = TaskStore::open(&stage.store()).unwrap();
    assert_eq!(reader.contents(&name).unwrap(), contents);
    assert!(fs::read_dir(stage.store().join("objects")).unwrap().count() < 20, "no loose objects");
    stage.expect_sound();
    // A pack whose index was never written is nothing.
    let left = stage.store().join("objects/pack/pack-0123.pack");
    fs::write(&left, "half").unwrap();
    fs::write(stage.store().join("objects/pack/.new-pack-1"), "half").unwrap();
    drop((store, reader));
    crate::store::remove_leftovers(&stage.store());
    assert!(!left.exists());
    assert_eq!(fs::read_dir(stage.store().join("objects/pack")).unwrap().count(), 6);
    stage.expect_sound();
}
