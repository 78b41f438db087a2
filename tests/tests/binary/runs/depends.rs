//! Tasks that build on others.

use tests::sandbox::Plan;

use crate::binary::sandbox;

#[test]
fn each_task_of_a_chain_sees_the_one_before_and_the_tree_changes_once() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("chain.txt", "begin\n");
    repository.commit("a chain");
    // Each checks what it starts from, and that the user's own tree is still as it was.
    let link = |before: &str, mine: &str| {
        format!(
            "test \"$(cat chain.txt)\" = \"$(printf '{before}')\" || exit 11
             test \"$(cat \"$REGATTA_REPO/chain.txt\")\" = begin || exit 12
             echo {mine} >> chain.txt"
        )
    };
    let plan = Plan::default()
        .task("third", &link("begin\\nfirst\\nsecond", "third"))
        .after(&["second"])
        .task("first", &link("begin", "first"))
        .task("second", &link("begin\\nfirst", "second"))
        .after(&["first"]);
    let finished = place.run_plan(&repository, &plan).words("--jobs 3").run().expect_code(0);
    assert_eq!(repository.text("chain.txt"), "begin\nfirst\nsecond\nthird\n");
    assert_eq!(finished.landed(), ["first", "second", "third"], "{finished}");
    for task in ["first", "second", "third"] {
        assert_eq!(finished.task(task)["changes"]["added"], 1, "{task} in {finished}");
    }
    let kinds: Vec<_> = finished.events().iter().map(|event| event["type"].clone()).collect();
    let landing = kinds.iter().position(|kind| kind == "landing_started").unwrap();
    let ended = kinds.iter().rposition(|kind| kind == "task_finished").unwrap();
    assert!(ended < landing, "the landing begins when the last task has ended: {finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn what_depends_on_failed_or_conflicting_work_is_not_started_or_does_not_land_and_says_why() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("arm.txt", "white\n");
    repository.commit("a diamond");
    let plan = Plan::default()
        .task("top", "echo top > top.txt")
        .task("left", "test -f top.txt; echo left > arm.txt")
        .after(&["top"])
        .task("right", "test -f top.txt; echo right > arm.txt")
        .after(&["top"])
        .task("bottom", "echo bottom > bottom.txt")
        .after(&["left", "right"])
        .task("bad", "exit 7")
        .task("after", "echo x > after.txt")
        .after(&["bad"])
        .task("last", "echo x > last.txt")
        .after(&["after"])
        .task("good", "echo x > good.txt")
        .task("one", "echo one > same.txt")
        .task("two", "echo two > same.txt")
        .task("on-two", "test \"$(cat same.txt)\" = two; echo more > more.txt")
        .after(&["two"]);
    let finished = place.run_plan(&repository, &plan).run().expect_code(3);
    for (task, words) in
        [("bottom", &["left", "right", "arm.txt"][..]), ("after", &["bad"]), ("last", &["after"])]
    {
        let end = finished.task(task);
        assert_eq!(end["outcome"], "failed", "{task} in {finished}");
        assert_eq!(end["failure"]["class"], "dependency", "{task} in {finished}");
        let message = end["failure"]["message"].as_str().unwrap();
        assert!(words.iter().all(|word| message.contains(word)), "{task}: {message}");
    }
    let started = finished.names_in("task_started");
    assert!(!started.iter().any(|task| task == "after" || task == "last"), "{finished}");
    let ready = finished.names_in("workspace_ready");
    let others = ["bad", "good", "left", "on-two", "one", "right", "top", "two"];
    assert_eq!(ready, others, "what is refused never has a workspace: {finished}");
    // What builds on work that does not land does not land either.
    assert_eq!(finished.landed(), ["good", "left", "one", "top"], "{finished}");
    assert_eq!(finished.names_in("task_conflicted"), ["right", "two"], "{finished}");
    assert_eq!(finished.names_in("task_kept"), ["on-two"], "{finished}");
    assert_eq!(repository.text("arm.txt"), "left\n");
    for file in ["bottom.txt", "more.txt"] {
        assert!(!repository.has(file), "{file}");
    }
    place.expect_nothing_left(&repository);
}

#[test]
fn a_dependants_branch_grows_from_its_predecessors() {
    let place = sandbox();
    let repository = place.repository();
    let plan = Plan::default()
        .task("one", "echo one > one.txt")
        .task("two", "test -f one.txt && echo two > two.txt")
        .after(&["one"]);
    let finished = place.run_plan(&repository, &plan).words("--merge branch").run().expect_code(0);
    let run = finished.run_name();
    let (one, two) = (format!("regatta/{run}/one"), format!("regatta/{run}/two"));
    let parent = repository.git(&["rev-parse", &format!("{two}^")]);
    assert_eq!(parent, repository.git(&["rev-parse", &one]));
    assert_eq!(repository.git(&["diff", "--name-only", &one, &two]).trim(), "two.txt");
}
