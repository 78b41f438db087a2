//! The set-up of a workspace, before the worker.

use protocol::Conversation;

use super::*;

/// A task with a set-up that has begun, and a worker that may be restarted.
fn setting_up() -> TaskMachine {
    let mut task = task_restarted(1);
    task.policy.setup = SetupPolicy::Commands;
    let wall = Effect::StartTimer(Timer::Wall, Duration::from_secs(60));
    let effects = start(&mut task, Input::Prepared(Ok(workspace())));
    assert_eq!(effects, [Effect::SetUp(workspace()), wall]);
    assert!(task.is_setting_up() && !task.is_working());
    task
}

#[test]
fn the_worker_starts_when_the_setup_has_ended_and_the_wall_clock_runs_on() {
    let mut task = setting_up();
    assert_eq!(task.step(Input::SetupEnded(Ok(()))), [start_worker(None)]);
    assert!(task.is_working() && !task.is_setting_up());
}

#[test]
fn a_setup_that_fails_is_the_end_and_no_worker_starts() {
    let mut task = setting_up();
    let failed = failure(FailureClass::Command);
    assert_eq!(task.step(Input::SetupEnded(Err(failed.clone()))), [seal()]);
    assert_eq!(end_of(task), Outcome::Failed { failure: failed });
}

#[test]
fn a_setup_is_stopped_as_a_worker_is_and_its_end_seals_the_workspace() {
    for ended in [Ok(()), Err(failure(FailureClass::Command))] {
        let mut task = setting_up();
        let level = CancelLevel::Gently;
        assert_eq!(task.step(Input::Cancel(level)), stop_effects(level));
        assert_eq!(task.step(Input::SetupEnded(ended)), [seal()]);
        assert_eq!(end_of(task), Outcome::Cancelled);
    }
    let mut deaf = setting_up();
    deaf.step(Input::Cancel(CancelLevel::Gently));
    let grace_is_over = Input::TimerFired(Timer::StopGrace, LATE);
    assert_eq!(deaf.step(grace_is_over), [Effect::KillWorker]);
    assert_eq!(deaf.step(Input::WorkerStopped), [seal()]);
}

#[test]
fn a_setup_beyond_the_wall_limit_is_told_as_such() {
    let mut task = setting_up();
    task.step(Input::TimerFired(Timer::Wall, LATE));
    assert_eq!(task.step(Input::SetupEnded(Ok(()))), [seal()]);
    let Outcome::Failed { failure } = end_of(task) else { panic!("it took too long") };
    assert_eq!(failure.class, FailureClass::Timeout);
    assert_eq!(failure.message, "wall 1m01s of 1m00s: its set-up was stopped");
}

#[test]
fn the_set_up_of_a_conversation_has_the_wall_limit_and_its_user_has_none() {
    let talk = || {
        let mut task = task();
        task.policy.setup = SetupPolicy::Commands;
        task.record.spec.work = Work::Conversation(Conversation { log: "/s.jsonl".into() });
        let wall = Effect::StartTimer(Timer::Wall, Duration::from_secs(60));
        let effects = start(&mut task, Input::Prepared(Ok(workspace())));
        assert_eq!(effects, [Effect::SetUp(workspace()), wall]);
        task
    };
    let mut late = talk();
    let stopped = late.step(Input::TimerFired(Timer::Wall, LATE));
    assert_eq!(stopped, stop_effects(CancelLevel::Gently));
    let mut task = talk();
    task.step(Input::SetupEnded(Ok(())));
    assert_eq!(task.step(Input::TimerFired(Timer::Wall, LATE)), []);
    assert!(task.is_working());
}

#[test]
fn a_worker_that_is_started_again_finds_its_workspace_set_up() {
    let mut task = setting_up();
    task.step(Input::SetupEnded(Ok(())));
    let clear = task.step(crash("bug"));
    assert!(matches!(clear.as_slice(), [Effect::CleanUpWorker { .. }]), "{clear:?}");
    assert_eq!(start(&mut task, Input::CleanedUp), [start_worker(None)]);
}
