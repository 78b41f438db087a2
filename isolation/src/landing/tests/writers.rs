//! Programs that hold a file open for writing while a landing replaces or removes it.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use engine::fault::Faults;
use engine::ports::LandingNotice;
use protocol::{ConflictReason, Landed, Rescue, RescueLocation};

use super::kit::{Kit, LANDED, faults, git, landed, on_slow, read, write};

fn for_append(kit: &Kit, path: &str) -> File {
    fs::OpenOptions::new().append(true).open(kit.root.join(path)).unwrap()
}

#[test]
fn what_a_program_appends_to_a_file_it_holds_open_is_not_lost_and_the_rest_lands() {
    for removal in [false, true] {
        let kit = Kit::with(&[("log", "1\n"), ("other", "1\n")]);
        let busy = kit.task("busy", |copy| match removal {
            true => fs::remove_file(copy.join("log")).unwrap(),
            false => write(copy, "log", "task\n1\n"),
        });
        let calm = kit.task("calm", |copy| write(copy, "other", "2\n"));
        let mut open = for_append(&kit, "log");
        let report = kit.land_with(&Faults::default(), &[busy, calm]).unwrap();
        open.write_all(b"2\n").unwrap();
        assert_eq!(read(&kit.root, "log"), "1\n2\n", "{report:?}");
        let Landed::Conflicted { conflicts } = landed(&report)[0] else { panic!("{report:?}") };
        assert_eq!(conflicts[0].reason, ConflictReason::Contested);
        assert_eq!(landed(&report)[1], &LANDED);
        assert_eq!(read(&kit.root, "other"), "2\n");
        assert_eq!(kit.snapshot().len(), 2);
        assert_eq!(kit.open_journals(), Vec::<String>::new());
    }
}

#[test]
fn what_a_program_appends_to_a_file_it_holds_open_is_not_lost_to_a_recovery() {
    for removal in [false, true] {
        for kill in ["landing.exchange:1", "landing.exchange:2"] {
            let kit = Kit::with(&[("log", "1\n"), ("other", "1\n")]);
            let busy = kit.task("busy", |copy| match removal {
                true => fs::remove_file(copy.join("log")).unwrap(),
                false => write(copy, "log", "task\n1\n"),
            });
            let calm = kit.task("calm", |copy| write(copy, "other", "2\n"));
            // The program opens the file when it can no longer be seen before the landing.
            let target = kit.root.join("log");
            let (opened, open) = mpsc::channel();
            on_slow(move || {
                let file = fs::OpenOptions::new().append(true).open(&target).unwrap();
                opened.send(file).unwrap();
            });
            let plan = format!("slow@landing.journal,kill@{kill}");
            assert!(kit.land_or_die(&plan, &[busy, calm]).is_none());
            let recovered = kit.recover();
            open.recv().unwrap().write_all(b"2\n").unwrap();
            let at = format!("{kill} {removal}: {recovered:?}");
            assert_eq!(read(&kit.root, "log"), "1\n2\n", "{at}");
            assert!(matches!(landed(&recovered[0].1)[0], Landed::Conflicted { .. }), "{at}");
            assert_eq!(landed(&recovered[0].1)[1], &LANDED, "{at}");
            assert_eq!(read(&kit.root, "other"), "2\n", "{at}");
            assert_eq!(kit.snapshot().len(), 2, "{at}");
            assert_eq!(kit.open_journals(), Vec::<String>::new(), "{at}");
        }
    }
}

/// What a rescue says to type shows.
pub(super) fn printable(kit: &Kit, rescue: &Rescue) -> String {
    match &rescue.kept {
        RescueLocation::Store { git_dir, object } => {
            git(&kit.root, &["--git-dir", git_dir, "show", object])
        }
        RescueLocation::Tree { file } => read(&kit.root, &file.to_string()),
    }
}

#[test]
fn a_program_that_opens_a_file_before_the_exchange_and_writes_after_the_landing_loses_nothing() {
    for (way, removal) in [("", false), ("", true), ("fail@landing.exchange.support:*,", false)] {
        let kit = Kit::with(&[("log", "1\n"), ("other", "1\n")]);
        let task = kit.task("task", |copy| {
            match removal {
                true => fs::remove_file(copy.join("log")).unwrap(),
                false => write(copy, "log", "task\n1\n"),
            }
            write(copy, "other", "2\n");
        });
        // The program opens the file when it has been looked at and is about to be exchanged.
        let (target, (opened, open)) = (kit.root.join("log"), mpsc::channel());
        on_slow(move || {
            opened.send(fs::OpenOptions::new().append(true).open(&target).unwrap()).unwrap();
        });
        let plan = faults(&format!("{way}slow@landing.exchange:1"));
        let report = kit.land_with(&plan, &[task]).unwrap();
        open.recv().unwrap().write_all(b"2\n").unwrap();
        assert_eq!(read(&kit.root, "log"), "1\n2\n", "{report:?}");
        assert!(matches!(landed(&report)[0], Landed::Conflicted { .. }), "{report:?}");
        assert_eq!(read(&kit.root, "other"), "1\n");
        assert_eq!(kit.snapshot().len(), 2);
        assert_eq!(kit.rescued(), []);
        assert_eq!(kit.open_journals(), Vec::<String>::new());
    }
}

#[test]
fn a_file_with_other_names_that_a_program_holds_open_is_not_written_over() {
    let kit = Kit::with(&[("linked", "1\n")]);
    let other = kit.folder.path().join("other name");
    fs::hard_link(kit.root.join("linked"), &other).unwrap();
    let task = kit.task("task", |copy| write(copy, "linked", "2\n"));
    // It opens the file when the landing is about to write over it.
    let (opened, open) = mpsc::channel();
    on_slow(move || {
        opened.send(fs::OpenOptions::new().append(true).open(&other).unwrap()).unwrap();
    });
    let report = kit.land_with(&faults("slow@landing.exchange"), &[task]).unwrap();
    open.recv().unwrap().write_all(b"late\n").unwrap();
    assert!(matches!(landed(&report)[0], Landed::Conflicted { .. }), "{report:?}");
    assert_eq!(read(&kit.root, "linked"), "1\nlate\n");
}

#[test]
fn who_closes_a_file_soon_does_not_keep_a_landing_from_it() {
    let kit = Kit::with(&[("log", "1\n2\n3\n4\n")]);
    let task = kit.task("task", |copy| write(copy, "log", "task\n2\n3\n4\n"));
    let mut open = Some(for_append(&kit, "log"));
    on_slow(move || {
        let mut open = open.take().unwrap();
        open.write_all(b"5\n").unwrap();
    });
    let report = kit.land_with(&faults("slow@landing.pause"), &[task]).unwrap();
    assert_eq!(landed(&report), [&LANDED]);
    assert_eq!(read(&kit.root, "log"), "task\n2\n3\n4\n5\n");
}

#[test]
fn files_that_are_held_open_cost_a_landing_less_than_a_second_in_all() {
    let names: Vec<String> = (0..40).map(|number| format!("log-{number}")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "1\n")).collect();
    let kit = Kit::in_memory(&files);
    let tasks: Vec<_> =
        names.iter().map(|name| kit.task(name, |copy| write(copy, name, "2\n"))).collect();
    let held: Vec<File> = names.iter().skip(1).map(|name| for_append(&kit, name)).collect();
    let began = Instant::now();
    let report = kit.land_with(&Faults::default(), &tasks).unwrap();
    let waited = began.elapsed();
    assert_eq!(landed(&report)[0], &LANDED);
    assert!(landed(&report)[1..].iter().all(|end| matches!(end, Landed::Conflicted { .. })));
    // The waiting is 0.4 seconds; the rest is for a machine that has other work.
    test_limit::took_at_most(waited, Duration::from_secs(10), "it waits for each file");
    drop(held);
}

#[test]
fn where_no_lease_can_be_had_versions_are_compared_twice_and_it_is_said_once() {
    let kit = Kit::with(&[("a", "1\n"), ("b", "1\n")]);
    let task = kit.task("task", |copy| {
        write(copy, "a", "2\n");
        write(copy, "b", "2\n");
    });
    // The program has the file open, and writes when everything was compared once.
    let mut open = for_append(&kit, "a");
    on_slow(move || open.write_all(b"saved\n").unwrap());
    let plan = faults("fail@landing.lease:*,slow@landing.compare");
    let report = kit.land_with(&plan, &[task]).unwrap();
    assert!(matches!(landed(&report)[0], Landed::Conflicted { .. }), "{report:?}");
    assert_eq!(read(&kit.root, "a"), "1\nsaved\n");
    assert_eq!(read(&kit.root, "b"), "1\n");
    let told = kit.told.lock().unwrap();
    let [LandingNotice::OpenFilesUnknown { why, .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(why, "a fault was planned here");
}

#[test]
fn a_version_that_somebody_changed_after_everything_was_decided_is_kept_and_told() {
    let kit = Kit::with(&[("a", "1\n")]);
    let task = kit.task("task", |copy| write(copy, "a", "2\n"));
    // Another program writes to the old version, by the name it has beside its target.
    let root = kit.root.clone();
    on_slow(move || {
        let beside = root.join(".regatta-r7k3f-1-0.tmp");
        fs::OpenOptions::new().append(true).open(beside).unwrap().write_all(b"late\n").unwrap();
    });
    let report = kit.land_with(&faults("slow@landing.drop"), &[task]).unwrap();
    assert_eq!(landed(&report), [&LANDED]);
    assert_eq!(read(&kit.root, "a"), "2\n");
    assert_eq!(kit.snapshot().len(), 1);
    let [rescue] = &kit.rescued()[..] else { panic!("{:?}", kit.rescued()) };
    assert_eq!((rescue.path.as_bytes(), &rescue.run), (b"a".as_slice(), &kit.run));
    assert_eq!(printable(&kit, rescue), "1\nlate\n");
}

#[test]
fn a_version_that_is_being_written_after_everything_was_decided_stays_and_is_told() {
    let kit = Kit::with(&[("a", "1\n")]);
    let task = kit.task("task", |copy| write(copy, "a", "2\n"));
    let (root, (opened, open)) = (kit.root.clone(), mpsc::channel());
    on_slow(move || {
        let beside = root.join(".regatta-r7k3f-1-0.tmp");
        opened.send(fs::OpenOptions::new().append(true).open(beside).unwrap()).unwrap();
    });
    let report = kit.land_with(&faults("slow@landing.drop"), &[task]).unwrap();
    open.recv().unwrap().write_all(b"late\n").unwrap();
    assert_eq!(landed(&report), [&LANDED]);
    assert_eq!(read(&kit.root, "a"), "2\n");
    let [rescue] = &kit.rescued()[..] else { panic!("{:?}", kit.rescued()) };
    assert!(matches!(rescue.kept, RescueLocation::Tree { .. }), "{rescue:?}");
    assert_eq!(printable(&kit, rescue), "1\nlate\n");
    assert_eq!(kit.open_journals(), Vec::<String>::new());
}

#[test]
fn what_is_written_to_a_version_that_was_just_removed_is_kept_and_told() {
    let kit = Kit::with(&[("gone", "1\n")]);
    let task = kit.task("task", |copy| fs::remove_file(copy.join("gone")).unwrap());
    // Another name lets a program open the file when it is removed already.
    let other = kit.folder.path().join("other name");
    fs::hard_link(kit.root.join("gone"), &other).unwrap();
    let file = format!(":{} ", fs::metadata(&other).unwrap().ino());
    let (begun, writer) = mpsc::channel();
    on_slow(move || {
        let other = other.clone();
        let write = move || {
            let mut file = fs::OpenOptions::new().append(true).open(other).unwrap();
            file.write_all(b"late\n").unwrap();
        };
        begun.send(thread::spawn(write)).unwrap();
        let waits = |line: &str| line.contains("BREAKING") && line.contains(&file);
        test_limit::eventually(Duration::from_secs(60), "the writer waits for the lease", || {
            fs::read_to_string("/proc/locks").unwrap().lines().any(waits)
        });
    });
    let report = kit.land_with(&faults("slow@landing.done"), &[task]).unwrap();
    writer.recv().unwrap().join().unwrap();
    assert_eq!(landed(&report), [&LANDED]);
    let [rescue] = &kit.rescued()[..] else { panic!("{:?}", kit.rescued()) };
    assert_eq!(printable(&kit, rescue), "1\nlate\n");
}

#[test]
fn what_a_program_holds_open_is_not_lost_when_a_landing_is_taken_back() {
    // The program opens the old version of `a` or the new one; then the user saves `b`, because of
    // which the landing is taken back before it has looked at `a` again.
    for (opens, expected) in [(1, "1\nearly\nlate\n"), (2, "2\nearly\nlate\n")] {
        let kit = Kit::with(&[("a", "1\n"), ("b", "1\n")]);
        let task = kit.task("task", |copy| {
            write(copy, "a", "2\n");
            write(copy, "b", "2\n");
        });
        let (root, (opened, open)) = (kit.root.clone(), mpsc::channel());
        let (mut moment, mut held) = (0, None);
        on_slow(move || {
            moment += 1;
            if moment == opens {
                held = Some(fs::OpenOptions::new().append(true).open(root.join("a")).unwrap());
            }
            if moment == 2 {
                let mut held = held.take().unwrap();
                held.write_all(b"early\n").unwrap();
                opened.send(held).unwrap();
                fs::write(root.join("b"), "saved\n").unwrap();
            }
        });
        let report = kit.land_with(&faults("slow@landing.exchange:*"), &[task]).unwrap();
        open.recv().unwrap().write_all(b"late\n").unwrap();
        assert!(matches!(landed(&report)[0], Landed::Conflicted { .. }), "{report:?}");
        assert_eq!(read(&kit.root, "a"), expected, "{report:?}");
        assert_eq!(read(&kit.root, "b"), "saved\n");
        assert_eq!(kit.snapshot().len(), 2);
        assert_eq!(kit.open_journals(), Vec::<String>::new());
    }
}

#[test]
fn a_new_version_that_a_program_has_opened_stays_when_a_landing_is_taken_back_and_the_old_is_told()
{
    let kit = Kit::with(&[("a", "1\n"), ("b", "1\n")]);
    let task = kit.task("task", |copy| {
        write(copy, "a", "2\n");
        write(copy, "b", "2\n");
    });
    let (root, (opened, open)) = (kit.root.clone(), mpsc::channel());
    let mut moment = 0;
    on_slow(move || {
        moment += 1;
        if moment == 2 {
            let path = root.join("a");
            opened.send(fs::OpenOptions::new().append(true).open(path).unwrap()).unwrap();
            fs::write(root.join("b"), "saved\n").unwrap();
        }
    });
    let report = kit.land_with(&faults("slow@landing.exchange:*"), &[task]).unwrap();
    open.recv().unwrap().write_all(b"late\n").unwrap();
    assert!(matches!(landed(&report)[0], Landed::Conflicted { .. }), "{report:?}");
    assert_eq!(read(&kit.root, "a"), "2\nlate\n");
    let [rescue] = &kit.rescued()[..] else { panic!("{:?}", kit.rescued()) };
    assert_eq!(printable(&kit, rescue), "1\n");
    assert_eq!(kit.snapshot().len(), 2);
}
