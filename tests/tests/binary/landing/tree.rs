//! The user at work while a run lands.

use std::fs::{File, FileTimes};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use serde_json::json;
use tests::sandbox::{Plan, Repository, Sandbox, eventually};

use crate::binary::sandbox_on_disk as sandbox;

/// Saves a file.
fn save(path: &Path, text: &str) {
    std::fs::write(path, text).expect("it can be written");
}

/// Saves a file and gives it the time that it had.
fn save_with_its_time(path: &Path, text: &str) {
    let modified = path.metadata().and_then(|meta| meta.modified()).expect("it has a time");
    save(path, text);
    let file = File::options().write(true).open(path).expect("it can be opened");
    file.set_times(FileTimes::new().set_modified(modified)).expect("a time can be set");
}

#[test]
fn a_save_at_the_moment_of_landing_survives_also_one_that_changes_neither_size_nor_time() {
    let place = sandbox();
    let repository = place.repository().watched();
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    repository.write("notes.txt", &lines);
    repository.commit("notes");
    for saved_line in ["line 39, saved just now\n", "LINE 39\n"] {
        let has_old_size = saved_line.len() == "line 39\n".len();
        let save = if has_old_size { save_with_its_time } else { save };
        repository.write("notes.txt", &lines);
        let plan = Plan::default().task("top", "sed -i 's/^line 2$/line two/' notes.txt");
        // Between the landing's last look at the file and its exchange.
        let gate = place.folder().join("gate");
        let run = place.run_plan(&repository, &plan).wait_at("landing.exchange", &gate);
        let running = run.start();
        eventually(Duration::from_secs(60), "the tree is about to change", || gate.exists());
        assert_eq!(repository.text("notes.txt"), lines);
        let saved = lines.replace("line 39\n", saved_line);
        save(&repository.path("notes.txt"), &saved);
        std::fs::remove_file(&gate).expect("it goes on then");
        let finished = running.wait().expect_code(0);
        let expected = saved.replace("line 2\n", "line two\n");
        assert_eq!(repository.text("notes.txt"), expected, "{saved_line}: {finished}");
        assert_eq!(finished.landed(), ["top"], "{finished}");
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn an_edit_of_the_user_during_the_run_is_merged_and_on_the_same_line_it_stays_and_the_work_is_kept()
{
    let place = sandbox();
    let repository = place.repository().watched();
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    repository.write("notes.txt", &lines);
    repository.write("colour.txt", "white\n");
    repository.commit("files");
    let merged = "sed -i 's/^line 2$/line two/' notes.txt
        sed -i 's/^line 39$/line 39 by the user/' \"$REGATTA_REPO/notes.txt\"";
    let same = "echo red > colour.txt; echo green > \"$REGATTA_REPO/colour.txt\"";
    let plan = Plan::default().task("merged", merged).task("same", same);
    let finished = place.run_plan(&repository, &plan).run().expect_code(4);
    assert_eq!(finished.landed(), ["merged"], "{finished}");
    let expected = lines.replace("line 2\n", "line two\n");
    let expected = expected.replace("line 39\n", "line 39 by the user\n");
    assert_eq!(repository.text("notes.txt"), expected, "{finished}");
    assert_eq!(repository.text("colour.txt"), "green\n");
    let conflict = &finished.events_of("task_conflicted")[0]["conflicts"][0];
    assert_eq!(conflict["path"], "colour.txt", "{finished}");
    let capture = format!("{}/same/1", finished.run_name());
    assert_eq!(place.home().captured(&capture, "colour.txt"), "red\n");
}

#[test]
fn a_head_that_moved_during_the_run_is_told_and_a_switch_with_both_branches() {
    let place = sandbox();
    let repository = place.repository();
    let script = "echo red > red.txt
        git -C \"$REGATTA_REPO\" commit --quiet --allow-empty --message moved";
    let finished = place.run_in(&repository).exec(script).run().expect_code(0);
    assert_eq!(repository.text("red.txt"), "red\n");
    let told = finished.events_of("degraded");
    assert!(told.iter().any(|event| event.to_string().contains("HEAD")), "{finished}");

    let script = "echo blue > blue.txt; git -C \"$REGATTA_REPO\" switch --quiet --create other";
    let run = place.regatta(repository.root()).words("run").exec(script);
    let finished = run.run().expect_code(0);
    assert_eq!(repository.text("blue.txt"), "blue\n");
    let told = "note: the branch was switched during the run: the work lands in the current tree";
    assert!(finished.stderr.contains(told), "{finished}");
    let told = finished.stderr.lines().find(|line| line.contains(told)).unwrap();
    assert!(told.contains("HEAD was main at ") && told.contains(" and is other at "), "{told}");
}

#[test]
fn a_landing_that_cannot_be_completed_is_named_and_later_work_is_kept_until_it_can() {
    let place = sandbox();
    let repository = place.repository().watched();
    for path in ["one.txt", "two.txt"] {
        repository.write(path, "white\n");
    }
    repository.commit("files");
    let script = "echo red > one.txt; echo red > two.txt";
    let run = place.run_in(&repository).exec(script).fault("kill@landing.exchange:2").run();
    let cut_short = run.expect_code(137).run_name();
    let all = "fail@landing.move:*";
    let later = place.run_in(&repository).exec("echo blue > three.txt").fault(all).run();
    let later = later.expect_code(4);
    let told = format!("cannot complete the landing of run {cut_short}, which was cut short: ");
    assert!(later.stdout.contains(&told), "{later}");
    assert!(!repository.has("three.txt"), "{later}");
    let _applied = place.regatta(repository.root()).words("apply").run().expect_code(0);
    let texts = ["one.txt", "two.txt", "three.txt"].map(|path| repository.text(path));
    assert_eq!(texts, ["red\n", "red\n", "blue\n"]);
    place.expect_nothing_left(&repository);
}

/// A task that writes `name` when [`take_turn`] lets it.
fn late_task(place: &Sandbox, name: &str) -> String {
    let folder = place.folder().display();
    format!("touch {folder}/began; until [ -e {folder}/go ]; do sleep 0.02; done; echo x > {name}")
}

/// Takes the turn to land once the task works, for a run waits for landings before it begins, and
/// lets the task go on.
fn take_turn(place: &Sandbox, repository: &Repository) -> File {
    let (began, go) = (place.folder().join("began"), place.folder().join("go"));
    eventually(Duration::from_secs(60), "the task works", || began.exists());
    let held = File::open(repository.path(".git")).expect("there is one");
    flock(&held, FlockOperation::LockExclusive).expect("nobody lands");
    std::fs::write(go, "").expect("a file can be written");
    held
}

/// Gives the turn back, and lets the next task wait.
fn give_turn_back(place: &Sandbox, held: &File) {
    flock(held, FlockOperation::Unlock).expect("it is locked");
    for name in ["began", "go"] {
        std::fs::remove_file(place.folder().join(name)).expect("it is there");
    }
}

#[test]
fn a_repository_that_another_engine_is_landing_in_is_waited_for_and_programs_are_told() {
    let place = sandbox();
    let repository = place.repository().watched();
    let mut running = place.run_in(&repository).exec(&late_task(&place, "x.txt")).start();
    let held = take_turn(&place, &repository);
    running.until("landing_waited");
    assert!(!repository.has("x.txt"), "nothing lands while another does");
    give_turn_back(&place, &held);
    let finished = running.wait().expect_code(0);
    assert_eq!(finished.landed(), ["t1"], "{finished}");
    assert_eq!(repository.text("x.txt"), "x\n");

    let run = place.regatta(repository.root()).words("run").exec(&late_task(&place, "y.txt"));
    let running = run.start();
    let held = take_turn(&place, &repository);
    landings_are_begun(&place, 2);
    give_turn_back(&place, &held);
    let finished = running.wait().expect_code(0);
    assert_eq!(repository.text("y.txt"), "x\n", "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn ctrl_c_while_a_landing_waits_its_turn_ends_the_run_at_once_lands_nothing_and_says_how_to_land() {
    let place = sandbox();
    let repository = place.repository().watched();
    let runs =
        [("once.txt", &["stopping: "][..]), ("twice.txt", &["stopping: ", "stopping at once"])];
    for (file, answers) in runs {
        let before = repository.tree();
        let mut running = place.run_in(&repository).exec(&late_task(&place, file)).start();
        let held = take_turn(&place, &repository);
        running.until("landing_waited");
        let began = Instant::now();
        for answer in answers {
            running.interrupt(answer);
        }
        // The other engine has its turn all the while.
        let finished = running.wait().expect_code(130);
        let took = began.elapsed();
        test_limit::took_at_most(took, Duration::from_secs(30), format!("{answers:?}: {finished}"));
        assert_eq!(finished.landed(), Vec::<String>::new(), "{finished}");
        assert_eq!(finished.names_in("task_kept"), Vec::<String>::new(), "{finished}");
        assert_eq!(finished.task("t1")["outcome"], "done", "{finished}");
        let last = finished.events().pop().unwrap();
        assert_eq!((&last["landed"], &last["kept"]), (&json!(0), &json!(1)));
        assert_eq!(before.differences(&repository.tree()), Vec::<String>::new());
        place.expect_nothing_left(&repository);
        give_turn_back(&place, &held);
        let run = finished.run_name();
        let applied = place.regatta(repository.root()).words("apply").arg(&run).run();
        let applied = applied.expect_code(0);
        assert_eq!(repository.text(file), "x\n", "{applied}");
    }
    // A person is told what to type.
    let begun = landings(&place);
    let run = place.regatta(repository.root()).words("run").exec(&late_task(&place, "told.txt"));
    let running = run.start();
    let held = take_turn(&place, &repository);
    landings_are_begun(&place, begun + 1);
    running.signal(Signal::INT);
    let finished = running.wait().expect_code(130);
    let told = finished.stdout.lines().find(|line| line.contains("regatta apply ")).map(str::trim);
    let line = told.unwrap_or_else(|| panic!("the line to type in {finished}"));
    assert!(line.ends_with("lands the work that is ready"), "{finished}");
    assert!(!repository.has("told.txt"), "{finished}");
    give_turn_back(&place, &held);
    let words =
        line.trim_end_matches("lands the work that is ready").trim().trim_start_matches("regatta ");
    let applied = place.regatta(repository.root()).words(words).run().expect_code(0);
    assert_eq!(repository.text("told.txt"), "x\n", "{applied}");
}

#[test]
fn ctrl_c_while_apply_waits_its_turn_lands_nothing_and_says_how_to_go_on() {
    let place = sandbox();
    let repository = place.repository().watched();
    let run = place.run_in(&repository).words("--merge none").exec("echo x > x.txt").run();
    let run = run.expect_code(0).run_name();
    let held = File::open(repository.path(".git")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let applying = place.regatta(repository.root()).words("apply").start();
    landings_are_begun(&place, 1);
    applying.signal(Signal::INT);
    let stopped = applying.wait().expect_code(130);
    for said in ["waits: another engine", "all of it is kept", &format!("regatta apply {run}\n")] {
        assert!(stopped.stderr.contains(said), "`{said}` in {stopped}");
    }
    assert_eq!(stopped.stdout, "", "{stopped}");
    assert!(!repository.has("x.txt"), "{stopped}");
    flock(&held, FlockOperation::Unlock).unwrap();
    let applied = place.regatta(repository.root()).words("apply").run().expect_code(0);
    assert_eq!(repository.text("x.txt"), "x\n", "{applied}");
    place.expect_nothing_left(&repository);
}

/// Returns how many landings the ledger knows.
fn landings(place: &Sandbox) -> usize {
    let query = "SELECT seq FROM transition WHERE type = 'landing_started'";
    place.home().ledger(query, |row| row.get::<_, i64>(0)).len()
}

/// Waits until the ledger knows that so many landings are begun.
fn landings_are_begun(place: &Sandbox, count: usize) {
    let are_begun = || landings(place) == count;
    eventually(Duration::from_secs(30), "the landing is begun", are_begun);
}

#[test]
fn a_read_only_tree_is_refused_before_anything_is_done() {
    let place = sandbox();
    let repository = place.repository().watched();
    // Root writes everywhere, so the tree is bound read-only over itself.
    let Err(why) =
        crate::binary::workspaces::disk::ReadOnly::over(repository.root()).map(|_bound| {
            let finished = place.run_in(&repository).exec("echo x > x.txt").run();
            finished.expect_refusal(&["read-only", "  try: "]);
        })
    else {
        return place.expect_nothing_left(&repository);
    };
    tests::sandbox::skip("a_read_only_tree_is_refused_before_anything_is_done", &why);
}

#[test]
fn apply_says_why_no_work_of_a_run_is_left_to_land() {
    let place = sandbox();
    let repository = place.repository().watched();
    let apply = |target: &str| {
        let words = format!("apply {target}");
        place.regatta(repository.root()).words(&words).run().expect_code(0).stdout
    };
    let _ran = place.run_in(&repository).exec("true").run().expect_code(0);
    assert!(apply("@").contains("nothing was changed"));

    let _ran = place.run_in(&repository).exec("echo x > x.txt").run().expect_code(0);
    assert!(apply("@").contains("everything of run"));
    assert!(apply("@/t1").contains("the work of task"));

    let kept = place.run_in(&repository).words("--merge none").exec("echo y > y.txt");
    let _kept = kept.run().expect_code(0);
    let _gone = place.regatta(repository.root()).words("discard @").run().expect_code(0);
    let said = apply("@");
    assert!(said.ends_with("is left to land: the rest was discarded\n"), "{said}");
    assert!(!repository.has("y.txt"));
}
