use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::stage::Stage;

fn one(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] })
}

#[tokio::test]
async fn a_piece_that_is_there_once_is_replaced() {
    let stage = Stage::new();
    stage.put("a.rs", "fn a() {}\nfn b() {}\n");
    fs::set_permissions(stage.at("a.rs"), fs::Permissions::from_mode(0o750)).unwrap();
    let edited = stage.answer("edit", one("a.rs", "fn b() {}", "fn b() {\n    1;\n}")).await;
    let diff = "@@ -1,2 +1,4 @@\n fn a() {}\n-fn b() {}\n+fn b() {\n+    1;\n+}\n";
    assert_eq!(edited.text, format!("Edited a.rs: +3 −1 lines\n\n{}", diff.trim_end()));
    let details = json!({ "path": "a.rs", "diff": diff, "firstChangedLine": 2 });
    assert_eq!(edited.details, Some(details));
    assert_eq!(stage.text("a.rs"), "fn a() {}\nfn b() {\n    1;\n}\n");
    assert_eq!(fs::metadata(stage.at("a.rs")).unwrap().mode() & 0o777, 0o750);
    assert_eq!(stage.names(), ["a.rs"]);
}

#[tokio::test]
async fn a_piece_that_is_there_twice_is_refused_and_the_file_is_unchanged() {
    let stage = Stage::new();
    stage.put("a.rs", "x = 1\ny\nx = 1\n");
    let before = fs::metadata(stage.at("a.rs")).unwrap().ino();
    let refused = stage.failed("edit", one("a.rs", "x = 1", "x = 2")).await;
    assert_eq!(
        refused,
        "a.rs was not edited: oldText has 2 occurrences, on lines 1, 3; it must have exactly one: \
         add lines around it"
    );
    assert_eq!(stage.text("a.rs"), "x = 1\ny\nx = 1\n");
    assert_eq!(fs::metadata(stage.at("a.rs")).unwrap().ino(), before);
}

#[tokio::test]
async fn all_edits_are_made_or_none() {
    let stage = Stage::new();
    stage.put("a", "one two three");
    let edits = |second: &str| {
        json!({ "path": "a", "edits": [
            { "oldText": "three", "newText": "one" }, { "oldText": second, "newText": "2" },
        ] })
    };
    let refused = stage.failed("edit", edits("four")).await;
    assert!(
        refused.starts_with("a was not edited: edit 2 of 2: oldText is not in it"),
        "{refused}"
    );
    assert_eq!(stage.text("a"), "one two three");
    let refused = stage.failed("edit", edits("two three")).await;
    assert_eq!(refused, "a was not edited: edits 1 and 2 overlap; make one edit of them");
    stage.said("edit", edits("two")).await;
    assert_eq!(stage.text("a"), "one 2 one");
}

#[tokio::test]
async fn other_spellings_of_an_edit_are_the_same_edit() {
    let spellings = [
        json!({ "file_path": "a", "old_string": "old", "new_string": "new" }),
        json!({ "filePath": "a", "oldText": "old", "newText": "new", "replace_all": false }),
        json!({ "path": "a", "old": "old", "new": "new" }),
        json!({ "path": "a", "edits": [{ "old": "old", "new": "new" }] }),
        json!({ "path": "a", "edits": { "old_string": "old", "new_string": "new" } }),
        json!({ "path": "a", "edits": "[{\"old_text\": \"old\", \"new_text\": \"new\"}]" }),
    ];
    for spelling in spellings {
        let stage = Stage::new();
        stage.put("a", "old");
        stage.said("edit", spelling).await;
        assert_eq!(stage.text("a"), "new");
    }
    let stage = Stage::new();
    stage.put("a", "1 2");
    let both = json!({
        "path": "a", "oldText": "1", "newText": "3", "edits": [{ "oldText": "2", "newText": "4" }],
    });
    stage.said("edit", both).await;
    assert_eq!(stage.text("a"), "3 4");
}

#[tokio::test]
async fn half_an_edit_is_told_with_right_arguments() {
    let stage = Stage::new();
    stage.put("a", "old");
    let refused = stage.failed("edit", json!({ "path": "a", "old_string": "old" })).await;
    assert!(refused.contains("- /edits: is missing"), "{refused}");
    assert!(refused.contains("Right arguments are, for instance: {\"path\":"), "{refused}");
    let refused = stage.failed("edit", json!({ "path": "a", "edits": [] })).await;
    assert!(refused.contains("- /edits: must have at least 1 items"), "{refused}");
    let refused = stage.failed("edit", json!({ "path": "a", "edits": [{ "oldText": "x" }] })).await;
    assert!(refused.contains("- /edits/0/newText: is missing"), "{refused}");
}

#[tokio::test]
async fn what_is_not_there_is_told_with_what_is_nearest() {
    let stage = Stage::new();
    stage.put("a.rs", "fn main() {\n    let value = compute();\n    print(value);\n}\n");
    let refused = async |old: &str| stage.failed("edit", one("a.rs", old, "x")).await;
    let blanks = refused("let  value = compute();\nprint(value);").await;
    assert_eq!(
        blanks,
        "a.rs was not edited: oldText is not in it; with other blanks it is on line 2: `    let \
         value = compute();`. Copy it exactly as it stands there"
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
    let same = stage.failed("edit", one("a.rs", "print", "print")).await;
    assert_eq!(same, "a.rs was not edited: no change: the new text is the old text");
}

#[tokio::test]
async fn line_ends_and_the_mark_are_kept() {
    let stage = Stage::new();
    stage.put("dos.txt", "\u{feff}one\r\ntwo\r\nthree\r\n");
    stage.said("edit", one("dos.txt", "one\ntwo\n", "1\n2\n3\n")).await;
    assert_eq!(stage.text("dos.txt"), "\u{feff}1\r\n2\r\n3\r\nthree\r\n");
    stage.put("mixed.txt", "a\nb\nc\r\nd");
    stage.said("edit", one("mixed.txt", "b", "x\r\ny")).await;
    assert_eq!(stage.text("mixed.txt"), "a\nx\ny\nc\r\nd");
}

#[tokio::test]
async fn what_is_no_text_is_refused() {
    let stage = Stage::new();
    stage.put("latin", b"caf\xe9 a");
    stage.put("bin", b"a\0");
    let refused = stage.failed("edit", one("latin", "a", "b")).await;
    assert!(refused.starts_with("`latin` is not UTF-8"), "{refused}");
    let refused = stage.failed("edit", one("bin", "a", "b")).await;
    assert!(refused.starts_with("`bin` is a binary file"), "{refused}");
    let large = fs::File::create(stage.at("large")).unwrap();
    large.set_len(crate::limits::WHOLE_FILE + 1).unwrap();
    let refused = stage.failed("edit", one("large", "a", "b")).await;
    assert!(refused.starts_with("`large` is too large for this: 16777217 bytes"), "{refused}");
    let refused = stage.failed("edit", one("none", "a", "b")).await;
    assert!(refused.starts_with("File not found: none"), "{refused}");
    fs::create_dir(stage.at("folder")).unwrap();
    let refused = stage.failed("edit", one("folder", "a", "b")).await;
    assert!(refused.starts_with("`folder` is a folder"), "{refused}");
    assert_eq!(fs::read(stage.at("latin")).unwrap(), b"caf\xe9 a");
}

#[tokio::test]
async fn a_link_is_edited_through_if_it_stays_inside() {
    let stage = Stage::new();
    stage.put("real", "old");
    fs::write(stage.beside("secret"), "old").unwrap();
    symlink("real", stage.at("inside")).unwrap();
    symlink("../secret", stage.at("outside")).unwrap();
    stage.said("edit", one("inside", "old", "new")).await;
    assert_eq!(stage.text("real"), "new");
    assert!(fs::symlink_metadata(stage.at("inside")).unwrap().is_symlink());
    let refused = stage.failed("edit", one("outside", "old", "new")).await;
    assert!(refused.contains("leads through the symlink `outside` out of the"), "{refused}");
    assert_eq!(fs::read_to_string(stage.beside("secret")).unwrap(), "old");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn edits_of_one_file_at_the_same_time_are_all_made() {
    let stage = Stage::new();
    let lines: String = (0..20).map(|number| format!("<{number}>\n")).collect();
    stage.put("a", lines);
    symlink("a", stage.at("b")).unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20 {
        let tools = stage.tools.clone();
        let path = if number % 2 == 0 { "a" } else { "./b" };
        let edit = one(path, &format!("<{number}>"), &format!("[{number}]"));
        let call = crate::stage::call("edit", edit);
        calls.spawn(async move {
            tools.call(call, crate::stage::silence(), engine::ports::CancelToken::default()).await
        });
    }
    for answer in calls.join_all().await {
        assert!(matches!(answer, engine::ports::ToolAnswer::Said(_)), "{answer:?}");
    }
    let expected: String = (0..20).map(|number| format!("[{number}]\n")).collect();
    assert_eq!(stage.text("a"), expected);
}

#[tokio::test]
async fn a_large_change_is_told_in_part() {
    let stage = Stage::new();
    let lines: String = (0..5000).map(|number| format!("line {number}\n")).collect();
    stage.put("a", &lines);
    let edited = stage.answer("edit", one("a", &lines, "nothing\n")).await;
    assert!(edited.text.starts_with("Edited a: +1 −5000 lines\n"));
    assert!(edited.text.ends_with("[the rest of the diff is left out]"));
    assert!(edited.text.len() < 5 << 10, "{}", edited.text.len());
    assert!(edited.details.unwrap()["diff"].as_str().unwrap().len() < 33 << 10);
}
