//! Plans, good and bad.

use std::time::Duration;

use protocol::{ChangeDemand, ExitCode, LandTime, MergeMode};
use serde_json::json;

use super::super::{PlannedLimits, PlannedTask, PlannedWork};
use super::*;
use crate::each::PlanPrompt;

fn plan(text: &str) -> Result<Plan, Error> {
    read(&PlanSource::Standard, &mut text.as_bytes())
}

fn refused(text: &str) -> String {
    let error = plan(text).expect_err("the plan makes no sense");
    assert_eq!((error.kind, error.exit), (ErrorKind::Plan, ExitCode::NotStarted), "{error}");
    error.to_string()
}

/// A plan whose only task has these lines.
fn task(lines: &str) -> String {
    format!("version = 1\n[[task]]\n{lines}\n")
}

/// A prompt without placeholders.
fn plain(prompt: &str) -> PlanPrompt {
    PlanPrompt { text: prompt.to_owned(), yields: Vec::new() }
}

#[test]
fn a_plan_says_all_it_can() {
    let read = plan(
        r#"
        version = 1
        name = "rename"
        jobs = 8
        merge = "branch"
        onto = "main"
        land = "eager"
        limits = { wall = "20m", output = "5MB" }

        [[task]]
        id = "auth"
        exec = "make auth"

        [[task]]
        exec = "make rest"
        depends_on = ["AUTH", "auth"]
        priority = -2
        must_change = true
        schema = { type = "object", required = ["a"] }
        limits = { wall = "1m" }
        setup = ["make deps"]
        carry = [".env"]
        "#,
    )
    .unwrap();
    assert_eq!(read.name.as_deref(), Some("rename"));
    assert_eq!(read.jobs.map(std::num::NonZero::get), Some(8));
    assert_eq!(read.merge, Some(MergeMode::Branch));
    assert_eq!(read.onto.as_deref(), Some("main"));
    assert_eq!(read.land, Some(LandTime::Eager));
    assert_eq!(read.limits.wall, Some(Duration::from_secs(1200)));
    assert_eq!(read.limits.output, Some(5_000_000));
    let auth = PlannedTask {
        name: "auth".parse().unwrap(),
        work: PlannedWork::Command("make auth".to_owned()),
        depends_on: Vec::new(),
        priority: 0,
        change: ChangeDemand::Optional,
        schema: None,
        limits: PlannedLimits::default(),
        setup: None,
        carry: None,
    };
    let rest = PlannedTask {
        name: "t2".parse().unwrap(),
        work: PlannedWork::Command("make rest".to_owned()),
        depends_on: vec!["auth".parse().unwrap()],
        priority: -2,
        change: ChangeDemand::Required,
        schema: Some(json!({ "type": "object", "required": ["a"] })),
        limits: PlannedLimits { wall: Some(Duration::from_secs(60)), ..PlannedLimits::default() },
        setup: Some(vec!["make deps".to_owned()]),
        carry: Some(vec![".env".to_owned()]),
    };
    assert_eq!(read.tasks, [auth, rest]);
}

#[test]
fn an_unknown_key_is_told_with_its_place_and_the_nearest() {
    assert_eq!(
        refused(&task("exec = 'a'\ndepend_on = []")),
        "error: standard input:4:1: `depend_on` is not a key of a task\n  try: depends_on"
    );
    assert_eq!(
        refused("version = 1\n[[tasks]]\nexec = 'a'"),
        "error: standard input:2:3: `tasks` is not a key of a plan\n  try: task"
    );
    for (text, said) in [
        (
            task("exec = 'a'\npriorty = 1"),
            ":4:1: `priorty` is not a key of a task\n  try: priority",
        ),
        (
            format!("job = 3\n{}", task("exec = 'a'")),
            ":1:1: `job` is not a key of a plan\n  try: jobs",
        ),
        (task("exec = 'a'\nneeds = []"), ":4:1: `needs` is not a key of a task\n  try: depends_on"),
        (task("cmd = 'a'"), ":3:1: `cmd` is not a key of a task\n  try: exec"),
        (task("name = 'a'"), ":3:1: `name` is not a key of a task\n  try: id"),
        (
            task("exec = 'a'\ntimeout = 9"),
            ":4:1: `timeout` is not a key of a task\n  try: limits = { wall = \"20m\" }",
        ),
        (
            format!("limits = {{ timeout = 9 }}\n{}", task("exec = 'a'")),
            ":1:12: `timeout` is not a key of limits\n  try: wall",
        ),
    ] {
        assert_eq!(refused(&text), format!("error: standard input{said}"));
    }
    assert!(
        refused("version = 1\n[limits]\nwhatever = 1").contains(
            "`whatever` is not a key of limits\n  because the keys are wall, output, turns"
        )
    );
}

#[test]
fn what_is_not_yet_built_is_refused_never_ignored() {
    for (text, key) in [
        ("[[task]]\nprompt = 'a'\nagent = 'task'", "agent"),
        ("[[task]]\nexec = 'a'\nscope = []", "scope"),
        ("[[task]]\nexec = 'a'\nproofs = []", "proofs"),
    ] {
        let said = refused(&format!("version = 1\n{text}"));
        assert!(said.contains(&format!("`{key}` in ")), "{said}");
        assert!(said.contains("is not implemented yet\n  try: "), "{said}");
    }
    assert!(
        refused(&format!("agent = 'scout'\n{}", task("prompt = 'a'")))
            .contains("not implemented yet")
    );
}

#[test]
fn a_plan_has_a_version_and_tasks_that_do_something() {
    assert_eq!(
        refused("[[task]]\nexec = 'a'"),
        "error: standard input:1:1: the plan does not say for which version of the format it is \
         written\n  try: version = 1"
    );
    assert!(
        refused("version = 2\n[[task]]\nexec = 'a'")
            .contains(":1:11: `version`: version 2 of the format")
    );
    assert!(refused("version = 1").contains("the plan has no task"));
    assert!(refused("").contains("the plan is empty"));
    assert!(refused("# nothing").contains("does not say for which version"));
    assert!(
        refused(&task("id = 'a'"))
            .contains(":2:1: task `a` has no `prompt`, `prompt_file` or `exec`")
    );
    assert!(refused(&task("exec = ' '")).contains("the command of task `t1` is empty"));
}

#[test]
fn a_bad_name_is_refused_with_a_better_one() {
    let said = refused(&task("id = 'src/auth mod'\nexec = 'a'"));
    assert!(
        said.starts_with("error: standard input:3:6: `id`: `src/auth mod` cannot name a task"),
        "{said}"
    );
    assert!(said.ends_with("\n  try: id = \"src-auth-mod\""), "{said}");
    for name in ["a.lock", "-a"] {
        let said = refused(&task(&format!("id = '{name}'\nexec = 'a'")));
        assert!(said.contains(&format!(":3:6: `id`: `{name}` cannot name a task")), "{said}");
    }
}

#[test]
fn a_name_stands_once_whatever_its_case() {
    let said = refused(
        "version = 1\n[[task]]\nid = 'Auth'\nexec = 'a'\n[[task]]\nid = 'auth'\nexec = 'b'",
    );
    assert!(
        said.starts_with("error: standard input:6:6: `id`: a second task is called `auth`"),
        "{said}"
    );
    assert!(said.contains("the first is in line 3"), "{said}");
    assert!(
        refused("version = 1\n[[task]]\nid = 't2'\nexec = 'a'\n[[task]]\nexec = 'b'")
            .contains("`t2`")
    );
}

#[test]
fn a_task_without_an_id_is_named_by_its_prompt_or_its_file_and_a_command_by_its_number() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("the docs.md"), "Write docs.").unwrap();
    let path = folder.path().join("plan.toml");
    let text = "version = 1\n[[task]]\nprompt = 'Fix it.'\n[[task]]\nexec = 'make'\n[[task]]\n\
                prompt_file = 'the docs.md'\n[[task]]\nprompt = 'fix IT'\ndepends_on = ['fix-it']\n\
                [[task]]\nid = 'fix-it'\nprompt = 'Fix it.'\n[[task]]\nprompt = 't2'";
    std::fs::write(&path, text).unwrap();
    let plan = super::read(&PlanSource::of(&path), &mut &b""[..]).unwrap();
    let names: Vec<_> = plan.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["fix-it-2", "t2", "the-docs", "fix-it-3", "fix-it", "t2-2"]);
    assert_eq!(plan.tasks[3].depends_on, ["fix-it".parse().unwrap()]);
}

#[test]
fn tasks_depend_on_tasks_that_are_there_and_in_no_circle() {
    let two = |first: &str, second: &str| {
        format!(
            "version = 1\n[[task]]\nid = 'auth'\nexec = 'a'\ndepends_on = ['{first}']\n[[task]]\n\
             id = 'tests'\nexec = 'b'\ndepends_on = ['{second}']\n"
        )
    };
    let said = refused(&two("test", "auth"));
    assert!(
        said.contains(":5:15: `depends_on`: task `auth` depends on `test`, which is not in"),
        "{said}"
    );
    assert!(said.ends_with("\n  try: tests"), "{said}");
    let said = refused(&two("tests", "auth"));
    assert!(said.contains("in a circle: auth → tests → auth"), "{said}");
    assert!(refused(&two("auth", "auth")).contains("circle: auth → auth"));
}

#[test]
fn a_value_of_the_wrong_kind_is_told_with_its_place() {
    assert!(
        refused(&task("exec = 3"))
            .contains(":3:8: `exec`: invalid type: integer `3`, expected a string")
    );
    assert!(
        refused(&format!("jobs = 0\n{}", task("exec = 'a'"))).contains(":1:8: `jobs` is a number")
    );
    let said = refused(&format!("limits = {{ wall = 'soon' }}\n{}", task("exec = 'a'")));
    assert!(said.contains(":1:19: "), "{said}");
    assert!(
        refused(&task("exec = 'a'\npriority = 1e9"))
            .contains(":4:12: `priority`: invalid type: floating")
    );
    let said = refused(&task("exec = 'a'\npriority = 'x'"));
    assert!(
        said.contains(":4:12: `priority`: invalid type: string \"x\", expected a whole number"),
        "{said}"
    );
    let said = refused(&task("exec = 'a'\ndepends_on = 'x'"));
    assert!(
        said.contains(":4:14: `depends_on`: invalid type: string \"x\", expected a list"),
        "{said}"
    );
    assert!(refused("version = 1\n[[task]\n").starts_with("error: standard input:2:"));
}

#[test]
fn a_placeholder_in_a_plan_has_nothing_to_stand_for() {
    let said = refused(&task("exec = 'cat {{item}}'"));
    assert!(
        said.starts_with("error: standard input:3:8: `exec`: `{{item}}` has no value"),
        "{said}"
    );
    assert!(refused(&task("exec = 'cat {{itme}}'")).contains("is not a placeholder"));
    let context = "version = 1\ncontext = '{{tasks.a.yield}}'\n[[task]]\nprompt = 'a'";
    let said = refused(context);
    for words in [":2:11:", "context", "tasks.a.yield"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    for name in ["gone", "use"] {
        let said = refused(&task(&format!("id = 'use'\nprompt = '{{{{tasks.{name}.yield}}}}'")));
        assert!(said.contains(&format!("`{name}`, which is not a predecessor")), "{said}");
    }
}

#[test]
fn a_plan_for_agents_says_what_is_asked_of_whom() {
    let read = plan(
        r#"
        version = 1
        agent = "task"
        model = "local/qwen"
        base_url = "http://127.0.0.1:8080/v1/"
        context = "It is a library."
        limits = { turns = 40, tokens = 400_000 }

        [[task]]
        prompt = "Move src/auth, not \\{{item}}."

        [[task]]
        prompt = "Write {{docs}}."
        model = "smol"

        [[task]]
        exec = "make"
        "#,
    )
    .unwrap();
    assert_eq!(read.model, "local/qwen".parse().ok());
    assert_eq!(
        read.base_url.map(|base| format!("{} at {}", base.provider, base.url)).as_deref(),
        Some("local at http://127.0.0.1:8080/v1")
    );
    assert_eq!(read.context.as_deref(), Some("It is a library."));
    assert_eq!(read.limits.turns.map(std::num::NonZero::get), Some(40));
    assert_eq!(read.limits.tokens.map(std::num::NonZero::get), Some(400_000));
    let prompt = |prompt: &str, model: &str| PlannedWork::Prompt {
        prompt: plain(prompt),
        model: model.parse().ok(),
    };
    let work: Vec<_> = read.tasks.into_iter().map(|task| task.work).collect();
    assert_eq!(
        work,
        [
            prompt("Move src/auth, not {{item}}.", ""),
            prompt("Write {{docs}}.", "smol"),
            PlannedWork::Command("make".to_owned())
        ]
    );
}

#[test]
fn a_plan_for_agents_that_makes_no_sense_is_refused_with_its_place() {
    let top = |line: &str| format!("version = 1\n{line}\n[[task]]\nprompt = 'a'");
    for (text, expected) in [
        (task("prompt = ' '"), ":3:10: `prompt`: the prompt of task `task` is empty"),
        (task("prompt = 'a {{item}}'"), ":3:10: `prompt`: `{{item}}` has no value"),
        (task("prompt = 'a'\nexec = 'b'"), ":4:8: task `a` has more than one of `prompt`, "),
        (
            task("prompt = 'a'\nprompt_file = 'b'"),
            ":4:15: task `a` has more than one of `prompt`, `prompt_file`, `exec`",
        ),
        (
            task("exec = 'a'\nprompt_file = 'b'"),
            ":4:15: task `b` has more than one of `prompt`, `prompt_file`, `exec`",
        ),
        (
            task("exec = 'a'\nmodel = 'a/b'"),
            ":4:9: `model`: task `t1` has a command, and needs no model",
        ),
        (task("prompt = 'a'\nmodel = ' '"), ":4:9: `model`: a model is PROVIDER/ID"),
        (
            task("prompt_file = 'gone.md'"),
            ":3:15: `prompt_file`: cannot read the prompt gone.md\n  because No such",
        ),
        (
            task("prompt_file = '/'"),
            ":3:15: `prompt_file`: cannot read the prompt /\n  because it is not a file",
        ),
        (top("base_url = 'http://a'"), ":2:12: `base_url` names a server, but not a model"),
        (top("model = 'smol'\nbase_url = 'http://a'"), ":3:12: `base_url` names a server"),
        (
            top("base_url = 'http://a'\n[[task]]\nprompt = 'b'\nmodel = 'c/d'\n\
                 [[task]]\nprompt = 'e'\nmodel = 'a/b'"),
            ":2:12: `base_url` is for one provider, and the tasks name models of a and c",
        ),
        (
            top("model = 'offline/s'\nbase_url = 'http://a'"),
            ":3:12: `base_url` cannot be used with offline/s",
        ),
        (
            top("model = 'a/b'\nbase_url = 'a'"),
            ":3:12: `base_url`: it must begin with http:// or https://",
        ),
        (top("limits = { turns = 0 }"), ":2:20: `turns` is a number from 1 on"),
        (top("limits = { turns = 99999999999 }"), ":2:20: `turns` is a number from 1 on"),
        (top("limits = { tokens = -1 }"), ":2:21: `tokens` is a number from 1 on"),
    ] {
        let said = refused(&text);
        assert!(said.contains(expected), "{text}: {said}");
    }
}

#[test]
fn a_prompt_of_five_megabytes_stands_in_a_file_word_for_word() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    let (good, long) = ("{{item}} \\{{x}} ä\n".repeat(250_000), "x".repeat(16_000_001));
    std::fs::write(folder.path().join("good.md"), &good).unwrap();
    std::fs::write(folder.path().join("long.md"), &long).unwrap();
    std::fs::write(folder.path().join("odd.md"), b"a \xff").unwrap();
    let read = |file: &str| {
        let text =
            format!("{}model = 'offline/s.toml'\n", task(&format!("prompt_file = '{file}'")));
        std::fs::write(&path, text).unwrap();
        super::read(&PlanSource::of(&path), &mut &b""[..])
    };
    let scenario = folder.path().join("s.toml");
    let model = format!("offline/{}", scenario.to_str().unwrap()).parse().ok();
    assert_eq!(
        read("good.md").unwrap().tasks[0].work,
        PlannedWork::Prompt { prompt: plain(&good), model }
    );
    let said = read("long.md").unwrap_err().to_string();
    assert!(said.contains("long.md\n  because it is longer than 16 MB"), "{said}");
    assert!(read("odd.md").unwrap_err().to_string().ends_with("because line 1 is not UTF-8"));
}

#[test]
fn a_schema_stands_in_the_plan_or_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("s.json"), "\u{feff}{\"type\":\"string\"}\r\n").unwrap();
    std::fs::write(folder.path().join("bad.json"), "{").unwrap();
    let path = folder.path().join("plan.toml");
    let read = |lines: &str| {
        std::fs::write(&path, task(lines)).unwrap();
        super::read(&PlanSource::of(&path), &mut &b""[..])
    };
    let plan = read("exec = 'a'\nschema_file = 's.json'").unwrap();
    assert_eq!(plan.tasks[0].schema, Some(json!({ "type": "string" })));
    let gone = read("exec = 'a'\nschema_file = 'gone.json'").unwrap_err().to_string();
    assert!(gone.contains("plan.toml:4:15: `schema_file`: cannot read the schema"), "{gone}");
    let bad = read("exec = 'a'\nschema_file = 'bad.json'").unwrap_err().to_string();
    assert!(bad.contains("because it is not JSON"), "{bad}");
    let both = read("exec = 'a'\nschema_file = 's.json'\nschema = {}").unwrap_err().to_string();
    assert!(both.contains("cannot be used with"), "{both}");
    assert!(
        refused(&task("exec = 'a'\nschema = { maximum = nan }"))
            .contains("`nan` and `inf` are not allowed")
    );
}

#[test]
fn a_plan_that_cannot_be_read_says_why() {
    let gone = read(&PlanSource::of(Path::new("/nowhere/plan.toml")), &mut &b""[..]).unwrap_err();
    assert!(
        gone.to_string().starts_with("error: cannot read the plan /nowhere/plan.toml\n  because")
    );
    let bytes = read(&PlanSource::Standard, &mut &b"version = 1\nname = '\xff'"[..]).unwrap_err();
    assert!(bytes.to_string().ends_with("because line 2 is not UTF-8"), "{bytes}");
    let marked = format!("\u{feff}{}", task("exec = 'a'")).replace('\n', "\r\n");
    assert!(read(&PlanSource::Standard, &mut marked.as_bytes()).is_ok(), "of another editor");
    let mut endless = std::io::repeat(b'#');
    let long = read(&PlanSource::Standard, &mut endless).unwrap_err();
    assert!(long.to_string().ends_with("because it is longer than 10 MB"), "{long}");
    let deep = format!("version = 1\nname = {}", "[".repeat(100_000));
    assert!(refused(&deep).starts_with("error: standard input:2:"));
}

#[test]
fn a_long_plan_is_no_trouble() {
    let mut text = "version = 1\n".to_owned();
    for n in 0..20_000 {
        let on = if n == 0 { String::new() } else { format!("'n{}'", n - 1) };
        text.push_str(&format!("[[task]]\nid = 'n{n}'\nexec = 'a'\ndepends_on = [{on}]\n"));
    }
    assert_eq!(plan(&text).unwrap().tasks.len(), 20_000);
}
