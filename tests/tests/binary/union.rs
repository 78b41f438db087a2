//! Files that tasks append to: the lines of all tasks are kept, in the order of declaration.

use serde_json::{Value, json};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use super::sandbox;

/// How many tasks append a line.
const TASKS: usize = 32;

/// A repository with a list of modules.
fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository().watched();
    repository.write("src/list.txt", "mod first;\n");
    repository.commit("list");
    repository
}

/// Tasks that each add a module and its line in the list, after the head of a plan.
fn tasks(head: Plan) -> Plan {
    (0..TASKS).fold(head, |plan, number| {
        let script = format!(
            "echo {number} > src/m{number:02}.rs; echo 'mod m{number:02};' >> src/list.txt"
        );
        plan.task(&format!("m{number:02}"), &script)
    })
}

fn expected() -> String {
    let lines = (0..TASKS).map(|number| format!("mod m{number:02};\n"));
    std::iter::once("mod first;\n".to_owned()).chain(lines).collect()
}

fn expect_all(repository: &Repository, finished: &Finished) {
    assert_eq!(finished.landed().len(), TASKS, "{finished}");
    assert_eq!(repository.text("src/list.txt"), expected());
    assert_eq!(repository.text("src/m31.rs"), "31\n");
    let landed = finished.events_of("task_landed");
    let joined = landed.iter().filter(|event| event["joined"] == json!(["src/list.txt"])).count();
    // The first task is not joined with any other.
    assert_eq!(joined, TASKS - 1, "{finished}");
    assert_eq!(landed[0]["joined"], Value::Null, "{finished}");
}

#[test]
fn tasks_that_append_to_one_list_all_land_where_the_attributes_join_it() {
    let place = sandbox();
    let repository = repository(&place);
    repository.write(".gitattributes", "src/list.txt merge=union\n");
    repository.commit("attributes");
    let finished = place.run_plan(&repository, &tasks(Plan::default())).run().expect_code(0);
    expect_all(&repository, &finished);
    let shown = place.regatta(repository.root()).words("runs show").run().expect_code(0);
    let joined = shown.stdout.matches("joined src/list.txt").count();
    assert_eq!(joined, TASKS - 1, "the ledger tells it later");
}

#[test]
fn tasks_that_append_to_one_list_all_land_with_the_option_the_plan_or_the_setting() {
    for by in ["option", "plan", "setting"] {
        let place = sandbox();
        let repository = repository(&place);
        let plan = match by {
            "plan" => tasks(Plan::default().top("union = ['src/*.txt']")),
            _ => tasks(Plan::default()),
        };
        if by == "setting" {
            place.home().configure("isolation:\n  union: [src/list.txt]\n");
        }
        let run = place.run_plan(&repository, &plan);
        let run =
            if by == "option" { run.words("--union nothing --union src/list.txt") } else { run };
        let finished = run.run().expect_code(0);
        expect_all(&repository, &finished);
    }
}

#[test]
fn without_a_rule_they_conflict_and_binary_files_are_never_merged() {
    let place = sandbox();
    let repository = place.repository().watched();
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    repository.write("list.txt", "first\n");
    repository.write("data.txt", &lines);
    repository.write("more.txt", &lines);
    repository.write(".gitattributes", "data.txt -merge\nmore.txt binary\n");
    repository.commit("files");
    let plan = Plan::default()
        .task("one", "echo one >> list.txt")
        .task("two", "echo two >> list.txt")
        .task("top", "sed -i 's/^line 2$/two/' data.txt more.txt")
        .task("end", "sed -i 's/^line 39$/end/' data.txt more.txt");
    let finished = place.run_plan(&repository, &plan).run().expect_code(4);
    assert_eq!(finished.landed(), ["one", "top"], "{finished}");
    let conflicts = finished.events_of("task_conflicted");
    let reasons: Vec<&Value> = conflicts
        .iter()
        .flat_map(|event| event["conflicts"].as_array().expect("conflicts are a list"))
        .map(|conflict| &conflict["reason"])
        .collect();
    assert_eq!(reasons, ["content", "binary", "binary"], "{finished}");
}

#[test]
fn a_predecessors_list_is_joined_for_the_task_that_depends_on_both() {
    let place = sandbox();
    let repository = repository(&place);
    let plan = Plan::default()
        .top("union = ['src/list.txt']")
        .task("a", "echo a >> src/list.txt")
        .task("b", "echo b >> src/list.txt");
    let plan = plan.task("c", "cp src/list.txt seen; echo c >> src/list.txt").after(&["a", "b"]);
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    assert_eq!(finished.landed(), ["a", "b", "c"], "{finished}");
    assert_eq!(repository.text("seen"), "mod first;\na\nb\n");
    assert_eq!(repository.text("src/list.txt"), "mod first;\na\nb\nc\n");
}

#[test]
fn a_merge_driver_of_the_repository_is_never_run_and_that_is_told() {
    let place = sandbox();
    let repository = place.repository().watched();
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    repository.write("notes.txt", &lines);
    repository.write(".gitattributes", "notes.txt merge=mine\n");
    repository.commit("files");
    let ran = place.folder().join("ran");
    repository.git(&["config", "merge.mine.driver", &format!("touch {}", ran.display())]);
    let plan = Plan::default()
        .task("top", "sed -i 's/^line 2$/two/' notes.txt")
        .task("end", "sed -i 's/^line 39$/end/' notes.txt");
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    assert_eq!(finished.landed(), ["end", "top"], "{finished}");
    assert!(!ran.exists());
    let told = finished.events_of("degraded");
    let of_drivers = told.iter().find(|note| note["from"] == "merge drivers (mine)");
    assert!(of_drivers.is_some(), "{finished}");
}

#[test]
fn a_glob_that_cannot_match_is_refused() {
    let place = sandbox();
    let repository = repository(&place);
    for (glob, said) in [
        ("/etc/passwd", "--union: `/etc/passwd` is absolute"),
        ("../secret", "--union: `../secret` leaves the repository"),
        ("[a", "--union: `[a` is not a glob"),
    ] {
        let run = place.run_in(&repository).arg("--union").arg(glob);
        run.exec("true").run().expect_refusal(&[said]);
    }
}
