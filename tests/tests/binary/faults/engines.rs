//! Two engines in one repository at once.

use test_limit::Rounds;
use tests::fuzz::Random;
use tests::sandbox::{Plan, Repository};

use crate::binary::sandbox;

/// Returns the plan of one engine: eight tasks, each of which writes a file of its own and inserts
/// a line at its own place of a file that both engines work on.
fn plan(engine: &str, round: usize) -> Plan {
    (0..8).fold(Plan::default(), |plan, task| {
        let at = 20 + task * 100 + if engine == "left" { 0 } else { 50 };
        let script = format!(
            "echo {engine} > {engine}-{round}-{task}.txt
             sed -i 's/^line {at}$/line {at} by {engine} in round {round}/' shared.txt"
        );
        plan.task(&format!("{engine}-{task}"), &script)
    })
}

fn expect_all(repository: &Repository, round: usize) {
    let shared = repository.text("shared.txt");
    for engine in ["left", "right"] {
        for task in 0..8 {
            let file = format!("{engine}-{round}-{task}.txt");
            assert_eq!(repository.text(&file), format!("{engine}\n"));
        }
        let mark = format!("by {engine} in round {round}\n");
        assert_eq!(shared.matches(&mark).count(), 8, "{mark}");
    }
}

/// Removes the files of a round.
fn remove_all(repository: &Repository, round: usize) {
    for engine in ["left", "right"] {
        for task in 0..8 {
            let file = repository.path(format!("{engine}-{round}-{task}.txt"));
            std::fs::remove_file(file).expect("it has landed");
        }
    }
}

#[test]
fn two_engines_land_in_one_repository_at_once_and_nothing_is_lost() {
    // Each round is eight pairs of landings that may meet.
    let mut rounds = Rounds::new("engines", 2, 125);
    let place = sandbox();
    let repository = place.repository().watched();
    let lines: String = (1..=900).map(|line| format!("line {line}\n")).collect();
    for (round, seed) in rounds.by_ref().enumerate() {
        let mut random = Random::new(seed);
        repository.write("shared.txt", &lines);
        if round > 0 {
            // The files of the last round would make each next one slower.
            remove_all(&repository, round - 1);
        }
        repository.commit("again");
        let dot_git = repository.dot_git();
        // In about every other round they share a home too.
        let is_shared = random.between(0, 1) == 0;
        let other = place.folder().join(if is_shared { "home" } else { "other-home" });
        let jobs = [(); 2].map(|()| format!("--jobs {}", random.between(1, 8)));
        let left = place.run_plan(&repository, &plan("left", round)).words(&jobs[0]).start();
        let right = place.run_plan(&repository, &plan("right", round)).words(&jobs[1]).home(&other);
        let right = right.start();
        for finished in [left.wait().expect_code(0), right.wait().expect_code(0)] {
            assert_eq!(finished.landed().len(), 8, "round {round}: {finished}");
        }
        expect_all(&repository, round);
        assert_eq!(dot_git.differences(&repository.dot_git()), Vec::<String>::new());
        assert_eq!(repository.faults(), "");
        assert!(place.home().ledger_is_sound());
        place.expect_nothing_left(&repository);
    }
    rounds.done().report("R16", 8, "pairs of tasks of two engines");
}

#[test]
fn two_engines_make_their_branches_in_one_repository_at_once() {
    let place = sandbox();
    let repository = place.repository();
    let lines: String = (1..=900).map(|line| format!("line {line}\n")).collect();
    repository.write("shared.txt", &lines);
    repository.commit("shared");
    let engines = ["left", "right"].map(|engine| {
        place.run_plan(&repository, &plan(engine, 0)).words("--merge branch").start()
    });
    for engine in engines {
        let finished = engine.wait().expect_code(0);
        let pattern = format!("refs/heads/regatta/{}", finished.run_name());
        assert_eq!(repository.git(&["for-each-ref", &pattern]).lines().count(), 8, "{finished}");
    }
    assert_eq!(repository.faults(), "");
    place.expect_nothing_left(&repository);
}

#[test]
fn many_tasks_get_their_workspaces_at_the_same_time_and_none_sees_anothers_work() {
    let tasks = test_limit::by_depth(16, 64);
    let place = sandbox();
    let repository = place.repository().watched();
    let meet = place.folder().join("meet");
    std::fs::create_dir(&meet).expect("a folder can be made");
    // Each waits until all of them are at work.
    let script = format!(
        "echo {{{{item}}}} > mine.txt; ls > files; : > {0}/{{{{item}}}}
         while [ $(ls {0} | wc -l) -lt {tasks} ]; do sleep 0.05; done
         [ $(cat mine.txt) = {{{{item}}}} ] && mv mine.txt mine-{{{{item}}}}.txt
         grep -c mine files > seen-{{{{item}}}}.txt; rm files; true",
        meet.display()
    );
    let items: String = (0..tasks).map(|item| format!("{item}\n")).collect();
    let run = place.run_in(&repository).words("--each -").stdin(items).exec(&script);
    let run = run.words(&format!("--jobs {tasks}")).run().expect_code(0);
    assert_eq!(run.landed().len(), tasks, "{run}");
    for item in 0..tasks {
        assert_eq!(repository.text(format!("mine-{item}.txt")), format!("{item}\n"));
        assert_eq!(repository.text(format!("seen-{item}.txt")), "1\n");
    }
    place.expect_nothing_left(&repository);
}
