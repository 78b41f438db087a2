//! The tool `apply_patch`.

use engine::ports::AccessClass;
use serde_json::{Value, json};

use super::session::{Session, ViewKind};

over_both_views! {
    a_patch_makes_changes_moves_and_removes_files,
    a_patch_is_applied_whole_or_not_at_all,
    a_patch_may_name_a_file_more_than_once,
    a_patch_keeps_the_encoding_the_line_ends_and_the_mode_of_a_file,
    a_patch_overwrites_no_change_that_the_session_has_not_seen,
    a_patch_stays_in_the_tree,
}

pub(crate) fn patch(lines: &str) -> Value {
    json!({ "input": format!("*** Begin Patch\n{lines}\n*** End Patch\n") })
}

async fn a_patch_makes_changes_moves_and_removes_files(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a.rs", "fn a() {\n    1\n}\n\nfn b() {\n    1\n}\n");
    session.put("old.md", "text\n");
    session.put("gone", "x\n");
    let lines = "*** Add File: new/one.txt\n+hello\n+\n*** Update File: a.rs\n@@ fn b() {\n-    1\n+    2\n\
                 *** Update File: old.md\n*** Move to: docs/new.md\n@@\n-text\n+Text\n*** Delete File: gone";
    let done = session.answer("apply_patch", patch(lines)).await;
    let expected = "Changed 4 files: +4 −3 lines\nadd new/one.txt\nupdate a.rs\nmove old.md to \
                    docs/new.md\ndelete gone\n\n*** add new/one.txt\n@@ -0,0 +1,2 @@\n+hello\n+\n*** update \
                    a.rs\n@@ -3,5 +3,5 @@\n }\n \n fn b() {\n-    1\n+    2\n }\n*** move old.md to \
                    docs/new.md\n@@ -1 +1 @@\n-text\n+Text\n*** delete gone\n@@ -1 +0,0 @@\n-x";
    assert_eq!(done.text, expected);
    let files = json!([
        { "path": "new/one.txt", "change": "add" },
        { "path": "a.rs", "change": "update" },
        { "path": "docs/new.md", "change": "move", "from": "old.md" },
        { "path": "gone", "change": "delete" },
    ]);
    assert_eq!(done.details.unwrap()["files"], files);
    assert_eq!(session.text("new/one.txt").await, "hello\n\n");
    assert_eq!(session.text("a.rs").await, "fn a() {\n    1\n}\n\nfn b() {\n    2\n}\n");
    assert_eq!(session.text("docs/new.md").await, "Text\n");
    assert_eq!(session.names("").await, ["a.rs", "docs", "new"]);
    let access = session.access("apply_patch", patch(lines));
    let paths = ["new/one.txt", "a.rs", "old.md", "docs/new.md", "gone"].map(str::to_owned);
    assert_eq!(
        access.class,
        AccessClass::Write(paths.to_vec()),
        "rules are asked about each of them"
    );
}

async fn a_patch_is_applied_whole_or_not_at_all(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a", "one\n");
    session.put("bin", b"\0");
    session.put_folder("folder");
    let cases = [
        ("*** Update File: none\n-x", "File not found: none"),
        ("*** Delete File: none", "File not found: none"),
        ("*** Delete File: folder", "`folder` is a folder"),
        ("*** Add File: folder/\n+x", "`folder/` is a folder"),
        ("*** Add File: a\n+x", "nothing was changed: `a` exists; use `*** Update File`"),
        ("*** Update File: a\n*** Move to: bin", "nothing was changed: `bin` exists"),
        ("*** Update File: bin\n-x", "`bin` is a binary file"),
        (
            "*** Update File: a\n-two",
            "nothing was changed: a: the line that the hunk on line 5 of the patch keeps or removes was \
             not found; read the file again",
        ),
        ("hello", "nothing was changed: line 4 of the patch is `hello`"),
    ];
    for (lines, expected) in cases {
        let lines = format!("*** Add File: new\n+x\n{lines}");
        let refused = session.failed("apply_patch", patch(&lines)).await;
        assert!(refused.starts_with(expected), "{lines}: {refused}");
        assert_eq!(session.names("").await, ["a", "bin", "folder"], "{lines}");
        assert_eq!(session.text("a").await, "one\n", "{lines}");
    }
    let refused = session.failed("apply_patch", patch("*** Update File: a\n-one\n+one")).await;
    assert_eq!(refused, "nothing was changed: the files are as the patch makes them");
}

async fn a_patch_may_name_a_file_more_than_once(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a", "one\ntwo\n");
    session.put("b", "b\n");
    let lines = "*** Update File: a\n-two\n+2\n*** Update File: ./a\n*** Move to: c\n-one\n+1\n*** Add File: \
                 a\n+new\n*** Update File: b\n*** Move to: d\n*** Update File: d\n*** Move to: e\n-b\n+B\n\
                 *** Add File: temporary\n+x\n*** Delete File: temporary";
    session.said("apply_patch", patch(lines)).await;
    assert_eq!(session.names("").await, ["a", "c", "e"]);
    let texts = [session.text("a").await, session.text("c").await, session.text("e").await];
    assert_eq!(texts, ["new\n", "1\n2\n", "B\n"]);
}

async fn a_patch_keeps_the_encoding_the_line_ends_and_the_mode_of_a_file(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a.sh", b"caf\xe9\r\nx\r\n");
    session.set_mode("a.sh", 0o750).await;
    let lines = "*** Update File: a.sh\n*** Move to: b.sh\n café\n-x\n+é";
    session.said("apply_patch", patch(lines)).await;
    assert_eq!(session.bytes("b.sh").await, b"caf\xe9\r\n\xe9\r\n");
    assert_eq!(session.mode("b.sh").await, 0o750);
    let lines = "*** Add File: new\n+x\n*** Update File: b.sh\n+→";
    let refused = session.failed("apply_patch", patch(lines)).await;
    assert!(refused.contains("is in windows-1252, which has no `→`"), "{refused}");
    assert_eq!(session.names("").await, ["b.sh"]);
}

async fn a_patch_overwrites_no_change_that_the_session_has_not_seen(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.said("apply_patch", patch("*** Add File: a\n+one\n+two")).await;
    session.put("a", "one\nTWO\n");
    for lines in ["*** Update File: a\n-one\n+1", "*** Delete File: a"] {
        let refused = session.failed("apply_patch", patch(lines)).await;
        assert!(refused.starts_with("`a` was changed by something else since you"), "{refused}");
        assert!(refused.contains("-two\n+TWO\n"), "{refused}");
        assert_eq!(session.text("a").await, "one\nTWO\n");
        session.put("a", "one\ntwo\n");
        session.said("read", json!({ "path": "a" })).await;
        session.put("a", "one\nTWO\n");
    }
    session.failed("apply_patch", patch("*** Update File: a\n-one\n+1")).await;
    session.said("apply_patch", patch("*** Update File: a\n-one\n+1")).await;
    assert_eq!(session.text("a").await, "1\nTWO\n");
}

async fn a_patch_stays_in_the_tree(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put(".git/config", "x\n");
    session.put("a", "x\n");
    session.put_symlink("..", "up");
    for path in ["../b", "/etc/b", "up/b", ".git/config", ".git/b", "~/b"] {
        for lines in [
            format!("*** Add File: {path}\n+x"),
            format!("*** Update File: {path}\n-x"),
            format!("*** Delete File: {path}"),
            format!("*** Update File: a\n*** Move to: {path}"),
        ] {
            let refused = session.failed("apply_patch", patch(&lines)).await;
            let said = ["outside of the working tree", "out of the working tree", "belongs to git"];
            assert!(said.iter().any(|said| refused.contains(said)), "{lines}: {refused}");
        }
    }
    assert_eq!(session.text(".git/config").await, "x\n");
    assert_eq!(session.text("a").await, "x\n");
}
