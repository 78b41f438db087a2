//! What people type who know other programs, and what does the same here. The words come from the
//! command lines of Claude Code, Codex, opencode, goose and pi, and of git, cargo, make and xargs.

use crate::elsewhere::{SETTINGS, STOP, UPDATE};

const RUNS: &str = "regatta runs";

/// Words that are commands of other programs, sorted, and what does the same here.
const COMMANDS: &[(&str, &str)] = &[
    ("abort", STOP),
    ("add", "regatta run 'what to do'"),
    ("agent", "regatta run --model MODEL TASK"),
    ("app-server", "regatta -p --mode json PROMPT, which prints events"),
    ("ask", "regatta -p PROMPT"),
    ("auth", "regatta login"),
    ("bench", "regatta demo"),
    ("branch", "regatta run --merge branch TASK"),
    ("build", "regatta run --exec 'make'"),
    ("cancel", STOP),
    ("chat", "regatta"),
    ("checkout", "regatta diff RUN/TASK, then regatta apply RUN/TASK"),
    ("clean", "regatta gc"),
    ("clear", "/new, in the conversation"),
    ("code", "regatta"),
    ("completion", "regatta completions SHELL"),
    ("configure", SETTINGS),
    ("continue", "regatta --continue"),
    ("cost", "regatta runs show RUN"),
    ("debug", "regatta logs RUN/TASK, or -v with any command"),
    ("delete", "regatta discard RUN/TASK"),
    ("do", "regatta run TASK"),
    ("eval", "regatta run --exec CMD"),
    ("exec", "regatta -p PROMPT, or regatta run --exec CMD"),
    ("export", "regatta logs SESSION, or regatta diff RUN/TASK for a patch"),
    ("fix", "regatta run 'fix what fails'"),
    ("fork", "regatta --fork SESSION"),
    ("history", RUNS),
    ("import", "regatta --resume FILE"),
    ("info", "regatta runs show RUN"),
    ("init", "nothing: regatta works in any git repository"),
    ("install", UPDATE),
    ("interactive", "regatta"),
    ("jobs", RUNS),
    ("kill", STOP),
    ("land", "regatta apply RUN"),
    ("list", RUNS),
    ("log", "regatta logs RUN/TASK"),
    ("ls", RUNS),
    ("merge", "regatta apply RUN"),
    ("model", "regatta models"),
    ("new", "regatta"),
    ("open", "regatta --resume SESSION"),
    ("patch", "regatta diff RUN/TASK"),
    ("pause", "Ctrl-Z in the terminal of the run, then fg"),
    ("plan", "regatta run --plan FILE"),
    ("pop", "regatta apply RUN/TASK"),
    ("print", "regatta -p PROMPT"),
    ("project", "regatta --resume"),
    ("projects", "regatta --resume"),
    ("prompt", "regatta -p PROMPT"),
    ("provider", "regatta models"),
    ("providers", "regatta models"),
    ("ps", RUNS),
    ("pull", "regatta apply RUN"),
    ("quit", STOP),
    ("recipe", "regatta run --plan FILE"),
    ("remove", "regatta discard RUN/TASK"),
    ("restart", "regatta runs retry RUN"),
    ("restore", "regatta undo RUN"),
    ("retry", "regatta runs retry RUN"),
    ("revert", "regatta undo RUN"),
    ("review", "regatta -p 'review the changes'"),
    ("rm", "regatta discard RUN/TASK"),
    ("rollback", "regatta undo RUN"),
    ("sandbox", "regatta run --exec CMD, which works in a copy"),
    ("session", "regatta --resume"),
    ("sessions", "regatta --resume"),
    ("settings", SETTINGS),
    ("setup-token", "regatta login"),
    ("start", "regatta run TASK"),
    ("stash", "regatta runs, which lists kept work"),
    ("status", RUNS),
    ("stop", STOP),
    ("subagent", "regatta run --model MODEL TASK"),
    ("tail", "regatta logs RUN --follow"),
    ("tasks", "regatta runs show RUN"),
    ("term", "regatta"),
    ("test", "regatta run --exec CMD, or regatta -p 'run the tests'"),
    ("tools", "regatta --tools read,bash"),
    ("tui", "regatta"),
    ("uninstall", "cargo uninstall regatta"),
    ("upgrade", UPDATE),
    ("usage", "regatta runs show RUN"),
    ("version", "regatta --version"),
    ("watch", "regatta logs RUN --follow"),
    ("whoami", "regatta models"),
    ("worktree", "nothing: each task works in a copy of its own"),
];

/// Options of other programs, with what does the same in `regatta run` and in a session; an empty text
/// if nothing does.
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
        "--jobs N",
        "regatta run --jobs N TASK…",
    ),
    (
        &["--timeout", "--max-time", "--time-limit"],
        "--limit wall=20m",
        "timeout 20m regatta -p PROMPT",
    ),
    (
        &["--max-turns", "--max-steps", "--max-iterations"],
        "--limit turns=40",
        "regatta run --limit turns=40 TASK",
    ),
    (
        &["--max-budget-usd", "--max-cost", "--budget"],
        "--limit cost=2.00USD, of each task",
        "regatta run --limit cost=2.00USD TASK",
    ),
    (
        &["--max-tokens", "--token-limit"],
        "--limit tokens=400k",
        "regatta run --limit tokens=400k TASK",
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
        "--repo DIR",
        "--repo DIR",
    ),
    (
        &["--add-dir"],
        "leave it out: a task reads any folder",
        "leave it out: tools read any folder",
    ),
    (&["--env", "-e"], "--pass-env NAME", "NAME=VALUE regatta …"),
    (&["--watch", "--follow", "-w"], "regatta logs RUN --follow", "regatta logs SESSION --follow"),
    (
        &["--background", "--bg", "--daemon", "-b", "-d"],
        "regatta run … &, then regatta logs RUN --follow",
        "regatta -p PROMPT &",
    ),
    (&["--keep-going", "-k"], "leave it out: when a task fails, the others go on", ""),
    (&["--halt", "--stop-on-error", "--exit-on-error", "--bail"], "--fail-fast", ""),
    (&["-0", "--print0"], "--null", ""),
    (&["-a", "--arg-file", "--items", "--input"], "--each @FILE", "@FILE, as a prompt"),
    (&["-f", "--file"], "--plan FILE, or --each @FILE", "@FILE, as a prompt"),
    (&["-i", "--image"], "@FILE, in the prompt", "@FILE, as a prompt"),
    (&["-I", "--replace"], "{{item}}, in the command or the prompt", ""),
    (&["-L", "--max-args", "--max-lines", "--batch-size"], "--chunk N", ""),
    (&["-x", "--command", "--cmd", "--run"], "--exec CMD", "regatta run --exec CMD"),
    (&["-c"], "--exec CMD", ""),
    (&["-p", "--print"], "TASK, without an option", ""),
    (&["-t", "--text", "--prompt"], "TASK, without an option", "-p PROMPT"),
    (&["--system"], "", "--system-prompt TEXT"),
    (
        &[
            "--allowedTools",
            "--allowed-tools",
            "--disallowedTools",
            "--disallowed-tools",
            "--exclude-tools",
        ],
        "",
        "--tools read,write",
    ),
    (
        &["--effort", "--reasoning", "--reasoning-effort", "--variant"],
        "--model MODEL:high",
        "--thinking LEVEL",
    ),
    (&["--key", "--token"], "--api-key KEY", "--api-key KEY"),
    (&["--url", "--api-base", "--endpoint", "--host"], "--base-url URL", "--base-url URL"),
    (&["--oss", "--local", "--local-provider"], "--model ollama/MODEL", "--model ollama/MODEL"),
    (&["--fallback-model"], "the setting retry.fallbackChains", "the setting retry.fallbackChains"),
    (&["--session-id"], "", "--resume ID"),
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
    (&["--branch"], "--merge branch, or --onto BRANCH", ""),
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

/// Returns what does here what a command of other programs does there.
pub(super) fn command(word: &str) -> Option<&'static str> {
    COMMANDS.iter().find(|(name, _)| *name == word).map(|(_, instead)| *instead)
}

/// The command that gets an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandKind {
    Run,
    Session,
    /// Another command. Only what is the same everywhere helps there.
    Other,
}

/// Returns what does here what an option of other programs does there.
pub(super) fn option(word: &str, kind: CommandKind) -> Option<&'static str> {
    let (_, run, session) = OPTIONS.iter().find(|(names, ..)| names.contains(&word))?;
    let instead = match kind {
        CommandKind::Run => run,
        CommandKind::Session => session,
        CommandKind::Other if run == session && run.starts_with('-') => run,
        CommandKind::Other => &"",
    };
    Some(instead).filter(|instead| !instead.is_empty()).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::args::public_grammar;

    #[test]
    fn no_word_of_the_tables_is_one_of_this_program() {
        let grammar = public_grammar();
        for (word, _) in COMMANDS {
            let found = grammar.get_subcommands().find(|command| command.get_name() == *word);
            assert!(found.is_none(), "{word}");
        }
        for (kind, name) in [(CommandKind::Run, "run"), (CommandKind::Session, "launch")] {
            let command = grammar.find_subcommand(name).expect("it is a command");
            let long = command.get_arguments().filter_map(clap::Arg::get_long);
            let short = command.get_arguments().filter_map(clap::Arg::get_short);
            let long = long.map(|long| format!("--{long}"));
            let taken: BTreeSet<_> = long.chain(short.map(|short| format!("-{short}"))).collect();
            for word in OPTIONS.iter().flat_map(|(names, ..)| *names) {
                assert!(option(word, kind).is_none() || !taken.contains(*word), "{name} {word}");
            }
        }
    }

    #[test]
    fn each_word_stands_once() {
        let mut words: Vec<_> = COMMANDS.iter().map(|(word, _)| *word).collect();
        assert!(words.is_sorted(), "{words:?}");
        words.extend(OPTIONS.iter().flat_map(|(names, ..)| *names));
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
    }
}
