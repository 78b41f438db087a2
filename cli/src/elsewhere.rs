//! What is done elsewhere than in this program, as several tables say it.
//!
//! Each line of a text is one thing to type, with what it is for behind it in parentheses, so that it can
//! be copied without these. Places such as `<RUN>` are filled with what the user has typed.

mod fill;
mod typed_options;

pub(crate) use config::nearest;
pub(crate) use fill::{as_shown, level, listed_tools, may_be_target, with_value, with_words};
pub(crate) use typed_options::{TypedLine, TypedOption, split, with_options};

/// What stops a run.
pub(crate) const STOP: &str = "Ctrl-C in the terminal of the run";

/// What changes the settings.
pub(crate) const SETTINGS: &str = "regatta config (lists the settings)\n<SETTINGS FILE> (changes them; its keys: regatta schema settings)";

/// What installs a new version.
pub(crate) const UPDATE: &str =
    "cargo install --locked --path cli --force (in a checkout of the new version)";

/// Checks that a command that is copied from a text ends without a comma.
#[cfg(test)]
pub(crate) fn assert_can_be_copied(text: &str) {
    for line in text.lines() {
        let shown = as_shown(line).join("\n");
        let mut outside = String::new();
        let (mut depth, mut is_quoted) = (0, false);
        for letter in shown.chars() {
            match letter {
                '\'' | '`' => is_quoted = !is_quoted,
                '(' if !is_quoted => depth += 1,
                ')' if !is_quoted => depth -= 1,
                letter if depth == 0 && !is_quoted => outside.push(letter),
                _ => {}
            }
        }
        let command = outside.split(": ").next().unwrap_or_default();
        assert!(!command.contains(", ") && !command.contains(';'), "{line}");
        assert!(!line.starts_with("nothing"), "{line}");
    }
}
