//! The tool `read`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use super::session::{Session, ViewKind};

over_both_views! {
    lines_come_with_their_numbers,
    a_file_of_6000_lines_warns_at_5000,
    pages_say_how_to_go_on,
    an_empty_file_says_so,
    a_page_has_no_more_bytes_than_it_may_have,
    a_line_without_an_end_is_cut_between_characters,
    binary_files_are_refused_and_other_encodings_are_told,
    marks_and_returns_are_not_shown,
    what_cannot_be_seen_is_shown_as_a_sign,
    what_is_not_there_is_told_with_what_is,
    a_folder_is_listed_with_hostile_names_in_quotes,
    a_folder_is_listed_two_levels_deep,
    a_full_folder_is_listed_in_part,
    pipes_and_devices_are_not_opened,
    a_name_of_255_bytes_is_a_name_and_one_more_is_told,
}

/// How many bytes are read at once, and how many of one line.
const READ_BYTES: usize = 128 << 10;
const READ_COLUMNS: usize = 4096;

fn numbered(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

async fn lines_come_with_their_numbers(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a.txt", "one\n\n  three");
    let read = session.answer("read", json!({ "path": "a.txt" })).await;
    assert_eq!(read.text, "     1  one\n     2  \n     3    three");
    let details = json!({
        "path": "a.txt", "totalLines": 3, "linesRead": 3, "offset": 1, "truncated": false,
    });
    assert_eq!(read.details, Some(details));
}

async fn a_file_of_6000_lines_warns_at_5000(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("long.txt", numbered(6000));
    let read = session.answer("read", json!({ "path": "long.txt" })).await;
    let warning = "WARNING: File has 6000 lines, showing first 5000. Use offset=5001 to continue.";
    assert_eq!(read.text.lines().next(), Some(warning));
    assert_eq!(read.text.lines().count(), 2 + 5000);
    assert!(read.text.ends_with("  5000  line 5000"), "{}", &read.text[read.text.len() - 80..]);
    assert_eq!(read.details.unwrap()["truncated"], true);
    let rest = session.said("read", json!({ "path": "long.txt", "offset": 5001 })).await;
    assert!(rest.starts_with("  5001  line 5001\n"));
    assert!(rest.ends_with("  6000  line 6000"));
}

async fn pages_say_how_to_go_on(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a.txt", numbered(10));
    let page = session.said("read", json!({ "path": "a.txt", "offset": "3", "limit": 2 })).await;
    let expected =
        "     3  line 3\n     4  line 4\n\n[Showing lines 3-4 of 10. Use offset=5 to continue]";
    assert_eq!(page, expected);
    let last = session.said("read", json!({ "path": "a.txt", "offset": 9, "limit": 2 })).await;
    assert_eq!(last, "     9  line 9\n    10  line 10");
    let generous =
        session.said("read", json!({ "path": "a.txt", "offset": 0, "limit": 99999 })).await;
    assert_eq!(generous.lines().count(), 10);
    let beyond = session.failed("read", json!({ "path": "a.txt", "offset": 11 })).await;
    assert_eq!(beyond, "offset 11 is beyond the end of a.txt, which has 10 lines");
}

async fn an_empty_file_says_so(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("empty", "");
    assert_eq!(session.said("read", json!({ "path": "empty" })).await, "(empty file)");
    let beyond = session.failed("read", json!({ "path": "empty", "offset": 2 })).await;
    assert!(beyond.contains("has 0 lines"), "{beyond}");
}

async fn a_page_has_no_more_bytes_than_it_may_have(kind: ViewKind) {
    let session = Session::new(kind).await;
    let line = format!("{}\n", "x".repeat(1000));
    session.put("wide.txt", line.repeat(1000));
    let page = session.said("read", json!({ "path": "wide.txt" })).await;
    assert!(page.len() <= READ_BYTES + 200, "{}", page.len());
    let notice = "[Showing lines 1-129 of 1000 (128KB limit). Use offset=130 to continue]";
    assert!(page.ends_with(notice), "{}", &page[page.len() - 100..]);
}

async fn a_line_without_an_end_is_cut_between_characters(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("one.txt", format!("a{}\nnext\n", "é".repeat(3_000_000)));
    let page = session.said("read", json!({ "path": "one.txt" })).await;
    let first = page.lines().next().unwrap();
    assert_eq!(first.len(), 8 + READ_COLUMNS - 1);
    assert!(page.contains("\n     2  next\n\n[Some lines truncated to 4096 bytes"), "{page}");
    assert!(!page.contains('\u{fffd}'));
}

async fn binary_files_are_refused_and_other_encodings_are_told(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a.bin", b"text\0more");
    let refused = session.failed("read", json!({ "path": "a.bin" })).await;
    assert!(refused.starts_with("`a.bin` is a binary file (9 bytes)"), "{refused}");
    assert!(refused.contains("bash"), "{refused}");
    session.put("latin.txt", b"caf\xe9\n");
    session.put("late.txt", [&b"a\n".repeat(100_000)[..], b"caf\xe9\n"].concat());
    session.put("wide.txt", b"\xff\xfec\0\xe9\0\r\0\n\0x\0");
    session.put("other.txt", b"\xfe\xff\0c\xd8\x3d\xde\0");
    session.put("torn.txt", b"\xef\xbb\xbfcaf\xe9\n");
    let read = async |path: &str, offset: u64| {
        session.said("read", json!({ "path": path, "offset": offset })).await
    };
    let note = "[The file is not UTF-8; it is read as windows-1252, which edit keeps]";
    assert_eq!(read("latin.txt", 1).await, format!("     1  café\n\n{note}"));
    assert_eq!(read("late.txt", 100_001).await, format!("100001  café\n\n{note}"));
    let wide = "     1  cé\n     2  x\n\n[The file is UTF-16 (little-endian), which edit keeps]";
    assert_eq!(read("wide.txt", 1).await, wide);
    let other = "     1  c😀\n\n[The file is UTF-16 (big-endian), which edit keeps]";
    assert_eq!(read("other.txt", 1).await, other);
    let torn = read("torn.txt", 1).await;
    assert!(torn.starts_with("     1  caf\u{fffd}\n\n[Bytes that are not in its"), "{torn}");
}

async fn marks_and_returns_are_not_shown(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("dos.txt", "\u{feff}a\r\nb\r\n");
    assert_eq!(session.said("read", json!({ "path": "dos.txt" })).await, "     1  a\n     2  b");
}

async fn what_cannot_be_seen_is_shown_as_a_sign(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("odd", "a\rb\t\u{1b}[2J \u{202e}c\n");
    let shown = "a\u{fffd}b\t\u{fffd}[2J \u{fffd}c";
    let notice = "[Characters that cannot be seen are shown as \u{fffd}]";
    let read = session.said("read", json!({ "path": "odd" })).await;
    assert_eq!(read, format!("     1  {shown}\n\n{notice}"));
    let found = session.said("grep", json!({ "pattern": "c$" })).await;
    assert_eq!(found, format!("odd\n1:{shown}"));
}

async fn what_is_not_there_is_told_with_what_is(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("src/parser.rs", "");
    session.put("src/main.rs", "");
    let missing = session.failed("read", json!({ "path": "src/Parsers.rs" })).await;
    assert_eq!(missing, "File not found: src/Parsers.rs; did you mean src/parser.rs?");
    let missing = session.failed("read", json!({ "path": "scr/main.rs" })).await;
    assert_eq!(missing, "File not found: scr/main.rs; did you mean src or src/main.rs?");
    let missing = session.failed("read", json!({ "path": "main.rs" })).await;
    assert_eq!(missing, "File not found: main.rs; did you mean src/main.rs?");
    let missing = session.failed("read", json!({ "path": "src/zzz" })).await;
    assert_eq!(missing, "File not found: src/zzz; read `src` to see what is there");
    session.put_folder("none");
    let missing = session.failed("read", json!({ "path": "none/x" })).await;
    assert_eq!(missing, "File not found: none/x; the folder it would be in is empty");
    let blocked = session.failed("read", json!({ "path": "src/main.rs/x" })).await;
    assert_eq!(blocked, "`src/main.rs/x` cannot be: `src/main.rs` is a file, not a folder");
}

async fn a_folder_is_listed_with_hostile_names_in_quotes(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("b.txt", "");
    session.put("A/x", "");
    session.put(OsStr::from_bytes(b"z\xff\n"), "");
    session.put_symlink("b.txt", "link");
    let listing = session.said("read", json!({ "path": "." })).await;
    assert_eq!(listing, "A/\n  x\nb.txt\nlink@\n\"z\\377\\n\"");
    session.put(OsStr::from_bytes(b"z\xff\n"), "hello");
    let quoted = session.said("read", json!({ "path": "\"z\\377\\n\"" })).await;
    assert_eq!(quoted, "     1  hello");
    session.put_folder("none");
    assert_eq!(session.said("read", json!({ "path": "none/" })).await, "(empty folder)");
}

async fn a_folder_is_listed_two_levels_deep(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put(".gitignore", "/target\n");
    session.put(".git/HEAD", "");
    session.put("target/debug/x", "");
    session.put("src/deep/deeper/d", "");
    session.put("src/main.rs", "");
    session.put_folder("src/Empty");
    for number in 0..20 {
        session.put(format!("many/f{number:02}"), "");
    }
    let listing = session.said("read", json!({ "path": "." })).await;
    let many: String = (0..12).map(|number| format!("  f{number:02}\n")).collect();
    let expected = format!(
        ".git/\n.gitignore\nmany/\n{many}  … 8 more\nsrc/\n  deep/\n  Empty/\n  main.rs\ntarget/"
    );
    assert_eq!(listing, expected, "what git ignores is listed by its name only");
    let below = session.said("read", json!({ "path": "src" })).await;
    assert_eq!(below, "deep/\n  deeper/\nEmpty/\nmain.rs");
}

async fn a_full_folder_is_listed_in_part(kind: ViewKind) {
    let session = Session::new(kind).await;
    for number in 0..600 {
        session.put(format!("many/f{number:03}"), "");
    }
    let listing = session.said("read", json!({ "path": "many" })).await;
    assert!(listing.contains("\nf499\n\n[Showing 500 of 600 names"), "{listing}");
    let two = session.said("read", json!({ "path": "many", "limit": 2, "offset": 1 })).await;
    assert_eq!(two, "f000\nf001\n\n[Showing 2 of 600 names. Use ls with a limit for more]");
    let later = session.failed("read", json!({ "path": "many", "offset": 2 })).await;
    assert!(later.contains("many is a folder, which is listed from its first name on"), "{later}");
}

async fn pipes_and_devices_are_not_opened(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put_pipe("pipe");
    let refused = session.failed("read", json!({ "path": "pipe" })).await;
    assert_eq!(refused, "`pipe` is not a regular file and is not opened");
    let edits = json!([{ "oldText": "a", "newText": "b" }]);
    let refused = session.failed("edit", json!({ "path": "pipe", "edits": edits })).await;
    assert_eq!(refused, "`pipe` is not a regular file and is not opened");
    let refused = session.failed("write", json!({ "path": "pipe", "content": "x" })).await;
    assert_eq!(refused, "`pipe` is not a regular file and is not opened");
}

async fn a_name_of_255_bytes_is_a_name_and_one_more_is_told(kind: ViewKind) {
    let session = Session::new(kind).await;
    let longest = "n".repeat(255);
    session.put(&longest, "here");
    assert_eq!(session.said("read", json!({ "path": longest })).await, "     1  here");
    let too_long = session.failed("read", json!({ "path": "n".repeat(256) })).await;
    assert!(too_long.contains("cannot be opened: File name too long"), "{too_long}");
}
