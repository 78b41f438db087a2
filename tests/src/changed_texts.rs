//! A model of what `edit` and `apply_patch` make of texts without blanks, as simple as it can be. It knows
//! nothing of the tools.

use std::collections::BTreeMap;

/// A piece to replace.
#[derive(Clone, Debug)]
pub struct PieceEdit {
    /// What is there.
    pub old: String,
    /// What is to be there.
    pub new: String,
    /// Whether each place is meant.
    pub everywhere: bool,
}

/// Returns a text after its edits; `None` if they are refused.
#[must_use]
pub fn edited(text: &str, edits: &[PieceEdit]) -> Option<String> {
    // What is at each byte of the text: itself, or the piece that begins there, or nothing in a piece.
    let mut out: Vec<Option<&str>> = (0..text.len()).map(|at| text.get(at..=at)).collect();
    let mut taken = vec![false; text.len()];
    for PieceEdit { old, new, everywhere } in edits {
        let all = (0..text.len()).filter(|at| text[*at..].starts_with(old.as_str()));
        let mut places: Vec<usize> = all.collect();
        if *everywhere {
            let mut free = 0;
            places.retain(|at| {
                *at >= free && {
                    free = at + old.len();
                    true
                }
            });
        } else if places.len() > 1 {
            return None;
        }
        if old.is_empty() || places.is_empty() {
            return None;
        }
        for begin in places {
            for at in begin..begin + old.len() {
                if std::mem::replace(&mut taken[at], true) {
                    return None;
                }
                out[at] = None;
            }
            out[begin] = Some(new);
        }
    }
    let after: String = out.into_iter().flatten().collect();
    (after != text).then_some(after)
}

/// The change of one file by a patch.
#[derive(Clone, Debug)]
pub enum PatchStep {
    /// A new file with these lines.
    Add(String, Vec<String>),
    /// A file that goes.
    Delete(String),
    /// A file that changes, and may have another name then.
    Update(String, Option<String>, Vec<PatchHunk>),
}

/// A part of a file that changes.
#[derive(Clone, Debug)]
pub struct PatchHunk {
    /// A line above it.
    pub context: Option<String>,
    /// Its lines, each with what becomes of it: a blank, `-` or `+`.
    pub lines: Vec<(char, String)>,
    /// Whether it is at the end.
    pub at_end: bool,
}

/// Returns the text of a patch.
#[must_use]
pub fn patch_text(steps: &[PatchStep]) -> String {
    let mut text = "*** Begin Patch\n".to_owned();
    for step in steps {
        match step {
            PatchStep::Add(path, lines) => {
                text += &format!("*** Add File: {path}\n");
                lines.iter().for_each(|line| text += &format!("+{line}\n"));
            }
            PatchStep::Delete(path) => text += &format!("*** Delete File: {path}\n"),
            PatchStep::Update(path, to, hunks) => {
                text += &format!("*** Update File: {path}\n");
                to.iter().for_each(|to| text += &format!("*** Move to: {to}\n"));
                for PatchHunk { context, lines, at_end } in hunks {
                    text += "@@";
                    context.iter().for_each(|line| text += &format!(" {line}"));
                    text.push('\n');
                    lines.iter().for_each(|(what, line)| text += &format!("{what}{line}\n"));
                    text += if *at_end { "*** End of File\n" } else { "" };
                }
            }
        }
    }
    text + "*** End Patch"
}

/// Returns files after a patch; `None` if it is refused.
#[must_use]
pub fn patched(
    before: &BTreeMap<String, String>,
    steps: &[PatchStep],
) -> Option<BTreeMap<String, String>> {
    let mut files = before.clone();
    for step in steps {
        match step {
            PatchStep::Add(path, lines) => {
                let text = lines.iter().map(|line| format!("{line}\n")).collect();
                if files.insert(path.clone(), text).is_some() {
                    return None;
                }
            }
            PatchStep::Delete(path) => drop(files.remove(path)?),
            PatchStep::Update(path, to, hunks) => {
                let text = changed(files.get(path)?, hunks)?;
                // A file is no place to move it to, also not its own.
                if to.as_ref().is_some_and(|to| files.contains_key(to)) {
                    return None;
                }
                files.remove(path);
                files.insert(to.as_ref().unwrap_or(path).clone(), text);
            }
        }
    }
    (files != *before).then_some(files)
}

/// Returns a text after its hunks, whose lines are sought behind the hunk before.
fn changed(text: &str, hunks: &[PatchHunk]) -> Option<String> {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let has_last_end = text.is_empty() || text.ends_with('\n');
    let lines: Vec<&str> = text.lines().collect();
    let (mut out, mut done): (Vec<&str>, usize) = (Vec::new(), 0);
    for PatchHunk { context, lines: hunk, at_end } in hunks {
        let mut from = done;
        if let Some(context) = context {
            from += lines[from..].iter().position(|line| line == context)? + 1;
        }
        let changes = hunk.iter().any(|(what, _)| *what != ' ');
        let old = hunk.iter().filter(|(what, _)| *what != '+').map(|(_, line)| line.as_str());
        let old: Vec<&str> = old.collect();
        let begin = match (old.is_empty(), *at_end || context.is_none()) {
            (true, true) => lines.len(),
            (true, false) => from,
            (false, _) => (from..=lines.len().checked_sub(old.len())?).find(|at| {
                lines[*at..].starts_with(&old) && (!at_end || at + old.len() == lines.len())
            })?,
        };
        if !changes {
            return None;
        }
        out.extend(&lines[done..begin]);
        out.extend(hunk.iter().filter(|(what, _)| *what != '-').map(|(_, line)| line.as_str()));
        done = begin + old.len();
    }
    out.extend(&lines[done..]);
    let last = if has_last_end && !out.is_empty() { end } else { "" };
    Some(out.join(end) + last)
}
