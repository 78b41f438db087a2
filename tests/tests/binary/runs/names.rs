//! Tasks of items: the name that people see, and where they can type the item.

use serde_json::json;
use test_limit::sample;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Finished, Plan, Repository, Sandbox, Screen};

use crate::binary::sandbox;

/// Makes a repository with two files of one name in folders that begin alike.
fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository();
    repository.write("src/buffer/mod.rs", "pub mod buffer;\n");
    repository.write("src/network/mod.rs", "pub mod network;\n");
    repository.commit("two folders");
    repository
}

fn call(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

#[test]
fn a_task_of_an_item_has_one_name_in_lines_table_lists_and_logs() {
    let place = sandbox();
    let repository = repository(&place);
    let run = place.regatta(repository.root()).words("run --each src/*/mod.rs");
    let script = "echo \"// x\" >> {{item}}; case {{item}} in *network*) exit 3;; esac";
    let finished = run.exec(script).run().expect_code(3);
    assert!(finished.stdout.contains("\nsrc-buffer-mod-rs   landed"), "{finished}");
    assert!(finished.stdout.contains("\nsrc-network-mod-rs  failed: command"), "{finished}");
    assert!(finished.stderr.contains(" src-buffer-mod-rs landed 1 file +1 −0"), "{finished}");
    assert!(finished.stderr.contains(" src-network-mod-rs failed: command"), "{finished}");
    let shown = call(&place, &repository, "runs show").expect_code(0);
    assert!(shown.stdout.contains("\nsrc-buffer-mod-rs   landed"), "{shown}");
    let all = call(&place, &repository, "runs show --all").expect_code(0);
    assert!(all.stdout.contains("\nsrc-network-mod-rs  captured at"), "{all}");
    let logs = call(&place, &repository, "logs").expect_code(0);
    assert!(
        logs.stdout.contains("src-buffer-mod-rs · landed\nitem  src/buffer/mod.rs\n"),
        "{logs}"
    );
    let one = call(&place, &repository, "runs show @ src/buffer/mod.rs").expect_code(0);
    assert!(one.stdout.contains("src-buffer-mod-rs  src/buffer/mod.rs\n"), "{one}");

    let finished = place.run_in(&repository).words("--each src/*/mod.rs").exec("true").run();
    let queued = finished.events_of("task_queued");
    let items: Vec<_> = queued.iter().map(|event| &event["item"]).collect();
    assert_eq!(items, ["src/buffer/mod.rs", "src/network/mod.rs"]);
    let run = place.run_in(&repository).words("--each src/*/mod.rs --chunk 2");
    let queued = run.exec("echo {{items}}").run().expect_code(0).events_of("task_queued");
    assert_eq!(queued[0]["items"], json!(["src/buffer/mod.rs", "src/network/mod.rs"]));
    assert_eq!(queued[0].get("item"), None);
    let shown = call(&place, &repository, "runs show --json").expect_code(0).json();
    assert_eq!(shown["tasks"][0]["items"], queued[0]["items"]);
}

#[test]
fn a_task_is_given_by_its_item_wherever_a_task_is_wanted_and_refused_with_the_names_there_are() {
    let place = sandbox();
    let repository = repository(&place);
    let run = place.run_in(&repository).words("--merge none --each src/*/mod.rs");
    let run = run.exec("echo {{item}}; echo x >> {{item}}").run().expect_code(0).run_name();
    let alike = |words: &[&str]| {
        let said = words.iter().map(|words| call(&place, &repository, words).expect_code(0).stdout);
        let said: Vec<_> = said.collect();
        let names = |task: &str| [format!("src/{task}/mod.rs"), format!("src-{task}-mod-rs")];
        let has = |said: &str, task: &str| names(task).iter().any(|name| said.contains(name));
        assert!(has(&said[0], "buffer"), "{}: {}", words[0], said[0]);
        for (words, said) in words.iter().zip(&said) {
            assert!(!has(said, "network"), "{words}: {said}");
            assert!(said == &said[..], "{words}");
        }
        assert!(said.iter().all(|one| *one == said[0]), "{words:?}: {said:?}");
    };
    let forms = [
        "diff @ src/buffer/mod.rs",
        "diff @/src/buffer/mod.rs",
        "diff src/buffer/mod.rs",
        "diff ./src/buffer/mod.rs",
        "diff @ buffer/mod.rs",
        "diff @ src/b",
        "diff src/b…/mod.rs",
        &format!("diff {run} src/buffer/mod.rs"),
        &format!("diff {run}/src/buffer/mod.rs"),
    ];
    alike(&[&["diff src-buffer-mod-rs"][..], &sample(forms, 3)].concat());
    alike(&["logs src-buffer-mod-rs", "logs @ src/buffer/mod.rs"]);
    alike(&["results src-buffer-mod-rs", "results @ src/buffer/mod.rs"]);
    alike(&["runs show @/src-buffer-mod-rs", "runs show @ src/buffer/mod.rs"]);
    alike(&["apply --dry-run src-buffer-mod-rs", "apply --dry-run @ src/buffer/mod.rs"]);
    alike(&["discard --dry-run src-buffer-mod-rs", "discard --dry-run @ src/buffer/mod.rs"]);
    let landed = call(&place, &repository, "apply @ src/buffer/mod.rs").expect_code(0);
    assert!(
        landed.stdout.starts_with("src-buffer-mod-rs  landed\n\nundo  regatta undo "),
        "{landed}"
    );
    assert!(repository.text("src/buffer/mod.rs").ends_with("x\n"));
    assert!(!repository.text("src/network/mod.rs").ends_with("x\n"));

    let refused =
        |words: &str, what: &[&str]| call(&place, &repository, words).expect_refusal(what);
    let items = "src-buffer-mod-rs or src-network-mod-rs";
    refused("diff mod.rs", &[&format!("`mod.rs` could be {items}")]);
    refused("diff src/none.rs", &["no task `src/none.rs`", items]);
    refused("diff @ src/none.rs", &["no task `src/none.rs`", items]);
    refused("diff r9999/src/buffer/mod.rs", &["no run or task `r9999`"]);
    refused("diff r9999 src/buffer/mod.rs", &["no run or task `r9999`"]);
}

#[test]
fn a_conflict_names_the_other_task_as_its_row_does() {
    let place = sandbox();
    let repository = repository(&place);
    let run = place.regatta(repository.root()).words("run --each src/*/mod.rs");
    let finished = run.exec("echo {{item}} > README.md").run().expect_code(4);
    let with = "README.md, with src-buffer-mod-rs";
    assert!(
        finished.stderr.contains(&format!("src-network-mod-rs conflict: {with}")),
        "{finished}"
    );
    assert!(finished.stdout.contains(with), "{finished}");
    for words in ["runs show", "conflicts"] {
        let said = call(&place, &repository, words).stdout;
        assert!(said.contains("with src-buffer-mod-rs"), "{words}: {said}");
    }
}

/// Returns the subjects of the branches of the run, by task.
fn subjects(repository: &Repository, run: &str) -> Vec<(String, String)> {
    let pattern = format!("refs/heads/regatta/{run}");
    let format = "--format=%(refname:lstrip=4) %(contents:subject)";
    let listed = repository.git(&["for-each-ref", format, &pattern]);
    let pair = |line: &str| {
        let (task, subject) = line.split_once(' ').expect("a task and a subject");
        (task.to_owned(), subject.to_owned())
    };
    listed.lines().map(pair).collect()
}

#[test]
fn a_branch_is_named_after_the_item_or_the_prompt_and_never_raw_shell() {
    let place = sandbox();
    let repository = repository(&place);
    let run = place.run_in(&repository).words("--merge branch --each src/*/mod.rs");
    let run = run.exec("sed -i 's/pub/pub(crate)/' {{item}}").run().expect_code(0).run_name();
    let of = |task: &str, subject: &str| (task.to_owned(), subject.to_owned());
    assert_eq!(
        subjects(&repository, &run),
        [
            of("src-buffer-mod-rs", "src/buffer/mod.rs"),
            of("src-network-mod-rs", "src/network/mod.rs")
        ]
    );
    let plan = Plan::default()
        .task("a-quotes", "sed -i 's/run/go/' src/main.rs")
        .task("b-plain", "touch docs.txt")
        .task("c-only", "\"$SHELL\" -c : ; echo x > x.txt");
    let finished = place.run_plan(&repository, &plan).words("--merge branch").run();
    let run = finished.expect_code(0).run_name();
    assert_eq!(
        subjects(&repository, &run),
        [of("a-quotes", "sed -i …"), of("b-plain", "touch docs.txt"), of("c-only", "c-only")]
    );
}

#[test]
fn a_branch_of_a_model_is_named_after_the_item_and_the_first_line_of_the_prompt() {
    let place = sandbox();
    let repository = repository(&place);
    let model = LoopbackModel::start();
    for item in ["src/buffer/mod.rs", "src/network/mod.rs"] {
        model.talk(item, move |asked: &Asked| match asked.answers() {
            0 => Answer::call("write", &json!({ "path": item, "content": "// new\n" })),
            _ => Answer::yields(&json!("done")),
        });
    }
    let run = place.run_in(&repository).words("--merge branch --each src/*/mod.rs --model");
    let run = run.arg(model.route()).arg("--base-url").arg(model.base_url());
    let prompt = format!("Replace the file.\nIt is {}.", marker("{{item}}"));
    let run = run.arg(prompt).run().expect_code(0).run_name();
    let subjects = subjects(&repository, &run).into_iter().map(|(_task, subject)| subject);
    let expected =
        ["src/buffer/mod.rs: Replace the file.", "src/network/mod.rs: Replace the file."];
    assert_eq!(subjects.collect::<Vec<_>>(), expected);
}

#[test]
fn the_commits_of_a_task_are_those_of_its_branch_before_what_it_left() {
    let place = sandbox();
    let repository = repository(&place);
    let commit = "git -c user.name=Ada -c user.email=ada@example.org commit -q -a -m";
    let plan = Plan::default()
        .task(
            "one",
            &format!("echo x >> src/run.rs; {commit} 'Say x at last' -m 'It was missing.'"),
        )
        .task("rest", &format!("echo y >> src/main.rs; {commit} 'Say y'; echo z >> README.md"))
        .task(
            "two",
            &format!(
                "echo a >> src/buffer/mod.rs; {commit} a; echo b >> src/buffer/mod.rs; {commit} b"
            ),
        );
    let finished = place.run_plan(&repository, &plan).words("--merge branch").run();
    let run = finished.expect_code(0).run_name();
    let found = subjects(&repository, &run);
    let subject = |task: &str| {
        let found = found.iter().find(|(name, _)| name == task).expect("each has a branch");
        found.1.clone()
    };
    assert_eq!(subject("one"), "Say x at last");
    let before = |task: &str| {
        repository.git(&["log", "-1", "--format=%s", &format!("regatta/{run}/{task}~")])
    };
    assert_eq!((before("rest"), subject("rest")), ("Say y\n".to_owned(), "echo y …".to_owned()));
    assert_eq!((before("two"), subject("two")), ("a\n".to_owned(), "b".to_owned()));
    let trailers = |task: &str| {
        let branch = format!("regatta/{run}/{task}");
        repository.git(&["log", "-1", "--format=%(trailers:only,unfold)", &branch])
    };
    let expected = format!("Regatta-Run: {run}\nRegatta-Task: rest\n");
    assert_eq!(trailers("rest").trim_end(), expected.trim_end());
    assert_eq!(trailers("one").trim_end(), "", "the commits of a task are as it made them");
    let body = repository.git(&["log", "-1", "--format=%b", &format!("regatta/{run}/one")]);
    assert_eq!(body.trim(), "It was missing.");
    let changed = repository.git(&["diff", "--name-only", "HEAD", &format!("regatta/{run}/rest")]);
    assert_eq!(changed, "README.md\nsrc/main.rs\n", "all its work is on the branch");
}

/// The item of a task in a folder that makes it long.
fn deep(name: &str) -> String {
    format!("packages/the-same-long-name-of-a-folder/{name}-service/src/generated/client/index.ts")
}

/// Begins a run of a task for each deep item on a terminal of 120 columns; each waits for the file
/// `go`.
fn deep_run(place: &Sandbox, repository: &Repository, names: &[&str]) -> Screen {
    for name in names {
        repository.write(deep(name), "export {};\n");
    }
    repository.commit("deep");
    let go = place.folder().join("go");
    let script =
        format!("until [ -e {} ]; do sleep 0.02; done; echo x >> {{{{item}}}}", go.display());
    let call = place.regatta(repository.root()).words("run --jobs 3 --each **/index.ts");
    call.exec(&script).on_a_screen(24, 120)
}

fn go(place: &Sandbox) {
    std::fs::write(place.folder().join("go"), "").expect("a file can be written");
}

#[test]
fn names_of_long_items_are_told_apart_in_the_live_view_and_in_the_table() {
    let place = sandbox();
    let repository = place.repository();
    let names = ["first", "second", "third"];
    let mut screen = deep_run(&place, &repository, &names);
    let has = |text: &str, name: &str, word: &str| {
        let label = format!("{name}-servi");
        text.lines().any(|line| line.contains(&label) && line.contains(word))
    };
    let in_live = |text: &str| names.iter().all(|name| has(text, name, " works "));
    let _drawn = screen.until("every item at work", in_live);
    go(&place);
    assert!(screen.wait().success(), "{}", screen.text());
    let text = screen.text();
    assert!(names.iter().all(|name| has(&text, name, " landed ")), "{text}");
}

#[test]
fn the_table_has_the_width_of_the_terminal_at_the_moment_of_printing() {
    for (columns, is_whole) in [(200, true), (70, false)] {
        let place = sandbox();
        let repository = place.repository();
        let mut screen = deep_run(&place, &repository, &["first", "second"]);
        let _drawn = screen.until("both at work", |text| text.matches(" works ").count() == 2);
        screen.resize(24, columns);
        go(&place);
        assert!(screen.wait().success(), "{}", screen.text());
        let text = screen.text();
        let rows: Vec<_> = text.lines().filter(|line| line.contains("  landed  ")).collect();
        assert_eq!(rows.len(), 2, "no row is wrapped:\n{text}");
        let shown =
            rows.iter().any(|row| row.starts_with("first-service-src-generated-client-index-ts"));
        assert_eq!(shown, is_whole, "the whole item at {columns} columns:\n{text}");
        assert!(rows.iter().all(|row| row.ends_with('s')), "with its time:\n{text}");
    }
}
