//! Conflicts are settled by programs: the user's merge tool, and resolvers.

use serde_json::Value;
use tests::sandbox::{Finished, Plan, Repository, Sandbox, Screen, write_program};

use crate::binary::sandbox;

/// A repository in which the tasks `ours` and `theirs` changed the same line of two files.
fn conflicts(place: &Sandbox) -> Repository {
    let repository = place.repository().watched();
    repository.write("list.txt", "first\n");
    repository.write("code.rs", "fn a() {}\n");
    repository.commit("files");
    let plan = Plan::default()
        .task("ours", "echo ours >> list.txt; echo '// ours' >> code.rs")
        .task("theirs", "echo theirs >> list.txt; echo '// theirs' >> code.rs; echo x > new.txt");
    let _run = place.run_plan(&repository, &plan).run().expect_code(4);
    repository
}

/// Writes the user's own git configuration.
fn configure(place: &Sandbox, text: &str) {
    std::fs::write(place.folder().join("user/.gitconfig"), text).expect("it can be written");
}

/// Returns the configuration of a merge tool whose command is `cmd`.
fn tool(name: &str, cmd: &str) -> String {
    format!("[mergetool \"{name}\"]\n\tcmd = \"{}\"\n", cmd.replace('"', "\\\""))
}

fn apply(place: &Sandbox, repository: &Repository, words: &str) -> Finished {
    place.regatta(repository.root()).words("apply @ theirs").words(words).run()
}

fn resolve(place: &Sandbox, repository: &Repository, script: &str) -> Finished {
    let apply = place.regatta(repository.root()).words("apply @ theirs --timeout 60s --resolve");
    apply.arg(script).run()
}

#[test]
fn the_merge_tool_that_git_would_use_by_the_users_own_configuration_writes_the_files() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("list.txt", "first\n");
    repository.commit("files");
    let script = |name: &str| format!("echo {name} >> list.txt");
    let plan = ["ours", "own", "known", "window", "none"]
        .iter()
        .fold(Plan::default(), |plan, name| plan.task(name, &script(name)));
    let _run = place.run_plan(&repository, &plan).run().expect_code(4);
    // What the repository names is never run.
    let ran = place.folder().join("ran");
    repository.git(&["config", "merge.tool", "evil"]);
    repository.git(&["config", "merge.guitool", "evil"]);
    repository.git(&["config", "mergetool.guiDefault", "false"]);
    for tool in ["evil", "mine", "vimdiff", "first", "second"] {
        let key = format!("mergetool.{tool}.cmd");
        repository.git(&["config", &key, &format!("touch {}", ran.display())]);
    }
    let settle = |task: &str, display: &str| {
        let apply = place.regatta(repository.root()).env("DISPLAY", display);
        let applied = apply.words("apply @").arg(task).words("--tool").run().expect_code(0);
        assert!(applied.stdout.contains("by the merge tool: list.txt"), "{task}: {applied}");
        let text = repository.text("list.txt");
        repository.write("list.txt", "first\nours\n");
        text
    };

    let cmd =
        "grep -q '<<<<<<< ours' \"$MERGED\" && cat \"$BASE\" \"$REMOTE\" \"$LOCAL\" > \"$MERGED\"";
    configure(&place, &format!("[merge]\n\ttool = mine\n{}", tool("mine", cmd)));
    assert_eq!(settle("own", ""), "first\nfirst\nown\nfirst\nours\n");

    // A tool that git knows needs no command of its own.
    let vim = place.folder().join("my vim");
    let script = "#!/bin/sh
        printf '%s\\n' \"${*##*/}\" > \"$HOME/arguments\"
        for last; do :; done
        cat \"$LOCAL\" \"$REMOTE\" > \"$last\"";
    write_program(&vim, script);
    let path = vim.display();
    let known = format!("[merge]\n\ttool = vimdiff\n[mergetool \"vimdiff\"]\n\tpath = {path}\n");
    configure(&place, &known);
    assert_eq!(settle("known", ""), "first\nours\nfirst\nknown\n");
    let arguments = std::fs::read_to_string(place.folder().join("user/arguments"));
    assert!(arguments.is_ok_and(|text| text.contains("MERGED.txt")));

    // The tool with windows is used where git would use it.
    let names = "[merge]\n\ttool = first\n\tguitool = second\n[mergetool]\n\tguiDefault = auto\n";
    let cmd = |name: &str| {
        tool(name, &format!("cat \"$REMOTE\" > \"$MERGED\"; echo {name} >> \"$MERGED\""))
    };
    configure(&place, &format!("{names}{}{}", cmd("first"), cmd("second")));
    assert_eq!(settle("window", ":9"), "first\nwindow\nsecond\n");
    assert_eq!(settle("none", ""), "first\nnone\nfirst\n");
    assert!(!ran.exists());
}

#[test]
fn a_tool_that_hangs_crashes_leaves_markers_or_writes_elsewhere_changes_nothing() {
    let place = sandbox();
    let repository = conflicts(&place);
    let before = repository.tree();
    let outside = place.folder().join("outside");
    std::fs::write(&outside, "secret\n").expect("it can be written");
    let link = format!("ln -sf {} \\\"$MERGED\\\"", outside.display());
    for (cmd, said) in [
        ("sleep 600", "it took longer than"),
        ("echo broken >&2; exit 3", "it exited with code 3: broken"),
        ("kill -SEGV $$", "signal 11 ended it"),
        ("true", "it left the file as it was"),
        ("echo more >> \\\"$MERGED\\\"", "markers of a conflict are left"),
        ("rm \\\"$MERGED\\\"", "its result cannot be read"),
        ("rm \\\"$MERGED\\\"; mkfifo \\\"$MERGED\\\"", "its result is not a file"),
        (&link, "its result cannot be read"),
        (
            "echo elsewhere > here.txt; cat \\\"$LOCAL\\\" > \\\"$BASE\\\"",
            "it left the file as it was",
        ),
    ] {
        configure(&place, &format!("[merge]\n\ttool = t\n[mergetool \"t\"]\n\tcmd = \"{cmd}\"\n"));
        let timeout = if cmd.starts_with("sleep") { "100ms" } else { "60s" };
        let failed = apply(&place, &repository, &format!("--tool --timeout {timeout}"));
        failed.expect_refusal(&["the merge tool `t` did not settle code.rs", said]);
        assert_eq!(repository.tree(), before, "{cmd}");
    }
    place.expect_nothing_left(&repository);
    configure(&place, "");
    let none = apply(&place, &repository, "--tool");
    none.expect_refusal(&["your git configuration names no merge tool"]);
    configure(&place, "[merge]\n\ttool = nobody\n");
    let none = apply(&place, &repository, "--tool");
    none.expect_refusal(&["the merge tool `nobody` has no command"]);
}

/// Starts `regatta apply @ theirs --tool` of one file on a terminal that is its own.
fn tool_on_a_terminal(place: &Sandbox, repository: &Repository) -> Screen {
    let words = "apply @ theirs --timeout 60s --tool list.txt --ours code.rs";
    let apply = place.regatta(repository.root()).words(words);
    apply.shell("exec setsid -c -w \"$0\" \"$@\"").on_a_keyboard(24, 100)
}

#[test]
fn a_tool_has_the_terminal_gets_ctrl_c_alone_and_however_it_ends_the_terminal_is_as_before() {
    let place = sandbox();
    let repository = conflicts(&place);
    let before = repository.tree();
    for (end, said) in [("cat", "it exited with code 130"), ("kill -9 $$", "signal 9 ended it")] {
        let cmd = format!("stty -echo; echo ready to edit; {end}");
        configure(&place, &format!("[merge]\n\ttool = t\n[mergetool \"t\"]\n\tcmd = \"{cmd}\"\n"));
        let mut screen = tool_on_a_terminal(&place, &repository);
        screen.until("the tool", |text| text.contains("ready to edit"));
        if end == "cat" {
            screen.interrupt();
        }
        let status = screen.wait();
        assert_eq!(status.code(), Some(1), "{}", screen.bytes());
        assert!(screen.bytes().contains(said), "{}", screen.bytes());
        assert!(screen.echoes(), "{end}");
        assert_eq!(repository.tree(), before, "{end}");
    }

    let tool = place.folder().join("tool");
    let script = "#!/bin/sh
        test -t 0 && test -t 1 && test -t 2 || exit 9
        stty -echo -icanon; trap 'echo caught it' INT; echo 'ready to edit'
        until read -r line; do :; done
        { cat \"$LOCAL\"; tail -n 1 \"$REMOTE\"; echo \"$line\"; } > \"$MERGED\"";
    std::fs::write(&tool, script).expect("it can be written");
    configure(
        &place,
        &format!("[merge]\n\ttool = t\n[mergetool \"t\"]\n\tcmd = sh {}\n", tool.display()),
    );
    let mut screen = tool_on_a_terminal(&place, &repository);
    screen.until("the tool", |text| text.contains("ready to edit"));
    assert!(!screen.echoes());
    screen.interrupt();
    screen.until("the trap", |text| text.contains("caught it"));
    screen.type_line("by hand");
    let status = screen.wait();
    assert!(status.success(), "{}", screen.bytes());
    assert!(screen.echoes(), "{}", screen.bytes());
    assert_eq!(repository.text("list.txt"), "first\nours\ntheirs\nby hand\n");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_resolver_gets_the_sides_and_what_each_task_wanted() {
    let place = sandbox();
    let repository = conflicts(&place);
    let about = place.folder().join("about");
    let script = format!(
        "set -e; test \"$REGATTA_WITH\" = ours; test \"$REGATTA_TASK\" = theirs
         cat \"$REGATTA_ABOUT\" > {}; cat \"$REGATTA_OURS\" > \"$REGATTA_RESULT\"
         tail -n +2 \"$REGATTA_THEIRS\" >> \"$REGATTA_RESULT\"",
        about.display()
    );
    let applied = resolve(&place, &repository, &script).expect_code(0);
    assert!(applied.stdout.contains("by the resolver: code.rs, list.txt"), "{applied}");
    assert_eq!(repository.text("list.txt"), "first\nours\ntheirs\n");
    assert_eq!(repository.text("code.rs"), "fn a() {}\n// ours\n// theirs\n");
    let about = std::fs::read_to_string(about).expect("it was written");
    let about: Value = serde_json::from_str(&about).expect("it is JSON");
    assert_eq!(about["path"], "list.txt");
    assert_eq!(about["conflict"]["reason"], "content");
    assert_eq!(about["ours"]["task"], "ours");
    let prompt = about["theirs"]["prompt"].as_str().expect("it is a text");
    assert!(prompt.starts_with("echo theirs >> list.txt"), "{about}");
    // What it wrote is a capture of its own, which git can fetch.
    let capture = applied.stderr.split("captured as ").nth(1).expect("it is named");
    let store = &place.home().stores()[0];
    repository.git(&["fetch", "--quiet", &store.to_string_lossy(), capture.trim()]);
    let written = repository.git(&["show", "FETCH_HEAD:task/list.txt"]);
    assert_eq!(written, "first\nours\ntheirs\n");
}

#[test]
fn a_resolver_that_leaves_markers_or_drops_a_side_is_refused() {
    let place = sandbox();
    let repository = conflicts(&place);
    let before = repository.tree();
    for (script, said) in [
        ("cp \"$REGATTA_OURS\" \"$REGATTA_RESULT\"", "nothing of theirs is left"),
        ("cp \"$REGATTA_THEIRS\" \"$REGATTA_RESULT\"", "nothing of ours is left"),
        ("cp \"$REGATTA_BASE\" \"$REGATTA_RESULT\"", "nothing of ours is left"),
        (": > \"$REGATTA_RESULT\"", "nothing of ours is left"),
        ("echo end >> \"$REGATTA_RESULT\"", "markers of a conflict are left"),
        ("exit 1", "it exited with code 1"),
        ("kill -SEGV $$", "signal 11 ended it"),
        ("echo elsewhere > \"$REGATTA_OURS\"; echo x > here.txt", "it left the file as it was"),
        ("ln -sf /etc/passwd \"$REGATTA_RESULT\"", "its result cannot be read"),
    ] {
        let refused = resolve(&place, &repository, script);
        refused.expect_refusal(&["the resolver did not settle code.rs", said]);
        assert_eq!(repository.tree(), before, "{script}");
    }
    let hangs = place.regatta(repository.root()).words("apply @ theirs --timeout 100ms --resolve");
    hangs.arg("sleep 600").run().expect_refusal(&["the resolver", "it took longer than"]);
    assert_eq!(repository.tree(), before);
    place.expect_nothing_left(&repository);
    let agent = resolve(&place, &repository, "nosuchagent");
    agent.expect_refusal(&["`nosuchagent` for `--resolve`", "there is no program"]);
    let loss = place.regatta(repository.root()).words("apply @ theirs --allow-loss --resolve");
    let loss = loss.arg("cp \"$REGATTA_THEIRS\" \"$REGATTA_RESULT\"").run();
    let _applied = loss.expect_code(0);
    assert_eq!(repository.text("list.txt"), "first\ntheirs\n");
}

/// Two tasks that change the same line, and one that builds on the second.
fn plan() -> Plan {
    let plan = Plan::default().task("ours", "echo ours >> list.txt");
    let plan = plan.task("theirs", "echo theirs >> list.txt; echo x > new.txt");
    plan.task("after", "cp new.txt after.txt").after(&["theirs"])
}

const KEEP_BOTH: &str = "cat \"$REGATTA_OURS\" > \"$REGATTA_RESULT\"
    tail -n +2 \"$REGATTA_THEIRS\" >> \"$REGATTA_RESULT\"";

#[test]
fn a_run_lets_a_resolver_settle_its_conflicts_and_lands_what_waited() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("list.txt", "first\n");
    repository.commit("files");
    let run = place.regatta(repository.root()).words("run --plan - --resolve").arg(KEEP_BOTH);
    let run = run.stdin(plan().text()).run().expect_code(0);
    assert!(run.stderr.contains("resolved 1 file, captured as refs/tasks/"), "{run}");
    assert!(run.stdout.contains("by the resolver: list.txt"), "{run}");
    assert_eq!(repository.text("list.txt"), "first\nours\ntheirs\n");
    assert_eq!(repository.text("after.txt"), "x\n");
}

#[test]
fn a_dry_run_runs_no_tool_and_no_resolver_and_says_who_would_write_which_file() {
    let place = sandbox();
    let repository = conflicts(&place);
    let (before, captures) = (repository.tree(), place.home().captures());
    let ran = place.folder().join("ran");
    let script = format!("touch {}; {KEEP_BOTH}", ran.display());
    let tool = format!("[merge]\n\ttool = t\n[mergetool \"t\"]\n\tcmd = touch {}\n", ran.display());
    configure(&place, &tool);
    let dry = |words: &str, value: &str| {
        let dry = place.regatta(repository.root()).words("apply @ theirs --dry-run").words(words);
        if value.is_empty() { dry.run() } else { dry.arg(value).run() }
    };
    for (words, value, who) in [
        ("--resolve", script.as_str(), "`touch "),
        ("--resolve", "agent:offline/none.toml", "an agent with the model offline/none.toml"),
        ("--resolve", "agent", "an agent with the model of the task or the settings"),
        ("--tool", "", "the merge tool `t`"),
    ] {
        let said = dry(words, value).expect_code(4);
        let line = format!("2 files would be written by {who}");
        assert!(said.stdout.contains(&line), "{line}: {said}");
        assert!(said.stdout.contains(": code.rs, list.txt"), "{said}");
        let one = dry("--json --ours code.rs --tool list.txt", "").expect_code(4).json();
        let planned = one["would_resolve"].as_array().expect("it is a list");
        assert_eq!((planned.len(), &planned[0]["path"]), (1, &"list.txt".into()), "{one}");
    }
    dry("--resolve", "nosuchagent").expect_refusal(&["there is no program `nosuchagent`"]);
    let left = dry("--tool list.txt", "").expect_code(4);
    assert!(left.stderr.contains("1 conflict of task"), "{left}");
    configure(&place, "");
    dry("--tool", "").expect_refusal(&["your git configuration names no merge tool"]);
    assert!(!ran.exists());
    assert_eq!((before, captures), (repository.tree(), place.home().captures()));
}

#[test]
fn a_resolver_that_fails_in_a_run_leaves_the_work_kept_and_why_is_in_the_ledger_and_in_an_event() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("list.txt", "first\n");
    repository.commit("files");
    for (words, said) in [
        ("run --exec true --resolve nosuchagent", "there is no program `nosuchagent`"),
        ("run --exec true --merge none --resolve ./x", "`--resolve` needs a run that lands"),
        ("run --exec true --allow-loss", "`--resolve` is required"),
    ] {
        place.regatta(repository.root()).words(words).run().expect_refusal(&[said]);
    }
    let run = place.run_plan(&repository, &plan()).words("--resolve").arg("echo oh; exit 7").run();
    let run = run.expect_code(4);
    assert!(run.stderr.contains("the resolver did not settle list.txt"), "{run}");
    assert!(run.stderr.contains("it exited with code 7"), "{run}");
    assert_eq!(run.landed(), ["ours"], "{run}");
    assert_eq!(repository.text("list.txt"), "first\nours\n");
    let events: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let [.., finished, failed] = events.as_slice() else { panic!("{run}") };
    assert_eq!(finished["type"], "run_finished", "{run}");
    assert_eq!((&failed["type"], &failed["task"]), (&"resolver_failed".into(), &"theirs".into()));
    assert_eq!((&failed["path"], &failed["run"]), (&"list.txt".into(), &finished["run"]), "{run}");
    assert_eq!(failed["resolver"]["program"], "echo oh; exit 7", "{run}");
    assert_eq!(failed["resolver"]["exit_code"], 7, "{run}");
    let why = failed["why"].as_str().expect("it says why");
    assert!(why.starts_with("it exited with code 7"), "{run}");
    assert_eq!(failed["seq"].as_u64(), finished["seq"].as_u64().map(|seq| seq + 1), "{run}");

    let _loss = resolve(&place, &repository, "cp \"$REGATTA_OURS\" \"$REGATTA_RESULT\"");
    let shown = place.regatta(repository.root()).words("runs show").run().expect_code(0);
    for line in [
        "list.txt was not resolved by `echo oh; exit 7`, exit code 7: it exited with code 7",
        "list.txt was not resolved by `cp \"$REGATTA_OURS\" \"$REGATTA_RESULT\"`, exit code 0: nothing",
    ] {
        assert!(shown.stdout.contains(line), "{line}: {shown}");
    }
    let shown = || {
        let shown = place.regatta(repository.root()).words("runs show --json").run();
        shown.expect_code(0).json()["tasks"][1].clone()
    };
    let task = shown();
    let unresolved = task["unresolved"].as_array().expect("it is a list");
    assert_eq!(unresolved.len(), 2, "{task}");
    assert_eq!(unresolved[1]["resolver"]["exit_code"], 7, "the last one is first: {task}");
    let steps = "SELECT count(*) FROM transition WHERE type = 'resolver_failed'";
    assert_eq!(place.home().ledger(steps, |row| row.get::<_, i64>(0)), [2]);
    // What has landed since then says for itself who settled it.
    let _applied = resolve(&place, &repository, KEEP_BOTH).expect_code(0);
    assert!(shown()["unresolved"].is_null(), "{}", shown());
}
