use super::super::fake_captures::FakeCaptures;
use super::super::fake_repository::{Bench, End, conflicting, in_tree};
use protocol::{CacheSaving, Cost, CostSource, Usage};

use super::super::{conflicts, diff};
use super::*;
use crate::args::{ConflictsArgs, DiffArgs};

async fn bench() -> (Bench, String) {
    let bench = Bench::new();
    let tasks = vec![
        ("auth", &[][..], End::Done(3, in_tree())),
        ("billing", &[], End::Done(2, conflicting("auth"))),
        ("search", &[], End::Failed),
    ];
    let run = bench.record(tasks).await.to_string();
    (bench, run)
}

fn show_args(target: impl Into<TargetArgs>, rows: TableRows) -> RunsArgs {
    let (target, all) = (target.into(), rows == TableRows::All);
    let command = Some(RunsCommand::Show { target, timing: false, all });
    RunsArgs { command, ..RunsArgs::default() }
}

fn text(write: impl FnOnce(&mut Vec<u8>) -> Result<ExitCode, Error>) -> String {
    let mut out = Vec::new();
    assert_eq!(write(&mut out), Ok(ExitCode::Success));
    String::from_utf8(out).unwrap()
}

#[test]
async fn a_list_has_a_line_per_run() {
    let (bench, run_name) = bench().await;
    let listed = text(|out| run(&bench.context, RunsArgs::default().view().unwrap(), out));
    assert_eq!(
        listed,
        format!(
            "run    label  when              tasks  result\n\
             {run_name}  bench  2026-01-01 12:00      3  exit 4 · 1 landed · 1 conflict · 1 failed\n"
        )
    );
}

#[test]
async fn a_list_that_is_not_complete_says_so_and_json_is_complete() {
    let (mut bench, _) = bench().await;
    let latest = bench.record(vec![("auth", &[][..], End::Failed)]).await;
    let list = |context: &CommandContext, limit: Option<usize>, all| {
        let list = ListArgs { limit: limit.and_then(NonZeroUsize::new), all };
        text(|out| run(context, RunsArgs { list, command: None }.view().unwrap(), out))
    };
    let one = list(&bench.context, Some(1), false);
    let lines: Vec<_> = one.lines().collect();
    assert!(lines[1].starts_with(latest.as_str()), "{one}");
    assert_eq!(lines[2..], ["", "the latest 1 of 2 runs; all of them: regatta runs --all"]);
    for (limit, all) in [(None, false), (None, true), (Some(2), false)] {
        assert_eq!(list(&bench.context, limit, all).lines().count(), 3, "{limit:?} {all}");
    }
    for _ in 0..LISTED {
        bench.record(vec![("auth", &[][..], End::Failed)]).await;
    }
    assert_eq!(list(&bench.context, None, true).lines().count(), LISTED + 3);
    let usual = list(&bench.context, None, false);
    assert!(usual.contains("\nthe latest 20 of 22 runs;"), "{usual}");
    bench.context.view.form = Form::Json;
    for (limit, listed) in [(None, LISTED + 2), (Some(3), 3)] {
        let document = list(&bench.context, limit, false);
        let runs: Vec<serde_json::Value> = serde_json::from_str(&document).unwrap();
        assert_eq!(runs.len(), listed);
    }
}

#[test]
async fn one_run_shows_its_tasks_their_failures_and_what_is_kept() {
    let (bench, name) = bench().await;
    let args = show_args(TargetArgs::default(), TableRows::Folded);
    let shown = text(|out| run(&bench.context, args.view().unwrap(), out));
    assert_eq!(
        shown,
        format!(
            "run {name} · bench · finished · exit 4\n\
             2026-01-01 12:00 · 3 tasks · 1 at once · lands into the working tree\n\n\
             task     outcome          files  lines    time\n\
             auth     landed               3  +3 −0    1.2s\n\
             billing  conflict             2  +2 −0    1.2s   \"src/\\033config.rs\", with auth\n\
             search   failed: command      1  +1 −0    1.2s   it ended with code 3\n\
             1 landed · 1 conflict · 1 failed    2.4s\n\n\
             2 captures kept; their names: regatta runs show {name} --all\n\n\
             landed  the work of 1 task, in the working tree, not committed\n\
             kept    regatta diff {name}/billing             its changes\n        \
             regatta conflicts {name}                the lines that conflict\n        \
             regatta apply {name}/billing --markers  settles it; or --ours, --theirs, --union, --tool\n        \
             regatta diff {name}/search              its unfinished work\n        \
             regatta apply {name}/search             lands it anyway\n\
             failed  regatta logs {name}/search              it ended with code 3\n\
             undo    regatta undo {name}                     takes back what has landed\n\
             retry   regatta runs retry {name}  starts a new run of 1 failed task\n"
        )
    );
}

#[test]
async fn where_captures_are_is_shown_of_one_task_and_of_all_tasks() {
    let (bench, name) = bench().await;
    let show = |target: &str, rows| {
        let args = show_args(Some(target.to_owned()), rows);
        text(|out| run(&bench.context, args.view().unwrap(), out))
    };
    let captured = |task: &str| format!("\n{task}  captured at refs/tasks/{name}/{task}/1\n");
    let all = show("@", TableRows::All);
    let (billing, search) = (captured("billing"), captured("search").trim_start().to_owned());
    assert!(all.contains(&format!("{billing}{search}")) && !all.contains("captures kept"), "{all}");
    assert!(show("auth", TableRows::Folded).contains(&captured("auth")));
}

#[test]
async fn programs_get_one_document_with_the_run_and_its_tasks() {
    let (mut bench, name) = bench().await;
    bench.context.view.form = Form::Json;
    let args = show_args(Some(name.clone()), TableRows::Folded);
    let shown: serde_json::Value =
        serde_json::from_str(&text(|out| run(&bench.context, args.view().unwrap(), out))).unwrap();
    assert_eq!(shown["run"]["name"], name);
    assert_eq!(shown["tasks"][1]["name"], "billing");
    let listed = text(|out| run(&bench.context, RunsArgs::default().view().unwrap(), out));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[0]["name"], name);
}

#[test]
async fn a_patch_comes_out_of_a_pipe_byte_for_byte() {
    let (bench, name) = bench().await;
    let one = DiffArgs { target: Some("search".to_owned()).into(), stat: false, all: false };
    let patch = format!("patch of refs/tasks/{name}/search/1\n\u{1b}[2J");
    assert_eq!(text(|out| diff::run(&bench.context, &one, out)), patch);
    let all = text(|out| {
        diff::run(&bench.context, &DiffArgs { target: None.into(), stat: false, all: false }, out)
    });
    assert_eq!(all.matches("patch of").count(), 3);
}

#[test]
async fn conflicts_are_listed_with_their_sides() {
    let (mut bench, name) = bench().await;
    let args = ConflictsArgs { target: None.into() };
    let listed = text(|out| conflicts::run(&bench.context, &args, out));
    assert_eq!(
        listed,
        format!(
            "billing  \"src/\\033config.rs\"  with auth: both changed the same lines\n    \
             base aaaaaaaaaaaa  ours bbbbbbbbbbbb  theirs none\n\n\
             its changes     regatta diff {name}/billing\n\
             settle it       regatta apply {name}/billing --theirs\n                \
             or --ours, --markers; without a path, for all\n\
             the rest now    regatta apply {name}/billing --clean\n\
             try again       regatta apply {name}\n\
             with git        regatta diff {name}/billing | git apply --3way  (git add or commit your changes first)\n"
        )
    );
    let damaged = FakeCaptures { are_damaged: true, ..FakeCaptures::default() };
    bench.context.runs.captured = std::sync::Arc::new(damaged);
    let without = text(|out| conflicts::run(&bench.context, &args, out));
    let why = "theirs none\n    its lines are not shown: cannot read a version: it is damaged\n";
    assert!(without.contains(why), "{without}");
    bench.context.view.form = Form::Json;
    let document = text(|out| conflicts::run(&bench.context, &args, out));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["conflicts"][0]["task"], "billing");
    assert_eq!(document["conflicts"][0]["reason"], "content");
    assert_eq!(document["conflicts"][0]["ours"]["oid"], "b".repeat(40));
    assert_eq!(document["kept"], serde_json::json!([]));
}

#[test]
async fn what_models_used_is_told_of_runs_and_of_tasks() {
    let bench = Bench::new();
    let priced = Usage {
        input: 2_000,
        output: 100,
        cache_read: 22_000,
        cost: Some(Cost::from_nanodollars(51_000_000)),
        cost_source: CostSource::Priced,
        cache_saving: Some(CacheSaving::from_nanodollars(59_400_000)),
        ..Usage::ZERO
    };
    let cost_source = CostSource::Unknown;
    let unpriced = Usage { cost: None, cost_source, cache_saving: None, ..priced };
    let yielded = |usage| {
        let value = serde_json::Value::Null;
        End::Agent(Outcome::Done { value }, usage)
    };
    let tasks = vec![
        ("auth", &[][..], yielded(priced)),
        ("search", &[], yielded(unpriced)),
        ("make", &[], End::Done(1, in_tree())),
    ];
    let name = bench.record(tasks).await;

    let listed = text(|out| run(&bench.context, RunsArgs::default().view().unwrap(), out));
    let line = format!(
        "{name}  bench  2026-01-01 12:00      3  exit 4 · 1 landed · 2 kept · 48.2k tokens · cost unknown"
    );
    assert_eq!(listed.lines().nth(1), Some(line.as_str()));
    let show = |target: &str| {
        let run_or_task = Some(target.to_owned());
        let args = show_args(run_or_task, TableRows::Folded);
        text(|out| run(&bench.context, args.view().unwrap(), out))
    };
    let whole = show("@");
    let table: Vec<_> = whole.lines().skip(3).take(6).collect();
    assert_eq!(
        table,
        [
            "task    outcome  files  lines    time  tokens     cost",
            "auth    kept         1  +1 −0    1.2s   24.1k    $0.05",
            "search  kept         1  +1 −0    1.2s   24.1k        ?",
            "make    landed       1  +1 −0    1.2s       –        –",
            "1 landed · 2 kept    2.4s · 48.2k tokens · cost unknown",
            "44.0k tokens read from caches · savings by caches are unknown",
        ]
    );
    let account = "auth  took 1.2s, 24.1k tokens (2.0k read, 22.0k read from a cache, 100 written) \
                   · $0.05 (priced) · $0.06 saved by caches";
    assert!(show("auth").lines().any(|line| line == account), "{}", show("auth"));

    let mut context = bench.context.clone();
    context.view.form = Form::Json;
    let args = show_args(TargetArgs::default(), TableRows::Folded);
    let document: serde_json::Value =
        serde_json::from_str(&text(|out| run(&context, args.view().unwrap(), out))).unwrap();
    let usage = serde_json::json!({
        "input": 2_000, "output": 100, "cache_read": 22_000, "cache_write": 0, "cost": 0.051,
        "cost_source": "priced", "cache_saving": 0.0594,
    });
    assert_eq!(document["tasks"][0]["report"]["usage"], usage);
    assert_eq!(document["run"]["totals"]["usage"]["cost"], serde_json::Value::Null);
}
