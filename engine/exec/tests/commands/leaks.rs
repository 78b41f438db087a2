//! Many commands, and then nothing: no descriptor, thread or process stays behind.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{Commands as _, EndCause, Stop};
use exec::Shell;

use crate::stage::{part, request, shell};

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
    let shell = Arc::new(shell(Duration::from_millis(700), part("watch", folder)));
    runtime.block_on(all(&shell, folder));
    drop(shell);
    drop(runtime);
    assert_eq!(Holdings::now(), before);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn all(shell: &Arc<Shell>, folder: &Path) {
    let limit = Arc::new(tokio::sync::Semaphore::new(64));
    let mut commands = tokio::task::JoinSet::new();
    for number in 0..200 {
        let (shell, limit) = (Arc::clone(shell), Arc::clone(&limit));
        let request = request(folder, &format!("{number}.log"), SCRIPTS[number % SCRIPTS.len()]);
        commands.spawn(async move {
            let _permit = limit.acquire().await.unwrap();
            let stop = Stop::default();
            let asked = stop.clone();
            let run = shell.run(request, Arc::new(|_| {}), stop);
            match number % SCRIPTS.len() {
                0 | 1 => assert_eq!(run.await.unwrap().cause, EndCause::Exited(0)),
                2 => {
                    let ask = async { asked.gently.cancel() };
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
