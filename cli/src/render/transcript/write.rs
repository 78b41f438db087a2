//! What there is to tell of a session, as lines.

use protocol::{SessionEntry, Timestamp};

use super::super::figures::clock;
use super::super::paint::Meaning;
use super::super::view::View;
use super::call;
use super::pieces::{Piece, pieces};
use super::text::{Part, lines};

/// How many lines are shown of what was asked, thought or said.
const OF_WORDS: usize = 200;

/// Returns what was said and done in a session as lines without line breaks, safe to print.
#[must_use]
pub fn transcript(entries: &[(Timestamp, &SessionEntry)], view: &View) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    let mut before = None;
    for (at, piece) in pieces(entries) {
        let calls = matches!(piece, Piece::Call { .. });
        // Calls stand together; everything else has air around it.
        if before.is_some_and(|before| !(before && calls)) {
            told.push(String::new());
        }
        before = Some(calls);
        told.extend(lines_of(at, &piece, view));
    }
    told
}

fn lines_of(at: Timestamp, piece: &Piece<'_>, view: &View) -> Vec<String> {
    let words = |title: &str, text: &str, meaning: Meaning| {
        let time = view.palette.paint(Meaning::Aside, &clock(at, &view.zone));
        let mut told = vec![format!("{}  {time}", view.palette.paint(Meaning::Heading, title))];
        let words = lines(text, Part::First(OF_WORDS)).into_iter();
        let words = words.map(|line| view.palette.paint(meaning, &line));
        told.extend(words.map(|line| format!("  {line}").trim_end().to_owned()));
        told
    };
    match piece {
        Piece::Prompt(text) => words("prompt", text, Meaning::Neutral),
        Piece::Reminder(text) => words("reminder", text, Meaning::Kept),
        Piece::Thought(text) => words("thinks", text, Meaning::Aside),
        Piece::Said(text) => words("says", text, Meaning::Neutral),
        Piece::Broken(why) => words("its answer is not whole", why, Meaning::Bad),
        Piece::Call { call, result } => call::told(call, *result, view.palette, view.room),
    }
}

#[cfg(test)]
mod tests;
