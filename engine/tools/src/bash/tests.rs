use std::fs;
use std::time::Duration;

use engine::ports::{EndCause, ToolAnswer};
use serde_json::json;

use crate::limits::{OUTPUT_BYTES, OUTPUT_LINES};
use crate::stage::{Act, Setting, Stage};

fn printing(stage: &Stage, text: impl AsRef<[u8]>) {
    exiting(stage, text, EndCause::Exited(0));
}

fn exiting(stage: &Stage, text: impl AsRef<[u8]>, cause: EndCause) {
    *stage.puppet.act.lock().unwrap() = Act::Print(text.as_ref().to_vec(), cause);
}

#[tokio::test]
async fn a_command_runs_in_the_folder_with_the_environment_of_the_task() {
    let stage = Stage::with(Setting { below: "sub", ..Setting::default() });
    stage.put("sub/deep/x", "");
    printing(&stage, "hello\n");
    let ran = stage.answer("bash", json!({ "cmd": "make" })).await;
    assert_eq!(ran.text, "hello");
    let details =
        json!({ "exitCode": 0, "bytes": 6, "truncated": false, "artifact": "0.bash.log" });
    assert_eq!(ran.details, Some(details));
    stage.said("bash", json!({ "command": "make", "cwd": "deep" })).await;
    stage.said("bash", json!({ "command": "make", "cwd": ".." })).await;
    let requests = stage.puppet.requests.lock().unwrap();
    let folders: Vec<_> = requests.iter().map(|request| request.folder.clone()).collect();
    assert_eq!(folders, [stage.at("sub"), stage.at("sub/deep"), stage.at("")]);
    assert_eq!(requests[0].script, "exec 2>&1; make");
    assert_eq!(requests[0].keep, 64 << 20);
    assert_eq!(requests[2].output, stage.beside("artifacts/2.bash.log"));
    let value = |name: &str| requests[0].environment[name].to_str().unwrap();
    assert_eq!((value("TASK"), value("PAGER"), value("GIT_TERMINAL_PROMPT")), ("t1", "cat", "0"));
}

#[tokio::test]
async fn no_command_runs_outside_of_the_tree() {
    let stage = Stage::new();
    stage.put("file", "");
    for (cwd, why) in [
        ("..", "outside of the working tree"),
        ("/tmp", "outside of the working tree"),
        ("none", "File not found: none"),
        ("file", "is a file and no folder"),
    ] {
        let refused = stage.failed("bash", json!({ "command": "ls", "cwd": cwd })).await;
        assert!(refused.contains(why), "{cwd}: {refused}");
    }
    assert!(stage.puppet.requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_command_that_prints_nothing_says_so() {
    let stage = Stage::new();
    assert_eq!(stage.said("bash", json!({ "command": "true" })).await, "(no output)");
}

#[tokio::test]
async fn a_command_that_fails_says_its_code_after_its_output() {
    let stage = Stage::new();
    exiting(&stage, "no such test\n", EndCause::Exited(101));
    let failed = stage.failed("bash", json!({ "command": "cargo test" })).await;
    assert_eq!(failed, "no such test\n\nCommand exited with code 101");
    exiting(&stage, "", EndCause::Signalled(11));
    let failed = stage.failed("bash", json!({ "command": "crash" })).await;
    assert_eq!(failed, "(no output)\n\nCommand was ended by signal 11");
}

#[tokio::test]
async fn a_command_that_cannot_be_run_says_why() {
    let stage = Stage::new();
    *stage.puppet.act.lock().unwrap() = Act::Refuse;
    let refused = stage.call("bash", json!({ "command": "x" })).await;
    let ToolAnswer::Exhausted(failed) = refused else { panic!("{refused:?}") };
    assert!(failed.starts_with("the command could not be run: cannot start /bin/sh: "), "{failed}");
    let refused = stage.failed("bash", json!({ "command": "a\0b" })).await;
    assert_eq!(refused, "the arguments are not right: the command has a NUL in it");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_takes_too_long_is_stopped() {
    let stage = Stage::new();
    *stage.puppet.act.lock().unwrap() = Act::Wait;
    let begun = tokio::time::Instant::now();
    let failed = stage.failed("bash", json!({ "command": "sleep 99", "timeout": 7 })).await;
    assert_eq!(failed, "half\n\nCommand timed out after 7 seconds");
    assert_eq!(begun.elapsed().as_secs(), 7);
    let begun = tokio::time::Instant::now();
    let failed = stage.failed("bash", json!({ "command": "sleep 999" })).await;
    assert_eq!(failed, "half\n\nCommand timed out after 300 seconds");
    assert_eq!(begun.elapsed().as_secs(), 300);
    let begun = tokio::time::Instant::now();
    stage.failed("bash", json!({ "command": "sleep 9999", "timeout": 99999 })).await;
    assert_eq!(begun.elapsed().as_secs(), 3600);
    assert!(!stage.stop.gently.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_stopped_stops_its_command() {
    let stage = Stage::new();
    *stage.puppet.act.lock().unwrap() = Act::Wait;
    let stop = stage.stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        stop.gently.cancel();
    });
    let failed = stage.failed("bash", json!({ "command": "sleep 99" })).await;
    assert_eq!(failed, "half\n\nOperation aborted");
    assert_eq!(stage.failed("read", json!({ "path": "." })).await, "Operation aborted");
}

#[tokio::test]
async fn ten_megabytes_of_output_leave_50_kilobytes_and_a_whole_artifact() {
    let stage = Stage::new();
    let line = format!("{}\n", "y".repeat(99));
    let all = line.repeat(100_000);
    printing(&stage, &all);
    let ran = stage.answer("bash", json!({ "command": "yes" })).await;
    let (output, notice) = ran.text.split_once("\n\n[").unwrap();
    assert!(ran.text.len() <= 50 << 10, "{}", ran.text.len());
    assert!(output.len() > OUTPUT_BYTES - 100, "{}", output.len());
    let file = stage.beside("artifacts/0.bash.log");
    let expected = format!("Showing last 501 of 100000 lines. Full output: {}]", file.display());
    assert_eq!(notice, expected);
    assert_eq!(fs::read(&file).unwrap(), all.as_bytes());
    assert_eq!(ran.details.unwrap()["truncated"], true);
}

#[tokio::test]
async fn many_short_lines_are_cut_by_their_number() {
    let stage = Stage::new();
    printing(&stage, (1..=9000).map(|number| format!("{number}\n")).collect::<String>());
    let said = stage.said("bash", json!({ "command": "seq 9000" })).await;
    assert!(said.starts_with("6001\n6002\n"), "{}", &said[..40]);
    assert!(said.contains("\n9000\n\n[Showing last 3000 of 9000 lines."));
    assert_eq!(said.lines().count(), OUTPUT_LINES + 2);
}

#[tokio::test]
async fn one_line_without_an_end_leaves_its_end_between_characters() {
    let stage = Stage::new();
    printing(&stage, format!("{}end", "日".repeat(300_000)));
    let said = stage.said("bash", json!({ "command": "x" })).await;
    let (output, notice) = said.split_once("\n\n[").unwrap();
    assert!(output.starts_with('日') && output.ends_with("日end"));
    assert!(output.len() <= OUTPUT_BYTES && !output.contains('\u{fffd}'));
    assert!(notice.starts_with("Showing last 1 of 1 lines."), "{notice}");
}

#[tokio::test]
async fn what_is_meant_for_a_terminal_is_taken_out() {
    let stage = Stage::new();
    printing(&stage, b"\x1b[31mred\x1b[0m \xff\r\n10%\r100%\n\n\n");
    assert_eq!(stage.said("bash", json!({ "command": "x" })).await, "red \u{fffd}\n100%");
}

#[tokio::test]
async fn output_that_was_not_kept_is_told_with_its_last_line() {
    let stage = Stage::new();
    *stage.puppet.act.lock().unwrap() = Act::Overflow(b"begin\n".to_vec(), 77, "FAILED 3 tests");
    let said = stage.answer("bash", json!({ "command": "x" })).await;
    assert_eq!(
        said.text,
        "begin\n\n[77 bytes after this were not kept. Last line: FAILED 3 tests]"
    );
    assert_eq!(said.details.unwrap()["truncated"], true);
}

#[tokio::test]
async fn numbers_and_nulls_are_taken_for_what_they_mean() {
    let stage = Stage::new();
    let arguments = json!({ "command": "x", "timeout": "5", "cwd": null });
    assert!(matches!(stage.call("bash", arguments).await, ToolAnswer::Said(_)));
}
