//! `regatta gc` removes what has landed, was discarded or never was, and nothing else.

use std::collections::BTreeSet;

use serde_json::Value;
use test_limit::{by_depth, sample};
use tests::made_tasks::{Fate, Made, add_tasks, packed_size, stored_size};

use super::gc_kit::{age, gc, has_log, is_sound, template, three_tasks};
use crate::binary::sandbox;

#[test]
fn what_has_landed_goes_and_what_failed_stays_with_its_log() {
    let place = sandbox();
    let repository = place.repository();
    let run = three_tasks(&place, &repository);
    let (tree, dot_git) = (repository.tree(), repository.dot_git());
    let patch = place.regatta(repository.root()).words("diff b").run().expect_code(0).stdout;

    let young = gc(&place, &repository, "").run().expect_code(0);
    assert!(young.stdout.contains("younger than the limit"), "{young}");
    assert_eq!(place.home().captures().len(), 3, "{young}");

    let dry = gc(&place, &repository, "--older-than 0s --dry-run").run().expect_code(0);
    assert!(dry.stdout.contains("would remove  2 captures"), "{dry}");
    assert_eq!(place.home().captures().len(), 3, "{dry}");

    let gone = gc(&place, &repository, "--older-than 0s --json").run().expect_code(0).json();
    let report = &gone["repositories"][0];
    assert_eq!(report["removed"]["captures"], 2, "{gone}");
    assert_eq!(report["kept"][0]["reason"], "unlanded", "{gone}");
    assert_eq!(report["kept"][0]["examples"][0], format!("{run}/b (failed: command)"), "{gone}");
    let outcomes: Vec<_> = report["tasks"].as_array().into_iter().flatten().collect();
    assert!(outcomes.iter().any(|task| task["outcome"] == "landed"), "{gone}");
    assert_eq!(place.home().captures(), [format!("{run}/b/1")]);
    assert_eq!((has_log(place.home(), &run, "a"), has_log(place.home(), &run, "b")), (false, true));
    assert!(
        place
            .home()
            .data()
            .parent()
            .is_some_and(|home| { home.join("state/logs").join(format!("{run}.log")).exists() })
    );
    is_sound(place.home());
    let store = &place.home().stores()[0];
    assert!(stored_size(store) <= 2 * packed_size(store), "{gone}");

    let again = place.regatta(repository.root()).words("diff b").run().expect_code(0).stdout;
    assert_eq!(patch, again);
    for words in ["diff a", "apply a --again", "logs a", "apply a --branch x", "undo a"] {
        let refused = place.regatta(repository.root()).words(words).run();
        refused.expect_refusal(&["any more", "it was collected", "regatta gc"]);
    }
    let shown = place.regatta(repository.root()).words("runs show").run().expect_code(0);
    assert!(shown.stdout.contains("its capture was collected"), "{shown}");
    assert!(!shown.stdout.contains("captured at refs/tasks/{run}/a"), "{shown}");
    assert_eq!((tree, dot_git), (repository.tree(), repository.dot_git()));

    // What was kept can land; then it goes as well, with all that is left of its run.
    let _landed = place.regatta(repository.root()).words("apply b").run().expect_code(0);
    let rest = gc(&place, &repository, "--older-than 0s").run().expect_code(0);
    assert!(rest.stdout.contains("removed  1 capture, 1 output of tasks, 1 log"), "{rest}");
    assert_eq!(place.home().captures(), Vec::<String>::new());
    let _listed = place.regatta(repository.root()).words("runs").run().expect_code(0);
    let run = place.run_in(&repository).exec("echo more > more.txt").run().expect_code(0);
    assert_eq!(run.landed(), ["t1"]);
}

#[test]
fn a_conflict_can_still_be_seen_and_settled_after_everything_else_has_gone() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("notes.txt", "first\nsecond\nthird\n");
    repository.commit("notes");
    // What is not committed is kept for conflicts, too: no reference leads to these versions.
    repository.write("notes.txt", "first\nsecond, edited\nthird\n");
    let plan = tests::sandbox::Plan::default()
        .task("ours", "sed -i 's/^second.*/ours/' notes.txt")
        .task("theirs", "sed -i 's/^second.*/theirs/' notes.txt; echo new > new.txt");
    let _run = place.run_plan(&repository, &plan).run().expect_code(4);
    let side = |side: &str| {
        let call = place.regatta(repository.root()).words("show @/theirs:notes.txt").arg(side);
        call.run().expect_code(0).stdout
    };
    let sides = || ["--base", "--ours", "--theirs"].map(side);
    let before = sides();
    assert!(before[1].contains("ours") && before[2].contains("theirs"), "{before:?}");
    let said = gc(&place, &repository, "--older-than 0s").run().expect_code(0);
    assert!(said.stdout.contains("removed  1 capture"), "{said}");
    assert_eq!(sides(), before);
    is_sound(place.home());
    let settled = place.regatta(repository.root()).words("apply @ theirs --theirs").run();
    let _settled = settled.expect_code(0);
    assert_eq!(repository.text("notes.txt"), "first\ntheirs\nthird\n");
    assert_eq!(repository.text("new.txt"), "new\n");
}

#[test]
fn what_a_resolver_wrote_stays_until_the_work_that_it_settles_has_landed() {
    let place = sandbox();
    let repository = place.repository().watched();
    for name in ["one.txt", "two.txt"] {
        repository.write(name, "first\n");
    }
    repository.commit("files");
    let change = |word: &str| format!("for file in one two; do echo {word} >> $file.txt; done");
    let plan = tests::sandbox::Plan::default()
        .task("ours", &change("ours"))
        .task("theirs", &change("theirs"));
    let run = place.run_plan(&repository, &plan).run().expect_code(4).run_name();
    let both = "cat \"$REGATTA_OURS\" \"$REGATTA_THEIRS\" > \"$REGATTA_RESULT\"";
    let apply = |words: &str| {
        place.regatta(repository.root()).words(words).words("--resolve").arg(both).run()
    };
    let _landed = apply("apply @ theirs --ours one.txt --timeout 59s").expect_code(0);
    let _undone = place.regatta(repository.root()).words("undo @").run().expect_code(0);
    let resolved = |captures: &[String]| captures.iter().any(|it| it.contains("theirs.resolve"));
    assert!(resolved(&place.home().captures()));
    let kept = gc(&place, &repository, "--older-than 0s --json").run().expect_code(0).json();
    let tasks = kept["repositories"][0]["tasks"].as_array().expect("a list").clone();
    let is_resolution = |task: &&Value| {
        task["captures"][0].as_str().is_some_and(|capture| capture.contains("resolve"))
    };
    let resolution = tasks.iter().find(is_resolution).expect("it is listed");
    assert_eq!(resolution["decision"], "kept", "{kept}");
    let of_task = tasks.iter().find(|task| task["task"] == "theirs" && !is_resolution(task));
    assert_eq!(of_task.expect("it is listed")["outcome"], "taken back", "{kept}");
    assert!(resolved(&place.home().captures()), "{kept}");

    let again = format!("apply {run}/theirs --again");
    let _again = place.regatta(repository.root()).words(&again).run().expect_code(0);
    let gone = gc(&place, &repository, "--older-than 0s").run().expect_code(0);
    assert!(!resolved(&place.home().captures()), "{gone}");
    is_sound(place.home());
}

#[test]
fn many_tasks_leave_a_small_store_with_every_unlanded_capture() {
    // Fewer where this program is not optimised.
    let many: u32 = by_depth(200, if cfg!(debug_assertions) { 2_000 } else { 10_000 });
    let place = sandbox();
    let repository = place.repository().watched();
    let run = template(&place, &repository);
    let fate = |number: u32| match number % 20 {
        0 => Fate::Failed,
        1 => Fate::Conflicted,
        2 => Fate::Discarded,
        _ => Fate::Landed,
    };
    let tasks: Vec<_> =
        (0..many).map(|number| Made::new(format!("b{number}"), fate(number))).collect();
    add_tasks(place.home(), &run, &tasks);
    let gone = gc(&place, &repository, "--older-than 0s --json").run().expect_code(0).json();
    // The task of the template has landed as well.
    assert_eq!(gone["repositories"][0]["removed"]["captures"], many / 20 * 18 + 1, "{gone}");
    let kept: BTreeSet<String> = place.home().captures().into_iter().collect();
    let unlanded = tasks.iter().filter(|task| task.is_unlanded());
    let expected: BTreeSet<_> = unlanded.map(|task| format!("{run}/{}/1", task.name)).collect();
    assert_eq!(kept, expected);
    is_sound(place.home());
    let store = &place.home().stores()[0];
    assert!(stored_size(store) <= 2 * packed_size(store), "{gone}");
    let _listed = place.regatta(repository.root()).words("runs").run().expect_code(0);
    let next = place.run_in(&repository).exec("echo next > next.txt").run().expect_code(0);
    assert_eq!(next.landed(), ["t1"]);
}

#[test]
fn a_size_takes_the_oldest_runs_first_and_never_what_has_not_landed() {
    let place = sandbox();
    let repository = place.repository().watched();
    let failed = place.run_in(&repository).exec("head -c 300000 /dev/urandom > x; exit 3").run();
    let failed = failed.expect_code(5).run_name();
    age(place.home(), &failed, 9);
    let mut runs = Vec::new();
    for number in 0..4 {
        let script = format!("head -c 300000 /dev/urandom > f{number}.bin");
        let run = place.run_in(&repository).exec(&script).run().expect_code(0).run_name();
        // What is not committed would be kept for the runs that begin with it.
        repository.commit(&run);
        age(place.home(), &run, 4 - number);
        runs.push(run);
    }
    let said = gc(&place, &repository, "--keep-size 1100KB --json").run().expect_code(0).json();
    assert!(said["bytes_after"].as_u64().is_some_and(|bytes| bytes <= 1_100_000), "{said}");
    let kept = place.home().captures();
    let expected =
        [format!("{}/t1/1", runs[2]), format!("{}/t1/1", runs[3]), format!("{failed}/t1/1")];
    assert_eq!(kept.into_iter().collect::<BTreeSet<_>>(), expected.into_iter().collect());
    let none = gc(&place, &repository, "--keep-size 1KB").run().expect_code(0);
    assert!(none.stdout.contains("the rest must stay"), "{none}");
    assert_eq!(place.home().captures(), [format!("{failed}/t1/1")]);
}

/// Random numbers that are the same in each call of the tests.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Whether a task builds on `on`, directly or indirectly.
fn builds_on(tasks: &[Made], task: &Made, on: &str) -> bool {
    task.depends_on.iter().any(|name| {
        name == on || tasks.iter().any(|other| other.name == *name && builds_on(tasks, other, on))
    })
}

#[test]
fn random_runs_lose_exactly_what_a_simple_model_says() {
    for seed in sample(1..=6, 1) {
        let mut dice = Dice(seed);
        let place = sandbox();
        let repository = place.repository().watched();
        let (mut expected, mut logs) = (BTreeSet::new(), BTreeSet::new());
        for _run in 0..3 {
            let run = template(&place, &repository);
            let mut tasks: Vec<Made> = Vec::new();
            for number in 0..8 {
                let fates = [
                    Fate::Landed,
                    Fate::Conflicted,
                    Fate::Failed,
                    Fate::Discarded,
                    Fate::Nothing,
                    Fate::Landed,
                ];
                let mut task = Made::new(format!("n{number}"), fates[dice.roll(6) as usize]);
                let earlier = tasks.iter().filter(|_| dice.roll(6) == 0);
                task.depends_on = earlier.map(|earlier| earlier.name.clone()).collect();
                tasks.push(task);
            }
            add_tasks(place.home(), &run, &tasks);
            let days = u32::try_from(dice.roll(20)).expect("it is small");
            age(place.home(), &run, days);
            let is_open = dice.roll(4) == 0;
            if is_open {
                place.home().change_ledger(&format!(
                    "UPDATE run SET state = 'interrupted' WHERE name = '{run}'"
                ));
            }
            tasks.push(Made::new("t1".to_owned(), Fate::Landed));
            for task in &tasks {
                let is_needed = tasks
                    .iter()
                    .any(|other| other.is_unlanded() && builds_on(&tasks, other, &task.name));
                if days < 10 || task.is_unlanded() || is_needed {
                    expected.insert(format!("{run}/{}/1", task.name));
                    logs.insert((run.clone(), task.name.clone()));
                }
            }
        }
        let said = gc(&place, &repository, "--older-than 10d").run().expect_code(0);
        let found: BTreeSet<_> = place.home().captures().into_iter().collect();
        assert_eq!(found, expected, "seed {seed}: {said}");
        for capture in &found {
            let (run, rest) = capture.split_once('/').expect("it has a run");
            let (task, _) = rest.split_once('/').expect("it has a task");
            assert!(logs.contains(&(run.to_owned(), task.to_owned())));
            assert!(task == "t1" || has_log(place.home(), run, task), "seed {seed}: {capture}");
        }
        is_sound(place.home());
    }
}

#[test]
fn what_the_ledger_does_not_know_stays() {
    let place = sandbox();
    let repository = place.repository().watched();
    let run = three_tasks(&place, &repository);
    let commit = place.home().store_git(&["rev-parse", &format!("refs/tasks/{run}/a/1")]);
    let odd = [
        "refs/tasks/rzzzz/t1/1".to_owned(),
        "refs/rescued/0123".to_owned(),
        format!("refs/tasks/{run}/b.resolve/1"),
    ];
    for name in &odd {
        let _made = place.home().store_git(&["update-ref", name, commit.trim()]);
    }
    let undo = format!("refs/undo/{run}/1");
    let _made = place.home().store_git(&["update-ref", &undo, commit.trim()]);
    let folder = place.home().data().join("artifacts/rzzzz/t1");
    std::fs::create_dir_all(&folder).expect("it can be made");
    let said = gc(&place, &repository, "--older-than 0s").run().expect_code(0);
    assert!(said.stdout.contains("that the ledger does not know"), "{said}");
    let list = || -> Vec<String> {
        let all = place.home().store_git(&["for-each-ref", "--format=%(refname)"]);
        all.lines().map(str::to_owned).collect()
    };
    for name in odd.iter().chain([&undo]) {
        assert!(list().contains(name), "{name} stays: {said}");
    }
    assert!(folder.exists());
    let refused: Value = gc(&place, &repository, "--dry-run --json").run().expect_code(0).json();
    assert_eq!(refused["unknown_runs"][0], "rzzzz");

    // Once all of its run is landed or discarded, everything of the run's name goes.
    let _thrown = place.regatta(repository.root()).words("discard").arg(&run).run().expect_code(0);
    let _said = gc(&place, &repository, "--older-than 0s").run().expect_code(0);
    let mut left = list();
    left.sort();
    assert_eq!(left, ["refs/rescued/0123", "refs/tasks/rzzzz/t1/1"]);
}
