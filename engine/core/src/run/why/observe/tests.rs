use std::num::NonZeroUsize;

use protocol::{LandingReport, LedgerEntry, TaskReport};

use super::*;
use crate::run::test_support::{captured, done, id, run_of, spec, started};

const ENGINE: EngineProcess = EngineProcess(Some(42));

fn observed() -> Observed {
    Observed { ms: 5_000, engine: ENGINE, ..Observed::default() }
}

fn of(run: &RunRecord, at: usize, observed: &Observed) -> TaskSituation {
    situation(run, &run.tasks()[at], observed)
}

fn works(run: &mut RunRecord, at: usize) {
    let entry = started(run, at);
    run.apply(&entry);
    let (task, workspace) = (id(run, at), "/w".to_owned());
    run.apply(&LedgerEntry::SessionStarted { task, attempt: 1, workspace });
}

fn ends(run: &mut RunRecord, at: usize, report: TaskReport) {
    run.apply(&LedgerEntry::TaskFinished { task: id(run, at), report: Box::new(report) });
}

#[test]
fn a_queued_task_waits_for_predecessors_then_for_its_run_then_for_its_engine() {
    let mut run = run_of(vec![spec("one", &[]), spec("two", &["one"]), spec("three", &[])]);
    run.spec.jobs = NonZeroUsize::new(2).unwrap();
    let one = run.tasks()[0].spec.name.clone();
    assert_eq!(of(&run, 1, &observed()), TaskSituation::Predecessors(vec![one]));
    let elsewhere = Observed { elsewhere: 3, ..observed() };
    let capacity = |others| TaskSituation::Capacity { others, engine: ENGINE };
    assert_eq!(of(&run, 0, &elsewhere), capacity(3));
    works(&mut run, 0);
    assert_eq!(of(&run, 2, &elsewhere), capacity(4));
    run.spec.jobs = NonZeroUsize::MIN;
    assert_eq!(of(&run, 2, &elsewhere), TaskSituation::RunLimit(1));
    let lent = Observed { waiting: 1, ..elsewhere };
    assert_eq!(of(&run, 2, &lent), capacity(3), "the first waits for its subagents");
}

#[test]
fn a_running_task_waits_for_its_workspace_its_subagents_or_its_account_or_works() {
    let mut run = run_of(vec![spec("one", &[])]);
    let entry = started(&run, 0);
    run.apply(&entry);
    assert_eq!(of(&run, 0, &observed()), TaskSituation::Workspace);
    works(&mut run, 0);
    let working = TaskSituation::WorksElsewhere { ms: 5_000, engine: ENGINE };
    assert_eq!(of(&run, 0, &observed()), working);
    let hold = AccountHold {
        account: "anthropic".to_owned(),
        until: None,
        reason: "too many requests".to_owned(),
    };
    let mut seen = Observed { hold: Some(hold.clone()), ..observed() };
    assert_eq!(of(&run, 0, &seen), TaskSituation::Account(hold));
    seen.subagents = Some(Subagents { ended: 1, all: 2 });
    assert_eq!(of(&run, 0, &seen), TaskSituation::Subagents { ended: 1, all: 2 });
}

#[test]
fn work_waits_for_the_others_then_for_its_landing_and_then_has_landed() {
    let mut run = run_of(vec![spec("one", &[]), spec("two", &[])]);
    works(&mut run, 0);
    let report = done(Some(captured("one", 1)));
    ends(&mut run, 0, report.clone());
    assert_eq!(of(&run, 0, &observed()), TaskSituation::LandsLater(1));
    ends(&mut run, 1, TaskReport::unstarted(Outcome::Cancelled));
    assert_eq!(of(&run, 0, &observed()), TaskSituation::LandsNext(ENGINE));
    run.apply(&LedgerEntry::LandingStarted { run: run.spec.id, landing: None });
    assert_eq!(of(&run, 0, &observed()), TaskSituation::Landing);
    let landed = protocol::Landed::Landed { branch: None, joined: Vec::new() };
    let task = run.tasks()[0].spec.name.clone();
    let tasks = vec![protocol::TaskLanding::of(task, landed.clone())];
    let report_of_landing = LandingReport { tasks };
    let run_id = run.spec.id;
    run.apply(&LedgerEntry::LandingFinished {
        run: run_id,
        landing: None,
        report: report_of_landing,
    });
    let ended = TaskEnding::of(&report, Some(&landed));
    assert_eq!(of(&run, 0, &observed()), TaskSituation::Ended(Box::new(ended)));
    run.spec.merge = MergeMode::None;
    let kept = TaskEnding::of(run.tasks()[1].report().unwrap(), None);
    assert_eq!(of(&run, 1, &observed()), TaskSituation::Ended(Box::new(kept)));
}

#[test]
fn a_task_whose_engine_died_is_interrupted() {
    let mut run = run_of(vec![spec("one", &[])]);
    works(&mut run, 0);
    run.apply(&LedgerEntry::RunInterrupted { run: run.spec.id });
    assert_eq!(of(&run, 0, &observed()), TaskSituation::Interrupted);
}
