//! One task per item: globs, lists, chunks, and names that want to be shell.

use std::time::{Duration, Instant};

use test_limit::{by_depth, sample};

use crate::binary::sandbox;

#[test]
fn globs_lists_chunks_and_typed_words_make_a_task_per_item() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("-n", "dash\n");
    repository.commit("a dash");
    repository.write("src/untracked.rs", "not yet\n");
    let run = place.run_in(&repository).arg("--each={-*,src/**/*.rs}");
    let finished = run.exec("echo '// {{index}} {{item.stem}} {{item.dir}}' >> {{item}}").run();
    let finished = finished.expect_code(0);
    assert_eq!(finished.landed(), ["n", "src-main-rs", "src-run-rs"], "{finished}");
    assert_eq!(repository.text("-n"), "dash\n// 1 ./-n .\n", "no option of the command");
    assert!(repository.text("src/main.rs").ends_with("// 2 main src\n"));
    assert!(repository.text("src/run.rs").ends_with("// 3 run src\n"));
    assert_eq!(repository.text("src/untracked.rs"), "not yet\n");

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

    let run = place.run_in(&repository).words("--each - --chunk 2").stdin("a\nb c\nd\n");
    let script = "for item in {{items}}; do echo \"<$item>\" >> chunk-{{index}}.txt; done";
    let finished = run.exec(script).run().expect_code(0);
    assert_eq!(finished.landed().len(), 2, "{finished}");
    assert_eq!(repository.text("chunk-1.txt"), "<a>\n<b c>\n");
    assert_eq!(repository.text("chunk-2.txt"), "<d>\n");

    let run = place.run_in(&repository).arg("say hello").arg("say $(goodbye)");
    let finished = run.exec("echo {{item}} > word-{{index}}.txt").run().expect_code(0);
    assert_eq!(finished.landed().len(), 2, "{finished}");
    assert_eq!(repository.text("word-1.txt"), "say hello\n");
    assert_eq!(repository.text("word-2.txt"), "say $(goodbye)\n");

    let run = place.regatta(repository.root()).words("run --each - --dry-run").stdin("a\nb\n");
    let told = "warning: each item runs the same command, because {{item}} is not in --exec";
    assert!(run.exec("make docs").run().expect_code(0).stderr.contains(told));
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
    // The tests of `engine/app/src/each/shell_quoting` ask the shell for each kind of quotes.
    let scripts = [
        "cat {{item}} >> seen.txt; echo bare >> {{item}}",
        "cat \"{{item}}\" >> seen.txt; echo double >> \"{{item}}\"",
        "cat '{{item}}' >> seen.txt; echo single >> '{{item}}'",
        "cd {{item.dir}} && cat ./\"$(basename -- {{item}})\" >> ../seen.txt",
    ];
    for script in sample(scripts, 1) {
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

/// How many items there are: a hundred thousand in full depth. So many are planned in the tests of
/// `cli/src/resolve/run_spec`, whatever the depth.
fn count() -> usize {
    by_depth(2_000, 100_000)
}

#[test]
fn a_hundred_thousand_items_are_planned_in_seconds() {
    let place = sandbox();
    let repository = place.repository();
    let items: String = (0..count()).map(|item| format!("src/file-{item}.rs\n")).collect();
    let began = Instant::now();
    let run = place.run_in(&repository).words("--each - --dry-run").stdin(items);
    let finished = run.exec("touch {{item}}").run();
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(finished.stdout.contains(&format!("src-file-{}-rs", count() - 1)));
    let took = began.elapsed();
    test_limit::took_at_most(took, Duration::from_secs(90), "it waits for something");
}

#[test]
fn a_hundred_thousand_items_can_be_started_and_cancelled() {
    let place = sandbox();
    let repository = place.repository();
    let items: String = (0..count()).map(|item| format!("{item}\n")).collect();
    let run = place.run_in(&repository).words("--each - --jobs 2 --fail-fast").stdin(items);
    let finished = run.exec("exit 1").run();
    assert_eq!(finished.code, 5, "{}", finished.stderr);
    let ends = finished.stdout.matches("\"type\":\"task_finished\"").count();
    assert_eq!(ends, count(), "each task is reported once");
    place.expect_nothing_left(&repository);
}
