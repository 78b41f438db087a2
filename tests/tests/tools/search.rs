//! The tools `grep`, `find` and `ls`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};

use super::session::{Session, Setting, ViewKind};

over_both_views! {
    what_git_ignores_is_not_searched_unless_the_call_says_so,
    a_nested_repository_has_its_own_rules,
    a_search_below_a_folder_knows_the_rules_above_it,
    lines_are_found_in_the_order_of_paths_with_their_numbers,
    files_are_chosen_by_globs_and_types,
    a_pattern_is_a_regular_expression_or_a_text_in_any_case_or_over_lines,
    lines_around_a_match_are_shown_once,
    long_results_are_cut_and_say_how_to_go_on,
    names_are_found_by_globs,
    long_lists_of_names_say_how_to_go_on,
    what_is_no_text_is_left_out_and_never_waited_for,
    a_file_is_searched_by_its_path,
    wrong_patterns_are_told,
    a_pattern_that_backtracks_without_end_elsewhere_is_answered,
    a_folder_is_listed_with_kinds_and_sizes,
    paths_are_those_that_other_tools_take,
}

async fn grep(session: &Session, arguments: Value) -> String {
    session.said("grep", arguments).await
}

async fn find(session: &Session, arguments: Value) -> String {
    session.said("find", arguments).await
}

/// A tree of which git ignores much.
async fn ignoring(kind: ViewKind) -> Session {
    let session = Session::new(kind).await;
    for (path, content) in [
        (".git/info/exclude", "/excluded.txt\n"),
        (".git/config", "needle\n"),
        (".gitignore", "\u{feff}# comment\ntarget/\n*.log\n!kept.log\n"),
        (".hidden", "needle\n"),
        ("a.txt", "needle\n"),
        ("excluded.txt", "needle\n"),
        ("kept.log", "needle\n"),
        ("lost.log", "needle\n"),
        ("sub/.gitignore", "/here\n!lost.log\n"),
        ("sub/deep/here", "needle\n"),
        ("sub/here", "needle\n"),
        ("sub/lost.log", "needle\n"),
        ("target/a.txt", "needle\n"),
    ] {
        session.put(path, content);
    }
    session
}

async fn what_git_ignores_is_not_searched_unless_the_call_says_so(kind: ViewKind) {
    let session = ignoring(kind).await;
    let seen = [".hidden", "a.txt", "kept.log", "sub/deep/here", "sub/lost.log"];
    let found = grep(&session, json!({ "pattern": "needle" })).await;
    let headed: Vec<_> =
        found.lines().filter(|line| !line.contains(':') && !line.is_empty()).collect();
    assert_eq!(headed, seen);
    let names = find(&session, json!({ "pattern": "*.{log,txt}" })).await;
    assert_eq!(names, "a.txt\nkept.log\nsub/lost.log");
    let all = find(&session, json!({ "pattern": "*.{log,txt}", "gitignore": false })).await;
    let expected = "a.txt\nexcluded.txt\nkept.log\nlost.log\nsub/lost.log\ntarget/a.txt";
    assert_eq!(all, expected, "and nothing of .git");
    let all = session.answer("grep", json!({ "pattern": "needle", "gitignore": false })).await;
    assert_eq!(all.details.unwrap()["files"], 9);
    let inside = find(&session, json!({ "pattern": "*", "path": "target" })).await;
    assert_eq!(inside, "target/a.txt", "a folder that is named is searched");
    let plain = find(&session, json!({ "pattern": "*", "hidden": false })).await;
    let expected = "a.txt\nkept.log\nsub/\nsub/deep/\nsub/deep/here\nsub/lost.log";
    assert_eq!(plain, expected);
}

async fn a_nested_repository_has_its_own_rules(kind: ViewKind) {
    let session = ignoring(kind).await;
    session.put("nested/.git/info/exclude", "private\n");
    session.put("nested/lost.log", "");
    session.put("nested/private", "");
    for arguments in
        [json!({ "pattern": "nested/**" }), json!({ "pattern": "*", "path": "nested" })]
    {
        assert_eq!(find(&session, arguments.clone()).await, "nested/lost.log", "{arguments}");
    }
    let below = json!({ "pattern": "*.log", "path": "nested" });
    assert_eq!(find(&session, below).await, "nested/lost.log");
}

async fn a_search_below_a_folder_knows_the_rules_above_it(kind: ViewKind) {
    let session = ignoring(kind).await;
    session.put("sub/deep/x.log", "needle\n");
    let found = find(&session, json!({ "pattern": "*", "path": "sub/deep" })).await;
    assert_eq!(found, "sub/deep/here");
    let found = grep(&session, json!({ "pattern": "needle", "path": "sub/deep" })).await;
    assert_eq!(found, "sub/deep/here\n1:needle");
}

async fn lines_are_found_in_the_order_of_paths_with_their_numbers(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("b.rs", "one\r\nfn two\r\n");
    session.put("a/z.rs", "fn one\n\nfn two");
    session.put("a.rs", "fn three");
    let found = session.answer("grep", json!({ "pattern": "^fn" })).await;
    assert_eq!(found.text, "a/z.rs\n1:fn one\n3:fn two\n\na.rs\n1:fn three\n\nb.rs\n2:fn two");
    let details = json!({ "matches": 4, "files": 3, "truncated": false });
    assert_eq!(found.details, Some(details));
    assert_eq!(grep(&session, json!({ "pattern": "absent" })).await, "No matches found");
    let elsewhere = grep(&session, json!({ "pattern": "fn", "glob": "*.py" })).await;
    assert_eq!(elsewhere, "No matches found: there is no file to search");
}

async fn files_are_chosen_by_globs_and_types(kind: ViewKind) {
    let session = Session::new(kind).await;
    for path in ["a.rs", "b.py", "src/c.rs", "src/deep/d.rs"] {
        session.put(path, "x\n");
    }
    let cases = [
        (json!({ "glob": "*.rs" }), vec!["a.rs", "src/c.rs", "src/deep/d.rs"]),
        (json!({ "glob": "src/*.rs" }), vec!["src/c.rs"]),
        (json!({ "include": "!*.rs" }), vec!["b.py"]),
        (json!({ "type": "py" }), vec!["b.py"]),
        (json!({ "type": "rust", "path": "src/deep" }), vec!["src/deep/d.rs"]),
        (json!({ "glob": "deep/*", "path": "src" }), vec!["src/deep/d.rs"]),
    ];
    for (mut arguments, files) in cases {
        arguments["pattern"] = json!("x");
        let found = grep(&session, arguments.clone()).await;
        let heads: Vec<_> = found.split("\n\n").filter_map(|part| part.lines().next()).collect();
        assert_eq!(heads, files, "{arguments}");
    }
    let unknown = session.failed("grep", json!({ "pattern": "x", "type": "pyton" })).await;
    assert!(
        unknown.contains("no file type `pyton`; like it: ") && unknown.contains("python"),
        "{unknown}"
    );
}

async fn a_pattern_is_a_regular_expression_or_a_text_in_any_case_or_over_lines(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a", "a.b\naxb\nA.B\nstart {\n  end }\n");
    let cases = [
        (json!({ "pattern": "a.b" }), "1:a.b\n2:axb"),
        (json!({ "pattern": "a.b", "literal": true }), "1:a.b"),
        (json!({ "pattern": "a.b", "literal": true, "ignoreCase": true }), "1:a.b\n3:A.B"),
        (json!({ "pattern": "a.b", "-i": "true" }), "1:a.b\n2:axb\n3:A.B"),
        (json!({ "pattern": "\\{\\s+end" }), "No matches found"),
        (json!({ "pattern": "\\{\\s+end", "multiline": true }), "4:start {\n5:  end }"),
        (json!({ "pattern": "axb\\nA" }), "2:axb\n3:A.B"),
        (json!({ "pattern": "b\nax", "literal": true }), "1:a.b\n2:axb"),
    ];
    for (arguments, expected) in cases {
        let found = grep(&session, arguments.clone()).await;
        let found = found.strip_prefix("a\n").unwrap_or(&found);
        assert_eq!(found, expected, "{arguments}");
    }
    let utf_16: Vec<u8> = "\u{feff}Grüße\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    session.put("utf-16", utf_16);
    assert_eq!(
        grep(&session, json!({ "pattern": "grüße", "ignoreCase": true })).await,
        "utf-16\n1:Grüße"
    );
}

async fn lines_around_a_match_are_shown_once(kind: ViewKind) {
    let session = Session::new(kind).await;
    let text: String = (1..=20).map(|number| format!("line {number}.\n")).collect();
    session.put("a", text);
    let found = grep(&session, json!({ "pattern": " (5|7|15)\\.", "context": 1 })).await;
    let expected = "a\n4-line 4.\n5:line 5.\n6-line 6.\n7:line 7.\n8-line 8.\n--\n14-line 14.\n\
                    15:line 15.\n16-line 16.";
    assert_eq!(found, expected);
    let first = grep(&session, json!({ "pattern": " (5|7|15)\\.", "-C": 1, "limit": 1 })).await;
    let expected = "a\n4-line 4.\n5:line 5.\n6-line 6.\n\n[1 matches limit reached. Use limit=2 \
                    for more, or offset=1 for the next]";
    assert_eq!(first, expected);
    let last = json!({ "pattern": " (5|7|15)\\.", "context": 1, "limit": 1, "offset": 2 });
    assert_eq!(grep(&session, last).await, "a\n14-line 14.\n15:line 15.\n16-line 16.");
}

async fn long_results_are_cut_and_say_how_to_go_on(kind: ViewKind) {
    let session = Session::new(kind).await;
    for file in 0..40 {
        session.put(format!("{file:02}"), "match\n".repeat(10));
    }
    let arguments =
        |offset: u64, limit: u64| json!({ "pattern": "match", "offset": offset, "limit": limit });
    let mut found = 0;
    let mut files = Vec::new();
    while found < 400 {
        let page = session.answer("grep", arguments(found, 75)).await;
        let details = page.details.unwrap();
        let matches = details["matches"].as_u64().unwrap();
        assert_eq!(matches, 75.min(400 - found));
        found += matches;
        let next = format!(
            "[75 matches limit reached. Use limit=150 for more, or offset={found} for the next]"
        );
        assert_eq!(page.text.contains(&next), found < 400, "{found}: {}", page.text);
        assert_eq!(details["truncated"], found < 400);
        files.extend(page.text.lines().filter(|line| line.len() == 2).map(str::to_owned));
    }
    files.dedup();
    let all: Vec<_> = (0..40).map(|file| format!("{file:02}")).collect();
    assert_eq!(files, all);
    assert_eq!(grep(&session, arguments(400, 75)).await, "No more matches: there are 400");

    session.put("long", format!("long {}\n", "é".repeat(100_000)).repeat(300));
    let cut = session.answer("grep", json!({ "pattern": "long", "limit": 300 })).await;
    assert!(cut.text.len() < 54_000, "{}", cut.text.len());
    let shown = cut.details.unwrap()["matches"].as_u64().unwrap();
    let notice = format!(
        "[50KB limit reached. Use offset={shown} for the next. Some lines truncated to 500 chars]"
    );
    assert!(cut.text.ends_with(&notice), "{}", &cut.text[cut.text.len() - 200..]);
    let rest =
        session.answer("grep", json!({ "pattern": "long", "limit": 300, "offset": shown })).await;
    assert!(rest.text.starts_with(&format!("long\n{}:long é", shown + 1)), "it goes on there");
}

async fn names_are_found_by_globs(kind: ViewKind) {
    let session = Session::new(kind).await;
    for path in ["a.rs", "src/b.rs", "src/deep/c.rs", "src/d.txt"] {
        session.put(path, "");
    }
    session.put_symlink("a.rs", "link.rs");
    let cases = [
        (json!({ "pattern": "*.rs" }), "a.rs\nlink.rs@\nsrc/b.rs\nsrc/deep/c.rs"),
        (json!({ "pattern": "src/*.rs" }), "src/b.rs"),
        (json!({ "pattern": "**/c.rs" }), "src/deep/c.rs"),
        (json!({ "glob": "deep" }), "src/deep/"),
        (json!({ "pattern": "*.rs", "path": "src/deep" }), "src/deep/c.rs"),
        (json!({ "pattern": "none" }), "No files found matching pattern"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(find(&session, arguments.clone()).await, expected, "{arguments}");
    }
    let missing = session.failed("find", json!({ "pattern": "*", "path": "scr" })).await;
    assert_eq!(missing, "File not found: scr; did you mean src?");
    let file = session.failed("find", json!({ "pattern": "*", "path": "a.rs" })).await;
    assert_eq!(file, "`a.rs` cannot be: `a.rs` is a file, not a folder");
    for tool in ["find", "grep"] {
        let out = session.failed(tool, json!({ "pattern": "x", "path": "/etc" })).await;
        assert!(out.contains("outside of the working tree"), "{out}");
    }
}

async fn long_lists_of_names_say_how_to_go_on(kind: ViewKind) {
    let session = Session::new(kind).await;
    for number in 0..30 {
        session.put(format!("many/f{number:02}"), "");
    }
    let first = find(&session, json!({ "pattern": "f*", "limit": 20 })).await;
    let notice =
        "many/f19\n\n[20 results limit reached. Use limit=40 for more, or offset=20 for the next]";
    assert!(first.starts_with("many/f00\n") && first.ends_with(notice), "{first}");
    let rest = find(&session, json!({ "pattern": "f*", "limit": 20, "offset": 20 })).await;
    assert!(rest.starts_with("many/f20\n") && rest.ends_with("\nmany/f29"), "{rest}");
    let beyond = find(&session, json!({ "pattern": "f*", "offset": 30 })).await;
    assert_eq!(beyond, "No more files: 30 match the pattern");
    let listed = session.said("ls", json!({ "path": "many", "limit": 7 })).await;
    assert!(
        listed.ends_with("f06  0\n\n[Showing 7 of 30 names. Use limit=14 for more]"),
        "{listed}"
    );
}

async fn what_is_no_text_is_left_out_and_never_waited_for(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put_pipe("pipe");
    session.put_symlink(".", "loop");
    session.put_symlink("/dev/zero", "zero");
    session.put("binary", b"needle\n\0needle\n");
    session.put("late", [&b"needle\n"[..], &b"x\n".repeat(100_000), b"\0"].concat());
    session.put(OsStr::from_bytes(b"odd\xff\n"), b"needle \xff\x1b[2J\n");
    let found = grep(&session, json!({ "pattern": "needle" })).await;
    let binary = "[Binary files that were not searched: 1]";
    let odd = "\"odd\\377\\n\"\n1:needle \u{fffd}\u{fffd}[2J";
    assert_eq!(found, format!("late\n1:needle\n\n{odd}\n\n{binary}"), "as read shows it");
    let late = session.said("read", json!({ "path": "late", "limit": 1 })).await;
    assert!(late.starts_with("     1  needle\n"), "{late}");
    let none = grep(&session, json!({ "pattern": "text" })).await;
    assert_eq!(none, format!("No matches found\n\n{binary}"));
    let refused = session.failed("grep", json!({ "pattern": "needle", "path": "binary" })).await;
    assert!(refused.starts_with("`binary` is a binary file (15 bytes)"), "{refused}");
    let refused = session.failed("grep", json!({ "pattern": "needle", "path": "pipe" })).await;
    assert_eq!(refused, "`pipe` is not a regular file and is not opened");
    let names = find(&session, json!({ "pattern": "*" })).await;
    assert_eq!(names, "binary\nlate\nloop@\n\"odd\\377\\n\"\npipe\nzero@");
}

async fn a_file_is_searched_by_its_path(kind: ViewKind) {
    let session = ignoring(kind).await;
    let found = grep(&session, json!({ "pattern": "needle", "path": "target/a.txt" })).await;
    assert_eq!(found, "target/a.txt\n1:needle", "even if git ignores it");
    let missing = session.failed("grep", json!({ "pattern": "x", "path": "b.txt" })).await;
    assert_eq!(missing, "File not found: b.txt; did you mean a.txt?");
}

async fn wrong_patterns_are_told(kind: ViewKind) {
    let session = Session::new(kind).await;
    for (tool, arguments, told) in [
        ("grep", json!({ "pattern": "a(b" }), "/pattern: `a(b`: unclosed group"),
        ("grep", json!({ "pattern": "\\" }), "/pattern: `\\`: `\\` at its end escapes nothing"),
        ("grep", json!({ "pattern": "(?=a)" }), "look-around"),
        ("grep", json!({ "pattern": "(\\w{1000}){1000}" }), "size limit"),
        ("grep", json!({ "pattern": "a", "glob": "{a" }), "/glob: error parsing glob"),
        ("find", json!({ "pattern": "{a" }), "/pattern: error parsing glob"),
    ] {
        let failed = session.failed(tool, arguments.clone()).await;
        assert!(failed.contains(told), "{arguments}: {failed}");
    }
}

async fn a_pattern_that_backtracks_without_end_elsewhere_is_answered(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("a", format!("{}\n", "a".repeat(20_000)));
    let found = grep(&session, json!({ "pattern": "(a+)+(a|aa)+$b|(a*)*c" })).await;
    assert_eq!(found, "No matches found");
}

async fn a_folder_is_listed_with_kinds_and_sizes(kind: ViewKind) {
    let session = ignoring(kind).await;
    session.put_symlink("a.txt", "Link");
    session.put_pipe("pipe");
    let listed = session.answer("ls", json!({})).await;
    let expected = ".git/\n.gitignore  37\n.hidden  7\na.txt  7\nexcluded.txt  7\nkept.log  7\nLink@\n\
                    lost.log  7\npipe\nsub/\ntarget/";
    assert_eq!(listed.text, expected);
    let details = json!({ "path": ".", "entries": 11, "truncated": false });
    assert_eq!(listed.details, Some(details));
    session.put_folder("none");
    assert_eq!(session.said("ls", json!({ "directory": "none" })).await, "(empty folder)");
    let file = session.failed("ls", json!({ "path": "a.txt" })).await;
    assert_eq!(file, "`a.txt` cannot be: `a.txt` is a file, not a folder");
}

async fn paths_are_those_that_other_tools_take(kind: ViewKind) {
    let setting = Setting { below: "sub", ..Setting::default() };
    let session = Session::with(kind, setting).await;
    session.put("sub/a.txt", "needle");
    session.put("other/b.txt", "needle");
    assert_eq!(find(&session, json!({ "pattern": "*.txt" })).await, "a.txt");
    let above = find(&session, json!({ "pattern": "*.txt", "path": ".." })).await;
    assert_eq!(above, "../other/b.txt\na.txt");
    let read = session.said("read", json!({ "path": "../other/b.txt" })).await;
    assert_eq!(read, "     1  needle");
}
