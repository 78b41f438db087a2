//! Keys of model providers: which processes have them, and who can read them there.

use std::time::Duration;

use tests::sandbox::{Finished, Repository, Sandbox, User, eventually};

use super::sandbox;

/// The value of every key. It is found wherever it is looked for.
const CANARY: &str = "canary-5c1f0b";

/// The keys that the engine has.
const KEYS: [&str; 3] = ["OPENAI_API_KEY", "OPENROUTER_API_KEY", "REGATTA_API_KEY"];

/// Writes down the processes whose environment can be read (`seen.txt`), what those run that have
/// the canary in it (`found.txt`), and what the engine and its children run (`engine.txt`).
const LOOK: &str = r#"
    : > found.txt; : > seen.txt; : > engine.txt
    for process in /proc/[0-9]*; do
        if (: < $process/environ) 2>/dev/null; then
            echo $process >> seen.txt
            if grep -aqs canary-5c1f0b $process/environ; then
                tr '\0' ' ' < $process/cmdline >> found.txt; echo >> found.txt
            fi
        fi
        case "$(cat $process/stat 2>/dev/null)" in
            $PPID\ *|*") "?" $PPID "*) tr '\0' ' ' < $process/cmdline >> engine.txt; echo >> engine.txt ;;
        esac
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

/// Checks that the command saw processes, the engine's among them, but no key.
fn expect_no_key_found(repository: &Repository, finished: &Finished) {
    let lines = |name: &str| repository.text(name).lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(!lines("seen.txt").is_empty(), "it can look at its own: {finished}");
    let engine = lines("engine.txt").join("\n");
    assert!(engine.contains("run --json") && engine.contains("__watch"), "{engine}");
    assert_eq!(lines("found.txt"), Vec::<String>::new(), "{finished}");
}

#[test]
fn a_command_of_an_ordinary_user_finds_no_key_in_any_process_of_the_engine() {
    let (place, repository, user) = of_user();
    let run = KEYS.iter().fold(place.run_in(&repository), |run, key| run.env(key, CANARY));
    let finished = run.exec(LOOK).by(user).run().expect_code(0);
    expect_no_key_found(&repository, &finished);
}

#[test]
fn the_bash_tool_of_an_ordinary_users_agent_finds_no_key_in_any_process_of_the_engine() {
    let (mut place, repository, user) = of_user();
    let scenario = place.folder().join("scenario.toml");
    let script = format!(
        "version = 1\n\n[[turn]]\ncalls = [{{ tool = \"bash\", arguments = {{ command = '''{LOOK}''' }} }}]\n\n\
         [[turn]]\ncalls = [{{ tool = \"yield\", arguments = {{ result = {{ data = \"looked\" }} }} }}]\n"
    );
    std::fs::write(&scenario, script).unwrap();
    place.hand_to(user);
    let run = KEYS.iter().fold(place.run_in(&repository), |run, key| run.env(key, CANARY));
    let run = run.arg("--model").arg(format!("offline/{}", scenario.display())).arg("Look.");
    let finished = run.by(user).run().expect_code(0);
    expect_no_key_found(&repository, &finished);
}

#[test]
fn the_watcher_starts_without_keys_also_for_those_who_may_look() {
    let place = sandbox();
    let repository = place.repository();
    let ready = place.folder().join("ready");
    let script = format!(": > {}; while [ -e {0} ]; do sleep 0.01; done", ready.display());
    let run = KEYS.iter().fold(place.run_in(&repository), |run, key| run.env(key, CANARY));
    let engine = run.exec(&script).start();
    eventually(Duration::from_secs(60), "the task is at work", || ready.exists());
    let alive = place.processes().alive();
    let watchers = alive.iter().filter(|(_, what)| what.contains("__watch"));
    let environments: Vec<_> = watchers
        .map(|(id, _)| std::fs::read(format!("/proc/{}/environ", id.as_raw_nonzero())).unwrap())
        .collect();
    std::fs::remove_file(&ready).unwrap();
    let finished = engine.wait().expect_code(0);
    // To others than root no environment is open, and there is nothing to be judged.
    let readable = usize::from(!User::ordinary().is_me());
    assert_eq!(environments.len(), readable, "{alive:?}");
    for environment in environments {
        let environment = String::from_utf8_lossy(&environment);
        assert!(!environment.contains(CANARY), "{environment:?}, {finished}");
    }
}
