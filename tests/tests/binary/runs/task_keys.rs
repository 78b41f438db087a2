//! Tasks of one run with names, set-ups, carried files and limits of their own.

use serde_json::json;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Finished, Repository, Sandbox};

use crate::binary::sandbox;

fn call(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

#[test]
fn a_prompt_names_its_task_everywhere_or_has_the_name_that_is_given_to_it() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    for talk in ["one", "two", "three"] {
        model.talk(talk, move |asked: &Asked| match asked.answers() {
            0 => Answer::call("write", &json!({ "path": format!("{talk}.txt"), "content": "x\n" })),
            _ => Answer::yields(&json!(talk)),
        });
    }
    let run = place.run_in(&repository).words("--merge branch --label v2 --model");
    let run = run.arg(model.route()).arg("--base-url").arg(model.base_url());
    let prompts = [
        format!("Write tests for lib.\n{}", marker("one")),
        format!("write tests for LIB\n{}", marker("two")),
        format!("auth=Fix it. {}", marker("three")),
    ];
    let run = prompts.into_iter().fold(run, |run, prompt| run.arg(prompt));
    let finished = run.run().expect_code(0);
    let names = ["write-tests-for-lib", "write-tests-for-lib-2", "auth"];
    let queued = finished.events_of("task_queued");
    let queued: Vec<_> = queued.iter().map(|event| event["task"].as_str().unwrap()).collect();
    assert_eq!((queued, finished.landed().len()), (names.to_vec(), 3), "{finished}");
    assert_eq!(finished.events_of("run_started")[0]["label"], "v2", "{finished}");
    let name = finished.run_name();
    for (task, file) in names.iter().zip(["one", "two", "three"]) {
        let there = repository.git(&["show", &format!("regatta/{name}/{task}:{file}.txt")]);
        assert_eq!(there, "x\n");
        let told = call(&place, &repository, &format!("results {name}/{task}")).expect_code(0);
        assert_eq!(told.stdout, format!("{file}\n"));
    }
    for (target, task) in [("@/t1", names[0]), ("t2", names[1]), ("aut", names[2])] {
        let shown = call(&place, &repository, &format!("runs show {target}")).expect_code(0);
        assert!(shown.stdout.contains(task), "{target}: {shown}");
    }
    let listed = call(&place, &repository, "runs").expect_code(0).stdout;
    assert!(listed.lines().any(|line| line.starts_with(&format!("{name}  v2 "))), "{listed}");
    let listed = call(&place, &repository, "runs --json").expect_code(0).json();
    assert_eq!(listed[0]["label"], "v2");
    let shown = call(&place, &repository, "runs show").expect_code(0).stdout;
    assert!(shown.contains(" · v2") && names.iter().all(|task| shown.contains(task)), "{shown}");
}

#[test]
fn tasks_of_a_plan_in_yaml_have_set_ups_carried_files_and_limits_of_their_own() {
    let place = sandbox();
    let repository = place.repository();
    repository.write(".gitignore", ".env*\nwho\n");
    repository.commit("ignore");
    repository.write(".env", "KEY=1\n");
    repository.write(".env.local", "KEY=2\n");
    let plan = "version: 1\nsetup: [echo all > who]\ncarry: [.env]\ntask:\n\
                - id: as-all\n  exec: echo $(cat who) $(ls .env*)\n\
                - id: own\n  exec: echo $(cat who) $(ls .env*)\n  setup: [echo own > who]\n  carry: [.env.local]\n\
                - id: none\n  exec: echo $(ls who .env* 2>&1 | grep -c No)\n  setup: []\n  carry: []\n\
                - id: slow\n  exec: sleep 100\n  limits: { wall: 300ms }\n";
    let run = place.run_in(&repository).words("--plan -").stdin(plan);
    let finished = run.run().expect_code(3);
    let yields = ["as-all", "own", "none"].map(|task| finished.task(task)["yield"].clone());
    assert_eq!(yields, [json!("all .env"), json!("own .env.local"), json!(2)], "{finished}");
    assert_eq!(finished.task("slow")["failure"]["class"], "timeout", "{finished}");
    let own = &finished.events_of("run_started")[0]["own_needs"];
    let expected = json!({
        "setup": ["echo own > who"], "setup_tasks": 2, "carry": [".env.local"], "carry_tasks": 2
    });
    assert_eq!(*own, expected, "{finished}");
    let log = call(&place, &repository, "logs @/own").expect_code(0).stdout;
    assert!(log.contains("$ echo own > who\n"), "{log}");
    place.expect_nothing_left(&repository);

    let again = "runs retry --json @/slow --limit wall=20m --exec";
    let again = place.regatta(repository.root()).words(again).arg("cat who").run().expect_code(0);
    assert_eq!(again.task("slow")["yield"], "all", "{again}");
}
