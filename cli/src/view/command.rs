//! The commands of the view: what begins with `/`.

use std::num::NonZeroUsize;
use std::path::Path;

use crate::elsewhere::nearest;
use protocol::{ApprovalMode, ThinkingLevel};

use super::key_help::{KEYS, LINE_KEYS};
use super::slash_elsewhere;
use super::state::IsolationState;
use super::subagents::TreeMode;
use crate::render::one_line;

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
    /// Change which calls of tools are asked about, or show that, and the rules.
    Approvals(Option<ApprovalMode>),
    /// List the agents to which the model can give tasks.
    Agents,
    /// Change how many subagents work at the same time, or show that.
    Jobs(Option<NonZeroUsize>),
    /// Change how much of the subagents is displayed, or say it.
    Tasks(Option<TreeMode>),
    /// Show the work of an isolated session.
    Diff,
    /// Land it.
    Land,
    /// Throw it away.
    Discard,
    /// Run a command in the folder of the session.
    Run(UserCommand),
}

/// A command of the user for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserCommand {
    /// The script.
    pub(crate) script: String,
    pub(crate) reader: Reader,
}

impl UserCommand {
    /// Returns what stands before the command.
    pub(super) fn mark(&self) -> &'static str {
        match self.reader {
            Reader::Model => "!",
            Reader::User => "!!",
        }
    }
}

/// Who reads what a command of the user comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// The model, with the next request.
    Model,
    /// The user only.
    User,
}

/// The commands, with their values and what they do.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("help", "", "lists the commands and keys"),
    ("model", "[NAME]", "uses another model from the next request on; lists them"),
    ("thinking", "[LEVEL]", "changes how much the model thinks; lists the levels"),
    ("new", "", "begins a new session; this one can be continued"),
    ("resume", "[ID|NAME]", "continues another session of this folder; lists them"),
    ("tree", "", "continues from an earlier entry of this session"),
    ("fork", "[ENTRY]", "begins a session with what is before a prompt; lists them"),
    ("name", "TEXT", "names this session"),
    ("compact", "[TEXT]", "replaces older messages by a summary; TEXT says what matters"),
    ("cost", "", "prints tokens and cost, and how full the context is"),
    ("approvals", "[MODE]", "changes which calls are asked about; lists that and the rules"),
    ("agents", "", "lists the agents to which the model can give tasks"),
    ("jobs", "[N]", "changes how many subagents work at once; prints that"),
    ("tasks", "[MODE]", "shows the subagents at work: off, compact or verbose"),
    ("quit", "", "leaves; the session can be continued"),
];

/// The commands of an isolated session.
const ISOLATED: &[(&str, &str, &str)] = &[
    ("diff", "", "prints what has changed in the workspace"),
    ("land", "", "lands the work in your tree; continues in a new copy"),
    ("discard", "", "discards the work if typed twice; continues in a new copy"),
];

/// Other names of commands.
const SYNONYMS: [&str; 2] = ["clear", "exit"];

/// What `/help` says about words that are typed alone.
const WORDS: &str = "
exit, quit, help and clear need no `/`; a space before one sends it to the model\n";

/// How a terminal gives what is typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum InputForm {
    /// Key by key.
    #[default]
    Keys,
    /// As whole lines, which it edits itself.
    Lines,
}

/// Returns the names of the commands that a session has.
pub(super) fn names(isolation: IsolationState) -> impl Iterator<Item = &'static str> {
    commands(isolation).map(|(name, ..)| *name)
}

fn commands(
    isolation: IsolationState,
) -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
    COMMANDS.iter().chain(ISOLATED.iter().filter(move |_| isolation.is_isolated()))
}

/// The names of all commands.
fn all_names() -> impl Iterator<Item = &'static str> {
    names(IsolationState::Isolated)
}

/// Returns the command that a text is, if it begins as one, or why it is none. The path of a file, such as
/// `/etc/hosts`, is a text.
pub(super) fn parse(text: &str) -> Option<Result<Command, String>> {
    if let Some(script) = text.strip_prefix('!') {
        return Some(user_command(script));
    }
    if let Some(word) = word(text.trim_end()) {
        return Some(word);
    }
    let line = text.strip_prefix('/')?.trim_end();
    let (name, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if name.contains('/') {
        return no_path(name).map(Err);
    }
    let value = value.trim();
    let given = Some(value.to_owned()).filter(|it| !it.is_empty());
    if !all_names().chain(SYNONYMS).any(|command| command == name) {
        return Some(Err(unknown(name, value)));
    }
    let command = match name {
        "model" => Ok(Command::Model(given)),
        "thinking" => {
            let level = given.map(|level| level.parse().map_err(|error| format!("{error}")));
            level.transpose().map(Command::Thinking)
        }
        "approvals" => given.map_or(Ok(Command::Approvals(None)), |name| {
            let mode = ApprovalMode::named(&name).map(|mode| Command::Approvals(Some(mode)));
            mode.ok_or_else(|| {
                format!("no such mode: `{}`; try ask, write or yolo", one_line(&name))
            })
        }),
        "jobs" => {
            let jobs = given.map(|number| {
                let invalid = || {
                    format!("`/jobs` needs a whole number from 1 on, not `{}`", one_line(&number))
                };
                number.parse().map_err(|_no_number| invalid())
            });
            jobs.transpose().map(Command::Jobs)
        }
        "tasks" => given.map_or(Ok(Command::Tasks(None)), |name| {
            let mode = TreeMode::named(&name).map(|mode| Command::Tasks(Some(mode)));
            mode.ok_or_else(|| {
                format!("no such mode: `{}`; try off, compact or verbose", one_line(&name))
            })
        }),
        "compact" => Ok(Command::Compact(given)),
        "resume" => Ok(Command::Resume(given)),
        "fork" => Ok(Command::Fork(given)),
        "name" => given.map(Command::Name).ok_or_else(|| "`/name` needs a text".to_owned()),
        "help" | "quit" | "exit" | "cost" | "agents" | "new" | "clear" | "tree" | "diff"
        | "land" | "discard"
            if !value.is_empty() =>
        {
            Err(format!("`/{name}` takes no value"))
        }
        "help" => Ok(Command::Help),
        "cost" => Ok(Command::Cost),
        "agents" => Ok(Command::Agents),
        "new" | "clear" => Ok(Command::New),
        "tree" => Ok(Command::Tree),
        "diff" => Ok(Command::Diff),
        "land" => Ok(Command::Land),
        "discard" => Ok(Command::Discard),
        _quit_or_exit => Ok(Command::Quit),
    };
    Some(command)
}

/// Returns the command that a word alone is, or what to type in its place, also in that of a command line of
/// the program. People type it for the program, not for the model.
fn word(text: &str) -> Option<Result<Command, String>> {
    let word = text.to_ascii_lowercase();
    match word.as_str() {
        "exit" | "quit" | ":q" | ":q!" | ":wq" => Some(Ok(Command::Quit)),
        "help" => Some(Ok(Command::Help)),
        "clear" => Some(Ok(Command::New)),
        "undo" | "redo" | "rewind" => slash_elsewhere::instead(&word)
            .map(|instead| Err(format!("`{word}` was not sent to the model; {instead}; {ANYWAY}"))),
        "resume" | "compact" | "cost" => Some(Err(format!(
            "`{word}` was not sent to the model; /{word} is the command; {ANYWAY}"
        ))),
        _other => slash_elsewhere::for_program(text).map(|instead| {
            Err(format!("`{}` was not sent to the model; {instead}; {ANYWAY}", one_line(text)))
        }),
    }
}

/// How a text that looks like a command is sent.
const ANYWAY: &str = "a space before it sends the text";

/// Returns whether a text is a command that lacks its value.
pub(super) fn lacks_value(text: &str) -> bool {
    let typed = text.trim_end().strip_prefix('/');
    let needs_value = |value: &str| !value.is_empty() && !value.starts_with('[');
    COMMANDS.iter().any(|(name, value, _)| typed == Some(*name) && needs_value(value))
}

/// Returns why `/name` is not sent, unless it can be the path of a file: it or its folder is there.
fn no_path(name: &str) -> Option<String> {
    let path = format!("/{name}");
    let file = Path::new(&path);
    let folder = file.parent().filter(|folder| folder.parent().is_some());
    let is_path = file.file_name().is_some() && (file.exists() || folder.is_some_and(Path::exists));
    (!is_path).then(|| format!("no such file: `{path}`; {ANYWAY}"))
}

/// Returns what to type in place of a command that there is not.
fn unknown(name: &str, value: &str) -> String {
    let instead = slash_elsewhere::of_program(name, value);
    let begun =
        names(IsolationState::InPlace).filter(|own| !name.is_empty() && own.starts_with(name));
    let begun: Vec<_> = begun.map(|own| format!("/{own}")).collect();
    if instead.is_none() && begun.len() > 1 {
        return format!("several commands begin with `/{name}`: {}", begun.join(", "));
    }
    let own = names(IsolationState::InPlace).chain(SYNONYMS);
    let near = || nearest(name, own).map(|near| format!("/{near}"));
    let near_other = || slash_elsewhere::instead(nearest(name, slash_elsewhere::names())?);
    let instead =
        instead.or_else(near).or_else(near_other).unwrap_or_else(|| "see /help".to_owned());
    // A command alone is to be typed, and a sentence says what to do.
    let is_upper = |word: &str| word.chars().all(char::is_uppercase);
    let is_command = instead.starts_with('/') && instead.split(' ').skip(1).all(is_upper);
    let verb = if is_command { "try " } else { "" };
    format!("no such command: `/{name}`; {verb}{instead}")
}

/// Returns the command behind a `!`, or why there is none.
fn user_command(script: &str) -> Result<Command, String> {
    let (script, reader) = match script.strip_prefix('!') {
        Some(script) => (script, Reader::User),
        None => (script, Reader::Model),
    };
    let script = script.trim().to_owned();
    match script {
        script if script.is_empty() => Err(format!("`!` needs a command; {ANYWAY}")),
        script if script.contains('\0') => Err("the command has a NUL in it".to_owned()),
        script => Ok(Command::Run(UserCommand { script, reader })),
    }
}

/// Returns the text of `/help`.
pub(super) fn help(form: InputForm, isolation: IsolationState) -> String {
    let keys = match form {
        InputForm::Keys => KEYS,
        InputForm::Lines => LINE_KEYS,
    };
    let line = |(name, value, what): &(&str, &str, &str)| {
        format!("{:<18} {what}\n", format!("/{name} {value}"))
    };
    commands(isolation).map(line).chain([WORDS.to_owned(), keys.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elsewhere::UPDATE;

    #[test]
    fn a_command_is_told_from_a_text() {
        assert_eq!(parse("/quit "), Some(Ok(Command::Quit)));
        assert_eq!(parse("/model a/b"), Some(Ok(Command::Model(Some("a/b".to_owned())))));
        assert_eq!(parse("/model "), Some(Ok(Command::Model(None))));
        assert_eq!(parse("/resume my work"), Some(Ok(Command::Resume(Some("my work".to_owned())))));
        assert_eq!(parse("/compact"), Some(Ok(Command::Compact(None))));
        let ran = |script: &str, reader| {
            Some(Ok(Command::Run(UserCommand { script: script.to_owned(), reader })))
        };
        assert_eq!(parse("!ls -l"), ran("ls -l", Reader::Model));
        assert_eq!(parse("!! a\nb "), ran("a\nb", Reader::User));
        for text in ["/etc/ has files", "/etc/none: no file", " /a/b", " //", "a /quit", " !x", ""]
        {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("/agents"), Some(Ok(Command::Agents)));
        assert_eq!(parse("/tasks"), Some(Ok(Command::Tasks(None))));
        assert_eq!(parse("/tasks off"), Some(Ok(Command::Tasks(Some(TreeMode::Off)))));
        assert!(matches!(parse("/tasks all"), Some(Err(_))));
        assert_eq!(parse("/approvals"), Some(Ok(Command::Approvals(None))));
        assert_eq!(parse("/approvals ask"), Some(Ok(Command::Approvals(Some(ApprovalMode::Ask)))));
        assert!(matches!(parse("/approvals never"), Some(Err(_))));
        assert_eq!(parse("/jobs"), Some(Ok(Command::Jobs(None))));
        assert_eq!(parse("/jobs 8"), Some(Ok(Command::Jobs(NonZeroUsize::new(8)))));
        for text in ["0", "-1", "1.5", "many", "99999999999999999999999"] {
            let why = format!("`/jobs` needs a whole number from 1 on, not `{text}`");
            assert_eq!(parse(&format!("/jobs {text}")), Some(Err(why)));
        }
        for text in ["/quit now", "/clear it", "/name", "/thinking much", "/tree x", "!", "!! "] {
            assert!(matches!(parse(text), Some(Err(_))), "{text}");
        }
        assert_eq!((parse("/clear"), parse("/exit")), (parse("/new"), parse("/quit")));
    }

    #[test]
    fn a_word_that_is_meant_for_the_program_is_no_text_unless_a_space_is_before_it() {
        for (word, command) in [
            ("exit", "/quit"),
            ("quit ", "/quit"),
            ("Exit", "/quit"),
            (":q", "/quit"),
            ("help", "/help"),
            ("clear\n", "/new"),
        ] {
            assert_eq!(parse(word), parse(command), "{word}");
        }
        for (word, said) in [
            ("undo", "`!git diff`"),
            ("redo", "Up brings the last prompt back"),
            ("rewind", "/tree"),
            ("cost", "/cost is the command"),
            ("compact", "/compact is"),
            ("resume", "/resume is"),
            ("Apply @ ", "`regatta apply @`, in a shell"),
        ] {
            let why = parse(word).unwrap_or_else(|| panic!("{word} is sent")).unwrap_err();
            let ends = why.ends_with("; a space before it sends the text");
            assert!(why.contains(said) && ends, "{word}: {why}");
        }
        for text in [" exit", "exit the loop", "undo it", "continue", "yes", "tree", "help me"] {
            assert_eq!(parse(text), None, "{text}");
        }
        let help = help(InputForm::Lines, IsolationState::InPlace);
        assert!(help.contains("\nexit, quit, help and clear need no `/`"), "{help}");
    }

    #[test]
    fn where_lines_are_typed_the_help_has_no_key_that_edits_one() {
        let help = |form| help(form, IsolationState::InPlace);
        let [keys, lines] = [InputForm::Keys, InputForm::Lines].map(help);
        for key in ["Alt-Enter", "Alt-Up", "Esc", "Ctrl-J", "Up, Down", "Tab", "Ctrl-P", "Ctrl-T"] {
            assert!(keys.contains(&format!("\n{key} ")), "{key}");
            assert!(!lines.contains(key), "{key}: {lines}");
        }
        for both in ["/model", "\nEnter ", "\nCtrl-C ", "\nCtrl-D ", "\n!COMMAND "] {
            assert!(keys.contains(both) && lines.contains(both), "{both}");
        }
    }

    #[test]
    fn what_is_no_command_says_what_is() {
        for (text, instead) in [
            ("/frobnicate", "see /help"),
            ("/", "see /help"),
            ("/modle a/b", "try /model"),
            ("/init", "AGENTS.md in the folder has what each model reads"),
            ("/sessions", "try /resume"),
            ("/foo", "see /help"),
            ("/test", "!COMMAND runs a command"),
            ("/fast", "try /thinking"),
            ("/code", "type what to do; /model uses another model"),
            ("/theme", "the colours are those of the terminal"),
            ("/btw", "type it: while the model works, it is part of the next request"),
            ("/runs", "`regatta runs`, in a shell"),
            ("/apply", "`regatta apply`, in a shell"),
            ("/clera", "try /clear"),
            ("/exi", "try /exit"),
            ("/qiut", "try /quit"),
            ("/permisions", "try /approvals"),
            ("/upgrade", UPDATE),
            ("/vim", "the keys are those of /help"),
            ("/todos", "ask the model for a list, which is above the input then"),
            ("/changelog", "`regatta --version` prints the version"),
            (
                "/cd",
                "each command begins in the folder of the session; `regatta --repo DIR` works in another one",
            ),
            ("/pwd", "`!pwd` runs it"),
            ("/bash ls", "`!ls` runs it"),
            ("/shell", "!COMMAND runs a command"),
            ("/git status", "`!git status` runs it"),
            ("/read a.rs", "@a.rs in the input sends the file"),
            ("/file", "@FILE in the input sends the file"),
            ("/image a.png", "@a.png in the input sends the image"),
            ("/load a b", "@FILE in the input sends the file"),
            ("/push", "`!git push` pushes"),
        ] {
            let name = text.split(' ').next().expect("it has a word");
            let why = format!("no such command: `{name}`; {instead}");
            assert_eq!(parse(text), Some(Err(why)), "{text}");
        }
        for text in ["//", "///", "/clear/exit", "/no/such/file x", "/model/"] {
            let name = text.split(' ').next().expect("it has a word");
            let why = format!("no such file: `{name}`; a space before it sends the text");
            assert_eq!(parse(text), Some(Err(why)), "{text}");
        }
    }
}
