//! Options of other programs in the commands other than `regatta run` and a session.

use crate::elsewhere::{SETTINGS, with_value};

/// Options of other programs, with what does the same in a command that is neither `regatta run` nor a
/// session, or behind `--each`. None of these removes more than was asked for.
const OPTIONS_OF: &[(&str, &str, &str)] = &[
    // As xargs has them: what stands behind `run --each` is from there.
    ("run --each", "-d=\\n --delimiter=\\n", "leave it out: each line is an item"),
    ("run --each", "-d=\\0 --delimiter=\\0", "--null"),
    ("run --each", "-d", "tr <SIGN:','> '\\n' | regatta run --each - …"),
    ("run --each", "-r", "leave it out: without items nothing is run"),
    ("run --each", "-s --max-chars --size", "--chunk N (so many items in a task)"),
    ("run --each", "-x --exit", "--chunk N (so many items in a task)"),
    ("run --each", "-e", "leave it out: each line is an item"),
    ("run --each", "-t", "-v"),
    ("run --each", "-p", "--dry-run (lists the tasks)"),
    ("run --each", "-o --open-tty", "leave it out: a command has no terminal"),
    ("run --each", "-i", "{{item}} (in the command or the prompt)"),
    ("run --each", "-l", "--chunk <N> (so many items in a task)"),
    ("run --each", "-n", "--jobs <N>\n--chunk <N> (so many items in a task)"),
    ("runs", "--last --max-count --head", "-n <N>"),
    ("runs list", "--last --max-count --head", "-n <N>"),
    (
        "runs retry",
        "-m --merge --onto --branch",
        "leave it out: it lands where its run has landed\nregatta apply RUN --branch NAME (lands kept work there)",
    ),
    ("runs", "-a", "--all"),
    ("runs list", "-a", "--all"),
    ("runs", "-w -f --watch --follow", "regatta logs @ --follow"),
    ("runs show", "-w -f --watch --follow", "regatta logs RUN --follow"),
    ("logs", "-w -F --watch --retry", "--follow"),
    ("logs", "-n --tail --lines", "regatta logs RUN | tail -n <N>"),
    ("apply", "-f --force", "--theirs (takes the version of the task where it conflicts)"),
    (
        "apply",
        "-m --merge --onto",
        "--branch NAME (without it, the work lands where its run lands)",
    ),
    ("apply", "-a --all", "--kept (lands unfinished and unverified work, too)"),
    ("apply", "--commit", "git commit (after it)"),
    ("apply", "-n", "--dry-run"),
    ("apply", "-R --reverse --revert", "regatta undo RUN"),
    ("apply", "-3 --3way --three-way", "leave it out: later edits are merged"),
    (
        "apply",
        "--abort --quit",
        "leave it out: a landing is whole or not at all\nregatta undo RUN (takes it back)",
    ),
    ("apply", "--continue --skip", "regatta conflicts RUN\nregatta apply RUN (lands what is left)"),
    ("config", "--get", "regatta config <KEY>"),
    ("config", "-l --list --all --show", "regatta config"),
    ("config", "-e --edit --set --unset --add --global --local --system --file", SETTINGS),
    (
        "discard",
        "-a --all --kept",
        "leave it out: without a task it removes the work of the whole run",
    ),
    ("login", "--provider --name", "regatta login <PROVIDER>"),
    ("logout", "--provider --name", "regatta logout <PROVIDER>"),
    ("results", "--failed --errors --failures", "--only failed"),
    ("results", "--done --success --ok", "--only done"),
    ("trust", "--remove --delete --forget --untrust --reset", "--revoke <NAME>"),
    (
        "undo",
        "-f --force --hard",
        "leave it out: later edits are merged, and a file that conflicts stays",
    ),
    ("undo", "-n", "--dry-run"),
    ("discard", "-f --force -y --yes", "leave it out: it removes without a question"),
    ("discard", "-n", "--dry-run"),
    ("diff", "--name-only --name-status --numstat --shortstat --summary", "--stat"),
    ("diff", "-o --output --output-file --out", "regatta diff RUN > <FILE>"),
    ("logs", "-o --output --output-file --out", "regatta logs RUN > <FILE>"),
    ("results", "-o --output --output-file --out", "regatta results RUN > <FILE>"),
    ("results", "--format --output-format", "--json"),
    ("diff", "-p -u --patch --unified", "leave it out: it prints a patch"),
    ("gc", "-a --all", "leave it out: it is for all repositories"),
    (
        "gc",
        "-f --force -y --yes --aggressive --prune",
        "leave it out: it removes without a question what has landed or was discarded, and is old",
    ),
    ("gc", "-n", "--dry-run"),
];

/// Returns what does here what an option of other programs does there, in this command, such as `logs` or
/// `runs show`. `value` is what was typed as its value.
pub(in crate::args) fn option_of(
    command: &str,
    word: &str,
    value: Option<&str>,
) -> Option<Vec<String>> {
    let is_it = |(of, names, _): &&(&str, &str, &str)| {
        let with_value = || value.map(|value| format!("{word}={value}"));
        let is_it = |name: &str| name == word || with_value().as_deref() == Some(name);
        *of == command && names.split(' ').any(is_it)
    };
    OPTIONS_OF.iter().find(is_it).map(|(.., instead)| with_value(instead, value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::options::tests::taken;
    use super::*;
    use crate::elsewhere::assert_can_be_copied;

    #[test]
    fn no_option_of_the_table_is_one_of_its_command_and_each_stands_once() {
        let mut seen = BTreeSet::new();
        for (name, options, instead) in OPTIONS_OF {
            let taken = taken(name.trim_end_matches(" --each"));
            for option in options.split(' ') {
                assert!(!taken.contains(option), "{name} {option}");
                assert!(seen.insert((name, option)), "{name} {option}");
            }
            assert_can_be_copied(instead);
            let option = instead.split([' ', ',']).next().unwrap_or_default();
            assert!(!option.starts_with('-') || taken.contains(option), "{name}: {instead}");
        }
    }
}
