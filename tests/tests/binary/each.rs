//! One task per item: globs, lists, chunks, and names that want to be shell.

use std::time::{Duration, Instant};

use super::sandbox;

#[test]
fn items_that_no_placeholder_takes_are_warned_about() {
    let place = sandbox();
    let repository = place.repository();
    let told = "warning: each item runs the same command, because {{item}} is not in --exec";
    let run = |script: &str| {
        let run = place.regatta(repository.root()).words("run --each - --dry-run").stdin("a\nb\n");
        run.exec(script).run().expect_code(0)
    };
    assert!(run("make docs").stderr.contains(told));
    for script in ["echo {{item}}", "echo {{index}}", "echo \"$REGATTA_ITEM\""] {
        assert_eq!(run(script).stderr, "", "{script}");
    }
    let words = place.regatta(repository.root()).words("run --exec make a b --dry-run").run();
    assert!(words.expect_code(0).stderr.contains(told));
}

#[test]
fn a_glob_makes_a_task_per_tracked_file() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("src/untracked.rs", "not yet\n");
    let run = place.run_in(&repository).arg("--each").arg("src/**/*.rs");
    let finished = run.exec("echo '// {{index}} {{item.stem}} {{item.dir}}' >> {{item}}").run();
    let finished = finished.expect_code(0);
    assert_eq!(finished.landed(), ["src-main-rs", "src-run-rs"], "{finished}");
    assert!(repository.text("src/main.rs").ends_with("// 1 main src\n"));
    assert!(repository.text("src/run.rs").ends_with("// 2 run src\n"));
    assert_eq!(repository.text("src/untracked.rs"), "not yet\n");
}

#[test]
fn a_list_of_lines_and_one_that_ends_with_nul_make_a_task_per_item() {
    let place = sandbox();
    let repository = place.repository();
    std::fs::write(place.folder().join("list.txt"), "one\ntwo words\n\nthree\n").unwrap();
    let list = format!("@{}", place.folder().join("list.txt").display());
    let run = place.run_in(&repository).arg("--each").arg(list);
    let finished = run.exec("echo {{item}} > out-{{index}}.txt").run().expect_code(0);
    assert_eq!(finished.landed(), ["one", "three", "two-words"], "{finished}");
    assert_eq!(repository.text("out-2.txt"), "two words\n");

    let run = place.run_in(&repository).words("--each - --null").stdin("a\nb\0c\0");
    let finished = run.exec("printf %s {{item}} > nul-{{index}}.txt").run().expect_code(0);
    assert_eq!(finished.landed().len(), 2, "{finished}");
    assert_eq!(repository.text("nul-1.txt"), "a\nb");
}

#[test]
fn chunks_give_several_items_to_one_task() {
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).words("--each - --chunk 2").stdin("a\nb c\nd\n");
    let script = "for item in {{items}}; do echo \"<$item>\" >> out-{{index}}.txt; done";
    let finished = run.exec(script).run().expect_code(0);
    assert_eq!(finished.landed().len(), 2, "{finished}");
    assert_eq!(repository.text("out-1.txt"), "<a>\n<b c>\n");
    assert_eq!(repository.text("out-2.txt"), "<d>\n");
}

#[test]
fn a_glob_that_matches_nothing_is_refused() {
    let place = sandbox();
    let repository = place.repository();
    let finished = place.run_in(&repository).words("--each *.cobol").exec("true").run();
    finished.expect_refusal(&["*.cobol"]);
    let finished = place.run_in(&repository).words("--each -").stdin("\n\n").exec("true").run();
    finished.expect_refusal(&["item"]);
    let finished = place.run_in(&repository).words("--each @no/such.txt").exec("true").run();
    finished.expect_refusal(&["no/such.txt"]);
    let deep = format!("{}{}", "{".repeat(300), "}".repeat(300));
    let finished = place.run_in(&repository).words("--each").arg(&deep).exec("true").run();
    finished.expect_refusal(&["too long"]);
    place.expect_nothing_left(&repository);
}

#[test]
fn no_name_is_ever_parsed_as_shell_whatever_quotes_stand_around_it() {
    let place = sandbox();
    let repository = place.repository();
    let names = [
        "quote ' single",
        "quote \" double",
        "$(touch oops) `touch oops`",
        "new\nline; touch oops",
        "${HOME} $1 \\",
        "-rf",
        "*",
        "a && touch oops #",
        "ünïcode …",
        "{{index}}",
    ];
    for name in names {
        repository.write(format!("odd/{name}"), format!("{name}\n"));
    }
    repository.commit("odd names");
    for script in [
        "cat {{item}} >> seen.txt; echo bare >> {{item}}",
        "cat \"{{item}}\" >> seen.txt; echo double >> \"{{item}}\"",
        "cat '{{item}}' >> seen.txt; echo single >> '{{item}}'",
        "cd {{item.dir}} && cat ./\"$(basename -- {{item}})\" >> ../seen.txt",
    ] {
        let run = place.run_in(&repository).arg("--each").arg("odd/*").words("--merge none");
        let finished = run.exec(script).run().expect_code(0);
        assert_eq!(finished.names_in("task_finished").len(), names.len(), "{script}: {finished}");
        let mut seen = Vec::new();
        for event in finished.events_of("task_finished") {
            assert_eq!(event["outcome"], "done", "{script}: {event}");
            let capture = event["capture"].as_str().unwrap().trim_start_matches("refs/tasks/");
            seen.push(place.home().captured(capture, "seen.txt"));
            let listed = format!("refs/tasks/{capture}:task");
            let paths = place.home().store_git(&["ls-tree", "-r", "--name-only", &listed]);
            assert!(!paths.contains("oops\n"), "{script}: {paths}");
        }
        seen.sort_unstable();
        let mut expected: Vec<_> = names.iter().map(|name| format!("{name}\n")).collect();
        expected.sort_unstable();
        assert_eq!(seen, expected, "{script}");
    }
}

#[test]
fn a_path_that_begins_with_a_dash_is_no_option() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("-n", "dash\n");
    repository.commit("a dash");
    let run = place.run_in(&repository).arg("--each=-*");
    let finished = run.exec("cat {{item}} > seen.txt").run().expect_code(0);
    assert_eq!(repository.text("seen.txt"), "dash\n", "{finished}");
}

#[test]
fn items_with_the_same_slug_get_numbers() {
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).words("--each -").stdin("a b\na/b\nA-B\n");
    let finished = run.exec("true").run().expect_code(0);
    let names: Vec<_> = finished.names_in("task_finished");
    assert_eq!(names.len(), 3);
    for name in ["a-b", "a-b-2"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
}

#[test]
fn a_hundred_thousand_items_are_planned_in_seconds() {
    let place = sandbox();
    let repository = place.repository();
    let items: String = (0..100_000).map(|item| format!("src/file-{item}.rs\n")).collect();
    let began = Instant::now();
    let run = place.run_in(&repository).words("--each - --dry-run").stdin(items);
    let finished = run.exec("touch {{item}}").run();
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(finished.stdout.contains("src-file-99999-rs"));
    let took = began.elapsed();
    test_limit::took_at_most(took, Duration::from_secs(90), "it waits for something");
}

#[test]
fn a_hundred_thousand_items_can_be_started_and_cancelled() {
    let place = sandbox();
    let repository = place.repository();
    let items: String = (0..100_000).map(|item| format!("{item}\n")).collect();
    let run = place.run_in(&repository).words("--each - --jobs 2 --fail-fast").stdin(items);
    let finished = run.exec("exit 1").run();
    assert_eq!(finished.code, 5, "{}", finished.stderr);
    let ends = finished.stdout.matches("\"type\":\"task_finished\"").count();
    assert_eq!(ends, 100_000, "each task is reported once");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_command_is_run_once_for_each_task_that_was_typed() {
    let place = sandbox();
    let repository = place.repository();
    let run = place.run_in(&repository).arg("say hello").arg("say $(goodbye)");
    let finished = run.exec("echo {{item}} > out-{{index}}.txt").run().expect_code(0);
    assert_eq!(finished.landed().len(), 2, "{finished}");
    assert_eq!(repository.text("out-1.txt"), "say hello\n");
    assert_eq!(repository.text("out-2.txt"), "say $(goodbye)\n");
}
