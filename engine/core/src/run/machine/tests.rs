//! The course of a run, without a runtime: a test answers each effect as the engine would.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use protocol::{ExitCode, Landed, TaskLanding, TaskSpec};

use super::*;
use crate::run::ReplayCheck;
use crate::run::test_support::{captured, done, id, run, run_of, spec, started};

/// A run whose tasks continue or are cancelled when one of them fails.
fn with(on_failure: OnFailure, tasks: &[&str]) -> RunRecord {
    let mut record = run(tasks);
    record.spec.on_failure = on_failure;
    record
}

/// A run and what it asked for that is not answered.
struct Play {
    machine: RunMachine,
    check: ReplayCheck,
    open: VecDeque<Effect>,
    announced: Vec<EventKind>,
}

impl Play {
    fn new(record: RunRecord) -> Self {
        let check = ReplayCheck::new(record.clone());
        let machine = RunMachine::new(record);
        Self { machine, check, open: VecDeque::new(), announced: Vec::new() }
    }

    fn begin(record: RunRecord) -> Self {
        let mut play = Self::new(record);
        play.tell(Input::Begin(Vec::new()));
        play
    }

    /// Tells the run something; what it announces is noted, and the rest stays open.
    fn tell(&mut self, input: Input) {
        let entry = match &input {
            Input::Recorded(entry) => Some(entry.clone()),
            _ => None,
        };
        for effect in self.machine.step(input) {
            match effect {
                Effect::Announce(event) => self.announced.push(event),
                effect => self.open.push_back(effect),
            }
        }
        if let Some(entry) = entry {
            assert_eq!(self.check.check(&entry, self.machine.record()), Ok(()));
        }
    }

    /// Makes every entry durable that waits for it; other effects are returned.
    fn write(&mut self) -> Vec<Effect> {
        let mut others = Vec::new();
        while let Some(effect) = self.open.pop_front() {
            match effect {
                Effect::Record(entry) => self.tell(Input::Recorded(entry)),
                other => others.push(other),
            }
        }
        others
    }

    /// The entries that wait to be durable.
    fn entries(&self) -> Vec<LedgerEntry> {
        let entry = |effect: &Effect| match effect {
            Effect::Record(entry) => Some(entry.clone()),
            _ => None,
        };
        self.open.iter().filter_map(entry).collect()
    }

    fn id(&self, at: usize) -> TaskId {
        id(self.machine.record(), at)
    }

    /// Starts a task and writes that down.
    fn start(&mut self, at: usize) -> Vec<Effect> {
        self.tell(Input::Admitted(self.id(at)));
        self.write()
    }

    fn end(&mut self, at: usize, report: Box<TaskReport>) -> Vec<Effect> {
        self.tell(Input::TaskEnded(self.id(at), report));
        self.write()
    }

    /// Tells the run what who lands records at the beginning of its work.
    fn landing_starts(&mut self) -> Vec<Effect> {
        let run = self.machine.record().spec.id;
        self.tell(Input::Recorded(LedgerEntry::LandingStarted { run, landing: None }));
        self.write()
    }

    /// The same at its end.
    fn landing_ends(&mut self, report: LandingReport) -> Vec<Effect> {
        let run = self.machine.record().spec.id;
        self.tell(Input::Recorded(LedgerEntry::LandingFinished { run, landing: None, report }));
        self.write()
    }

    fn finish_landing(&mut self) -> Vec<Effect> {
        self.tell(Input::WorkspacesReleased { late: Vec::new(), ms: 7 });
        self.write()
    }
}

fn changed(task: &str) -> Box<TaskReport> {
    Box::new(done(Some(captured(task, 1))))
}

fn failed(class: FailureClass) -> Box<TaskReport> {
    unstarted(Outcome::Failed { failure: Failure::new(class, "no") })
}

#[test]
fn a_task_starts_and_its_end_is_announced_when_the_ledger_has_it() {
    let mut play = Play::begin(run(&["one"]));
    let one = play.id(0);
    let enqueued = play.write();
    assert!(matches!(&enqueued[..], [Effect::Enqueue(entries)] if entries.len() == 1));
    assert_eq!(play.announced.len(), 2, "the run, and its task");
    play.tell(Input::Admitted(one));
    assert_eq!(play.entries(), [started(play.machine.record(), 0)]);
    assert_eq!(play.announced.len(), 2);
    let starts = play.write();
    assert_eq!(starts, [Effect::StartTask { task: one, attempt: 1, predecessors: Vec::new() }]);
    play.tell(Input::Admitted(one));
    assert_eq!(play.write(), [], "it runs");

    let report = changed("one");
    play.tell(Input::TaskEnded(one, report.clone()));
    assert!(!play.announced.iter().any(|event| matches!(event, EventKind::TaskFinished { .. })));
    play.tell(Input::TaskEnded(one, report));
    assert_eq!(play.entries().len(), 1, "it ends once");
    let effects = play.write();
    let [Effect::Dequeue(_, TaskEnd::Succeeded), Effect::Land(request)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(request.tasks.len(), 1);
}

#[test]
fn a_run_lands_once_and_ends_with_what_it_came_to() {
    let mut play = Play::begin(run(&["one"]));
    play.write();
    play.start(0);
    play.end(0, changed("one"));
    let task = play.machine.record().tasks()[0].spec.name.clone();
    let landed = Landed::Landed { branch: None, joined: Vec::new() };
    let report = LandingReport { tasks: vec![TaskLanding::of(task, landed)] };
    assert_eq!(play.landing_starts(), []);
    assert_eq!(play.announced.last(), Some(&EventKind::LandingStarted { tasks: 1 }));
    assert_eq!(play.landing_ends(report), [Effect::ReleaseWorkspaces]);
    play.tell(Input::LandingCrashed("late".to_owned()));
    assert_eq!(play.write(), [], "it landed");
    assert_eq!(play.finish_landing(), [Effect::Close]);
    // Nobody waits for the removal of folders to see the result.
    let Some(EventKind::RunFinished { totals, exit_code }) = play.announced.last() else {
        panic!("{:?}", play.announced);
    };
    assert_eq!((totals.done, totals.landed, totals.ms), (1, 1, 7));
    assert_eq!(*exit_code, ExitCode::Success);
    play.tell(Input::Closed);
    assert_eq!(play.write(), [Effect::End]);
}

#[test]
fn a_cancel_reaches_who_lands_and_a_landing_that_had_not_begun_is_not_announced() {
    let cancel = || Input::Cancel(CancelLevel::Gently, Interruption::Interrupt);
    let begun = |mut play: Play| {
        play.write();
        play.start(0);
        assert!(matches!(play.end(0, changed("one"))[..], [_, Effect::Land(_)]));
        play
    };
    let mut before = begun(Play::begin(run(&["one"])));
    before.tell(cancel());
    assert_eq!(before.write(), [Effect::CancelLanding(CancelLevel::Gently)]);
    assert_eq!(before.landing_starts(), []);
    let is_landing = |event: &EventKind| matches!(event, EventKind::LandingStarted { .. });
    assert!(!before.announced.iter().any(is_landing), "{:?}", before.announced);
    assert_eq!(before.landing_ends(LandingReport::default()), [Effect::ReleaseWorkspaces]);

    let mut after = begun(Play::begin(run(&["one"])));
    after.landing_starts();
    after.tell(cancel());
    assert_eq!(after.write(), [Effect::CancelLanding(CancelLevel::Gently)]);
    after.tell(Input::LandingCrashed("no".to_owned()));
    assert_eq!(after.write(), [Effect::ReleaseWorkspaces]);
    assert!(matches!(after.announced.last(), Some(EventKind::TaskKept { .. })));

    let mut cancelled = Play::begin(run(&["one"]));
    cancelled.write();
    cancelled.start(0);
    cancelled.tell(cancel());
    cancelled.write();
    let effects = cancelled.end(0, changed("one"));
    assert!(matches!(effects[..], [_, Effect::ReleaseWorkspaces]), "{effects:?}");
}

#[test]
fn a_landing_whose_begin_is_not_recorded_is_none() {
    let mut play = Play::begin(run(&["one"]));
    play.write();
    play.start(0);
    play.end(0, changed("one"));
    let run = play.machine.record().spec.id;
    play.tell(Input::NotRecorded(LedgerEntry::LandingStarted { run, landing: None }));
    assert_eq!(play.write(), [Effect::ReleaseWorkspaces]);
}

#[test]
fn work_that_comes_to_light_late_is_recorded_before_the_end() {
    let mut play = Play::begin(run(&["one"]));
    play.write();
    play.start(0);
    assert_eq!(play.end(0, failed(FailureClass::Crashed)).pop(), Some(Effect::ReleaseWorkspaces));
    let name = play.machine.record().tasks()[0].spec.name.clone();
    play.tell(Input::WorkspacesReleased { late: vec![(name, captured("one", 3))], ms: 1 });
    let entries = play.entries();
    assert!(matches!(entries[..], [LedgerEntry::TaskCaptured { attempt: 1, .. }]), "{entries:?}");
    assert_eq!(play.write(), [Effect::Close]);
    let RunRecord { status: crate::run::RunStatus::Finished { totals, .. }, .. } =
        play.machine.record()
    else {
        panic!("it is over");
    };
    assert_eq!((totals.failed, totals.kept), (1, 1));
}

#[test]
fn a_cancel_ends_what_waits_stops_what_runs_and_is_passed_on_again_if_it_is_more_urgent() {
    let mut play = Play::begin(run(&["running", "admitted", "waiting"]));
    play.write();
    play.start(0);
    play.tell(Input::Admitted(play.id(1)));
    let (running, gently) = (play.id(0), CancelLevel::Gently);
    play.tell(Input::Cancel(gently, Interruption::Interrupt));
    let ended = |entry: &LedgerEntry| matches!(entry, LedgerEntry::TaskFinished { .. });
    assert_eq!(play.entries().iter().filter(|entry| ended(entry)).count(), 2);
    let effects = play.write();
    assert!(effects.contains(&Effect::CancelTask(running, gently)));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::StartTask { .. })));
    play.tell(Input::Cancel(gently, Interruption::Terminate));
    assert_eq!(play.write(), [Effect::CancelLanding(CancelLevel::Gently)]);
    play.tell(Input::Cancel(CancelLevel::AtOnce, Interruption::Terminate));
    let again = Effect::CancelTask(running, CancelLevel::AtOnce);
    assert_eq!(play.write(), [Effect::CancelLanding(CancelLevel::AtOnce), again]);
    play.end(0, unstarted(Outcome::Cancelled));
    play.finish_landing();
    play.tell(Input::Closed);
    let Some(EventKind::RunFinished { exit_code, .. }) = play.announced.last() else {
        panic!("{:?}", play.announced);
    };
    assert_eq!(*exit_code, ExitCode::Interrupted, "the first reason counts");
}

#[test]
fn the_end_of_one_task_cancels_the_rest_where_that_was_asked_for() {
    let cases = [
        (OnFailure::Continue, FailureClass::Crashed, 0),
        (OnFailure::Continue, FailureClass::Command, 0),
        (OnFailure::CancelTheRest, FailureClass::Crashed, 1),
        (OnFailure::CancelTheRest, FailureClass::Command, 1),
    ];
    for (on_failure, class, expected) in cases {
        let mut play = Play::new(with(on_failure, &["one", "two"]));
        play.tell(Input::Begin(Vec::new()));
        play.write();
        play.start(0);
        let effects = play.end(0, failed(class));
        let left = effects.iter().filter(|effect| matches!(effect, Effect::Dequeue(..))).count();
        assert_eq!(left, 1 + expected, "{on_failure:?} {class}");
    }
}

#[test]
fn a_task_that_asks_lends_its_permit_unless_as_many_do_as_may_run_and_goes_on_with_a_permit() {
    let mut record = run(&["one", "two", "three"]);
    record.spec.jobs = NonZeroUsize::MIN;
    let mut play = Play::begin(record);
    play.write();
    let [one, two, three] = [0, 1, 2].map(|at| play.id(at));
    for at in 0..3 {
        play.start(at);
    }
    for (input, expected) in [
        (Input::Waits(one, WaitsFor::Answer), &[Effect::LendPermit(one)][..]),
        (Input::Waits(two, WaitsFor::Answer), &[]),
        (Input::WaitEnded(two, WaitsFor::Answer), &[Effect::Continue(two)]),
        (Input::WaitEnded(one, WaitsFor::Answer), &[Effect::ReclaimPermit(one)]),
        (Input::Waits(three, WaitsFor::Answer), &[Effect::LendPermit(three)]),
        (Input::PermitReturned(one), &[Effect::Continue(one)]),
        (Input::PermitReturned(one), &[]),
    ] {
        let shown = format!("{input:?}");
        play.tell(input);
        assert_eq!(play.write(), expected, "{shown}");
    }
    play.end(2, changed("three"));
    play.tell(Input::Waits(three, WaitsFor::Answer));
    assert_eq!(play.write(), [], "it has ended");
    play.tell(Input::Waits(one, WaitsFor::Answer));
    assert_eq!(play.write(), [Effect::LendPermit(one)], "the third lends no permit any more");
}

#[test]
fn a_task_lends_its_permit_until_the_subagents_of_all_its_calls_have_ended() {
    let mut record = run(&["one", "two", "three"]);
    record.spec.jobs = NonZeroUsize::MIN;
    let mut play = Play::begin(record);
    play.write();
    let [one, two] = [0, 1].map(|at| play.id(at));
    play.start(0);
    play.start(1);
    let (calls, answer) = (WaitsFor::Subagents, WaitsFor::Answer);
    for (input, expected) in [
        (Input::Waits(one, calls), &[Effect::LendPermit(one)][..]),
        (Input::Waits(one, calls), &[]),
        (Input::Waits(two, answer), &[]),
        (Input::Waits(two, calls), &[Effect::LendPermit(two)]),
        (Input::WaitEnded(one, calls), &[Effect::Continue(one)]),
        (Input::WaitEnded(one, calls), &[Effect::ReclaimPermit(one)]),
        (Input::Waits(one, calls), &[]),
        (Input::PermitReturned(one), &[Effect::Continue(one), Effect::LendPermit(one)]),
        (Input::WaitEnded(one, calls), &[Effect::ReclaimPermit(one)]),
        (Input::PermitReturned(one), &[Effect::Continue(one)]),
        (Input::WaitEnded(two, answer), &[Effect::Continue(two)]),
        (Input::WaitEnded(two, calls), &[Effect::ReclaimPermit(two)]),
    ] {
        let shown = format!("{input:?}");
        play.tell(input);
        assert_eq!(play.write(), expected, "{shown}");
    }
}

#[test]
fn what_the_ledger_does_not_have_is_not_started_and_what_was_begun_is_seen_through() {
    let mut play = Play::begin(run(&["one", "two"]));
    play.write();
    play.start(0);
    play.tell(Input::Admitted(play.id(1)));
    play.tell(Input::Cancel(CancelLevel::Gently, Interruption::Terminate));
    play.tell(Input::TaskEnded(play.id(0), changed("one")));
    let mut others = Vec::new();
    while let Some(effect) = play.open.pop_front() {
        match effect {
            Effect::Record(entry) => play.tell(Input::NotRecorded(entry)),
            other => others.push(other),
        }
    }
    assert!(others.contains(&Effect::ReleaseWorkspaces), "{others:?}");
    assert!(!others.iter().any(|effect| matches!(effect, Effect::StartTask { .. })));
    let ends = |event: &&EventKind| matches!(event, EventKind::TaskFinished { .. });
    assert_eq!(play.announced.iter().filter(ends).count(), 2);
}

#[test]
fn a_run_that_cannot_be_recorded_ends_without_success_and_stops_what_runs_for_lack_of_room() {
    let code = |play: &Play| match play.announced.last() {
        Some(EventKind::RunFinished { exit_code, .. }) => *exit_code,
        other => panic!("{other:?}"),
    };
    let lose = |play: &mut Play| {
        while let Some(effect) = play.open.pop_front() {
            match effect {
                Effect::Record(entry) => play.tell(Input::NotRecorded(entry)),
                Effect::ReleaseWorkspaces => {
                    play.tell(Input::WorkspacesReleased { late: Vec::new(), ms: 7 });
                }
                Effect::Land(request) => panic!("{request:?} cannot be recorded"),
                _ => {}
            }
        }
    };
    let begin = |tasks: &[&str]| {
        let mut play = Play::begin(run(tasks));
        play.write();
        (0..tasks.len()).for_each(|at| drop(play.start(at)));
        play
    };
    // It is the end of the last task that is lost: it is reported as the next start records it.
    let mut play = begin(&["one"]);
    play.tell(Input::TaskEnded(play.id(0), changed("one")));
    lose(&mut play);
    assert_eq!(code(&play), ExitCode::NoSuccess);
    let told = play.announced.iter().find_map(|event| match event {
        EventKind::TaskFinished { report, .. } => Some(report),
        _ => None,
    });
    let told = told.expect("it is told");
    assert!(
        matches!(&told.outcome, Outcome::Failed { failure }
        if failure.class == FailureClass::Resources),
        "{told:?}"
    );
    assert!(told.captured.is_some(), "{told:?}");
    // It is the end of the run.
    let mut play = begin(&["one"]);
    play.end(0, Box::new(done(None)));
    play.tell(Input::WorkspacesReleased { late: Vec::new(), ms: 7 });
    lose(&mut play);
    assert_eq!(code(&play), ExitCode::Partial);
    // The engine is closed, because it knows that there is no room, or that it has a bug.
    for (why, then) in
        [(Interruption::Resources, ExitCode::NoSuccess), (Interruption::Bug, ExitCode::Bug)]
    {
        let mut play = begin(&["fails", "runs"]);
        play.tell(Input::TaskEnded(play.id(0), failed(FailureClass::Command)));
        lose(&mut play);
        play.tell(Input::Cancel(CancelLevel::Gently, why));
        play.tell(Input::TaskEnded(play.id(1), unstarted(Outcome::Cancelled)));
        lose(&mut play);
        assert_eq!(code(&play), then);
        let runs = play.machine.record().tasks()[1].report().expect("it has ended");
        let class = match &runs.outcome {
            Outcome::Failed { failure } => Some(failure.class),
            Outcome::Done { .. } | Outcome::Cancelled => None,
        };
        let expected = (why == Interruption::Resources).then_some(FailureClass::Resources);
        assert_eq!(class, expected);
    }
}

#[test]
fn a_run_that_is_taken_up_again_goes_on_with_what_had_not_ended() {
    let tasks = vec![spec("done", &[]), spec("bad", &[]), spec("cut", &["done"])];
    let mut record = run_of([tasks, vec![spec("never", &["bad"])]].concat());
    let finished = |at, report| LedgerEntry::TaskFinished { task: id(&record, at), report };
    let entries = [
        started(&record, 0),
        finished(0, changed("done")),
        finished(1, failed(FailureClass::Command)),
        started(&record, 2),
    ];
    entries.iter().for_each(|entry| record.apply(entry));
    let mut play = Play::begin(record);
    let effects = play.write();
    let Effect::Enqueue(entries) = &effects[0] else { panic!("{effects:?}") };
    let queued: Vec<_> = entries.iter().map(|entry| (entry.task, entry.depends_on.len())).collect();
    assert_eq!(queued, [(play.id(2), 0)], "what it builds on is done");
    assert_eq!(effects[1], Effect::Dequeue(play.id(3), TaskEnd::NotSucceeded));
    let again = play.start(2);
    let Some(Effect::StartTask { attempt: 2, predecessors, .. }) = again.last() else {
        panic!("{again:?}");
    };
    assert_eq!(predecessors.len(), 1);
    let effects = play.end(2, changed("cut"));
    assert!(matches!(effects.last(), Some(Effect::Land(request)) if request.tasks.len() == 2));
}

#[test]
fn a_task_whose_work_has_ended_makes_room_unless_its_end_decides_what_is_next() {
    let mut play = Play::begin(run(&["one", "other"]));
    play.write();
    let other = play.id(1);
    play.tell(Input::WorkEnded(other));
    assert_eq!(play.write(), [], "it does not run");
    play.start(0);
    play.start(1);
    play.tell(Input::WorkEnded(other));
    assert_eq!(play.write(), [Effect::ReleasePermit(other)]);

    let mut play = Play::new(with(OnFailure::CancelTheRest, &["one", "two"]));
    play.tell(Input::Begin(Vec::new()));
    play.write();
    play.start(0);
    play.tell(Input::WorkEnded(play.id(0)));
    assert_eq!(play.write(), [], "if it fails, no other task starts");
}

#[test]
fn what_would_ask_an_account_that_cannot_be_used_any_more_is_not_started() {
    let asks = |name: &str, model: &str| {
        let agent = protocol::Agent {
            model: model.parse().unwrap(),
            prompt: "do it".to_owned(),
            yields: Vec::new(),
            context: None,
            approvals: Default::default(),
            fallback: Vec::new(),
            subagent: None,
            servers: Default::default(),
        };
        TaskSpec { work: agent.into(), ..spec(name, &[]) }
    };
    let outage = Some(FailureDetail::Outage { seconds: 45 });
    let failures = [
        // A key that is not accepted, and an account that does not answer, fail every model of it.
        (FailureClass::Auth, Some(FailureDetail::UnknownKey), 302),
        (FailureClass::Transient, outage, 302),
        // A key that is known may be allowed to ask another model, which may be free.
        (FailureClass::Auth, None, 301),
        (FailureClass::Quota, None, 301),
        (FailureClass::Transient, None, 1),
    ];
    for (class, detail, expected) in failures {
        let same: Vec<_> = (0..300).map(|at| asks(&format!("t{at}"), "acme/m:high")).collect();
        let others = [asks("other", "acme/n"), asks("elsewhere", "emca/m"), spec("command", &[])];
        let tasks = [asks("first", "acme/m"), asks("running", "acme/m")];
        let all: Vec<_> = tasks.into_iter().chain(same).chain(others).collect();
        let mut play = Play::begin(run_of(all));
        play.write();
        play.start(0);
        play.start(1);
        let failure = Failure { detail: detail.clone(), ..Failure::new(class, "it failed") };
        play.end(0, unstarted(Outcome::Failed { failure }));
        let ended = |event: &&EventKind| {
            matches!(event, EventKind::TaskFinished { report, .. }
            if matches!(&report.outcome, Outcome::Failed { failure }
                if failure.class == class && failure.detail == detail))
        };
        let ended = play.announced.iter().filter(ended).count();
        assert_eq!(ended, expected, "{class}: those that run, or ask for something else, go on");
    }
}
