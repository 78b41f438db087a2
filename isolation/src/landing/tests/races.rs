//! Changes at the same moment: the user saves, another engine lands.

use std::cell::Cell;
use std::fs;
use std::io::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{CancelLevel, CancelToken, IsolationError};
use protocol::{ConflictReason, Landed};

use super::kit::{Kit, LANDED, faults, landed, on_slow, read, write};
use super::writers::printable;

#[test]
fn a_save_at_the_same_moment_is_merged_with_what_lands() {
    let kit = Kit::with(&[("a", "1\n2\n3\n4\n5\n"), ("b", "1\n")]);
    let task = kit.task("task", |copy| {
        write(copy, "a", "1\n2\n3\n4\nfive\n");
        write(copy, "b", "2\n");
    });
    let target = kit.root.join("a");
    on_slow(move || fs::write(&target, "one\n2\n3\n4\n5\n").unwrap());
    let report = kit.land_with(&faults("slow@landing.exchange:1"), &[task]).unwrap();
    assert_eq!(landed(&report), [&LANDED]);
    assert_eq!(read(&kit.root, "a"), "one\n2\n3\n4\nfive\n");
    assert_eq!(read(&kit.root, "b"), "2\n");
    assert_eq!(kit.snapshot().len(), 2);
    assert_eq!(kit.open_journals(), Vec::<String>::new());
}

#[test]
fn a_save_by_rename_a_removal_and_a_new_file_at_the_same_moment_all_survive() {
    let changes = [("rename", Some("saved\n")), ("remove", None), ("create", Some("mine\n"))];
    let ways = ["", "fail@landing.exchange.support:*,"];
    for (way, (change, expected)) in ways.iter().flat_map(|way| changes.map(|it| (way, it))) {
        let kit = Kit::with(&[("a", "1\n"), ("z", "1\n")]);
        let task = kit.task("task", |copy| match change {
            "create" => write(copy, "new", "2\n"),
            "remove" => write(copy, "a", "2\n"),
            _ => fs::remove_file(copy.join("a")).unwrap(),
        });
        let other = kit.task("other", |copy| write(copy, "z", "2\n"));
        let (root, beside) = (kit.root.clone(), kit.folder.path().join("beside"));
        on_slow(move || match change {
            "create" => fs::write(root.join("new"), "mine\n").unwrap(),
            "remove" => fs::remove_file(root.join("a")).unwrap(),
            _ => {
                fs::write(&beside, "saved\n").unwrap();
                fs::rename(&beside, root.join("a")).unwrap();
            }
        });
        let plan = faults(&format!("{way}slow@landing.exchange:1"));
        let report = kit.land_with(&plan, &[task, other]).unwrap();
        assert!(
            matches!(landed(&report)[0], Landed::Conflicted { .. }),
            "{way}{change}: {report:?}"
        );
        assert_eq!(landed(&report)[1], &LANDED, "{change}");
        let path = if change == "create" { "new" } else { "a" };
        let found = fs::read_to_string(kit.root.join(path)).ok();
        assert_eq!(found.as_deref(), expected, "{change}");
        assert_eq!(read(&kit.root, "z"), "2\n");
    }
}

#[test]
fn a_save_over_what_was_at_the_path_for_a_moment_does_not_cost_the_save_before_it() {
    let kit = Kit::with(&[("a", "1\n2\n3\n4\n5\n")]);
    let task = kit.task("task", |copy| write(copy, "a", "1\n2\n3\n4\nfive\n"));
    let target = kit.root.join("a");
    // The file is saved when it is about to be exchanged, read when that save is about to be put
    // back, and saved again, with what was read, when the new version is about to be removed.
    let (mut moment, mut seen) = (0, String::new());
    on_slow(move || {
        moment += 1;
        match moment {
            2 => fs::write(&target, "one\n2\n3\n4\n5\n").unwrap(),
            3 => seen = fs::read_to_string(&target).unwrap(),
            4 => fs::write(&target, seen.replace('3', "three")).unwrap(),
            _ => {}
        }
    });
    let report = kit.land_with(&faults("slow@landing.move:*"), &[task]).unwrap();
    assert_eq!(landed(&report), [&LANDED]);
    assert_eq!(read(&kit.root, "a"), "1\n2\nthree\n4\nfive\n");
    let rescued = kit.rescued();
    let [rescue] = rescued.as_slice() else { panic!("{rescued:?}") };
    assert_eq!(printable(&kit, rescue), "one\n2\n3\n4\n5\n");
    assert_eq!(kit.open_journals(), Vec::<String>::new());
}

#[test]
fn a_path_that_is_written_again_and_again_is_contested_and_the_rest_lands() {
    let kit = Kit::with(&[("busy", "0\n"), ("calm", "0\n")]);
    let busy = kit.task("busy", |copy| write(copy, "busy", "0\ntask\n"));
    let calm = kit.task("calm", |copy| write(copy, "calm", "1\n"));
    let saves = Rc::new(Cell::new(0));
    let (target, count) = (kit.root.join("busy"), Rc::clone(&saves));
    on_slow(move || {
        count.set(count.get() + 1);
        fs::write(&target, format!("save {}\n0\n", count.get())).unwrap();
    });
    let report = kit.land_with(&faults("slow@landing.exchange:*"), &[busy, calm]).unwrap();
    let Landed::Conflicted { conflicts } = landed(&report)[0] else { panic!("{report:?}") };
    assert_eq!(conflicts[0].reason, ConflictReason::Contested);
    assert_eq!(landed(&report)[1], &LANDED);
    assert_eq!(read(&kit.root, "busy"), format!("save {}\n0\n", saves.get()));
    assert_eq!(read(&kit.root, "calm"), "1\n");
    assert_eq!(kit.snapshot().len(), 2);
}

#[test]
fn what_an_editor_writes_into_the_old_file_after_the_exchange_is_not_lost() {
    let kit = Kit::with(&[("a", "1\n"), ("b", "1\n")]);
    let task = kit.task("task", |copy| {
        write(copy, "a", "2\n");
        write(copy, "b", "2\n");
    });
    // The editor opens the file when `a` is about to be exchanged, and writes and closes it when
    // `b` is.
    let (target, mut open) = (kit.root.join("a"), None);
    let mut moment = 0;
    on_slow(move || {
        moment += 1;
        match moment {
            1 => open = Some(fs::OpenOptions::new().write(true).open(&target).unwrap()),
            2 => open.take().unwrap().write_all(b"saved\n").unwrap(),
            _ => {}
        }
    });
    let report = kit.land_with(&faults("slow@landing.exchange:*"), &[task]).unwrap();
    assert!(matches!(landed(&report)[0], Landed::Conflicted { .. }), "{report:?}");
    assert_eq!(read(&kit.root, "a"), "saved\n");
    assert_eq!(read(&kit.root, "b"), "1\n");
}

#[test]
fn a_save_into_a_file_with_other_names_just_before_it_is_written_over_survives() {
    for moment in ["landing.exchange:1", "landing.move:1"] {
        let kit = Kit::with(&[("linked", "1\n2\n3\n4\n5\n")]);
        let (target, other) = (kit.root.join("linked"), kit.folder.path().join("other name"));
        fs::hard_link(&target, &other).unwrap();
        let task = kit.task("task", |copy| write(copy, "linked", "1\n2\n3\n4\nfive\n"));
        // The editor writes into the file itself, as ours does.
        on_slow(move || fs::write(&target, "one\n2\n3\n4\n5\n").unwrap());
        let report = kit.land_with(&faults(&format!("slow@{moment}")), &[task]).unwrap();
        assert_eq!(landed(&report), [&LANDED], "{moment}");
        assert_eq!(read(&kit.root, "linked"), "one\n2\n3\n4\nfive\n", "{moment}");
        assert_eq!(fs::read_to_string(other).unwrap(), "one\n2\n3\n4\nfive\n", "{moment}");
    }
}

#[test]
fn what_is_withdrawn_before_anything_has_changed_changes_nothing() {
    for moment in ["landing.begin", "landing.temps:1", "landing.temps:2", "landing.journal"] {
        let kit = Kit::with(&[("a", "1\n"), ("b", "1\n")]);
        let task = kit.task("task", |copy| {
            write(copy, "a", "2\n");
            write(copy, "b", "2\n");
        });
        let (before, git) = (kit.snapshot(), kit.git_folder());
        let cancel = CancelToken::default();
        let heard = cancel.clone();
        on_slow(move || heard.cancel(CancelLevel::Gently));
        let plan = faults(&format!("slow@{moment}"));
        let landed_not = kit.land_unless(&cancel, &plan, std::slice::from_ref(&task));
        assert!(matches!(landed_not, Err(IsolationError::Withdrawn)), "{moment}: {landed_not:?}");
        assert_eq!(kit.snapshot(), before, "{moment}");
        assert_eq!(kit.git_folder(), git, "{moment}");
        assert_eq!(kit.open_journals(), Vec::<String>::new(), "{moment}");
        assert_eq!(landed(&kit.land(&[task])), [&LANDED], "{moment}");
    }
}

#[test]
fn what_is_withdrawn_after_the_tree_has_begun_to_change_is_seen_through() {
    let kit = Kit::with(&[("a", "1\n"), ("b", "1\n")]);
    let task = kit.task("task", |copy| {
        write(copy, "a", "2\n");
        write(copy, "b", "2\n");
    });
    let cancel = CancelToken::default();
    let heard = cancel.clone();
    on_slow(move || heard.cancel(CancelLevel::Gently));
    let report = kit.land_unless(&cancel, &faults("slow@landing.exchange:1"), &[task]).unwrap();
    assert_eq!(landed(&report), [&LANDED]);
    assert_eq!(read(&kit.root, "a") + &read(&kit.root, "b"), "2\n2\n");
}

#[test]
fn landings_at_once_lose_nothing() {
    let lines: String = (0..400).map(|line| format!("{line}\n")).collect();
    let kit = Arc::new(Kit::with(&[("shared", &lines)]));
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            kit.task(&format!("t{number}"), |copy| {
                write(copy, format!("own/{number}"), "1\n");
                let place = format!("\n{}\n", number * 40 + 10);
                write(copy, "shared", lines.replace(&place, &format!("{place}task {number}\n")));
            })
        })
        .collect();
    let landers: Vec<_> = tasks
        .into_iter()
        .map(|task| {
            let kit = Arc::clone(&kit);
            std::thread::spawn(move || kit.land_with(&Faults::default(), &[task]).unwrap())
        })
        .collect();
    for lander in landers {
        assert_eq!(landed(&lander.join().unwrap()), [&LANDED]);
    }
    let shared = read(&kit.root, "shared");
    assert_eq!(shared.lines().filter(|line| line.starts_with("task")).count(), 8, "{shared}");
    assert_eq!(shared.lines().count(), 408);
    assert_eq!(fs::read_dir(kit.root.join("own")).unwrap().count(), 8);
}
