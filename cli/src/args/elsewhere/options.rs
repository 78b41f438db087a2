//! Options that people type who know other programs, and what does the same here.

use super::fill::{filled, from_value};
use crate::elsewhere::SETTINGS;

/// Options of other programs, with what does the same in `regatta run` and in a session; an empty text
/// if nothing does. Places such as `<N>` are the value that was typed.
const OPTIONS: &[(&[&str], &str, &str)] = &[
    (
        &[
            "-P",
            "-n",
            "--parallel",
            "--concurrency",
            "--max-procs",
            "--max-parallel",
            "--workers",
            "--threads",
        ],
        "--jobs <N>",
        "regatta run --jobs <N> TASK…",
    ),
    (
        &["--timeout", "--max-time", "--time-limit"],
        "--limit wall=<20m>",
        "timeout <20m> regatta -p PROMPT",
    ),
    (
        &["--max-turns", "--max-steps", "--max-iterations"],
        "--limit turns=<40>",
        "regatta run --limit turns=<40> TASK",
    ),
    (
        &["--max-budget-usd", "--max-cost", "--budget"],
        "--limit cost=<2.00>USD, of each task",
        "regatta run --limit cost=<2.00>USD TASK",
    ),
    (
        &["--max-tokens", "--token-limit"],
        "--limit tokens=<400k>",
        "regatta run --limit tokens=<400k> TASK",
    ),
    (
        &[
            "--yolo",
            "--dangerously-skip-permissions",
            "--allow-dangerously-skip-permissions",
            "--dangerously-bypass-approvals-and-sandbox",
            "--full-auto",
            "--auto-approve",
            "--permission-mode",
            "--ask-for-approval",
            "--yes",
            "-y",
        ],
        "leave it out: tools run without a question",
        "leave it out: tools run without a question",
    ),
    (
        &["--sandbox", "-s"],
        "leave it out: each task works in a copy",
        "regatta run TASK, which works in a copy",
    ),
    (&["--output-format", "--format", "--stream-json", "--output", "-o"], "--json", "--mode json"),
    (
        &[
            "--cwd",
            "--cd",
            "-C",
            "--dir",
            "--directory",
            "--workdir",
            "--working-directory",
            "--path",
        ],
        "--repo <DIR>",
        "--repo <DIR>",
    ),
    (
        &["--add-dir"],
        "leave it out: a task reads any folder",
        "leave it out: tools read any folder",
    ),
    (
        &["--env", "-e"],
        "--pass-env <NAME>, with <NAME=VALUE> before regatta",
        "<NAME=VALUE> regatta …",
    ),
    (&["--watch", "--follow", "-w"], "regatta logs RUN --follow", "regatta logs SESSION --follow"),
    (
        &["--background", "--bg", "--daemon", "-b", "-d"],
        "regatta run … &, then regatta logs RUN --follow",
        "regatta -p PROMPT &",
    ),
    (&["--keep-going", "-k"], "leave it out: when a task fails, the others go on", ""),
    (&["--halt", "--stop-on-error", "--exit-on-error", "--bail"], "--fail-fast", ""),
    (&["-0", "--print0"], "--null", ""),
    (&["-a", "--arg-file", "--items", "--input"], "--each @<FILE>", "@<FILE>, as a prompt"),
    (
        &["-f", "--file", "--tasks", "--task-file", "--tasks-file"],
        "--plan <FILE>, or --each @<FILE>",
        "@<FILE>, as a prompt",
    ),
    (
        &["--files", "--foreach", "--for-each", "--glob", "--over", "--include"],
        "--each <SPEC>",
        "regatta run --each <SPEC> 'What to do with {{item}}'",
    ),
    (&["-i", "--image"], "@<FILE>, in the prompt", "@<FILE>, as a prompt"),
    (&["-I", "--replace"], "{{item}}, in the command or the prompt", ""),
    (&["-L", "--max-args", "--max-lines", "--batch-size"], "--chunk <N>", ""),
    (&["-x", "--command", "--cmd", "--run"], "--exec <CMD>", "regatta run --exec <CMD>"),
    (&["-c"], "--exec <CMD>", ""),
    (&["-p", "--print"], "TASK, without an option", ""),
    (&["-t", "--text", "--prompt", "--message"], "TASK, without an option", "-p <PROMPT>"),
    (&["--system"], "say it in each TASK, or in AGENTS.md of the folder", "--system-prompt <TEXT>"),
    (
        &["--system-prompt", "--append-system-prompt"],
        "say it in each TASK, or in AGENTS.md of the folder",
        "",
    ),
    (
        &[
            "--allowedTools",
            "--allowed-tools",
            "--disallowedTools",
            "--disallowed-tools",
            "--exclude-tools",
        ],
        "leave it out: a task has all tools, and works in a copy",
        "--tools read,write",
    ),
    (&["--tools", "--no-tools"], "leave it out: a task has all tools, and works in a copy", ""),
    (&["--thinking"], "--model MODEL:<high>", ""),
    (&["--provider"], "--model <PROVIDER>/ID", ""),
    (&["--resume", "--continue", "-r"], "regatta runs retry <RUN> --cancelled", ""),
    (&["--output-schema", "--json-schema"], "--schema <FILE>", "regatta run --schema <FILE> TASK"),
    (
        &["--skip-git-repo-check"],
        "git init: a run needs a repository",
        "leave it out: a session works in any folder",
    ),
    (
        &["--search", "--web-search"],
        "leave it out: the model fetches pages with curl",
        "leave it out: the model fetches pages with curl",
    ),
    (&["--shell"], "--exec <CMD>", "regatta, with !COMMAND"),
    (
        &["--effort", "--reasoning", "--reasoning-effort", "--variant"],
        "--model MODEL:<high>",
        "--thinking <LEVEL>",
    ),
    (&["--key", "--token"], "--api-key KEY", "--api-key KEY"),
    (&["--url", "--api-base", "--endpoint", "--host"], "--base-url <URL>", "--base-url <URL>"),
    (&["--oss", "--local", "--local-provider"], "--model ollama/MODEL", "--model ollama/MODEL"),
    (&["--fallback-model"], "the setting retry.fallbackChains", "the setting retry.fallbackChains"),
    (&["--session-id"], "", "--resume <ID>"),
    // In a run, it is --merge.
    (&["-m"], "", "--model <MODEL>"),
    (&["--last"], "", "--continue"),
    (&["--fork-session"], "", "--fork ID"),
    (&["--no-session-persistence", "--ephemeral", "--no-save"], "", "--no-session"),
    (&["--settings", "--config", "--profile", "--setting-sources"], SETTINGS, SETTINGS),
    (
        &["--mcp-config", "--strict-mcp-config"],
        "leave it out: MCP servers are not implemented yet",
        "leave it out: MCP servers are not implemented yet",
    ),
    (&["--debug", "--trace", "--log-level"], "-v", "-v"),
    (&["--silent"], "--quiet", "--quiet"),
    (&["--no-color", "--no-colour", "--nocolor"], "--color never", "--color never"),
    (&["--dry", "--what-if", "--just-print", "--check", "--recon"], "--dry-run", ""),
    (&["--branch"], "--merge branch, or --onto <BRANCH>", ""),
    (
        &["--worktree"],
        "leave it out: each task works in a copy",
        "regatta run TASK, which works in a copy",
    ),
    (
        &["--commit", "--auto-commit", "--auto-commits"],
        "--merge stack, a commit per task",
        "git commit",
    ),
    (&["--no-merge", "--no-commit", "--no-land"], "--merge none, then regatta apply RUN", ""),
    (&["--retries", "--retry", "--rerun-failed"], "regatta runs retry RUN", ""),
    (&["--tui", "--interactive"], "", "leave it out: regatta on a terminal is a conversation"),
    (&["--headless", "--non-interactive", "--no-tui"], "leave it out", "-p"),
];

/// Options of other programs, with what does the same in a command that is neither `regatta run` nor a
/// session. None of these removes more than was asked for.
const OPTIONS_OF: &[(&str, &[&str], &str)] = &[
    ("runs", &["-n", "--limit", "--last", "--max-count", "--head"], "regatta runs list -n <N>"),
    ("runs list", &["--last", "--max-count", "--head"], "-n <N>"),
    ("runs", &["-a", "--all"], "regatta runs list -n 1000"),
    ("runs list", &["-a", "--all"], "-n 1000"),
    ("runs", &["-w", "-f", "--watch", "--follow"], "regatta logs @ --follow"),
    ("runs show", &["-w", "-f", "--watch", "--follow"], "regatta logs RUN --follow"),
    ("logs", &["-w", "-F", "--watch", "--retry"], "--follow"),
    ("logs", &["-n", "--tail", "--lines"], "regatta logs RUN | tail -n <N>"),
    (
        "apply",
        &["-f", "--force"],
        "--theirs, which takes the version of the task where it conflicts",
    ),
    (
        "apply",
        &["-m", "--merge", "--onto"],
        "--branch NAME, for a branch; without it, the work lands where its run lands",
    ),
    ("apply", &["-a", "--all"], "--kept, which lands unfinished and unverified work, too"),
    ("apply", &["--commit"], "git commit, after it"),
    ("apply", &["-n"], "--dry-run"),
    (
        "undo",
        &["-f", "--force", "--hard"],
        "leave it out: later edits are merged, and a file that conflicts stays",
    ),
    ("undo", &["-n"], "--dry-run"),
    ("discard", &["-f", "--force", "-y", "--yes"], "leave it out: it removes without a question"),
    ("discard", &["-n"], "--dry-run"),
    ("diff", &["--name-only", "--name-status", "--numstat", "--shortstat", "--summary"], "--stat"),
    ("diff", &["-p", "-u", "--patch", "--unified"], "leave it out: it prints a patch"),
    ("gc", &["-a", "--all"], "leave it out: it is for all repositories"),
    (
        "gc",
        &["-f", "--force", "-y", "--yes", "--aggressive", "--prune"],
        "leave it out: it removes without a question what has landed or was discarded, and is old",
    ),
    ("gc", &["-n"], "--dry-run"),
];

/// Returns what does here what an option of other programs does there, in this command, such as `logs` or
/// `runs show`. `value` is what was typed as its value.
pub(in crate::args) fn option_of(command: &str, word: &str, value: Option<&str>) -> Option<String> {
    let is_it = |(of, names, _): &&(&str, &[&str], &str)| *of == command && names.contains(&word);
    OPTIONS_OF.iter().find(is_it).map(|(.., instead)| with_value(instead, value))
}

fn with_value(text: &str, value: Option<&str>) -> String {
    filled(text, |place| from_value(place, value?))
}

/// The command that gets an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::args) enum CommandKind {
    Run,
    Session,
    /// Another command. Only what it takes helps there.
    Other,
}

/// What stands before the reason why an option is not needed.
const OMIT: &str = "leave it out";

/// Returns what does here what an option of other programs does there. `takes` says which options the
/// command takes, and `value` is what was typed as the value.
pub(in crate::args) fn option(
    word: &str,
    kind: CommandKind,
    value: Option<&str>,
    takes: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let (_, run, session) = OPTIONS.iter().find(|(names, ..)| names.contains(&word))?;
    let first = |text: &str| takes(text.split([' ', ',']).next().unwrap_or_default());
    let instead = match kind {
        CommandKind::Run => *run,
        CommandKind::Session => *session,
        // The reason may be that of a run.
        CommandKind::Other if run.starts_with(OMIT) => OMIT,
        CommandKind::Other if first(run) || (run == session && *run == SETTINGS) => *run,
        CommandKind::Other => "",
    };
    Some(instead).filter(|instead| !instead.is_empty()).map(|instead| with_value(instead, value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::args::public_grammar;

    fn taken(command: &str) -> BTreeSet<String> {
        let grammar = public_grammar();
        let below = |grammar: clap::Command, name| grammar.find_subcommand(name).cloned();
        let command = command.split(' ').try_fold(grammar, below).expect("it is a command");
        let long = command.get_arguments().filter_map(clap::Arg::get_long);
        let short = command.get_arguments().filter_map(clap::Arg::get_short);
        let long = long.map(|long| format!("--{long}"));
        long.chain(short.map(|short| format!("-{short}"))).collect()
    }

    #[test]
    fn no_option_of_the_tables_is_one_of_the_command() {
        for (kind, name) in [(CommandKind::Run, "run"), (CommandKind::Session, "launch")] {
            let taken = taken(name);
            for word in OPTIONS.iter().flat_map(|(names, ..)| *names) {
                let instead = option(word, kind, None, &|_| false);
                assert!(instead.is_none() || !taken.contains(*word), "{name} {word}");
            }
        }
        let mut seen = BTreeSet::new();
        for (name, options, _) in OPTIONS_OF {
            let taken = taken(name);
            assert!(options.iter().all(|option| seen.insert((name, option))), "{name} {options:?}");
            assert!(options.iter().all(|option| !taken.contains(*option)), "{name} {options:?}");
        }
    }

    #[test]
    fn each_option_stands_once() {
        let words: Vec<_> = OPTIONS.iter().flat_map(|(names, ..)| *names).collect();
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
    }
}
