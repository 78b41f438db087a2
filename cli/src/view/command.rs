//! The commands of the view: what begins with `/`.

use protocol::ThinkingLevel;

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Quit,
    /// Use the model with this name.
    Model(String),
    Thinking(ThinkingLevel),
    /// Compact the conversation, with these instructions for the summary.
    Compact(Option<String>),
    Cost,
}

/// The commands, with their values and what they do.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("help", "", "lists the commands and keys"),
    ("model", "NAME", "uses another model from the next request on"),
    ("thinking", "LEVEL", "changes how much the model thinks"),
    ("compact", "[TEXT]", "replaces older messages by a summary, which heeds the text"),
    ("cost", "", "says what the session has used"),
    ("quit", "", "leaves; the session can be continued"),
];

/// Commands that are recognised and refused, with what to do today.
const NOT_YET: &[(&str, &str)] = &[
    ("new", "leave, and start `regatta`"),
    ("resume", "leave, and start `regatta --resume`"),
    ("tree", ""),
    ("fork", "leave, and start `regatta --fork ID`"),
    ("name", ""),
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
    Some(match name {
        "model" if value.is_empty() => Err("`/model` needs the name of a model".to_owned()),
        "model" => Ok(Command::Model(value.to_owned())),
        "thinking" => value.parse().map(Command::Thinking).map_err(|error| format!("{error}")),
        "compact" => Ok(Command::Compact(Some(value.to_owned()).filter(|it| !it.is_empty()))),
        "help" | "quit" | "exit" | "cost" if !value.is_empty() => {
            Err(format!("`/{name}` takes no value"))
        }
        "help" => Ok(Command::Help),
        "cost" => Ok(Command::Cost),
        "quit" | "exit" => Ok(Command::Quit),
        name => Err(match NOT_YET.iter().find(|(known, _)| *known == name) {
            Some((_, "")) => format!("`/{name}` is not implemented yet"),
            Some((_, instead)) => format!("`/{name}` is not implemented yet; {instead}"),
            None => format!("no such command: `/{name}`; see /help"),
        }),
    })
}

/// Returns the text of `/help`.
pub(super) fn help() -> String {
    let line = |(name, value, what): &(&str, &str, &str)| {
        format!("{:<15} {what}\n", format!("/{name} {value}"))
    };
    COMMANDS.iter().map(line).chain([KEYS.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_from_a_text() {
        assert_eq!(parse("/quit "), Some(Ok(Command::Quit)));
        assert_eq!(parse("/model a/b"), Some(Ok(Command::Model("a/b".to_owned()))));
        assert_eq!(parse("/compact"), Some(Ok(Command::Compact(None))));
        for text in ["/etc/hosts is a file", "a /quit", " !x", ""] {
            assert_eq!(parse(text), None, "{text}");
        }
        for text in ["/nope", "/quit now", "/model", "/thinking much", "/tree", "!ls", "!!ls", "/"]
        {
            assert!(matches!(parse(text), Some(Err(_))), "{text}");
        }
    }
}
