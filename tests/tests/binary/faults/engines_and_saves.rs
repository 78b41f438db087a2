//! Two engines land in one repository while the user saves the same files, in every way in which
//! editors save.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use test_limit::Rounds;
use tests::fuzz::Random;
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// How many saves come close together, how close, and how long there are none then, so that work
/// lands in the same files.
const BURST: usize = 8;
const PAUSE: Duration = Duration::from_millis(4);
const REST: Duration = Duration::from_millis(100);

/// The files that the user saves, one in each way.
const FILES: [&str; 3] = ["appended.txt", "in-place.txt", "by-rename.txt"];

/// Each task changes a line of its own in every file, and a file that is never saved.
fn plan(engine: &str, round: usize) -> Plan {
    (0..4).fold(Plan::default(), |plan, task| {
        let at = 10 + task * 40 + if engine == "left" { 0 } else { 20 };
        let script = format!(
            "sed -i 's/^line {at}\\( .*\\|\\)$/line {at} {engine} {round}/' {}; echo {round} > {engine}-{task}.txt",
            FILES.join(" ")
        );
        plan.task(&format!("{engine}-{task}"), &script)
            .task(&format!("{engine}-{task}-alone"), &format!("echo {round} > {engine}-{task}-alone.txt"))
    })
}

/// Saves a line with `number` into each file.
fn save(repository: &Repository, number: usize) {
    let line = format!("saved {number}\n");
    let path = |name: &str| repository.path(name);
    let mut appended =
        OpenOptions::new().append(true).open(path(FILES[0])).expect("a file can be written");
    appended.write_all(line.as_bytes()).expect("a file can be written");
    // An editor that writes over the file, and one that writes a new file and renames it.
    let text = |name: &str| fs::read_to_string(path(name)).expect("the place has a plain name");
    fs::write(path(FILES[1]), format!("{line}{}", text(FILES[1]))).expect("a file can be written");
    let beside = path(".by-rename.txt.swp");
    fs::write(&beside, format!("{line}{}", text(FILES[2]))).expect("a file can be written");
    fs::rename(beside, path(FILES[2])).expect("a file can be written");
}

/// A version of a file that was kept when it turned out to be the user's.
struct Rescued {
    text: String,
    /// The name of the file in the tree, if it is kept there.
    file: Option<String>,
}

/// Returns what was rescued in these runs.
fn rescued(place: &Sandbox, repository: &Repository, runs: &[Finished]) -> Vec<Rescued> {
    let events = runs.iter().flat_map(|run| run.events_of("file_rescued"));
    let kept = |event: serde_json::Value| {
        let kept = &event["rescue"]["kept"];
        let text = |name: &str| kept[name].as_str().unwrap_or_else(|| panic!("{name} in {event}"));
        match text("in") {
            "tree" => {
                let file = text("file").to_owned();
                Rescued { text: repository.text(&file), file: Some(file) }
            }
            _ => Rescued { text: place.home().store_git(&["show", text("object")]), file: None },
        }
    };
    events.map(kept).collect()
}

#[test]
fn every_byte_that_the_user_saves_while_two_engines_land_is_there() {
    let rounds = Mutex::new(Rounds::new("engines_and_saves", 4, 50));
    let pauses = Mutex::new(Random::new(test_limit::seed()));
    let place = sandbox();
    let repository = place.repository().watched();
    for file in FILES {
        let lines: String = (1..=200).map(|line| format!("line {line}\n")).collect();
        repository.write(file, lines);
    }
    repository.commit("files");
    let dot_git = repository.dot_git();
    let (stop, stopped) = mpsc::channel::<()>();
    let (runs, saves) = thread::scope(|scope| {
        let saver = scope.spawn(|| {
            let stopped = stopped;
            let mut saves = 0;
            loop {
                save(&repository, saves);
                saves += 1;
                let percent = pauses.lock().expect("it does not panic").between(50, 150);
                let percent = u32::try_from(percent).expect("it is small");
                let pause = if saves % BURST == 0 { REST } else { PAUSE } * percent / 100;
                match stopped.recv_timeout(pause) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return saves,
                }
            }
        });
        let engines = ["left", "right"].map(|engine| {
            let (place, repository, rounds, pauses) = (&place, &repository, &rounds, &pauses);
            scope.spawn(move || {
                // The pauses of the saver are those of the round that has begun last.
                let has_next = |_: &usize| {
                    let seed = rounds.lock().ok().and_then(|mut it| it.next());
                    seed.map(|seed| pauses.lock().map(|mut it| *it = Random::new(seed))).is_some()
                };
                let run = |round| place.run_plan(repository, &plan(engine, round)).run();
                (0..).take_while(has_next).map(run).collect::<Vec<Finished>>()
            })
        });
        let runs: Vec<Finished> =
            engines.into_iter().flat_map(|engine| engine.join().unwrap()).collect();
        drop(stop);
        (runs, saver.join().unwrap())
    });
    let rescued = rescued(&place, &repository, &runs);
    for file in FILES {
        let text = repository.text(file);
        for number in 0..saves {
            let line = format!("saved {number}\n");
            let there = text.matches(&line).count();
            let kept = rescued.iter().any(|rescued| rescued.text.contains(&line));
            assert!(there == 1 || there == 0 && kept, "{line} is {there} times in {file}: {text}");
        }
    }
    for run in &runs {
        // What met a save is a conflict, which is kept; nothing else keeps work from landing.
        assert!([0, 4].contains(&run.code), "{run}");
        let landed = run.landed();
        let alone = landed.iter().filter(|task| task.ends_with("-alone")).count();
        assert_eq!(alone, 4, "{run}");
        let conflicted = run.names_in("task_conflicted").len();
        assert_eq!(landed.len() + conflicted, 8, "{run}");
        for event in run.events_of("task_conflicted") {
            for conflict in event["conflicts"].as_array().unwrap() {
                let path = conflict["path"].as_str().unwrap();
                assert!(FILES.contains(&path), "{run}");
            }
        }
    }
    assert_eq!(dot_git.differences(&repository.dot_git()), Vec::<String>::new());
    // What is kept in the tree has a name that says whose it is, and stays until the user removes it.
    for file in rescued.iter().filter_map(|rescued| rescued.file.as_ref()) {
        fs::remove_file(repository.path(file)).expect("it is there");
    }
    place.expect_nothing_left(&repository);
    let rounds = rounds.into_inner().expect("no engine panicked");
    rounds.done().report("R16", 4, "pairs of tasks of two engines while the user saves");
}
