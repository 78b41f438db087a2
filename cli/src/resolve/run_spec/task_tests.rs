//! What single tasks have in place of what their run has, and tasks of an earlier run with another
//! command.

use std::time::Duration;

use super::tests::{defaults, exec, names, script, with};
use super::*;
use crate::args::{IsolationChoice, LimitSetting};
use crate::model::Roles;
use crate::resolve::retried;

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
fn a_retry_may_have_another_command_for_the_items_of_its_tasks() {
    let each = RunArgs { each: Some("*.c".to_owned()), ..exec("cc {{item}}") };
    let earlier = with(&each, &defaults(), "").unwrap();
    let retry = |earlier: &RunSpec, tasks: &[TaskSpec], args: &RunArgs| {
        let retry = protocol::Retry { run: "r0000".parse().unwrap(), done: Vec::new() };
        retried(earlier, tasks.to_vec(), retry, args, &defaults(), &schema::JsonSchemas)
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
        Work::Command(_) | Work::External(_) => panic!("each has a prompt"),
    });
    let at = Some("http://at");
    let expected = [("local/a", at), ("local/b", at), ("tiny/c", None)];
    assert_eq!(asked.collect::<Vec<_>>(), expected.map(|(model, at)| (model.to_owned(), at)));
}
