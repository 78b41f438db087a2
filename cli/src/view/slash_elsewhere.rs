//! Commands of other agents that begin with `/`, and what does the same here.

use crate::elsewhere::nearest;

use super::command;
use super::state::IsolationState;
use crate::args::{command_names, is_shell_command, meant_as_command, public_grammar};
use crate::elsewhere::{UPDATE, as_shown};
use crate::render::one_line;

const CONFIG: &str =
    "`regatta config`, in a shell, lists the settings; <SETTINGS FILE> changes them";
const NO_EXTENSION: &str =
    "extensions are not implemented yet; AGENTS.md has what each model reads";
const CONTEXT: &str = "AGENTS.md in the folder has what each model reads";
const FILE: &str = "@FILE in the input sends the file";
const RUN: &str = "!COMMAND runs a command";
const UNDO: &str =
    "`!git diff` shows what has changed; `regatta --isolated` changes nothing until /land";

/// The commands, sorted, and what to do instead.
const COMMANDS: &[(&str, &str)] = &[
    ("add", FILE),
    ("add-dir", "commands read any folder; @FILE in the input sends a file"),
    ("allow", "/approvals"),
    ("allowed-tools", "/approvals"),
    ("ask", "type the question"),
    ("bash", RUN),
    ("bashes", "ask for it: the tool `job` lists what runs in the background"),
    ("btw", "type it: while the model works, it is part of the next request"),
    ("bug", "`regatta logs SESSION` prints the session for a report"),
    ("builtin", NO_EXTENSION),
    (
        "cd",
        "each command begins in the folder of the session; `regatta --repo DIR` works in another one",
    ),
    ("changelog", "`regatta --version` prints the version"),
    ("clean", "/new"),
    ("code", "type what to do; /model uses another model"),
    ("color", "--color never turns colours off"),
    ("commit", "`!git commit` makes a commit"),
    ("config", CONFIG),
    ("connect", "`regatta login PROVIDER` stores a key"),
    ("context", "/cost prints how much of the context is used"),
    ("continue", "/resume"),
    ("copy", "`regatta logs SESSION` prints the answers"),
    ("debug", "`regatta -v` prints more"),
    ("deny", "/approvals"),
    ("details", "Ctrl-T toggles full display of thinking"),
    ("doctor", "`regatta models` lists the models that can be used"),
    ("editor", "Ctrl-J begins a new line"),
    ("effort", "/thinking"),
    ("endplan", "there is no mode for plans"),
    ("exec", RUN),
    ("export", "`regatta logs SESSION` prints the session"),
    ("extension", NO_EXTENSION),
    ("fast", "/thinking"),
    ("feedback", "`regatta logs SESSION` prints the session for a report"),
    ("file", FILE),
    ("files", FILE),
    ("history", "Ctrl-R searches earlier prompts"),
    ("hooks", NO_EXTENSION),
    ("hotkeys", "/help"),
    ("ide", "@FILE in the input sends a file"),
    ("image", "@FILE in the input sends the image"),
    ("init", CONTEXT),
    ("list", "/resume"),
    ("load", FILE),
    ("login", "`regatta login PROVIDER` stores a key"),
    ("logout", "`regatta logout PROVIDER` removes a key"),
    ("mcp", "`regatta mcp`, in a shell, lists the servers and changes them"),
    ("memory", CONTEXT),
    ("mention", FILE),
    ("mode", "/approvals"),
    ("models", "/model"),
    ("output-style", "--append-system-prompt adds to the system prompt"),
    ("permissions", "/approvals"),
    ("plan", "there is no mode for plans: ask for a plan first"),
    ("plugin", NO_EXTENSION),
    ("prompts", "Ctrl-R searches earlier prompts"),
    ("push", "`!git push` pushes"),
    ("read", FILE),
    ("redo", "Up brings the last prompt back"),
    ("release-notes", "`regatta --version` prints the version"),
    ("reload", "settings are read when a session begins: /new"),
    ("rename", "/name TEXT"),
    ("reset", "/new"),
    ("review", "ask for it: review the changes"),
    ("revoke", "/approvals"),
    ("rewind", "/tree continues from an earlier entry; files stay as they are"),
    ("run", RUN),
    (
        "sandbox",
        "there is no sandbox: commands are not confined; `regatta --isolated` works in a copy",
    ),
    ("save", "each session is saved as it goes on"),
    ("security-review", "ask for it: review the changes for security"),
    ("session", "/cost prints the tokens and the cost of this session"),
    ("sessions", "/resume"),
    ("settings", CONFIG),
    ("sh", RUN),
    ("share", "`regatta logs SESSION` prints the session"),
    ("shell", RUN),
    ("skills", NO_EXTENSION),
    ("stats", "/cost"),
    ("status", "/cost prints the tokens and the cost of this session"),
    ("stop", "Esc stops the model"),
    ("subagents", "/agents"),
    ("summarize", "/compact"),
    ("system", "--system-prompt replaces the system prompt"),
    ("test", RUN),
    ("theme", "the colours are those of the terminal"),
    ("think", "/thinking"),
    ("todo", "ask the model for a list, which is above the input then"),
    ("todos", "ask the model for a list, which is above the input then"),
    ("tokens", "/cost"),
    ("tools", "--tools names the tools of a session"),
    ("undo", UNDO),
    ("update", UPDATE),
    ("upgrade", UPDATE),
    ("usage", "/cost"),
    ("version", "`regatta --version` prints the version"),
    ("vim", "the keys are those of /help"),
    ("web", "there is no tool for the web; `!curl` fetches a page"),
    ("worktree", "`regatta --isolated` works in a copy"),
    ("yolo", "/approvals yolo"),
];

/// Words of the table that are sent if they are typed without the `/`: they say what to do.
const PROMPTS: [&str; 28] = [
    "add",
    "ask",
    "btw",
    "clean",
    "code",
    "color",
    "commit",
    "connect",
    "continue",
    "copy",
    "debug",
    "details",
    "fast",
    "files",
    "list",
    "load",
    "plan",
    "push",
    "read",
    "review",
    "save",
    "share",
    "stop",
    "summarize",
    "test",
    "think",
    "tokens",
    "web",
];

/// Returns the names of the table.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(name, _)| *name)
}

/// Returns what does what a text is meant to do that is typed for the program and not for the model: a word
/// of the table or the name of a command, alone or with runs behind it, or a whole command line.
pub(super) fn for_program(text: &str) -> Option<String> {
    if text.starts_with(|first: char| first.is_whitespace() || first == '/') {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let words: Vec<_> = lower.split_whitespace().collect();
    match words.as_slice() {
        ["regatta"] => Some("this is regatta: see /help".to_owned()),
        ["regatta", next, ..] if next.starts_with('-') => {
            Some(format!("`{}`, in a shell", one_line(text)))
        }
        ["exec"] => instead("run"),
        // As a question it is for the model.
        ["why"] => None,
        // It is a program as well.
        ["go"] => None,
        [word] if PROMPTS.contains(word) => None,
        [word] => instead(word).or_else(|| near_command(word)),
        ["cd", _folder] => instead("cd"),
        ["exec", command, ..] if is_shell_command(command) => of_program("exec", &value_of(text)),
        [first, ..] => {
            // The command is recognised in any case, and its values stay as they are.
            let rest = text.split_whitespace().skip(1);
            let typed: Vec<_> = std::iter::once(*first).chain(rest).collect();
            let command = meant_as_command(&typed)?;
            let command = command.split(" (").next().unwrap_or_default();
            Some(format!("`{}`, in a shell", one_line(command)))
        }
        [] => None,
    }
}

/// Returns what stands behind the first word.
fn value_of(text: &str) -> String {
    text.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

/// Words that need no `/`.
const WORDS: [&str; 4] = ["clear", "exit", "help", "quit"];

/// Returns the command that a word alone is near to in spelling. A short word is near to many: its letters
/// are those of the command in another order, or one more or less.
fn near_command(word: &str) -> Option<String> {
    let own = command_names();
    let of_view: Vec<_> =
        WORDS.into_iter().chain(command::names(IsolationState::InPlace)).collect();
    let mut names: Vec<_> = own.iter().map(String::as_str).collect();
    names.extend(&of_view);
    let sorted = |word: &str| {
        let mut letters: Vec<_> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_slip = |name: &&str| {
        let is_long = word.chars().count().min(name.chars().count()) > 4;
        is_long || word.len() != name.len() || sorted(word) == sorted(name)
    };
    let near = nearest(word, names)
        .filter(is_slip)
        .filter(|near| word.chars().count() > 3 && *near != word)?;
    let is_of_view = of_view.contains(&near);
    Some(if is_of_view {
        format!("/{near} is the command")
    } else {
        format!("`regatta {near}`, in a shell")
    })
}

/// Returns what does what a command of other agents with a value behind it does.
pub(super) fn of_program(name: &str, value: &str) -> Option<String> {
    let instead = instead(name)?;
    let one_line = one_line(value);
    let is_file = !value.contains(char::is_whitespace);
    Some(match value {
        "" => instead,
        _ if instead == RUN => format!("`!{one_line}` runs it"),
        _ if is_shell_command(name) => format!("`!{name} {one_line}` runs it"),
        _ if is_file => instead.replace("@FILE ", &format!("@{one_line} ")),
        _ => instead,
    })
}

/// Returns what does here what a command of other agents does there, or that the command is one of the
/// program.
pub(super) fn instead(name: &str) -> Option<String> {
    let elsewhere = COMMANDS.iter().find(|(command, _)| *command == name);
    let grammar = public_grammar();
    let is_own = |command: &clap::Command| command.get_name() == name && !command.is_hide_set();
    let of_program = || grammar.get_subcommands().any(is_own);
    let of_program = || of_program().then(|| format!("`regatta {name}`, in a shell"));
    let of_shell = || is_shell_command(name).then(|| format!("`!{name}` runs it"));
    let elsewhere = elsewhere.map(|(_, instead)| as_shown(instead).join(" "));
    elsewhere.or_else(of_program).or_else(of_shell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_for_the_program_is_told_from_a_prompt() {
        let cd = for_program("cd ..").expect("it is not sent");
        assert!(cd.contains("--repo DIR"), "{cd}");
        for (text, instead) in [
            ("apply", "`regatta apply`, in a shell"),
            ("apply @", "`regatta apply @`, in a shell"),
            ("undo @", "`regatta undo @`, in a shell"),
            ("diff r7k3f/auth", "`regatta diff r7k3f/auth`, in a shell"),
            ("Runs", "`regatta runs`, in a shell"),
            ("results", "`regatta results`, in a shell"),
            ("models", "/model"),
            ("login", "`regatta login PROVIDER` stores a key"),
            ("exec", "!COMMAND runs a command"),
            ("exec ls", "`!ls` runs it"),
            ("exitt", "/exit is the command"),
            ("quti", "/quit is the command"),
            ("hlep", "/help is the command"),
            ("clera", "/clear is the command"),
            ("appply", "`regatta apply`, in a shell"),
            ("rus show", "`regatta runs show`, in a shell"),
            ("show @ blue", "`regatta runs show @ blue`, in a shell"),
            ("claude", "`!claude` runs it"),
            ("ls", "`!ls` runs it"),
            ("init", CONTEXT),
            ("sessions", "/resume"),
            ("regatta runs", "`regatta runs`, in a shell"),
            ("regatta run 'Fix it' -j 3", "`regatta run 'Fix it' -j 3`, in a shell"),
            ("regatta --continue", "`regatta --continue`, in a shell"),
            ("regatta appply @ blue", "`regatta apply @ blue`, in a shell"),
            ("appply @ blue", "`regatta apply @ blue`, in a shell"),
            ("apply@ blue --dry-run", "`regatta apply @ blue --dry-run`, in a shell"),
            ("runs show @", "`regatta runs show @`, in a shell"),
            ("rusn show @", "`regatta runs show @`, in a shell"),
            ("gc --dry-run", "`regatta gc --dry-run`, in a shell"),
            ("undo @ blue", "`regatta undo @ blue`, in a shell"),
            ("regatta undoo @", "`regatta undo @`, in a shell"),
            ("regatta sessions", "`regatta --resume`, in a shell"),
        ] {
            assert_eq!(for_program(text).as_deref(), Some(instead), "{text}");
        }
        for text in [
            "true",
            "edit",
            "now",
            "none",
            "done",
            "next",
            "sure",
            "go",
            "push",
            "git status",
            "ls -la",
            "use the other one",
            "test",
            "review",
            "why",
            "why does it fail?",
            "commit",
            "continue",
            " apply",
            "apply the patch",
            "show me",
            "yes",
            "",
            "regatta is what?",
            "regatta fix the tests",
            "run cargo test -q",
            "diff the two files",
            "logs are missing",
            "apply the patch of @src/a.rs",
            "fix -x in the parser",
        ] {
            assert_eq!(for_program(text), None, "{text}");
        }
    }

    #[test]
    fn each_command_stands_once_and_is_none_of_this_program() {
        let names: Vec<_> = COMMANDS.iter().map(|(name, _)| *name).collect();
        assert!(names.is_sorted_by(|one, other| one < other), "{names:?}");
        for name in command::names(IsolationState::Isolated) {
            assert!(!names.contains(&name), "{name}");
        }
        assert!(PROMPTS.iter().all(|word| names.contains(word)), "{PROMPTS:?}");
        for (name, instead) in COMMANDS.iter().filter(|(_, instead)| instead.starts_with('/')) {
            let given = instead.split_once([' ', ',']).map_or(*instead, |(given, _)| given);
            assert!(
                command::names(IsolationState::Isolated).any(|it| given == format!("/{it}")),
                "{name}: {instead}"
            );
        }
    }
}
