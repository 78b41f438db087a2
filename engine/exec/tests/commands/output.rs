//! What becomes of what a command writes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use engine::ports::{CancelToken, CommandError, CommandTerminal, EndCause};

use crate::harness::Harness;

#[test]
async fn both_streams_are_kept_in_one_file_as_they_come() {
    let harness = Harness::new();
    // What has come is in the file before the next is written.
    let mut request = harness.request(
        "kept() { until grep -q $1 deep/er/output.log; do sleep 0.01; done; }
        for i in 1 2 3; do echo out$i; kept out$i; echo err$i >&2; kept err$i; done",
    );
    request.output = harness.path("deep/er/output.log");
    let end = harness.ask(request, CancelToken::default()).await.unwrap();
    assert_eq!(harness.read("deep/er/output.log"), "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
    assert_eq!((end.written, end.dropped), (30, 0));
    assert_eq!(end.last_line.as_deref(), Some("out3"), "standard error is no result");
    let mode = fs::metadata(harness.path("deep/er/output.log")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
async fn a_command_with_a_terminal_has_one_and_all_that_it_writes_is_kept() {
    let harness = Harness::new();
    let mut request = harness.request(
        "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && exec 3</dev/tty; stty size; read line || echo end of input
        stty -echo; read again || echo end again; cat; seq 20000; echo last >&2",
    );
    request.terminal = CommandTerminal::Own;
    let end = harness.ask(request, CancelToken::default()).await.unwrap();
    assert_eq!(end.cause, EndCause::Exited(0));
    let output = harness.read("output.log");
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(lines[..4], ["40 120", "end of input", "end again", "1"]);
    assert_eq!((lines.len(), lines.last()), (20_004, Some(&"last")));
    assert_eq!(end.last_line.as_deref(), Some("last"));
    assert_eq!(harness.run("[ -t 1 ] || echo none").await.last_line.as_deref(), Some("none"));
}

#[test]
async fn the_last_line_needs_no_line_break_and_is_not_blank() {
    let harness = Harness::new();
    let end = harness.run(r#"echo first; printf '{"files": 3}\n\n   \n'"#).await;
    assert_eq!(end.last_line.as_deref(), Some(r#"{"files": 3}"#));
    assert_eq!(harness.run("echo a; printf b").await.last_line.as_deref(), Some("b"));
    assert_eq!(harness.run("echo a >&2").await.last_line, None);
}

#[test]
async fn of_a_flood_the_beginning_and_the_end_are_in_the_file() {
    let harness = Harness::new();
    let flood: u64 = 16 << 20;
    let script = format!("echo begin; head -c {flood} /dev/zero; echo done");
    let mut request = harness.request(&script);
    request.keep = 100_000;
    let end = harness.ask(request, CancelToken::default()).await.unwrap();
    assert_eq!(end.cause, EndCause::Exited(0));
    assert_eq!(end.written, flood + 11);
    assert_eq!(end.dropped, flood + 11 - 100_000);
    let kept = fs::read(harness.path("output.log")).unwrap();
    let kept = String::from_utf8(kept).unwrap();
    let notice = format!("\n… {} bytes left out …\n", end.dropped);
    let (head, tail) = kept.split_once(&notice).unwrap();
    assert_eq!((head.len(), tail.len()), (50_000, 50_000));
    assert!(head.starts_with("begin\n\0") && head.ends_with('\0'));
    assert!(tail.starts_with('\0') && tail.ends_with("\0done\n"));
}

#[test]
async fn the_last_line_is_the_true_one_of_output_longer_than_what_is_kept() {
    let harness = Harness::new();
    let mut request = harness.request("seq 1 300000; printf '{\"files\": 3}\\n\\n'");
    request.keep = 1000;
    let end = harness.ask(request, CancelToken::default()).await.unwrap();
    assert_eq!(end.last_line.as_deref(), Some(r#"{"files": 3}"#));
    let kept = harness.read("output.log");
    assert!(kept.starts_with("1\n2\n3\n"), "{kept}");
    assert!(kept.ends_with("\n299999\n300000\n{\"files\": 3}\n\n"), "{kept}");
    assert!(kept.len() < 1050, "{}", kept.len());
}

#[test]
async fn everything_a_quick_command_writes_is_kept() {
    let harness = Harness::new();
    for _ in 0..50 {
        let end = harness.run("seq 1 5000; seq 1 10 >&2").await;
        assert_eq!((end.written, end.last_line.as_deref()), (23_893 + 21, Some("5000")));
        assert_eq!(fs::metadata(harness.path("output.log")).unwrap().len(), 23_893 + 21);
    }
}

#[test]
async fn who_leaves_the_group_with_the_pipe_holds_nobody_up() {
    let harness = Harness::new();
    let began = Instant::now();
    let script = "setsid sh -c 'echo $$ >left; while :; do echo flood; done' & while [ ! -s left ]; do :; done; echo ok";
    let end = harness.run(script).await;
    assert_eq!(end.cause, EndCause::Exited(0));
    test_limit::took_at_most(began.elapsed(), Duration::from_secs(15), "it waits for something");
    // It writes into a pipe without a reader.
    crate::harness::wait_until(|| !crate::harness::runs(harness.read("left").trim()));

    let script = "setsid sh -c 'echo $$ >silent; exec sleep 600' & while [ ! -s silent ]; do :; done; echo ok";
    let began = Instant::now();
    let end = harness.run(script).await;
    assert_eq!(end.last_line.as_deref(), Some("ok"));
    test_limit::took_at_most(began.elapsed(), Duration::from_secs(15), "it waits for something");
    let left = harness.read("silent").trim().parse().unwrap();
    let left = rustix::process::Pid::from_raw(left).unwrap();
    rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
}

#[test]
async fn lines_are_told_at_a_pace_and_safe_to_show() {
    let harness = Harness::new();
    // It goes on when what it said has been told: until then anything newer would take its place.
    let script = r"wait() { until [ -e $1 ]; do sleep 0.01; done; }
        printf 'a\033[31mb\033]0;t\007\n'; wait told-ab
        i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; wait told-line-19999
        printf 'end\r'; wait told-end
        echo last >&2";
    let began = Instant::now();
    let told = async {
        for line in ["ab", "line 19999", "end"] {
            let lines = harness.lines.clone();
            let is_told = move || lines.lock().unwrap().iter().any(|told| told == line);
            crate::harness::until(is_told).await;
            fs::write(harness.path(&format!("told-{}", line.replace(' ', "-"))), "").unwrap();
        }
    };
    tokio::join!(harness.run(script), told);
    let (lines, took) = (harness.lines(), began.elapsed());
    assert_eq!(lines.first().map(String::as_str), Some("ab"));
    assert_eq!(lines.last().map(String::as_str), Some("last"));
    let bound = took.as_millis() * 7 / 1000 + 3;
    assert!(lines.len() as u128 <= bound, "{} lines in {took:?}", lines.len());
    assert!(lines.iter().all(|line| !line.contains(char::is_control)));
}

#[test]
async fn a_full_disk_is_told_after_the_command_has_ended_by_itself() {
    let harness = Harness::new();
    let mut request = harness.request("seq 1 100000; echo ok >ended");
    request.output = "/dev/full".into();
    let error = harness.ask(request.clone(), CancelToken::default()).await.unwrap_err();
    assert!(matches!(error, CommandError::Resources { .. }), "{error:?}");
    assert!(error.to_string().contains("/dev/full"), "{error}");
    assert_eq!(harness.read("ended"), "ok\n");
}

#[test]
async fn an_output_that_cannot_be_made_is_an_error_before_the_start() {
    let harness = Harness::new();
    fs::write(harness.path("file"), "").unwrap();
    let mut request = harness.request("echo started >started");
    request.output = harness.path("file/output.log");
    let error = harness.ask(request, CancelToken::default()).await.unwrap_err();
    assert!(matches!(error, CommandError::Failed { .. }), "{error:?}");
    assert!(!harness.path("started").exists());
}

#[test]
async fn a_second_command_begins_its_file_anew() {
    let harness = Harness::new();
    harness.run("seq 1 1000").await;
    harness.run("echo short").await;
    assert_eq!(harness.read("output.log"), "short\n");
}
