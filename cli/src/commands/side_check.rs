//! Checks what a program wrote for a conflict: no markers are left, and no side is lost.

use std::collections::BTreeSet;

/// Whether a side may be missing in what a program wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// It may: a person decides.
    Loss,
    /// It may not.
    NoLoss,
}

/// Checks what a program made of the base and the two sides. `marked` is what the file began as.
///
/// # Errors
/// Why it does not settle the conflict.
pub(super) fn check_written(
    written: &[u8],
    marked: &[u8],
    [base, ours, theirs]: [&[u8]; 3],
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
        if is_lost(written, base, side, other) {
            return Err(format!("nothing of {name} is left; --allow-loss accepts that"));
        }
    }
    Ok(())
}

/// Returns whether nothing of what one side changed is left.
fn is_lost(written: &[u8], base: &[u8], side: &[u8], other: &[u8]) -> bool {
    if side == other || side == base {
        return false;
    }
    if written == other {
        return true;
    }
    let set = |text| lines(text).collect::<BTreeSet<_>>();
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
        check_written(written.as_bytes(), MARKED, [BASE, OURS, THEIRS], allowed)
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
            let checked =
                check_written(written.as_bytes(), short, [BASE, OURS, THEIRS], Allowed::Loss);
            assert!(checked.unwrap_err().contains("markers"), "{written}");
        }
        let marked = std::str::from_utf8(MARKED).unwrap();
        assert!(check(marked, Allowed::Loss).unwrap_err().contains("as it was"));
        let of_a_side: &[u8] = b"<<<<<<< in the docs\nours\n";
        let both: &[u8] = b"<<<<<<< in the docs\nours\ntheirs\n";
        let sides = [BASE, of_a_side, THEIRS];
        assert_eq!(check_written(both, MARKED, sides, Allowed::NoLoss), Ok(()));
    }

    #[test]
    fn a_removal_is_lost_where_everything_is_back() {
        let texts: [&[u8]; 3] = [b"a\nb\nc\n", b"a\nc\n", b"a\nB\nc\n"];
        let check = |written: &[u8]| check_written(written, b"", texts, Allowed::NoLoss);
        assert!(check(b"a\nb\nB\nc\n").is_err());
        assert!(check(b"a\nB, changed\nB\nc\n").is_ok());
    }
}
