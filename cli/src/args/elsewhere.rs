//! What people type who know other programs, and what does the same here. The words come from the
//! command lines of Claude Code, Codex, opencode, goose and pi, and of git, cargo, make, xargs and docker.

mod option_table;
mod options;
mod options_of;

pub(super) use options::key_and_value;
pub(crate) use options::{CommandKind, option};
pub(super) use options_of::option_of;

use crate::elsewhere::{SETTINGS, STOP, UPDATE, with_words};
use crate::render::shell_word;

/// What `codex exec` does.
const EXEC: &str = "regatta -p <PROMPT>\nregatta run --exec <CMD>";

/// What `codex exec resume` does.
const EXEC_RESUME: &str = "regatta -p --continue <QUOTED:PROMPT> (the latest session)\n\
                           regatta -p --resume ID <QUOTED:PROMPT>\nregatta --resume (lists the sessions)";

/// Words that are commands of other programs, sorted, and what does the same here. `<RUN>` and `<RUN/TASK>`
/// are the run or the task that was typed, `<WORDS>` the whole command, `<LINE>` the same as one word,
/// `<SENTENCE>` the same if it is a prompt, `<PROMPT>` the prompt in it, `<QUOTED>` the same if it is in
/// quotes, and other places what stands behind the first word. A word behind `runs` may mean something else.
const COMMANDS: &[(&str, &str)] = &[
    ("abandon", "regatta discard <RUN/TASK>"),
    ("abort", STOP),
    ("accept", "regatta apply <RUN>"),
    ("add", "regatta run <SENTENCE:'what to add'>"),
    ("agent", "regatta agents\nregatta run --model MODEL TASK"),
    ("aider", "regatta run --exec 'aider --message {{item}}' <QUOTED:TASK>"),
    (
        "allow",
        "regatta --approval-mode yolo (asks about nothing)\nregatta config approvals.allow (lists the rules)",
    ),
    ("anthropic", "regatta login anthropic"),
    ("api", "regatta -p --mode json PROMPT (prints events)"),
    ("app-server", "regatta -p --mode json PROMPT (prints events)"),
    (
        "approvals",
        "regatta config approvals (lists the settings)\n\
         regatta --approval-mode yolo (asks about nothing)\n/approvals (in a conversation)",
    ),
    ("approve", "regatta apply <RUN>"),
    ("ask", "regatta -p <PROMPT>"),
    ("auth", "regatta login"),
    ("bash", "regatta run --exec <LINE>"),
    ("bench", "regatta demo"),
    ("bisect", "git <WORDS> (without regatta)"),
    ("blame", "git <WORDS> (without regatta)"),
    ("branch", "regatta run --merge branch TASK"),
    ("bug", "regatta logs SESSION (prints the session for a report)"),
    ("build", "regatta run --exec 'make'"),
    ("bun", "regatta run --exec <LINE>"),
    ("cache", "regatta gc"),
    ("cancel", STOP),
    ("cargo", "regatta run --exec <LINE>"),
    ("cat", "<WORDS> (without regatta)"),
    ("cd", "<WORDS> (without regatta)"),
    ("chat", "regatta"),
    ("check", "regatta run --exec CMD\nregatta run 'run the linter'"),
    ("checkout", "regatta diff <RUN/TASK>\nregatta apply <RUN/TASK> (lands it)"),
    ("cherry-pick", "regatta apply <RUN/TASK>"),
    ("claude", "regatta -p <QUOTED:PROMPT>\nregatta run --exec 'claude -p {{item}}' <QUOTED:TASK>"),
    ("clean", "regatta gc"),
    ("cleanup", "regatta gc"),
    ("clear", "/new (in the conversation)"),
    ("clone", "git <WORDS> (without regatta)"),
    ("cmake", "regatta run --exec <LINE>"),
    ("code", "regatta"),
    (
        "codex",
        "regatta -p <QUOTED:PROMPT>\nregatta run --exec 'codex exec --sandbox workspace-write {{item}}' <QUOTED:TASK>",
    ),
    ("compact", "/compact (in the conversation)"),
    ("completion", "regatta completions <SHELL>"),
    ("configure", SETTINGS),
    ("context", "AGENTS.md (in the folder: each model reads it)"),
    ("continue", "regatta --continue"),
    ("cost", "regatta runs show <RUN>"),
    ("cp", "<WORDS> (without regatta)"),
    ("create", "regatta run <SENTENCE:'what to create'>"),
    ("curl", "<WORDS> (without regatta)"),
    ("daemon", "regatta -p --mode json PROMPT (prints events)"),
    ("debug", "regatta logs <RUN/TASK>\nregatta -v (prints more)"),
    ("delete", "regatta discard <RUN/TASK>"),
    ("deno", "regatta run --exec <LINE>"),
    ("describe", "regatta -p <SENTENCE:'describe this folder'>"),
    ("describe -m", "git commit -m <QUOTED:MESSAGE> (without regatta)"),
    ("discard-all", "regatta discard <RUN/TASK>"),
    ("do", "regatta run <TASK>"),
    ("docker", "regatta run --exec <LINE>"),
    ("document", "regatta run <SENTENCE:'what to document'>"),
    ("down", STOP),
    ("drop", "regatta discard <RUN/TASK>"),
    ("e", EXEC),
    ("e resume", EXEC_RESUME),
    ("each", "regatta run --each <FIRST:SPEC> 'What to do with {{item}}'"),
    ("edit", "regatta -p <SENTENCE:'what to edit'>"),
    ("eslint", "regatta run --exec <LINE>"),
    ("eval", "regatta run --exec CMD"),
    ("exec", EXEC),
    ("exec resume", EXEC_RESUME),
    ("exit", "/quit (in the conversation)\nCtrl-C (in the terminal of the run)"),
    ("explain", "regatta -p <SENTENCE:'explain this folder'>"),
    ("export", "regatta logs SESSION\nregatta diff <RUN/TASK> (a patch)"),
    ("features", "regatta help"),
    ("feedback", "regatta logs SESSION (prints the session for a report)"),
    ("fetch", "git fetch"),
    ("fix", "regatta run <SENTENCE:'fix what fails'>"),
    ("fmt", "regatta run --exec CMD"),
    ("follow", "regatta logs <RUN> --follow"),
    ("fork", "regatta --fork SESSION"),
    ("format", "regatta run --exec CMD"),
    ("gemini", "regatta -p <QUOTED:PROMPT>\nregatta run --exec 'gemini -p {{item}}' <QUOTED:TASK>"),
    ("get", "regatta config <KEY>"),
    ("git", "<WORDS> (without regatta)"),
    ("go", "regatta run --exec <LINE>"),
    ("gradle", "regatta run --exec <LINE>"),
    ("grep", "<WORDS> (without regatta)"),
    ("haiku", "regatta --model haiku"),
    ("history", "regatta runs"),
    ("hooks", "regatta run --setup CMD TASK\nregatta run --verify CMD TASK"),
    ("implement", "regatta run <SENTENCE:'what to implement'>"),
    ("import", "regatta --resume <FILE>"),
    ("info", "regatta runs show <RUN>"),
    ("init", "regatta run <TASK> (any git repository will do)"),
    ("inspect", "regatta runs show <RUN>"),
    ("install", UPDATE),
    ("interactive", "regatta"),
    ("jobs", "regatta runs"),
    ("just", "regatta run --exec <LINE>"),
    ("key", "regatta login"),
    ("keys", "regatta login"),
    ("kill", STOP),
    ("land", "regatta apply <RUN>"),
    ("last", "regatta runs show @"),
    ("latest", "regatta runs show @"),
    ("limits", "regatta gates"),
    ("lint", "regatta run --exec CMD\nregatta run 'run the linter'"),
    ("list", "regatta runs"),
    ("log", "regatta logs <RUN/TASK>"),
    ("ls", "regatta runs"),
    ("make", "regatta run --exec <LINE>"),
    ("memory", "AGENTS.md (in the folder: each model reads it)"),
    ("merge", "regatta apply <RUN>"),
    ("mkdir", "<WORDS> (without regatta)"),
    ("model", "regatta models"),
    ("mv", "<WORDS> (without regatta)"),
    ("mvn", "regatta run --exec <LINE>"),
    ("mypy", "regatta run --exec <LINE>"),
    ("new", "regatta"),
    ("node", "regatta run --exec <LINE>"),
    ("npm", "regatta run --exec <LINE>"),
    ("npx", "regatta run --exec <LINE>"),
    ("ollama", "<WORDS> (without regatta)\nregatta --model ollama/MODEL"),
    ("open", "regatta --resume SESSION"),
    ("openai", "regatta login openai"),
    (
        "opencode",
        "regatta -p <QUOTED:PROMPT>\nregatta run --exec 'opencode run {{item}}' <QUOTED:TASK>",
    ),
    ("openrouter", "regatta login openrouter"),
    ("opus", "regatta --model opus"),
    ("output", "regatta logs <RUN/TASK>"),
    (
        "parallel",
        "regatta run --each - --exec 'CMD {{item}}' (each line of standard input is an item)",
    ),
    ("patch", "regatta diff <RUN/TASK>"),
    ("pause", "Ctrl-Z (in the terminal of the run; fg continues it)"),
    ("permissions", "regatta --approval-mode ask"),
    ("pi", "regatta -p <QUOTED:PROMPT>\nregatta run --exec 'pi -p -ne {{item}}' <QUOTED:TASK>"),
    ("pip", "regatta run --exec <LINE>"),
    ("plan", "regatta run --plan <FILE>"),
    ("plugins", "regatta 'run PROGRAM' (with the tool bash)"),
    ("pnpm", "regatta run --exec <LINE>"),
    ("poetry", "regatta run --exec <LINE>"),
    ("pop", "regatta apply <RUN/TASK>"),
    ("pr", "regatta run --merge branch TASK\ngh pr create"),
    ("preferences", SETTINGS),
    ("print", "regatta -p <PROMPT>"),
    ("project", "regatta --resume"),
    ("projects", "regatta --resume"),
    ("prompt", "regatta -p <PROMPT>"),
    ("provider", "regatta models"),
    ("providers", "regatta models"),
    ("prune", "regatta gc"),
    ("ps", "regatta runs"),
    ("pull", "regatta apply <RUN>"),
    ("push", "git push (after regatta apply <RUN>)"),
    ("pytest", "regatta run --exec <LINE>"),
    ("python", "regatta run --exec <LINE>"),
    ("python3", "regatta run --exec <LINE>"),
    ("queue", "regatta runs"),
    ("quickstart", "regatta demo"),
    ("quit", "/quit (in the conversation)\nCtrl-C (in the terminal of the run)"),
    ("quota", "regatta gates"),
    ("rebase", "git rebase (after regatta run --merge branch TASK)"),
    ("recipe", "regatta run --plan <FILE>"),
    ("redo", "regatta apply @ --again"),
    ("refactor", "regatta run <SENTENCE:'what to refactor'>"),
    ("reflog", "regatta runs"),
    ("reject", "regatta discard <RUN/TASK>"),
    ("remote", "git <WORDS> (without regatta)"),
    ("remove", "regatta discard <RUN/TASK>"),
    ("repeat", "regatta runs retry <RUN>"),
    ("repl", "regatta"),
    ("report", "regatta runs show <RUN>\nregatta results <RUN>"),
    ("rerun", "regatta runs retry <RUN>"),
    ("reset", "regatta undo <RUN>"),
    ("restart", "regatta runs retry <RUN>"),
    ("restore", "regatta undo <RUN>"),
    ("retry", "regatta runs retry <RUN>"),
    ("revert", "regatta undo <RUN>"),
    ("review", "regatta -p <SENTENCE:'review the changes'>"),
    ("rm", "regatta discard <RUN/TASK>"),
    ("rollback", "regatta undo <RUN>"),
    ("ruby", "regatta run --exec <LINE>"),
    ("ruff", "regatta run --exec <LINE>"),
    ("runs all", "regatta runs --all"),
    ("runs redo", "regatta runs retry <RUN>"),
    ("rustc", "regatta run --exec <LINE>"),
    ("sandbox", "regatta run --exec CMD (works in a copy; commands are not confined)"),
    ("server", "regatta -p --mode json PROMPT (prints events)"),
    ("session", "regatta --resume"),
    ("sessions", "regatta --resume"),
    ("set", SETTINGS),
    ("settings", SETTINGS),
    ("setup-token", "regatta login"),
    ("sh", "regatta run --exec <LINE>"),
    ("signin", "regatta login"),
    ("signout", "regatta logout PROVIDER"),
    ("skills", "AGENTS.md (in the folder: each model reads it)"),
    ("sonnet", "regatta --model sonnet"),
    ("spawn", "regatta run <TASK>"),
    ("squash", "regatta run --merge stack TASK"),
    ("st", "regatta runs\nregatta runs show <RUN>"),
    ("start", "regatta run <TASK>"),
    ("stash", "regatta runs (lists kept work)"),
    ("status", "regatta runs\nregatta runs show <RUN>"),
    ("stop", STOP),
    ("subagent", "regatta agents"),
    ("subagents", "regatta agents"),
    ("submit", "regatta run <TASK>"),
    ("submodule", "git <WORDS> (without regatta)"),
    ("switch", "regatta diff <RUN/TASK>\nregatta apply <RUN/TASK> (lands it)"),
    ("tag", "git <WORDS> (without regatta)"),
    ("tail", "regatta logs <RUN> --follow"),
    ("tasks", "regatta runs show <RUN>"),
    ("term", "regatta"),
    ("test", "regatta run --exec CMD\nregatta run 'run the tests'"),
    ("tools", "regatta --tools read,bash"),
    ("top", "regatta runs show @"),
    ("tox", "regatta run --exec <LINE>"),
    ("translate", "regatta run <SENTENCE:'what to translate'>"),
    ("tsc", "regatta run --exec <LINE>"),
    ("tui", "regatta"),
    ("tutorial", "regatta demo"),
    ("ui", "regatta"),
    ("uncommit", "regatta undo <RUN>"),
    ("undo-all", "regatta undo <RUN>"),
    ("uninstall", "cargo uninstall regatta"),
    ("unset", SETTINGS),
    ("untrust", "regatta trust --revoke"),
    ("upgrade", UPDATE),
    ("usage", "regatta runs show <RUN>"),
    ("use", "regatta --model <FIRST:MODEL>"),
    ("uv", "regatta run --exec <LINE>"),
    ("vacuum", "regatta gc"),
    ("verify", "regatta run --verify CMD TASK"),
    ("version", "regatta --version"),
    ("view", "regatta runs show <RUN>"),
    ("wait", "regatta logs <RUN> --follow"),
    ("watch", "regatta logs <RUN> --follow"),
    ("web", "regatta"),
    ("whoami", "regatta models"),
    ("worktree", "regatta run TASK (each task works in a copy of its own)"),
    ("write", "regatta run <SENTENCE:'what to write'>"),
    (
        "xargs",
        "regatta run --each - --exec 'CMD {{item}}' (each line of standard input is an item)",
    ),
    ("yarn", "regatta run --exec <LINE>"),
    ("zsh", "regatta run --exec <LINE>"),
];

/// How the names of models begin that people use as a command.
const MODELS: &[&str] = &[
    "claude-",
    "deepseek-",
    "gemini-",
    "gemma",
    "glm-",
    "gpt-",
    "grok-",
    "haiku-",
    "kimi-",
    "llama",
    "mistral-",
    "o1",
    "o3",
    "o4",
    "opus-",
    "qwen",
    "sonnet-",
];

/// Returns what does here what a command of other programs does there; `words` are the command as typed.
pub(super) fn command(words: &[&str]) -> Option<Vec<String>> {
    let in_two = || of_row(&format!("{} {}", words.first()?, words.get(1)?), words);
    in_two().or_else(|| of_row(words.first()?, words))
}

/// Returns the same for a command that was typed behind `runs`, if it means something else there.
pub(super) fn command_of_runs(words: &[&str]) -> Option<Vec<String>> {
    of_row(&format!("runs {}", words.first()?), words)
}

/// Returns whether a word is a program that is run with what stands behind it.
pub(super) fn is_program(word: &str) -> bool {
    COMMANDS.iter().any(|(name, instead)| *name == word && instead.contains("<LINE>"))
}

/// Programs that are not run alone, or have the name of something else here.
const OTHER_PROGRAMS: [&str; 7] = ["ls", "mvnw", "ps", "pwd", "rm", "sed", "top"];

/// Returns whether a word is a program that people type in a shell.
pub(crate) fn is_shell_command(word: &str) -> bool {
    let is_run = |instead: &str| {
        ["<LINE>", "<WORDS>", "<QUOTED:TASK>"].iter().any(|it| instead.contains(it))
    };
    OTHER_PROGRAMS.contains(&word)
        || COMMANDS.iter().any(|(name, instead)| *name == word && is_run(instead))
}

/// Returns those of its words that another word may be by its spelling: none that is short, and none that
/// would run a program.
pub(super) fn spelled() -> impl Iterator<Item = &'static str> {
    let is_program =
        |instead: &str| ["<LINE>", "<WORDS>"].iter().any(|place| instead.contains(place));
    let rows = COMMANDS.iter().filter(move |(_, instead)| !is_program(instead));
    rows.map(|(name, _)| *name).filter(|name| !name.contains(' ') && name.len() > 3)
}

/// Returns what to type in place of a word that names a model.
pub(super) fn model(word: &str) -> Option<String> {
    let is_model = MODELS.iter().any(|beginning| word.starts_with(beginning));
    is_model.then(|| format!("regatta --model {}", shell_word(word)))
}

fn of_row(key: &str, words: &[&str]) -> Option<Vec<String>> {
    let (_, instead) = COMMANDS.iter().find(|(name, _)| *name == key)?;
    Some(with_words(instead, words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::public_grammar;
    use crate::elsewhere::assert_can_be_copied;
    use crate::not_implemented;

    #[test]
    fn no_word_of_the_table_is_a_command_of_this_program_and_each_stands_once() {
        let grammar = public_grammar();
        for (word, instead) in COMMANDS {
            let found = grammar.get_subcommands().find(|command| command.get_name() == *word);
            assert!(found.is_none(), "{word}");
            assert_eq!(not_implemented::instead_of_command(&[word]), None, "{word}");
            assert_can_be_copied(instead);
        }
        let words: Vec<_> = COMMANDS.iter().map(|(word, _)| *word).collect();
        assert!(words.is_sorted_by(|one, other| one < other), "{words:?}");
    }
}
