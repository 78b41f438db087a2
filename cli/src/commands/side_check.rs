//! Checks what a program wrote for a conflict: no markers are left, and no side is lost.

use std::collections::BTreeSet;

use protocol::ConflictHunk;

/// Whether a side may be missing in what a program wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// It may: a person decides.
    Loss,
    /// It may not.
    NoLoss,
}

/// Checks what a program made of the base and the two sides. `marked` is what the file began as, and
/// `hunks` are the places at which both sides changed the same lines.
///
/// # Errors
/// Why it does not settle the conflict.
pub(super) fn check_written(
    written: &[u8],
    marked: &[u8],
    ([base, ours, theirs], hunks): ([&[u8]; 3], &[ConflictHunk]),
    allowed: Allowed,
) -> Result<(), String> {
    let sides = [base, ours, theirs];
    if written == marked && ours != marked {
        return Err("it left the file as it was".to_owned());
    }
    let known: BTreeSet<&[u8]> = sides.iter().flat_map(|text| lines(text)).collect();
    // Whatever length the markers of this file have.
    let marks: BTreeSet<&[u8]> = lines(marked).filter(|line| !known.contains(line)).collect();
    let is_marker = |line: &&[u8]| {
        let signs = [b"<<<<<<<", b">>>>>>>", b"|||||||"];
        marks.contains(line) || signs.iter().any(|sign| line.starts_with(*sign))
    };
    if lines(written).filter(is_marker).any(|line| !known.contains(line)) {
        return Err("markers of a conflict are left in the file".to_owned());
    }
    if allowed == Allowed::Loss {
        return Ok(());
    }
    for (name, side, other) in [("ours", ours, theirs), ("theirs", theirs, ours)] {
        // Where the places are known, each of them says more. Binary files have no lines to look for.
        let by_lines = hunks.is_empty() && !sides.iter().any(|text| text.contains(&0));
        let is_lost = match by_lines {
            true => is_lost(written, base, side, other),
            false => side != other && side != base && (written == other || written == base),
        };
        if is_lost {
            return Err(format!("nothing of {name} is left; --allow-loss accepts that"));
        }
    }
    let places =
        Places { written: set(written), base: set(base), ours: set(ours), theirs: set(theirs) };
    for (number, hunk) in hunks.iter().enumerate() {
        if let Some(name) = places.lost(hunk) {
            let place =
                format!("conflict {} of {}, at line {}", number + 1, hunks.len(), hunk.line);
            return Err(format!("nothing of {name} is left of {place}; --allow-loss accepts that"));
        }
    }
    Ok(())
}

/// The lines of a whole file.
struct Places<'a> {
    written: BTreeSet<&'a [u8]>,
    base: BTreeSet<&'a [u8]>,
    ours: BTreeSet<&'a [u8]>,
    theirs: BTreeSet<&'a [u8]>,
}

impl<'a> Places<'a> {
    /// Returns the side of which nothing is left that it changed at one place. What one side made of
    /// the lines of another counts, if it has a word of it.
    fn lost(&self, hunk: &ConflictHunk) -> Option<&'static str> {
        let sides = [
            ("ours", &hunk.ours, &self.ours, &hunk.theirs, &self.theirs),
            ("theirs", &hunk.theirs, &self.theirs, &hunk.ours, &self.ours),
        ];
        let lost = sides.into_iter().find(|(_, side, whole, other, whole_other)| {
            self.is_lost((side, whole), (other, whole_other), &hunk.base)
        });
        lost.map(|(name, ..)| name)
    }

    fn is_lost(
        &self,
        (side, whole): (&[Vec<u8>], &BTreeSet<&[u8]>),
        (other, whole_other): (&[Vec<u8>], &BTreeSet<&[u8]>),
        base: &[Vec<u8>],
    ) -> bool {
        let [side, other, base] = [side, other, base].map(lines_of);
        if side == other || side == base {
            return false;
        }
        // A line that is elsewhere as well shows nothing.
        let own = |line: &&&[u8]| !self.base.contains(*line) && !whole_other.contains(*line);
        let own: Vec<&[u8]> = side.iter().filter(own).copied().collect();
        if !own.is_empty() {
            let others: BTreeSet<&[u8]> =
                base.iter().chain(&other).flat_map(|line| split_words(line)).collect();
            let own_words: BTreeSet<&[u8]> = own
                .iter()
                .flat_map(|line| split_words(line))
                .filter(|word| !others.contains(word))
                .collect();
            let is_of_side = |line: &&[u8]| {
                own_words.is_empty() || split_words(line).any(|word| own_words.contains(word))
            };
            return !own.iter().any(|line| self.written.contains(line))
                && !self.new_lines().any(|line| is_of_side(&line));
        }
        let mut gone = base.iter().filter(|line| !whole.contains(*line)).peekable();
        gone.peek().is_some() && gone.all(|line| self.written.contains(line))
    }

    /// Returns the written lines that no version has.
    fn new_lines(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        let known = [&self.base, &self.ours, &self.theirs];
        self.written
            .iter()
            .copied()
            .filter(move |line| !known.iter().any(|text| text.contains(line)))
    }
}

/// Returns the lines of one side of a place that are not blank.
fn lines_of(side: &[Vec<u8>]) -> Vec<&[u8]> {
    side.iter().map(|line| line.trim_ascii()).filter(|line| !line.is_empty()).collect()
}

/// Returns the words of a line.
fn split_words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    line.split(move |byte| !is_of_word(byte)).filter(|word| !word.is_empty())
}

/// Returns the different lines of a text.
fn set(text: &[u8]) -> BTreeSet<&[u8]> {
    lines(text).collect()
}

/// Returns whether nothing of what one side changed is left.
fn is_lost(written: &[u8], base: &[u8], side: &[u8], other: &[u8]) -> bool {
    if side == other || side == base {
        return false;
    }
    if written == other {
        return true;
    }
    let (written, base, side, other) = (set(written), set(base), set(side), set(other));
    let mut own = side.iter().filter(|line| !base.contains(*line) && !other.contains(*line));
    if let Some(first) = own.next() {
        return !written.contains(first) && !own.any(|line| written.contains(line));
    }
    let mut gone = base.iter().filter(|line| !side.contains(*line)).peekable();
    gone.peek().is_some() && gone.all(|line| written.contains(line))
}

/// Returns the lines that are not blank.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &[u8] = b"a\nb\nc\n";
    const OURS: &[u8] = b"a\nours\nc\n";
    const THEIRS: &[u8] = b"a\ntheirs\nc\n";
    const MARKED: &[u8] = b"a\n<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\nc\n";

    fn check(written: &str, allowed: Allowed) -> Result<(), String> {
        check_written(written.as_bytes(), MARKED, ([BASE, OURS, THEIRS], &[]), allowed)
    }

    fn hunk([base, ours, theirs]: [&str; 3]) -> ConflictHunk {
        let lines = |text: &str| {
            text.split_inclusive('\n').map(|line| line.as_bytes().to_vec()).collect::<Vec<_>>()
        };
        let [base, ours, theirs] = [base, ours, theirs].map(lines);
        ConflictHunk { line: 5, base, ours, theirs, ..ConflictHunk::default() }
    }

    #[test]
    fn a_side_that_is_lost_at_one_of_several_places_is_told() {
        let texts: [&[u8]; 3] =
            [b"1\nx\n2\ny(b);\n", b"1\nA1\n2\ny(b, A5);\n", b"1\nB1\n2\ny(b, B5);\n"];
        let hunks =
            [hunk(["x\n", "A1\n", "B1\n"]), hunk(["y(b);\n", "y(b, A5);\n", "y(b, B5);\n"])];
        let check = |written: &str, allowed| {
            check_written(written.as_bytes(), b"", (texts, &hunks), allowed)
        };
        let both = "1\nA1\nB1\n2\ny(b, A5);\ny(b, B5);\n";
        assert_eq!(check(both, Allowed::NoLoss), Ok(()));
        // One line made of both has a word of each.
        assert_eq!(check("1\nA1\nB1\n2\ny(b, A5, B5);\n", Allowed::NoLoss), Ok(()));
        for (written, side, place) in [
            ("1\nA1\nB1\n2\ny(b, A5);\n", "theirs", "2 of 2"),
            ("1\nB1\n2\ny(b, A5, B5);\n", "ours", "1 of 2"),
            ("1\nA1\nB1\n2\ny(b, B5 + 1);\n", "ours", "2 of 2"),
        ] {
            let why = check(written, Allowed::NoLoss).unwrap_err();
            let said = format!("nothing of {side} is left of conflict {place}");
            assert!(why.contains(&said), "{why}");
            assert_eq!(check(written, Allowed::Loss), Ok(()));
        }
    }

    #[test]
    fn a_removal_that_is_lost_at_one_of_several_places_is_told() {
        let texts: [&[u8]; 3] = [b"a\nb\n2\nc\n", b"a\n2\nC1\n", b"a\nB\n2\nC2\n"];
        let hunks = [hunk(["b\n", "", "B\n"]), hunk(["c\n", "C1\n", "C2\n"])];
        let check = |written: &[u8]| check_written(written, b"", (texts, &hunks), Allowed::NoLoss);
        assert_eq!(check(b"a\nB\n2\nC1\nC2\n"), Ok(()));
        assert!(check(b"a\nb\nB\n2\nC1\nC2\n").unwrap_err().contains("ours is left of conflict 1"));
    }

    #[test]
    fn both_sides_must_be_there_unless_a_loss_is_allowed() {
        assert_eq!(check("a\nours theirs\nours\ntheirs\nc\n", Allowed::NoLoss), Ok(()));
        for (written, lost) in
            [("a\nours\nc\n", "theirs"), ("a\ntheirs\nx\nc\n", "ours"), ("x\n", "ours")]
        {
            let why = check(written, Allowed::NoLoss).unwrap_err();
            assert!(why.contains(&format!("nothing of {lost} is left")), "{why}");
            assert_eq!(check(written, Allowed::Loss), Ok(()));
        }
    }

    #[test]
    fn markers_that_no_side_has_are_refused_always() {
        for written in ["a\n<<<<<<< ours\nours\ntheirs\n", "ours\ntheirs\n>>>>>>> x\n"] {
            assert!(check(written, Allowed::Loss).unwrap_err().contains("markers"));
        }
        let short: &[u8] = b"a\n<< ours\nours\n==\ntheirs\n>> theirs\nc\n";
        for written in ["ours\n==\ntheirs\n", "ours\ntheirs\n>> theirs\n"] {
            let checked = check_written(
                written.as_bytes(),
                short,
                ([BASE, OURS, THEIRS], &[]),
                Allowed::Loss,
            );
            assert!(checked.unwrap_err().contains("markers"), "{written}");
        }
        let marked = std::str::from_utf8(MARKED).unwrap();
        assert!(check(marked, Allowed::Loss).unwrap_err().contains("as it was"));
        let of_a_side: &[u8] = b"<<<<<<< in the docs\nours\n";
        let both: &[u8] = b"<<<<<<< in the docs\nours\ntheirs\n";
        let sides = [BASE, of_a_side, THEIRS];
        assert_eq!(check_written(both, MARKED, (sides, &[]), Allowed::NoLoss), Ok(()));
    }

    #[test]
    fn a_removal_is_lost_where_everything_is_back() {
        let texts: [&[u8]; 3] = [b"a\nb\nc\n", b"a\nc\n", b"a\nB\nc\n"];
        let check = |written: &[u8]| check_written(written, b"", (texts, &[]), Allowed::NoLoss);
        assert!(check(b"a\nb\nB\nc\n").is_err());
        assert!(check(b"a\nB, changed\nB\nc\n").is_ok());
    }
}
