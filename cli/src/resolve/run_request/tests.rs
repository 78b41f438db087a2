//! What the command line asks for.

use std::path::PathBuf;

use super::*;

fn refused(args: &RunArgs) -> String {
    RunRequest::parse(args, None).expect_err("it makes no sense").to_string()
}

fn owned(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn no_task_at_all_is_answered_with_an_example_of_each_kind() {
    let said = refused(&RunArgs::default());
    assert!(said.starts_with("error: there is no task\n  try: regatta run --model"), "{said}");
    assert_eq!(said.matches("\n  try: ").count(), 4);
}

#[test]
fn a_task_without_a_command_is_for_a_model() {
    let args = RunArgs { tasks: vec!["fix it".into(), "test {{it}}".into()], ..RunArgs::default() };
    let prompts = ["fix it", "test {{it}}"].map(NamedPrompt::parse).to_vec();
    assert_eq!(RunRequest::parse(&args, None), Ok(RunRequest(TaskSource::Prompts(prompts))));
    let each = RunArgs { tasks: vec!["fix {{item}}".into()], each: owned("*"), ..args.clone() };
    let pattern = WorkTemplate::Prompt("fix {{item}}".to_owned());
    let source = ItemSource::parse("*");
    assert_eq!(
        RunRequest::parse(&each, None),
        Ok(RunRequest(TaskSource::Each { pattern, source }))
    );
    let two = RunArgs { each: owned("*"), ..args };
    assert!(refused(&two).starts_with("error: --each takes one TASK, and there are 2\n"));
    let item = RunArgs { tasks: vec!["fix {{item}}".into()], ..RunArgs::default() };
    assert!(refused(&item).starts_with("error: `{{item}}` has no value"));
}

#[test]
fn a_name_is_given_to_one_task_and_no_two_have_the_same() {
    let tasks = |tasks: &[&str]| tasks.iter().map(|&task| task.to_owned()).collect();
    let run = |words: &[&str]| RunArgs { tasks: tasks(words), ..RunArgs::default() };
    let named = |args| RunArgs { name: "auth".parse().ok(), ..args };
    let exec = |args| RunArgs { exec: owned("ask {{item}}"), ..args };
    let each = |args| RunArgs { each: owned("*"), ..args };
    assert_eq!(
        refused(&run(&["auth=a", "b", "auth=c"])),
        "error: a second task is called `auth`\n  try: auth-2='what to do'"
    );
    assert!(refused(&run(&["b", "auth= "])).starts_with("error: TASK number 2 is empty\n"));
    for args in [run(&["fix it"]), exec(run(&["fix it"]))] {
        assert!(RunRequest::parse(&named(args), None).is_ok());
    }
    for args in [run(&["a", "b"]), exec(run(&["a", "b"])), each(run(&["a {{item}}"]))] {
        let said = refused(&named(args));
        assert!(said.starts_with("error: `--name auth` names one task, and there"), "{said}");
    }
    let said = refused(&named(run(&["lib=fix it"])));
    assert!(said.ends_with("leave one of them out: --name or lib="), "{said}");
    let plan = RunArgs { plan: Some(PathBuf::from("p.toml")), ..RunArgs::default() };
    assert!(refused(&named(plan)).contains("`--name` cannot be used with `--plan`"));
    // The words of a command are its items, and a template is filled for each item.
    let words = RunRequest::parse(&exec(run(&["debug=1"])), None).unwrap();
    assert!(matches!(words.0, TaskSource::Words { words, .. } if words == ["debug=1"]));
    let template = WorkTemplate::Prompt("lib=a {{item}}".to_owned());
    let request = RunRequest::parse(&each(run(&["lib=a {{item}}"])), None).unwrap();
    assert!(matches!(request.0, TaskSource::Each { pattern, .. } if pattern == template));
}

#[test]
fn words_that_may_have_lost_their_quotes_are_remarked_upon() {
    let note = |words: &[&str]| {
        let tasks = words.iter().map(|word| (*word).to_owned()).collect();
        RunRequest::parse(&RunArgs { tasks, ..RunArgs::default() }, None).unwrap().note()
    };
    let told = note(&["fix", "the", "tests"]).unwrap();
    assert!(told.starts_with("these are 3 tasks of one word each, the first is `fix`"), "{told}");
    assert_eq!(note(&["fix the tests", "lint"]), None);
    assert_eq!(note(&["lint"]), None);
    let told = note(&["mode=fast breaks it"]).unwrap();
    assert!(
        told.starts_with("`mode=` names the task, and its prompt begins with `fast`"),
        "{told}"
    );
    for words in
        [&["n=2 is wrong"][..], &["docs=Fix it"], &["auth=write tests"], &["a=fix it", "b=test it"]]
    {
        assert_eq!(note(words), None, "{words:?}");
    }
    let each = |prompt: &str| {
        let tasks = vec![prompt.to_owned()];
        let args = RunArgs { tasks, each: owned("*.rs"), ..RunArgs::default() };
        RunRequest::parse(&args, None).unwrap().note()
    };
    assert!(each("fix it").is_some_and(|told| told.contains("the same task")));
    assert_eq!(each("fix {{item.stem}}"), None);
    let command = |script: &str| {
        let args = RunArgs { exec: owned(script), each: owned("-"), ..RunArgs::default() };
        RunRequest::parse(&args, None).unwrap().note()
    };
    assert!(command("make docs").is_some_and(|told| told.contains("the same command")));
    for script in ["echo {{item}}", "echo {{index}}", "echo \"$REGATTA_ITEM\""] {
        assert_eq!(command(script), None, "{script}");
    }
    let tasks = vec!["a".to_owned(), "b".to_owned()];
    let words = RunArgs { exec: owned("make"), tasks, ..RunArgs::default() };
    let told = RunRequest::parse(&words, None).unwrap().note().unwrap();
    assert!(
        told.ends_with("is `make`, and `a` is an item; put a command of several words in quotes")
    );
    let told = command("wc -l {}").unwrap();
    assert!(told.ends_with("because {{item}} is not in --exec; {} is not replaced"), "{told}");
}

#[test]
fn either_a_command_or_a_model_does_the_work() {
    let model = || RunArgs { model: "a/b".parse().ok(), ..RunArgs::default() };
    let both = RunArgs { exec: owned("a"), ..model() };
    assert!(refused(&both).starts_with("error: `--exec` cannot be used with `--model`\n"));
    let agent = RunArgs { exec: owned("a"), agent: "task".parse().ok(), ..RunArgs::default() };
    assert!(refused(&agent).starts_with("error: `--exec` cannot be used with `--agent`\n"));
    let where_only = RunArgs {
        base_url: "http://a".parse().ok(),
        tasks: vec!["fix it".into()],
        ..RunArgs::default()
    };
    let said = refused(&where_only);
    assert!(said.ends_with("try: regatta run --model local/MODEL --base-url URL TASK…"), "{said}");
    assert!(refused(&RunArgs { tasks: vec!["\n".into()], ..model() }).contains("number 1 is"));
    assert!(refused(&model()).starts_with("error: there is no task\n"));
}

#[test]
fn what_was_typed_behind_a_command_stays_in_the_line_that_is_suggested() {
    for (exec, tasks, instead) in [
        ("rustfmt", &["{}"][..], "--each SPEC --exec 'rustfmt {{item}}'"),
        ("echo", &["hello {{item}}"], r#"--each SPEC --exec 'echo "hello {{item}}"'"#),
        ("echo", &["-n", "{}", "a", "b c"], "--exec 'echo -n {{item}}' a 'b c'"),
        ("echo {}", &[":::", "a", "b"], "--exec 'echo {{item}}' a b"),
        ("echo {}", &["::::", "list"], "--each @list --exec 'echo {{item}}'"),
    ] {
        let tasks = tasks.iter().map(|task| (*task).to_owned()).collect();
        let said = refused(&RunArgs { exec: owned(exec), tasks, ..RunArgs::default() });
        assert!(said.ends_with(&format!("try: regatta run {instead}")), "{said}");
    }
}

#[test]
fn a_plan_goes_with_no_other_source_of_tasks() {
    let plan = || RunArgs { plan: Some(PathBuf::from("p.toml")), ..RunArgs::default() };
    let task = RunArgs { tasks: vec!["a".into()], ..plan() };
    assert!(refused(&task).starts_with("error: `TASK` cannot be used with `--plan`\n"));
    assert!(
        refused(&RunArgs { exec: owned("a"), ..plan() })
            .contains("`--exec` cannot be used with `--plan`")
    );
    assert!(
        refused(&RunArgs { each: owned("a"), ..plan() })
            .contains("`--each` cannot be used with `--plan`")
    );
    assert_eq!(
        RunRequest::parse(&plan(), None),
        Ok(RunRequest(TaskSource::Plan(PlanSource::File(PathBuf::from("p.toml")))))
    );
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_looked_at() {
    let each = RunArgs { each: owned("*"), ..RunArgs::default() };
    assert!(refused(&each).starts_with("error: --each needs a prompt or --exec"));
    let both = RunArgs { exec: owned("a"), tasks: vec!["b".into()], ..each };
    assert!(refused(&both).starts_with("error: `TASK` cannot be used with `--each`"));
    let empty = RunArgs { exec: owned(" "), ..RunArgs::default() };
    assert!(refused(&empty).starts_with("error: the command of --exec is empty"));
    let word =
        RunArgs { exec: owned("a"), tasks: vec!["b".into(), " ".into()], ..RunArgs::default() };
    assert!(refused(&word).starts_with("error: TASK number 2 is empty"));
    let item = RunArgs { exec: owned("cat {{item}}"), ..RunArgs::default() };
    assert!(refused(&item).starts_with("error: `{{item}}` has no value"));
}

#[test]
fn a_run_inside_a_task_is_refused() {
    let args = RunArgs { exec: owned("a"), ..RunArgs::default() };
    let said = RunRequest::parse(&args, Some(OsStr::new("auth"))).unwrap_err().to_string();
    assert!(said.starts_with("error: this is task `auth` of a run already\n"), "{said}");
    assert!(RunRequest::parse(&args, Some(OsStr::new(""))).is_ok());
}
