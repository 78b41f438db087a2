//! Shortens the labels of several tasks or repositories so that each still differs from the others.

use std::collections::{BTreeMap, BTreeSet};

use unicode_width::UnicodeWidthChar;

use super::printable::{cut, width};

/// The fewest columns in which labels differ.
const NARROWEST: usize = 8;

/// Returns the labels, each at most `room` columns wide. Longer ones are shortened to their beginning
/// and a longer end, or, if those would not tell them apart from their neighbours in alphabetical
/// order, to their beginning and the part in which they differ.
#[must_use]
pub fn shorten(labels: &[String], room: usize) -> Vec<String> {
    if room < NARROWEST {
        return labels.iter().map(|label| cut(label, room)).collect();
    }
    let sorted: Vec<&str> =
        labels.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
    let (long, fitting): (Vec<_>, Vec<_>) =
        sorted.iter().enumerate().partition(|(_, label)| width(label) > room);
    let mut taken: BTreeSet<String> =
        fitting.iter().map(|(_, label)| (**label).to_owned()).collect();
    let mut short: BTreeMap<&str, String> = BTreeMap::new();
    for (at, label) in long {
        let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
        let neighbours = neighbours.filter_map(|at| sorted.get(at));
        let differs = neighbours.map(|other| common(label, other)).max().unwrap_or(0);
        short.insert(label, numbered(shortened(label, differs, room), room, &mut taken));
    }
    let shown = |label: &String| short.get(label.as_str()).unwrap_or(label).clone();
    labels.iter().map(shown).collect()
}

/// Returns a free text: `text`, or else its beginning with a number.
fn numbered(text: String, room: usize, taken: &mut BTreeSet<String>) -> String {
    let mut free = text.clone();
    let mut number = 1;
    while !taken.insert(free.clone()) && number < 1000 {
        number += 1;
        let suffix = format!("…{number}");
        free = format!("{}{suffix}", beginning(&text, room.saturating_sub(width(&suffix))));
    }
    free
}

/// How many columns a part may give up so that it ends at a `/`.
const TO_SLASH: usize = 8;

/// Returns a label that is too long, shortened. Its first `differs` bytes are those that it has in
/// common with another one.
fn shortened(label: &str, differs: usize, room: usize) -> String {
    let head = folders(beginning(label, room / 3));
    let mut tail = ending(label, room - 1 - width(head));
    if let Some(slash) = tail.find('/')
        && width(&tail[..slash]) <= TO_SLASH
        && slash + 1 < tail.len()
    {
        tail = &tail[slash..];
    }
    let part = label[..differs].rfind('/').map(|slash| slash + 1);
    // A name without folders is told apart by less than a whole part.
    if differs < head.len() || label.len() - tail.len() <= part.unwrap_or(differs) {
        return format!("{head}…{tail}");
    }
    let part = part.unwrap_or(0);
    let head = folders(beginning(label, room / 4));
    // The gap and the end take a column each.
    let left = room - width(head) - 2;
    // The part begins at a `/`, or at most a third of it stands before the difference.
    let before = match width(&label[part..differs]) < left / 3 {
        true => part.saturating_sub(1),
        false => differs - ending(&label[..differs], left / 3).len(),
    };
    let from = before.max(head.len());
    let middle = beginning(&label[from..], left);
    let until = from + middle.len();
    let gap = if from > head.len() { "…" } else { "" };
    let rest = if until < label.len() { "…" } else { "" };
    format!("{head}{gap}{middle}{rest}")
}

/// Returns the beginning of a label without an incomplete part after its last `/`, if that is short.
fn folders(head: &str) -> &str {
    match head.rfind('/') {
        Some(slash) if width(&head[slash + 1..]) <= TO_SLASH => &head[..=slash],
        Some(_) | None => head,
    }
}

/// Returns how many bytes two labels have in common at their beginning, in whole characters.
fn common(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    pairs.take_while(|(one, other)| one == other).map(|(letter, _)| letter.len_utf8()).sum()
}

/// Returns the longest beginning of `text` that is at most `room` columns wide.
fn beginning(text: &str, room: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, letter)| {
        used += letter.width().unwrap_or(0);
        used > room
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// Returns the longest end of `text` that is at most `room` columns wide.
fn ending(text: &str, room: usize) -> &str {
    let mut used = 0;
    let start = text.char_indices().rev().find(|(_, letter)| {
        used += letter.width().unwrap_or(0);
        used > room
    });
    start.map_or(text, |(at, letter)| &text[at + letter.len_utf8()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(labels: &[&str], room: usize) -> Vec<String> {
        let labels: Vec<_> = labels.iter().map(|label| (*label).to_owned()).collect();
        shorten(&labels, room)
    }

    #[test]
    fn a_long_label_keeps_its_beginning_and_its_end() {
        let label = "engine/core/src/request/policy/retry_after.rs";
        assert_eq!(short(&[label], 80), [label]);
        assert_eq!(short(&[label], 32), ["engine/…/policy/retry_after.rs"]);
        assert_eq!(short(&[label], 24), ["engine/…/retry_after.rs"]);
    }

    #[test]
    fn labels_that_differ_in_the_middle_are_shortened_to_what_tells_them_apart() {
        let labels = [
            "packages/the-first-service/src/generated/client/index.ts",
            "packages/the-second-service/src/generated/client/index.ts",
            "packages/the-third-service/src/generated/client/index.ts",
        ];
        let short = short(&labels, 24);
        assert_eq!(short.iter().collect::<BTreeSet<_>>().len(), 3, "{short:?}");
        for (label, word) in short.iter().zip(["first", "second", "third"]) {
            assert!(label.contains(&format!("/the-{}", &word[..3])), "{label} says {word}");
            assert!(width(label) <= 24, "{label}");
        }
    }

    #[test]
    fn shortened_labels_are_never_equal_and_never_too_wide() {
        let parts =
            ["src", "tests", "日本語のフォルダ", "generated", "a", "b", "mod.rs", "e\u{301}"];
        let mut labels = BTreeSet::new();
        let mut seed = 7_u64;
        for _ in 0..600 {
            let mut label = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                label.push_str(parts[usize::try_from(seed >> 61).unwrap_or(0)]);
                label.push('/');
            }
            labels.insert(label);
        }
        let labels: Vec<String> = labels.into_iter().collect();
        for room in [12, 24, 32, 60] {
            let short = shorten(&labels, room);
            assert!(short.iter().all(|label| width(label) <= room), "{room}");
            assert_eq!(short.iter().collect::<BTreeSet<_>>().len(), labels.len(), "{room}");
        }
        for room in 0..12 {
            assert!(shorten(&labels, room).iter().all(|label| width(label) <= room), "{room}");
        }
    }

    #[test]
    fn equal_labels_stay_equal() {
        let label = "x".repeat(40);
        let both = short(&[&label, &label], 10);
        assert_eq!(both[0], both[1]);
    }
}
