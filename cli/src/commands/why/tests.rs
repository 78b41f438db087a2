use serde_json::{Value, json};

use super::super::fake_repository::{Bench, End, conflicting, in_tree};
use super::*;

fn said(bench: &Bench, form: Form, target: &str) -> String {
    let mut context = bench.context.clone();
    context.view.form = form;
    let args = WhyArgs { target: Some(target.to_owned()).into() };
    let mut out = Vec::new();
    run(&context, &args, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
async fn a_task_that_has_ended_is_one_sentence_and_the_command_that_goes_on() {
    let bench = Bench::new();
    let tasks = vec![
        ("auth", &[][..], End::Done(1, in_tree())),
        ("api", &[], End::Done(1, conflicting("auth"))),
        ("docs", &[], End::Done(1, None)),
        ("same", &[], End::Done(0, None)),
        ("lint", &[], End::Failed),
    ];
    let run = bench.record(tasks).await;
    for (task, expected) in [
        ("auth", format!("is done; its work has landed\n  regatta diff {run}/auth\n")),
        (
            "api",
            format!(
                "is done; its work is kept, because it conflicts in \"src/\\033config.rs\"\n  \
                 regatta conflicts {run}/api\n"
            ),
        ),
        ("docs", format!("is done; its work is kept\n  regatta apply {run}/docs\n")),
        ("same", "is done, and has changed nothing\n".to_owned()),
        (
            "lint",
            format!(
                "has failed (command): it ended with code 3; its work is kept\n  \
                 regatta logs {run}/lint\n"
            ),
        ),
    ] {
        assert_eq!(said(&bench, Form::Text, task), format!("{run}/{task} {expected}"));
    }
}

#[test]
async fn a_run_is_explained_with_its_tasks_that_have_not_ended_well() {
    let bench = Bench::new();
    let tasks = vec![
        ("auth", &[][..], End::Done(1, in_tree())),
        ("docs", &[], End::Done(1, None)),
        ("same", &[], End::Done(0, None)),
    ];
    let run = bench.record(tasks).await;
    let expected = format!(
        "run {run} has ended; 3 tasks: 3 done; the work of 1 task has landed\n\
         docs is done; its work is kept\n"
    );
    assert_eq!(said(&bench, Form::Text, run.as_str()), expected);
    let document: Value = serde_json::from_str(&said(&bench, Form::Json, "docs")).unwrap();
    let tasks = json!([{ "task": "docs", "state": "ended", "why": "is done; its work is kept" }]);
    assert_eq!(document["tasks"], tasks);
    assert_eq!(document["run"], run.as_str());
}

#[test]
async fn a_long_run_names_the_command_that_lists_the_rest() {
    let bench = Bench::new();
    let names: Vec<_> = (0..30).map(|at| format!("t{at}")).collect();
    let tasks = names.iter().map(|name| (name.as_str(), &[][..], End::Failed)).collect();
    let run = bench.record(tasks).await;
    let text = said(&bench, Form::Text, "@");
    assert_eq!(text.lines().count(), 22);
    let last = format!("and 10 more: regatta why {run} --json");
    assert_eq!(text.lines().last(), Some(last.as_str()));
}
