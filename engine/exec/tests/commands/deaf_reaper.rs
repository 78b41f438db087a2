//! A suspended reaper holds nothing up and keeps nothing alive.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{CancelLevel, CancelToken, CommandError, EndCause, OwnerEnd};
use rustix::process::{Signal, kill_process};

use crate::harness::{Harness, part, request, runs, shell, until, wait_until};
use crate::owners::{STRAY, living, parent};

#[test]
async fn a_suspended_reaper_does_not_keep_anything_alive_longer_than_the_engine() {
    test_limit::waits("a reaper that does not answer is given up after a time");
    let folder = tempfile::tempdir().unwrap();
    let mut engine = part("suspended", folder.path()).stdout(Stdio::null()).spawn().unwrap();
    let all = folder.path().join("all");
    wait_until(|| folder.path().join("ready").exists());
    let command = std::fs::read_to_string(&all).unwrap();
    let reaper = parent(command.trim());
    kill_process(reaper, Signal::STOP).unwrap();
    engine.kill().unwrap();
    engine.wait().unwrap();
    wait_until(|| !runs(command.trim()) && !runs(&reaper.as_raw_nonzero().to_string()));
}

#[test]
async fn a_suspended_reaper_is_killed_at_the_end_of_its_owner_with_all_that_it_has_started() {
    test_limit::waits("a reaper that does not answer is given up after a time");
    let harness = Harness::new();
    harness.run(&format!("{STRAY} until [ -s all ]; do :; done")).await;
    let left = living(&harness);
    assert_eq!(left.len(), 1);
    kill_process(parent(&left[0]), Signal::STOP).unwrap();
    assert_eq!(harness.shell.end().await, OwnerEnd::Childless);
    assert!(!left.iter().any(|process| runs(process)));
}

/// The part of an engine whose reaper is suspended.
pub(crate) fn suspended(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let shell = shell(Duration::from_millis(700), part("launcher", folder));
    let request = request(folder, "log", "echo $$ >all; : >ready; sleep 600");
    runtime.block_on(shell.run(request, Arc::new(|_| {}), CancelToken::default())).unwrap();
}

#[test]
async fn a_command_whose_reaper_is_suspended_is_given_up_when_it_is_stopped() {
    test_limit::waits("a reaper that does not answer is given up after a time");
    let harness = Harness::new();
    let stop = CancelToken::default();
    let script = "echo $$ >all; echo begun; exec sleep 600";
    let run = harness.ask(harness.request(script), stop.clone());
    let suspend = async {
        // The shell can be ahead of the reaper, which has to say first that the shell was started.
        let lines = Arc::clone(&harness.lines);
        until(move || !lines.lock().unwrap().is_empty()).await;
        let reaper = parent(harness.read("all").trim());
        kill_process(reaper, Signal::STOP).unwrap();
        let stat = format!("/proc/{reaper}/stat");
        until(move || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T "))).await;
        stop.cancel(CancelLevel::Gently);
    };
    let (ended, ()) = tokio::join!(run, suspend);
    let error = ended.unwrap_err();
    let CommandError::Launcher { source, .. } = &error else { panic!("{error:?}") };
    assert!(source.to_string().contains("does not answer"), "{source}");
    // Another command of the owner waits for the same reaper, until it is stopped as well.
    for level in [CancelLevel::Gently, CancelLevel::AtOnce] {
        std::fs::remove_file(harness.path("output.log")).unwrap();
        let stop = CancelToken::default();
        let run = harness.ask(harness.request(": >ran"), stop.clone());
        let cancel = async {
            harness.appears("output.log").await;
            stop.cancel(level);
        };
        let (ended, ()) = tokio::join!(run, cancel);
        assert_eq!(ended.unwrap().cause, EndCause::Stopped);
    }
    assert_eq!(harness.shell.end().await, OwnerEnd::Childless);
    assert!(!harness.path("ran").exists());
}
