use proptest::prelude::*;

use super::super::parse::{FileChange, Patch};
use super::*;

/// Applies the hunks that the lines below `*** Update File` make.
fn after(text: &str, lines: &str) -> Result<String, String> {
    let patch = format!("*** Begin Patch\n*** Update File: a\n{lines}\n*** End Patch");
    let changes = Patch::parse(&patch).unwrap().changes;
    let [FileChange::Update { hunks, .. }] = changes.as_slice() else { panic!("{changes:?}") };
    patched(text, hunks).map_err(|error| error.to_string())
}

#[test]
fn context_says_which_of_several_places_is_meant() {
    let text = "a:\n  x\nb:\n  x\nc:\n  x\n";
    assert_eq!(after(text, "@@ b:\n-  x\n+  y").unwrap(), "a:\n  x\nb:\n  y\nc:\n  x\n");
    assert_eq!(after(text, "@@ b:\n@@ c:\n-  x\n+  y").unwrap(), "a:\n  x\nb:\n  x\nc:\n  y\n");
    assert_eq!(after(text, "-  x\n+  y\n*** End of File").unwrap(), "a:\n  x\nb:\n  x\nc:\n  y\n");
    assert_eq!(after(text, "-  x\n+  y\n@@\n-  x\n+  z").unwrap(), "a:\n  y\nb:\n  z\nc:\n  x\n");
    assert_eq!(after(text, "@@ b:\n+  new").unwrap(), "a:\n  x\nb:\n  new\n  x\nc:\n  x\n");
    assert_eq!(after(text, "+end").unwrap(), format!("{text}end\n"));
    assert_eq!(after("", "+only").unwrap(), "only\n");
}

#[test]
fn lines_are_sought_as_exactly_as_they_are_found_and_kept_as_they_are() {
    let text = "x\n  x  \n\t“x” – y \n";
    assert_eq!(after(text, "-x\n+1").unwrap(), "1\n  x  \n\t“x” – y \n", "exactly");
    assert_eq!(after(text, "-  x\n+1").unwrap(), "x\n1\n\t“x” – y \n", "without trailing blanks");
    assert_eq!(after(text, "-\"x\" - y\n+1").unwrap(), "x\n  x  \n1\n", "with plain punctuation");
    assert_eq!(after(text, "   x\n-  \"x\" - y\n+1").unwrap(), "x\n  x  \n1\n", "kept as it is");
    assert_eq!(after(" x\ny\n", "-y\n+z\n").unwrap(), " x\nz\n", "without the last blank line");
}

#[test]
fn line_ends_and_the_mark_of_the_file_are_kept() {
    assert_eq!(
        after("\u{feff}a\r\nb\r\nc", "-a\n+x\n+y\n b\n c\n+d").unwrap(),
        "\u{feff}x\r\ny\r\nb\r\nc\r\nd"
    );
    assert_eq!(after("a\nb\r\nc\n", " b\n-c\n+d").unwrap(), "a\nb\r\nd\n");
    assert_eq!(after("a", "-a\n+b").unwrap(), "b");
    assert_eq!(after("a\n", "-a").unwrap(), "");
}

#[test]
fn what_is_not_there_is_told_with_where_it_is() {
    let refused = |lines: &str| after("one\ntwo\nthree\nfour\n", lines).unwrap_err();
    assert_eq!(
        refused("@@ fn f\n-two"),
        "the line `fn f` behind @@ on line 3 of the patch was not found"
    );
    assert_eq!(
        refused("-three\n@@\n-one\n-two"),
        "the 2 lines that the hunk on line 4 of the patch keeps or removes were not found; line 1 is before \
         the hunk above: hunks are in the order of the file"
    );
    assert!(
        refused("-two\n*** End of File").contains("; line 2 is not at the end: leave out `*** End")
    );
    let differs = refused("-two\n-thre");
    assert!(
        differs.ends_with("it begins as line 2 does, but line 3 is `three`. Read it again"),
        "{differs}"
    );
}

/// What happens to a line of a file: it is kept, or replaced by so many new lines.
#[derive(Clone, Debug)]
enum Step {
    Keep,
    Replace(usize),
    InsertBefore,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Keep),
        2 => (0_usize..3).prop_map(Step::Replace),
        1 => Just(Step::InsertBefore),
    ];
    proptest::collection::vec(step, 1..30)
}

proptest! {
    /// The model: the steps are done line by line, and the patch says the same in hunks.
    #[test]
    fn a_patch_does_what_a_change_line_by_line_does(
        steps in steps(), context in 0_usize..4, crlf in any::<bool>(), is_ended in any::<bool>(),
    ) {
        // A file without any line end gets LF.
        let end = if crlf && (steps.len() > 1 || is_ended) { "\r\n" } else { "\n" };
        let old: Vec<String> = (0..steps.len()).map(|number| format!("  line {number}")).collect();
        // Per line of the old text: what a patch says about it, and what is there then.
        let (mut said, mut new) = (Vec::new(), Vec::new());
        for (number, (step, line)) in steps.iter().zip(&old).enumerate() {
            let made = |count: usize| (0..count).map(move |nth| format!("new {number} {nth}"));
            let (mut lines, is_change) = match step {
                Step::Keep => (vec![format!(" {line}")], false),
                Step::Replace(_) => (vec![format!("-{line}")], true),
                Step::InsertBefore => (vec![format!("+new {number} 0"), format!(" {line}")], true),
            };
            match step {
                Step::Keep => new.push(line.clone()),
                Step::Replace(count) => {
                    lines.extend(made(*count).map(|line| format!("+{line}")));
                    new.extend(made(*count));
                }
                Step::InsertBefore => {
                    new.extend(made(1));
                    new.push(line.clone());
                }
            }
            said.push((lines, is_change));
        }
        let near = |number: usize| {
            let from = number.saturating_sub(context);
            said[from..(number + context + 1).min(said.len())].iter().any(|(_, is_change)| *is_change)
        };
        let mut hunks = String::new();
        let mut is_open = false;
        for (number, (lines, _)) in said.iter().enumerate() {
            if near(number) {
                if !is_open {
                    hunks.push_str("@@\n");
                }
                hunks.push_str(&format!("{}\n", lines.join("\n")));
            }
            is_open = near(number);
        }
        prop_assume!(!hunks.is_empty());
        let text = |lines: &[String]| {
            let joined = lines.join(end);
            if is_ended && !lines.is_empty() { format!("{joined}{end}") } else { joined }
        };
        prop_assert_eq!(after(&text(&old), hunks.trim_end_matches('\n')).unwrap(), text(&new));
    }
}
