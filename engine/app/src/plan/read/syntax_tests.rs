//! Plans in TOML, JSON and YAML: they say the same, and their mistakes have a file, a line and a key.

use super::*;

/// A plan in each syntax, by the ending of its file.
const SAME: [(&str, &str); 3] = [
    (
        "toml",
        "version = 1
name = 'all'
limits = { turns = 4, cost = '2.00 USD' }

[[task]]
id = 'auth'
prompt = 'Fix {{tasks.lint.yield}}.'
model = 'smol'
depends_on = ['lint']
limits = { turns = 9 }
schema = { type = 'object', required = ['a'] }

[[task]]
id = 'lint'
exec = '''
make lint
make fmt
'''
must_change = true
setup = ['npm ci']
carry = []
",
    ),
    (
        "json",
        r#"{
    "version": 1, "name": "all", "limits": { "turns": 4, "cost": "2.00 USD" },
    "task": [
        {
            "id": "auth", "prompt": "Fix {{tasks.lint.yield}}.", "model": "smol",
            "depends_on": ["lint"], "limits": { "turns": 9 },
            "schema": { "type": "object", "required": ["a"] }
        },
        {
            "id": "lint", "exec": "make lint\nmake fmt\n", "must_change": true,
            "setup": ["npm ci"], "carry": [], "model": null
        }
    ]
}"#,
    ),
    (
        "yaml",
        "version: 1
name: all
limits: { turns: 4, cost: 2.00 USD }
task:
  - id: auth
    prompt: Fix {{tasks.lint.yield}}.
    model: smol
    depends_on: [lint]
    limits:
      turns: 9
    schema: { type: object, required: [a] }
  - id: lint
    exec: |
      make lint
      make fmt
    must_change: true
    setup:
      - npm ci
    carry: []
",
    ),
];

fn in_file(ending: &str, text: &str) -> Result<Plan, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("plan.{ending}"));
    std::fs::write(&path, text).unwrap();
    let read = read(&PlanSource::of(&path), &mut &b""[..]);
    let place = format!("{}/", folder.path().display());
    read.map_err(|error| Error { what: error.what.replace(&place, ""), ..error })
}

#[test]
fn a_plan_says_the_same_in_each_syntax_from_a_file_and_from_standard_input() {
    let toml = in_file("toml", SAME[0].1).unwrap();
    for (ending, text) in SAME {
        assert_eq!(in_file(ending, text).unwrap(), toml, "{ending}");
        assert_eq!(read(&PlanSource::Standard, &mut text.as_bytes()).unwrap(), toml, "{ending}");
    }
    let [auth, lint] = toml.tasks.as_slice() else { panic!("two tasks") };
    assert_eq!(auth.limits.turns.map(std::num::NonZero::get), Some(9));
    assert_eq!(
        (lint.setup.as_deref(), lint.carry.as_deref()),
        (Some(&["npm ci".to_owned()][..]), Some(&[][..]))
    );
}

#[test]
fn a_mistake_in_a_plan_names_its_file_its_line_and_its_key_in_each_syntax() {
    let whole = "turns`: invalid type: string \"x\", expected a whole number";
    for (key, [from, to], lines, said) in [
        ("turns", ["9", "0"], [10, 6, 10], "`turns` is a number from 1 on"),
        ("turns", ["9", "'x'"], [10, 6, 10], whole),
        ("depends_on", ["['lint']", "['lin']"], [9, 6, 8], "`depends_on`: task `auth` depends on"),
        ("model", ["'smol'", "' '"], [8, 5, 7], "`model`: a model is PROVIDER/ID"),
        ("setup", ["['npm ci']", "['']"], [20, 11, 18], "`setup`: a set-up command is empty"),
    ] {
        for ((ending, text), line) in SAME.iter().zip(lines) {
            let (from, to) = match *ending {
                "toml" => (format!("{key} = {from}"), format!("{key} = {to}")),
                "json" => {
                    let [from, to] = [from, to].map(|value| value.replace('\'', "\""));
                    (format!("\"{key}\": {from}"), format!("\"{key}\": {to}"))
                }
                _ => match key {
                    "setup" => ("npm ci".to_owned(), "''".to_owned()),
                    "depends_on" => ("[lint]".to_owned(), "[lin]".to_owned()),
                    _ => (format!("{key}: {}", from.replace('\'', "")), format!("{key}: {to}")),
                },
            };
            expect_mistake((ending, text), [&from, &to], line, said);
        }
    }
    for (key, wrong, lines, what) in [
        ("turns", "turn", [10, 6, 10], "limits"),
        ("must_change", "must_chang", [19, 10, 16], "a task"),
        ("version", "versio", [1, 2, 1], "a plan"),
    ] {
        for ((ending, text), line) in SAME.iter().zip(lines) {
            // The key at the task comes after the one at the top.
            let at = text.rfind(key).unwrap();
            let changed = format!("{}{wrong}{}", &text[..at], &text[at + key.len()..]);
            let error = in_file(ending, &changed).expect_err("it makes no sense");
            let said = format!("`{wrong}` is not a key of {what}\n  try: {key}");
            assert!(error.what.starts_with(&format!("plan.{ending}:{line}:")), "{error}");
            assert!(error.to_string().contains(&said), "{error}");
        }
    }
}

fn expect_mistake((ending, text): (&str, &str), [from, to]: [&str; 2], line: usize, said: &str) {
    // The key at the task comes after the one at the top.
    let at = text.rfind(from).unwrap_or_else(|| panic!("{ending}: {from}"));
    let wrong = format!("{}{to}{}", &text[..at], &text[at + from.len()..]);
    let error = in_file(ending, &wrong).expect_err("it makes no sense");
    assert_eq!(error.kind, ErrorKind::Plan);
    assert!(error.what.starts_with(&format!("plan.{ending}:{line}:")), "{from}: {error}");
    assert!(error.what.contains(said), "{from}: {error}");
}

#[test]
fn a_text_in_another_syntax_than_the_ending_says_is_told_what_it_looks_like() {
    for (ending, text, said) in [
        (
            "toml",
            "version: 1\ntask:\n  - exec: a\n",
            "read as TOML, by the ending of its name, and looks like YAML",
        ),
        ("toml", "{ \"version\": 1 }", "looks like JSON"),
        ("json", "version = 1\n", "read as JSON, by the ending of its name, and looks like TOML"),
    ] {
        let error = in_file(ending, text).expect_err("it has another syntax");
        assert!(error.what.starts_with(&format!("plan.{ending}:1:")), "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
    for (ending, text) in [("toml", ""), ("json", "\n"), ("yaml", " \n")] {
        let error = in_file(ending, text).expect_err("it is empty").to_string();
        let said = format!("plan.{ending}:1:1: the plan is empty\n  try: regatta schema plan");
        assert!(error.ends_with(&said), "{error}");
    }
    let error = in_file("json", "# a").expect_err("it is not JSON").to_string();
    assert!(!error.contains("looks like"), "{error}");
    let error = in_file("yaml", "version: 1\n---\nversion: 1\n").expect_err("it is two plans");
    assert!(
        error.to_string().contains("a second document begins (`---`), and only one is allowed")
    );
    for (ending, text, hint) in [
        ("json", "[1]", r#""version": 1 (first, and then "task": [{ "prompt": "…" }])"#),
        ("yaml", "- id: a", r#"version: 1 (first, and then task: [{ prompt: "…" }])"#),
        ("yaml", "nothing", "version: 1 (first"),
    ] {
        let error = in_file(ending, text).expect_err("it is not a plan").to_string();
        let said = format!(": expected a table with the keys of a plan\n  try: {hint}");
        assert!(error.contains(&said), "{error}");
        assert!(error.ends_with("\n  try: regatta schema plan"), "{error}");
    }
}

#[test]
fn a_value_of_the_wrong_kind_or_amount_has_what_to_write_in_its_place() {
    for (text, said, hint) in [
        (
            "setup: npm ci",
            "`setup`: invalid type: string \"npm ci\", expected a list",
            "setup: [\"npm ci\"]",
        ),
        ("verify: {a: b}", "invalid type: table, expected a list", ""),
        (
            "limits: [wall=2m]",
            "`limits`: invalid type: list, expected a table",
            "limits: { wall: \"20m\" }",
        ),
        (
            "limits: [2m, 1MB, 3, 4, 1 USD]",
            "`limits`: invalid type: list, expected a table",
            "limits: { wall: \"20m\" }",
        ),
        (
            "limits:\n  - wall: 2m",
            "`limits`: invalid type: list, expected a table",
            "limits: { wall: \"20m\" }",
        ),
        (
            "limits: wall=2m",
            "`limits`: invalid type: string \"wall=2m\", expected a table",
            "limits: { wall: \"20m\" }",
        ),
        (
            "limits: {cost: 1}",
            "`cost`: invalid type: integer `1`, expected a string",
            "cost: \"2.00 USD\"",
        ),
        ("limits: {wall: soon}", "`wall`: `soon` is not a duration", "wall: \"20m\""),
        ("limits: {turns: 0}", "`turns` is a number from 1 on", "turns: 40"),
        ("merge: nowhere", "`merge`: the modes are", "merge: \"patch\""),
        ("jobs: many", "`jobs`: invalid type: string \"many\"", "jobs: 8"),
        ("task: fix it", "`task`: invalid type: string \"fix it\"", "task: [{ prompt: \"…\" }]"),
        ("task: [fix it]", "expected a table", "task: [{ prompt: \"…\" }]"),
        ("task: [[fix it]]", "invalid type: list, expected a table", "task: [{ prompt: \"…\" }]"),
    ] {
        let task = if text.starts_with("task") { "" } else { "\ntask: [{exec: a}]" };
        let whole = format!("version: 1\n{text}{task}\n");
        let error = in_file("yaml", &whole).expect_err(text).to_string();
        assert!(error.contains(said), "{text}: {error}");
        let tried = error.split_once("\n  try: ").map(|(_, tried)| tried).unwrap_or_default();
        assert_eq!(tried, hint, "{text}: {error}");
    }
}

#[test]
fn advice_is_written_in_the_syntax_of_the_plan() {
    let endings = ["toml", "json", "yaml"];
    for (texts, advice) in [
        (["# a", "{}", "# a"], ["version = 1", "\"version\": 1", "version: 1"]),
        (
            [
                "version = 1\n[[task]]\nid = 'a b'\nexec = 'x'",
                r#"{"version": 1, "task": [{"id": "a b", "exec": "x"}]}"#,
                "version: 1\ntask: [{id: a b, exec: x}]",
            ],
            ["id = \"a-b\"", "\"id\": \"a-b\"", "id: \"a-b\""],
        ),
        (
            [
                "version = 1\n[task]\nexec = 'x'",
                r#"{"version": 1, "task": {"exec": "x"}}"#,
                "version: 1\ntask:\n  exec: x\n",
            ],
            ["[[task]]", r#""task": [{ "prompt": "…" }]"#, "task: [{ prompt: \"…\" }]"],
        ),
        (
            ["version = 1\n[[task]]", r#"{"version": 1, "task": [{}]}"#, "version: 1\ntask: [{}]"],
            ["prompt = \"…\"", "\"prompt\": \"…\"", "prompt: \"…\""],
        ),
        (
            [
                "version = 1\n[[task]]\nexec = 'x'\nlimits = { turns = 1 }",
                r#"{"version": 1, "task": [{"exec": "x", "limits": {"turns": 1}}]}"#,
                "version: 1\ntask: [{exec: x, limits: {turns: 1}}]",
            ],
            [
                "limits = { wall = \"20m\" }",
                r#""limits": { "wall": "20m" }"#,
                "limits: { wall: \"20m\" }",
            ],
        ),
        (
            [
                "version = 1\nbase_url = 'http://a'\n[[task]]\nexec = 'x'",
                r#"{"version": 1, "base_url": "http://a", "task": [{"exec": "x"}]}"#,
                "version: 1\nbase_url: http://a\ntask: [{exec: x}]",
            ],
            [
                "model = \"local/MODEL\" beside it",
                r#""model": "local/MODEL" beside it"#,
                "model: \"local/MODEL\" beside it",
            ],
        ),
    ] {
        for ((ending, text), advice) in endings.iter().zip(texts).zip(advice) {
            let error = in_file(ending, text).expect_err("it is refused").to_string();
            let (_, tried) = error.split_once("\n  try: ").expect("it says what to do");
            assert!(tried.contains(advice), "{text}: {error}");
        }
    }
    for (ending, text) in
        [("toml", "version = 1\n[task]\nexec = 'x'"), ("yaml", "version: 1\ntask:\n  exec: x\n")]
    {
        let error = in_file(ending, text).expect_err("one task is not a list").to_string();
        assert!(error.contains(":2:") && error.contains("`task` is a list of tasks"), "{error}");
    }
}

#[test]
fn a_limit_that_a_command_cannot_heed_is_refused_at_its_task() {
    let error =
        in_file("toml", "version = 1\n[[task]]\nexec = 'a'\nlimits = { wall = '1m', turns = 3 }");
    let error = error.expect_err("a command has no turns").to_string();
    assert!(
        error.contains("plan.toml:4:33: `turns` is for a model, and task `t1` has a command"),
        "{error}"
    );
}
