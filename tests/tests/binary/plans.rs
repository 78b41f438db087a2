//! Plans: read from a pipe, checked, printed, refused.

use tests::sandbox::Plan;

use super::sandbox;

/// Checks that this plan is refused with these words and starts nothing.
fn refused(plan: &str, words: &[&str]) {
    let place = sandbox();
    let repository = place.repository();
    let before = (repository.tree(), repository.dot_git());
    let finished = place.run_in(&repository).words("--plan -").stdin(plan).run();
    finished.expect_refusal(words);
    assert_eq!(before.0.differences(&repository.tree()), Vec::<String>::new());
    assert_eq!(before.1.differences(&repository.dot_git()), Vec::<String>::new());
    place.expect_nothing_left(&repository);
}

fn task(rest: &str) -> String {
    format!("version = 1\n[[task]]\nid = \"a\"\nexec = \"true\"\n{rest}")
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_the_nearest_one() {
    refused(&task("priorty = 1\n"), &["priorty", "priority", "5"]);
    refused("version = 1\njob = 3\n[[task]]\nid = \"a\"\nexec = \"true\"\n", &["job", "jobs"]);
}

#[test]
fn a_plan_in_another_format_is_told_that_plans_are_toml() {
    for yaml in ["version: 1\ntask:\n  - id: a\n", "---\nversion: 1\n", "# a\n- id: a\n"] {
        refused(yaml, &["this is YAML, and a plan is TOML", "regatta schema plan"]);
    }
    refused("{ \"version\": 1 }", &["this is JSON, and a plan is TOML"]);
}

#[test]
fn a_cycle_is_refused_with_its_tasks() {
    let plan = Plan::default().task("a", "true").after(&["b"]).task("b", "true").after(&["a"]);
    refused(plan.text(), &["a", "b", "depend"]);
    let plan = Plan::default().task("alone", "true").after(&["alone"]);
    refused(plan.text(), &["alone"]);
}

#[test]
fn two_ids_that_differ_only_in_case_are_refused() {
    let plan = Plan::default().task("Auth", "true").task("auth", "true");
    refused(plan.text(), &["auth"]);
}

#[test]
fn a_bad_id_is_refused_with_a_suggestion() {
    refused(Plan::default().task("src/auth.rs", "true").text(), &["src/auth.rs", "src-auth-rs"]);
    refused(Plan::default().task("a.lock", "true").text(), &["a.lock"]);
    refused(Plan::default().task("-a", "true").text(), &["-a"]);
}

#[test]
fn a_bad_placeholder_is_refused_by_name() {
    let place = sandbox();
    let repository = place.repository();
    let finished = place.run_in(&repository).words("--each *.md").exec("echo {{itm}}").run();
    finished.expect_refusal(&["itm", "item"]);
    place.expect_nothing_left(&repository);
}

#[test]
fn plans_that_ask_for_what_is_not_implemented_are_refused() {
    let plan = Plan::default().top("agent = \"explore\"").task("a", "true");
    refused(plan.text(), &["not implemented yet"]);
    for line in ["scope = [\"src/**\"]", "proofs = [{ run = \"true\" }]"] {
        refused(Plan::default().task("a", "true").with(line).text(), &["not implemented yet"]);
    }
}

#[test]
fn other_plans_that_make_no_sense_are_refused() {
    refused("", &["version"]);
    refused("version = 2\n[[task]]\nid = \"a\"\nexec = \"true\"\n", &["version"]);
    refused("version = 1\n", &["task"]);
    refused("version = 1\n[[task]]\nid = \"a\"\n", &["exec"]);
    refused("this is no plan", &["1"]);
    refused(&task("depends_on = [\"nobody\"]\n"), &["nobody"]);
    refused(&task("schema = { type = 5 }\n"), &["schema"]);
    refused(&task("schema_file = \"no/such.json\"\n"), &["no/such.json"]);
}

#[test]
fn a_plan_that_is_no_text_or_has_no_end_is_refused() {
    let place = sandbox();
    let repository = place.repository();
    let finished = place.run_in(&repository).words("--plan -").stdin(vec![0xff; 100]).run();
    finished.expect_refusal(&["utf-8"]);
    let endless = "# a comment\n".repeat(1_000_000);
    let finished = place.run_in(&repository).words("--plan -").stdin(endless).run();
    finished.expect_refusal(&["MB"]);
    place.expect_nothing_left(&repository);
}

#[test]
fn a_dry_run_prints_the_tasks_in_their_order_and_starts_nothing() {
    let place = sandbox();
    let repository = place.repository();
    let before = (repository.tree(), repository.dot_git());
    let plan = Plan::default().task("second", "echo 2").after(&["first"]).task("first", "echo 1");
    let run = place.regatta(repository.root()).words("run --dry-run --plan -").stdin(plan.text());
    let finished = run.run().expect_code(0);
    for word in ["first", "second", "echo 1"] {
        assert!(finished.stdout.contains(word), "{word} in {finished}");
    }
    let json = place.run_plan(&repository, &plan).words("--dry-run").run().expect_code(0).json();
    assert!(json.to_string().contains("\"second\""), "{json}");
    assert_eq!(before.0.differences(&repository.tree()), Vec::<String>::new());
    assert_eq!(before.1.differences(&repository.dot_git()), Vec::<String>::new());
    assert_eq!(place.home().workspaces(), Vec::<String>::new());
    assert_eq!(place.home().stores().len(), 0, "nothing was made for a run that was not started");
}

#[test]
fn the_schema_of_a_plan_is_printed_and_names_every_key() {
    let place = sandbox();
    let printed = place.regatta(place.folder()).words("schema plan").run().expect_code(0);
    let schema = printed.json();
    for key in ["version", "jobs", "task"] {
        assert!(schema["properties"][key].is_object(), "{key} in {schema}");
    }
    let text = schema.to_string();
    for key in ["id", "exec", "depends_on", "priority", "must_change", "schema"] {
        assert!(text.contains(&format!("\"{key}\"")), "{key} in {schema}");
    }
}

#[test]
fn a_plan_file_is_found_from_where_one_stands_and_its_limits_hold() {
    let place = sandbox();
    let _repository = place.repository();
    let plan = Plan::default()
        .top("jobs = 1")
        .top("limits = { wall = \"3s\" }")
        .task("slow", "sleep 100")
        .task("quick", "true");
    std::fs::write(place.folder().join("plan.toml"), plan.text()).unwrap();
    let run = place.regatta(place.folder()).words("run --json --plan plan.toml --repo app");
    let finished = run.run().expect_code(3);
    assert_eq!(finished.task("slow")["failure"]["class"], "timeout", "{finished}");
    assert_eq!(finished.events()[0]["jobs"], 1, "{finished}");
}
