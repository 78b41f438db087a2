//! What people type who know other programs, and what does the same here. The words come from the
//! command lines of Claude Code, Codex, opencode, goose and pi, and of git, cargo, make and xargs.

mod fill;
mod options;

pub(super) use fill::may_be_target;
pub(super) use options::{CommandKind, option, option_of};

use crate::elsewhere::{SETTINGS, STOP, UPDATE};

const RUNS: &str = "regatta runs";

/// Words that are commands of other programs, sorted, and what does the same here. `<RUN>` and `<RUN/TASK>`
/// are the run or the task that was typed, `<WORDS>` the whole command, `<LINE>` the same as one word, and
/// other places what stands behind the first word. A word behind `runs` may mean something else.
const COMMANDS: &[(&str, &str)] = &[
    ("abort", STOP),
    ("add", "regatta run 'what to do'"),
    ("agent", "regatta run --model MODEL TASK"),
    ("aider", "regatta run --exec 'aider --message {{item}}' TASK"),
    ("app-server", "regatta -p --mode json PROMPT, which prints events"),
    ("ask", "regatta -p <PROMPT>"),
    ("auth", "regatta login"),
    ("bash", "regatta run --exec <LINE>"),
    ("bench", "regatta demo"),
    ("branch", "regatta run --merge branch TASK"),
    ("build", "regatta run --exec 'make'"),
    ("bun", "regatta run --exec <LINE>"),
    ("cancel", STOP),
    ("cargo", "regatta run --exec <LINE>"),
    ("chat", "regatta"),
    ("checkout", "regatta diff <RUN/TASK>, then regatta apply <RUN/TASK>"),
    ("claude", "regatta -p PROMPT, or regatta run --exec 'claude -p {{item}}' TASK"),
    ("clean", "regatta gc"),
    ("clear", "/new, in the conversation"),
    ("cmake", "regatta run --exec <LINE>"),
    ("code", "regatta"),
    (
        "codex",
        "regatta -p PROMPT, or regatta run --exec 'codex exec --sandbox workspace-write {{item}}' TASK",
    ),
    ("completion", "regatta completions SHELL"),
    ("configure", SETTINGS),
    ("continue", "regatta --continue"),
    ("cost", "regatta runs show <RUN>"),
    ("create", "regatta run 'what to create'"),
    ("debug", "regatta logs <RUN/TASK>, or -v with any command"),
    ("delete", "regatta discard <RUN/TASK>"),
    ("deno", "regatta run --exec <LINE>"),
    ("do", "regatta run <TASK>"),
    ("docker", "regatta run --exec <LINE>"),
    ("drop", "regatta discard <RUN/TASK>"),
    ("edit", "regatta -p 'what to edit'"),
    ("eval", "regatta run --exec CMD"),
    ("exec", "regatta -p <PROMPT>, or regatta run --exec <CMD>"),
    ("exit", STOP),
    ("explain", "regatta -p 'explain this folder'"),
    ("export", "regatta logs SESSION, or regatta diff <RUN/TASK> for a patch"),
    ("features", "regatta help"),
    ("fetch", "git fetch"),
    ("fix", "regatta run 'fix what fails'"),
    ("fork", "regatta --fork SESSION"),
    ("gemini", "regatta -p PROMPT, or regatta run --exec 'gemini -p {{item}}' TASK"),
    ("git", "<WORDS>, without regatta"),
    ("go", "regatta run --exec <LINE>"),
    ("gradle", "regatta run --exec <LINE>"),
    ("history", RUNS),
    ("hooks", "regatta run --setup CMD TASK, or --verify CMD"),
    ("import", "regatta --resume <FILE>"),
    ("info", "regatta runs show <RUN>"),
    ("init", "nothing: regatta works in any git repository"),
    ("install", UPDATE),
    ("interactive", "regatta"),
    ("jobs", RUNS),
    ("just", "regatta run --exec <LINE>"),
    ("kill", STOP),
    ("land", "regatta apply <RUN>"),
    ("last", "regatta runs show @"),
    ("latest", "regatta runs show @"),
    ("lint", "regatta run --exec CMD, or regatta -p 'run the linter'"),
    ("list", RUNS),
    ("log", "regatta logs <RUN/TASK>"),
    ("ls", RUNS),
    ("make", "regatta run --exec <LINE>"),
    ("merge", "regatta apply <RUN>"),
    ("model", "regatta models"),
    ("mvn", "regatta run --exec <LINE>"),
    ("new", "regatta"),
    ("node", "regatta run --exec <LINE>"),
    ("npm", "regatta run --exec <LINE>"),
    ("npx", "regatta run --exec <LINE>"),
    ("open", "regatta --resume SESSION"),
    ("opencode", "regatta -p PROMPT, or regatta run --exec 'opencode run {{item}}' TASK"),
    ("patch", "regatta diff <RUN/TASK>"),
    ("pause", "Ctrl-Z in the terminal of the run, then fg"),
    ("pi", "regatta -p PROMPT, or regatta run --exec 'pi -p -ne {{item}}' TASK"),
    ("pip", "regatta run --exec <LINE>"),
    ("plan", "regatta run --plan <FILE>"),
    ("plugins", "a program, which the model runs with bash"),
    ("pnpm", "regatta run --exec <LINE>"),
    ("poetry", "regatta run --exec <LINE>"),
    ("pop", "regatta apply <RUN/TASK>"),
    ("print", "regatta -p <PROMPT>"),
    ("project", "regatta --resume"),
    ("projects", "regatta --resume"),
    ("prompt", "regatta -p <PROMPT>"),
    ("provider", "regatta models"),
    ("providers", "regatta models"),
    ("prune", "regatta gc"),
    ("ps", RUNS),
    ("pull", "regatta apply <RUN>"),
    ("push", "git push, after regatta apply <RUN>"),
    ("pytest", "regatta run --exec <LINE>"),
    ("python", "regatta run --exec <LINE>"),
    ("python3", "regatta run --exec <LINE>"),
    ("quit", STOP),
    ("rebase", "git rebase, after regatta run --merge branch TASK"),
    ("recipe", "regatta run --plan <FILE>"),
    ("redo", "regatta apply @ --again"),
    ("refactor", "regatta run 'what to refactor'"),
    ("remove", "regatta discard <RUN/TASK>"),
    ("repeat", "regatta runs retry <RUN>"),
    ("rerun", "regatta runs retry <RUN>"),
    ("reset", "regatta undo <RUN>"),
    ("restart", "regatta runs retry <RUN>"),
    ("restore", "regatta undo <RUN>"),
    ("retry", "regatta runs retry <RUN>"),
    ("revert", "regatta undo <RUN>"),
    ("review", "regatta -p 'review the changes'"),
    ("rm", "regatta discard <RUN/TASK>"),
    ("rollback", "regatta undo <RUN>"),
    ("runs all", "regatta runs list -n 1000"),
    ("runs redo", "regatta runs retry <RUN>"),
    ("sandbox", "regatta run --exec CMD, which works in a copy"),
    ("session", "regatta --resume"),
    ("sessions", "regatta --resume"),
    ("settings", SETTINGS),
    ("setup-token", "regatta login"),
    ("sh", "regatta run --exec <LINE>"),
    ("skills", "AGENTS.md in the folder, which each model reads"),
    ("start", "regatta run <TASK>"),
    ("stash", "regatta runs, which lists kept work"),
    ("status", "regatta runs, or regatta runs show <RUN>"),
    ("stop", STOP),
    ("subagent", "regatta run --model MODEL TASK"),
    ("tail", "regatta logs <RUN> --follow"),
    ("tasks", "regatta runs show <RUN>"),
    ("term", "regatta"),
    ("test", "regatta run --exec CMD, or regatta -p 'run the tests'"),
    ("tools", "regatta --tools read,bash"),
    ("top", "regatta runs show @"),
    ("tox", "regatta run --exec <LINE>"),
    ("tui", "regatta"),
    ("uninstall", "cargo uninstall regatta"),
    ("upgrade", UPDATE),
    ("usage", "regatta runs show <RUN>"),
    ("uv", "regatta run --exec <LINE>"),
    ("version", "regatta --version"),
    ("view", "regatta runs show <RUN>"),
    ("wait", "regatta logs <RUN> --follow"),
    ("watch", "regatta logs <RUN> --follow"),
    ("whoami", "regatta models"),
    ("worktree", "nothing: each task works in a copy of its own"),
    ("yarn", "regatta run --exec <LINE>"),
];

/// Returns what does here what a command of other programs does there; `words` are the command as typed.
pub(super) fn command(words: &[&str]) -> Option<String> {
    of_row(words.first()?, words)
}

/// Returns the same for a command that was typed behind `runs`, if it means something else there.
pub(super) fn command_of_runs(words: &[&str]) -> Option<String> {
    of_row(&format!("runs {}", words.first()?), words)
}

fn of_row(key: &str, words: &[&str]) -> Option<String> {
    let (_, instead) = COMMANDS.iter().find(|(name, _)| *name == key)?;
    Some(fill::filled(instead, |place| fill::from_words(place, words)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::public_grammar;

    #[test]
    fn no_word_of_the_table_is_a_command_of_this_program_and_each_stands_once() {
        let grammar = public_grammar();
        for (word, _) in COMMANDS {
            let found = grammar.get_subcommands().find(|command| command.get_name() == *word);
            assert!(found.is_none(), "{word}");
        }
        let words: Vec<_> = COMMANDS.iter().map(|(word, _)| *word).collect();
        assert!(words.is_sorted_by(|one, other| one < other), "{words:?}");
    }
}
