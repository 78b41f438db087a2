//! Plans: read from a pipe, checked, printed, refused. Every fault of a plan has its row in
//! `engine/app/src/plan/read/tests.rs`.

use tests::sandbox::Plan;

use crate::binary::sandbox;

#[test]
fn a_dry_run_prints_the_tasks_in_their_order_and_like_a_plan_that_makes_no_sense_starts_nothing() {
    let place = sandbox();
    let repository = place.repository();
    let before = (repository.tree(), repository.dot_git());
    let nothing_changed = || {
        assert_eq!(before.0.differences(&repository.tree()), Vec::<String>::new());
        assert_eq!(before.1.differences(&repository.dot_git()), Vec::<String>::new());
        assert_eq!(place.home().workspaces(), Vec::<String>::new());
        assert_eq!(place.home().stores().len(), 0, "nothing is made for a run that never starts");
        place.expect_nothing_left(&repository);
    };
    let plan = Plan::default().task("second", "echo 2").after(&["first"]).task("first", "echo 1");
    let run = place.regatta(repository.root()).words("run --dry-run --plan -").stdin(plan.text());
    let finished = run.run().expect_code(0);
    for word in ["first", "second", "echo 1"] {
        assert!(finished.stdout.contains(word), "{word} in {finished}");
    }
    let json = place.run_plan(&repository, &plan).words("--dry-run").run().expect_code(0).json();
    assert!(json.to_string().contains("\"second\""), "{json}");
    nothing_changed();

    let key = "version = 1\n[[task]]\nid = \"a\"\nexec = \"true\"\npriorty = 1\n";
    for (plan, words) in [
        (key.as_bytes().to_vec(), &["priorty", "priority", "5"][..]),
        (vec![0xff; 100], &["utf-8"]),
        (b"# a comment\n".repeat(1_000_000), &["MB"]),
    ] {
        place.run_in(&repository).words("--plan -").stdin(plan).run().expect_refusal(words);
        nothing_changed();
    }
}

#[test]
fn a_plan_file_is_found_from_where_one_stands_and_its_limits_hold() {
    test_limit::waits("a task runs until its limit");
    let place = sandbox();
    let _repository = place.repository();
    let plan =
        Plan::default().top("jobs = 1").top("limits = { wall = \"1s\" }").task("slow", "sleep 100");
    std::fs::write(place.folder().join("plan.toml"), plan.text()).unwrap();
    let run = place.regatta(place.folder()).words("run --json --plan plan.toml --repo app");
    let finished = run.run().expect_code(5);
    assert_eq!(finished.task("slow")["failure"]["class"], "timeout", "{finished}");
    assert_eq!(finished.events()[0]["jobs"], 1, "{finished}");
}
