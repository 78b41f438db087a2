//! Several runs and sessions in one engine.

use std::collections::BTreeMap;
use std::path::Path;

use actors::RunHandle;
use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, VariableChoice};
use protocol::{
    AgentEnd, EventKind, ExitCode, LedgerEntry, Message, RunName, SessionEntry, Totals,
};
use tests::fakes::{TestEngine, TestSession, agent, input, silent, task};

/// Waits for the end of so many runs, and returns what each came to.
async fn ends(engine: &mut TestEngine, runs: usize) -> BTreeMap<RunName, (Totals, ExitCode)> {
    let mut ends = BTreeMap::new();
    while ends.len() < runs {
        let event = engine.next().await;
        if let EventKind::RunFinished { totals, exit_code } = &event.kind {
            let run = event.run().expect("it is of a run").clone();
            ends.insert(run, (totals.clone(), *exit_code));
        }
    }
    ends
}

#[test(flavor = "multi_thread")]
async fn a_run_of_three_tasks_behind_one_of_a_thousand_is_not_starved() {
    let mut engine = TestEngine::with_concurrency(4).await;
    let tasks = (0..1000).map(|n| task(&format!("t{n}"), "wait")).collect();
    let large = engine.submit(engine.spec(tasks)).await;
    while engine.commands.running() < 4 {
        engine.next().await;
    }
    let tasks = (0..3).map(|n| task(&format!("s{n}"), "yield")).collect();
    let small = engine.submit(engine.spec(tasks)).await;
    // Ends the four that run, as often as it takes until the tasks of the small run are in the schedule.
    // Those of the large run that follow would wait again.
    let (totals, exit_code) = loop {
        let event = engine.next().await;
        match &event.kind {
            EventKind::RunFinished { totals, exit_code } if event.run() == Some(&small.name) => {
                break (totals.clone(), *exit_code);
            }
            _ if engine.commands.running() == 4 => engine.commands.release(),
            _ => {}
        }
    };
    assert_eq!((totals.landed, exit_code), (3, ExitCode::Success));
    engine.engine.controls(large.id).cancel(CancelLevel::AtOnce, Interruption::Terminate);
    let ended = ends(&mut engine, 1).await;
    let (totals, exit_code) = &ended[&large.name];
    assert_eq!(totals.done + totals.cancelled, 1000);
    assert!(totals.done < 200, "{} of the large run went before", totals.done);
    assert_eq!(*exit_code, ExitCode::Terminated);
    assert!(engine.commands.peak() <= 4);
}

#[test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_does_not_concern_the_one_beside_it() {
    let mut engine = TestEngine::with_concurrency(4).await;
    let tasks = |prefix: &str| (0..3).map(|n| task(&format!("{prefix}{n}"), "wait")).collect();
    let unwanted = engine.submit(engine.spec(tasks("u"))).await;
    let wanted = engine.submit(engine.spec(tasks("w"))).await;
    while engine.commands.running() < 4 {
        engine.next().await;
    }
    engine.engine.controls(unwanted.id).cancel(CancelLevel::Gently, Interruption::Interrupt);
    let ended = ends(&mut engine, 1).await;
    let (totals, exit_code) = &ended[&unwanted.name];
    assert_eq!((totals.cancelled, totals.landed), (3, 0));
    assert_eq!(*exit_code, ExitCode::Interrupted);
    while engine.commands.running() < 3 {
        engine.next().await;
    }
    engine.commands.release();
    let ended = ends(&mut engine, 1).await;
    let (totals, exit_code) = &ended[&wanted.name];
    assert_eq!((totals.done, totals.landed, *exit_code), (3, 3, ExitCode::Success));
    let [landing] = &engine.repository.landings()[..] else { panic!("one run lands") };
    assert_eq!(landing.run, wanted.name);
    assert_eq!(engine.engine.close().await, None);
    assert_eq!((engine.repository.leaked(), engine.repository.closed()), (0, 2));
}

#[test(start_paused = true)]
async fn the_events_of_a_run_are_its_own_and_end_with_it() {
    let mut engine = TestEngine::with_concurrency(4).await;
    let first = engine.submit(engine.spec(vec![task("one", "wait")])).await;
    let mut again = first.events();
    let second = engine.submit(engine.spec(vec![task("two", "yield")])).await;
    let _totals = ends(&mut engine, 1).await;
    engine.commands.release();
    let _totals = ends(&mut engine, 1).await;
    let late = first.events();
    for (name, events) in [
        (&first.name, &mut first.events()),
        (&first.name, &mut again),
        (&second.name, &mut second.events()),
    ] {
        let mut all = Vec::new();
        while let Some(event) = events.recv().await {
            assert_eq!(event.run(), Some(name));
            all.push(event);
        }
        assert!(matches!(all[0].kind, EventKind::RunStarted { .. }), "{all:?}");
        let last = all.last().map(|event| &event.kind);
        assert!(matches!(last, Some(EventKind::RunFinished { .. })), "{all:?}");
    }
    assert!(!late.is_empty(), "a reader of an ended run has what the other had not read");
    assert_eq!(engine.engine.close().await, None);
}

#[test(start_paused = true)]
async fn each_run_has_variables_of_its_own_and_no_keys_of_its_models() {
    let mut engine = TestEngine::with_concurrency(1).await;
    let mut spec = engine.spec(vec![task("command", "yield"), agent("agent", "yield 1")]);
    spec.pass_env = vec!["TOKEN".to_owned()];
    engine.submit(spec).await;
    engine.submit(engine.spec(vec![task("other", "yield")])).await;
    let _totals = ends(&mut engine, 2).await;
    let choice = |pass: &[&str], withhold: &[&str]| VariableChoice {
        pass: pass.iter().map(|&name| name.to_owned()).collect(),
        withhold: withhold.iter().map(|&name| name.to_owned()).collect(),
    };
    let of_first = choice(&["TOKEN"], &["fake_KEY"]);
    let expected = [of_first.clone(), of_first, choice(&[], &[])];
    let mut choices = engine.commands.choices();
    choices.iter_mut().for_each(|choice| choice.withhold.dedup());
    choices.sort_by_key(|choice| choice.pass.is_empty());
    assert_eq!(choices, expected);
    assert_eq!(engine.engine.close().await, None);
}

#[test(start_paused = true)]
async fn an_engine_closes_with_its_last_handle() {
    let engine = TestEngine::with_concurrency(1).await;
    let mut run = engine.submit(engine.spec(vec![task("one", "sleep")])).await;
    let other = engine.engine.clone();
    let (commands, ledger) = (engine.commands.clone(), engine.ledger.clone());
    while commands.running() == 0 {
        tokio::task::yield_now().await;
    }
    drop(engine);
    assert_eq!(commands.running(), 1, "there is another handle");
    drop(other);
    while run.recv().await.is_some() {}
    assert_eq!(commands.running(), 0);
    let is_end = |entry: &LedgerEntry| match entry {
        LedgerEntry::RunFinished { exit_code, .. } => Some(*exit_code),
        _ => None,
    };
    assert_eq!(ledger.entries().iter().find_map(is_end), Some(ExitCode::Terminated));
}

/// Where the log of the session is that works beside the runs.
const LOG: &str = "/sessions/beside.jsonl";

/// Starts two runs, each of a command that waits and an agent that calls a tool, and waits until
/// all are at work.
async fn two_runs(engine: &TestEngine, tools: [&str; 2]) -> [RunHandle; 2] {
    let tasks = |prefix: &str, tool: &str| {
        vec![
            task(&format!("{prefix}-command"), "wait"),
            agent(&format!("{prefix}-agent"), &format!("call {tool}; yield 1")),
        ]
    };
    let first = engine.submit(engine.spec(tasks("first", tools[0]))).await;
    let second = engine.submit(engine.spec(tasks("second", tools[1]))).await;
    until_at_work(engine, 2, 2).await;
    [first, second]
}

/// Waits until so many commands and tools run.
async fn until_at_work(engine: &TestEngine, commands: usize, tools: usize) {
    while (engine.commands.running(), engine.tools.running()) != (commands, tools) {
        tokio::task::yield_now().await;
    }
}

/// Returns what the log of the session has of what was said.
fn said(engine: &TestEngine) -> Vec<String> {
    let entries = engine.logs.at(Path::new(LOG));
    let messages = entries.iter().filter_map(SessionEntry::model_message);
    let texts = messages.map(|message| match message {
        Message::User(said) => said.text(),
        Message::Assistant(answer) => answer.text(),
        Message::ToolResult(result) => result.text(),
    });
    texts.collect()
}

#[test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_concerns_neither_the_run_nor_the_session_beside_it() {
    let mut engine = TestEngine::with_concurrency(4).await;
    let [unwanted, wanted] = two_runs(&engine, ["tidy", "wait"]).await;
    let mut it = TestSession::open(&engine, Path::new(LOG)).await;
    let words = "call wait; say one; say two; say three";
    it.session.prompt(input(words));
    until_at_work(&engine, 2, 3).await;
    engine.engine.controls(unwanted.id).cancel(CancelLevel::AtOnce, Interruption::Interrupt);
    it.session.steer(input("on we go"));
    it.settle().await;
    let ended = ends(&mut engine, 1).await;
    let (totals, exit_code) = &ended[&unwanted.name];
    assert_eq!((totals.cancelled, totals.landed, *exit_code), (2, 0, ExitCode::Interrupted));
    assert_eq!((engine.commands.running(), engine.tools.running()), (1, 2), "the others work on");

    engine.tools.release();
    assert_eq!(it.end().await, silent());
    it.session.prompt(input("and now"));
    assert_eq!(it.end().await, silent());
    engine.commands.release();
    let ended = ends(&mut engine, 1).await;
    let (totals, exit_code) = &ended[&wanted.name];
    assert_eq!((totals.done, totals.landed, *exit_code), (2, 2, ExitCode::Success));
    it.session.prompt(input("still there"));
    assert_eq!(it.end().await, silent());
    let expected =
        [words, "", "waited", "on we go", "one", "and now", "two", "still there", "three"];
    assert_eq!(said(&engine), expected);
    assert_eq!(engine.engine.close().await, None);
    assert_eq!((engine.repository.leaked(), engine.repository.closed()), (0, 2));
}

/// How the work of a session ends beside two runs.
#[derive(Clone, Copy, Debug)]
enum Farewell {
    Abort(CancelLevel),
    Close,
    /// It crashes each time that it is started again.
    Crash,
}

#[test(flavor = "multi_thread")]
async fn a_session_that_is_aborted_closed_or_crashes_does_not_concern_the_runs_beside_it() {
    let farewells = [
        Farewell::Abort(CancelLevel::Gently),
        Farewell::Abort(CancelLevel::AtOnce),
        Farewell::Close,
        Farewell::Crash,
    ];
    for farewell in farewells {
        let mut engine = TestEngine::with_concurrency(4).await;
        let runs = two_runs(&engine, ["wait", "wait"]).await;
        let mut it = TestSession::open(&engine, Path::new(LOG)).await;
        match farewell {
            Farewell::Abort(level) => {
                it.session.prompt(input("call tidy; say on"));
                until_at_work(&engine, 2, 3).await;
                it.session.abort(level);
                assert_eq!(it.end().await, AgentEnd::Aborted);
                it.session.prompt(input("go on"));
                assert_eq!(it.end().await, silent());
                assert_eq!(said(&engine).last().map(String::as_str), Some("on"));
            }
            Farewell::Close => {
                it.session.prompt(input("call tidy; say no"));
                until_at_work(&engine, 2, 3).await;
                it.session.close().await;
            }
            Farewell::Crash => {
                it.session.prompt(input("crash"));
                assert!(matches!(it.end().await, AgentEnd::Failed(_)));
                assert_eq!(it.next().await, None, "it is closed");
            }
        }
        assert_eq!((engine.commands.running(), engine.tools.running()), (2, 2), "{farewell:?}");
        engine.tools.release();
        engine.commands.release();
        let ended = ends(&mut engine, 2).await;
        for run in runs {
            let (totals, exit_code) = &ended[&run.name];
            let came = (totals.done, totals.landed, *exit_code);
            assert_eq!(came, (2, 2, ExitCode::Success), "{farewell:?}");
        }
        assert_eq!(engine.engine.close().await, None);
        assert_eq!((engine.repository.leaked(), engine.repository.closed()), (0, 2));
    }
}
