//! What cannot be written is not written in part.

use engine::ports::LandingTask;
use protocol::{Landed, RepoPath};

use super::kit::{Kit, LANDED, faults, landed, read, write};
use crate::file_entry::Change;

#[test]
fn a_disk_that_is_full_at_any_moment_leaves_the_tree_as_it_was() {
    for point in ["intent", "temps:3", "journal", "exchange:3", "exchange:5"] {
        let kit = Kit::with(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
        let task = kit.task("task", |copy| {
            for path in ["a", "b", "new/c", "new/d"] {
                write(copy, path, "2\n");
            }
            std::fs::remove_file(copy.join("c")).unwrap();
        });
        let empty = kit.task("empty", |_| {});
        let other = kit.task("other", |copy| write(copy, "z", "1\n"));
        let (before, git) = (kit.snapshot(), kit.git_folder());
        let report = kit
            .land_with(&faults(&format!("full@landing.{point}")), &[task.clone(), empty, other])
            .unwrap();
        // There is no room for anybody, whose path it was that found out.
        let [Landed::Unwritten { message }, Landed::Unchanged, Landed::Unwritten { .. }] =
            landed(&report)[..]
        else {
            panic!("{point}: {report:?}")
        };
        assert!(!message.is_empty());
        assert_eq!(kit.snapshot(), before, "{point}");
        assert_eq!(kit.git_folder(), git, "{point}");
        assert_eq!(kit.open_journals(), Vec::<String>::new(), "{point}");
        assert_eq!(landed(&kit.land(&[task])), [&LANDED], "{point}");
    }
}

#[test]
fn a_path_that_cannot_be_written_is_the_misfortune_of_the_tasks_that_want_it() {
    let kit = Kit::with(&[("a", "1\n"), ("b", "1\n")]);
    let long = "n".repeat(255);
    let bad = kit.task("bad", |copy| write(copy, "a", "2\n"));
    let next = kit.task("next", |copy| write(copy, "c", "1\n"));
    let next = LandingTask { depends_on: vec![bad.task.clone()], ..next };
    let good = kit.task("good", |copy| write(copy, "b", "2\n"));
    // No file system has a name of 256 bytes.
    let store = kit.store();
    let mut contents = store.contents(&bad.capture).unwrap();
    let path = RepoPath::new(format!("{long}n")).unwrap();
    let task = contents.changes[0].task;
    contents.changes.push(Change::new(path, None, task));
    store.put_capture(&bad.capture, &contents, "bad").unwrap();
    let report = kit.land(&[bad, next, good]);
    let [Landed::Unwritten { .. }, Landed::Waiting { .. }, good] = landed(&report)[..] else {
        panic!("{report:?}")
    };
    assert_eq!(good, &LANDED);
    assert_eq!(read(&kit.root, "a") + &read(&kit.root, "b"), "1\n2\n");
    assert_eq!(kit.snapshot().len(), 2);
}

#[test]
fn a_path_that_fails_in_the_middle_is_taken_back_and_the_others_land() {
    let kit = Kit::with(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    let first = kit.task("first", |copy| write(copy, "a", "2\n"));
    let bad = kit.task("bad", |copy| {
        write(copy, "b", "2\n");
        write(copy, "new", "2\n");
    });
    let last = kit.task("last", |copy| write(copy, "c", "2\n"));
    let report = kit.land_with(&faults("fail@landing.exchange:2"), &[first, bad, last]).unwrap();
    let [first, Landed::Unwritten { message }, last] = landed(&report)[..] else {
        panic!("{report:?}")
    };
    assert_eq!((first, last), (&LANDED, &LANDED));
    assert!(message.contains("a fault was planned here"), "{message}");
    let content = ["a", "b", "c"].map(|path| read(&kit.root, path)).concat();
    assert_eq!(content, "2\n1\n2\n");
    assert_eq!(kit.snapshot().len(), 3);
    assert_eq!(kit.open_journals(), Vec::<String>::new());
}

#[test]
fn a_landing_that_cannot_be_closed_has_landed_all_the_same() {
    let kit = Kit::with(&[("a", "1\n")]);
    let task = kit.task("task", |copy| write(copy, "a", "2\n"));
    let report = kit.land_with(&faults("fail@landing.done"), &[task]).unwrap();
    assert_eq!(landed(&report), [&LANDED]);
    assert_eq!(kit.open_journals(), ["r7k3f-1.landed"]);
    assert_eq!(kit.recover().len(), 1);
    assert_eq!(kit.open_journals(), Vec::<String>::new());
}

#[test]
fn a_capture_that_cannot_be_read_is_its_own_tasks_misfortune() {
    let kit = Kit::with(&[("a", "1\n")]);
    let good = kit.task("good", |copy| write(copy, "a", "2\n"));
    let mut bad = good.clone();
    bad.task = "bad".parse().unwrap();
    bad.capture = protocol::CaptureRef::of(&kit.run, &bad.task, 7);
    let report = kit.land(&[bad, good]);
    assert!(matches!(landed(&report)[0], Landed::Unwritten { .. }), "{report:?}");
    assert_eq!(landed(&report)[1], &LANDED);
}

#[test]
fn every_landing_has_a_number_of_its_own_and_keeps_what_it_replaced() {
    let kit = Kit::with(&[("a", "1\n")]);
    for content in ["2\n", "3\n"] {
        let task = kit.task("task", |copy| write(copy, "a", content));
        kit.land(&[task]);
    }
    let done = crate::landing::done(&kit.paths, &kit.run).unwrap();
    let ids: std::collections::BTreeSet<_> = done.iter().filter_map(|one| one.landing).collect();
    assert_eq!((done.len(), ids.len()), (2, 2));
    let store = git2::Repository::open_bare(&kit.paths.store).unwrap();
    for (id, content) in [(1, "1\n"), (2, "2\n")] {
        let held = store.find_reference(&format!("refs/landings/r7k3f-{id}")).unwrap();
        let tree = held.peel_to_tree().unwrap();
        let before = tree.get_name("0-before").unwrap().to_object(&store).unwrap();
        assert_eq!(before.as_blob().unwrap().content(), content.as_bytes());
    }
}

#[test]
fn landings_that_are_done_are_not_among_those_that_every_start_looks_at() {
    let kit = Kit::with(&[("a", "1\n")]);
    for content in ["2\n", "3\n"] {
        kit.land(&[kit.task("task", |copy| write(copy, "a", content))]);
    }
    let listed = std::fs::read_dir(&kit.paths.landings).unwrap();
    let files = listed.filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_file());
    assert_eq!(files.count(), 0);
    assert_eq!(crate::landing::done(&kit.paths, &kit.run).unwrap().len(), 2);
}
