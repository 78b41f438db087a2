//! The tool `bash`, with commands that do as they are told.

use std::fs;

use engine::ports::{CancelLevel, EndCause, ToolOutcome};
use serde_json::json;

use super::commands::Script;
use super::session::{Session, Setting, ViewKind};

over_both_views! {
    a_command_runs_in_the_folder_with_the_environment_of_the_task,
    no_command_runs_outside_of_the_tree,
    a_command_that_prints_nothing_says_so,
    a_command_that_fails_says_its_code_after_its_output,
    a_command_that_cannot_be_run_says_why,
    ten_megabytes_of_output_leave_50_kilobytes_and_a_whole_artifact,
    the_whole_output_is_read_by_the_name_in_the_notice_like_a_file,
    the_whole_output_is_searched_by_its_name_like_a_file,
    many_short_lines_are_cut_by_their_number,
    what_just_fits_is_said_whole_and_what_just_does_not_loses_little,
    one_line_without_an_end_is_cut_between_characters,
    what_is_meant_for_a_terminal_is_taken_out,
    output_that_was_not_kept_whole_is_told_with_what_is_missing,
    numbers_and_nulls_are_taken_for_what_they_mean,
}

over_both_views! {
    #[test(start_paused = true)]
    a_command_that_takes_too_long_is_stopped,
    a_session_that_is_stopped_stops_its_command,
}

/// How much is said of long output: of its beginning, and of its end.
const HEAD_BYTES: usize = 10 << 10;
const HEAD_LINES: usize = 600;
const TAIL_BYTES: usize = 40 << 10;
const TAIL_LINES: usize = 2400;

fn printing(session: &Session, text: impl AsRef<[u8]>) {
    exiting(session, text, EndCause::Exited(0));
}

fn exiting(session: &Session, text: impl AsRef<[u8]>, cause: EndCause) {
    *session.commands.script.lock().unwrap() = Script::Print(text.as_ref().to_vec(), cause);
}

async fn a_command_runs_in_the_folder_with_the_environment_of_the_task(kind: ViewKind) {
    let session = Session::with(kind, Setting { below: "sub", ..Setting::default() }).await;
    session.put("sub/deep/x", "");
    printing(&session, "hello\n");
    let ran = session.answer("bash", json!({ "command": "make" })).await;
    assert_eq!(ran.text, "hello");
    let details = json!({ "exitCode": 0, "bytes": 6, "truncated": false });
    assert_eq!(ran.details, Some(details));
    session.said("bash", json!({ "cmd": "make", "workdir": "deep" })).await;
    session.said("bash", json!({ "command": "make", "cwd": ".." })).await;
    let requests = session.commands.requests.lock().unwrap();
    let folders: Vec<_> = requests.iter().map(|request| request.folder.clone()).collect();
    assert_eq!(folders, [session.at("sub"), session.at("sub/deep"), session.at("")]);
    assert_eq!(requests[0].script, "exec 2>&1; make");
    assert_eq!(requests[0].keep, 64 << 20);
    assert_eq!(requests[2].output, session.beside("artifacts/2.bash.log"));
    let value = |name: &str| requests[0].environment[name].to_str().unwrap();
    assert_eq!((value("TASK"), value("PAGER"), value("TERM")), ("t1", "cat", "dumb"));
}

async fn no_command_runs_outside_of_the_tree(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("file", "");
    for (cwd, why) in [
        ("..", "outside of the working tree"),
        ("/tmp", "outside of the working tree"),
        ("none", "File not found: none"),
        ("file", "is a file, not a folder"),
    ] {
        let refused = session.failed("bash", json!({ "command": "ls", "cwd": cwd })).await;
        assert!(refused.contains(why), "{cwd}: {refused}");
    }
    assert!(session.commands.requests.lock().unwrap().is_empty());
}

async fn a_command_that_prints_nothing_says_so(kind: ViewKind) {
    let session = Session::new(kind).await;
    assert_eq!(session.said("bash", json!({ "command": "true" })).await, "(no output)");
}

async fn a_command_that_fails_says_its_code_after_its_output(kind: ViewKind) {
    let session = Session::new(kind).await;
    exiting(&session, "no such test\n", EndCause::Exited(101));
    let failed = session.failed("bash", json!({ "command": "cargo test" })).await;
    assert_eq!(failed, "no such test\n\nCommand exited with code 101");
    exiting(&session, "", EndCause::Signalled(11));
    let failed = session.failed("bash", json!({ "command": "crash" })).await;
    assert_eq!(failed, "(no output)\n\nCommand was ended by signal 11");
}

async fn a_command_that_cannot_be_run_says_why(kind: ViewKind) {
    let session = Session::new(kind).await;
    *session.commands.script.lock().unwrap() = Script::Refuse;
    let refused = session.call("bash", json!({ "command": "x" })).await;
    let ToolOutcome::ResourceExhausted(failed) = refused else { panic!("{refused:?}") };
    assert!(failed.starts_with("the command could not be run: cannot start /bin/sh: "), "{failed}");
    let refused = session.failed("bash", json!({ "command": "a\0b" })).await;
    assert_eq!(refused, "the arguments are not right: the command has a NUL in it");
}

async fn a_command_that_takes_too_long_is_stopped(kind: ViewKind) {
    let session = Session::new(kind).await;
    *session.commands.script.lock().unwrap() = Script::Wait;
    let begun = tokio::time::Instant::now();
    let failed = session.failed("bash", json!({ "command": "sleep 99", "timeout": 7 })).await;
    assert_eq!(failed, "half\n\nCommand timed out after 7 seconds");
    assert_eq!(begun.elapsed().as_secs(), 7);
    let begun = tokio::time::Instant::now();
    let failed = session.failed("bash", json!({ "command": "sleep 999" })).await;
    assert_eq!(failed, "half\n\nCommand timed out after 300 seconds");
    assert_eq!(begun.elapsed().as_secs(), 300);
    let begun = tokio::time::Instant::now();
    session.failed("bash", json!({ "command": "sleep 9999", "timeout": 99999 })).await;
    assert_eq!(begun.elapsed().as_secs(), 3600);
    assert!(!session.cancel.is_cancelled());
}

async fn a_session_that_is_stopped_stops_its_command(kind: ViewKind) {
    let session = Session::new(kind).await;
    *session.commands.script.lock().unwrap() = Script::Wait;
    let stop = async {
        session.commands.waits.notified().await;
        session.cancel.cancel(CancelLevel::Gently);
    };
    let (failed, ()) = tokio::join!(session.failed("bash", json!({ "command": "sleep 99" })), stop);
    assert_eq!(failed, "half\n\nOperation aborted");
    assert_eq!(session.failed("read", json!({ "path": "." })).await, "Operation aborted");
}

/// The line between the beginning and the end of long output.
const MIDDLE: &str = "\n\n[… the middle of the output is left out …]\n\n";

/// Takes long output apart: its beginning, its end, and what is said about it.
fn ends(said: &str) -> (&str, &str, &str) {
    let (shown, notice) = said.rsplit_once("\n\n[").unwrap();
    let (first, last) = shown.split_once(MIDDLE).unwrap();
    (first, last, notice.strip_suffix(']').unwrap())
}

async fn ten_megabytes_of_output_leave_50_kilobytes_and_a_whole_artifact(kind: ViewKind) {
    let session = Session::new(kind).await;
    let all: String = (1..=100_000).map(|number| format!("{number:099}\n")).collect();
    printing(&session, &all);
    let ran = session.answer("bash", json!({ "command": "yes" })).await;
    assert!(ran.text.len() <= (50 << 10) + 200, "{}", ran.text.len());
    let (first, last, notice) = ends(&ran.text);
    assert!(all.starts_with(first) && first.len() > HEAD_BYTES - 100, "{}", first.len());
    assert!(all.trim_end().ends_with(last) && last.len() > TAIL_BYTES - 100, "{}", last.len());
    assert!(first.lines().chain(last.lines()).all(|line| line.len() == 99));
    let file = session.beside("artifacts/0.bash.log");
    let expected =
        "Showing the first 102 and the last 409 of 100000 lines. Full output: artifact://0";
    assert_eq!(notice, expected);
    assert_eq!(fs::read(&file).unwrap(), all.as_bytes());
    let details = ran.details.unwrap();
    assert_eq!((&details["truncated"], &details["artifact"]), (&json!(true), &json!("0.bash.log")));
}

async fn the_whole_output_is_read_by_the_name_in_the_notice_like_a_file(kind: ViewKind) {
    let session = Session::new(kind).await;
    let all: String = (1..=9000).map(|number| format!("\x1b[1m{number}\x1b[0m\r\n")).collect();
    printing(&session, &all);
    let said = session.said("bash", json!({ "command": "seq 9000" })).await;
    let name = said.rsplit_once("Full output: ").unwrap().1.trim_end_matches(']');
    let part = json!({ "path": name, "offset": 4000, "limit": 2 });
    let read = session.answer("read", part).await;
    let expected = "  4000  4000\n  4001  4001\n\n[Showing lines 4000-4001 of 9000. Use offset=4002 to continue]";
    assert_eq!(read.text, expected);
    assert_eq!(read.details.unwrap()["path"], "artifact://0");
    let inside = session.at("");
    assert!(
        !said.contains(&*inside.parent().unwrap().to_string_lossy()),
        "no path is shown: {said}"
    );
    for (path, why) in [
        ("artifact://1", "there is no artifact://1; results of this session name the artifacts"),
        ("artifact://../0", "names no artifact; its name is artifact://N"),
        ("artifact://0.bash.log", "names no artifact; its name is artifact://N"),
    ] {
        let refused = session.failed("read", json!({ "path": path })).await;
        assert!(refused.contains(why), "{path}: {refused}");
    }
}

async fn the_whole_output_is_searched_by_its_name_like_a_file(kind: ViewKind) {
    let session = Session::new(kind).await;
    let line = |number| format!("\x1b[1mrow {number} of the table\x1b[0m\r\n");
    printing(&session, (1..=9000).map(line).collect::<String>());
    session.said("bash", json!({ "command": "print" })).await;
    let search = |path: &str, pattern: &str| json!({ "path": path, "pattern": pattern, "context": 1, "limit": 1 });
    let found = session.said("grep", search("artifact://0", "^row [45]000 of")).await;
    let expected = "artifact://0\n3999-row 3999 of the table\n4000:row 4000 of the table\n4001-row 4001 of \
                    the table\n\n[1 matches limit reached. Use limit=2 for more, or offset=1 for the next]";
    assert_eq!(found, expected);
    assert_eq!(session.said("grep", search("artifact://0", "x1b|\\[0m")).await, "No matches found");
    let refused = session.failed("grep", search("artifact://7", "x")).await;
    assert!(refused.starts_with("there is no artifact://7"), "{refused}");
}

async fn many_short_lines_are_cut_by_their_number(kind: ViewKind) {
    let session = Session::new(kind).await;
    printing(&session, (1..=9000).map(|number| format!("{number}\n")).collect::<String>());
    let said = session.said("bash", json!({ "command": "seq 9000" })).await;
    let (first, last, notice) = ends(&said);
    assert!(first.starts_with("1\n2\n") && first.ends_with("\n600"), "{first}");
    assert!(last.starts_with("6601\n6602\n") && last.ends_with("\n9000"), "{last}");
    assert!(notice.starts_with("Showing the first 600 and the last 2400 of 9000 lines."));
}

async fn what_just_fits_is_said_whole_and_what_just_does_not_loses_little(kind: ViewKind) {
    let session = Session::new(kind).await;
    let lines = HEAD_LINES + TAIL_LINES;
    let text = |lines: usize| (1..=lines).map(|line| format!("{line}\n")).collect::<String>();
    printing(&session, text(lines));
    assert_eq!(session.said("bash", json!({ "command": "x" })).await, text(lines).trim_end());
    printing(&session, text(lines + 1));
    let said = session.said("bash", json!({ "command": "x" })).await;
    let (first, last, _) = ends(&said);
    assert_eq!(first.lines().count() + last.lines().count(), lines);
    let bytes = HEAD_BYTES + TAIL_BYTES;
    printing(&session, "x".repeat(bytes));
    assert_eq!(session.said("bash", json!({ "command": "x" })).await.len(), bytes);
    printing(&session, "x".repeat(bytes + 1));
    let said = session.said("bash", json!({ "command": "x" })).await;
    let (first, last, _) = ends(&said);
    assert_eq!((first.len(), last.len()), (HEAD_BYTES, TAIL_BYTES));
}

async fn one_line_without_an_end_is_cut_between_characters(kind: ViewKind) {
    let session = Session::new(kind).await;
    printing(&session, format!("begin{}end", "日".repeat(300_000)));
    let said = session.said("bash", json!({ "command": "x" })).await;
    let (first, last, notice) = ends(&said);
    assert!(first.starts_with("begin日") && first.ends_with('日'));
    assert!(last.starts_with('日') && last.ends_with("日end"));
    assert!(said.len() <= (50 << 10) + 200 && !said.contains('\u{fffd}'));
    assert!(notice.starts_with("Showing the first 1 and the last 1 of 1 lines."), "{notice}");
}

async fn what_is_meant_for_a_terminal_is_taken_out(kind: ViewKind) {
    let session = Session::new(kind).await;
    printing(&session, b"\x1b[31mred\x1b[0m \xff\r\n10%\r100%\n\n\n");
    assert_eq!(session.said("bash", json!({ "command": "x" })).await, "red \u{fffd}\n100%");
}

async fn output_that_was_not_kept_whole_is_told_with_what_is_missing(kind: ViewKind) {
    let session = Session::new(kind).await;
    let short = "begin\n… 77 bytes left out …\nFAILED 3 tests\n";
    *session.commands.script.lock().unwrap() = Script::Overflow(short.into(), 77);
    let said = session.answer("bash", json!({ "command": "x" })).await;
    let told = "Output without 77 bytes of its middle: artifact://0";
    assert_eq!(said.text, format!("{}\n\n[{told}]", short.trim_end()));
    assert_eq!(said.details.unwrap()["truncated"], true);

    *session.commands.script.lock().unwrap() = Script::Unkept(77);
    let said = session.answer("bash", json!({ "command": "x" })).await;
    assert_eq!(said.text, "(no output)\n\n[77 bytes were not kept]");
    assert_eq!(said.details.unwrap()["truncated"], true);

    let half = format!("{}\n", "y".repeat(99)).repeat(10_000);
    let long = format!("begin\n{half}… 9000000 bytes left out …\n{half}FAILED 3 tests\n");
    *session.commands.script.lock().unwrap() = Script::Overflow(long.into(), 9_000_000);
    let said = session.said("bash", json!({ "command": "x" })).await;
    let (first, last, notice) = ends(&said);
    assert!(first.starts_with("begin\nyyy") && last.ends_with("yyy\nFAILED 3 tests"));
    let told = "Showing the first 103 and the last 410 lines of 10742 KB. \
                Output without 9000000 bytes of its middle: artifact://2";
    assert_eq!(notice, told);
}

async fn numbers_and_nulls_are_taken_for_what_they_mean(kind: ViewKind) {
    let session = Session::new(kind).await;
    let arguments = json!({ "command": "x", "timeout": "5", "cwd": null });
    assert!(matches!(session.call("bash", arguments).await, ToolOutcome::Output(_)));
}
