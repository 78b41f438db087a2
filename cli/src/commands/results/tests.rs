use protocol::{Outcome, Usage};
use serde_json::{Value, json};

use super::super::fake_repository::{Bench, End};
use super::*;
use crate::args::{Form, TargetArgs};

fn agent(outcome: Outcome) -> End {
    End::Agent(outcome, Usage { input: 10, output: 2, ..Usage::ZERO })
}

fn done(value: Value) -> End {
    agent(Outcome::Done { value })
}

async fn bench() -> (Bench, String) {
    let bench = Bench::new();
    let tasks = vec![
        ("auth", &[][..], done(json!("fine\n\nreally\u{1b}[2J"))),
        ("billing", &[], done(json!({ "bugs": [1, 2] }))),
        ("empty", &[], done(json!(null))),
        ("search", &[], End::Failed),
    ];
    let run = bench.record(tasks).await.to_string();
    (bench, run)
}

fn said(bench: &Bench, form: Form, args: &ResultsArgs) -> Result<String, Error> {
    let mut context = bench.context.clone();
    context.view.form = form;
    let mut out = Vec::new();
    run(&context, args, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn of(target: &str) -> ResultsArgs {
    ResultsArgs { target: Some(target.to_owned()).into(), ..ResultsArgs::default() }
}

#[test]
async fn people_read_each_answer_and_each_failure_below_the_task() {
    let (bench, _) = bench().await;
    assert_eq!(
        said(&bench, Form::Text, &of("@")).unwrap(),
        "auth\n    fine\n\n    really\n\nbilling\n    {\"bugs\":[1,2]}\n\n\
         search  failed: command\n    it ended with code 3\n\n1 other task yielded nothing\n"
    );
    let failed = ResultsArgs { only: Some(OnlyOutcome::Failed), ..of("@") };
    let expected = "search  failed: command\n    it ended with code 3\n";
    assert_eq!(said(&bench, Form::Text, &failed).unwrap(), expected);
}

#[test]
async fn one_task_is_its_answer_alone() {
    let (bench, run) = bench().await;
    assert_eq!(said(&bench, Form::Text, &of("auth")).unwrap(), "fine\n\nreally\n");
    let target = TargetArgs { target: Some(run), task: Some("billing".to_owned()) };
    let args = ResultsArgs { target, ..ResultsArgs::default() };
    assert_eq!(said(&bench, Form::Text, &args).unwrap(), "{\"bugs\":[1,2]}\n");
}

#[test]
async fn programs_get_every_task_with_every_field() {
    let (bench, _) = bench().await;
    let document: Value =
        serde_json::from_str(&said(&bench, Form::Json, &of("@")).unwrap()).unwrap();
    let usage = json!({
        "input": 10, "output": 2, "cache_read": 0, "cache_write": 0, "cost": 0.0,
        "cost_source": "unknown",
    });
    assert_eq!(
        document[1],
        json!({
            "id": document[1]["id"], "name": "billing", "item": null, "outcome": "done", "failure": null,
            "yield": { "bugs": [1, 2] }, "changes": { "files": 1, "added": 1, "removed": 0 },
            "usage": usage,
        })
    );
    assert_eq!(document[3]["failure"]["class"], "command");
    assert_eq!(document[3]["yield"], Value::Null);
    assert_eq!(document.as_array().unwrap().len(), 4);
    let failed = ResultsArgs { only: Some(OnlyOutcome::Failed), ..of("@") };
    let document: Value =
        serde_json::from_str(&said(&bench, Form::Json, &failed).unwrap()).unwrap();
    assert_eq!(document.as_array().unwrap().len(), 1);
    let none = ResultsArgs { only: Some(OnlyOutcome::Failed), ..of("auth") };
    assert_eq!(said(&bench, Form::Json, &none).unwrap(), "[]\n");
}

#[test]
async fn without_an_answer_there_is_one_clear_error() {
    let (bench, run) = bench().await;
    let error = |target: &str| said(&bench, Form::Text, &of(target)).unwrap_err();
    let empty = error("empty");
    assert_eq!(empty.what, format!("task {run}/empty yielded nothing"));
    assert!(empty.to_string().contains("regatta logs"), "{empty}");
    let failed = error("search");
    assert_eq!(failed.what, format!("task {run}/search has no answer"));
    assert_eq!(failed.because, ["it failed", "it ended with code 3"]);
    assert_eq!(failed.hints, [format!("regatta logs {run}/search")]);
    let silent = bench.record(vec![("a", &[][..], End::Done(1, None))]).await;
    assert_eq!(error("@").what, format!("no task of run {silent} yielded anything"));
    assert!(error("@").to_string().contains("regatta runs show"), "{}", error("@"));
    let failed = ResultsArgs { only: Some(OnlyOutcome::Failed), ..of("@") };
    let none = said(&bench, Form::Text, &failed).unwrap_err().to_string();
    assert!(
        none.contains(&format!("no task of run {silent}")) && none.contains("failed"),
        "{none}"
    );
    let all: Value = serde_json::from_str(&said(&bench, Form::Json, &of("@")).unwrap()).unwrap();
    assert_eq!(all.as_array().map(Vec::len), Some(1), "programs get every task");
    assert_eq!(said(&bench, Form::Json, &failed).unwrap(), "[]\n");
    let fresh = said(&Bench::new(), Form::Text, &ResultsArgs::default()).unwrap_err();
    assert!(fresh.what.starts_with("there is no run yet in "), "{fresh}");
}

#[test]
async fn a_run_that_goes_on_says_so() {
    let bench = Bench::new();
    let run = bench.record(vec![("a", &[][..], End::Open)]).await;
    let error = said(&bench, Form::Text, &of("@")).unwrap_err();
    assert_eq!(error.what, format!("no task of run {run} yielded anything"));
    assert_eq!(error.because, ["the run is still running"]);
}
