//! Nothing that a command starts outlives its task or its engine, however it hides and however the
//! engine or the launcher ends.

use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use test_limit::{InTime, Tries};
use tests::sandbox::{Plan, Process, Processes, User};

use super::escapes_kit::{GONE, PATIENCE, SIX, Scene, launcher, users};

/// How often each of these ends is tried, in quick and in full depth.
const TRIES: (u64, u64) = (1, 50);

/// How many bombs are tried.
const BOMBS: (u64, u64) = (1, 2);

/// How many times as long as a crowd of processes that are killed at once a bomb may live, on a busy
/// machine.
const CROWDS: u32 = 20;

/// What ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    EngineKilled,
    EngineTerminated,
    EnginePanicked,
    LauncherKilled,
    BothKilled,
}

/// Checks that nothing of the six is left a second after this death.
fn six_do_not_outlive(death: Death, user: Option<User>) {
    let scene = Scene::new(user);
    let plan = Plan::default().task("six", &format!("{SIX} : >$READY; exec sleep 600"));
    // The ledger panics when it records one of the tasks that follow each other after `go`. Before
    // that it has at most four entries for each of the first two.
    let gate = plan.clone().task("0", "until [ -e $GO ]; do sleep 0.01; done");
    let others = (1..=8).fold(gate, |plan, number: u32| {
        plan.task(&number.to_string(), "true").after(&[&(number - 1).to_string()])
    });
    let what = format!("{death:?}, {}", if user.is_some() { "ordinary user" } else { "own user" });
    let mut tries = Tries::new(TRIES.0, TRIES.1);
    while tries.go_on() {
        let engine = match death {
            Death::EnginePanicked => scene.run(&others).fault("crash@ledger.append:12").start(),
            _ => scene.start(&plan),
        };
        scene.appears("ready");
        assert!(!scene.is_free());
        let processes = Processes::below(engine.id());
        assert!(processes.len() >= 9, "the launcher, the reaper and seven: {processes:?}");
        let mut since = Instant::now();
        match death {
            Death::EngineKilled => drop(engine.kill()),
            Death::BothKilled => {
                launcher(&processes).signal(Signal::KILL);
                drop(engine.kill());
            }
            Death::EngineTerminated => {
                engine.signal(Signal::TERM);
                drop(engine.wait().expect_code(143));
                since = Instant::now();
            }
            Death::EnginePanicked => {
                std::fs::write(scene.file("go"), "").expect("it can be written");
                drop(engine.wait().expect_code(70));
                since = Instant::now();
            }
            Death::LauncherKilled => {
                launcher(&processes).signal(Signal::KILL);
                tries.count(&what, scene.all_gone(&processes, since));
                let finished = engine.wait().expect_code(5);
                let failure = &finished.task("six")["failure"];
                assert_eq!(failure["class"], "crashed", "{finished}");
                let message = failure["message"].as_str().unwrap_or_default();
                assert!(message.contains("launcher"), "{finished}");
                continue;
            }
        }
        tries.count(&what, scene.all_gone(&processes, since));
    }
    tries.report("R2", &what);
}

/// Does it as root, or as the user of the tests, and as an ordinary user; in quick depth as one of them,
/// another one for the next death.
fn for_both_users(death: Death, test: &str) {
    let mut users = users(test);
    let turn = death as usize % users.len();
    users.rotate_left(turn);
    test_limit::sample(users, 1).into_iter().for_each(|user| six_do_not_outlive(death, user));
}

#[test]
fn nothing_outlives_a_killed_engine() {
    for_both_users(Death::EngineKilled, "nothing_outlives_a_killed_engine");
}

#[test]
fn nothing_outlives_an_engine_that_is_asked_to_end() {
    for_both_users(Death::EngineTerminated, "nothing_outlives_an_engine_that_is_asked_to_end");
}

#[test]
fn nothing_outlives_an_engine_that_panics() {
    for_both_users(Death::EnginePanicked, "nothing_outlives_an_engine_that_panics");
}

#[test]
fn nothing_outlives_a_killed_launcher_and_its_task_fails_as_crashed() {
    for_both_users(
        Death::LauncherKilled,
        "nothing_outlives_a_killed_launcher_and_its_task_fails_as_crashed",
    );
}

#[test]
fn nothing_outlives_an_engine_and_a_launcher_killed_at_once() {
    for_both_users(Death::BothKilled, "nothing_outlives_an_engine_and_a_launcher_killed_at_once");
}

#[test]
fn what_a_task_leaves_behind_is_gone_before_its_work_is_captured() {
    let users = users("what_a_task_leaves_behind_is_gone_before_its_work_is_captured");
    for user in test_limit::sample(users, 1) {
        let scene = Scene::new(user);
        // A process that lives on writes into the workspace.
        let writes = "setsid sh -c 'until [ -e stop ]; do date +%N >late.txt; done' &";
        let plan = Plan::default().task("six", &format!("{SIX} {writes} echo done >>README.md"));
        let gate = scene.file("captures");
        let engine = scene.run(&plan).wait_at("capture.begin", &gate).start();
        scene.appears("captures");
        assert!(scene.is_free(), "{:?}", scene.place.processes().alive());
        let numbers = std::fs::read_to_string(scene.file("all")).unwrap();
        let left = |number: &&str| std::fs::exists(format!("/proc/{number}")).unwrap();
        assert_eq!(numbers.lines().filter(left).collect::<Vec<_>>(), Vec::<&str>::new());
        std::fs::remove_file(gate).unwrap();
        let finished = engine.wait().expect_code(0);
        assert!(scene.repository.text("README.md").ends_with("done\n"), "{finished}");
        scene.place.expect_nothing_left(&scene.repository);
    }
}

#[test]
fn a_bomb_of_forking_processes_is_gone_before_the_work_of_its_task_is_captured() {
    test_limit::raise(Duration::from_secs(300), "on a busy machine a bomb is long in the making");
    test_limit::alone("processes that fork for ever leave no processor to other tests");
    // Each has forked before the other lock is released, and they fork for ever at once. From then on
    // a fork may fail for want of process numbers, which ends a shell: the first of them forks no more.
    let bomb = r#"count=COUNT
        exec 9>>$HELD; flock -s 9; exec 8>gate; flock -x 8; : >forked; : >again
        i=0; while [ $i -lt $count ]; do
            setsid sh -c 'echo $$ >>$ALL; (: &); echo >>forked; flock -s gate true
                (: &); echo >>again; while :; do (: &); done' 8<&- &
            i=$((i + 1))
        done
        until [ $(cat forked | wc -l) -eq $count ]; do sleep 0.01; done
        exec 8<&-
        n=0; until [ $n -ge $((count / 4)) ]; do n=0; while read -r line; do n=$((n + 1)); done <again; done
        exec date +%s%N >$READY
    "#;
    let processes = test_limit::by_depth(60, 200);
    let bomb = bomb.replace("COUNT", &processes.to_string());
    let scene = Scene::new(None);
    let what = "a bomb";
    let mut tries = Tries::new(BOMBS.0, BOMBS.1);
    while tries.go_on() {
        let before = test_limit::crowd(processes);
        let mut engine = scene.start(&Plan::default().task("bomb", &bomb));
        engine.until_event("the capture", |event| event["phase"] == "capturing");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert!(scene.is_free(), "{:?}", scene.place.processes().alive());
        let ended = std::fs::read_to_string(scene.file("ready")).unwrap();
        let took = now.saturating_sub(Duration::from_nanos(ended.trim().parse().unwrap()));
        let crowd = before.max(test_limit::crowd(processes));
        tries.count(what, InTime::of(took, GONE, crowd * CROWDS));
        let finished = engine.wait().expect_code(0);
        assert_eq!(finished.task("bomb")["outcome"], "done");
    }
    tries.report("R2", what);
}

#[test]
fn a_launcher_that_does_not_answer_is_killed_and_started_again() {
    test_limit::raise(Duration::from_secs(240), "on a busy machine the next one is late, too");
    test_limit::waits("the launcher may take a while to answer");
    let scene = Scene::new(None);
    let waits = "until [ -e $GO ]; do sleep 0.01; done";
    // It waits for the other, though not as long as the launcher may take to answer.
    let meet = "echo >>$GO
        timeout 1 sh -c 'until [ $(cat $GO | wc -l) -eq 2 ]; do sleep 0.01; done'; true";
    let plan = Plan::default()
        .task("long", &format!("{SIX} : >$READY; exec sleep 600"))
        .task("first", waits)
        // One of them gets the reaper of `first`, the other needs a new one.
        .task("second", meet)
        .after(&["first"])
        .task("third", meet)
        .after(&["first"]);
    let engine = scene.start(&plan);
    scene.appears("ready");
    let processes = Processes::below(engine.id());
    launcher(&processes).signal(Signal::STOP);
    std::fs::write(scene.file("go"), "").unwrap();
    let finished = engine.wait().expect_code(3);
    assert_eq!(finished.task("long")["failure"]["class"], "crashed", "{finished}");
    assert_eq!(finished.task("first")["outcome"], "done", "{finished}");
    // On a very busy machine the one that was started with the old launcher dies with it.
    let done = |task: &&str| finished.task(task)["outcome"] == "done";
    assert_ne!(["second", "third"].iter().filter(|task| done(task)).count(), 0, "{finished}");
    let _late_on_a_busy_machine = scene.all_gone(&processes, Instant::now());
}

/// The memory that a process shares with no other, in bytes.
fn private_memory(process: &Process) -> u64 {
    let rollup =
        std::fs::read_to_string(format!("/proc/{}/smaps_rollup", process.id)).expect("it lives");
    let private = rollup.lines().filter(|line| line.starts_with("Private_"));
    let kilobytes = private.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.sum::<u64>() * 1024
}

#[test]
fn the_launcher_and_its_reapers_are_small_and_what_a_killed_reaper_has_left_is_killed() {
    let scene = Scene::new(None);
    let plan = Plan::default()
        .task("six", &format!("{SIX} : >$READY; exec sleep 600"))
        .task("other", "until [ -e $GO ]; do sleep 0.01; done");
    let engine = scene.start(&plan);
    scene.appears("ready");
    let processes = Processes::below(engine.id());
    let own = std::fs::read_to_string(scene.file("all")).expect("it is there");
    let own: Vec<i32> = own.lines().filter_map(|line| line.parse().ok()).collect();
    let reaper = processes.iter().find(|process| {
        let below = rustix::process::Pid::from_raw(process.id).map(Processes::below);
        process.id != launcher(&processes).id
            && below.is_some_and(|below| below.iter().any(|process| own.contains(&process.id)))
    });
    let reaper = reaper.expect("the six have a reaper");
    let memory = [launcher(&processes), reaper].map(private_memory);
    assert!(memory[0] <= 2_000_000, "the launcher has {memory:?} bytes");
    assert!(memory[1] <= 300_000, "the reaper has {memory:?} bytes");
    reaper.signal(Signal::KILL);
    let six: Vec<_> = processes.iter().filter(|process| own.contains(&process.id)).collect();
    assert_eq!(six.len(), 6, "{processes:?}");
    let gone = || !six.iter().any(|process| process.is_alive());
    assert!(test_limit::within(PATIENCE, gone), "{six:?}");
    std::fs::write(scene.file("go"), "").expect("it can be written");
    let finished = engine.wait().expect_code(3);
    let failure = &finished.task("six")["failure"];
    assert_eq!(failure["class"], "crashed", "{finished}");
    let message = failure["message"].as_str().expect("it has one");
    assert!(!message.contains("kept at"), "the launcher knows that all have ended: {message}");
    assert_eq!(finished.task("other")["outcome"], "done", "{finished}");
}

/// A model that starts the six, reads what became of its call, runs another command and yields.
const SCENARIO: &str = r#"
version = 1
[[turn]]
calls = [{ tool = "bash", arguments = { command = '''SIX''' } }]
[[turn]]
remember = { died = '(the launcher or the reaper of the command has died)' }
calls = [{ tool = "bash", arguments = { command = "echo still here" } }]
[[turn]]
remember = { ran = '(still here)' }
calls = [{ tool = "yield", arguments = { result = { data = "{{died}}, {{ran}}" } } }]
"#;

#[test]
fn an_agent_reads_that_the_launcher_died_and_goes_on() {
    let scene = Scene::new(None);
    let scenario = scene.place.folder().join("scenario.toml");
    let six = format!("{SIX} : >$READY; exec sleep 600");
    std::fs::write(&scenario, SCENARIO.replace("SIX", &six)).expect("it can be written");
    let plan = Plan::default()
        .agent("agent", "Start six.")
        .with(&format!("model = \"offline/{}\"", scenario.display()));
    let engine = scene.start(&plan);
    scene.appears("ready");
    let processes = Processes::below(engine.id());
    let killed = Instant::now();
    launcher(&processes).signal(Signal::KILL);
    let _late_on_a_busy_machine = scene.all_gone(&processes, killed);
    let finished = engine.wait().expect_code(0);
    let read = "the launcher or the reaper of the command has died, still here";
    assert_eq!(finished.task("agent")["yield"], read, "{finished}");
}
