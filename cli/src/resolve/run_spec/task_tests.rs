//! What single tasks have in place of what their run has, and tasks of an earlier run with another
//! command.

use std::sync::Arc;
use std::time::Duration;

use super::tests::{agent, defaults, exec, names, resolved, script, with};
use super::*;
use crate::args::{IsolationChoice, LimitSetting};
use crate::resolve::retried;
use regatta::model::{ListedModel, ModelDirectory, Roles};

const PLAN: &str = "version = 1
setup = ['all']
carry = ['all']
limits = { turns = 4, wall = '5m' }
[[task]]
prompt = 'One.'
limits = { turns = 9 }
setup = ['own']
carry = []
[[task]]
exec = 'two'
";

fn planned() -> RunArgs {
    RunArgs { plan: Some("-".into()), model: "a/b".parse().ok(), ..RunArgs::default() }
}

fn own(needs: &TaskNeeds) -> (Option<&[String]>, Option<&[String]>) {
    (needs.setup.as_deref(), needs.carry.as_deref())
}

#[test]
fn a_task_has_its_own_limits_and_needs_and_the_command_line_goes_before_both() {
    let spec = with(&planned(), &defaults(), PLAN).unwrap();
    let limits = |spec: &RunSpec, at: usize| {
        let limits = spec.tasks[at].limits;
        (limits.turns.get(), limits.wall.as_secs())
    };
    assert_eq!((limits(&spec, 0), limits(&spec, 1)), ((9, 300), (4, 300)));
    assert_eq!(
        (&spec.needs.setup[..], &spec.needs.carry[..]),
        (&["all".to_owned()][..], &["all".to_owned()][..])
    );
    assert_eq!(own(&spec.tasks[0].needs), (Some(&["own".to_owned()][..]), Some(&[][..])));
    assert_eq!(own(&spec.tasks[1].needs), (None, None));
    let limit = |name: &str, value: &str| LimitSetting { name: name.into(), value: value.into() };
    let typed = RunArgs {
        limits: vec![limit("turns", "2")],
        setup: vec!["typed".to_owned()],
        no_carry: true,
        ..planned()
    };
    let spec = with(&typed, &defaults(), PLAN).unwrap();
    assert_eq!((limits(&spec, 0), limits(&spec, 1)), ((2, 300), (2, 300)));
    assert_eq!(own(&spec.tasks[0].needs), (None, None));
    let only = "version = 1\n[[task]]\nexec = 'a'\nsetup = ['b']";
    let isolation = Some(IsolationChoice::Mode(IsolationMode::None));
    let args = RunArgs { plan: Some("-".into()), isolation, ..RunArgs::default() };
    let said = with(&args, &defaults(), only).unwrap_err().to_string();
    assert!(said.starts_with("error: `--setup` cannot be used with isolation `none`"), "{said}");
}

#[test]
fn a_retry_has_the_set_up_of_a_project_as_it_counts_now() {
    let mut earlier = with(&exec("make"), &defaults(), "").unwrap();
    earlier.needs.setup = vec!["./setup".to_owned()];
    let retry = |earlier: &RunSpec, now: &Defaults| {
        let retry = protocol::Retry { run: "r0000".parse().unwrap(), done: Vec::new() };
        let (tasks, args) = (earlier.tasks.clone(), RunArgs::default());
        retried(earlier, tasks, retry, &args, now, &schema::JsonSchemas)
            .map(|run| run.spec.needs.setup)
    };
    let mut counts = defaults();
    let file = "/repo/.regatta/config.yml".into();
    let origin = config::Origin::Project { file, line: 1 };
    counts.needs.setup = config::Setting { value: vec!["./other".to_owned()], origin };
    assert_eq!(retry(&earlier, &counts).unwrap(), ["./setup"], "it was typed");
    earlier.needs.setup_folder = protocol::SetupFolder::Root;
    assert_eq!(retry(&earlier, &counts).unwrap(), ["./other"]);
    let refused = retry(&earlier, &defaults()).unwrap_err();
    assert_eq!(
        (refused.what.as_str(), &refused.hints[..]),
        ("cannot retry run r0000", &["regatta trust".to_owned()][..])
    );
    earlier.tasks[0].needs.setup = Some(Vec::new());
    assert!(retry(&earlier, &defaults()).is_ok(), "no task uses it");
}

#[test]
fn a_retry_may_have_another_command_for_the_items_of_its_tasks() {
    let each = RunArgs { each: Some("*.c".to_owned()), ..exec("cc {{item}}") };
    let earlier = with(&each, &defaults(), "").unwrap();
    let retry = |earlier: &RunSpec, tasks: &[TaskSpec], args: &RunArgs| {
        let retry = protocol::Retry { run: "r0000".parse().unwrap(), done: Vec::new() };
        let again =
            retried(earlier, tasks.to_vec(), retry, args, &defaults(), &schema::JsonSchemas)?;
        Ok::<_, Error>(again.spec)
    };
    let limits = vec![LimitSetting { name: "wall".into(), value: "7m".into() }];
    let again = RunArgs { limits, ..exec("cc -O {{item.stem}} {{index}}") };
    let spec = retry(&earlier, &earlier.tasks[1..], &again).unwrap();
    assert_eq!((names(&spec), spec.tasks[0].title.as_str()), (vec!["b-c-c"], "b c.c"));
    assert_eq!(script(&spec.tasks[0]), "cc -O \"${REGATTA_ITEM_STEM}\" 2");
    assert_eq!(spec.tasks[0].limits.wall, Duration::from_secs(420));
    let one = with(&exec("make all"), &defaults(), "").unwrap();
    let spec = retry(&one, &one.tasks, &exec("make most")).unwrap();
    assert_eq!((script(&spec.tasks[0]), spec.tasks[0].title.as_str()), ("make most", "make most"));
    for (args, said) in [
        (exec("make {{item}}"), "`{{item}}` has no value"),
        (exec(" "), "the command of --exec is empty"),
    ] {
        assert!(retry(&one, &one.tasks, &args).unwrap_err().to_string().contains(said), "{said}");
    }
    let plan = with(&planned(), &defaults(), PLAN).unwrap();
    let said = retry(&plan, &plan.tasks[..1], &exec("make")).unwrap_err().to_string();
    assert!(
        said.starts_with("error: --exec replaces the command of tasks, and no task has one"),
        "{said}"
    );
    let both = retry(&plan, &plan.tasks, &exec("make")).unwrap();
    assert_eq!((script(&both.tasks[1]), &both.tasks[0].work), ("make", &plan.tasks[0].work));
}

#[test]
fn a_base_url_of_a_plan_without_a_model_is_that_of_the_provider_of_its_tasks() {
    let plan = "version = 1\nbase_url = 'http://at'\n\
                [[task]]\nprompt = 'one'\nmodel = 'local/a'\n\
                [[task]]\nprompt = 'two'\nmodel = 'local/b'\n\
                [[task]]\nprompt = 'three'\n";
    let roles = Roles { default: "tiny/c".parse().ok(), ..Roles::default() };
    let args = RunArgs { plan: Some("-".into()), ..RunArgs::default() };
    let spec = with(&args, &Defaults { roles, ..defaults() }, plan).unwrap();
    let asked = spec.tasks.iter().map(|task| match &task.work {
        Work::Agent(agent) => (agent.model.to_string(), agent.model.base_url.as_deref()),
        Work::Command(_) | Work::Conversation(_) => panic!("each has a prompt"),
    });
    let at = Some("http://at");
    let expected = [("local/a", at), ("local/b", at), ("tiny/c", None)];
    assert_eq!(asked.collect::<Vec<_>>(), expected.map(|(model, at)| (model.to_owned(), at)));
}

/// Returns the defaults of a user whose models are these, and whose role `default` is a family.
fn with_models(models: &[&str]) -> Defaults {
    let listed = models.iter().map(|id| ListedModel {
        provider: "a".to_owned(),
        id: (*id).to_owned(),
        facts: providers::ModelFacts::default(),
        obstacle: None,
    });
    let directory = Arc::new(ModelDirectory::new(listed.collect()));
    let roles = Roles { default: "haiku".parse().ok(), directory, ..Roles::default() };
    Defaults { roles, ..defaults() }
}

#[test]
fn it_is_told_which_model_each_name_means_in_a_plan_in_the_settings_and_in_a_retry() {
    let defaults = with_models(&["claude-sonnet-5", "claude-haiku-4-5", "claude-opus-5"]);
    let plan = |model: &str| {
        format!(
            "version = 1\n{model}\n[[task]]\nprompt = 'one'\n[[task]]\nprompt = 'two'\n\
             [[task]]\nprompt = 'three'\nmodel = 'opus:high'\n"
        )
    };
    let args = RunArgs { plan: Some("-".into()), ..RunArgs::default() };
    let sonnet = "`sonnet` is the model a/claude-sonnet-5";
    let opus = "`opus:high` is the model a/claude-opus-5:high";
    let haiku = "`haiku` is the model a/claude-haiku-4-5";
    for (model, expected) in [
        ("model = 'sonnet'", &[sonnet, opus][..]),
        ("model = 'sonnet'\nfallback = ['a/claude-opus-5', 'haiku']", &[sonnet, opus, haiku]),
        ("", &[haiku, opus]),
        ("model = 'default'", &[haiku, opus]),
        ("model = 'a/claude-opus-5'", &[opus]),
    ] {
        let run = resolved(&args, &defaults, &plan(model)).unwrap();
        assert_eq!(run.meant, expected, "{model}");
    }
    let earlier = resolved(&args, &defaults, &plan("")).unwrap().spec;
    for (model, route, meant) in [
        ("sonnet", "a/claude-sonnet-5", "`sonnet` is the model a/claude-sonnet-5"),
        (
            "haiku:high",
            "a/claude-haiku-4-5:high",
            "`haiku:high` is the model a/claude-haiku-4-5:high",
        ),
        ("claude-opus-5", "a/claude-opus-5", "`claude-opus-5` is the model a/claude-opus-5"),
        ("a/opus", "a/claude-opus-5", "`a/opus` is the model a/claude-opus-5"),
    ] {
        let again = protocol::Retry { run: "r0000".parse().unwrap(), done: Vec::new() };
        let args = RunArgs { model: model.parse().ok(), ..RunArgs::default() };
        let tasks = earlier.tasks.clone();
        let run = retried(&earlier, tasks, again, &args, &defaults, &schema::JsonSchemas).unwrap();
        let routes: Vec<_> =
            run.spec.tasks.iter().map(|task| agent(task).model.to_string()).collect();
        assert_eq!((routes, run.meant), (vec![route.to_owned(); 3], vec![meant.to_owned()]));
    }
}
