//! The commands that look at runs and at what they captured.

use serde_json::Value;
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// Runs four tasks: one lands, one conflicts with it, one changes nothing, one fails. Returns the run
/// and what it printed.
fn mixed(place: &Sandbox, repository: &Repository) -> (String, Finished) {
    repository.write("colour.txt", "white\n");
    repository.commit("a colour");
    let plan = Plan::default()
        .task("red", "echo red > colour.txt")
        .task("blue", "echo blue > colour.txt; echo extra > extra.txt")
        .task("same", "true")
        .task("bad", "echo half > half.txt; exit 3");
    let run = place.regatta(repository.root()).words("run --plan -").stdin(plan.text());
    let finished = run.run().expect_code(3);
    let listed = regatta(place, repository, "runs --json").expect_code(0).json();
    (listed[0]["name"].as_str().expect("a run has a name").to_owned(), finished)
}

fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

/// Returns how many tasks ended in which way, as a text says it.
fn counts(text: &str) -> String {
    let line = text.lines().find(|line| line.contains(" · 1 failed"));
    let line = line.unwrap_or_else(|| panic!("counts in {text}"));
    let from = line.find("1 landed").or(line.find("2 landed")).expect("something landed");
    line[from..].split_inclusive("failed").next().unwrap_or_default().to_owned()
}

/// Expects these counts in both listings of runs.
fn expect_counts(place: &Sandbox, repository: &Repository, expected: &str) {
    for words in ["runs", "runs show"] {
        let shown = regatta(place, repository, words).expect_code(0).stdout;
        assert_eq!(counts(&shown), expected, "{words}: {shown}");
    }
}

#[test]
fn listings_and_the_ledger_say_what_the_run_said_by_any_unique_prefix() {
    let place = sandbox();
    let repository = place.repository();
    let none = regatta(&place, &repository, "runs --json").expect_code(0).json();
    assert_eq!(none.as_array().map(Vec::len), Some(0), "{none}");
    let (run, finished) = mixed(&place, &repository);
    let before = "1 landed · 1 no change · 1 conflict · 1 failed";
    assert_eq!(counts(&finished.stdout), before);
    expect_counts(&place, &repository, before);
    expect_in_ledger(&place, &run);
    for given in [run.as_str(), &run[..run.len() - 1], "@", ""] {
        let shown = regatta(&place, &repository, &format!("runs show {given}")).expect_code(0);
        for word in [run.as_str(), "red", "blue", "bad", "conflict", "command", "3"] {
            assert!(shown.stdout.contains(word), "{word} in {shown}");
        }
    }
    let json = regatta(&place, &repository, "runs show --json").expect_code(0).json();
    let tasks = json["tasks"].as_array().unwrap();
    let names: Vec<_> = tasks.iter().map(|task| task["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["red", "blue", "same", "bad"], "in the order of their declaration");

    let text = regatta(&place, &repository, &format!("conflicts {run}")).expect_code(0);
    for word in ["blue", "colour.txt", "red"] {
        assert!(text.stdout.contains(word), "{word} in {text}");
    }
    let json = regatta(&place, &repository, "conflicts --json").expect_code(0).json();
    let text = json.to_string();
    for word in ["\"path\":\"colour.txt\"", "\"base\"", "\"ours\"", "\"theirs\"", "\"reason\""] {
        assert!(text.contains(word), "{word} in {text}");
    }
    expect_latest_first(&place, &repository, &run);
}

/// Expects the end of each task and the shape of the ledger.
fn expect_in_ledger(place: &Sandbox, run: &str) {
    let states = place.home().ledger_tasks();
    let states: Vec<_> = states.iter().map(|task| (&task.name[..], &task.state[..])).collect();
    let expected = [("bad", "failed"), ("blue", "done"), ("red", "done"), ("same", "done")];
    assert_eq!(states, expected);
    let names = place.home().ledger("SELECT name FROM run", |row| row.get::<_, String>(0));
    assert_eq!(names, [run]);
    let versions = place.home().ledger("PRAGMA user_version", |row| row.get::<_, i64>(0));
    assert_eq!(versions, [4]);
    let journal = place.home().ledger("PRAGMA journal_mode", |row| row.get::<_, String>(0));
    assert_eq!(journal, ["wal"]);
    for table in ["run", "task", "attempt", "transition", "landing"] {
        let count = format!("SELECT count(*) FROM {table}");
        let rows = place.home().ledger(&count, |row| row.get::<_, i64>(0));
        assert!(rows[0] > 0, "{table} has rows");
    }
}

/// Makes a second run, and one in another repository, and expects the runs of this one with the
/// latest first. The events of a run are one object per line.
fn expect_latest_first(place: &Sandbox, repository: &Repository, first: &str) {
    let second = place.run_in(repository).exec("true").run().expect_code(0);
    for line in second.stdout.lines() {
        let event: Value = serde_json::from_str(line).expect("an event is JSON");
        for field in ["seq", "at", "run", "type"] {
            assert!(!event[field].is_null(), "{field} in {line}");
        }
    }
    let second = second.run_name();
    let other = Repository::init(&place.folder().join("other"));
    other.commit("other");
    let _elsewhere = place.run_in(&other).exec("true").run().expect_code(0);
    let listed = regatta(place, repository, "runs --json").expect_code(0).json();
    let listed = listed.as_array().expect("a list of runs");
    let names: Vec<_> = listed.iter().map(|run| run["name"].clone()).collect();
    assert_eq!(names, [second.as_str(), first]);
    let text = regatta(place, repository, "runs").expect_code(0).stdout;
    let (at_second, at_first) = (text.find(&second), text.find(first));
    assert!(at_second.is_some() && at_second < at_first, "{text}");
}

#[test]
fn a_conflict_with_an_edit_of_the_user_says_so() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("notes.txt", "white\n");
    repository.commit("notes");
    let script = "echo red > notes.txt; echo green > \"$REGATTA_REPO/notes.txt\"";
    let run = place.regatta(repository.root()).words("run").exec(script);
    let finished = run.run().expect_code(4);
    let told = "notes.txt, with an edit in your tree since the run began";
    assert!(finished.stdout.contains(told) && finished.stderr.contains(told), "{finished}");
    let listed = regatta(&place, &repository, "conflicts").expect_code(0).stdout;
    let told =
        "t1  notes.txt  with an edit in your tree since the run began: both changed the same lines";
    assert!(listed.contains(told), "{listed}");
}

#[test]
fn diff_prints_a_patch_that_git_takes_and_lists_its_files_with_their_lines_as_git_counts_them() {
    let place = sandbox();
    let repository = place.repository();
    repository.write("bin.dat", [0, 1, 2, 3, 255]);
    repository.write("two words.txt", "x\n");
    repository.write("k\u{e4}se.txt", "-- x\n++ y\n");
    repository.write("gone.txt", "gone\n");
    repository.write("old.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    repository.commit("more");
    let script = "printf '\\000\\377' >> bin.dat; echo y >> 'two words.txt'; rm gone.txt
        printf 'diff --git a/x b/x\\n++ y' > k\u{e4}se.txt; chmod +x src/main.rs; ln -s README.md link
        : > empty.txt; printf 'a\\n' > \"$(printf 'a\\tb')\"; mv old.txt new.txt; echo 10 >> new.txt";
    let run = place.run_in(&repository).words("--merge none").exec(script);
    let run = run.run().expect_code(0).run_name();
    let patch = place.folder().join("patch");
    let mut diff = place.regatta(repository.root()).words("diff").arg(run).into_command();
    let diff = diff.output().unwrap().stdout;
    std::fs::write(&patch, &diff).unwrap();
    let counted = repository.git(&["apply", "--numstat", "-z", patch.to_str().unwrap()]);

    let told = regatta(&place, &repository, "diff --stat --json").expect_code(0).json();
    let files = told[0]["files"].as_array().expect("the files of one task");
    let told: Vec<String> = files
        .iter()
        .map(|file| match file["binary"] == true {
            true => format!("-\t-\t{}", file["path"].as_str().unwrap()),
            false => {
                format!(
                    "{}\t{}\t{}",
                    file["added"],
                    file["removed"],
                    file["path"].as_str().unwrap()
                )
            }
        })
        .collect();
    assert_eq!(told, counted.split_terminator('\0').collect::<Vec<_>>());

    let lines = regatta(&place, &repository, "diff --stat").expect_code(0).stdout;
    assert!(lines.contains("\n  old.txt → new.txt"), "{lines}");
    assert!(lines.lines().any(|line| line.starts_with("  gone.txt ") && line.ends_with("removed")));
    assert!(lines.ends_with(&format!("{} files · +6 −3\n", told.len())), "{lines}");

    let git = repository.dot_git();
    assert!(repository.git_accepts(&["apply", "--check", "-"], &diff));
    assert!(repository.git_accepts(&["apply", "-"], &diff));
    assert_eq!(repository.read("bin.dat"), [0, 1, 2, 3, 255, 0, 255]);
    assert_eq!(repository.text("two words.txt"), "x\ny\n");
    assert!(!repository.has("gone.txt"));
    assert_eq!(repository.path("link").read_link().unwrap().to_str(), Some("README.md"));
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
}

#[test]
fn apply_lands_what_is_kept_once_nothing_stands_against_it_and_discard_forgets_what_is_named() {
    let place = sandbox();
    let repository = place.repository();
    let (run, _) = mixed(&place, &repository);
    let blue = format!("apply {run}/blue");
    let tree = repository.tree();
    let still = regatta(&place, &repository, &blue).expect_code(4);
    assert!(still.stdout.contains("colour.txt") || still.stderr.contains("colour.txt"), "{still}");
    let dry = regatta(&place, &repository, &format!("{blue} --dry-run")).expect_code(4);
    assert!(dry.stdout.starts_with("blue  would conflict  colour.txt"), "{dry}");
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());

    repository.write("colour.txt", "white\n");
    let tree = repository.tree();
    let dry = regatta(&place, &repository, &format!("{blue} --dry-run")).expect_code(0);
    assert!(dry.stdout.starts_with("blue  would land  2 files"), "{dry}");
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    let _landed = regatta(&place, &repository, &blue).expect_code(0);
    assert_eq!(repository.text("colour.txt"), "blue\n");
    assert_eq!(repository.text("extra.txt"), "extra\n");
    expect_counts(&place, &repository, "2 landed · 1 no change · 1 failed");
    expect_discarded(&place, &repository, &run);
    let _failed = regatta(&place, &repository, &format!("apply {run}/bad")).expect_code(0);
    assert_eq!(repository.text("half.txt"), "half\n");
    place.expect_nothing_left(&repository);
}

/// Discards the task `blue` of `run`, and nothing else.
fn expect_discarded(place: &Sandbox, repository: &Repository, run: &str) {
    let tree = repository.tree();
    let before = place.home().captures();
    let _dry = regatta(place, repository, &format!("discard {run}/blue --dry-run")).expect_code(0);
    assert_eq!(place.home().captures(), before);
    regatta(place, repository, "discard").expect_refusal(&["RUN"]);
    let _gone = regatta(place, repository, &format!("discard {run}/blue")).expect_code(0);
    let after = place.home().captures();
    let lost: Vec<_> = before.iter().filter(|capture| !after.contains(capture)).collect();
    assert_eq!(lost, [&format!("{run}/blue/1")]);
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    let diff = regatta(place, repository, &format!("diff {run}/blue"));
    diff.expect_refusal(&["blue"]);
}

#[test]
fn a_run_with_merge_none_lands_nothing_and_can_be_applied_as_a_whole() {
    let place = sandbox();
    let repository = place.repository();
    let (tree, git) = (repository.tree(), repository.dot_git());
    let run = place.run_in(&repository).words("--merge none --each -").stdin("a\nb\n");
    let finished = run.exec("echo {{item}} > {{item}}.txt").run().expect_code(0);
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    let _applied = regatta(&place, &repository, "apply").expect_code(0);
    assert_eq!(tree.differences(&repository.tree()), ["new: a.txt", "new: b.txt"]);
    assert_eq!(git.differences(&repository.dot_git()), Vec::<String>::new());
    drop(finished);
}
