//! Sixteen tasks in every mode: where they land, when, and beside which tree.

use tests::sandbox::{Plan, Repository};

use super::sandbox;

/// How many tasks there are.
const TASKS: usize = 16;

/// Tasks that change a file each, and a line of a file that all of them change.
fn tasks() -> Plan {
    (0..TASKS).fold(Plan::default().top("jobs = 16"), |plan, task| {
        let line = task * 10 + 5;
        let script = format!(
            "sed -i 's/^line {line}$/changed by {task}/' list.txt; echo {task} > new-{task}.txt"
        );
        plan.task(&format!("t{task:02}"), &script)
    })
}

fn before() -> String {
    (0..TASKS * 10).map(|line| format!("line {line}\n")).collect()
}

fn after() -> String {
    (0..TASKS).fold(before(), |text, task| {
        let line = task * 10 + 5;
        text.replace(&format!("line {line}\n"), &format!("changed by {task}\n"))
    })
}

/// Expects one task's change, or those of all, in what `read` returns for a path.
fn expect(read: impl Fn(&str) -> String, task: Option<usize>, context: &str) {
    let line = |task: usize| format!("changed by {task}\n");
    match task {
        None => assert_eq!(read("list.txt"), after(), "{context}"),
        Some(task) => {
            let text = before().replace(&format!("line {}\n", task * 10 + 5), &line(task));
            assert_eq!(read("list.txt"), text, "{context}");
        }
    }
    for other in (0..TASKS).filter(|other| task.is_none_or(|task| task == *other)) {
        assert_eq!(read(&format!("new-{other}.txt")), format!("{other}\n"), "{context}");
    }
}

#[test]
fn sixteen_of_sixteen_tasks_land_in_every_mode_at_the_end_and_eagerly_beside_any_tree() {
    let modes = ["--merge patch", "--merge branch", "--merge stack", "--onto main", "--onto side"];
    for mode in modes {
        for land in ["end", "eager"] {
            for dirty in [false, true] {
                let context = format!("{mode} --land {land}, dirty {dirty}");
                let place = sandbox();
                let repository = place.repository();
                repository.write("list.txt", before());
                repository.commit("list");
                repository.git(&["branch", "side"]);
                if dirty {
                    repository.make_dirty();
                }
                let dirt = repository.git(&["status", "--porcelain", "mine"]);
                let run = place.run_plan(&repository, &tasks()).words(mode);
                let finished = run.words(&format!("--land {land}")).run().expect_code(0);
                assert_eq!(finished.landed().len(), TASKS, "{context}: {finished}");
                let name = finished.run_name();
                let on = |branch: String| {
                    let repository: &Repository = &repository;
                    move |path: &str| repository.git(&["show", &format!("{branch}:{path}")])
                };
                match mode {
                    "--merge patch" => expect(|path| repository.text(path), None, &context),
                    "--merge branch" => {
                        for task in 0..TASKS {
                            let branch = format!("regatta/{name}/t{task:02}");
                            expect(on(branch), Some(task), &context);
                        }
                    }
                    "--merge stack" => expect(on(format!("regatta/{name}")), None, &context),
                    "--onto side" => expect(on("side".to_owned()), None, &context),
                    _ => {
                        expect(on("main".to_owned()), None, &context);
                        expect(|path| repository.text(path), None, &context);
                    }
                }
                let after = repository.git(&["status", "--porcelain", "mine"]);
                assert_eq!(after, dirt, "{context}");
                assert_eq!(repository.faults(), "", "{context}");
                place.expect_nothing_left(&repository);
            }
        }
    }
}
