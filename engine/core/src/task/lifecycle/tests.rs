//! Every way through a task's life, without a runtime.

use protocol::{CaptureRef, ChangeSummary, LeftOut};
use serde_json::json;

use super::*;
use crate::ports::AnyValue;
use crate::task::Patience;

fn task() -> Lifecycle {
    Lifecycle::begin(YieldContract::new(Box::new(AnyValue), patience(1)), ChangeDemand::Optional).0
}

fn patience(reminders: u8) -> Patience {
    Patience { reminders, ..Patience::AGENT }
}

fn silent() -> SessionEnd {
    SessionEnd::Silent("it ended without a yield".to_owned())
}

fn working() -> Lifecycle {
    let mut task = task();
    assert_eq!(
        task.step(Input::Prepared(Ok(workspace()))),
        [Effect::RunSession(workspace(), None)]
    );
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

/// Takes a task whose session is over to its end and returns what it finishes with.
fn end_of(mut task: Lifecycle) -> Outcome {
    assert_eq!(task.step(Input::Sealed), [Effect::Capture(workspace())]);
    assert_eq!(task.step(Input::Captured(Ok(Some(captured(1))))), [Effect::Discard(workspace())]);
    match task.step(Input::Discarded).pop() {
        Some(Effect::Finish(end, Some(_))) => end,
        other => panic!("expected a finish with a capture, got {other:?}"),
    }
}

#[test]
fn every_end_is_stopped_sealed_captured_discarded_then_reported() {
    let mut done = working();
    let yielded = Input::SessionEnded(SessionEnd::Yielded(json!(1)));
    assert_eq!(done.step(yielded), [Effect::AnnounceYield, Effect::Seal(workspace())]);
    assert_eq!(end_of(done), Outcome::Done { value: json!(1) });

    let mut failed = working();
    let ended = Input::SessionEnded(SessionEnd::Failed(failure(FailureClass::Command)));
    assert_eq!(failed.step(ended), [Effect::Seal(workspace())]);
    assert_eq!(end_of(failed), Outcome::Failed { failure: failure(FailureClass::Command) });

    let mut crashed = working();
    assert_eq!(crashed.step(Input::SessionCrashed("no".into())), [Effect::Seal(workspace())]);
    assert_eq!(end_of(crashed), Outcome::Failed { failure: failure(FailureClass::Crashed) });

    let mut cancelled = working();
    assert_eq!(cancelled.step(Input::Cancel), [Effect::StopSession]);
    assert_eq!(cancelled.step(Input::SessionStopped), [Effect::Seal(workspace())]);
    assert_eq!(end_of(cancelled), Outcome::Cancelled);

    let mut late = working();
    let wall = failure(FailureClass::Timeout);
    assert_eq!(late.step(Input::WallReached(wall.clone())), [Effect::StopSession]);
    let yielded = Input::SessionEnded(SessionEnd::Yielded(json!(1)));
    assert_eq!(late.step(yielded), [Effect::Seal(workspace())]);
    assert_eq!(end_of(late), Outcome::Failed { failure: wall });
}

#[test]
fn a_workspace_that_cannot_be_captured_is_kept_and_a_success_is_none() {
    let mut task = working();
    task.step(Input::SessionEnded(SessionEnd::Yielded(json!(1))));
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
    let unsealed = || Input::NotSealed(failure(FailureClass::Workspace));
    let mut task = working();
    task.step(Input::SessionEnded(SessionEnd::Yielded(json!(1))));
    let effects = task.step(unsealed());
    let [Effect::Finish(Outcome::Failed { failure }, None)] = effects.as_slice() else {
        panic!("nothing is captured, nothing is discarded: {effects:?}");
    };
    assert_eq!(failure.class, FailureClass::Workspace);
    assert_eq!(failure.message, "no; its workspace is kept at /w/tree");
    assert_eq!(task.step(Input::Sealed), [], "it stops too late");

    let mut late = working();
    late.step(Input::WallReached(self::failure(FailureClass::Timeout)));
    late.step(Input::SessionStopped);
    let effects = late.step(unsealed());
    let [Effect::Finish(Outcome::Failed { failure }, None)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(failure.class, FailureClass::Timeout, "it stays what it was");
}

#[test]
fn a_workspace_that_is_gone_is_not_said_to_be_kept_and_what_is_left_of_it_goes() {
    let mut task = working();
    task.step(Input::SessionEnded(SessionEnd::Yielded(json!(1))));
    task.step(Input::Sealed);
    let gone = Failure { message: "it is gone".to_owned(), ..failure(FailureClass::Workspace) };
    assert_eq!(task.step(Input::Vanished(gone.clone())), [Effect::Discard(workspace())]);
    let end = Outcome::Failed { failure: gone };
    assert_eq!(task.step(Input::Discarded), [Effect::Finish(end, None)]);
}

#[test]
fn a_failure_stays_what_it_was_when_its_capture_fails_too() {
    let mut task = working();
    task.step(Input::SessionEnded(SessionEnd::Failed(failure(FailureClass::Command))));
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
    assert_eq!(task.step(Input::Cancel), [Effect::AbandonPreparing]);
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
    let effects = task.step(Input::SessionEnded(silent()));
    let [Effect::AnnounceReminder(complaint), Effect::RunSession(_, Some(again))] =
        effects.as_slice()
    else {
        panic!("it has a reminder left: {effects:?}");
    };
    assert_eq!(complaint, again);
    assert_eq!(task.step(Input::SessionEnded(silent())), [Effect::Seal(workspace())]);
}

#[test]
fn an_empty_success_is_none_where_a_change_was_asked_for() {
    let contract = YieldContract::new(Box::new(AnyValue), Patience::COMMAND);
    let mut task = Lifecycle::begin(contract, ChangeDemand::Required).0;
    task.step(Input::Prepared(Ok(workspace())));
    task.step(Input::SessionEnded(SessionEnd::Yielded(json!(null))));
    task.step(Input::Sealed);
    task.step(Input::Captured(Ok(Some(captured(0)))));
    assert!(matches!(
        task.step(Input::Discarded).as_slice(),
        [Effect::Finish(Outcome::Failed { failure }, Some(_))] if failure.class == FailureClass::Contract
    ));
}

#[test]
fn nothing_follows_the_finish() {
    let mut task = task();
    task.step(Input::Prepared(Err(failure(FailureClass::Workspace))));
    assert_eq!(task.step(Input::SessionEnded(silent())), []);
    assert_eq!(task.step(Input::Cancel), []);
    assert_eq!(task.step(Input::Discarded), []);
}

#[test]
fn a_workspace_with_files_that_are_not_captured_is_kept() {
    let mut task = working();
    task.step(Input::SessionEnded(SessionEnd::Yielded(json!(1))));
    assert_eq!(task.step(Input::Sealed), [Effect::Capture(workspace())]);
    let left_out = LeftOut { total: 1, files: 1, ..LeftOut::default() };
    let part = Captured { left_out, ..captured(0) };
    assert_eq!(task.step(Input::Captured(Ok(Some(part.clone())))), [Effect::Keep(workspace())]);
    let end = Outcome::Done { value: json!(1) };
    assert_eq!(task.step(Input::Kept), [Effect::Finish(end, Some(part))]);
}
