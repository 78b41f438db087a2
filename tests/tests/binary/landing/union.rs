//! Files that tasks append to: the lines of all tasks are kept, in the order of declaration.

use serde_json::{Value, json};
use test_limit::by_depth;
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// Returns how many tasks append a line.
fn count() -> usize {
    by_depth(6, 32)
}

/// A repository with a list of modules.
fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository().watched();
    repository.write("src/list.txt", "mod first;\n");
    repository.commit("list");
    repository
}

/// Tasks that each add a module and its line in the list, after the head of a plan.
fn tasks(head: Plan) -> Plan {
    (0..count()).fold(head, |plan, number| {
        let script = format!(
            "echo {number} > src/m{number:02}.rs; echo 'mod m{number:02};' >> src/list.txt"
        );
        plan.task(&format!("m{number:02}"), &script)
    })
}

fn expected() -> String {
    let lines = (0..count()).map(|number| format!("mod m{number:02};\n"));
    std::iter::once("mod first;\n".to_owned()).chain(lines).collect()
}

fn expect_all(repository: &Repository, finished: &Finished) {
    assert_eq!(finished.landed().len(), count(), "{finished}");
    assert_eq!(repository.text("src/list.txt"), expected());
    assert_eq!(repository.text("src/m05.rs"), "5\n");
    let landed = finished.events_of("task_landed");
    let joined = landed.iter().filter(|event| event["joined"] == json!(["src/list.txt"])).count();
    // The first task is not joined with any other.
    assert_eq!(joined, count() - 1, "{finished}");
    assert_eq!(landed[0]["joined"], Value::Null, "{finished}");
}

#[test]
fn tasks_that_append_to_one_list_all_land_by_the_attributes_the_option_the_plan_or_the_setting() {
    for by in ["attributes", "option", "plan", "setting"] {
        let place = sandbox();
        let repository = repository(&place);
        let plan = match by {
            "plan" => tasks(Plan::default().top("union = ['src/*.txt']")),
            _ => tasks(Plan::default()),
        };
        match by {
            "attributes" => {
                repository.write(".gitattributes", "src/list.txt merge=union\n");
                repository.commit("attributes");
            }
            "setting" => place.home().configure("isolation:\n  union: [src/list.txt]\n"),
            _ => {}
        }
        let run = place.run_plan(&repository, &plan);
        let run =
            if by == "option" { run.words("--union nothing --union src/list.txt") } else { run };
        let finished = run.run().expect_code(0);
        expect_all(&repository, &finished);
        if by == "attributes" {
            let shown = place.regatta(repository.root()).words("runs show").run().expect_code(0);
            let joined = shown.stdout.matches("joined src/list.txt").count();
            assert_eq!(joined, count() - 1, "the ledger tells it later");
        }
    }
}

#[test]
fn only_files_with_a_rule_are_joined_also_for_a_dependant_and_no_driver_of_the_repository_is_run() {
    let place = sandbox();
    let repository = repository(&place);
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    repository.write("list.txt", "first\n");
    for name in ["data.txt", "more.txt", "notes.txt"] {
        repository.write(name, &lines);
    }
    let attributes = "data.txt -merge\nmore.txt binary\nnotes.txt merge=mine\n";
    repository.write(".gitattributes", attributes);
    repository.commit("files");
    let ran = place.folder().join("ran");
    repository.git(&["config", "merge.mine.driver", &format!("touch {}", ran.display())]);
    let plan = Plan::default()
        .top("union = ['src/list.txt']")
        .task("one", "echo one >> list.txt")
        .task("two", "echo two >> list.txt")
        .task("top", "sed -i 's/^line 2$/two/' data.txt more.txt")
        .task("end", "sed -i 's/^line 39$/end/' data.txt more.txt")
        .task("notes-top", "sed -i 's/^line 2$/two/' notes.txt")
        .task("notes-end", "sed -i 's/^line 39$/end/' notes.txt")
        .task("a", "echo a >> src/list.txt")
        .task("b", "echo b >> src/list.txt")
        .task("c", "cp src/list.txt seen; echo c >> src/list.txt")
        .after(&["a", "b"]);
    let finished = place.run_plan(&repository, &plan).run().expect_code(4);
    let landed = finished.landed();
    assert_eq!(landed, ["a", "b", "c", "notes-end", "notes-top", "one", "top"], "{finished}");
    // Without a rule they conflict, and binary files are never merged.
    let conflicts = finished.events_of("task_conflicted");
    let reasons: Vec<&Value> = conflicts
        .iter()
        .flat_map(|event| event["conflicts"].as_array().expect("conflicts are a list"))
        .map(|conflict| &conflict["reason"])
        .collect();
    assert_eq!(reasons, ["content", "binary", "binary"], "{finished}");
    // The list of the predecessors is joined for the task that depends on both.
    assert_eq!(repository.text("seen"), "mod first;\na\nb\n");
    assert_eq!(repository.text("src/list.txt"), "mod first;\na\nb\nc\n");
    // That a merge driver of the repository was not run is told.
    assert!(!ran.exists());
    let told = finished.events_of("degraded");
    let of_drivers = told.iter().find(|note| note["from"] == "merge drivers (mine)");
    assert!(of_drivers.is_some(), "{finished}");
}
