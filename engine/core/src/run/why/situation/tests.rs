use protocol::{
    ConflictReason, Failure, FailureClass, Partners, RepoPath, Unverified, UnverifiedCause,
};
use serde_json::Value;

use super::*;

fn task(name: &str) -> TaskName {
    name.parse().unwrap()
}

fn says(situation: TaskSituation, name: &str, sentence: &str) {
    assert_eq!((situation.name(), situation.to_string().as_str()), (name, sentence));
}

const HERE: EngineProcess = EngineProcess(Some(42));

#[test]
fn a_task_that_depends_on_others_names_the_first_of_them() {
    let waits = |names: &[&str], sentence: &str| {
        let tasks = names.iter().map(|name| task(name)).collect();
        says(TaskSituation::Predecessors(tasks), "predecessors", sentence);
    };
    waits(&["api"], "waits until `api` is done");
    waits(&["api", "db"], "waits until `api` and `db` are done");
    waits(&["a", "b", "c", "d", "e"], "waits until `a`, `b`, `c` and 2 others are done");
}

#[test]
fn a_task_that_waits_for_the_limit_of_its_run_says_how_many_work() {
    says(
        TaskSituation::RunLimit(1),
        "limit",
        "waits for a place: 1 task of its run works at once (`--jobs`)",
    );
    says(
        TaskSituation::RunLimit(8),
        "limit",
        "waits for a place: 8 tasks of its run work at once (`--jobs`)",
    );
}

#[test]
fn a_task_that_waits_for_the_capacity_says_how_many_others_work() {
    let waits = |others, engine, sentence: &str| {
        says(TaskSituation::Capacity { others, engine }, "capacity", sentence);
    };
    waits(1, HERE, "waits for a place: 1 other task of its engine (pid 42) works");
    waits(4, EngineProcess(None), "waits for a place: 4 other tasks of its engine work");
    waits(0, HERE, "waits for a place, which its engine (pid 42) gives out");
}

#[test]
fn a_task_whose_workspace_is_made_says_so() {
    says(TaskSituation::Workspace, "workspace", "waits for its workspace, which is being made");
}

#[test]
fn a_task_whose_workspace_is_set_up_says_so() {
    says(TaskSituation::SettingUp, "setup", "waits for the set-up of its workspace");
}

#[test]
fn a_task_whose_account_pauses_says_until_when_and_why() {
    let (account, reason) = ("anthropic".to_owned(), "too many requests".to_owned());
    let hold = AccountHold { account, until: Some("12:30".to_owned()), reason };
    says(
        TaskSituation::Account(hold.clone()),
        "account",
        "sends no request to anthropic until 12:30: too many requests",
    );
    let hold = AccountHold { until: None, ..hold };
    let sentence = "sends no request to anthropic: too many requests";
    says(TaskSituation::Account(hold), "account", sentence);
}

#[test]
fn a_task_that_has_asked_a_person_says_what() {
    says(
        TaskSituation::Approval("bash make".to_owned()),
        "approval",
        "waits for an answer: bash make",
    );
}

#[test]
fn a_task_that_waits_for_subagents_counts_them() {
    says(
        TaskSituation::Subagents { ended: 2, all: 4 },
        "subagents",
        "waits for its subagents: 2 of 4 have ended",
    );
}

#[test]
fn a_task_that_works_says_for_how_long_and_with_which_tool() {
    let works = |tool: Option<&str>, sentence: &str| {
        let tool = tool.map(str::to_owned);
        says(TaskSituation::Works { ms: 72_000, tool }, "working", sentence);
    };
    works(None, "has worked for 1m12s");
    works(Some("bash"), "has worked for 1m12s, now with bash");
}

#[test]
fn of_a_task_of_another_process_its_engine_knows_the_rest() {
    says(
        TaskSituation::WorksElsewhere { ms: 72_000, engine: HERE },
        "working",
        "has worked for 1m12s; what it does at the moment, its engine (pid 42) knows",
    );
}

#[test]
fn a_task_that_stops_or_is_captured_says_so() {
    says(TaskSituation::Stopping, "stopping", "was asked to stop");
    says(TaskSituation::Capturing, "capturing", "has ended, and its work is being captured");
}

#[test]
fn work_that_lands_later_says_for_how_many_tasks_it_waits() {
    let lands = |others, sentence: &str| {
        says(TaskSituation::LandsLater(others), "lands_later", sentence);
    };
    lands(1, "is done, and its work lands when 1 other task of the run has ended");
    lands(3, "is done, and its work lands when 3 other tasks of the run have ended");
    says(
        TaskSituation::LandsNext(HERE),
        "lands_later",
        "is done, and its work lands next, as its engine (pid 42) decides",
    );
}

#[test]
fn work_that_is_being_landed_says_so() {
    says(TaskSituation::Landing, "landing", "is done, and its work is being landed");
}

#[test]
fn a_task_whose_engine_died_says_so() {
    says(
        TaskSituation::Interrupted,
        "interrupted",
        "was interrupted, because its engine ended before it",
    );
}

#[test]
fn a_task_that_has_ended_says_how_and_what_became_of_its_work() {
    let done = || Outcome::Done { value: Value::Null };
    let failed =
        || Outcome::Failed { failure: Failure::new(FailureClass::Command, "it ended with code 3") };
    let conflict = |path: &str| Conflict {
        path: RepoPath::new(path).unwrap(),
        reason: ConflictReason::Content,
        base: None,
        ours: None,
        theirs: None,
        with: None,
        renamed: None,
    };
    let unverified = Unverified {
        cause: UnverifiedCause::Work,
        with: Vec::new(),
        partners: Partners::All,
        message: "make test ended with code 2".to_owned(),
        output: None,
        end: String::new(),
    };
    let landed = |branch: Option<&str>| Landed::Landed {
        branch: branch.map(str::to_owned),
        joined: Vec::new(),
    };
    let conflicts = vec![conflict("a.txt"), conflict("b.txt")];
    for (outcome, files, landing, sentence) in [
        (done(), 0, None, "is done, and has changed nothing"),
        (done(), 2, Some(landed(None)), "is done; its work has landed"),
        (
            done(),
            2,
            Some(landed(Some("regatta/r7k3f/a"))),
            "is done; its work has landed on the branch regatta/r7k3f/a",
        ),
        (done(), 1, Some(Landed::Unchanged), "is done; its work was in the tree already"),
        (
            done(),
            2,
            Some(Landed::Conflicted { conflicts }),
            "is done; its work is kept, because it conflicts in a.txt and b.txt",
        ),
        (
            done(),
            1,
            Some(Landed::Unwritten { message: "the disk is full".to_owned() }),
            "is done; its work is kept, because it could not be written: the disk is full",
        ),
        (
            done(),
            1,
            Some(Landed::Waiting { on: vec![task("api")] }),
            "is done; its work is kept, because it builds on that of `api`, which did not land",
        ),
        (
            done(),
            1,
            Some(Landed::Unverified(Box::new(unverified))),
            "is done; its work is kept, because it is not verified: make test ended with code 2",
        ),
        (
            done(),
            1,
            Some(Landed::TakenBack { left: Vec::new() }),
            "is done; its work had landed, and was taken back",
        ),
        (done(), 1, None, "is done; its work is kept"),
        (failed(), 0, None, "has failed (command): it ended with code 3"),
        (failed(), 1, None, "has failed (command): it ended with code 3; its work is kept"),
        (Outcome::Cancelled, 0, None, "was cancelled"),
        (Outcome::Cancelled, 1, None, "was cancelled; its work is kept"),
    ] {
        let ending = TaskEnding { outcome, files, landed: landing, is_discarded: false };
        says(TaskSituation::Ended(Box::new(ending)), "ended", sentence);
    }
    let ending =
        TaskEnding { outcome: Outcome::Cancelled, files: 1, landed: None, is_discarded: true };
    assert_eq!(ending.to_string(), "was cancelled; its work was discarded");
}
