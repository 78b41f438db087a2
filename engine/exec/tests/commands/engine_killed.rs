//! The engine ends without a word, and nothing of what it ran is left.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::ports::{CancelToken, Commands as _, EndCause};
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
    let shell = Arc::new(shell(Duration::from_millis(700), part("watch", folder)));
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

/// The part of an engine that can have no watcher: runs one command until it is killed.
pub(crate) fn unwatched_engine(folder: &Path) {
    let shell = shell(Duration::from_millis(700), Command::new("/no/such/program"));
    let request = request(folder, "log", "trap '' TERM; echo $$ >tree; : >ready; exec sleep 600");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(shell.run(request, Arc::new(|_| {}), CancelToken::default())).unwrap();
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

    /// Returns the process that watches.
    fn watcher(&self) -> Option<Pid> {
        children(self.child.id()).into_iter().find(|child| {
            let command = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            command.windows(7).any(|word| word == b"harness")
        })
    }

    /// Kills the engine and checks that all is gone within a second.
    async fn kill(mut self) {
        let processes = self.processes();
        assert_eq!(processes.len(), 16);
        assert!(processes.iter().all(|process| runs(process)));
        let killed = Instant::now();
        self.child.kill().unwrap();
        wait_until(|| !processes.iter().any(|process| runs(process)));
        let took = killed.elapsed();
        self.child.wait().unwrap();
        assert!(took < Duration::from_secs(1), "{took:?}");
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
    Engine::start().await.kill().await;
}

#[test]
async fn the_watcher_is_deaf_to_what_is_meant_for_the_engine() {
    let engine = Engine::start().await;
    let watcher = engine.watcher().unwrap();
    // It hears the last one after the others.
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::STOP] {
        kill_process(watcher, signal).unwrap();
    }
    let stat = || fs::read_to_string(format!("/proc/{watcher}/stat")).unwrap_or_default();
    wait_until(|| stat().contains(") T ") || engine.watcher() != Some(watcher));
    assert_eq!(engine.watcher(), Some(watcher));
    kill_process(watcher, Signal::CONT).unwrap();
    let stat = stat();
    let session = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(3));
    assert_eq!(session, Some(watcher.to_string().as_str()), "it has a session of its own");
    assert_eq!(fs::read_link(format!("/proc/{watcher}/cwd")).unwrap(), Path::new("/"));
    engine.kill().await;
}

#[test]
async fn a_watcher_that_was_killed_is_started_again_and_told_everything() {
    let engine = Engine::start().await;
    let first = engine.watcher().unwrap();
    kill_process(first, Signal::KILL).unwrap();
    wait_until(|| engine.watcher().is_some_and(|watcher| watcher != first));
    engine.kill().await;
}

#[test]
async fn a_command_that_nobody_watches_still_dies_with_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let unwatched = part("unwatched engine", folder.path()).stdout(Stdio::null()).spawn();
    let (mut engine, ready) = (unwatched.unwrap(), folder.path().join("ready"));
    wait_until(|| ready.exists());
    let command = fs::read_to_string(folder.path().join("tree")).unwrap();
    assert!(runs(command.trim()));
    let killed = Instant::now();
    engine.kill().unwrap();
    wait_until(|| !runs(command.trim()));
    assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());
    engine.wait().unwrap();
}

#[test]
async fn commands_run_where_no_watcher_can_be_had() {
    let folder = tempfile::tempdir().unwrap();
    for watcher in [Command::new("/no/such/program"), Command::new("false")] {
        let shell = shell(Duration::from_millis(300), watcher);
        for _ in 0..12 {
            let request = request(folder.path(), "log", "echo ran");
            let end = shell.run(request, Arc::new(|_| {}), CancelToken::default()).await.unwrap();
            assert_eq!(end.cause, EndCause::Exited(0));
            assert_eq!(end.last_line.as_deref(), Some("ran"));
        }
    }
}

#[test]
async fn a_shell_that_is_dropped_takes_its_watcher_along() {
    let harness = Harness::new();
    harness.run("true").await;
    let mine = harness.path("");
    let watches = move || {
        children(std::process::id()).into_iter().any(|child| {
            let environment = fs::read(format!("/proc/{child}/environ")).unwrap_or_default();
            let folder = mine.to_str().unwrap().trim_end_matches('/').as_bytes();
            environment.windows(folder.len()).any(|words| words == folder)
        })
    };
    assert!(watches());
    drop(harness);
    assert!(!watches());
}
