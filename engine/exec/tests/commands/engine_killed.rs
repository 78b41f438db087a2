//! The engine ends without a word, and nothing of what it ran is left.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::ports::{CancelToken, CommandError, OwnerEnd};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Harness, numbers, part, request, runs, shell, wait_until};

/// A tree of processes, none of which ends by itself or by a word: one that is deaf, has let go
/// of its pipes and lost its parent, one of plain children, and the command.
const TREE: &str = r#"
trap '' TERM HUP INT
(sh -c 'trap "" TERM HUP INT; exec </dev/null >/dev/null 2>&1; cd /; echo $$ >>"$0"; while :; do sleep 600; done' "$PWD/tree" &)
sh -c 'echo $$ >>tree; sh -c "echo \$\$ >>tree; sleep 600; :"; :' &
echo $$ >>tree
while [ $(cat tree | wc -l) -lt 4 ]; do :; done
: >ready
while :; do sleep 600; done
"#;

/// The part of the engine: runs four trees until it is killed.
pub(crate) fn engine(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let shell = shell(Duration::from_millis(700), part("launcher", folder));
    runtime.block_on(async {
        let mut trees = Vec::new();
        for number in 0..4 {
            let folder = folder.join(number.to_string());
            fs::create_dir(&folder).unwrap();
            let shell = Arc::clone(&shell);
            trees.push(tokio::spawn(async move {
                shell
                    .run(request(&folder, "log", TREE), Arc::new(|_| {}), CancelToken::default())
                    .await
            }));
        }
        for tree in trees {
            tree.await.unwrap().unwrap();
        }
    });
}

struct Engine {
    child: Child,
    folder: tempfile::TempDir,
}

impl Engine {
    /// Starts an engine and waits until all its trees stand.
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let child = part("engine", folder.path()).stdout(Stdio::null()).spawn().unwrap();
        let engine = Self { child, folder };
        for number in 0..4 {
            let ready = engine.folder.path().join(format!("{number}/ready"));
            wait_until(|| ready.exists());
        }
        engine
    }

    fn processes(&self) -> Vec<String> {
        let tree = |number: u32| self.folder.path().join(format!("{number}/tree"));
        let trees = (0..4).map(|number| fs::read_to_string(tree(number)).unwrap());
        trees.flat_map(|tree| numbers(&tree)).collect()
    }

    /// Returns the launcher.
    fn launcher(&self) -> Option<Pid> {
        children(self.child.id()).into_iter().find(|child| {
            let command = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            command.windows(7).any(|word| word == b"harness")
        })
    }

    /// Kills the engine, waits until all is gone, and returns how long that took.
    fn kill(mut self) -> Duration {
        let processes = self.processes();
        assert_eq!(processes.len(), 16);
        assert!(processes.iter().all(|process| runs(process)));
        let killed = Instant::now();
        self.child.kill().unwrap();
        wait_until(|| !processes.iter().any(|process| runs(process)));
        let took = killed.elapsed();
        self.child.wait().unwrap();
        took
    }
}

fn children(parent: u32) -> Vec<Pid> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let fields = stat.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
        if fields.split(' ').nth(1) == Some(&parent.to_string()) {
            children.extend(Pid::from_raw(process));
        }
    }
    children
}

#[test]
async fn within_a_second_of_a_killed_engine_nothing_of_any_group_lives() {
    // What else the machine does must not decide: three times, of which one is quiet.
    let mut least = Duration::MAX;
    for _ in 0..3 {
        least = least.min(Engine::start().await.kill());
    }
    test_limit::took_at_most(least, Duration::from_secs(1), "until nothing lives");
}

#[test]
async fn the_launcher_is_deaf_to_what_is_meant_for_the_engine() {
    let engine = Engine::start().await;
    let launcher = engine.launcher().unwrap();
    // It hears the last one after the others.
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::STOP] {
        kill_process(launcher, signal).unwrap();
    }
    let stat = || fs::read_to_string(format!("/proc/{launcher}/stat")).unwrap_or_default();
    wait_until(|| stat().contains(") T ") || engine.launcher() != Some(launcher));
    assert_eq!(engine.launcher(), Some(launcher));
    kill_process(launcher, Signal::CONT).unwrap();
    let stat = stat();
    let session = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(3));
    assert_eq!(session, Some(launcher.to_string().as_str()), "it has a session of its own");
    assert_eq!(fs::read_link(format!("/proc/{launcher}/cwd")).unwrap(), Path::new("/"));
    engine.kill();
}

#[test]
async fn a_suspended_launcher_keeps_nothing_alive() {
    let engine = Engine::start().await;
    let launcher = engine.launcher().unwrap();
    kill_process(launcher, Signal::STOP).unwrap();
    engine.kill();
    wait_until(|| !runs(&launcher.to_string()));
}

#[test]
async fn after_a_killed_launcher_nothing_of_any_owner_lives_and_its_command_fails() {
    let harness = Harness::new();
    let script = "setsid sh -c 'echo $$ >>all; : >ready; exec sleep 600' & echo $$ >>all; wait";
    let launcher =
        || children(std::process::id()).into_iter().find(|child| names(*child, &harness));
    let run = harness.ask(harness.request(script), CancelToken::default());
    let kill = async {
        harness.appears("ready").await;
        kill_process(launcher().unwrap(), Signal::KILL).unwrap();
    };
    let (ended, ()) = tokio::join!(run, kill);
    let error = ended.unwrap_err();
    let CommandError::Launcher { source, .. } = &error else { panic!("{error:?}") };
    assert!(source.to_string().contains("launcher"), "{source}");
    let left = numbers(&harness.read("all"));
    assert_eq!(left.len(), 2);
    wait_until(|| !left.iter().any(|process| runs(process)));
    // The next command finds another.
    assert_eq!(harness.run("echo ran").await.last_line.as_deref(), Some("ran"));
}

#[test]
async fn an_owner_whose_launcher_was_killed_ends_when_nothing_of_it_lives_any_more() {
    let harness = Harness::new();
    let script = "setsid sh -c 'echo $$ >>all; exec sleep 600' >/dev/null 2>&1 &
        until [ -s all ]; do :; done";
    harness.run(script).await;
    let launcher = children(std::process::id()).into_iter().find(|child| names(*child, &harness));
    let launcher = launcher.unwrap();
    kill_process(launcher, Signal::KILL).unwrap();
    wait_until(|| !runs(&launcher.to_string()));
    assert_eq!(harness.shell.end().await, OwnerEnd::Childless);
    let left = numbers(&harness.read("all"));
    assert_eq!(left.len(), 1);
    assert!(!left.iter().any(|process| runs(process)), "its reaper has said so too early");
}

#[test]
async fn where_no_launcher_can_be_had_every_start_fails_with_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    for launcher in [Command::new("/no/such/program"), Command::new("false")] {
        let shell = shell(Duration::from_millis(300), launcher);
        for _ in 0..3 {
            let request = request(folder.path(), "log", "echo ran");
            let error = shell.run(request, Arc::new(|_| {}), CancelToken::default()).await;
            let error = error.unwrap_err();
            let CommandError::Launcher { source, .. } = &error else { panic!("{error:?}") };
            assert!(source.to_string().contains("has failed 6 times"), "{source}");
            assert_eq!(shell.end().await, OwnerEnd::Childless);
        }
    }
}

#[test]
async fn a_shell_that_is_dropped_takes_its_launcher_along() {
    let harness = Harness::new();
    harness.run("true").await;
    let mine = harness.path("");
    let has_launcher =
        move || children(std::process::id()).into_iter().any(|child| has_environment(child, &mine));
    assert!(has_launcher());
    drop(harness);
    assert!(!has_launcher());
}

/// Returns whether a process was started for this harness.
fn names(process: Pid, harness: &Harness) -> bool {
    has_environment(process, &harness.path(""))
}

fn has_environment(process: Pid, folder: &Path) -> bool {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let folder = folder.to_str().unwrap().trim_end_matches('/').as_bytes();
    environment.windows(folder.len()).any(|words| words == folder)
}
