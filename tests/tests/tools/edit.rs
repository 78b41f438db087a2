//! The tool `edit`.

use std::fs;

use engine::ports::ToolOutcome;
use serde_json::{Value, json};

use super::apply_patch::patch;
use super::session::{Session, ViewKind};

over_both_views! {
    a_piece_that_is_there_once_is_replaced,
    a_piece_that_is_there_twice_is_refused_and_the_file_is_unchanged,
    all_edits_are_made_or_none,
    other_spellings_of_an_edit_are_the_same_edit,
    half_an_edit_is_told_with_right_arguments,
    what_is_not_there_is_told_with_what_is_nearest,
    line_ends_and_the_mark_are_kept,
    every_place_is_replaced_where_that_is_asked_for,
    a_piece_with_other_blanks_or_quotes_is_found_and_noted,
    the_encoding_of_a_file_is_kept,
    what_is_no_text_is_refused,
    a_link_is_edited_through_if_it_stays_inside,
    a_read_only_file_is_changed_by_no_tool,
    a_large_change_is_told_in_part,
}

over_both_views! {
    #[test(flavor = "multi_thread", worker_threads = 4)]
    edits_of_one_file_at_the_same_time_are_all_made,
}

fn one(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] })
}

async fn a_piece_that_is_there_once_is_replaced(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a.rs", "fn a() {}\nfn b() {}\n");
    session.set_mode("a.rs", 0o750).await;
    let edited = session.answer("edit", one("a.rs", "fn b() {}", "fn b() {\n    1;\n}")).await;
    let diff = "@@ -1,2 +1,4 @@\n fn a() {}\n-fn b() {}\n+fn b() {\n+    1;\n+}\n";
    assert_eq!(edited.text, format!("Edited a.rs: +3 −1 lines\n\n{}", diff.trim_end()));
    let details = json!({ "path": "a.rs", "diff": diff, "firstChangedLine": 2 });
    assert_eq!(edited.details, Some(details));
    assert_eq!(session.text("a.rs").await, "fn a() {}\nfn b() {\n    1;\n}\n");
    assert_eq!(session.mode("a.rs").await, 0o750);
    assert_eq!(session.names("").await, ["a.rs"]);
}

async fn a_piece_that_is_there_twice_is_refused_and_the_file_is_unchanged(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a.rs", "x = 1\ny\nx = 1\n");
    let before = session.version("a.rs").await;
    let refused = session.failed("edit", one("a.rs", "x = 1", "x = 2")).await;
    assert_eq!(
        refused,
        "a.rs was not edited: oldText has 2 occurrences, on lines 1, 3; it must have exactly one: \
         add lines around it, or replace them with replaceAll"
    );
    assert_eq!(session.text("a.rs").await, "x = 1\ny\nx = 1\n");
    assert_eq!(session.version("a.rs").await, before);
}

async fn all_edits_are_made_or_none(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a", "one two three");
    let edits = |second: &str| {
        json!({ "path": "a", "edits": [
            { "oldText": "three", "newText": "one" }, { "oldText": second, "newText": "2" },
        ] })
    };
    let refused = session.failed("edit", edits("four")).await;
    assert!(
        refused.starts_with("a was not edited: edit 2 of 2: oldText is not in it"),
        "{refused}"
    );
    assert_eq!(session.text("a").await, "one two three");
    let refused = session.failed("edit", edits("two three")).await;
    assert_eq!(refused, "a was not edited: edits 1 and 2 overlap; make one edit of them");
    session.said("edit", edits("two")).await;
    assert_eq!(session.text("a").await, "one 2 one");
}

async fn other_spellings_of_an_edit_are_the_same_edit(kind: ViewKind) {
    let spellings = [
        json!({ "file_path": "a", "old_string": "old", "new_string": "new" }),
        json!({ "filePath": "a", "oldText": "old", "newText": "new", "replace_all": false }),
        json!({ "path": "a", "edits": [{ "oldText": "old", "newText": "new" }], "replace_all": true }),
        json!({ "path": "a", "old": "old", "new": "new" }),
        json!({ "path": "a", "edits": [{ "old": "old", "new": "new" }] }),
        json!({ "path": "a", "edits": { "old_string": "old", "new_string": "new" } }),
        json!({ "path": "a", "edits": "[{\"old_text\": \"old\", \"new_text\": \"new\"}]" }),
    ];
    for spelling in spellings {
        let session = Session::new(kind).await;
        session.put("a", "old");
        session.said("edit", spelling).await;
        assert_eq!(session.text("a").await, "new");
    }
    let session = Session::new(kind).await;
    session.put("a", "1 2");
    let both = json!({
        "path": "a", "oldText": "1", "newText": "3", "edits": [{ "oldText": "2", "newText": "4" }],
    });
    session.said("edit", both).await;
    assert_eq!(session.text("a").await, "3 4");
}

async fn half_an_edit_is_told_with_right_arguments(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a", "old");
    let refused = session.failed("edit", json!({ "path": "a", "old_string": "old" })).await;
    assert!(refused.contains("- /edits: is missing"), "{refused}");
    assert!(refused.contains("Right arguments are, for instance: {\"path\":"), "{refused}");
    let refused = session.failed("edit", json!({ "path": "a", "edits": [] })).await;
    assert!(refused.contains("- /edits: must have at least 1 items"), "{refused}");
    let refused =
        session.failed("edit", json!({ "path": "a", "edits": [{ "oldText": "x" }] })).await;
    assert!(refused.contains("- /edits/0/newText: is missing"), "{refused}");
}

async fn what_is_not_there_is_told_with_what_is_nearest(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a.rs", "fn main() {\n    let value = compute();\n    print(value);\n}\n");
    let refused = async |old: &str| session.failed("edit", one("a.rs", old, "x")).await;
    let blanks = refused("fn main() {\nlet value = compute();\nprint(value);").await;
    assert_eq!(
        blanks,
        "a.rs was not edited: oldText is not in it; with other blanks it is on line 1: `fn main() \
         {`. Copy it exactly as it stands there"
    );
    let begins = refused("    let value = compute();\n    print(other);").await;
    assert!(
        begins.contains("it begins as line 2 does, but line 3 is `    print(value);`"),
        "{begins}"
    );
    let alike = refused("let value = computed(1);").await;
    assert!(alike.contains("the nearest is line 2: `    let value = compute();`"), "{alike}");
    let numbers = refused("     3      print(value);").await;
    assert!(numbers.ends_with("leave out the line numbers that read shows"), "{numbers}");
    let nothing = refused("§§§").await;
    assert!(nothing.ends_with("oldText is not in it; read the file again"), "{nothing}");
    let empty = refused("").await;
    assert!(empty.contains("oldText is empty; use write"), "{empty}");
    let same = session.failed("edit", one("a.rs", "print", "print")).await;
    assert_eq!(same, "a.rs was not edited: no change: the new text is the old text");
}

async fn a_read_only_file_is_changed_by_no_tool(kind: ViewKind) {
    let session = Session::new(kind).await;
    let notebook = r#"{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[]}"#;
    for (name, text) in [("a", "one\n"), ("a.ipynb", notebook)] {
        session.put(name, text);
        session.set_mode(name, 0o444).await;
    }
    let cell = json!({ "path": "a.ipynb", "action": "insert", "cell": 0, "content": "x" });
    for (tool, arguments) in [
        ("edit", one("a", "one", "two")),
        ("write", json!({ "path": "a", "content": "two\n" })),
        ("apply_patch", patch("*** Update File: a\n-one\n+two")),
        ("apply_patch", patch("*** Delete File: a")),
        ("notebook", cell),
    ] {
        let refused = session.failed(tool, arguments).await;
        assert!(refused.contains("is read-only; ask the user"), "{tool}: {refused}");
    }
    assert_eq!((session.text("a").await, session.mode("a").await), ("one\n".to_owned(), 0o444));
    assert_eq!(session.text("a.ipynb").await, notebook);
    assert_eq!(session.said("read", json!({ "path": "a" })).await, "     1  one");
}

async fn line_ends_and_the_mark_are_kept(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("dos.txt", "\u{feff}one\r\ntwo\r\nthree\r\n");
    let said = session.said("edit", one("dos.txt", "one\ntwo\n", "1\n2\n3\n")).await;
    assert!(said.contains("\n-one\n"), "the mark is not in the diff: {said}");
    assert_eq!(session.text("dos.txt").await, "\u{feff}1\r\n2\r\n3\r\nthree\r\n");
    session.put("mixed.txt", "a\nb\nc\r\nd");
    session.said("edit", one("mixed.txt", "b", "x\r\ny")).await;
    assert_eq!(session.text("mixed.txt").await, "a\nx\ny\nc\r\nd");
}

async fn every_place_is_replaced_where_that_is_asked_for(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a", "x y x\nxx z");
    let edits = json!([
        { "oldText": "x", "newText": "xy", "replaceAll": true },
        { "oldText": "z", "newText": "w" },
    ]);
    session.said("edit", json!({ "path": "a", "edits": edits })).await;
    assert_eq!(session.text("a").await, "xy y xy\nxyxy w");
    let all = json!({ "path": "a", "old_string": "xy", "new_string": "", "replace_all": true });
    session.said("edit", all).await;
    assert_eq!(session.text("a").await, " y \n w");
    let all = json!({ "path": "a", "old_string": "v", "new_string": "", "replace_all": true });
    assert!(session.failed("edit", all).await.contains("oldText is not in it"));
}

async fn a_piece_with_other_blanks_or_quotes_is_found_and_noted(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a.py", "def f():\r\n\tprint( “a” )  \r\n\treturn 1\r\n");
    let edit = one("a.py", "    print('a')\n", "x");
    let refused = session.failed("edit", edit).await;
    assert!(refused.contains("oldText is not in it"), "single quotes differ: {refused}");
    let edit = one("a.py", "    print(\"a\")\n    return 1", "    if b:\n        return 2");
    let edited = session.answer("edit", edit).await;
    let notice = "\n\n[oldText was found with other blanks or quotes on line 2; see the diff]";
    assert!(edited.text.ends_with(notice), "{}", edited.text);
    assert_eq!(edited.details.unwrap()["inexact"], json!([1]));
    assert_eq!(session.text("a.py").await, "def f():\r\n\tif b:\r\n\t    return 2\r\n");
    session.put("b", "a  b\na b\na\tb\n");
    let edited = session.said("edit", one("b", "a b", "c")).await;
    assert!(!edited.contains("other blanks"), "the exact place is the only one: {edited}");
    let refused = session.failed("edit", one("b", "a   b", "c")).await;
    assert!(refused.contains("oldText has 2 occurrences, on lines 1, 3"), "{refused}");
    let refused = session.failed("edit", one("b", "   ", "c")).await;
    assert!(refused.contains("oldText is not in it"), "blanks alone are nowhere: {refused}");
}

async fn the_encoding_of_a_file_is_kept(kind: ViewKind) {
    let session = Session::new(kind).await;
    let cases: [(&str, &[u8], &[u8]); 3] = [
        ("a", b"caf\xe9 a", b"caf\xe9 \xe9"),
        ("b", b"\xff\xfec\0 \0a\0", b"\xff\xfec\0 \0\xe9\0"),
        ("c", b"\xfe\xff\0c\0 \0a", b"\xfe\xff\0c\0 \0\xe9"),
    ];
    for (path, before, after) in cases {
        session.put(path, before);
        session.said("edit", one(path, " a", " é")).await;
        assert_eq!(session.bytes(path).await, after);
    }
    session.put("latin", b"caf\xe9 a");
    let refused = session.failed("edit", one("latin", " a", "→")).await;
    assert!(refused.contains("is in windows-1252, which has no `→`"), "{refused}");
    assert_eq!(session.bytes("latin").await, b"caf\xe9 a");
}

async fn what_is_no_text_is_refused(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("torn", b"\xef\xbb\xbfcaf\xe9 a");
    session.put("bin", b"a\0");
    let refused = session.failed("edit", one("torn", "a", "b")).await;
    assert!(refused.starts_with("`torn` is not in the encoding that its"), "{refused}");
    let refused = session.failed("edit", one("bin", "a", "b")).await;
    assert!(refused.starts_with("`bin` is a binary file"), "{refused}");
    session.put("large", vec![b' '; (16 << 20) + 1]);
    let refused = session.failed("edit", one("large", "a", "b")).await;
    assert!(refused.starts_with("`large` is too large for this: 16777217 bytes"), "{refused}");
    let refused = session.failed("edit", one("none", "a", "b")).await;
    assert!(refused.starts_with("File not found: none"), "{refused}");
    session.put_folder("folder");
    let refused = session.failed("edit", one("folder", "a", "b")).await;
    assert!(refused.starts_with("`folder` is a folder"), "{refused}");
    assert_eq!(session.bytes("torn").await, b"\xef\xbb\xbfcaf\xe9 a");
}

async fn a_link_is_edited_through_if_it_stays_inside(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("real", "old");
    fs::write(session.beside("secret"), "old").unwrap();
    session.put_symlink("real", "inside");
    session.put_symlink("../secret", "outside");
    session.said("edit", one("inside", "old", "new")).await;
    assert_eq!(session.text("real").await, "new");
    assert!(session.is_symlink("inside").await);
    let refused = session.failed("edit", one("outside", "old", "new")).await;
    assert!(refused.contains("leads through the symlink `outside` out of the"), "{refused}");
    assert_eq!(fs::read_to_string(session.beside("secret")).unwrap(), "old");
}

async fn edits_of_one_file_at_the_same_time_are_all_made(kind: ViewKind) {
    let session = Session::new(kind).await;
    let lines: String = (0..20).map(|number| format!("<{number}>\n")).collect();
    session.put("a", lines);
    session.put_symlink("a", "b");
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20 {
        let session = session.clone();
        let path = if number % 2 == 0 { "a" } else { "./b" };
        let edit = one(path, &format!("<{number}>"), &format!("[{number}]"));
        calls.spawn(async move { session.call("edit", edit).await });
    }
    for answer in calls.join_all().await {
        assert!(matches!(answer, ToolOutcome::Output(_)), "{answer:?}");
    }
    let expected: String = (0..20).map(|number| format!("[{number}]\n")).collect();
    assert_eq!(session.text("a").await, expected);
}

async fn a_large_change_is_told_in_part(kind: ViewKind) {
    let session = Session::new(kind).await;
    let lines: String = (0..5000).map(|number| format!("line {number}\n")).collect();
    session.put("a", &lines);
    let edited = session.answer("edit", one("a", &lines, "nothing\n")).await;
    assert!(edited.text.starts_with("Edited a: +1 −5000 lines\n"));
    assert!(edited.text.ends_with("[the rest of the diff is left out]"));
    assert!(edited.text.len() < 5 << 10, "{}", edited.text.len());
    assert!(edited.details.unwrap()["diff"].as_str().unwrap().len() < 33 << 10);
}
