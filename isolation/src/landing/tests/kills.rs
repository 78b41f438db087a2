//! A kill at any moment: after the next start the landing is complete or not begun.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::rc::Rc;

use engine::ports::LandingTask;
use protocol::{Landed, LandingId};
use test_limit::{Depth, by_depth, sample};

use super::kit::{Kit, LANDED, Snapshot, landed, on_slow, read, write};

/// A landing with every kind of step, and the tree before and after it.
fn landing() -> (Kit, Vec<LandingTask>) {
    let kit = Kit::in_memory(&[
        ("change", "1\n"),
        ("remove", "2\n"),
        ("d/gone", "3\n"),
        ("folder-to-be", "4\n"),
        ("file-to-be/x", "5\n"),
        ("linked", "6 and some more\n"),
    ]);
    fs::hard_link(kit.root.join("linked"), kit.folder.path().join("other")).unwrap();
    let edit = |copy: &Path| {
        write(copy, "change", "one\n");
        fs::remove_file(copy.join("remove")).unwrap();
        fs::remove_dir_all(copy.join("d")).unwrap();
        fs::remove_file(copy.join("folder-to-be")).unwrap();
        write(copy, "folder-to-be/x/y", "y\n");
        fs::remove_dir_all(copy.join("file-to-be")).unwrap();
        write(copy, "file-to-be", "file\n");
        write(copy, "linked", "six\n");
        symlink("change", copy.join("link")).unwrap();
    };
    let tasks = vec![kit.task("one", edit), kit.task("two", |copy| write(copy, "new/two", "2\n"))];
    (kit, tasks)
}

fn complete(off: &str) -> Snapshot {
    let (kit, tasks) = landing();
    kit.land_or_die(off, &tasks).unwrap();
    kit.snapshot()
}

/// Kills a landing the `number`-th time that `point` is reached; false if it is not any more.
fn killed(kit: &Kit, off: &str, point: &str, number: u32, tasks: &[LandingTask]) -> bool {
    kit.land_or_die(&format!("{off},kill@{point}:{number}"), tasks).is_none()
}

/// Returns at which times that `point` is reached something is killed: at each until it is not reached
/// any more. In quick depth at `quick` of the times that `work` reaches it with this plan.
fn times(point: &str, quick: usize, work: impl FnOnce(&str)) -> Vec<u32> {
    if test_limit::depth() == Depth::Full {
        return (1..200).collect();
    }
    let count = Rc::new(Cell::new(0));
    let counted = Rc::clone(&count);
    on_slow(move || counted.set(counted.get() + 1));
    work(&format!("slow@{point}:*"));
    sample(1..=count.get(), quick)
}

fn assert_all_or_nothing(kit: &Kit, before: &Snapshot, after: &Snapshot, at: &str) {
    let now = kit.snapshot();
    let recovered = kit.recover();
    assert_eq!(recovered, [], "{at}: nothing is left to recover");
    assert!(now == *before || now == *after, "{at}: half landed: {now:?}");
    assert_eq!(kit.open_journals(), Vec::<String>::new(), "{at}");
}

#[test]
fn a_landing_killed_at_any_change_is_complete_or_not_begun_after_the_next_start() {
    for off in ["", "fail@landing.exchange.support:*"] {
        let after = complete(off);
        let (mut completed, mut not_begun) = (0, 0);
        // How files change places does not concern the other points.
        let points = ["landing.move", "landing.record", "landing.temps", "landing.journal"];
        for point in &points[..if off.is_empty() { 4 } else { 1 }] {
            let times = times(point, 2, |plan| {
                let (kit, tasks) = landing();
                kit.land_or_die(&format!("{off},{plan}"), &tasks).unwrap();
            });
            for number in times {
                let (kit, tasks) = landing();
                let (before, git) = (kit.snapshot(), kit.git_folder());
                if !killed(&kit, off, point, number, &tasks) {
                    break;
                }
                let at = format!("{off} {point}:{number}");
                let open = kit.open_journals();
                let is_committed = open.iter().any(|journal| !journal.ends_with(".intent"));
                // Its report may have been taken already.
                let is_complete = is_committed || (open.is_empty() && kit.snapshot() == after);
                let recovered = kit.recover();
                assert_eq!(recovered.len(), usize::from(is_committed), "{at}: {open:?}");
                for (run, report) in recovered {
                    assert_eq!(run, kit.run);
                    assert_eq!(landed(&report), [&LANDED, &LANDED], "{at}");
                }
                let (count, expected) = match is_complete {
                    true => (&mut completed, &after),
                    false => (&mut not_begun, &before),
                };
                *count += 1;
                assert_eq!(kit.snapshot(), *expected, "{at}");
                assert_all_or_nothing(&kit, &before, &after, &at);
                assert_eq!(kit.git_folder(), git, "{at}");
                // And the same work can still be landed.
                kit.land(&tasks);
                assert_eq!(kit.snapshot(), after, "{at}");
            }
        }
        assert!(completed > by_depth(0, 10), "only {completed} were completed");
        assert!(not_begun > 0 || !off.is_empty(), "none was killed before it had begun");
        assert!(completed + not_begun > by_depth(1, 25), "only {completed} and {not_begun} kills");
    }
}

#[test]
fn a_recovery_that_is_killed_itself_is_finished_by_the_next_one() {
    let after = complete("");
    let mut kills = 0;
    for first in [1, 4, 8] {
        for point in ["landing.move", "landing.record"] {
            let times = times(point, 1, |plan| {
                let (kit, tasks) = landing();
                assert!(killed(&kit, "", "landing.exchange", first, &tasks));
                kit.recover_or_die(plan).unwrap();
            });
            for number in times {
                let (kit, tasks) = landing();
                let before = kit.snapshot();
                assert!(killed(&kit, "", "landing.exchange", first, &tasks));
                if kit.recover_or_die(&format!("kill@{point}:{number}")).is_some() {
                    break;
                }
                kills += 1;
                for (_, report) in kit.recover() {
                    assert_eq!(landed(&report), [&LANDED, &LANDED], "{point}:{number}");
                }
                assert_all_or_nothing(&kit, &before, &after, &format!("{point}:{number}"));
                assert_eq!(kit.snapshot(), after);
            }
        }
    }
    assert!(kills > by_depth(3, 40), "only {kills} kills");
}

#[test]
fn a_landing_killed_while_it_is_taken_back_is_not_begun() {
    let mut kills = 0;
    // The disk is full at the sixth path, and the kill comes while the first five are restored.
    let full = "full@landing.exchange:6";
    let times = times("landing.roll", 2, |plan| {
        let (kit, tasks) = landing();
        kit.land_or_die(&format!("{full},{plan}"), &tasks).unwrap();
    });
    // Beyond the last time, it is not killed.
    let last = times.iter().max().map_or(1, |last| last + 100);
    for number in times.into_iter().chain([last]) {
        let (kit, tasks) = landing();
        let before = kit.snapshot();
        let plan = format!("{full},kill@landing.roll:{number}");
        if let Some(report) = kit.land_or_die(&plan, &tasks) {
            assert!(matches!(landed(&report)[0], Landed::Unwritten { .. }), "{report:?}");
            assert_eq!(kit.snapshot(), before);
            break;
        }
        kills += 1;
        assert_ne!(kit.snapshot(), before, "{number}: there is something to take back");
        assert_eq!(kit.recover(), [], "nothing has landed");
        assert_eq!(kit.snapshot(), before);
        assert_eq!(kit.open_journals(), Vec::<String>::new());
    }
    assert!(kills >= by_depth(1, 5), "only {kills} kills");
}

#[test]
fn what_the_user_edits_after_a_kill_stays_and_is_told() {
    let (kit, tasks) = landing();
    assert!(killed(&kit, "", "landing.exchange", 1, &tasks));
    write(&kit.root, "change", "edited since\n");
    let recovered = kit.recover();
    let report = &recovered[0].1;
    let Landed::Conflicted { conflicts } = landed(report)[0] else { panic!("{report:?}") };
    assert_eq!(conflicts[0].path.as_bytes(), b"change");
    assert_eq!(landed(report)[1], &LANDED);
    let mut expected = complete("");
    expected.get_mut(&b"change"[..]).unwrap().1 = b"edited since\n".to_vec();
    assert_eq!(kit.snapshot(), expected);
    assert_eq!(kit.open_journals(), Vec::<String>::new());
}

#[test]
fn a_save_at_the_moment_of_a_recovery_survives_it() {
    for (change, becomes) in [("change", Some("2\n")), ("remove", None), ("make", Some("2\n"))] {
        let path = if change == "make" { "new" } else { "a" };
        let kit = Kit::with(&[("a", "1\n")]);
        let task = kit.task("task", |copy| match becomes {
            Some(content) => write(copy, path, content),
            None => fs::remove_file(copy.join(path)).unwrap(),
        });
        assert!(killed(&kit, "", "landing.exchange", 1, &[task]));
        let target = kit.root.join(path);
        super::kit::on_slow(move || fs::write(&target, "saved\n").unwrap());
        let recovered = kit.recover_or_die("slow@landing.roll:1").unwrap();
        let Landed::Conflicted { conflicts } = landed(&recovered[0].1)[0] else {
            panic!("{change}: {recovered:?}")
        };
        assert_eq!(conflicts[0].path.as_bytes(), path.as_bytes(), "{change}");
        assert_eq!(read(&kit.root, path), "saved\n", "{change}");
        let left = if change == "make" { 2 } else { 1 };
        assert_eq!(kit.snapshot().len(), left, "{change}");
        assert_eq!(kit.open_journals(), Vec::<String>::new(), "{change}");
    }
}

/// Kills a landing just after it has pulled out what the user saved at that moment.
fn killed_with_a_save_pulled_out() -> Kit {
    // The save comes between the look and the exchange, the kill between the exchange and the
    // look at what it brought: before the exchange back.
    let found = (1..20).find_map(|number| {
        let kit = Kit::with(&[("a", "1\n")]);
        let task = kit.task("task", |copy| write(copy, "a", "2\n"));
        let target = kit.root.join("a");
        super::kit::on_slow(move || fs::write(&target, "saved\n").unwrap());
        let plan = format!("slow@landing.exchange,kill@landing.move:{number}");
        let died = kit.land_or_die(&plan, &[task]).is_none();
        (died && read(&kit.root, "a") == "2\n").then_some(kit)
    });
    found.unwrap()
}

#[test]
fn a_save_that_was_pulled_out_and_saved_over_since_is_in_the_task_store() {
    let kit = killed_with_a_save_pulled_out();
    write(&kit.root, "a", "saved again\n");
    let recovered = kit.recover();
    assert!(matches!(landed(&recovered[0].1)[0], Landed::Conflicted { .. }), "{recovered:?}");
    assert_eq!(read(&kit.root, "a"), "saved again\n");
    assert_eq!(kit.snapshot().len(), 1);
    let store = git2::Repository::open_bare(&kit.paths.store).unwrap();
    let saved = git2::Oid::hash_object(git2::ObjectType::Blob, b"saved\n").unwrap();
    let held = store.find_reference(&format!("refs/rescued/{saved}")).unwrap();
    let bytes = held.peel_to_tree().unwrap().get_name("bytes").unwrap().to_object(&store).unwrap();
    assert_eq!(bytes.as_blob().unwrap().content(), b"saved\n");
}

#[test]
fn a_save_that_a_killed_exchange_had_pulled_out_is_put_back() {
    let kit = killed_with_a_save_pulled_out();
    let recovered = kit.recover();
    assert!(matches!(landed(&recovered[0].1)[0], Landed::Conflicted { .. }), "{recovered:?}");
    assert_eq!(read(&kit.root, "a"), "saved\n");
    assert_eq!(kit.snapshot().len(), 1);
}

#[test]
fn a_landing_left_open_is_finished_before_the_next_and_its_report_is_not_lost() {
    let (mut kit, tasks) = landing();
    assert!(killed(&kit, "", "landing.exchange", 4, &tasks));
    // Of another run: the lock of a run keeps two landings of one apart.
    kit.run = "rbbbb".parse().unwrap();
    let other = kit.task("other", |copy| write(copy, "other", "1\n"));
    assert_eq!(landed(&kit.land(&[other])), [&LANDED]);
    let recovered = kit.recover();
    assert_eq!(recovered.len(), 1);
    assert_eq!(landed(&recovered[0].1), [&LANDED, &LANDED]);
    assert_eq!(kit.recover(), []);
    let mut now = kit.snapshot();
    assert_eq!(now.remove(&b"other"[..]).unwrap().1, b"1\n");
    assert_eq!(now, complete(""));
}

#[test]
fn a_journal_that_is_none_is_kept_and_refused() {
    let (kit, tasks) = landing();
    assert!(killed(&kit, "", "landing.exchange", 4, &tasks));
    let path = kit.paths.landings.join("r7k3f-1.committed");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let before = kit.snapshot();
    let error = kit.recover_with(&Default::default()).unwrap_err();
    assert!(error.to_string().contains("r7k3f-1.committed"), "{error}");
    assert!(kit.land_with(&Default::default(), &tasks).is_err());
    assert_eq!(kit.snapshot(), before);
    fs::write(&path, whole).unwrap();
    let recovered = kit.recover();
    assert_eq!(landed(&recovered[0].1), [&LANDED, &LANDED]);
    assert_eq!(kit.snapshot(), complete(""));
}

#[test]
fn work_that_landed_when_its_engine_died_is_not_landed_again_before_that_is_recorded() {
    // A kill in the middle of the landing, and one before the ledger had its report.
    for plan in ["kill@landing.exchange:1", "kill@landing.record:5", ""] {
        let kit = Kit::with(&[("a", "1\n")]);
        let one = kit.task("one", |copy| write(copy, "a", "2\n"));
        write(&kit.root, "a", "2\n");
        let two = kit.task_on("two", &["one"], |copy| write(copy, "a", "3\n"));
        write(&kit.root, "a", "1\n");
        let tasks = [one, two];
        if plan.is_empty() {
            let cancel = engine::ports::CancelToken::default();
            let (request, faults) = (kit.request(&tasks), super::kit::faults(""));
            let (repo, paths) = (&kit.repo, &kit.paths);
            crate::landing::land(
                repo,
                paths,
                &faults,
                LandingId::generate(),
                request,
                &cancel,
                &|_| {},
            )
            .unwrap();
        } else {
            assert!(kit.land_or_die(plan, &tasks).is_none(), "{plan}");
        }
        let again = kit.land_with(&Default::default(), &tasks);
        assert!(again.is_err(), "{plan}: {again:?}");
        assert_eq!(read(&kit.root, "a"), "3\n", "{plan}");
        let recovered = kit.recover();
        assert_eq!(recovered.len(), 1, "{plan}");
        assert_eq!(landed(&recovered[0].1), [&LANDED, &LANDED], "{plan}");
        assert!(kit.land_with(&Default::default(), &tasks).is_ok(), "{plan}");
    }
}

#[test]
fn a_run_that_waits_for_a_landing_which_is_killed_does_not_begin_with_half_of_it() {
    let after = complete("");
    let (kit, tasks) = landing();
    assert!(killed(&kit, "", "landing.exchange", 4, &tasks));
    let request = engine::ports::FreezeRequest {
        run: "rbbbb".parse().unwrap(),
        mode: protocol::IsolationMode::Worktree,
        untracked_limit: 1 << 20,
        branches: None,
        carry: engine::ports::CarryRequest::default(),
        union: Vec::new(),
    };
    let cancel = engine::ports::CancelToken::default();
    let landings = crate::backends::LandingWait { cancel: &cancel, notify: &|_| {} };
    let (repo, paths, faults) = (&kit.repo, &kit.paths, super::kit::faults(""));
    let frozen = crate::testing::freeze_at(repo, paths, &faults, &request, landings).unwrap();
    assert_eq!(kit.snapshot(), after);
    let files = frozen.table.folders.values().map(|folder| folder.files.len()).sum::<usize>();
    assert_eq!(files, after.values().filter(|(mode, _)| mode & 0o170_000 != 0o040_000).count());
    assert_eq!(kit.recover().len(), 1, "its report is not lost");
}
