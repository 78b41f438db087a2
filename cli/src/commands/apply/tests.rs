use engine::ports::LandingTarget;
use protocol::{LedgerEntry, RunName};

use super::super::fake_repository::{Bench, End, conflicting, in_tree};
use super::*;

fn args(words: &[&str]) -> ApplyArgs {
    use clap::Parser;
    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ApplyArgs,
    }
    Line::parse_from(std::iter::once(&"apply").chain(words)).args
}

async fn apply(bench: &Bench, words: &[&str]) -> (Result<ExitCode, Error>, String) {
    let mut out = Vec::new();
    let code = run(&bench.context, bench.repository.as_ref(), &args(words), &mut out).await;
    (code, String::from_utf8(out).unwrap())
}

async fn bench() -> (Bench, RunName) {
    let bench = Bench::new();
    let tasks = vec![
        ("auth", &[][..], End::Done(3, in_tree())),
        (
            "top",
            &["base"],
            End::Done(1, Some(Landed::Waiting { on: vec!["base".parse().unwrap()] })),
        ),
        ("base", &[], End::Done(2, conflicting("auth"))),
        ("empty", &[], End::Done(0, None)),
        ("broken", &[], End::Failed),
    ];
    let run = bench.record(tasks).await;
    (bench, run)
}

#[test]
async fn a_run_lands_what_is_whole_and_kept_predecessors_first() {
    let (bench, run) = bench().await;
    let (code, text) = apply(&bench, &[]).await;
    assert_eq!(code, Ok(ExitCode::Success));
    assert_eq!(text, format!("base  landed\ntop   landed\n\nundo  regatta undo {run}\n"));
    let landings = bench.repository.landings.lock().unwrap();
    assert_eq!((landings[0].run.clone(), landings[0].target.clone()), (run, LandingTarget::Tree));
    let tasks: Vec<_> = landings[0].tasks.iter().map(|task| task.task.as_str()).collect();
    assert_eq!(tasks, ["base", "top"]);
    assert_eq!(landings[0].tasks[1].depends_on, ["base".parse().unwrap()]);
}

#[test]
async fn what_landed_is_written_down_and_not_landed_again() {
    let (bench, _) = bench().await;
    apply(&bench, &[]).await.0.unwrap();
    let (code, text) = apply(&bench, &[]).await;
    assert_eq!(code, Ok(ExitCode::Success));
    assert!(text.contains("nothing of run") && text.contains("/broken"), "{text}");
    assert_eq!(bench.repository.landings.lock().unwrap().len(), 1);
}

#[test]
async fn what_a_failed_task_had_done_lands_only_when_it_is_named() {
    let (bench, run) = bench().await;
    let (code, text) = apply(&bench, &["broken"]).await;
    assert_eq!(code, Ok(ExitCode::Success));
    assert_eq!(text, format!("broken  landed\n\nundo  regatta undo {run}\n"));
    let (again, text) = apply(&bench, &[&format!("{run}/broken")]).await;
    assert_eq!(again, Ok(ExitCode::Success));
    assert!(text.contains("has landed already"), "{text}");
}

#[test]
async fn several_tasks_are_named_by_their_names_or_by_what_became_of_them() {
    for (words, landed) in [
        (&["base", "broken"][..], &["base", "broken"][..]),
        (&["--failed"], &["broken"]),
        (&["@", "--conflicted"], &["base"]),
        (&["--conflicted", "--failed"], &["base", "broken"]),
        (&["--kept"], &["base", "top", "broken"]),
        (&["base", "broken", "--failed"], &["broken"]),
        (&["base", "empty"], &["base"]),
    ] {
        let (bench, _) = bench().await;
        let (code, text) = apply(&bench, words).await;
        assert_eq!(code, Ok(ExitCode::Success), "{words:?}: {text}");
        let landings = bench.repository.landings.lock().unwrap();
        let tasks: Vec<_> = landings[0].tasks.iter().map(|task| task.task.to_string()).collect();
        assert_eq!(tasks, landed, "{words:?}");
    }
    let (bench, run) = bench().await;
    apply(&bench, &["--failed"]).await.0.unwrap();
    let error = apply(&bench, &["--failed"]).await.0.unwrap_err();
    assert_eq!(error.what, format!("there is no work of run {run} to land with --failed"));
    for (words, what, why, hint) in [
        (
            &["auth", "--failed"],
            "task RUN/auth to land with --failed",
            "has landed",
            "runs show RUN",
        ),
        (
            &["empty", "--kept"],
            "task RUN/empty to land with --kept",
            "changed nothing",
            "runs show",
        ),
        (&["base", "--failed"], "task RUN/base to land with --failed", "another", "apply RUN/base"),
    ] {
        let error = apply(&bench, words).await.0.unwrap_err();
        let of_run = |text: &str| text.replace("RUN", run.as_str());
        assert_eq!(error.what, format!("there is no work of {}", of_run(what)));
        assert!(error.because[0].contains(why), "{error}");
        assert!(error.hints[0].starts_with(&format!("regatta {}", of_run(hint))), "{error}");
    }
    let error = apply(&bench, &["auth", "empty"]).await.0.unwrap_err();
    assert_eq!(error.what, format!("there is no work of task {run}/empty to land"));
}

#[test]
async fn a_conflict_is_exit_code_4_and_says_where() {
    let (bench, run) = bench().await;
    let conflict = conflicting("auth").unwrap();
    bench.repository.fates.lock().unwrap().insert("base".to_owned(), conflict);
    let (code, text) = apply(&bench, &["base"]).await;
    assert_eq!(code, Ok(ExitCode::Kept));
    let path = r#""src/\033config.rs""#;
    let expected = format!("base  conflict  {path}, with auth\n\nkept  regatta conflicts {run}\n");
    assert_eq!(text, expected);
}

#[test]
async fn the_only_whole_work_of_a_run_is_settled_before_a_landing_has_found_its_conflicts() {
    let bench = Bench::new();
    let run = bench.record(vec![("session", &[][..], End::Done(2, None))]).await;
    let conflict = conflicting("auth").unwrap();
    bench.repository.fates.lock().unwrap().insert("session".to_owned(), conflict);
    let error = apply(&bench, &[run.as_str(), "--theirs"]).await.0.unwrap_err();
    // The conflicts of this repository stay, so the choice comes to nothing.
    let what = format!("cannot settle a conflict of task {run}/session with `--theirs`");
    assert_eq!(error.what, what);
}

#[test]
async fn what_builds_on_work_that_is_kept_is_refused_by_itself() {
    let (bench, run) = bench().await;
    let error = apply(&bench, &["top"]).await.0.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "error: cannot land the work of task {run}/top\n  because it builds on base, which has \
             not landed\n  try: regatta apply {run}/base"
        )
    );
    assert!(bench.repository.landings.lock().unwrap().is_empty());
}

#[test]
async fn a_rehearsal_lands_nothing() {
    let (bench, _) = bench().await;
    let (code, text) = apply(&bench, &["--dry-run"]).await;
    assert_eq!(code, Ok(ExitCode::Success));
    assert_eq!(
        text,
        "base  would land  2 files +2 −0  in the working tree\n\
         top   would land  1 file +1 −0  in the working tree\n"
    );
    assert!(bench.repository.landings.lock().unwrap().is_empty());
}

#[test]
async fn a_rehearsal_foretells_what_would_stay() {
    let (mut bench, _) = bench().await;
    let conflict = conflicting("auth").unwrap();
    bench.repository.fates.lock().unwrap().insert("base".to_owned(), conflict);
    let waiting = Landed::Waiting { on: vec!["base".parse().unwrap()] };
    bench.repository.fates.lock().unwrap().insert("top".to_owned(), waiting);
    let (code, text) = apply(&bench, &["--dry-run"]).await;
    assert_eq!(code, Ok(ExitCode::Kept));
    assert_eq!(
        text,
        "base  would conflict  \"src/\\033config.rs\", with auth\n\
         top   would be kept   builds on base, which does not land\n"
    );
    bench.context.view.form = Form::Json;
    let (_, text) = apply(&bench, &["--dry-run"]).await;
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["would_land"], serde_json::json!([]));
    assert_eq!(told["tasks"][0]["landing"], "conflicted");
    assert!(bench.repository.landings.lock().unwrap().is_empty());
}

#[test]
async fn a_task_without_work_says_why() {
    let (bench, run) = bench().await;
    let error = apply(&bench, &["empty"]).await.0.unwrap_err();
    let expected = format!(
        "error: there is no work of task {run}/empty to land\n  because it changed nothing"
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
async fn a_run_that_is_going_on_is_left_alone() {
    let bench = Bench::new();
    bench.record(vec![("auth", &[][..], End::Done(1, None)), ("slow", &[], End::Open)]).await;
    let error = apply(&bench, &[]).await.0.unwrap_err();
    assert_eq!(error.exit, ExitCode::NotStarted);
    assert_eq!(error.because, ["the run is still running"]);
}

#[test]
async fn programs_get_one_document() {
    let (mut bench, run) = bench().await;
    bench.context.view.form = Form::Json;
    let (code, text) = apply(&bench, &[]).await;
    assert_eq!(code, Ok(ExitCode::Success));
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["run"], run.as_str());
    assert_eq!(told["tasks"][0]["task"], "base");
    assert_eq!(told["tasks"][0]["landing"], "landed");
}

#[test]
async fn what_somebody_else_landed_while_the_run_was_locked_is_not_landed_again() {
    let (bench, run) = bench().await;
    let (ledger, row) =
        (bench.context.runs.ledger.clone(), bench.context.runs.reader.run_by_name(&run));
    let id = row.unwrap().unwrap().id;
    let elsewhere = move || {
        let landed = |task: &str| TaskLanding::of(task.parse().unwrap(), in_tree().unwrap());
        let report = LandingReport { tasks: vec![landed("base"), landed("top")] };
        let entry = LedgerEntry::LandingFinished { run: id, landing: None, report };
        let at = protocol::Timestamp::from_millisecond(1_767_268_900_000);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let recorded = move || runtime.block_on(ledger.append(vec![(at, entry)])).unwrap();
        std::thread::spawn(recorded).join().unwrap();
    };
    *bench.repository.meanwhile.lock().unwrap() = Some(Box::new(elsewhere));
    let (code, text) = apply(&bench, &[]).await;
    assert_eq!(code, Ok(ExitCode::Success));
    assert!(text.contains("nothing of run"), "{text}");
    assert_eq!(bench.repository.landings.lock().unwrap().len(), 0);
}
