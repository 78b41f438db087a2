//! Several tasks in every mode: where they land, when, and beside which tree.

use test_limit::by_depth;
use tests::sandbox::{Plan, Repository};

use crate::binary::sandbox;

/// How many tasks there are: sixteen in full depth.
fn count() -> usize {
    by_depth(2, 16)
}

/// Tasks that change a file each, and a line of a file that all of them change.
fn tasks() -> Plan {
    (0..count()).fold(Plan::default().top("jobs = 16"), |plan, task| {
        let line = task * 10 + 5;
        let script = format!(
            "sed -i 's/^line {line}$/changed by {task}/' list.txt; echo {task} > new-{task}.txt"
        );
        plan.task(&format!("t{task:02}"), &script)
    })
}

fn before() -> String {
    (0..count() * 10).map(|line| format!("line {line}\n")).collect()
}

fn after() -> String {
    (0..count()).fold(before(), |text, task| {
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
    for other in (0..count()).filter(|other| task.is_none_or(|task| task == *other)) {
        assert_eq!(read(&format!("new-{other}.txt")), format!("{other}\n"), "{context}");
    }
}

#[test]
fn every_task_lands_in_every_mode_at_the_end_beside_any_tree() {
    land_in_every_mode("end", [Tree::Clean, Tree::Dirty]);
}

#[test]
fn every_task_lands_in_every_mode_eagerly_beside_any_tree() {
    land_in_every_mode("eager", [Tree::Dirty, Tree::Clean]);
}

/// Lands in every mode beside one of the two trees in turn: each mode gets both, one at each time to
/// land; in full depth both at each.
fn land_in_every_mode(land: &str, trees: [Tree; 2]) {
    let modes = ["--merge patch", "--merge branch", "--merge stack", "--onto main", "--onto side"];
    for (mode, tree) in modes.into_iter().zip(trees.into_iter().cycle()) {
        for tree in by_depth(vec![tree], trees.to_vec()) {
            lands(mode, land, tree);
        }
    }
}

/// The user's tree beside which tasks land.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tree {
    Clean,
    Dirty,
}

fn lands(mode: &str, land: &str, tree: Tree) {
    let context = format!("{mode} --land {land}, {tree:?}");
    let place = sandbox();
    let repository = place.repository();
    repository.write("list.txt", before());
    repository.commit("list");
    repository.git(&["branch", "side"]);
    if tree == Tree::Dirty {
        repository.make_dirty();
    }
    let dirt = repository.git(&["status", "--porcelain", "mine"]);
    let run = place.run_plan(&repository, &tasks()).words(mode);
    let finished = run.words(&format!("--land {land}")).run().expect_code(0);
    assert_eq!(finished.landed().len(), count(), "{context}: {finished}");
    let name = finished.run_name();
    let on = |branch: String| {
        let repository: &Repository = &repository;
        move |path: &str| repository.git(&["show", &format!("{branch}:{path}")])
    };
    match mode {
        "--merge patch" => expect(|path| repository.text(path), None, &context),
        "--merge branch" => {
            for task in 0..count() {
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
