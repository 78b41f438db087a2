//! Command lines, good and bad.

use protocol::{ExitCode, IsolationMode, MergeMode};

use super::*;
use crate::args::{AgentChoice, Command, Execution, Form, RunArgs, Verbosity};

pub(super) fn read(words: &[&str]) -> Result<Parsed, Error> {
    parse(std::iter::once("regatta").chain(words.iter().copied()).map(OsString::from))
}

fn command(words: &[&str]) -> Arguments {
    match read(words) {
        Ok(Parsed::Command(arguments)) => *arguments,
        other => panic!("{words:?} is a command, not {other:?}"),
    }
}

fn run(words: &[&str]) -> RunArgs {
    match command(words).command {
        Command::Run(run) => *run,
        other => panic!("{other:?} is not a run"),
    }
}

fn usage_error_of(words: &[&str]) -> String {
    let error = read(words).expect_err("this makes no sense");
    assert_eq!(error.exit, ExitCode::NotStarted, "{error}");
    error.to_string()
}

fn text(words: &[&str]) -> String {
    match read(words) {
        Ok(Parsed::Text(text)) => text,
        other => panic!("{words:?} is a question, not {other:?}"),
    }
}

#[test]
fn the_grammar_is_sound() {
    grammar().debug_assert();
}

#[test]
fn a_run_takes_its_options() {
    let args = run(&[
        "run",
        "--exec",
        "make",
        "--each",
        "src/*.c",
        "--chunk",
        "3",
        "-j",
        "4",
        "-m",
        "none",
        "--isolation",
        "rcopy",
        "--fail-fast",
        "--limit",
        "wall=20m",
        "--null",
        "--dry-run",
    ]);
    assert_eq!(args.exec.as_deref(), Some("make"));
    assert_eq!(args.each.as_deref(), Some("src/*.c"));
    assert_eq!(args.jobs.map(std::num::NonZero::get), Some(4));
    assert_eq!(args.merge.map(|merge| merge.0), Some(MergeMode::None));
    assert_eq!(args.isolation.map(|choice| choice.mode()), Some(IsolationMode::Worktree));
    assert_eq!(args.on_failure(), protocol::OnFailure::CancelTheRest);
    assert_eq!((args.item_end(), args.execution()), (0, Execution::DryRun));
    assert_eq!(args.limits.len(), 1);
}

#[test]
fn a_run_of_agents_takes_a_model_and_where_it_is() {
    let args = run(&[
        "run",
        "fix it",
        "test it",
        "--model",
        "local/a/b:c",
        "--base-url",
        "http://127.0.0.1:8080/v1/",
        "--agent",
        "task",
        "--limit",
        "turns=4",
        "--limit",
        "tokens=400k",
    ]);
    assert_eq!(args.tasks, ["fix it", "test it"]);
    assert_eq!(args.model, "local/a/b:c".parse().ok());
    assert_eq!(
        args.base_url.map(|url| url.to_string()).as_deref(),
        Some("http://127.0.0.1:8080/v1")
    );
    assert_eq!((args.agent, args.limits.len()), (Some(AgentChoice::Task), 2));
    assert_eq!(
        usage_error_of(&["run", "--model", " ", "a"]),
        "error: invalid value ` ` for `--model`\n  because a model is PROVIDER/ID, as in \
         ollama/qwen3:8b, the name of a model or of a family, or one of the roles default, smol, slow \
         and plan\n  try: regatta run --help"
    );
    let said = usage_error_of(&["run", "--model", "a/b", "--base-url", "http://me:pass@a", "b"]);
    assert!(said.contains("because it must not have a user name or a password"), "{said}");
}

#[test]
fn what_every_command_takes_may_stand_before_or_after_it() {
    let before = command(&["--json", "-q", "runs"]).globals;
    let after = command(&["runs", "--json", "-q"]).globals;
    for globals in [before, after] {
        assert_eq!((globals.form(), globals.verbosity()), (Form::Json, Verbosity::Quiet));
    }
}

#[test]
fn destructive_commands_can_be_tried_and_need_a_name() {
    let Command::Discard(discard) = command(&["discard", "r7k3f/auth", "--dry-run"]).command else {
        panic!("it is a discard");
    };
    assert_eq!((discard.target.as_str(), discard.execution()), ("r7k3f/auth", Execution::DryRun));
    assert_eq!(
        usage_error_of(&["discard"]).lines().next(),
        Some("error: `<RUN[/TASK]>` is required")
    );
}

#[test]
fn a_usage_error_is_in_our_own_form() {
    let cases: [(&[&str], &str); 13] = [
        (&["runs", "--bogus"], "error: no such option: `--bogus`\n  try: regatta runs --help"),
        (
            &["run", "--jobs", "0"],
            "error: invalid value `0` for `--jobs`\n  because it takes a whole number, 1 or more\n  try: regatta run --help",
        ),
        (
            &["run", "--exec"],
            "error: `--exec` needs a value\n  try: --exec CMD\n  try: regatta run --help",
        ),
        (
            &["run", "--exec", "a", "--exec", "b"],
            "error: `--exec` cannot be used more than once\n  try: regatta run --exec CMD TASK…\n  \
             try: regatta run --plan FILE\n  try: regatta run --help",
        ),
        (
            &["run", "--chunk", "2", "--exec", "a"],
            "error: `--each` is required\n  try: --each SPEC\n  try: regatta run --help",
        ),
        (
            &["--color", "mauve", "runs"],
            "error: invalid value `mauve` for `--color`\n  because the values are auto, always, never\n  try: regatta runs --help",
        ),
        (
            &["-q", "-v", "runs"],
            "error: `--quiet` cannot be used with `--verbose`\n  try: regatta runs --help",
        ),
        (
            &["runs", "show", "a", "b", "c"],
            "error: unexpected argument `c`\n  try: regatta runs --help",
        ),
        (
            &["runs", "r7k3f"],
            "error: no such command: `runs r7k3f`\n  try: regatta runs show r7k3f\n  try: regatta runs --help",
        ),
        (
            &["rnus"],
            "error: no such command: `rnus`\n  try: regatta runs\n  try: regatta -p rnus (asks a model)",
        ),
        (
            &["status"],
            "error: no such command: `status`\n  try: regatta runs\n  try: regatta runs show RUN\n  try: regatta -p status (asks a model)",
        ),
        (
            &["stop"],
            "error: no such command: `stop`\n  try: Ctrl-C in the terminal of the run\n  try: regatta -p stop (asks a model)",
        ),
        (
            &["--model", "a/b", "lgos"],
            "error: no such command: `lgos`\n  try: regatta logs\n  try: regatta -p --model a/b lgos (asks a model)",
        ),
    ];
    let said: Vec<_> = cases.iter().map(|(words, _)| usage_error_of(words)).collect();
    let expected: Vec<_> = cases.iter().map(|(_, expected)| (*expected).to_owned()).collect();
    assert_eq!(said, expected);
}

#[test]
fn a_name_or_value_that_does_not_exist_is_refused_with_the_nearest_or_with_all() {
    let cases: [(&[&str], &str); 8] = [
        (
            &["lgos"],
            "error: no such command: `lgos`\n  try: regatta logs\n  try: regatta -p lgos (asks a model)",
        ),
        (
            &["rnu"],
            "error: no such command: `rnu`\n  try: regatta run\n  try: regatta -p rnu (asks a model)",
        ),
        (
            &["conflict"],
            "error: no such command: `conflict`\n  try: regatta conflicts\n  try: regatta -p conflict (asks a model)",
        ),
        (
            &["run", "--jobs", "many"],
            "error: invalid value `many` for `--jobs`\n  because it takes a whole number, 1 or more\n  try: regatta run --help",
        ),
        (
            &["run", "--exec", "true", "--limit", "fuel=5"],
            "error: invalid value `fuel=5` for `--limit`\n  because the limits are wall, output, turns, tokens and cost\n  try: regatta run --help",
        ),
        (
            &["run", "--exec", "true", "--limit", "wall"],
            "error: invalid value `wall` for `--limit`\n  because a limit looks like wall=20m\n  try: --limit wall=20m\n  try: regatta run --help",
        ),
        (
            &["run", "--exec", "true", "--merge", "nowhere"],
            "error: invalid value `nowhere` for `--merge`\n  because the modes are patch, branch, stack and none\n  try: regatta run --help",
        ),
        (
            &["run", "--exec", "true", "--isolation", "jail"],
            "error: invalid value `jail` for `--isolation`\n  because the modes are auto, worktree and none\n  try: regatta run --help",
        ),
    ];
    for (words, expected) in cases {
        assert_eq!(usage_error_of(words), expected, "{words:?}");
    }
}

#[test]
fn a_task_that_begins_with_a_dash_is_refused_unless_it_stands_after_two() {
    assert_eq!(
        usage_error_of(&["run", "--exec", "make", "-fix it"]),
        "error: no such option: `-fix it`\n  \
         because a TASK that begins with `-` has to stand after `--`\n  \
         try: regatta run -- '-fix it'\n  \
         try: regatta run --help"
    );
    assert!(!usage_error_of(&["run", "--fix"]).contains("--fix'"), "no option is a prompt");
    assert_eq!(run(&["run", "--exec", "make", "--", "--fix"]).tasks, ["--fix"]);
}

#[test]
fn what_is_not_implemented_yet_is_refused_by_its_name() {
    for words in [
        &["resume"][..],
        &["task", "show", "r7k3f/auth", "--json"],
        &["batch", "run", "--anything"],
        &["serve", "--http", "localhost:80"],
        &["runs", "report"],
        &["--agent", "explore", "fix it"],
        &["run", "--agent", "explore", "fix it"],
        &["run", "--exec", "a", "--detach"],
        &["run", "--exec", "a", "--isolation", "overlayfs"],
        &["run", "--exec", "a", "--isolation", "btrfs"],
        &["run", "--exec", "a", "--limit", "memory=3"],
        &["replay", "r0000"],
        &["attach"],
        &["budget", "r0000", "--add", "cost=1"],
        &["workspaces", "list"],
        &["doctor"],
        &["batch", "init"],
        &["serve"],
        &["acp"],
        &["mcp", "serve"],
        &["mcp", "login", "github"],
        &["worker"],
        &["commit"],
        &["search", "x"],
        &["ssh"],
        &["shell"],
        &["stats"],
        &["runs", "cancel"],
        &["run", "--exec", "true", "--record"],
        &["run", "--exec", "true", "--isolation", "fuse-overlay"],
        &["run", "--exec", "true", "--require-confinement"],
        &["run", "--exec", "true", "--trust-changes"],
    ] {
        let said = usage_error_of(words);
        assert!(said.contains("not implemented yet"), "{words:?}: {said}");
        assert!((2..=4).contains(&said.lines().count()), "{said}");
    }
}

#[test]
fn help_below_a_command_that_has_others_is_the_help_of_that_command() {
    for (asked, same) in [
        (&["runs", "help"][..], &["help", "runs"][..]),
        (&["runs", "help", "show"], &["help", "runs", "show"]),
        (&["models", "help"], &["help", "models"]),
    ] {
        let path: Vec<_> = same[1..].iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(Some(text(asked)), help_of(&path), "{asked:?}");
    }
    assert!(read(&["logs", "help"]).is_ok(), "it may be a task");
    for words in [&["fix it", "--help"][..], &["-p", "-h"], &["--", "runs"]] {
        assert!(read(words).is_ok(), "{words:?}");
    }
}

#[test]
fn a_prompt_needs_no_command() {
    for words in [&["fix all the tests"][..], &["launch", "fix all the tests"], &["-p", "runs"]] {
        let Command::Launch(args) = command(words).command else { panic!("{words:?}") };
        assert_eq!((args.prompts.len(), args.is_print()), (1, words[0] == "-p"));
    }
    let Command::Launch(args) = command(&["--tools", "bash,read", "say hi"]).command else {
        panic!("it is a session");
    };
    let allowed: Vec<_> = args.allowed_tools().into_iter().flatten().collect();
    assert_eq!(allowed, ["bash", "read"]);
    assert!(usage_error_of(&["--tools", "web", "say hi"]).contains("the values are read, write"));
}

#[test]
fn landing_at_the_end_is_what_happens_anyway() {
    assert_eq!(run(&["run", "--exec", "a", "--land", "end"]).exec.as_deref(), Some("a"));
}

#[test]
fn every_command_has_help_with_examples_and_hides_what_is_not_there() {
    let root = text(&["--help"]);
    assert!(!root.contains("\n  resume ") && !root.contains("__launcher"), "{root}");
    let listed = root.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let listed: Vec<_> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    let mut all = command_names();
    all.sort();
    assert_eq!(sorted, all, "every command is listed: {root}");
    assert_eq!(listed[..2], ["run", "runs"], "the common ones are first");
    for name in &all {
        assert!(root.contains(&format!("\n  {name} ")), "{name} is missing in {root}");
        let help = text(&[name, "--help"]);
        assert!(help.contains("Examples:\n  ") && help.contains("Usage: regatta"), "{help}");
        let examples = help.lines().skip_while(|line| *line != "Examples:").skip(1);
        for example in examples.take_while(|line| line.starts_with(' ')) {
            assert!(example.len() <= 80, "it can be copied from 80 columns: {example}");
        }
        assert!(!help.contains("--detach"), "{help}");
        assert!(help_of(&[name.to_owned()]).is_some_and(|same| same.contains("Examples:")));
    }
    assert_eq!(help_of(&["resume".to_owned()]), None);
}

#[test]
fn a_key_that_is_none_is_refused_without_its_letters() {
    for key in ["canary with spaces", "canary\n1"] {
        for line in [&["-p", "--api-key", key, "hi"][..], &["run", "--api-key", key, "a", "b"]] {
            let error = usage_error_of(line);
            assert!(error.starts_with("error: invalid value for `--api-key`"), "{error}");
            assert!(!error.contains("canary"), "{error}");
        }
    }
}

#[test]
fn the_version_is_told() {
    // The second form is parsed by the grammar.
    for words in [&["--version"][..], &["-q", "--version"], &["-V"]] {
        assert_eq!(text(words), format!("regatta {}\n", env!("CARGO_PKG_VERSION")));
    }
}
