use serde_json::json;

use super::super::fake_repository::{Bench, End};
use super::super::target;
use super::*;
use regatta::runs::TargetKind;

async fn bench() -> Bench {
    let bench = Bench::new();
    bench.record(vec![("old", &[][..], End::Done(1, None))]).await;
    let tasks = ["auth", "auth.tests", "billing"].map(|name| (name, &[][..], End::Done(1, None)));
    bench.record(tasks.into()).await;
    bench
}

fn found(bench: &Bench, given: &str) -> Result<(String, TargetKind, usize), Error> {
    let target = target::find(&bench.context, &Some(given.to_owned()).into())?;
    let first = target.tasks.first().map(|row| row.name.to_string());
    Ok((first.unwrap_or_default(), target.kind, target.tasks.len()))
}

#[test]
async fn nothing_and_at_mean_the_latest_run() {
    let bench = bench().await;
    for given in [None, Some("@")] {
        let target = target::find(&bench.context, &given.map(str::to_owned).into()).unwrap();
        assert_eq!((target.kind, target.tasks.len()), (TargetKind::Run, 3));
    }
}

#[test]
async fn a_task_is_found_in_the_latest_run_or_in_the_one_before_the_slash() {
    let bench = bench().await;
    let task = |name: &str| Ok((name.to_owned(), TargetKind::Task, 1));
    assert_eq!(found(&bench, "bill"), task("billing"));
    assert_eq!(found(&bench, "AUTH"), task("auth"));
    assert_eq!(found(&bench, "@/auth.t"), task("auth.tests"));
    let old = bench.context.runs.reader.runs(None, 2).unwrap().pop().unwrap();
    assert_eq!(found(&bench, &format!("{}/old", old.name)), task("old"));
    assert_eq!(found(&bench, old.name.as_str()), Ok(("old".to_owned(), TargetKind::Run, 1)));
}

#[test]
async fn what_is_not_there_or_not_clear_is_exit_1_with_what_there_is() {
    let bench = bench().await;
    let unknown = found(&bench, "nothing").unwrap_err();
    assert_eq!(u8::from(unknown.exit), 1);
    assert_eq!(unknown.what, "there is no run or task `nothing`");
    assert!(unknown.because[0].starts_with("the latest runs are r"), "{unknown}");
    let several = found(&bench, "aut").unwrap_err();
    assert_eq!(several.what, "`aut` could be auth or auth.tests");
    let task = found(&bench, "@/zzz").unwrap_err();
    assert!(task.what.contains("its tasks are auth, auth.tests or billing"), "{task}");
    let latest = bench.context.runs.reader.runs(None, 1).unwrap().pop().unwrap().name;
    for error in [several, task, found(&bench, "@/aut").unwrap_err()] {
        let hint = error.hints.last().unwrap();
        let is_listed =
            ["@", latest.as_str()].map(|run| hint.ends_with(&format!("runs show {run}")));
        assert!(is_listed.contains(&true), "the tasks can be listed: {error}");
    }
}

#[test]
async fn what_is_to_be_tried_where_several_tasks_match_names_one_of_them() {
    let bench = bench().await;
    for given in ["aut", "@/aut"] {
        let error = found(&bench, given).unwrap_err();
        let (named, _) = error.hints[0].split_once(" (the first of these)").unwrap();
        assert_eq!(found(&bench, named), Ok(("auth".to_owned(), TargetKind::Task, 1)), "{error}");
    }
}

#[test]
async fn a_label_is_the_name_of_the_only_run_that_has_it() {
    let bench = Bench::new();
    let run = bench.record(vec![("auth", &[][..], End::Done(1, None))]).await;
    assert_eq!(found(&bench, "bench"), Ok(("auth".to_owned(), TargetKind::Run, 1)));
    assert_eq!(found(&bench, "bench/auth"), Ok(("auth".to_owned(), TargetKind::Task, 1)));
    let given = TargetArgs { target: Some("bench".to_owned()), task: Some("auth".to_owned()) };
    assert_eq!(target::find(&bench.context, &given).unwrap().kind, TargetKind::Task);
    let unknown = found(&bench, "bench/zzz").unwrap_err();
    assert!(unknown.what.contains("no task `zzz`"), "{unknown}");
    let later = bench.record(vec![("docs", &[][..], End::Done(1, None))]).await;
    let several = found(&bench, "bench").unwrap_err();
    assert_eq!(several.what, "several runs have the label `bench`");
    assert_eq!(several.because, [format!("they are {later}, {run}")]);
}

#[test]
async fn a_repository_without_runs_says_so() {
    let error = found(&Bench::new(), "@").unwrap_err();
    assert!(error.what.starts_with("there is no run yet in "), "{error}");
}

#[test]
async fn a_run_of_another_repository_is_pointed_to() {
    let bench = bench().await;
    let other = bench.root().join("other place");
    std::fs::create_dir_all(&other).unwrap();
    let run = bench.record_in(&other, vec![("x", &[][..], End::Done(1, None))]).await;
    let error = found(&bench, run.as_str()).unwrap_err();
    assert_eq!(error.what, format!("run {run} is of another repository"));
    assert_eq!(error.hints, [format!("--repo '{}'", other.display())]);
    std::fs::remove_dir(&other).unwrap();
    let error = found(&bench, run.as_str()).unwrap_err();
    assert_eq!(
        (&error.because[..], &error.hints[..]),
        (
            &[format!("it worked on {}, which does not exist any more", other.display())][..],
            &[][..]
        )
    );
}

#[test]
async fn an_id_that_is_printed_means_its_run_or_its_task() {
    let bench = bench().await;
    let old = bench.context.runs.reader.runs(None, 2).unwrap().pop().unwrap();
    let task = bench.context.runs.reader.tasks(old.id).unwrap().pop().unwrap();
    // As it is in JSON, and as it is in a message.
    let printed = |json: serde_json::Value, text: String| [json.as_str().unwrap().to_owned(), text];
    let ids = printed(json!(old.id), old.id.to_string());
    for run in ids.into_iter().chain([old.name.to_string()]) {
        assert_eq!(found(&bench, &run), Ok(("old".to_owned(), TargetKind::Run, 1)), "{run}");
        let both = format!("{run}/old");
        assert_eq!(found(&bench, &both), Ok(("old".to_owned(), TargetKind::Task, 1)), "{both}");
    }
    // Neither one landing of several nor a number that is none means all that the run has landed.
    let id = protocol::LandingId::generate();
    let started = protocol::LedgerEntry::LandingStarted { run: old.id, landing: Some(id) };
    bench.context.record(vec![started]).await.unwrap();
    let landings = printed(json!(id), id.to_string());
    let names = [format!("{}-1", old.name), format!("refs/landings/{}-77", old.name)];
    let capture = format!("refs/tasks/{}/old/9", old.name);
    for unknown in landings.into_iter().chain(names).chain([capture]) {
        assert!(found(&bench, &unknown).is_err(), "{unknown}");
    }
    let stack = format!("{}/{}", old.spec.branch_prefix, old.name);
    for branch in [stack.clone(), format!("refs/heads/{stack}")] {
        assert_eq!(found(&bench, &branch), Ok(("old".to_owned(), TargetKind::Run, 1)), "{branch}");
        let of_task = format!("{branch}/old");
        assert_eq!(
            found(&bench, &of_task),
            Ok(("old".to_owned(), TargetKind::Task, 1)),
            "{of_task}"
        );
    }
    let capture = format!("refs/tasks/{}/old/1", old.name);
    for id in printed(json!(task.id), task.id.to_string()).into_iter().chain([capture]) {
        assert_eq!(found(&bench, &id), Ok(("old".to_owned(), TargetKind::Task, 1)), "{id}");
    }
    let both = format!("{}/{}", old.id, task.id);
    assert_eq!(found(&bench, &both), Ok(("old".to_owned(), TargetKind::Task, 1)), "{both}");
}

#[test]
async fn several_tasks_are_of_one_run_and_named_in_any_way() {
    let bench = bench().await;
    let runs = bench.context.runs.reader.runs(None, 2).unwrap();
    let (run, old) = (&runs[0].name, &runs[1].name);
    let several = |words: &[String]| {
        let [first, more @ ..] = words else { panic!("{words:?}") };
        let target = target::find_several(&bench.context, Some(first), more)?;
        Ok::<_, Error>((target.arguments(), target.kind))
    };
    let both = || Ok((format!("{run}/auth {run}/billing"), TargetKind::Task));
    let task = |name: &str| format!("{run}/{name}");
    assert_eq!(several(&[task("auth"), task("billing")]), both());
    assert_eq!(several(&[task("billing"), "auth".to_owned()]), both());
    assert_eq!(several(&[run.to_string(), "billing".to_owned(), task("auth")]), both());
    assert_eq!(several(&["auth".to_owned(), "bill".to_owned(), "auth".to_owned()]), both());
    // However a task is named, it can be the second one.
    let billing = bench.context.runs.reader.tasks(runs[0].id).unwrap().pop().unwrap();
    let branch = format!("{}/{run}/billing", runs[0].spec.branch_prefix);
    let capture = format!("refs/tasks/{run}/billing/1");
    let id = json!(billing.id).as_str().unwrap().to_owned();
    for second in [branch, capture, id, billing.id.to_string()] {
        assert_eq!(several(&[task("auth"), second.clone()]), both(), "{second}");
    }
    let other = several(&[task("auth"), format!("{old}/old")]).unwrap_err();
    assert_eq!(other.what, format!("`{old}/old` is of run {old}, and not of run {run}"));
    let unknown = several(&[task("auth"), "nothing".to_owned()]).unwrap_err();
    assert!(unknown.what.contains("no task `nothing`"), "{unknown}");
    // Where one is taken, the second is to blame.
    let given = TargetArgs { target: Some(task("auth")), task: Some(task("billing")) };
    let one = target::find(&bench.context, &given).unwrap_err();
    assert_eq!(one.what, format!("unexpected argument `{run}/billing`"));
}
