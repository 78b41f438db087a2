//! What a command finds when it starts.

use std::os::fd::AsRawFd as _;
use std::sync::Arc;

use engine::ports::{CancelToken, CommandError, EndCause};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

use crate::harness::Harness;

#[test]
async fn a_command_gets_its_folder_its_arguments_and_its_environment() {
    let harness = Harness::new();
    let mut request = harness.request(r#"echo "$PWD|$0|$#|$1|$2|$ITEM|$GIT_DIR|""#);
    request.arguments = vec!["a b".to_owned(), "$(touch no)\n\"'".to_owned()];
    request.environment.insert("ITEM".to_owned(), "it's".into());
    harness.ask(request, CancelToken::default()).await.unwrap();
    let folder = harness.path("").canonicalize().unwrap();
    let expected = format!("{}|sh|2|a b|$(touch no)\n\"'|it's||\n", folder.display());
    assert_eq!(harness.read("output.log"), expected);
    assert!(!harness.path("no").exists());
}

#[test]
async fn nothing_comes_from_standard_input() {
    let harness = Harness::new();
    let end = harness.run("wc -c; readlink /proc/self/fd/0").await;
    assert_eq!(end.cause, EndCause::Exited(0));
    assert_eq!(harness.read("output.log").trim_start(), "0\n/dev/null\n");
}

#[test]
async fn a_command_leads_a_group_and_a_session_of_its_own() {
    let harness = Harness::new();
    harness
        .run("echo $$; cut -d' ' -f5,6 /proc/$$/stat; (: >/dev/tty) 2>/dev/null || echo none")
        .await;
    let output = harness.read("output.log");
    let lines: Vec<_> = output.lines().collect();
    let own = lines[0];
    assert_eq!(lines, [own, &format!("{own} {own}"), "none"]);
}

#[test]
async fn every_signal_has_its_default_effect_and_none_is_blocked() {
    let harness = Harness::new();
    harness.run("exec cat /proc/self/status").await;
    let status = harness.read("output.log");
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    // Two signals belong to the C library, which does not let programs change them.
    let reserved = 3 << 31;
    assert_eq!(set("SigBlk:"), 0);
    assert_eq!(set("SigIgn:") & !reserved, 0);
    assert_eq!(set("SigCgt:"), 0);
}

#[test]
async fn a_command_inherits_nothing_that_was_left_open() {
    let harness = Harness::new();
    // Without the mark that exec closes by: so careless parents leave them to us.
    let left_open = fcntl_dupfd_cloexec(std::io::stderr(), 150).unwrap();
    fcntl_setfd(&left_open, FdFlags::empty()).unwrap();
    let number = left_open.as_raw_fd();
    let end = harness.run(&format!("[ -e /proc/$$/fd/2 ] && [ -e /proc/$$/fd/{number} ]")).await;
    assert_eq!(end.cause, EndCause::Exited(1));
}

#[test(flavor = "multi_thread")]
async fn a_command_outlives_the_thread_that_asked_for_it() {
    let harness = Arc::new(Harness::new());
    let (asked, runtime) = (Arc::clone(&harness), tokio::runtime::Handle::current());
    let waiting = Arc::clone(&harness);
    let ask = move || {
        let script = ": >ready; while [ ! -e go ]; do sleep 0.01; done; echo lived";
        let mut run = Box::pin(async move { asked.run(script).await });
        runtime.block_on(async {
            tokio::select! {
                end = &mut run => panic!("it ended: {end:?}"),
                () = waiting.appears("ready") => {}
            }
        });
        run
    };
    let run = tokio::task::spawn_blocking(|| std::thread::spawn(ask).join().unwrap());
    let run = run.await.unwrap();
    std::fs::write(harness.path("go"), "").unwrap();
    assert_eq!(run.await.last_line.as_deref(), Some("lived"));
}

#[test]
async fn a_folder_that_is_not_there_is_named() {
    let harness = Harness::new();
    let mut request = harness.request("true");
    request.folder = harness.path("not\nthere");
    let error = harness.ask(request, CancelToken::default()).await.unwrap_err();
    assert!(matches!(error, CommandError::Failed { .. }), "{error:?}");
    assert!(error.to_string().contains(r"not\nthere"), "{error}");
}

#[test]
async fn a_script_that_no_process_can_be_given_is_an_error() {
    let harness = Harness::new();
    let error = harness.ask(harness.request("a\0b"), CancelToken::default()).await.unwrap_err();
    assert!(matches!(error, CommandError::Failed { .. }), "{error:?}");
    let long = "x".repeat(4 << 20);
    let error = harness.ask(harness.request(&long), CancelToken::default()).await.unwrap_err();
    assert!(matches!(error, CommandError::Failed { .. }), "{error:?}");
}
