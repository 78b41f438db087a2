//! Stacks: one branch for a run, with a commit for each task that landed.

use test_limit::sample;
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// The subjects of the commits of a branch since the commit that is checked out, oldest first.
fn subjects(repository: &Repository, branch: &str) -> Vec<String> {
    let log = repository.git(&["log", "--reverse", "--format=%s", &format!("HEAD..{branch}")]);
    log.lines().map(str::to_owned).collect()
}

fn stack(run: &Finished) -> String {
    format!("regatta/{}", run.run_name())
}

fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

#[test]
fn a_stack_is_one_branch_with_a_commit_for_each_task_and_nothing_else_changes() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("list.txt", (0..40).map(|line| format!("line {line}\n")).collect::<String>());
    repository.commit("list");
    repository.make_dirty();
    let (tree, dirt) = (repository.tree(), repository.dirt());
    let plan = Plan::default()
        .task("first", "sed -i 's/^line 2$/first/' list.txt")
        .task("second", "sed -i 's/^line 30$/second/' list.txt; echo new > new.txt")
        .task("third", "rm new.txt; git mv list.txt moved.txt")
        .after(&["second"]);
    let finished = place.run_plan(&repository, &plan).words("--merge stack").run().expect_code(0);
    let branch = stack(&finished);
    assert_eq!(finished.landed(), ["first", "second", "third"], "{finished}");
    for event in finished.events_of("task_landed") {
        assert_eq!(event["branch"], *branch, "{finished}");
    }
    let log = subjects(&repository, &branch);
    assert_eq!(log, ["sed -i …", "sed -i …", "rm …"], "{finished}");
    let names = |commit: &str| repository.git(&["show", "--format=", "--name-only", commit]);
    assert_eq!(names(&format!("{branch}~2")), "list.txt\n");
    assert_eq!(names(&format!("{branch}~1")), "list.txt\nnew.txt\n");
    assert_eq!(names(&branch), "moved.txt\nnew.txt\n");
    let moved = repository.git(&["show", &format!("{branch}:moved.txt")]);
    assert!(moved.contains("\nfirst\n") && moved.contains("\nsecond\n"), "{moved}");
    let author = repository.git(&["log", "-1", "--format=%an", &branch]);
    assert_eq!(author, "Ada\n");
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    assert_eq!(dirt, repository.dirt());
    assert_eq!(repository.faults(), "");
    assert_eq!(repository.git(&["branch", "--list", "regatta/*"]).lines().count(), 1);
    place.expect_nothing_left(&repository);
}

#[test]
fn a_conflicting_task_of_a_stack_is_kept_with_those_that_build_on_it_and_the_rest_goes_on() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("colour.txt", "white\n");
    repository.commit("a colour");
    let plan = Plan::default()
        .task("red", "echo red > colour.txt")
        .task("blue", "echo blue > colour.txt")
        .task("on-blue", "echo more > more.txt")
        .after(&["blue"])
        .task("last", "echo last > last.txt");
    let finished = place.run_plan(&repository, &plan).words("--merge stack").run().expect_code(4);
    let branch = stack(&finished);
    assert_eq!(finished.landed(), ["last", "red"], "{finished}");
    let conflict = &finished.events_of("task_conflicted")[0];
    assert_eq!(
        (&conflict["task"], &conflict["conflicts"][0]["with"]),
        (&"blue".into(), &"red".into())
    );
    assert_eq!(finished.names_in("task_kept"), ["on-blue"], "{finished}");
    assert_eq!(subjects(&repository, &branch).len(), 2);
    assert_eq!(repository.git(&["show", &format!("{branch}:colour.txt")]), "red\n");
    assert_eq!(repository.text("colour.txt"), "white\n");

    let closing = regatta(&place, &repository, "runs show").expect_code(0).stdout;
    assert!(closing.contains("/blue --theirs") && !closing.contains("--markers"), "{closing}");
    let by_hand = regatta(&place, &repository, "apply @ blue --branch by-hand").expect_code(0);
    let blue = repository.git(&["show", "by-hand:colour.txt"]);
    assert_eq!(blue, "blue\n", "{by_hand}");

    // Once the user has undone the first on the branch, the kept work is added to it.
    repository.git(&["switch", "--quiet", &branch]);
    repository.git(&["revert", "--no-edit", &format!("{branch}~1")]);
    let refused = regatta(&place, &repository, "apply").expect_code(4);
    assert!(refused.stderr.contains("is checked out"), "{refused}");
    assert!(refused.stderr.contains("git switch -"), "{refused}");
    repository.git(&["switch", "--quiet", "-"]);
    let applied = regatta(&place, &repository, "apply").expect_code(0);
    assert!(applied.stdout.contains(&branch), "{applied}");
    assert_eq!(subjects(&repository, &branch).len(), 5, "{applied}");
    assert_eq!(repository.git(&["show", &format!("{branch}:colour.txt")]), "blue\n");
    assert_eq!(repository.git(&["show", &format!("{branch}:more.txt")]), "more\n");
    let nothing = regatta(&place, &repository, "apply").expect_code(0);
    assert!(nothing.stdout.contains("has landed already"), "{nothing}");
    assert_eq!(repository.text("colour.txt"), "white\n");
}

#[test]
fn a_retry_adds_to_the_stack_of_the_run_that_it_retries() {
    let place = sandbox();
    let repository = place.repository();
    let flag = place.folder().join("works-now");
    let script = format!("test -e {} && echo b > b.txt", flag.display());
    let plan = Plan::default().task("a", "echo a > a.txt").task("b", &script);
    let first = place.run_plan(&repository, &plan).words("--merge stack").run().expect_code(3);
    let branch = stack(&first);
    for _ in 0..2 {
        let failed = regatta(&place, &repository, "runs retry --json").expect_code(5);
        assert_ne!(failed.run_name(), first.run_name());
    }
    std::fs::write(&flag, "").unwrap();
    let second = regatta(&place, &repository, "runs retry --json").expect_code(0);
    assert_eq!(second.events_of("task_landed")[0]["branch"], *branch, "{second}");
    assert_eq!(subjects(&repository, &branch).len(), 2, "{second}");
    assert_eq!(repository.git(&["show", &format!("{branch}:b.txt")]), "b\n");
    assert_eq!(repository.git(&["branch", "--list", "regatta/*"]).lines().count(), 1);
}

#[test]
fn a_stack_follows_the_prefix_and_what_is_printed_names_its_branch_and_how_to_merge_it() {
    let place = sandbox();
    let repository = place.repository();
    repository.git(&["branch", "regatta"]);
    // A branch in the way is named before anything is done.
    let refused = place.run_in(&repository).words("--merge stack").exec("true").run();
    refused.expect_refusal(&["`regatta`", "git branch -m regatta regatta-old", "branch.prefix"]);
    place.expect_nothing_left(&repository);
    // The plan decides, and a person reads of the branch.
    place.home().configure("branch:\n  prefix: team/bots\n");
    let plan = Plan::default().top("merge = \"stack\"").task("a", "echo x > x.txt");
    let run = place.regatta(repository.root()).words("run --plan -").stdin(plan.text());
    let finished = run.run().expect_code(0);
    let branches = repository.git(&["branch", "--list", "--format=%(refname:short)", "team/*"]);
    let branch = branches.trim_end();
    assert!(branch.starts_with("team/bots/r"), "{branches} {finished}");
    for shown in [&finished.stdout, &regatta(&place, &repository, "runs show").stdout] {
        assert!(shown.contains(&format!("on the branch {branch}\n")), "{shown}");
        assert!(shown.contains(&format!("merge   git merge {branch}")), "{shown}");
    }
    repository.git(&["merge", "--quiet", branch]);
    assert_eq!(repository.text("x.txt"), "x\n");
    // The setting decides, and before the first commit a stack begins a history.
    place.home().configure("branch:\n  prefix: team/bots\ntask:\n  isolation:\n    merge: stack\n");
    let new = Repository::init(&place.folder().join("new"));
    let finished = place.run_in(&new).exec("echo x > x.txt").run().expect_code(0);
    let branch = format!("team/bots/{}", finished.run_name());
    assert_eq!(new.git(&["log", "--format=%s", &branch]), "echo x …\n", "{finished}");
}

#[test]
fn without_an_identity_commits_are_refused_before_the_run_and_gits_variables_name_one() {
    let place = sandbox();
    let repository = place.repository();
    let run = |words: &str| place.run_in(&repository).words(words).env("HOME", place.folder());
    for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.org")] {
        repository.git(&["config", "--unset", key]);
        for merge in ["--merge branch", "--merge stack"] {
            run(merge).exec("true").run().expect_refusal(&[key, "git config", "--merge patch"]);
            place.expect_nothing_left(&repository);
        }
        let landed = run("").exec(&format!("echo x > {key}.txt")).run().expect_code(0);
        assert_eq!(landed.landed(), ["t1"], "{key}");
        repository.git(&["config", key, value]);
    }
    repository.git(&["config", "--unset", "user.name"]);
    repository.git(&["config", "--unset", "user.email"]);
    let named = run("--merge stack").env("GIT_COMMITTER_NAME", "Grace");
    let named = named.env("GIT_COMMITTER_EMAIL", "grace@example.org");
    let named = named.env("GIT_AUTHOR_NAME", "Ada").env("GIT_AUTHOR_EMAIL", "ada@example.org");
    let finished = named.exec("echo x > x.txt").run().expect_code(0);
    let branch = format!("regatta/{}", finished.run_name());
    let format = "--format=%an <%ae>, %cn <%ce>";
    let who = repository.git(&["log", "-1", format, &branch]);
    assert_eq!(who.trim(), "Ada <ada@example.org>, Grace <grace@example.org>", "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_stack_whose_engine_was_killed_has_all_of_its_commits_or_none_and_apply_completes_it() {
    let points = [("landing.begin", 1), ("landing.ref", 3), ("landing.record", 9)];
    let kills =
        points.into_iter().flat_map(|(point, times)| (1..=times).map(move |time| (point, time)));
    for (point, time) in sample(kills, 3) {
        let place = sandbox();
        let repository = place.repository();
        let plan = Plan::default()
            .task("a", "echo a > list.txt")
            .task("b", "echo b >> list.txt")
            .after(&["a"]);
        let run = place.run_plan(&repository, &plan).words("--merge stack");
        let killed = run.fault(&format!("kill@{point}:{time}")).run();
        let after = regatta(&place, &repository, "runs --json").expect_code(0).json();
        let run = after[0]["name"].as_str().expect("the run is in the ledger").to_owned();
        let branch = format!("regatta/{run}");
        let exists = !repository.git(&["branch", "--list", &branch]).is_empty();
        let commits = if exists { subjects(&repository, &branch).len() } else { 0 };
        assert!([0, 2].contains(&commits), "{point}:{time}: {commits} {killed}");
        let applied = regatta(&place, &repository, "apply").expect_code(0);
        let context = format!("{point}:{time}: {applied}");
        assert_eq!(subjects(&repository, &branch).len(), 2, "{context}");
        assert_eq!(repository.git(&["show", &format!("{branch}:list.txt")]), "a\nb\n");
        assert_eq!(repository.faults(), "", "{context}");
        let rest = regatta(&place, &repository, "apply").expect_code(0);
        assert!(rest.stdout.contains("has landed already"), "{context} {rest}");
        place.expect_nothing_left(&repository);
    }
}
