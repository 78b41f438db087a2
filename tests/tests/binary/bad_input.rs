//! What cannot be meant: one clear message, exit code 1, nothing left behind, nothing changed.

use tests::sandbox::{Invocation, Repository, Sandbox};

use super::sandbox;

/// Checks that `call` refuses with these words and leaves everything as it was.
fn refuses(call: impl FnOnce(Invocation) -> Invocation, words: &[&str]) {
    let place = sandbox();
    let repository = place.repository();
    refuses_in(&place, &repository, call, words);
}

fn refuses_in(
    place: &Sandbox,
    repository: &Repository,
    call: impl FnOnce(Invocation) -> Invocation,
    words: &[&str],
) {
    let before = (repository.tree(), repository.dot_git());
    let finished = call(place.regatta(repository.root())).run();
    finished.expect_refusal(words);
    assert_eq!(before.0.differences(&repository.tree()), Vec::<String>::new(), "{finished}");
    assert_eq!(before.1.differences(&repository.dot_git()), Vec::<String>::new(), "{finished}");
    place.expect_nothing_left(repository);
}

#[test]
fn no_task_at_all_is_refused_with_examples() {
    refuses(|call| call.words("run"), &["task", "  try: ", "--exec"]);
}

#[test]
fn a_task_that_begins_with_a_dash_is_refused_with_the_way_to_write_it() {
    refuses(|call| call.words("run --exec true -fix"), &["-fix", "--"]);
    refuses(|call| call.words("run --exec true --unknown-flag"), &["--unknown-flag"]);
}

#[test]
fn a_task_together_with_a_plan_is_refused() {
    refuses(|call| call.words("run task --plan plan.toml"), &["--plan"]);
}

#[test]
fn a_task_without_a_command_needs_a_model_and_the_three_easiest_ways_to_one_are_told() {
    refuses(
        |call| call.words("run").arg("rename it"),
        &["no model", "modelRoles.default", "ollama", "_API_KEY", "offline/"],
    );
}

#[test]
fn what_comes_later_is_refused_by_name_and_never_ignored() {
    for words in [
        "run --agent explore task",
        "run --exec true --detach",
        "run --exec true --record",
        "run --exec true --isolation overlayfs",
        "run --exec true --isolation fuse-overlay",
        "run --exec true --require-confinement",
        "run --exec true --trust-changes",
        "resume",
        "replay r0000",
        "attach",
        "task show r0000/t1",
        "why r0000/t1",
        "budget r0000 --add cost=1",
        "workspaces list",
        "agents",
        "config",
        "trust",
        "doctor",
        "batch init",
        "serve",
        "acp",
        "mcp",
        "worker",
        "commit",
        "search x",
        "ssh",
        "shell",
        "stats",
        "runs report",
        "runs cancel",
        "--agent explore hello",
    ] {
        let place = sandbox();
        let repository = place.repository();
        let finished = place.regatta(repository.root()).words(words).run();
        assert_eq!(finished.code, 1, "{words}: {finished}");
        assert!(finished.stderr.contains("not implemented yet"), "{words}: {finished}");
        assert_eq!(finished.stdout, "", "{words}: {finished}");
    }
}

#[test]
fn values_that_make_no_sense_are_refused() {
    for (words, named) in [
        ("run --exec true --jobs 0", "--jobs"),
        ("run --exec true --jobs many", "--jobs"),
        ("run --exec true --limit wall=soon", "wall"),
        ("run --exec true --limit fuel=5", "fuel"),
        ("run --exec true --limit wall", "wall"),
        ("run --exec true --merge nowhere", "--merge"),
        ("run --exec true --isolation jail", "--isolation"),
        ("run --exec true --chunk 3", "--each"),
        ("run --exec true --plan plan.toml", "--plan"),
        ("run --plan no/such/plan.toml", "no/such/plan.toml"),
        ("run --exec true --schema no/such/schema.json", "no/such/schema.json"),
        ("run --exec true --color sometimes", "--color"),
        ("schema nothing", "nothing"),
        ("runs show r0000", "r0000"),
        ("diff nothing", "nothing"),
        ("apply r0000", "r0000"),
        ("conflicts r0000/t1", "r0000"),
    ] {
        refuses(|call| call.words(words), &[named]);
    }
}

#[test]
fn a_run_started_inside_a_task_is_refused() {
    refuses(|call| call.words("run --exec true").env("REGATTA_TASK", "outer"), &["task", "outer"]);
    let place = sandbox();
    let repository = place.repository();
    let inner = format!("{} run --exec 'echo x > x.txt'", place.binary().display());
    let finished = place.run_in(&repository).exec(&inner).run().expect_code(5);
    assert_eq!(finished.task("t1")["failure"]["detail"]["code"], 1, "{finished}");
    assert!(!repository.has("x.txt"));
}

#[test]
fn a_settings_file_that_cannot_be_read_is_refused_with_its_place() {
    for (yaml, words) in [
        ("task: [not, a, map]\n", &["config.yml"][..]),
        ("isolation:\n  untrackedLimit: lots\n", &["config.yml", "2", "untrackedLimit"]),
        ("a: : b\n", &["config.yml"]),
    ] {
        let place = sandbox();
        let repository = place.repository();
        place.home().configure(yaml);
        refuses_in(&place, &repository, |call| call.words("run --exec true"), words);
    }
}

#[test]
fn an_unknown_setting_is_a_warning_with_its_place_and_the_nearest_key() {
    let place = sandbox();
    let repository = place.repository();
    for (yaml, given, meant) in [
        (
            "isolation:\n  untrackedLimits: 1 MiB\n",
            "isolation.untrackedLimits",
            "isolation.untrackedLimit",
        ),
        ("limit:\n  wall: 3m\n", "limit", "limits"),
        ("wall: 3m\n", "wall", "limits.wall"),
    ] {
        place.home().configure(yaml);
        let run = place.regatta(repository.root()).words("run").exec("true");
        let finished = run.run().expect_code(0);
        let told = format!("there is no setting `{given}`; did you mean `{meant}`?");
        assert!(
            finished.stderr.contains("config.yml") && finished.stderr.contains(&told),
            "{finished}"
        );
    }
}

#[test]
fn a_home_that_cannot_be_written_is_refused() {
    let place = sandbox();
    let repository = place.repository();
    let file = place.folder().join("a-file");
    std::fs::write(&file, "in the way\n").unwrap();
    let call = |call: Invocation| call.words("run --exec true").home(&file);
    refuses_in(&place, &repository, call, &["a-file"]);
}

#[test]
fn a_branch_in_the_way_is_named_before_anything_is_done_with_the_setting_that_helps() {
    let place = sandbox();
    let repository = place.repository();
    repository.git(&["branch", "regatta"]);
    let run = |call: Invocation| call.words("run --merge branch --exec true");
    let words = ["`regatta`", "git branch -m regatta regatta-old", "branch.prefix"];
    refuses_in(&place, &repository, run, &words);
    // It is in nobody's way where no branches are made, or others.
    let run = place.run_in(&repository).exec("echo x > x.txt");
    let _landed = run.run().expect_code(0);
    place.home().configure("branch:\n  prefix: tasks\n");
    let run = place.run_in(&repository).words("--merge branch").exec("echo y > y.txt");
    assert_eq!(run.run().expect_code(0).landed(), ["t1"]);
}

#[test]
fn a_branch_that_comes_in_the_way_meanwhile_keeps_the_work_and_is_named() {
    let place = sandbox();
    let repository = place.repository();
    let script = "git -C \"$REGATTA_REPO\" branch regatta; echo x > x.txt";
    let run = place.run_in(&repository).words("--merge branch").exec(script);
    let finished = run.run().expect_code(4);
    let why = finished.events_of("task_kept")[0]["why"].to_string();
    assert!(why.contains("regatta") && why.contains("branch.prefix"), "{why}");
    assert!(!repository.has("x.txt"), "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_reader_that_has_read_enough_ends_the_program_quietly() {
    let place = sandbox();
    let repository = place.repository();
    let mut shell = place.regatta(repository.root()).into_command();
    let binary = shell.get_program().to_owned();
    let variables: Vec<_> = shell
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    shell = std::process::Command::new("/bin/bash");
    shell.env_clear().envs(variables).current_dir(repository.root());
    let script = "set -o pipefail; \"$0\" schema plan | true; echo ${PIPESTATUS[0]}";
    let output = shell.args(["-c", script]).arg(binary).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
