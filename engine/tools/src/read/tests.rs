use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::page::{Wanted, page};
use super::{ReadArguments, told};
use crate::limits::{READ_BYTES, READ_COLUMNS};
use crate::stage::Stage;

fn numbered(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

#[tokio::test]
async fn lines_come_with_their_numbers() {
    let stage = Stage::new();
    stage.put("a.txt", "one\n\n  three");
    let read = stage.answer("read", json!({ "path": "a.txt" })).await;
    assert_eq!(read.text, "     1  one\n     2  \n     3    three");
    let details = json!({
        "path": "a.txt", "totalLines": 3, "linesRead": 3, "offset": 1, "truncated": false,
    });
    assert_eq!(read.details, Some(details));
}

#[tokio::test]
async fn a_file_of_6000_lines_warns_at_5000() {
    let stage = Stage::new();
    stage.put("long.txt", numbered(6000));
    let read = stage.answer("read", json!({ "path": "long.txt" })).await;
    let warning = "WARNING: File has 6000 lines, showing first 5000. Use offset=5001 to continue.";
    assert_eq!(read.text.lines().next(), Some(warning));
    assert_eq!(read.text.lines().count(), 2 + 5000);
    assert!(read.text.ends_with("  5000  line 5000"), "{}", &read.text[read.text.len() - 80..]);
    assert_eq!(read.details.unwrap()["truncated"], true);
    let rest = stage.said("read", json!({ "path": "long.txt", "offset": 5001 })).await;
    assert!(rest.starts_with("  5001  line 5001\n"));
    assert!(rest.ends_with("  6000  line 6000"));
}

#[tokio::test]
async fn pages_say_how_to_go_on() {
    let stage = Stage::new();
    stage.put("a.txt", numbered(10));
    let page = stage.said("read", json!({ "path": "a.txt", "offset": "3", "limit": 2 })).await;
    let expected =
        "     3  line 3\n     4  line 4\n\n[Showing lines 3-4 of 10. Use offset=5 to continue]";
    assert_eq!(page, expected);
    let last = stage.said("read", json!({ "path": "a.txt", "offset": 9, "limit": 2 })).await;
    assert_eq!(last, "     9  line 9\n    10  line 10");
    let generous =
        stage.said("read", json!({ "path": "a.txt", "offset": 0, "limit": 99999 })).await;
    assert_eq!(generous.lines().count(), 10);
    let beyond = stage.failed("read", json!({ "path": "a.txt", "offset": 11 })).await;
    assert_eq!(beyond, "offset 11 is beyond the end of a.txt, which has 10 lines");
}

#[tokio::test]
async fn an_empty_file_says_so() {
    let stage = Stage::new();
    stage.put("empty", "");
    assert_eq!(stage.said("read", json!({ "path": "empty" })).await, "(empty file)");
    let beyond = stage.failed("read", json!({ "path": "empty", "offset": 2 })).await;
    assert!(beyond.contains("has 0 lines"), "{beyond}");
}

#[tokio::test]
async fn a_page_has_no_more_bytes_than_it_may_have() {
    let stage = Stage::new();
    let line = format!("{}\n", "x".repeat(1000));
    stage.put("wide.txt", line.repeat(1000));
    let page = stage.said("read", json!({ "path": "wide.txt" })).await;
    assert!(page.len() <= READ_BYTES + 200, "{}", page.len());
    let notice = "[Showing lines 1-129 of 1000 (128KB limit). Use offset=130 to continue]";
    assert!(page.ends_with(notice), "{}", &page[page.len() - 100..]);
}

#[tokio::test]
async fn a_line_without_an_end_is_cut_between_characters() {
    let stage = Stage::new();
    stage.put("one.txt", format!("a{}\nnext\n", "é".repeat(3_000_000)));
    let page = stage.said("read", json!({ "path": "one.txt" })).await;
    let first = page.lines().next().unwrap();
    assert_eq!(first.len(), 8 + READ_COLUMNS - 1);
    assert!(page.contains("\n     2  next\n\n[Some lines truncated to 4096 bytes"), "{page}");
    assert!(!page.contains('\u{fffd}'));
}

#[tokio::test]
async fn binary_files_are_refused_and_other_encodings_are_told() {
    let stage = Stage::new();
    stage.put("a.bin", b"text\0more");
    let refused = stage.failed("read", json!({ "path": "a.bin" })).await;
    assert!(refused.starts_with("`a.bin` is a binary file (9 bytes)"), "{refused}");
    assert!(refused.contains("bash"), "{refused}");
    stage.put("latin.txt", b"caf\xe9\n");
    let lossy = stage.said("read", json!({ "path": "latin.txt" })).await;
    assert!(lossy.starts_with("     1  caf\u{fffd}\n\n[Bytes that are not UTF-8"), "{lossy}");
}

#[tokio::test]
async fn marks_and_returns_are_not_shown() {
    let stage = Stage::new();
    stage.put("dos.txt", "\u{feff}a\r\nb\r\n");
    assert_eq!(stage.said("read", json!({ "path": "dos.txt" })).await, "     1  a\n     2  b");
}

#[tokio::test]
async fn what_is_not_there_is_told_with_what_is() {
    let stage = Stage::new();
    stage.put("src/parser.rs", "");
    stage.put("src/main.rs", "");
    let missing = stage.failed("read", json!({ "path": "src/Parsers.rs" })).await;
    assert_eq!(missing, "File not found: src/Parsers.rs; did you mean src/parser.rs?");
    let missing = stage.failed("read", json!({ "path": "scr/main.rs" })).await;
    assert_eq!(missing, "File not found: scr/main.rs; did you mean src or src/main.rs?");
    let missing = stage.failed("read", json!({ "path": "main.rs" })).await;
    assert_eq!(missing, "File not found: main.rs; did you mean src/main.rs?");
    let missing = stage.failed("read", json!({ "path": "src/zzz" })).await;
    assert_eq!(missing, "File not found: src/zzz; read `src` to see what is there");
    fs::create_dir(stage.at("none")).unwrap();
    let missing = stage.failed("read", json!({ "path": "none/x" })).await;
    assert_eq!(missing, "File not found: none/x; the folder it would be in is empty");
    let blocked = stage.failed("read", json!({ "path": "src/main.rs/x" })).await;
    assert_eq!(blocked, "`src/main.rs/x` cannot be: `src/main.rs` is a file and no folder");
}

#[tokio::test]
async fn a_folder_is_listed_with_hostile_names_in_quotes() {
    let stage = Stage::new();
    stage.put("b.txt", "");
    stage.put("A/x", "");
    fs::write(stage.at(OsStr::from_bytes(b"z\xff\n")), "").unwrap();
    symlink("b.txt", stage.at("link")).unwrap();
    let listing = stage.said("read", json!({ "path": "." })).await;
    assert_eq!(listing, "A/\nb.txt\nlink@\n\"z\\377\\n\"");
    fs::write(stage.at(OsStr::from_bytes(b"z\xff\n")), "hello").unwrap();
    let quoted = stage.said("read", json!({ "path": "\"z\\377\\n\"" })).await;
    assert_eq!(quoted, "     1  hello");
    fs::create_dir(stage.at("none")).unwrap();
    assert_eq!(stage.said("read", json!({ "path": "none/" })).await, "(empty folder)");
}

#[tokio::test]
async fn a_full_folder_is_listed_in_part() {
    let stage = Stage::new();
    for number in 0..600 {
        stage.put(&format!("many/f{number:03}"), "");
    }
    let listing = stage.said("read", json!({ "path": "many" })).await;
    assert!(listing.contains("\nf499\n\n[Showing 500 of 600 names"), "{listing}");
}

#[tokio::test]
async fn pipes_and_devices_are_not_opened() {
    let stage = Stage::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, stage.at("pipe"), rustix::fs::FileType::Fifo, mode, 0)
        .unwrap();
    let refused = stage.failed("read", json!({ "path": "pipe" })).await;
    assert_eq!(refused, "`pipe` is no regular file and is not opened");
    let edits = json!([{ "oldText": "a", "newText": "b" }]);
    let refused = stage.failed("edit", json!({ "path": "pipe", "edits": edits })).await;
    assert_eq!(refused, "`pipe` is no regular file and is not opened");
    let refused = stage.failed("write", json!({ "path": "pipe", "content": "x" })).await;
    assert_eq!(refused, "`pipe` is no regular file and is not opened");
}

#[tokio::test]
async fn a_name_of_255_bytes_is_a_name_and_one_more_is_told() {
    let stage = Stage::new();
    let longest = "n".repeat(255);
    stage.put(&longest, "here");
    assert_eq!(stage.said("read", json!({ "path": longest })).await, "     1  here");
    let too_long = stage.failed("read", json!({ "path": "n".repeat(256) })).await;
    assert!(too_long.contains("cannot be opened: File name too long"), "{too_long}");
}

/// What is read of ten thousand lines if only some bytes of them are looked at.
fn deep(offset: u64, limit: u64) -> Result<String, String> {
    let file = "0123456789abcde\n".repeat(10_000);
    let wanted = Wanted { offset, limit };
    let page = page(file.as_bytes(), wanted, 65_536).unwrap();
    let path = "huge".to_owned();
    let arguments = ReadArguments { path, offset: Some(offset), limit: Some(limit) };
    let told = told(&page, wanted, &arguments, "huge", "huge");
    told.map(|text| text.text).map_err(|trouble| trouble.told())
}

#[test]
fn a_file_larger_than_is_looked_at_is_read_where_it_can_be() {
    let end = "[Showing lines 1-1 of more than 4096. Use offset=2 to continue]";
    assert!(deep(1, 1).unwrap().ends_with(end), "{}", deep(1, 1).unwrap());
    let begun = "[Showing lines 4096-4096 of more than 4096 (128KB limit). Use offset=4097 to \
                 continue]";
    assert!(deep(4096, 9).unwrap().ends_with(begun), "{}", deep(4096, 9).unwrap());
    assert_eq!(
        deep(4097, 9).unwrap_err(),
        "line 4097 of huge is deeper in it than read looks (256 MB); use bash, for instance: sed \
         -n '4097,+200p' FILE"
    );
}
