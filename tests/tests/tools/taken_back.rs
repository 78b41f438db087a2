//! A call that changes files while a step of it fails, or while something else changes them, too.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::ports::{Found, ToolOutcome, ViewError};
use serde_json::json;

use super::apply_patch::patch;
use super::session::{Session, ViewKind, read};

over_both_views! {
    a_patch_of_which_a_step_fails_is_taken_back_whole,
    what_something_else_changes_meanwhile_stays_and_is_named,
    a_file_that_appears_meanwhile_is_not_overwritten,
    of_a_patch_that_is_killed_each_file_is_reported_as_it_is,
    a_file_is_not_made_where_another_needs_a_folder,
}

/// The result of a call that waited when the engine was killed.
const NOT_BEGUN: &str = "not run: the engine was restarted before this call began.";

const LINES: &str = "*** Update File: a\n-one\n+1\n*** Add File: new/deep/file\n+x\n*** Update File: c\n\
                     *** Move to: new/moved\n-c\n+C\n*** Delete File: e\n*** Delete File: f";

async fn sample(kind: ViewKind) -> Session {
    let session = Session::new(kind).await;
    for (name, text) in [("a", "one\n"), ("c", "c\n"), ("e", "e\n"), ("f", "f\n")] {
        session.put(name, text);
        session.set_mode(name, 0o750).await;
    }
    session
}

async fn a_patch_of_which_a_step_fails_is_taken_back_whole(kind: ViewKind) {
    let mut steps = 0;
    for failing in 1.. {
        let session = sample(kind).await;
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let meddled = session.meddled(Box::new(move |_| {
            match counted.fetch_add(1, Ordering::SeqCst) + 1 == failing {
                true => Err(ViewError::Failed(io::Error::from_raw_os_error(5))),
                false => Ok(()),
            }
        }));
        let outcome = meddled.outcome_text("apply_patch", patch(LINES)).await;
        if count.load(Ordering::SeqCst) < failing {
            assert!(outcome.starts_with("Changed 5 files"), "{outcome}");
            steps = failing - 1;
            break;
        }
        assert!(outcome.starts_with("nothing was changed: cannot "), "{failing}: {outcome}");
        assert!(outcome.ends_with("Input/output error (os error 5)"), "{failing}: {outcome}");
        assert_eq!(session.names("").await, ["a", "c", "e", "f"], "step {failing}");
        for (name, text) in [("a", "one\n"), ("c", "c\n"), ("e", "e\n"), ("f", "f\n")] {
            let now = (session.text(name).await, session.mode(name).await);
            assert_eq!(now, (text.to_owned(), 0o750), "step {failing}: {name}");
        }
        // What was taken back is what the session has seen last.
        session.said("apply_patch", patch(LINES)).await;
        assert_eq!(session.names("").await, ["a", "new"]);
        assert_eq!(session.mode("new/moved").await, 0o750);
    }
    assert_eq!(steps, 8, "two make folders, three write, and three remove, of which one is a move");
}

async fn of_a_patch_that_is_killed_each_file_is_reported_as_it_is(kind: ViewKind) {
    let (lines, names) = (LINES, ["a", "new/deep/file", "c", "new/moved", "e", "f"]);
    let mut reports = Vec::new();
    for killed in 1..=8 {
        let session = sample(kind).await;
        session.expect_calls().await;
        assert_eq!(session.interrupted("apply_patch").await, NOT_BEGUN);
        // From one step on nothing is done any more, also not to take back what was done.
        let count = AtomicUsize::new(0);
        let meddled = session.meddled(Box::new(move |_| {
            match count.fetch_add(1, Ordering::SeqCst) + 1 < killed {
                true => Ok(()),
                false => Err(ViewError::Failed(io::Error::from_raw_os_error(5))),
            }
        }));
        let _failed = meddled.outcome_text("apply_patch", patch(lines)).await;
        let report = session.interrupted("apply_patch").await;
        let (head, files) = report.split_once("now:\n").expect("it has the files");
        assert!(head.starts_with("interrupted: the engine was restarted while"), "{report}");
        let states: Vec<_> = files.lines().filter_map(|line| line.split_once(": ")).collect();
        assert_eq!(states.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names, "{killed}");
        for (name, state) in states {
            let found = session.view().find(Path::new(name)).await.unwrap();
            let now = match found {
                Found::File { .. } => Some(session.text(name).await),
                Found::Folder(_) | Found::Missing { .. } => None,
            };
            let expected = match (name, now.as_deref()) {
                ("a", Some("1\n"))
                | ("new/deep/file", Some("x\n"))
                | ("new/moved", Some("C\n")) => "written",
                ("new/deep/file" | "new/moved", None) => "not written",
                ("c" | "e" | "f", None) => "removed",
                ("a", Some("one\n")) | ("c" | "e" | "f", Some(_)) => "as it was before",
                other => panic!("{killed}: {other:?}"),
            };
            assert_eq!(state, expected, "{killed}: {name}");
        }
        reports.push(files.to_owned());
        session.put("a", "theirs\n");
        let report = session.interrupted("apply_patch").await;
        assert!(report.contains("\na: neither as before nor as the call makes it"), "{report}");
    }
    // Two of the eight steps make folders.
    reports.dedup();
    assert_eq!(reports.len(), 6, "{reports:?}");
}

async fn what_something_else_changes_meanwhile_stays_and_is_named(kind: ViewKind) {
    for (code, why) in
        [(5, "Input/output error (os error 5)"), (28, "No space left on device (os error 28)")]
    {
        let session = sample(kind).await;
        let other = session.clone();
        let meddled = session.meddled(Box::new(move |path| {
            if path.as_path().ends_with("e") {
                other.put("a", "theirs\n");
                other.put("e", "theirs\n");
                let error = io::Error::from_raw_os_error(code);
                let kind = if code == 28 { ViewError::Resources } else { ViewError::Failed };
                return Err(kind(error));
            }
            Ok(())
        }));
        let said = format!(
            "cannot remove `e`: {why}. What was done before was taken back, but not in a; read it"
        );
        match meddled.call("apply_patch", patch(LINES)).await {
            ToolOutcome::Failed(output) if code == 5 => assert_eq!(read(output).text, said),
            ToolOutcome::ResourceExhausted(text) if code == 28 => assert_eq!(text, said),
            other => panic!("{other:?}"),
        }
        assert_eq!(session.names("").await, ["a", "c", "e", "f"]);
        let texts = (session.text("a").await, session.text("c").await);
        assert_eq!(texts, ("theirs\n".into(), "c\n".into()));
    }
}

async fn a_file_that_appears_meanwhile_is_not_overwritten(kind: ViewKind) {
    let calls = [
        ("write", json!({ "path": "new", "content": "ours\n" })),
        ("apply_patch", patch("*** Update File: a\n-one\n+1\n*** Add File: new\n+ours")),
        (
            "apply_patch",
            patch("*** Update File: a\n-one\n+1\n*** Update File: c\n*** Move to: new\n-c"),
        ),
    ];
    for (tool, arguments) in calls {
        let session = sample(kind).await;
        let other = session.clone();
        let meddled = session.meddled(Box::new(move |path| {
            if path.as_path().ends_with("new") {
                other.put("new", "theirs\n");
            }
            Ok(())
        }));
        let refused = meddled.failed(tool, arguments).await;
        assert!(
            refused.contains("`new` was changed by something else at the same time"),
            "{refused}"
        );
        assert_eq!(session.text("new").await, "theirs\n", "{tool}");
        assert_eq!(session.names("").await, ["a", "c", "e", "f", "new"], "{tool}");
        assert_eq!(session.text("a").await, "one\n", "{tool}");
    }
}

async fn a_file_is_not_made_where_another_needs_a_folder(kind: ViewKind) {
    let session = sample(kind).await;
    for lines in [
        "*** Add File: x\n+1\n*** Add File: x/y\n+2",
        "*** Add File: x/y\n+2\n*** Update File: a\n*** Move to: x",
    ] {
        let refused = session.failed("apply_patch", patch(lines)).await;
        let said = "nothing was changed: `x` would be a file, and a folder for `x/y`";
        assert_eq!(refused, said);
        assert_eq!(session.names("").await, ["a", "c", "e", "f"]);
    }
    let nested = "*** Add File: n/one\n+1\n*** Add File: n/m/two\n+2\n*** Add File: n/three\n+3";
    session.said("apply_patch", patch(nested)).await;
    assert_eq!(session.names("n").await, ["m", "one", "three"]);
}
