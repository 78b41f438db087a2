use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use engine::fault::Faults;
use protocol::{
    Conflict, ConflictReason, Landed, LandingId, LandingReport, LedgerEntry, RepoPath, Side,
    TaskLanding,
};

use crate::test_support::{TestLedger, captured, done, file, run};
use crate::{FindError, Ledger, Reader};

#[test]
fn a_ledger_that_is_not_there_is_empty_and_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let reader = Reader::open(file(folder.path()));
    assert_eq!(reader.runs(None, 10).unwrap(), []);
    assert_eq!(reader.tasks(run(&[]).id).unwrap(), []);
    assert!(matches!(reader.find_run(None, "@"), Err(FindError::NoRuns)));
    assert!(matches!(reader.find_run(None, "r7"), Err(FindError::UnknownRun { .. })));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
async fn a_reader_sees_what_is_recorded_after_it_was_opened() {
    let house = TestLedger::new();
    let reader = house.reader();
    assert_eq!(reader.runs(None, 10).unwrap(), []);
    let name = house.open(&run(&["a"])).await;
    assert_eq!(reader.runs(None, 10).unwrap()[0].name, name);
}

#[test]
async fn runs_are_listed_latest_first_and_by_repository() {
    let house = TestLedger::new();
    let mut names = Vec::new();
    for repo in ["/a", "/b", "/a"] {
        let mut asked = run(&["t"]);
        asked.repo = PathBuf::from(repo);
        names.push(house.open(&asked).await);
    }
    let listed = |repo: Option<&str>, limit| -> Vec<_> {
        let rows = house.reader().runs(repo.map(Path::new), limit).unwrap();
        rows.into_iter().map(|row| row.name).collect()
    };
    assert_eq!(listed(None, 2), [names[2].clone(), names[1].clone()]);
    assert_eq!(listed(Some("/a"), 9), [names[2].clone(), names[0].clone()]);
    assert_eq!(listed(Some("/c"), 9), []);
}

#[test]
async fn a_run_is_found_by_sign_name_and_first_letters() {
    let house = TestLedger::new();
    let mut names = Vec::new();
    // The names of the first two begin alike, the third is of another repository.
    for (repo, id) in [
        ("/a", "01970000000070008000000000000000"),
        ("/a", "01970000000070018000000000000000"),
        ("/b", "01970000000070028000000000000001"),
    ] {
        let mut asked = run(&["t"]);
        (asked.repo, asked.id) = (PathBuf::from(repo), id.parse().unwrap());
        names.push(house.open(&asked).await);
    }
    let find = |repo: &str, given: &str| {
        house.reader().find_run(Some(Path::new(repo)), given).map(|row| row.name)
    };
    assert_eq!(find("/a", "@").unwrap(), names[1]);
    assert_eq!(find("/b", "").unwrap(), names[2]);
    assert!(matches!(find("/c", "@"), Err(FindError::NoRuns)));
    assert_eq!(find("/a", names[0].as_str()).unwrap(), names[0], "a whole name is no prefix");
    assert_eq!(find("/a", &names[2].as_str().to_uppercase()).unwrap(), names[2]);
    assert_eq!(find("/b", "r").unwrap(), names[2], "letters mean this repository's run first");
    let Err(FindError::AmbiguousRun { candidates, .. }) = find("/a", "r0") else {
        panic!("two runs begin with r0");
    };
    assert_eq!(candidates, [names[1].clone(), names[0].clone()]);
    let unknown = find("/a", "x'; DROP TABLE run").unwrap_err();
    assert_eq!(unknown.to_string(), "there is no run `x'; DROP TABLE run`");
}

#[test]
async fn a_task_is_found_by_name_and_first_letters_without_case() {
    let house = TestLedger::new();
    let asked = run(&["auth", "Auth.tests", "billing"]);
    house.open(&asked).await;
    let find = |given| house.reader().find_task(asked.id, given).map(|row| row.name.to_string());
    assert_eq!(find("AUTH").unwrap(), "auth");
    assert_eq!(find("auth.").unwrap(), "Auth.tests");
    assert_eq!(find("b").unwrap(), "billing");
    assert_eq!(find("a").unwrap_err().to_string(), "`a` could be auth or Auth.tests");
    assert_eq!(
        find("x").unwrap_err().to_string(),
        "there is no task `x` in the run; its tasks are auth, Auth.tests or billing"
    );
    let name = "AUTH.TESTS".parse().unwrap();
    assert_eq!(
        house.reader().task_by_name(asked.id, &name).unwrap().unwrap().id,
        asked.tasks[1].id
    );
}

#[test]
async fn a_task_is_found_by_its_number_unless_it_could_be_another_one() {
    let house = TestLedger::new();
    let asked = run(&["fix-it", "t1-again", "lint", "t4-too"]);
    house.open(&asked).await;
    let find = |given| house.reader().find_task(asked.id, given).map(|row| row.name.to_string());
    assert_eq!(find("t3").unwrap(), "lint");
    assert_eq!(find("T4").unwrap(), "t4-too");
    assert_eq!(find("t2").unwrap(), "t1-again");
    assert_eq!(find("t1").unwrap_err().to_string(), "`t1` could be fix-it or t1-again");
    for unknown in ["t5", "t0", "t9999999999999999999999"] {
        assert!(
            find(unknown).unwrap_err().to_string().starts_with("there is no task"),
            "{unknown}"
        );
    }
}

#[test]
async fn where_tasks_are_named_by_numbers_as_in_a_retry_a_number_is_a_whole_name() {
    let house = TestLedger::new();
    let asked = run(&["t3", "t7", "lint", "t30"]);
    house.open(&asked).await;
    let find = |given| house.reader().find_task(asked.id, given).map(|row| row.name.to_string());
    for (given, name) in [("t3", "t3"), ("T7", "t7"), ("t30", "t30"), ("l", "lint")] {
        assert_eq!(find(given).unwrap(), name, "{given}");
    }
    // `t2` is the second task of this run under another name.
    for unknown in ["t1", "t2", "t4", "t03"] {
        let told = find(unknown).unwrap_err().to_string();
        assert!(told.starts_with("there is no task"), "{unknown}: {told}");
    }
    let asked = run(&["t70", "lint"]);
    house.open(&asked).await;
    let found = house.reader().find_task(asked.id, "t7");
    assert!(matches!(found, Err(FindError::UnknownTask { .. })), "another one begins like it");
}

#[test]
async fn a_task_is_found_by_its_item_or_a_part_of_it() {
    let house = TestLedger::new();
    let mut asked = run(&["src-a-rs", "src-b-rs", "t3", "same", "same-2"]);
    let items: [&[&str]; 5] =
        [&["src/a.rs"], &["lib/src/b.rs"], &["x", "src/c.rs"], &["y"], &["y"]];
    for (task, items) in asked.tasks.iter_mut().zip(items) {
        task.items = items.iter().map(|item| (*item).to_owned()).collect();
    }
    house.open(&asked).await;
    let find = |given| house.reader().find_task(asked.id, given).map(|row| row.name.to_string());
    let cases = [
        ("src/a.rs", "src-a-rs"),
        ("./src/a.rs", "src-a-rs"),
        ("a.rs", "src-a-rs"),
        ("src/b.rs", "src-b-rs"),
        ("lib/…/b.rs", "src-b-rs"),
        ("src/c.rs", "t3"),
        ("T3", "t3"),
        ("same", "same"),
    ];
    for (given, name) in cases {
        assert_eq!(find(given).unwrap(), name, "{given}");
    }
    let told = |given| find(given).unwrap_err().to_string();
    assert_eq!(told("src"), "`src` could be src-a-rs, src-b-rs or t3");
    assert_eq!(told("y"), "`y` could be same or same-2");
    assert!(
        told("z").ends_with("its tasks are src-a-rs, src-b-rs, t3, same or same-2"),
        "{}",
        told("z")
    );
}

#[test]
async fn tasks_can_be_read_without_what_they_yielded() {
    let house = TestLedger::new();
    let asked = run(&["a", "b"]);
    house.open(&asked).await;
    let end = LedgerEntry::TaskFinished { task: asked.tasks[0].id, report: Box::new(done(None)) };
    house.append(vec![end]).await.unwrap();
    let rows = house.reader().tasks_without_yields(asked.id).unwrap();
    let mut whole = house.reader().tasks(asked.id).unwrap();
    assert_ne!(rows, whole);
    let report = whole[0].report.as_mut().unwrap();
    report.outcome = protocol::Outcome::Done { value: serde_json::Value::Null };
    assert_eq!(rows, whole);
}

#[test]
async fn tasks_are_read_in_pages() {
    let house = TestLedger::new();
    let asked = run(&["a", "b", "c", "d", "e"]);
    house.open(&asked).await;
    let page = |skipped, limit| -> Vec<_> {
        let rows = house.reader().page_of_tasks(asked.id, skipped, limit).unwrap();
        rows.into_iter().map(|row| row.name.to_string()).collect()
    };
    assert_eq!(
        (page(0, 2), page(2, 2)),
        (vec!["a".into(), "b".into()], vec!["c".into(), "d".into()])
    );
    assert_eq!((page(4, 2), page(5, 2)), (vec!["e".to_owned()], vec![]));
}

#[test]
async fn a_landing_names_its_run_if_it_is_the_only_one() {
    let house = TestLedger::new();
    let asked = run(&["a"]);
    let name = house.open(&asked).await;
    let [one, other] = [(); 2].map(|()| LandingId::generate());
    let started = |id| LedgerEntry::LandingStarted { run: asked.id, landing: Some(id) };
    let of = |id| house.reader().run_of_landing(id).unwrap().map(|run| run.name);
    house.append(vec![started(one)]).await.unwrap();
    assert_eq!((of(one), of(other)), (Some(name), None));
    house.append(vec![started(other)]).await.unwrap();
    assert_eq!((of(one), of(other)), (None, None));
}

#[test]
async fn of_several_landings_of_a_task_the_last_stands() {
    let house = TestLedger::new();
    let asked = run(&["a", "b", "c", "d", "e"]);
    house.open(&asked).await;
    let side = Side { mode: 0o100_644, oid: "0".repeat(40) };
    let conflict = Conflict {
        path: RepoPath::new(b"src/\xff\n".to_vec()).unwrap(),
        reason: ConflictReason::Content,
        base: Some(side.clone()),
        ours: None,
        theirs: Some(side),
        with: Some(asked.tasks[0].name.clone()),
        renamed: None,
    };
    let joined = [&b"src/\xff"[..], b"list"].map(|path| RepoPath::new(path).unwrap()).to_vec();
    let first = [
        Landed::Landed { branch: Some("regatta/r1/a".to_owned()), joined },
        Landed::Unchanged,
        Landed::Conflicted { conflicts: vec![conflict] },
        Landed::Unwritten { message: "the disk is full".to_owned() },
        Landed::Waiting { on: vec![asked.tasks[2].name.clone()] },
    ];
    let report = |landed: &[Landed], skip| LandingReport {
        tasks: asked.tasks[skip..]
            .iter()
            .zip(landed)
            .map(|(task, landed)| TaskLanding::of(task.name.clone(), landed.clone()))
            .collect(),
    };
    let finish = |report| LedgerEntry::LandingFinished { run: asked.id, landing: None, report };
    house.append(vec![finish(report(&first, 0))]).await.unwrap();
    let landings = || -> Vec<_> {
        let tasks = house.reader().tasks(asked.id).unwrap();
        tasks.into_iter().map(|task| task.landing.unwrap()).collect()
    };
    assert_eq!(landings(), first);

    let again = Landed::Landed { branch: None, joined: Vec::new() };
    house.append(vec![finish(report(std::slice::from_ref(&again), 2))]).await.unwrap();
    assert_eq!(landings()[2], again);
    assert_eq!(landings()[3], first[3]);
    let named = house.reader().task_by_name(asked.id, &asked.tasks[3].name).unwrap();
    assert_eq!(named.map(|task| task.id), Some(asked.tasks[3].id));
}

#[test]
async fn the_runs_that_are_not_over_are_those_of_one_repository() {
    let house = TestLedger::new();
    let (over, open, mut elsewhere) = (run(&["a"]), run(&["a"]), run(&["a"]));
    elsewhere.repo = PathBuf::from("/home/ada/other");
    for asked in [&over, &open, &elsewhere] {
        house.open(asked).await;
    }
    house.append(vec![LedgerEntry::RunInterrupted { run: over.id }]).await.unwrap();
    let found = house.reader().open_runs(&open.repo).unwrap();
    assert_eq!(found.iter().map(|row| row.id).collect::<Vec<_>>(), [open.id]);
}

#[test]
async fn a_repository_whose_path_is_not_text_is_found_again() {
    let house = TestLedger::new();
    let mut asked = run(&["a"]);
    asked.repo = PathBuf::from(OsStr::from_bytes(b"/home/\xff\xfe"));
    asked.subfolder = PathBuf::from(OsStr::from_bytes(b"\xfe"));
    house.open(&asked).await;
    let rows = house.reader().runs(Some(&asked.repo), 1).unwrap();
    assert_eq!((&rows[0].repo, &rows[0].spec.subfolder), (&asked.repo, &asked.subfolder));
    let json = serde_json::to_value(&rows[0]).unwrap();
    assert_eq!(json["repo"], "/home/\u{fffd}\u{fffd}");
}

#[test]
async fn the_json_of_a_row_is_what_listings_print() {
    let house = TestLedger::new();
    let asked = run(&["a"]);
    let name = house.open(&asked).await;
    let capture = captured(&name, &asked.tasks[0], 1);
    let entry =
        LedgerEntry::TaskCaptured { task: asked.tasks[0].id, attempt: 1, captured: capture };
    house.append(vec![entry]).await.unwrap();
    let run = serde_json::to_value(&house.reader().runs(None, 1).unwrap()[0]).unwrap();
    assert_eq!(run["name"], name.as_str());
    assert_eq!(run["state"], "running");
    assert_eq!(run["tasks"]["all"], 1);
    assert_eq!(run["spec"]["isolation"], "worktree");
    assert_eq!(run["spec"]["jobs"], 4);
    let task = serde_json::to_value(&house.reader().tasks(asked.id).unwrap()[0]).unwrap();
    assert_eq!(task["captured"]["capture"], format!("refs/tasks/{name}/a/1"));
    assert_eq!(task["state"], "queued");
}

#[test]
fn the_runs_that_are_not_over_are_found_without_looking_at_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    drop(Ledger::open(&path, Faults::default()).unwrap());
    let ledger = rusqlite::Connection::open(&path).unwrap();
    let explained = format!("EXPLAIN QUERY PLAN {}", super::OPEN_RUNS);
    let plan: String = ledger.query_row(&explained, ["/repo"], |row| row.get(3)).unwrap();
    assert_eq!(plan, "SEARCH run USING INDEX run_open (repo=?)");
}
