//! Runs, asked for in full.

use std::time::Duration;

use protocol::{OnFailure, RepoPath, Retry};

use crate::resolve::{NeedsSettings, retried};
use regatta::model::Roles;

use super::*;
use config::Setting;

use crate::args::{IsolationChoice, LimitSetting};

/// Returns a run with these tasks and scripts, three at once.
pub(crate) fn sample(tasks: &[(&str, &str)]) -> RunSpec {
    let mut spec = spec(&RunArgs { jobs: NonZeroUsize::new(3), ..exec("true") });
    let template = spec.tasks.remove(0);
    spec.tasks = tasks
        .iter()
        .map(|(name, script)| TaskSpec {
            name: name.parse().unwrap(),
            work: Work::Command(Command {
                script: (*script).to_owned(),
                item: None,
                arguments: Vec::new(),
            }),
            ..template.clone()
        })
        .collect();
    spec
}

pub(super) fn defaults() -> Defaults {
    Defaults {
        jobs: None,
        isolation: IsolationMode::Worktree,
        merge: MergeMode::Patch,
        limits: TaskLimits::default(),
        branch_prefix: "regatta".to_owned(),
        untracked_limit: 1 << 28,
        roles: Roles::default(),
        pass_env: Setting { value: Vec::new(), origin: config::Origin::BuiltIn },
        needs: NeedsSettings {
            setup: Setting { value: Vec::new(), origin: config::Origin::BuiltIn },
            carry: Setting { value: Vec::new(), origin: config::Origin::BuiltIn },
            carry_limit: 1 << 30,
        },
        union: Setting { value: Vec::new(), origin: config::Origin::BuiltIn },
        commits: CommitStyle::Generic,
        approvals: Default::default(),
    }
}

pub(super) fn exec(script: &str) -> RunArgs {
    RunArgs { exec: Some(script.to_owned()), ..RunArgs::default() }
}

pub(super) fn with(args: &RunArgs, defaults: &Defaults, standard: &str) -> Result<RunSpec, Error> {
    resolved(args, defaults, standard).map(|run| run.spec)
}

/// Returns a run as it is asked for, with this standard input.
pub(super) fn resolved(
    args: &RunArgs,
    defaults: &Defaults,
    standard: &str,
) -> Result<ResolvedRun, Error> {
    let tracked = || Ok(["a.c", "b c.c"].into_iter().filter_map(RepoPath::new).collect());
    let ground = ResolveInputs {
        root: Path::new("/repo"),
        subfolder: Path::new(""),
        tracked: &tracked,
        standard: &mut standard.as_bytes(),
        schemas: &schema::JsonSchemas,
        cores: NonZeroUsize::new(6).unwrap(),
    };
    resolve(&RunRequest::parse(args, None)?, args, defaults, ground)
}

fn spec(args: &RunArgs) -> RunSpec {
    with(args, &defaults(), "").unwrap()
}

fn refused(args: &RunArgs) -> String {
    with(args, &defaults(), "").expect_err("it makes no sense").to_string()
}

pub(super) fn names(spec: &RunSpec) -> Vec<&str> {
    spec.tasks.iter().map(|task| task.name.as_str()).collect()
}

pub(super) fn script(task: &TaskSpec) -> &str {
    let Work::Command(command) = &task.work else { panic!("a command was asked for") };
    &command.script
}

#[test]
fn a_command_is_one_task_with_all_defaults() {
    let spec = spec(&exec("make all"));
    assert_eq!((names(&spec), spec.tasks[0].title.as_str()), (vec!["t1"], "make all"));
    assert_eq!(
        (spec.jobs.get(), spec.isolation, spec.merge),
        (6, IsolationMode::Worktree, MergeMode::Patch)
    );
    assert_eq!(
        (spec.on_failure, spec.tasks[0].limits),
        (OnFailure::Continue, TaskLimits::default())
    );
    assert_eq!((spec.label, spec.repo.as_path()), (None, Path::new("/repo")));
}

#[test]
fn each_item_and_each_word_is_a_task() {
    let each = RunArgs { each: Some("*.c".to_owned()), ..exec("cc {{item}}") };
    let spec_of_each = spec(&each);
    assert_eq!(names(&spec_of_each), ["a-c", "b-c-c"]);
    assert_eq!(script(&spec_of_each.tasks[1]), "cc \"${REGATTA_ITEM}\"");
    let words = RunArgs { tasks: vec!["fix a".into(), "fix b".into()], ..exec("ask {{item}}") };
    let spec_of_words = spec(&words);
    assert_eq!(names(&spec_of_words), ["fix-a", "fix-b"]);
    assert_eq!(spec_of_words.tasks[0].title, "fix a");
    let name = || "own".parse().ok();
    let one = RunArgs { tasks: vec!["fix a".into()], name: name(), ..exec("ask {{item}}") };
    assert_eq!(names(&spec(&one)), ["own"]);
    assert_eq!(names(&spec(&RunArgs { name: name(), ..exec("make") })), ["own"]);
}

#[test]
fn a_plan_is_read_from_standard_input_and_the_command_line_goes_before_it() {
    let plan =
        "version = 1\njobs = 2\nmerge = 'branch'\nlimits = { wall = '5m' }\n[[task]]\nexec = 'a'";
    let args = RunArgs { plan: Some("-".into()), ..RunArgs::default() };
    let planned = with(&args, &defaults(), plan).unwrap();
    assert_eq!((planned.jobs.get(), planned.merge), (2, MergeMode::Branch));
    assert_eq!(planned.tasks[0].limits.wall, Duration::from_secs(300));
    let args = RunArgs {
        jobs: NonZeroUsize::new(9),
        merge: Some(MergeChoice(MergeMode::None)),
        limits: vec![LimitSetting { name: "wall".into(), value: "2m".into() }],
        ..args
    };
    let typed = with(&args, &defaults(), plan).unwrap();
    assert_eq!((typed.jobs.get(), typed.merge), (9, MergeMode::None));
    assert_eq!(typed.tasks[0].limits.wall, Duration::from_secs(120));
}

#[test]
fn the_settings_hold_where_nothing_else_is_said() {
    let set = Defaults {
        jobs: NonZeroUsize::new(3),
        merge: MergeMode::None,
        branch_prefix: "bots".to_owned(),
        ..defaults()
    };
    let spec = with(&exec("a"), &set, "").unwrap();
    assert_eq!(
        (spec.jobs.get(), spec.merge, spec.branch_prefix.as_str()),
        (3, MergeMode::None, "bots")
    );
}

#[test]
fn in_place_one_task_runs_at_a_time_unless_the_user_says_otherwise() {
    let none = Some(IsolationChoice::Mode(IsolationMode::None));
    let args = RunArgs { isolation: none, ..exec("a") };
    let alone = with(&args, &Defaults { jobs: NonZeroUsize::new(8), ..defaults() }, "").unwrap();
    assert_eq!((alone.jobs.get(), alone.merge), (1, MergeMode::None));
    let args = RunArgs { jobs: NonZeroUsize::new(4), ..args };
    assert_eq!(spec(&args).jobs.get(), 4);
    let args = RunArgs { merge: Some(MergeChoice(MergeMode::Branch)), ..args };
    assert!(refused(&args).starts_with("error: isolation `none` cannot be used with merge"));
    let args = RunArgs { plan: Some("-".into()), isolation: none, ..RunArgs::default() };
    let plan = "version = 1\n[[task]]\nexec = 'a'\nmust_change = true";
    let said = with(&args, &defaults(), plan).unwrap_err().to_string();
    assert!(said.starts_with("error: task `t1` must change something\n"), "{said}");
}

#[test]
fn a_schema_is_checked_before_anything_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("schema.json");
    let args = RunArgs { schema: Some(path.clone()), ..exec("a") };
    std::fs::write(&path, "{\"type\": \"object\"}").unwrap();
    assert_eq!(
        spec(&args).tasks[0].schema.as_deref(),
        Some(&serde_json::json!({ "type": "object" }))
    );
    std::fs::write(&path, "{\"type\": \"thing\"}").unwrap();
    assert!(refused(&args).starts_with("error: task `t1`: invalid JSON Schema\n  because "));
    let plan = "version = 1\n[[task]]\nexec = 'a'\nschema = { type = 5 }";
    let planned = RunArgs { plan: Some("-".into()), ..RunArgs::default() };
    let said = with(&planned, &defaults(), plan).unwrap_err().to_string();
    assert!(said.starts_with("error: task `t1`: invalid JSON Schema\n  because "), "{said}");
    let gone = RunArgs { schema: Some("/nowhere".into()), ..exec("a") };
    assert!(refused(&gone).starts_with("error: cannot read the schema /nowhere\n"));
}

#[test]
fn limits_and_commands_that_cannot_be_are_refused() {
    let limit = |name: &str, value: &str| RunArgs {
        limits: vec![LimitSetting { name: name.into(), value: value.into() }],
        ..exec("a")
    };
    assert!(
        refused(&limit("wall", "soon"))
            .starts_with("error: invalid value `soon` for `--limit wall`\n")
    );
    assert!(refused(&limit("wall", "0s")).starts_with("error: "));
    assert!(refused(&limit("output", "much")).contains("--limit output"));
    assert_eq!(spec(&limit("output", "5MB")).tasks[0].limits.output, 5_000_000);
    assert!(refused(&exec(&"x".repeat(200_000))).contains("task `t1` is longer than 128 KiB"));
    assert!(refused(&exec("a\0b")).contains("NUL"));
}

#[test]
fn globs_of_files_whose_lines_are_joined_that_can_match_nothing_are_refused() {
    for (glob, said) in [
        ("/etc/passwd", "--union: `/etc/passwd` is absolute"),
        ("../secret", "--union: `../secret` leaves the repository"),
        ("[a", "--union: `[a` is not a glob"),
    ] {
        let error = refused(&RunArgs { union: vec![glob.to_owned()], ..exec("true") });
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_hundred_thousand_items_are_a_run_at_once() {
    let items: String = (0..100_000).map(|n| format!("file {n}\n")).collect();
    let args = RunArgs { each: Some("-".to_owned()), ..exec("cat {{item}}") };
    assert_eq!(with(&args, &defaults(), &items).unwrap().tasks.len(), 100_000);
}

fn asked(words: &[&str]) -> RunArgs {
    let tasks = words.iter().map(|word| (*word).to_owned()).collect();
    RunArgs { tasks, model: "ollama/qwen3:8b".parse().ok(), ..RunArgs::default() }
}

pub(super) fn agent(task: &TaskSpec) -> &Agent {
    let Work::Agent(agent) = &task.work else { panic!("a model was asked for") };
    agent
}

#[test]
fn each_word_is_a_task_for_a_model_and_many_run_at_once() {
    let of_two = spec(&asked(&["Fix it.\nAll of it.", "Test it."]));
    assert_eq!((names(&of_two), of_two.jobs.get()), (vec!["fix-it", "test-it"], 32));
    assert_eq!(of_two.tasks[0].title, "Fix it.");
    let named = spec(&asked(&["Fix it.", "fix-it=Test it.", "DEBUG=1 fails", "Fix it!"]));
    assert_eq!(names(&named), ["fix-it-2", "fix-it", "debug-1-fails", "fix-it-3"]);
    assert_eq!((agent(&named.tasks[1]).prompt.as_str(), named.label), ("Test it.", None));
    let given =
        RunArgs { name: "own".parse().ok(), label: Some("All".into()), ..asked(&["Fix it."]) };
    let given = spec(&given);
    assert_eq!((names(&given), given.label.as_deref()), (vec!["own"], Some("All")));
    let expected = Agent {
        model: "ollama/qwen3:8b".parse().unwrap(),
        prompt: "Fix it.\nAll of it.".to_owned(),
        yields: Vec::new(),
        context: None,
        approvals: Default::default(),
        fallback: Vec::new(),
        subagent: None,
        servers: Default::default(),
    };
    assert_eq!(agent(&of_two.tasks[0]), &expected);
    let set = Defaults { jobs: NonZeroUsize::new(3), ..defaults() };
    assert_eq!(with(&asked(&["a"]), &set, "").unwrap().jobs.get(), 3);
    let in_place = Some(IsolationChoice::Mode(IsolationMode::None));
    assert_eq!(self::spec(&RunArgs { isolation: in_place, ..asked(&["a"]) }).jobs.get(), 1);
}

#[test]
fn each_item_is_a_prompt_for_a_model() {
    let args = RunArgs { each: Some("*.c".to_owned()), ..asked(&["Port {{item}}."]) };
    let spec = spec(&args);
    assert_eq!(names(&spec), ["a-c", "b-c-c"]);
    assert_eq!(agent(&spec.tasks[1]).prompt, "Port b c.c.");
    let args = RunArgs { each: Some("*.c".to_owned()), ..asked(&["Port {{itm}}."]) };
    assert!(refused(&args).starts_with("error: `{{itm}}` is not a placeholder\n"));
}

#[test]
fn a_plan_may_have_a_model_a_context_and_limits_and_a_task_a_model_of_its_own() {
    let plan = "version = 1\nmodel = 'local/a'\nbase_url = 'http://at'\ncontext = 'All.'\n\
                limits = { turns = 4, tokens = 90 }\n[[task]]\nprompt = 'one'\n[[task]]\n\
                prompt = 'two'\nmodel = 'smol'\n[[task]]\nexec = 'make'";
    let args = RunArgs { plan: Some("-".into()), ..RunArgs::default() };
    let roles = Roles { smol: "tiny/b".parse().ok(), ..Roles::default() };
    let set = Defaults { roles, ..defaults() };
    let spec = with(&args, &set, plan).unwrap();
    let (one, two) = (agent(&spec.tasks[0]), agent(&spec.tasks[1]));
    assert_eq!(
        (one.model.to_string(), one.model.base_url.as_deref()),
        ("local/a".into(), Some("http://at"))
    );
    assert_eq!((two.model.to_string(), two.model.base_url.as_deref()), ("tiny/b".into(), None));
    assert_eq!(one.context.as_deref(), Some("All."));
    assert_eq!(spec.jobs.get(), 32);
    let limits = spec.tasks[0].limits;
    assert_eq!((limits.turns.get(), limits.tokens), (4, Some(90)));
    let typed = RunArgs {
        model: "typed/c".parse().ok(),
        limits: vec![LimitSetting { name: "tokens".into(), value: "2k".into() }],
        ..args
    };
    let spec = with(&typed, &set, plan).unwrap();
    assert_eq!(agent(&spec.tasks[1]).model.to_string(), "typed/c");
    assert_eq!((spec.tasks[0].limits.turns.get(), spec.tasks[0].limits.tokens), (4, Some(2_000)));
}

#[test]
fn a_task_that_no_model_is_named_for_is_refused() {
    let said = refused(&RunArgs { model: None, ..asked(&["fix it"]) });
    assert!(said.starts_with("error: no model is named\n"), "{said}");
    let roles = Roles { default: "a/b".parse().ok(), ..Roles::default() };
    let set = Defaults { roles, ..defaults() };
    let spec = with(&RunArgs { model: None, ..asked(&["fix it"]) }, &set, "").unwrap();
    assert_eq!(agent(&spec.tasks[0]).model.to_string(), "a/b");
}

#[test]
fn what_only_a_model_could_heed_is_refused_where_none_works() {
    let plan = "version = 1\n[[task]]\nexec = 'a'";
    let args = || RunArgs { plan: Some("-".into()), ..RunArgs::default() };
    let refused = |args| with(&args, &defaults(), plan).unwrap_err().to_string();
    let said = refused(RunArgs { model: "a/b".parse().ok(), ..args() });
    assert!(said.starts_with("error: --model is for a model, and no task has one\n"), "{said}");
    let limits = vec![LimitSetting { name: "turns".into(), value: "3".into() }];
    let said = refused(RunArgs { limits, ..args() });
    assert!(said.starts_with("error: --limit turns is for a model, and no task"), "{said}");
    let limits = vec![LimitSetting { name: "turns".into(), value: "0".into() }];
    let said = refused(RunArgs { limits, ..args() });
    assert!(said.starts_with("error: invalid value `0` for `--limit turns`\n"), "{said}");
    assert!(self::refused(&asked(&[&"x".repeat(16_000_001)])).contains("longer than 16 MB"));
}

#[test]
fn landing_eagerly_is_refused_where_nothing_lands() {
    let eager = || RunArgs { land: Some(LandChoice(LandTime::Eager)), ..exec("true") };
    assert_eq!(spec(&eager()).land, LandTime::Eager);
    let merge = Some(MergeChoice(MergeMode::None));
    let isolation = Some(IsolationChoice::Mode(IsolationMode::None));
    for args in [RunArgs { merge, ..eager() }, RunArgs { isolation, ..eager() }] {
        let said = refused(&args);
        assert!(said.contains("--land eager") && said.contains("has no effect"), "{said}");
    }
    let error = "soon".parse::<LandChoice>().expect_err("it is no time");
    assert!(error.contains("end and eager"), "{error}");
}

#[test]
fn the_variables_that_are_passed_on_are_those_of_the_command_line_else_of_the_settings() {
    let typed = |names: &[&str]| RunArgs {
        pass_env: names.iter().map(|name| name.parse().unwrap()).collect(),
        ..exec("true")
    };
    let set = |names: &[&str]| Defaults {
        pass_env: Setting {
            value: names.iter().map(|&name| name.to_owned()).collect(),
            origin: config::Origin::Environment { variable: "REGATTA_ENV_PASS".to_owned() },
        },
        ..defaults()
    };
    assert_eq!(spec(&exec("true")).pass_env, Vec::<String>::new());
    let passed = with(&exec("true"), &set(&["A", "B", "A"]), "").unwrap().pass_env;
    assert_eq!(passed, ["A", "B"]);
    let passed = with(&typed(&["OPENAI_API_KEY"]), &set(&["A"]), "").unwrap().pass_env;
    assert_eq!(passed, ["OPENAI_API_KEY"]);

    let refused = with(&typed(&["A", "GIT_DIR"]), &defaults(), "").unwrap_err().to_string();
    assert!(refused.starts_with("error: `GIT_DIR` cannot be passed on to tasks\n"), "{refused}");
    assert!(refused.ends_with("because the option --pass-env names it"), "{refused}");
    let refused = with(&exec("true"), &set(&["REGATTA_FAULT"]), "").unwrap_err().to_string();
    assert!(refused.ends_with("because the variable REGATTA_ENV_PASS names it"), "{refused}");
    for wrong in ["", "A=b", "a\0b"] {
        assert!(wrong.parse::<crate::args::VariableName>().is_err(), "{wrong:?}");
    }
}

#[test]
fn a_retried_run_has_the_limit_of_the_settings_where_an_older_ledger_has_none() {
    for (setup, carry, limit, expected) in
        [(&["make"][..], &[][..], 0, 1 << 30), (&[], &[], 0, 1 << 30), (&["make"], &["a"], 5, 5)]
    {
        let mut earlier = spec(&exec("true"));
        let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        earlier.needs.setup = texts(setup);
        (earlier.needs.carry, earlier.needs.carry_limit) = (texts(carry), limit);
        let retry = Retry { run: "r7k3f".parse().unwrap(), done: Vec::new() };
        let (tasks, args) = (earlier.tasks.clone(), RunArgs::default());
        let again = retried(&earlier, tasks, retry, &args, &defaults(), &schema::JsonSchemas);
        assert_eq!(again.unwrap().spec.needs.carry_limit, expected, "{setup:?} {carry:?}");
    }
}
