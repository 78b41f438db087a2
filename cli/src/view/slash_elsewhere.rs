//! Commands of other agents that begin with `/`, and what does the same here.

use crate::args::public_grammar;
use crate::elsewhere::{SETTINGS, UPDATE};

const NO_QUESTION: &str = "`regatta --approval-mode ask` asks before changes and commands";
const NO_MCP: &str = "MCP servers are not implemented yet; bash runs programs";
const NO_EXTENSION: &str =
    "extensions are not implemented yet; AGENTS.md has what each model reads";
const CONTEXT: &str = "AGENTS.md in the folder has what each model reads";
const PATCH: &str = "`!git diff` shows what changed";
const UNDO: &str = "`!git restore FILE` takes a change of a file back";

/// The commands, sorted, and what to do instead.
const COMMANDS: &[(&str, &str)] = &[
    ("add", "@FILE in the input sends the file"),
    ("add-dir", "tools read any folder"),
    ("agents", "`regatta run` runs prompts as tasks"),
    ("approvals", NO_QUESTION),
    ("ask", "type the question"),
    ("bashes", "a command ends with its call"),
    ("btw", "type it: while the model works, it is part of the next request"),
    ("bug", "`regatta logs SESSION` prints the session for a report"),
    ("builtin", NO_EXTENSION),
    ("changelog", "`regatta --version` prints the version"),
    ("clean", "/new"),
    ("code", "type what to do; /model uses another model"),
    ("color", "--color never turns colours off"),
    ("commit", "`!git commit` makes a commit"),
    ("config", SETTINGS),
    ("connect", "`regatta login PROVIDER` stores a key"),
    ("context", "/cost prints how much of the context is used"),
    ("continue", "/resume"),
    ("copy", "`regatta logs SESSION` prints the answers"),
    ("debug", "`regatta -v` prints more"),
    ("details", "Ctrl-T toggles full display of thinking"),
    ("diff", PATCH),
    ("doctor", "`regatta models` lists the models that can be used"),
    ("editor", "Ctrl-J begins a new line"),
    ("effort", "/thinking"),
    ("endplan", "there is no mode for plans"),
    ("export", "`regatta logs SESSION` prints the session"),
    ("extension", NO_EXTENSION),
    ("fast", "/thinking"),
    ("feedback", "`regatta logs SESSION` prints the session for a report"),
    ("history", "Ctrl-R searches earlier prompts"),
    ("hooks", NO_EXTENSION),
    ("hotkeys", "/help"),
    ("ide", "@FILE in the input sends a file"),
    ("init", CONTEXT),
    ("list", "/resume"),
    ("login", "`regatta login PROVIDER` stores a key"),
    ("logout", "`regatta logout PROVIDER` removes a key"),
    ("mcp", NO_MCP),
    ("memory", CONTEXT),
    ("mention", "@FILE in the input sends the file"),
    ("mode", NO_QUESTION),
    ("models", "/model"),
    ("output-style", "--append-system-prompt adds to the system prompt"),
    ("permissions", NO_QUESTION),
    ("plan", "there is no mode for plans: ask for a plan first"),
    ("plugin", NO_EXTENSION),
    ("prompts", "Ctrl-R searches earlier prompts"),
    ("redo", "Up brings the last prompt back"),
    ("release-notes", "`regatta --version` prints the version"),
    ("reload", "settings are read when a session begins: /new"),
    ("rename", "/name TEXT"),
    ("reset", "/new"),
    ("review", "ask for it: review the changes"),
    ("rewind", "/tree continues from an earlier entry; files stay as they are"),
    ("run", "!COMMAND runs a command"),
    ("sandbox", "`regatta run` works in a copy"),
    ("save", "each session is saved as it goes on"),
    ("security-review", "ask for it: review the changes for security"),
    ("session", "/cost prints the tokens and the cost of this session"),
    ("sessions", "/resume"),
    ("settings", SETTINGS),
    ("share", "`regatta logs SESSION` prints the session"),
    ("skills", NO_EXTENSION),
    ("stats", "/cost"),
    ("status", "/cost prints the tokens and the cost of this session"),
    ("stop", "Esc stops the model"),
    ("subagents", "`regatta run` runs prompts as tasks"),
    ("summarize", "/compact"),
    ("system", "--system-prompt replaces the system prompt"),
    ("tasks", "`regatta runs` lists the runs"),
    ("test", "!COMMAND runs a command"),
    ("theme", "the colours are those of the terminal"),
    ("think", "/thinking"),
    ("todo", "ask the model for a list in a file"),
    ("todos", "ask the model for a list in a file"),
    ("tokens", "/cost"),
    ("tools", "--tools names the tools of a session"),
    ("undo", UNDO),
    ("update", UPDATE),
    ("upgrade", UPDATE),
    ("usage", "/cost"),
    ("version", "`regatta --version` prints the version"),
    ("vim", "the keys are those of /help"),
    ("web", "there is no tool for the web; `!curl` fetches a page"),
];

/// Returns what does here what a command of other agents does there, or that the command is one of the
/// program.
pub(super) fn instead(name: &str) -> Option<String> {
    let elsewhere = COMMANDS.iter().find(|(command, _)| *command == name);
    let grammar = public_grammar();
    let is_own = |command: &clap::Command| command.get_name() == name && !command.is_hide_set();
    let of_program = || grammar.get_subcommands().any(is_own);
    let of_program = || of_program().then(|| format!("`regatta {name}`, in a shell"));
    elsewhere.map(|(_, instead)| (*instead).to_owned()).or_else(of_program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::command;

    #[test]
    fn each_command_stands_once_and_is_none_of_this_program() {
        let names: Vec<_> = COMMANDS.iter().map(|(name, _)| *name).collect();
        assert!(names.is_sorted_by(|one, other| one < other), "{names:?}");
        for name in command::names() {
            assert!(!names.contains(&name), "{name}");
        }
        for (name, instead) in COMMANDS.iter().filter(|(_, instead)| instead.starts_with('/')) {
            let given = instead.split_once([' ', ',']).map_or(*instead, |(given, _)| given);
            assert!(command::names().any(|it| given == format!("/{it}")), "{name}: {instead}");
        }
    }
}
