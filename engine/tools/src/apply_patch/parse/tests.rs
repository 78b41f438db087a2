use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Result<Patch, String> {
    Patch::parse(text).map_err(|error| error.to_string())
}

fn kept(text: &str) -> HunkLine {
    HunkLine::Kept(text.to_owned())
}

#[test]
fn a_patch_has_changes_of_files_in_their_order() {
    let text = "*** Begin Patch\n*** Add File: a/new\n+one\n++two\n*** Delete File: old\n*** Update File: b\n\
                *** Move to: c d\n@@ class A\n@@ fn f\n keep\n\n-out\n+in\n@@\n-last\n*** End of File\n\
                *** End Patch";
    let lines = vec![
        kept("keep"),
        kept(""),
        HunkLine::Removed("out".to_owned()),
        HunkLine::Added("in".to_owned()),
    ];
    let contexts = vec!["class A".to_owned(), "fn f".to_owned()];
    let first = Hunk { contexts, lines, is_at_end: false, line: 8 };
    let lines = vec![HunkLine::Removed("last".to_owned())];
    let second = Hunk { contexts: Vec::new(), lines, is_at_end: true, line: 14 };
    let expected = vec![
        FileChange::Add { path: "a/new".to_owned(), text: "one\n+two\n".to_owned() },
        FileChange::Delete { path: "old".to_owned() },
        FileChange::Update {
            path: "b".to_owned(),
            to: Some("c d".to_owned()),
            hunks: vec![first, second],
        },
    ];
    let patch = parsed(text).unwrap();
    assert_eq!(patch.paths(), ["a/new", "old", "b", "c d"]);
    assert_eq!(patch.changes, expected);
}

#[test]
fn markers_may_be_padded_and_the_patch_may_be_in_a_here_document() {
    let plain =
        "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Delete File: b\n*** End Patch";
    let patch = parsed(plain).unwrap();
    for text in [
        " *** Begin Patch \n  *** Update File:  a  \n@@\n-x\n+y\n*** Delete File: b\t\n *** End Patch \n\n",
        &format!("<<'EOF'\n{plain}\nEOF\n"),
        &format!("<<EOF\n{plain}\nEOF"),
        &format!("apply_patch <<\"X\"\n{plain}\nX\n"),
        &plain.replace('\n', "\r\n"),
        &plain.replace("@@\n", ""),
        &plain.replace("@@", "@@ -1,3 +1,3 @@"),
        &plain.replace("+y\n", "+y\n\n"),
    ] {
        let mut found = parsed(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        // A blank line behind a hunk may be one of the file, so that hunks are sought without it, too.
        if let FileChange::Update { hunks, .. } = &mut found.changes[0] {
            hunks[0].line = 3;
            hunks[0].lines.truncate(2);
        }
        assert_eq!(found, patch, "{text}");
    }
    let inside = "*** Begin Patch\n*** Update File: a\n *** Delete File: b\n-x\n*** End Patch";
    assert_eq!(parsed(inside).unwrap().paths(), ["a"], "a line of the file is no marker");
}

#[test]
fn what_is_no_patch_is_told_with_the_line_and_what_is_expected() {
    let cases = [
        ("", "begins with the line `*** Begin Patch`, and not with ``"),
        ("--- a\n+++ b", "not with `--- a`"),
        (
            "*** Begin Patch\n*** Add File: a\n+x",
            "ends with the line `*** End Patch`, and not with `+x`",
        ),
        ("*** Begin Patch\n\n*** End Patch", "changes nothing"),
        ("*** Begin Patch\nhello\n*** End Patch", "line 2 of the patch is `hello`; expected is"),
        ("*** Begin Patch\n*** Add File:\n+x\n*** End Patch", "line 2 of the patch names no path"),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "line 3 of the patch is `x`"),
        (
            "*** Begin Patch\n*** Update File: a\n*** End Patch",
            "`a` on line 2 of the patch has no hunk",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n x\n*** End Patch",
            "line 3 of the patch neither adds",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n-x\ny\n*** End Patch",
            "line 4 of the patch is `y`; a line",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n*** Move to: \n*** End Patch",
            "line 3 of the patch names no",
        ),
    ];
    for (text, expected) in cases {
        let refused = parsed(text).unwrap_err();
        assert!(refused.contains(expected), "{text}: {refused}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(lines in proptest::collection::vec(
        prop_oneof![
            Just("*** Begin Patch"), Just("*** End Patch"), Just("*** Add File: a"), Just("@@ x"),
            Just("*** Update File: é"), Just("*** Move to: b"), Just("*** End of File"), Just("<<EOF"),
            Just("EOF"), Just(" é"), Just("é"), Just("+"), Just("-x"), Just(""), Just("***"),
        ], 0..12,
    )) {
        let _either = Patch::parse(&lines.join("\n"));
    }
}
