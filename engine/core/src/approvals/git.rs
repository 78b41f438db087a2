//! The options of git before its subcommand.

use crate::ports::ShellWord;

const FLAGS: &[&str] = &[
    "-p",
    "-P",
    "--bare",
    "--glob-pathspecs",
    "--icase-pathspecs",
    "--literal-pathspecs",
    "--no-advice",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-pager",
    "--no-replace-objects",
    "--noglob-pathspecs",
    "--paginate",
];

const VALUES: &[&str] = &["-C", "-c", "--git-dir", "--namespace", "--work-tree"];

/// Returns how many of the arguments are options before the subcommand, and whether that is certain.
pub(super) fn options(arguments: &[&ShellWord]) -> (usize, bool) {
    let mut at = 0;
    while let Some(text) = arguments.get(at).and_then(|word| word.literal()) {
        let name = text.split('=').next().unwrap_or(text);
        if !text.starts_with('-') {
            break;
        } else if FLAGS.contains(&text) {
            at += 1;
        } else if !VALUES.contains(&name) {
            return (at, false);
        } else if name != text {
            at += 1;
        } else {
            match arguments.get(at + 1).map(|value| value.literal()) {
                // It may give a subcommand another name.
                Some(Some(value)) if !(text == "-c" && value.starts_with("alias.")) => at += 2,
                Some(_) => return (at, false),
                None => return (at + 1, true),
            }
        }
    }
    (at, true)
}
