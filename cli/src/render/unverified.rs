//! Work that was not verified, or has failed its verification: why, and the end of the output.

use std::collections::BTreeMap;

use protocol::{Landed, Unverified, UnverifiedCause};

use super::printable::{one_line, visible_line};

/// How many verifications are shown.
const SHOWN: usize = 5;

/// How many lines of the output of each are shown.
const LINES: usize = 8;

/// Returns why work is not verified, as one line.
#[must_use]
pub fn unverified_text(unverified: &Unverified) -> String {
    let Unverified { cause, with, partners, message, .. } = unverified;
    match (cause, with.is_empty()) {
        (UnverifiedCause::Work, false) => {
            let with: Vec<_> = with.iter().map(ToString::to_string).collect();
            let with = with.join(", ");
            one_line(&format!("together with {with}{}: {message}", partners.text()))
        }
        (UnverifiedCause::Work, true)
        | (UnverifiedCause::Start | UnverifiedCause::Verification, _) => {
            one_line(&unverified.text())
        }
    }
}

/// Returns why work is not verified, if that is why it did not land.
#[must_use]
pub fn unverified(landing: Option<&Landed>) -> Option<&Unverified> {
    match landing {
        Some(Landed::Unverified(unverified)) => Some(unverified),
        _ => None,
    }
}

/// Returns lines with the end of the output of each verification that has failed, and the file with
/// all of it. Tasks that are kept for the same reason are shown together.
#[must_use]
pub fn unverified_lines(kept: &[(String, &Unverified)]) -> Vec<String> {
    let mut groups: Vec<(Vec<&str>, &Unverified)> = Vec::new();
    let mut places: BTreeMap<(&str, Option<&String>), usize> = BTreeMap::new();
    for (label, unverified) in kept {
        let key = (unverified.message.as_str(), unverified.output.as_ref());
        match places.get(&key) {
            Some(at) if unverified.cause != UnverifiedCause::Work => groups[*at].0.push(label),
            _ => {
                places.insert(key, groups.len());
                groups.push((vec![label], unverified));
            }
        }
    }
    let mut lines = Vec::new();
    for (tasks, unverified) in groups.iter().take(SHOWN) {
        let tasks = match tasks.as_slice() {
            [task] => (*task).to_owned(),
            [task, rest @ ..] => format!("{task} and {} more", rest.len()),
            [] => continue,
        };
        lines.push(format!("unverified  {tasks}: {}", unverified_text(unverified)));
        let output: Vec<_> = unverified.end.lines().map(visible_line).collect();
        let shown = output.len().saturating_sub(LINES);
        lines.extend(output[shown..].iter().map(|line| format!("  {line}").trim_end().to_owned()));
        if let Some(path) = &unverified.output {
            lines.push(format!("  all of it: {}", one_line(path)));
        }
    }
    if groups.len() > SHOWN {
        lines.push(format!("unverified  {} more", groups.len() - SHOWN));
    }
    lines
}

#[cfg(test)]
mod tests {
    use protocol::Partners;

    use super::*;

    fn unverified(cause: UnverifiedCause, with: &[&str], output: &str) -> Unverified {
        Unverified {
            cause,
            with: with.iter().map(|task| task.parse().unwrap()).collect(),
            partners: if with.len() > 1 { Partners::Unknown } else { Partners::All },
            message: "`make` ended with code 2".to_owned(),
            output: Some(format!("/o/{output}.log")),
            end: (1..=20).map(|line| format!("line {line}\u{1b}[2J\n")).collect(),
        }
    }

    #[test]
    fn each_failure_is_shown_once_with_the_end_of_its_output() {
        let alone = unverified(UnverifiedCause::Work, &[], "1");
        let pair = unverified(UnverifiedCause::Work, &["a"], "1");
        let lines = unverified_lines(&[("b".to_owned(), &alone), ("c".to_owned(), &pair)]);
        assert_eq!(lines.len(), 20);
        assert_eq!(lines[0], "unverified  b: `make` ended with code 2");
        assert!(lines[1].starts_with("  line 13"), "{}", lines[1]);
        assert!(!lines[1].contains('\u{1b}'));
        assert_eq!(lines[9], "  all of it: /o/1.log");
        assert_eq!(lines[10], "unverified  c: together with a: `make` ended with code 2");
        let more = unverified(UnverifiedCause::Work, &["a", "b"], "1");
        let text = "together with a, b and perhaps others: `make` ended with code 2";
        assert_eq!(unverified_text(&more), text);
        let start = unverified(UnverifiedCause::Start, &[], "1");
        let kept: Vec<_> = (0..40).map(|task| (format!("t{task}"), &start)).collect();
        let lines = unverified_lines(&kept);
        assert!(lines[0].starts_with("unverified  t0 and 39 more: the verification"), "{lines:?}");
        assert_eq!(lines.len(), 10);
    }
}
