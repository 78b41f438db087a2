//! Many commands, and then nothing: no descriptor, thread or process stays behind.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{CancelLevel, CancelToken, CommandError, CommandOwner, EndCause};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::harness::{part, request, shell};

#[test]
fn who_is_short_of_descriptors_is_told_so_and_loses_nothing_for_later() {
    let folder = tempfile::tempdir().unwrap();
    let output = part("short", folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The part of the process that may open only a few files.
pub(crate) fn short_of_descriptors(folder: &Path) {
    let runtime = runtime();
    let shell = shell(Duration::from_millis(700), part("launcher", folder));
    let run = || {
        let request = request(folder, "log", "echo ran");
        runtime.block_on(shell.run(request, Arc::new(|_| {}), CancelToken::default()))
    };
    let plenty = getrlimit(Resource::Nofile);
    let used = fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    let mut refused = 0;
    for spare in 0..12 {
        setrlimit(Resource::Nofile, Rlimit { current: Some(used + spare), ..plenty }).unwrap();
        match run() {
            Ok(end) => assert_eq!(end.cause, EndCause::Exited(0)),
            Err(CommandError::Resources { .. }) => refused += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(refused >= 6, "{refused}");
    setrlimit(Resource::Nofile, plenty).unwrap();
    assert_eq!(run().unwrap().last_line.as_deref(), Some("ran"));
    let children = Holdings::now().children;
    assert_eq!(children.split_whitespace().count(), 1, "the launcher is there: {children}");
}

#[test]
fn two_hundred_commands_leave_no_descriptor_no_thread_and_no_process() {
    let folder = tempfile::tempdir().unwrap();
    // In a process of its own: here, other tests open and start what they need.
    let output = part("leaks", folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What this process has: descriptors, threads, and children, even dead ones.
#[derive(Debug, PartialEq, Eq)]
struct Holdings {
    descriptors: usize,
    threads: usize,
    children: String,
}

impl Holdings {
    fn now() -> Self {
        let count = |folder| fs::read_dir(folder).unwrap().count();
        let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
        let children = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap());
        Self {
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            children: children.collect(),
        }
    }
}

/// The part of the process that is looked at.
pub(crate) fn two_hundred_commands(folder: &Path) {
    // The first runtime of a process opens what it keeps for all that follow.
    drop(runtime());
    let before = Holdings::now();
    let runtime = runtime();
    let shell = shell(Duration::from_millis(700), part("launcher", folder));
    runtime.block_on(all(&shell, folder));
    drop(shell);
    drop(runtime);
    // A thread that was waited for may be seen for a moment longer.
    let _in_time = test_limit::within(Duration::from_secs(10), || Holdings::now() == before);
    assert_eq!(Holdings::now(), before);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn all(shell: &Arc<dyn CommandOwner>, folder: &Path) {
    let limit = Arc::new(tokio::sync::Semaphore::new(64));
    let mut commands = tokio::task::JoinSet::new();
    for number in 0..200 {
        let (shell, limit) = (Arc::clone(shell), Arc::clone(&limit));
        let request = request(folder, &format!("{number}.log"), SCRIPTS[number % SCRIPTS.len()]);
        commands.spawn(async move {
            let _permit = limit.acquire().await.unwrap();
            let stop = CancelToken::default();
            let asked = stop.clone();
            let run = shell.run(request, Arc::new(|_| {}), stop);
            match number % SCRIPTS.len() {
                0 | 1 => assert_eq!(run.await.unwrap().cause, EndCause::Exited(0)),
                2 => {
                    let ask = async { asked.cancel(CancelLevel::Gently) };
                    assert_eq!(tokio::join!(run, ask).0.unwrap().cause, EndCause::Stopped);
                }
                _dropped => {
                    let limit = Duration::from_millis(20);
                    assert!(tokio::time::timeout(limit, run).await.is_err());
                }
            }
        });
    }
    while let Some(ended) = commands.join_next().await {
        ended.unwrap();
    }
}

/// One that ends, one that leaves a child, one to be stopped and one to be dropped.
const SCRIPTS: [&str; 4] = ["seq 1 100", "sleep 600 & echo started", "sleep 600", "sleep 600; :"];
