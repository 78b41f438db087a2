//! The commands of the view: what begins with `/`.

use protocol::ThinkingLevel;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Quit,
    /// Use the model with this name, or one of a list.
    Model(Option<String>),
    /// Think so much, or as much as is chosen from a list.
    Thinking(Option<ThinkingLevel>),
    /// Begin a new session.
    New,
    /// Go on with another session, or one of a list.
    Resume(Option<String>),
    /// Go on from another entry of this session.
    Tree,
    /// Go on in a new session before the prompt with this id, or one of a list.
    Fork(Option<String>),
    /// Name the session.
    Name(String),
    /// Compact the conversation, with these instructions for the summary.
    Compact(Option<String>),
    Cost,
}

/// The commands, with their values and what they do.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("help", "", "lists the commands and keys"),
    ("model", "[NAME]", "uses another model from the next request on; lists them"),
    ("thinking", "[LEVEL]", "changes how much the model thinks; lists the levels"),
    ("new", "", "begins a new session; this one can be continued"),
    ("resume", "[ID|NAME]", "goes on with another session of this folder; lists them"),
    ("tree", "", "goes on from an earlier entry of this session"),
    ("fork", "[ENTRY]", "begins a session with what comes before a prompt; lists them"),
    ("name", "TEXT", "names this session"),
    ("compact", "[TEXT]", "replaces older messages by a summary, which heeds the text"),
    ("cost", "", "says what the session has used"),
    ("quit", "", "leaves; the session can be continued"),
];

const KEYS: &str = "
Enter           sends the input; while the model works, it is part of the next request
Alt-Enter       sends the input when the model would stop
Alt-Up          takes the newest waiting input back
Esc             stops the model, and sends what waits
Ctrl-C          clears the input, else stops the model and gives back what waits, else leaves (twice)
Ctrl-D          leaves
Ctrl-J          begins a new line
Up, Down        go through the prompts of before; Ctrl-R searches them
Tab             completes a command, or a file after `@`
Ctrl-P          uses the next model; Shift-Tab, the next thinking level
Ctrl-Z          suspends; `fg` goes on";

/// Returns the names of the commands.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(name, ..)| *name)
}

/// Returns the command that a text is, if it begins as one, or why it is none. A path such as
/// `/etc/hosts` is a text.
pub(super) fn parse(text: &str) -> Option<Result<Command, String>> {
    if text.starts_with('!') {
        let why =
            "`!` (running a command) is not implemented yet; a space before it sends the text";
        return Some(Err(why.to_owned()));
    }
    let line = text.strip_prefix('/')?.trim_end();
    let (name, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if name.contains('/') {
        return None;
    }
    let value = value.trim();
    let given = Some(value.to_owned()).filter(|it| !it.is_empty());
    Some(match name {
        "model" => Ok(Command::Model(given)),
        "thinking" => {
            let level = given.map(|level| level.parse().map_err(|error| format!("{error}")));
            level.transpose().map(Command::Thinking)
        }
        "compact" => Ok(Command::Compact(given)),
        "resume" => Ok(Command::Resume(given)),
        "fork" => Ok(Command::Fork(given)),
        "name" => given.map(Command::Name).ok_or_else(|| "`/name` needs a text".to_owned()),
        "help" | "quit" | "exit" | "cost" | "new" | "tree" if !value.is_empty() => {
            Err(format!("`/{name}` takes no value"))
        }
        "help" => Ok(Command::Help),
        "cost" => Ok(Command::Cost),
        "quit" | "exit" => Ok(Command::Quit),
        "new" => Ok(Command::New),
        "tree" => Ok(Command::Tree),
        name => Err(format!("no such command: `/{name}`; see /help")),
    })
}

/// Returns the text of `/help`.
pub(super) fn help() -> String {
    let line = |(name, value, what): &(&str, &str, &str)| {
        format!("{:<18} {what}\n", format!("/{name} {value}"))
    };
    COMMANDS.iter().map(line).chain([KEYS.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_from_a_text() {
        assert_eq!(parse("/quit "), Some(Ok(Command::Quit)));
        assert_eq!(parse("/model a/b"), Some(Ok(Command::Model(Some("a/b".to_owned())))));
        assert_eq!(parse("/model "), Some(Ok(Command::Model(None))));
        assert_eq!(parse("/resume my work"), Some(Ok(Command::Resume(Some("my work".to_owned())))));
        assert_eq!(parse("/compact"), Some(Ok(Command::Compact(None))));
        for text in ["/etc/hosts is a file", "a /quit", " !x", ""] {
            assert_eq!(parse(text), None, "{text}");
        }
        for text in ["/nope", "/quit now", "/name", "/thinking much", "/tree x", "!ls", "!!ls", "/"]
        {
            assert!(matches!(parse(text), Some(Err(_))), "{text}");
        }
    }
}
