//! `regatta undo`: what a run has landed in the working tree is taken back, path by path, and what
//! was edited since is merged or left and named.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use tests::sandbox::{Fingerprint, Finished, Plan, Repository, Sandbox, eventually};

use crate::binary::sandbox;

fn regatta(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words(words).run()
}

/// Returns the document that a command prints with `--json`.
fn json(place: &Sandbox, repository: &Repository, words: &str, code: i32) -> Value {
    let finished = regatta(place, repository, &format!("{words} --json")).expect_code(code);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error} in {finished}"))
}

fn lines() -> String {
    (0..40).map(|line| format!("line {line}\n")).collect()
}

fn set(number: usize, text: &str) -> String {
    format!("sed -i 's/^line {number}$/{text}/' list.txt")
}

/// A repository with a list of forty lines.
fn listed(place: &Sandbox) -> Repository {
    let repository = place.repository().watched();
    repository.write("list.txt", lines());
    repository.commit("list");
    repository
}

fn expect_same(then: &Fingerprint, repository: &Repository, at: &str) {
    assert_eq!(then.differences(&repository.tree()), Vec::<String>::new(), "{at}");
}

#[test]
fn every_kind_of_change_is_taken_back_byte_for_byte_and_lands_again() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("crlf.txt", "one\r\ntwo\r\nthree\r\n");
    repository.write("binary", [0, 1, 2, 255, 0]);
    repository.write("removed.txt", "removed\n");
    repository.write("only/here.txt", "the last of its folder\n");
    repository.write("old-name.txt", lines());
    repository.write("becomes-folder", "a file\n");
    repository.write("becomes-file/x", "in a folder\n");
    repository.write("script.sh", "#!/bin/sh\n");
    repository.write("edited.txt", lines());
    std::os::unix::fs::symlink("script.sh", repository.path("link")).unwrap();
    repository.commit("files");
    repository.make_dirty();
    repository.write("edited.txt", lines().replace("line 5\n", "the user's\n"));
    fs::create_dir(repository.path("empty")).unwrap();
    let (before, dirt) = (repository.tree(), repository.dirt());
    let script = "printf 'one\\r\\nTWO\\r\\nthree\\r\\n' > crlf.txt; printf '\\000new' > binary
        rm removed.txt only/here.txt becomes-folder; git mv old-name.txt new-name.txt
        rm -r becomes-file; echo file > becomes-file; mkdir becomes-folder empty new new/deep
        echo x > becomes-folder/x; echo y > empty/y; echo z > new/deep/z; chmod +x script.sh
        ln -sf edited.txt link; sed -i 's/^line 30$/the task/' edited.txt";
    let run = place.run_in(&repository).exec(script).run().expect_code(0);
    let name = run.run_name();
    let landed = repository.tree();
    assert!(!before.differences(&landed).is_empty());

    let undone = regatta(&place, &repository, &format!("undo {name}")).expect_code(0);
    expect_same(&before, &repository, &undone.to_string());
    assert_eq!(dirt, repository.dirt());
    assert!(undone.stdout.contains("taken back  "), "{undone}");
    let again = format!("regatta apply {name} --again");
    assert!(undone.stdout.contains(&again), "{undone}");
    let shown = regatta(&place, &repository, "runs show").expect_code(0).stdout;
    assert!(shown.contains("taken back") && shown.contains(&again), "{shown}");

    let twice = regatta(&place, &repository, "undo @").expect_code(0);
    assert!(twice.stdout.contains("was taken back already"), "{twice}");
    let told = regatta(&place, &repository, "apply").expect_code(4);
    assert!(told.stdout.contains("was taken back"), "{told}");
    expect_same(&before, &repository, &told.to_string());
    let applied = regatta(&place, &repository, "apply --again").expect_code(0);
    expect_same(&landed, &repository, &applied.to_string());
    assert!(applied.stdout.contains(&format!("regatta undo {name}")), "{applied}");
    let undone = regatta(&place, &repository, "undo @").expect_code(0);
    expect_same(&before, &repository, &undone.to_string());
    place.expect_nothing_left(&repository);
}

#[test]
fn of_several_runs_each_is_taken_back_alone_and_edits_of_the_user_stay() {
    let place = sandbox();
    let repository = listed(&place);
    let run =
        |script: String| place.run_in(&repository).exec(&script).run().expect_code(0).run_name();
    let first = run(format!("{}; echo 1 > first.txt", set(2, "first")));
    let second = run(format!("{}; echo 2 > second.txt", set(30, "second")));
    let edited = repository.text("list.txt").replace("line 20\n", "mine\n");
    repository.write("list.txt", edited);

    let undone = json(&place, &repository, &format!("undo {first}"), 0);
    assert_eq!(undone["files"], serde_json::json!(["first.txt", "list.txt"]), "{undone}");
    assert_eq!(undone["tasks"][0]["landing"], "taken_back", "{undone}");
    let expected = lines().replace("line 20\n", "mine\n");
    assert_eq!(repository.text("list.txt"), expected.replace("line 30\n", "second\n"));
    assert!(!repository.has("first.txt") && repository.has("second.txt"));
    let _undone = regatta(&place, &repository, &format!("undo {second}")).expect_code(0);
    assert_eq!(repository.text("list.txt"), expected);
    assert!(!repository.has("second.txt"));
}

#[test]
fn what_was_edited_since_is_left_and_named_with_the_reason_and_a_later_undo_takes_it_back() {
    let place = sandbox();
    let repository = listed(&place);
    repository.write("gone.txt", "gone\n");
    repository.write("binary", [0, 1]);
    repository.commit("more");
    let script = format!(
        "{}; echo x > new.txt; echo changed > gone.txt; printf '\\000b' > binary
         echo x > \"$(printf 'a\\033[2Jb')\"; echo y > fine.txt",
        set(2, "task")
    );
    let run = place.run_in(&repository).exec(&script).run().expect_code(0);
    let landed = repository.text("list.txt");
    repository.write("list.txt", landed.replace("task\n", "task, and the user\n"));
    repository.write("new.txt", "x\nmore\n");
    repository.write("binary", [0, b'c']);
    fs::remove_file(repository.path("gone.txt")).unwrap();
    let words = format!("undo {}", run.run_name());

    let foretold = json(&place, &repository, &format!("{words} --dry-run"), 4);
    let files = foretold["files"].as_array().unwrap();
    assert_eq!((files.len(), &files[1]), (2, &serde_json::json!("fine.txt")), "{foretold}");
    let undone = regatta(&place, &repository, &words).expect_code(4);
    let left = "left        list.txt: the same lines were changed since\n";
    assert!(undone.stdout.contains(left), "{undone}");
    assert!(undone.stdout.contains("taken back  2 files: "), "{undone}");
    let run_name = run.run_name();
    let next = format!(
        "\n\nleft   regatta diff {run_name}           shows what landed: edit that out of the files that are left\n\
         undo   regatta undo {run_name}           then takes back the rest\n\
         redo   regatta apply {run_name} --again  lands the work taken back\n"
    );
    assert!(undone.stdout.ends_with(&next), "{undone}");
    assert!(!undone.stdout.contains('\u{1b}'), "{undone}");
    let left = json(&place, &repository, &words, 4);
    let paths: Vec<_> = left["left"].as_array().unwrap().iter().map(|left| &left["path"]).collect();
    assert_eq!(paths, ["binary", "gone.txt", "list.txt", "new.txt"], "{left}");
    assert_eq!(repository.text("new.txt"), "x\nmore\n");
    assert_eq!(repository.read("binary"), [0, b'c']);
    assert!(repository.text("list.txt").contains("task, and the user\n"));
    assert!(!repository.has("gone.txt") && !repository.has("fine.txt"));
    let shown = regatta(&place, &repository, "runs show").expect_code(0).stdout;
    assert!(shown.contains("taken back") && shown.contains("all but binary"), "{shown}");

    // What the user clears up, the next undo takes back.
    repository.write("list.txt", &landed);
    repository.write("new.txt", "x\n");
    repository.write("binary", [0, b'b']);
    repository.write("gone.txt", "changed\n");
    let again = regatta(&place, &repository, &words).expect_code(0);
    assert_eq!(repository.text("list.txt"), lines(), "{again}");
    assert_eq!(repository.text("gone.txt"), "gone\n");
    assert_eq!(repository.read("binary"), [0, 1]);
    assert!(!repository.has("new.txt"));
    let twice = regatta(&place, &repository, &words).expect_code(0);
    assert!(twice.stdout.contains("was taken back already"), "{twice}");
}

#[test]
fn after_a_hard_reset_nothing_is_left_and_what_was_renamed_or_committed_is_taken_back_where_it_is()
{
    let place = sandbox();
    let repository = listed(&place);
    let script = format!("{}; echo x > new.txt", set(2, "task"));
    let run = place.run_in(&repository).exec(&script).run().expect_code(0);
    repository.git(&["reset", "--quiet", "--hard"]);
    repository.git(&["clean", "--quiet", "-fd"]);
    let before = repository.tree();
    let undone = regatta(&place, &repository, "undo @").expect_code(0);
    let told = format!("nothing of {} is left to take back", run.run_name());
    assert!(undone.stdout.contains(&told), "{undone}");
    expect_same(&before, &repository, &undone.to_string());
    let _again = regatta(&place, &repository, "apply @ --again").expect_code(0);
    assert!(repository.text("list.txt").contains("task\n"));
    let _undone = regatta(&place, &repository, "undo @").expect_code(0);
    expect_same(&before, &repository, "the second undo");

    let _again = regatta(&place, &repository, "apply @ --again").expect_code(0);
    repository.commit("what landed");
    let head = repository.git(&["rev-parse", "HEAD"]);
    fs::rename(repository.path("list.txt"), repository.path("renamed.txt")).unwrap();
    let undone = regatta(&place, &repository, "undo @").expect_code(0);
    assert_eq!(repository.text("renamed.txt"), lines(), "{undone}");
    assert!(!repository.has("list.txt") && !repository.has("new.txt"));
    assert_eq!(head, repository.git(&["rev-parse", "HEAD"]), "the commit stays");
}

#[test]
fn one_task_is_taken_back_alone_also_where_a_later_one_changed_the_same_file() {
    let place = sandbox();
    let repository = listed(&place);
    let plan = Plan::default()
        .task("a", &format!("{}; echo a > a.txt", set(2, "a")))
        .task("b", &format!("{}; echo b > b.txt", set(20, "b")))
        .task("c", &set(35, "c"));
    for land in ["end", "eager"] {
        let run = place.run_plan(&repository, &plan).words("--land").arg(land);
        let name = run.words("--jobs 1").run().expect_code(0).run_name();
        let undone = regatta(&place, &repository, &format!("undo {name}/a")).expect_code(0);
        let all = lines().replace("line 20\n", "b\n").replace("line 35\n", "c\n");
        assert_eq!(repository.text("list.txt"), all, "{land}: {undone}");
        assert!(!repository.has("a.txt") && repository.has("b.txt"), "{land}");
        let row = json(&place, &repository, &format!("runs show {name}/a"), 0);
        assert_eq!(row["tasks"][0]["landing"]["landing"], "taken_back", "{row}");
        let row = json(&place, &repository, &format!("runs show {name}/b"), 0);
        assert_eq!(row["tasks"][0]["landing"]["landing"], "landed", "{row}");
        // The rest, and then all of it again.
        let _undone = regatta(&place, &repository, &format!("undo {name}")).expect_code(0);
        assert_eq!(repository.text("list.txt"), lines(), "{land}");
        assert!(!repository.has("b.txt"), "{land}");
        let _again = regatta(&place, &repository, &format!("apply {name} --again")).expect_code(0);
        assert_eq!(repository.text("list.txt"), all.replace("line 2\n", "a\n"), "{land}");
        let _undone = regatta(&place, &repository, &format!("undo {name}")).expect_code(0);
        assert_eq!(repository.text("list.txt"), lines(), "{land}");
        assert!(!repository.has("a.txt"), "{land}");
    }
    place.expect_nothing_left(&repository);
}

#[test]
fn lines_that_were_joined_are_not_called_taken_back_while_they_stay() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("CHANGES", "# Changes\n");
    repository.commit("a list of changes");
    let run = |line: &str| {
        let run = place.run_in(&repository).words("--union CHANGES");
        run.exec(&format!("echo {line} >> CHANGES")).run().expect_code(0).run_name()
    };
    let first = run("first");
    let _second = run("second");
    let undone = json(&place, &repository, &format!("undo {first}"), 4);
    assert_eq!(undone["left"][0]["path"], "CHANGES", "{undone}");
    assert_eq!(repository.text("CHANGES"), "# Changes\nfirst\nsecond\n");
}

#[test]
fn a_dry_run_changes_nothing_and_what_landed_with_settled_conflicts_is_taken_back_too() {
    let place = sandbox();
    let repository = listed(&place);
    let plan =
        Plan::default().task("a", &set(2, "a")).task("b", &set(2, "b")).task("c", "echo c > c.txt");
    let name = place.run_plan(&repository, &plan).run().expect_code(4).run_name();
    let _settled = regatta(&place, &repository, "diff").expect_code(0);
    repository.write("list.txt", repository.text("list.txt").replace("line 30\n", "mine\n"));
    let ledger = ["ledger.db", "ledger.db-wal", "ledger.db-shm"];
    let data = || Fingerprint::without(&place.home().data(), &ledger);
    let rows =
        || place.home().ledger("SELECT count(*) FROM transition", |row| row.get::<_, i64>(0));
    let (tree, before, count) = (repository.tree(), data(), rows());
    let would = json(&place, &repository, &format!("undo {name} --dry-run"), 0);
    assert_eq!(would["done"], "dry_run");
    assert_eq!(would["files"], serde_json::json!(["c.txt", "list.txt"]), "{would}");
    let text = regatta(&place, &repository, "undo @ --dry-run").expect_code(0);
    assert!(text.stdout.contains("would undo  2 files: c.txt, list.txt"), "{text}");
    for (words, code) in [("apply --dry-run", 4), ("discard @ --dry-run", 0)] {
        let _would = json(&place, &repository, words, code);
    }
    assert_eq!(tree.differences(&repository.tree()), Vec::<String>::new());
    assert_eq!(before.differences(&data()), Vec::<String>::new());
    assert_eq!(count, rows());

    let settle = format!("apply {name}/b --theirs");
    let _settled = regatta(&place, &repository, &settle).expect_code(0);
    assert!(repository.text("list.txt").contains("b\n"));
    let undone = regatta(&place, &repository, &format!("undo {name}/b")).expect_code(0);
    expect_same(&tree, &repository, &undone.to_string());
    let _undone = regatta(&place, &repository, &format!("undo {name}")).expect_code(0);
    assert_eq!(repository.text("list.txt"), lines().replace("line 30\n", "mine\n"));
    assert!(!repository.has("c.txt"));
}

#[test]
fn what_cannot_be_taken_back_is_refused_with_what_to_do_and_nothing_changes() {
    let place = sandbox();
    let repository = listed(&place);
    expect_refused_without_landed_work(&place, &repository);

    let run = place.run_in(&repository).exec(&set(2, "task")).run().expect_code(0).run_name();
    let landed = repository.tree();
    let landings = place.home().data().join("landings");
    let repo = fs::read_dir(&landings).unwrap().next().unwrap().unwrap().path();
    let journal = repo.join("done").join(format!("{run}-1.json"));
    let text = fs::read(&journal).expect("the journal of the landing is kept");
    for (bytes, why) in [
        (None, "it is not recorded what its landing has replaced"),
        (Some(&b"{"[..]), "is damaged"),
        (Some(&b"\xff\0"[..]), "is damaged"),
    ] {
        match bytes {
            None => fs::remove_file(&journal).unwrap(),
            Some(bytes) => fs::write(&journal, bytes).unwrap(),
        }
        for words in ["undo @", "undo @ --dry-run"] {
            let refused = regatta(&place, &repository, words).expect_code(1);
            assert!(refused.stderr.contains(why), "{refused}");
            let hint = format!("regatta diff {run} | git apply -R");
            assert!(refused.stderr.contains(&hint), "{refused}");
            expect_same(&landed, &repository, why);
        }
    }
    fs::write(&journal, text).unwrap();

    // The version from before is gone from the task store.
    let before = place.home().store_git(&["rev-parse", &format!("refs/landings/{run}-1:0-before")]);
    let (folder, file) = before.trim().split_at(2);
    let object = place.home().stores()[0].join("objects").join(folder).join(file);
    let bytes = fs::read(&object).expect("it is a loose object");
    fs::remove_file(&object).unwrap();
    let refused = regatta(&place, &repository, "undo @").expect_code(1);
    assert!(refused.stderr.contains("list.txt from before the landing is lost"), "{refused}");
    expect_same(&landed, &repository, "a lost version");
    fs::write(&object, bytes).unwrap();
    let _undone = regatta(&place, &repository, "undo @").expect_code(0);
    assert_eq!(repository.text("list.txt"), lines());
    place.expect_nothing_left(&repository);
}

/// Without a run, of work that has not landed and of a run that works, nothing is taken
/// back.
fn expect_refused_without_landed_work(place: &Sandbox, repository: &Repository) {
    let none = regatta(place, repository, "undo @").expect_code(1);
    assert!(none.stderr.contains("there is no run yet"), "{none}");
    let kept = place.run_in(repository).words("--merge none").exec(&set(2, "x")).run();
    let kept = kept.expect_code(0).run_name();
    // Without a name, the latest run is meant, as everywhere.
    for words in [format!("undo {kept}"), "undo".to_owned()] {
        let refused = regatta(place, repository, &words).expect_code(1);
        assert!(refused.stderr.contains(&format!("nothing of {kept} has landed")), "{refused}");
    }
    let unknown = regatta(place, repository, "undo r0000").expect_code(1);
    assert!(unknown.stderr.contains("there is no run or task `r0000`"), "{unknown}");

    // A run that works.
    let gate = place.folder().join("gate");
    let script = format!("touch '{0}'; while [ -e '{0}' ]; do sleep 0.05; done", gate.display());
    let running = place.run_in(repository).exec(&script).start();
    eventually(Duration::from_secs(60), "the task works", || gate.exists());
    let refused = regatta(place, repository, "undo @").expect_code(1);
    assert!(refused.stderr.contains("take back"), "{refused}");
    fs::remove_file(&gate).expect("a file can be changed");
    let _ended = running.wait().expect_code(0);
}

#[test]
fn settings_that_a_task_has_broken_stop_what_starts_a_task_and_nothing_else() {
    let place = sandbox();
    let repository = place.repository().watched();
    let before = repository.tree();
    let script = "mkdir -p .regatta; printf 'branch: [\\n' > .regatta/config.yml";
    let _run = place.run_in(&repository).exec(script).run().expect_code(0);
    let at = ".regatta/config.yml:1:";
    place.run_in(&repository).exec("true").run().expect_refusal(&[at]);
    for words in ["diff", "config limits", "trust --yes", "apply @", "undo @"] {
        let done = regatta(&place, &repository, words).expect_code(0);
        let warnings = done.stderr.lines().filter(|line| line.starts_with("warning: ")).count();
        assert!(warnings == 1 && done.stderr.contains(at), "{words}: {done}");
    }
    expect_same(&before, &repository, "the settings are taken back");
}
