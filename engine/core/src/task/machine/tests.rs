//! Every way through a task's life, without a runtime.

use std::sync::Arc;
use std::time::Instant;

use protocol::{
    AgentEnd, CaptureRef, ChangeDemand, ChangeSummary, Command, LeftOut, RunId, TaskId, TaskLimits,
    TaskSpec, Work,
};
use serde_json::json;

use super::*;
use crate::ports::{AnyValue, AttemptOutcome};
use crate::task::{ReminderPolicy, TaskStatus};

mod setup;

const GRACE: Duration = Duration::from_secs(2);

/// After how much time timers fire: a little later than they should.
const LATE: Duration = Duration::from_millis(61_250);

/// A task whose start is in the ledger, and which is being prepared.
fn task_with(contract: YieldContract, change: ChangeDemand, restarts: usize) -> TaskMachine {
    let command = Command { script: "true".to_owned(), item: None, arguments: Vec::new() };
    let spec = TaskSpec {
        id: TaskId::generate(),
        name: "t1".parse().unwrap(),
        title: "about t1".to_owned(),
        items: Vec::new(),
        work: Work::Command(command),
        depends_on: Vec::new(),
        priority: 0,
        change,
        schema: None,
        limits: TaskLimits { wall: Duration::from_secs(60), ..TaskLimits::default() },
        needs: protocol::TaskNeeds::default(),
    };
    let mut record = TaskRecord::queued(spec);
    let (run, task) = (RunId::generate(), record.spec.id);
    record.apply(&LedgerEntry::TaskStarted { run, task, attempt: 1 });
    let restarts = RestartBudget { restarts, window: Duration::from_secs(600) };
    let policy = WorkerPolicy { setup: SetupPolicy::None, restarts, grace: GRACE };
    let (task, effects) = TaskMachine::begin(record, contract, policy);
    assert_eq!(effects, [Effect::Prepare]);
    task
}

fn task() -> TaskMachine {
    task_restarted(0)
}

fn task_restarted(restarts: usize) -> TaskMachine {
    let contract = YieldContract::new(Arc::new(AnyValue), reminder_policy(1));
    task_with(contract, ChangeDemand::Optional, restarts)
}

fn reminder_policy(reminders: u8) -> ReminderPolicy {
    ReminderPolicy { reminders, ..ReminderPolicy::AGENT }
}

fn silent() -> AgentEnd {
    AgentEnd::Silent("it ended without a yield".to_owned())
}

fn session_started(task: &TaskMachine) -> LedgerEntry {
    let workspace = "/w/tree".to_owned();
    LedgerEntry::SessionStarted { task: task.record().spec.id, attempt: 1, workspace }
}

fn start_worker(reminder: Option<Reminder>) -> Effect {
    Effect::StartWorker { workspace: workspace(), attempt: 1, reminder }
}

/// Has the task start its worker, or start it again.
fn start(task: &mut TaskMachine, input: Input) -> Vec<Effect> {
    let entry = session_started(task);
    assert_eq!(task.step(input), [Effect::Record(entry.clone())]);
    assert_eq!(task.step(Input::Recorded(entry)), [Effect::LeaseExecutor]);
    task.step(Input::ExecutorLeased)
}

fn work(task: &mut TaskMachine) {
    let wall = Effect::StartTimer(Timer::Wall, Duration::from_secs(60));
    let effects = start(task, Input::Prepared(Ok(workspace())));
    assert_eq!(effects, [start_worker(None), wall]);
}

fn working() -> TaskMachine {
    let mut task = task();
    work(&mut task);
    task
}

fn workspace() -> Workspace {
    let task = "t1".parse().unwrap();
    Workspace { task, attempt: 1, folder: "/w".into(), root: "/w/tree".into() }
}

fn captured(files: u64) -> Captured {
    let run = "r0000".parse().unwrap();
    let changes = ChangeSummary { files, added: 1, removed: 0 };
    Captured::whole(CaptureRef::of(&run, &"t1".parse().unwrap(), 1), changes)
}

fn failure(class: FailureClass) -> Failure {
    Failure::new(class, "no")
}

#[expect(clippy::disallowed_methods, reason = "a test needs some instant to count from")]
fn crash(message: &str) -> Input {
    Input::WorkerCrashed { message: message.to_owned(), at: Instant::now() }
}

fn seal() -> Effect {
    Effect::Seal { deadline: SEAL_DEADLINE }
}

fn stop_effects(level: CancelLevel) -> [Effect; 3] {
    let stop_grace = Effect::StartTimer(Timer::StopGrace, GRACE + STOP_MARGIN);
    [Effect::AnnounceStopping, Effect::StopWorker(level), stop_grace]
}

/// Records the capture of a task and returns what follows.
fn record(task: &mut TaskMachine, captured: &Captured) -> Vec<Effect> {
    let id = task.record().spec.id;
    let entry = LedgerEntry::TaskCaptured { task: id, attempt: 1, captured: captured.clone() };
    let effects = task.step(Input::Captured(Ok(Some(captured.clone()))));
    assert_eq!(effects, [Effect::Record(entry.clone())]);
    assert_eq!(task.record().captured, None, "it is not durable yet");
    let effects = task.step(Input::Recorded(entry));
    assert_eq!(task.record().captured.as_deref(), Some(captured));
    effects
}

/// Takes a task whose session is over to its end and returns what it finishes with.
fn end_of(mut task: TaskMachine) -> Outcome {
    assert_eq!(task.step(Input::Sealed), [Effect::Capture, Effect::ReportWorkEnd]);
    let work = captured(1);
    let discard = Effect::Discard(workspace());
    assert_eq!(record(&mut task, &work), [Effect::AnnounceCapture(work), discard]);
    match task.step(Input::Discarded).pop() {
        Some(Effect::Finish(end, Some(_))) => end,
        other => panic!("expected a finish with a capture, got {other:?}"),
    }
}

#[test]
fn every_end_is_stopped_sealed_captured_discarded_then_reported() {
    let mut done = working();
    let yielded = Input::WorkerEnded(AgentEnd::Yielded(json!(1)));
    assert_eq!(done.step(yielded), [Effect::AnnounceYield, seal()]);
    assert_eq!(end_of(done), Outcome::Done { value: json!(1) });

    let mut failed = working();
    let ended = Input::WorkerEnded(AgentEnd::Failed(failure(FailureClass::Command)));
    assert_eq!(failed.step(ended), [seal()]);
    assert_eq!(end_of(failed), Outcome::Failed { failure: failure(FailureClass::Command) });

    let mut crashed = working();
    assert_eq!(crashed.step(crash("no")), [seal()]);
    assert_eq!(end_of(crashed), Outcome::Failed { failure: failure(FailureClass::Crashed) });

    let mut cancelled = working();
    let gently = CancelLevel::Gently;
    assert_eq!(cancelled.step(Input::Cancel(gently)), stop_effects(gently));
    assert_eq!(cancelled.step(Input::WorkerStopped), [seal()]);
    assert_eq!(end_of(cancelled), Outcome::Cancelled);

    let mut late = working();
    let limit = ReachedLimit::Wall { used: 61_250, most: 60_000 };
    let wall = Failure::new(FailureClass::Timeout, "wall 1m01s of 1m00s: it was stopped");
    let wall = wall.with(FailureDetail::Limit(limit));
    assert_eq!(late.step(Input::TimerFired(Timer::Wall, LATE)), stop_effects(gently));
    let yielded = Input::WorkerEnded(AgentEnd::Yielded(json!(1)));
    assert_eq!(late.step(yielded), [seal()]);
    assert_eq!(end_of(late), Outcome::Failed { failure: wall });
}

#[test]
fn a_workspace_that_cannot_be_captured_is_kept_and_a_success_is_none() {
    let mut task = working();
    task.step(Input::WorkerEnded(AgentEnd::Yielded(json!(1))));
    task.step(Input::Sealed);
    let effects = task.step(Input::Captured(Err(failure(FailureClass::Resources))));
    let [Effect::Finish(Outcome::Failed { failure }, None)] = effects.as_slice() else {
        panic!("nothing is discarded: {effects:?}");
    };
    assert_eq!(failure.class, FailureClass::Resources);
    assert_eq!(failure.message, "no; its workspace is kept at /w/tree");
}

#[test]
fn a_workspace_whose_writers_cannot_be_stopped_is_neither_captured_nor_discarded() {
    for (unsealed, why) in [
        (Unsealed::Late, "what it started was killed and did not stop within 30 s"),
        (Unsealed::Left(1), "one of the processes that it started could not be killed"),
        (Unsealed::Left(3), "3 of the processes that it started could not be killed"),
        (
            Unsealed::Unknown,
            "what watches over its processes was killed, and some of them may still run",
        ),
    ] {
        let mut task = working();
        task.step(Input::WorkerEnded(AgentEnd::Yielded(json!(1))));
        let effects = task.step(Input::NotSealed(unsealed));
        let [Effect::Finish(Outcome::Failed { failure }, None)] = effects.as_slice() else {
            panic!("nothing is captured, nothing is discarded: {effects:?}");
        };
        assert_eq!(failure.class, FailureClass::Workspace);
        let kept = "so nothing was captured; its workspace is kept at /w/tree";
        assert_eq!(failure.message, format!("{why}, {kept}"));
        assert_eq!(task.step(Input::Sealed), [], "it stops too late");
    }

    let mut late = working();
    late.step(Input::TimerFired(Timer::Wall, LATE));
    late.step(Input::WorkerStopped);
    let effects = late.step(Input::NotSealed(Unsealed::Late));
    let [Effect::Finish(Outcome::Failed { failure }, None)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(failure.class, FailureClass::Timeout, "it stays what it was");
}

#[test]
fn a_workspace_that_is_gone_is_not_said_to_be_kept_and_what_is_left_of_it_goes() {
    let mut task = working();
    task.step(Input::WorkerEnded(AgentEnd::Yielded(json!(1))));
    task.step(Input::Sealed);
    let gone = Failure { message: "it is gone".to_owned(), ..failure(FailureClass::Workspace) };
    assert_eq!(task.step(Input::Vanished(gone.clone())), [Effect::Discard(workspace())]);
    let end = Outcome::Failed { failure: gone };
    assert_eq!(task.step(Input::Discarded), [Effect::Finish(end, None)]);
}

#[test]
fn a_failure_stays_what_it_was_when_its_capture_fails_too() {
    let mut task = working();
    task.step(Input::WorkerEnded(AgentEnd::Failed(failure(FailureClass::Command))));
    task.step(Input::Sealed);
    let effects = task.step(Input::Captured(Err(failure(FailureClass::Workspace))));
    assert!(matches!(
        effects.as_slice(),
        [Effect::Finish(Outcome::Failed { failure }, None)] if failure.class == FailureClass::Command
    ));
}

#[test]
fn a_workspace_prepared_after_cancellation_is_discarded() {
    let mut task = task();
    assert_eq!(task.step(Input::Cancel(CancelLevel::AtOnce)), [Effect::AnnounceStopping]);
    assert_eq!(task.step(Input::Prepared(Ok(workspace()))), [Effect::Discard(workspace())]);
    assert_eq!(task.step(Input::Discarded), [Effect::Finish(Outcome::Cancelled, None)]);
}

#[test]
fn a_task_without_a_workspace_fails_with_its_class() {
    let refused = failure(FailureClass::Dependency);
    let expected = Effect::Finish(Outcome::Failed { failure: refused.clone() }, None);
    assert_eq!(task().step(Input::Prepared(Err(refused))), [expected]);
}

#[test]
fn a_silent_session_is_asked_again_then_breaks_its_contract() {
    let mut task = working();
    let effects = task.step(Input::WorkerEnded(silent()));
    let [Effect::AnnounceReminder(announced), Effect::Remind(again)] = effects.as_slice() else {
        panic!("it has a reminder left: {effects:?}");
    };
    assert_eq!(announced, again);
    assert_eq!(task.step(Input::WorkerEnded(silent())), [seal()]);
}

#[test]
fn an_empty_success_is_none_where_a_change_was_asked_for() {
    let contract = YieldContract::new(Arc::new(AnyValue), ReminderPolicy::COMMAND);
    let mut task = task_with(contract, ChangeDemand::Required, 0);
    work(&mut task);
    task.step(Input::WorkerEnded(AgentEnd::Yielded(json!(null))));
    task.step(Input::Sealed);
    let unchanged = AttemptOutcome::Failed(FailureClass::Contract);
    assert_eq!(task.outcomes(), Some([AttemptOutcome::Done, unchanged]));
    record(&mut task, &captured(0));
    assert!(matches!(
        task.step(Input::Discarded).as_slice(),
        [Effect::Finish(Outcome::Failed { failure }, Some(_))] if failure.class == FailureClass::Contract
    ));
}

#[test]
fn a_failure_of_the_account_keeps_the_place_of_its_task_until_its_end_is_known() {
    for (class, effects) in [
        (FailureClass::Auth, vec![Effect::Capture]),
        (FailureClass::Quota, vec![Effect::Capture]),
        (FailureClass::Refused, vec![Effect::Capture, Effect::ReportWorkEnd]),
    ] {
        let mut task = working();
        task.step(Input::WorkerEnded(AgentEnd::Failed(failure(class))));
        assert_eq!(task.step(Input::Sealed), effects, "{class:?}");
    }
}

#[test]
fn nothing_follows_the_finish() {
    let mut task = task();
    task.step(Input::Prepared(Err(failure(FailureClass::Workspace))));
    assert_eq!(task.step(Input::WorkerEnded(silent())), []);
    assert_eq!(task.step(Input::Cancel(CancelLevel::Gently)), []);
    assert_eq!(task.step(Input::Discarded), []);
}

#[test]
fn a_workspace_with_files_that_are_not_captured_is_kept() {
    let mut task = working();
    task.step(Input::WorkerEnded(AgentEnd::Yielded(json!(1))));
    assert_eq!(task.step(Input::Sealed), [Effect::Capture, Effect::ReportWorkEnd]);
    let left_out = LeftOut { total: 1, files: 1, ..LeftOut::default() };
    let part = Captured { left_out, ..captured(0) };
    let end = Effect::Finish(Outcome::Done { value: json!(1) }, Some(part.clone()));
    assert_eq!(record(&mut task, &part), [Effect::AnnounceCapture(part), end]);
}

#[test]
fn a_second_cancel_is_passed_on_if_it_is_more_urgent() {
    let mut task = working();
    let (gently, at_once) = (CancelLevel::Gently, CancelLevel::AtOnce);
    assert_eq!(task.step(Input::Cancel(gently)), stop_effects(gently));
    assert_eq!(task.step(Input::Cancel(gently)), []);
    assert_eq!(task.step(Input::Cancel(at_once)), [Effect::StopWorker(at_once)]);
    assert_eq!(task.step(Input::Cancel(gently)), []);
    assert_eq!(task.step(Input::TimerFired(Timer::Wall, LATE)), [], "it is stopping already");
    assert_eq!(task.step(Input::TimerFired(Timer::StopGrace, LATE)), [Effect::KillWorker]);
    assert_eq!(task.step(Input::WorkerStopped), [seal()]);
    assert_eq!(task.step(Input::TimerFired(Timer::StopGrace, LATE)), []);
    assert_eq!(end_of(task), Outcome::Cancelled);
}

#[test]
fn a_task_that_is_cancelled_before_its_worker_starts_starts_none() {
    for steps in 1..=2 {
        let mut task = task();
        let entry = session_started(&task);
        let mut inputs = [
            Input::Prepared(Ok(workspace())),
            Input::Recorded(entry.clone()),
            Input::ExecutorLeased,
        ]
        .into_iter();
        inputs.by_ref().take(steps).for_each(|input| drop(task.step(input)));
        let effects = task.step(Input::Cancel(CancelLevel::Gently));
        assert_eq!(effects, [Effect::AnnounceStopping], "there is nobody to stop");
        let last = inputs.next().expect("its worker has not started");
        assert_eq!(task.step(last), [seal()]);
        assert_eq!(end_of(task), Outcome::Cancelled);
    }
}

#[test]
fn a_worker_that_crashes_is_started_again_with_its_reminder_until_its_budget_is_spent() {
    let mut task = task_restarted(1);
    work(&mut task);
    let effects = task.step(Input::WorkerEnded(silent()));
    let Some(Effect::Remind(reminder)) = effects.last() else { panic!("{effects:?}") };
    let clear = Effect::CleanUpWorker { error: "once".to_owned(), deadline: SEAL_DEADLINE };
    assert_eq!(task.step(crash("once")), [clear]);
    assert!(!task.is_working());
    let effects = start(&mut task, Input::CleanedUp);
    assert_eq!(effects, [start_worker(Some(reminder.clone()))], "its wall clock runs already");
    assert_eq!(task.step(crash("twice")), [seal()]);
    assert_eq!(end_of(task), crashed("twice"));
}

#[test]
fn a_crash_whose_leftovers_do_not_stop_is_the_end() {
    let mut task = task_restarted(1);
    work(&mut task);
    task.step(crash("once"));
    assert_eq!(task.step(Input::NotCleanedUp), [seal()]);
    assert_eq!(end_of(task), crashed("it crashed, and its processes could not be stopped"));

    let mut task = task_restarted(1);
    work(&mut task);
    task.step(crash("once"));
    let effects = task.step(Input::Cancel(CancelLevel::AtOnce));
    assert_eq!(effects, [Effect::AnnounceStopping]);
    assert_eq!(task.step(Input::CleanedUp), [seal()], "it is not started again");
    assert_eq!(end_of(task), Outcome::Cancelled);
}

#[test]
fn nothing_is_started_that_the_ledger_does_not_have_and_captured_work_is_reported_all_the_same() {
    let mut task = task();
    task.step(Input::Prepared(Ok(workspace())));
    let entry = session_started(&task);
    assert_eq!(task.step(Input::NotRecorded(entry)), [seal()]);
    assert_eq!(task.record().workspace, None);
    task.step(Input::Sealed);
    let work = captured(1);
    let effects = task.step(Input::Captured(Ok(Some(work.clone()))));
    let [Effect::Record(entry)] = &effects[..] else { panic!("{effects:?}") };
    let effects = task.step(Input::NotRecorded(entry.clone()));
    assert_eq!(effects, [Effect::AnnounceCapture(work), Effect::Discard(workspace())]);
}

#[test]
fn the_record_of_a_task_is_the_fold_of_its_entries() {
    let mut task = working();
    assert_eq!(task.record().status, TaskStatus::Running);
    assert_eq!((task.attempt(), task.record().workspace.as_deref()), (1, Some("/w/tree")));
    let mut replayed = task.record().clone();
    task.step(Input::WorkerEnded(AgentEnd::Yielded(json!(1))));
    task.step(Input::Sealed);
    let work = captured(1);
    record(&mut task, &work);
    let id = task.record().spec.id;
    replayed.apply(&LedgerEntry::TaskCaptured { task: id, attempt: 1, captured: work });
    assert_eq!(*task.record(), replayed);
}
