//! What cannot be meant: one clear message, exit code 1, nothing left behind, nothing changed. Every
//! wrong word has its row in the tests of `cli/src/args`, `cli/src/resolve` and `cli/src/commands`.

use tests::sandbox::{Invocation, Repository, Sandbox};

use crate::binary::sandbox;

/// Checks that `call` refuses with these words and leaves everything as it was.
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
fn a_command_line_that_makes_no_sense_is_refused_and_changes_nothing() {
    let place = sandbox();
    let repository = place.repository();
    for (words, named) in [
        ("run", &["task", "  try: ", "--exec"][..]),
        (
            "lgos",
            &[
                "no such command: `lgos`\n  try: regatta logs\n",
                "try: regatta -p lgos (asks a model)",
            ],
        ),
        ("run --exec true --unknown-flag", &["--unknown-flag"]),
        ("run --exec true --plan plan.toml", &["--plan"]),
        (
            "run -- rename",
            &["no model", "modelRoles.default", "ollama", "_API_KEY", "regatta demo"],
        ),
        (
            "resume",
            &[
                "not implemented yet",
                "try: regatta --continue (the latest session)",
                "try: regatta runs retry RUN --cancelled",
            ],
        ),
        ("run --plan no/such/plan.toml", &["no/such/plan.toml"]),
        ("run --exec true --schema no/such/schema.json", &["no/such/schema.json"]),
        ("run --each *.cobol --exec true", &["*.cobol"]),
        ("diff nothing", &["nothing"]),
        ("apply r0000", &["r0000"]),
    ] {
        refuses_in(&place, &repository, |call| call.words(words), named);
    }
}

#[test]
fn a_run_started_inside_a_task_is_refused() {
    let place = sandbox();
    let repository = place.repository();
    let call = |call: Invocation| call.words("run --exec true").env("REGATTA_TASK", "outer");
    refuses_in(&place, &repository, call, &["task", "outer"]);
    let inner = format!("{} run --exec 'echo x > x.txt'", place.binary().display());
    let finished = place.run_in(&repository).exec(&inner).run().expect_code(5);
    assert_eq!(finished.task("t1")["failure"]["detail"]["code"], 1, "{finished}");
    assert!(!repository.has("x.txt"));
}

#[test]
fn settings_that_cannot_be_read_and_a_home_that_cannot_be_written_are_refused_with_their_place() {
    let place = sandbox();
    let repository = place.repository();
    for (yaml, words) in [
        ("task: [not, a, map]\n", &["config.yml"][..]),
        ("isolation:\n  untrackedLimit: lots\n", &["config.yml", "2", "untrackedLimit"]),
        ("a: : b\n", &["config.yml"]),
    ] {
        place.home().configure(yaml);
        refuses_in(&place, &repository, |call| call.words("run --exec true"), words);
    }
    repository.write("big.bin", vec![7; 7_000]);
    place.home().configure("isolation:\n  untrackedLimit: 1 KiB\n");
    let words = ["untracked", "big.bin", "untrackedLimit", "  try: "];
    refuses_in(&place, &repository, |call| call.words("run --exec true"), &words);
    let file = place.folder().join("a-file");
    std::fs::write(&file, "in the way\n").unwrap();
    let call = |call: Invocation| call.words("run --exec true").home(&file);
    refuses_in(&place, &repository, call, &["a-file"]);
}

#[test]
fn an_unknown_setting_is_a_warning_with_its_place_and_the_nearest_key() {
    let place = sandbox();
    let repository = place.repository();
    place.home().configure("isolation:\n  untrackedLimits: 1 MiB\nlimit:\n  wall: 3m\nwall: 3m\n");
    let run = place.regatta(repository.root()).words("run").exec("true");
    let finished = run.run().expect_code(0);
    for (given, meant) in [
        ("isolation.untrackedLimits", "isolation.untrackedLimit"),
        ("limit", "limits"),
        ("wall", "limits.wall"),
    ] {
        let told = format!("there is no setting `{given}`; did you mean `{meant}`?");
        let line = finished.stderr.lines().find(|line| line.contains(&told));
        assert!(line.is_some_and(|line| line.contains("config.yml")), "{told} in {finished}");
    }
}

#[test]
fn a_branch_in_the_way_is_named_with_the_setting_that_helps_before_the_run_or_at_its_end() {
    let place = sandbox();
    let repository = place.repository();
    // It comes while the run goes on: the work is kept.
    let script = "git -C \"$REGATTA_REPO\" branch regatta; echo x > x.txt";
    let run = place.run_in(&repository).words("--merge branch").exec(script);
    let finished = run.run().expect_code(4);
    let why = finished.events_of("task_kept")[0]["why"].to_string();
    assert!(why.contains("regatta") && why.contains("branch.prefix"), "{why}");
    assert!(!repository.has("x.txt"), "{finished}");
    place.expect_nothing_left(&repository);
    // It is there before the run: nothing is done.
    let run = |call: Invocation| call.words("run --merge branch --exec true");
    let words = ["`regatta`", "git branch -m regatta regatta-old", "branch.prefix"];
    refuses_in(&place, &repository, run, &words);
    // It is not in the way where no branches are made, or others.
    let run = place.run_in(&repository).exec("echo x > x.txt");
    let _landed = run.run().expect_code(0);
    place.home().configure("branch:\n  prefix: tasks\n");
    let run = place.run_in(&repository).words("--merge branch").exec("echo y > y.txt");
    assert_eq!(run.run().expect_code(0).landed(), ["t1"]);
}
