//! Keys of model providers: which processes have them, and who can read them there.

use std::time::Duration;

use tests::sandbox::{Finished, Plan, Processes, Repository, Sandbox, User, eventually};

use crate::binary::sandbox;

/// The value of every key. It is found wherever it is looked for.
const CANARY: &str = "canary-5c1f0b";

/// The keys that the engine has.
const KEYS: [&str; 3] = ["OPENAI_API_KEY", "OPENROUTER_API_KEY", "REGATTA_API_KEY"];

/// Writes down the processes whose environment can be read (`seen.txt`), what those run that have
/// the canary in it (`found.txt`), and what the engine, the launcher and the reaper run (`engine.txt`).
const LOOK: &str = r#"
    : > found.txt; : > seen.txt; : > engine.txt
    for process in /proc/[0-9]*; do
        if (: < $process/environ) 2>/dev/null; then
            echo $process >> seen.txt
            if grep -aqs canary-5c1f0b $process/environ; then
                tr '\0' ' ' < $process/cmdline >> found.txt; echo >> found.txt
            fi
        fi
    done
    # Its parent is the reaper, whose parent is the launcher, whose parent is the engine.
    process=$PPID
    for parent in reaper launcher engine; do
        tr '\0' ' ' < /proc/$process/cmdline >> engine.txt; echo >> engine.txt
        process=$(sed 's/.*) . \([0-9]*\) .*/\1/' /proc/$process/stat)
    done
"#;

/// Makes a sandbox and a repository of an ordinary user.
fn of_user() -> (Sandbox, Repository, User) {
    let mut place = sandbox();
    let repository = place.repository();
    let user = User::ordinary();
    place.hand_to(user);
    (place, repository, user)
}

/// Checks that what looked in this folder saw processes, the engine's among them, but no key.
fn expect_no_key_found(repository: &Repository, folder: &str, finished: &Finished) {
    let text = |name: &str| repository.text(format!("{folder}/{name}"));
    let lines = |name: &str| text(name).lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(!lines("seen.txt").is_empty(), "{folder} can look at its own: {finished}");
    let engine = lines("engine.txt").join("\n");
    assert!(engine.contains("run --json") && engine.contains("__launcher"), "{engine}");
    assert_eq!(lines("found.txt"), Vec::<String>::new(), "{folder}: {finished}");
}

#[test]
fn neither_a_command_nor_an_agent_of_an_ordinary_user_finds_a_key_in_a_process_of_the_engine() {
    let (mut place, repository, user) = of_user();
    let scenario = place.folder().join("scenario.toml");
    let look = |folder: &str| format!("mkdir {folder}; cd {folder}\n{LOOK}");
    let script = format!(
        "version = 1\n\n[[turn]]\ncalls = [{{ tool = \"bash\", arguments = {{ command = '''{}''' }} }}]\n\n\
         [[turn]]\ncalls = [{{ tool = \"yield\", arguments = {{ result = {{ data = \"looked\" }} }} }}]\n",
        look("agent")
    );
    std::fs::write(&scenario, script).unwrap();
    place.hand_to(user);
    let plan = Plan::default().task("command", &look("command")).agent("agent", "Look.");
    let run = place.run_plan(&repository, &plan);
    let run = KEYS.iter().fold(run, |run, key| run.env(key, CANARY));
    let run = run.arg("--model").arg(format!("offline/{}", scenario.display()));
    let finished = run.by(user).run().expect_code(0);
    for folder in ["command", "agent"] {
        expect_no_key_found(&repository, folder, &finished);
    }
}

#[test]
fn the_launcher_and_its_reapers_have_no_environment() {
    let place = sandbox();
    let repository = place.repository();
    let ready = place.folder().join("ready");
    let script = format!(": > {}; while [ -e {0} ]; do sleep 0.01; done", ready.display());
    let run = KEYS.iter().fold(place.run_in(&repository), |run, key| run.env(key, CANARY));
    let engine = run.exec(&script).start();
    eventually(Duration::from_secs(60), "the task is at work", || ready.exists());
    let below = Processes::below(engine.id());
    let launched = below.iter().filter(|process| process.what.contains("__launcher"));
    let environments: Vec<_> = launched
        .map(|process| std::fs::read(format!("/proc/{}/environ", process.id)).unwrap())
        .collect();
    std::fs::remove_file(&ready).unwrap();
    let finished = engine.wait().expect_code(0);
    assert_eq!(environments, [b"", b""], "{below:?}, {finished}");
}

/// The value of a key that is passed on. Every command of the user can read it, so it is another.
const PASSED: &str = "passed-2e77d1";

#[test]
fn a_key_is_passed_on_by_name_and_the_first_lines_say_so() {
    let place = sandbox();
    let repository = place.repository();
    let script = "printf %s \"$OPENAI_API_KEY/$XAI_API_KEY\" > key.txt";
    let call = |words: &str| {
        let call = place.regatta(repository.root()).words(words);
        call.env("OPENAI_API_KEY", PASSED).env("XAI_API_KEY", CANARY).exec(script)
    };
    let named = "--pass-env OPENAI_API_KEY --pass-env NO_SUCH_VARIABLE";
    let listed = call(&format!("run --dry-run {named}")).run().expect_code(0);
    assert!(listed.stdout.contains("\npasses OPENAI_API_KEY on to what tasks run\n"), "{listed}");

    let told = call(&format!("run {named}")).run().expect_code(0);
    assert_eq!(repository.text("key.txt"), format!("{PASSED}/"), "{told}");
    let mut lines = told.stderr.lines();
    let warning = "warning: the variable `NO_SUCH_VARIABLE` is not set, so tasks do not get it";
    assert_eq!(lines.next(), Some(warning), "{told}");
    assert!(lines.next().is_some_and(|line| line.contains("run r")), "{told}");
    let passes = " passes OPENAI_API_KEY on to what tasks run";
    assert!(lines.next().is_some_and(|line| line.ends_with(passes)), "{told}");
    assert!(![&told.stdout, &told.stderr].iter().any(|said| said.contains(PASSED)), "{told}");

    let events = call("run --json").env("REGATTA_ENV_PASS", "XAI_API_KEY").run().expect_code(0);
    assert_eq!(repository.text("key.txt"), format!("/{CANARY}"), "{events}");
    let started = &events.events_of("run_started")[0];
    assert_eq!(started["pass_env"], serde_json::json!(["XAI_API_KEY"]), "{events}");
    let without = call("run --json").run().expect_code(0);
    assert_eq!(repository.text("key.txt"), "/", "{without}");
    assert!(without.events_of("run_started")[0].get("pass_env").is_none(), "{without}");
}

#[test]
fn after_a_command_failed_the_keys_that_it_did_not_get_are_named() {
    let place = sandbox();
    let repository = place.repository();
    let line = "note: not passed on to the commands: OPENAI_API_KEY; \
                for one that needs it: --pass-env OPENAI_API_KEY";
    let call = |words: &str, script: &str| {
        let call = place.regatta(repository.root()).words(words).exec(script);
        call.env("OPENAI_API_KEY", PASSED).run()
    };
    let failed = call("run", "test -n \"$OPENAI_API_KEY\"").expect_code(5);
    assert_eq!(failed.stderr.lines().last(), Some(line), "{failed}");
    assert!(failed.stdout.contains("failed  regatta logs r"), "{failed}");
    for (words, script) in [("run", "true"), ("run --pass-env OPENAI_API_KEY", "false")] {
        let run = call(words, script);
        assert!(!run.stderr.contains("not passed on"), "{run}");
    }
}
