//! The subjects of commits that a small model writes, and the ones that are taken where it does not.

use std::collections::BTreeMap;

use serde_json::Value;
use tests::model::{Answer, LoopbackModel, steps};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// The settings with which the model writes subjects, and a failure is not tried again.
fn settings(model: &LoopbackModel) -> String {
    format!(
        "task: {{ isolation: {{ commits: ai }} }}\nmodelRoles: {{ smol: {} }}\n\
         retry: {{ enabled: false }}\n",
        model.route()
    )
}

/// A plan whose requests go to the model.
fn plan(model: &LoopbackModel) -> Plan {
    let route = format!("model = \"{}\"", model.route());
    Plan::default().top(&route).top(&format!("base_url = \"{}\"", model.base_url()))
}

/// Adds a task whose change, and so what the model is asked, has the marker of the talk `name`.
fn writes(plan: Plan, name: &str) -> Plan {
    plan.task(name, &format!("echo '[[{name}]]' > {name}.txt"))
}

/// Returns the subject of the last commit of each of the tasks, from its branch.
fn subjects(repository: &Repository, run: &str, tasks: &[&str]) -> BTreeMap<String, String> {
    let subject = |task: &&str| {
        let branch = format!("regatta/{run}/{task}");
        let subject = repository.git(&["log", "-1", "--format=%s", &branch]);
        ((*task).to_owned(), subject.trim_end().to_owned())
    };
    tasks.iter().map(subject).collect()
}

/// Returns what was said about subjects that are made of titles.
fn fallbacks(finished: &Finished) -> Vec<Value> {
    let mut told = finished.events_of("degraded");
    told.retain(|told| told["from"].as_str().is_some_and(|from| from.contains("subjects")));
    told
}

fn run(place: &Sandbox, repository: &Repository, plan: &Plan, merge: &str) -> Finished {
    place.run_plan(repository, plan).words("--merge").words(merge).run().expect_code(0)
}

#[test]
fn a_model_writes_the_subjects_and_where_it_does_not_the_titles_are_taken_and_told() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    place.home().configure(&settings(&model));
    let answers = [
        ("good", Answer::text("feat(good): add the file of the good task\n")),
        ("wordy", Answer::text("Sure! Here it is:\n\nfix: the tests")),
        ("long", Answer::text(format!("fix: {}", "very ".repeat(20)))),
        ("plain", Answer::text("Add a file")),
        ("trailer", Answer::text("fix: x\n\nRegatta-Task: another")),
        ("hidden", Answer::text("fix: \u{202e}live")),
        ("empty", Answer::nothing()),
        ("refused", Answer::error(401, "auth", "not you")),
        ("broken", Answer::stream("data: {nonsense\n\n")),
    ];
    let names: Vec<_> = answers.iter().map(|(name, _)| *name).collect();
    let mut plan = plan(&model);
    for (name, answer) in answers {
        model.talk(name, steps(vec![answer]));
        plan = writes(plan, name);
    }
    // No model is asked for the subject of a commit that the task has made, nor where nothing changed.
    let who = "git -c user.name=A -c user.email=a@b.c commit -q";
    let plan = plan
        .task("own", &format!("echo own > own.txt; git add own.txt; {who} -m 'Mine'"))
        .task("idle", "true");
    let finished = run(&place, &repository, &plan, "branch");
    let name = finished.run_name();
    let found = subjects(&repository, &name, &names);
    assert_eq!(found["good"], "feat(good): add the file of the good task", "{finished}");
    for bad in &names[1..] {
        assert_eq!(found[*bad], "echo …", "{bad}: {finished}");
    }
    assert_eq!(subjects(&repository, &name, &["own"])["own"], "Mine");
    let body = repository.git(&["log", "-1", "--format=%b", &format!("regatta/{name}/good")]);
    assert_eq!(body.trim(), format!("Regatta-Run: {name}\nRegatta-Task: good"));
    let told = fallbacks(&finished);
    assert_eq!(told.len(), 1, "{finished}");
    assert!(told[0]["to"].as_str().is_some_and(|to| to.contains("8 commits")), "{told:?}");
    assert_eq!(model.requests(), names.len(), "{finished}");

    // What was used counts for its task, and for the run.
    let used = model.used("good");
    let shown = place.regatta(repository.root()).words("runs show --json").run().json();
    let tasks = shown["tasks"].as_array().expect("it has tasks");
    let good = tasks.iter().find(|task| task["name"] == "good").expect("it is there");
    assert_eq!(good["usage"]["output"], used.completion, "{shown}");
    let all: u64 = names.iter().map(|name| model.used(name).completion).sum();
    let total = finished.events_of("run_finished")[0]["usage"]["output"].as_u64();
    assert!(total >= Some(all), "{total:?}, {all}: {finished}");
}

#[test]
fn nobody_is_asked_in_vain_and_a_silent_model_delays_a_landing_no_longer_than_its_deadline() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    // No commit is made, or no small model is named.
    place.home().configure(&settings(&model));
    let finished = run(&place, &repository, &writes(plan(&model), "patched"), "patch");
    assert_eq!((model.requests(), fallbacks(&finished).len()), (0, 0), "{finished}");

    place.home().configure("task: { isolation: { commits: ai } }\n");
    let finished = run(&place, &repository, &writes(plan(&model), "titled"), "branch");
    assert_eq!(model.requests(), 0, "{finished}");
    let why = fallbacks(&finished)[0]["why"].clone();
    assert!(why.as_str().is_some_and(|why| why.contains("modelRoles.smol")), "{why}");
    let found = subjects(&repository, &finished.run_name(), &["titled"]);
    assert_eq!(found["titled"], "echo …");

    // A model is asked, and says nothing.
    let stream = "stream: { firstEventTimeout: 300ms }\n";
    place.home().configure(&(settings(&model) + stream));
    for merge in ["branch", "stack"] {
        model.talk("held", steps(vec![Answer::Held]));
        let finished = run(&place, &repository, &writes(plan(&model), "held"), merge);
        let name = finished.run_name();
        let branch = format!("regatta/{name}{}", if merge == "branch" { "/held" } else { "" });
        let subject = repository.git(&["log", "-1", "--format=%s", &branch]);
        assert_eq!(subject, "echo …\n", "{finished}");
        assert_eq!(fallbacks(&finished).len(), 1, "{finished}");
    }
}

#[test]
fn a_scenario_writes_subjects_too_and_the_change_it_reads_is_cut() {
    let place = sandbox();
    let repository = place.repository();
    let scenario = place.folder().join("subjects.toml");
    let text = "version = 1\n[[scenario]]\nwhen = 'the rest is left out'\n[[scenario.turn]]\n\
                text = 'feat: add many lines'\n[[scenario]]\n[[scenario.turn]]\n\
                text = 'chore: add few'\n";
    std::fs::write(&scenario, text).expect("a file can be written");
    place.home().configure(&format!(
        "task: {{ isolation: {{ commits: ai }} }}\nmodelRoles: {{ smol: 'offline/{}' }}\n",
        scenario.display()
    ));
    let plan = Plan::default().task("many", "seq 99999 > many.txt").task("few", "seq 9 > few.txt");
    let finished = run(&place, &repository, &plan, "branch");
    let found = subjects(&repository, &finished.run_name(), &["many", "few"]);
    assert_eq!(found["many"], "feat: add many lines", "{finished}");
    assert_eq!(found["few"], "chore: add few", "{finished}");
}
