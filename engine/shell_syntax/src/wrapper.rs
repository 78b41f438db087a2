//! The commands that run another command, which is among their arguments.

use engine::ports::ShellWord;

/// What a command runs besides itself.
pub(crate) enum Runs {
    /// Nothing that is known from its words.
    Itself,
    /// Only another command.
    Other(Inner),
    /// Itself, and other commands.
    Beside(Vec<Inner>),
    /// Only a script.
    Script(String),
    /// Something that cannot be known before, for this reason.
    Unknown(&'static str),
}

/// A command that another one runs.
#[derive(Default)]
pub(crate) struct Inner {
    /// The variables that are assigned for it.
    pub(crate) variables: Vec<String>,
    /// Its words; never empty.
    pub(crate) words: Vec<ShellWord>,
}

/// The options of a command before the command that it runs, and the number of its own operands.
struct Options {
    /// Options of one letter without a value.
    flags: &'static str,
    /// Options of one letter with a value.
    values: &'static str,
    /// Long options without a value, or with one after `=`.
    long: &'static [&'static str],
    operands: usize,
}

const NONE: Options = Options { flags: "", values: "", long: &[], operands: 0 };

const ENV: Options = Options {
    flags: "i0v",
    values: "u",
    long: &["ignore-environment", "null", "unset", "debug"],
    operands: 0,
};

const XARGS: Options = Options {
    flags: "0rtx",
    values: "nPLsdEaI",
    long: &[
        "null",
        "no-run-if-empty",
        "verbose",
        "exit",
        "max-args",
        "max-procs",
        "max-lines",
        "delimiter",
        "arg-file",
    ],
    operands: 0,
};

/// The commands that only run another one.
const WRAPPERS: &[(&str, Options)] = &[
    ("builtin", NONE),
    ("busybox", NONE),
    ("command", Options { flags: "p", ..NONE }),
    ("exec", Options { flags: "cl", values: "a", ..NONE }),
    ("ionice", Options { flags: "t", values: "cn", ..NONE }),
    ("nice", Options { values: "n", long: &["adjustment"], ..NONE }),
    ("nohup", NONE),
    ("setsid", Options { flags: "cfw", ..NONE }),
    ("stdbuf", Options { values: "ioe", long: &["input", "output", "error"], ..NONE }),
    ("time", Options { flags: "p", ..NONE }),
    (
        "timeout",
        Options {
            flags: "v",
            values: "ks",
            long: &["foreground", "preserve-status", "verbose", "kill-after", "signal"],
            operands: 1,
        },
    ),
];

/// The commands that run another one as another user, which is more than the command itself.
const SUDO: Options = Options { flags: "AbEHnPS", values: "CghprTtuU", ..NONE };

/// Commands that run what they get, or change what later words mean.
const UNKNOWN: &[&str] = &[
    ".",
    "alias",
    "bind",
    "complete",
    "coproc",
    "declare",
    "enable",
    "eval",
    "fc",
    "hash",
    "let",
    "mapfile",
    "readarray",
    "source",
    "trap",
    "typeset",
];

const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];

const OPTION: &str = "an option of a command that runs another one is not known";
const COMPUTED: &str = "the command that a command runs is computed";

/// Returns what a command runs, whose name is `name`.
pub(crate) fn runs(name: &str, arguments: &[ShellWord]) -> Runs {
    let base = name.rsplit('/').next().unwrap_or(name);
    if UNKNOWN.contains(&base) {
        return Runs::Unknown(
            "a builtin of the shell runs a text, or changes the meaning of words",
        );
    }
    if SHELLS.contains(&base) {
        return shell(arguments);
    }
    match base {
        "env" => inner(arguments, &ENV).map_or_else(Runs::Unknown, |(_, rest)| env(rest)),
        "xargs" => xargs(arguments),
        "find" => find(arguments),
        "sudo" | "doas" => match inner(arguments, &SUDO) {
            Ok((_, rest)) => match env(rest) {
                Runs::Other(inner) => Runs::Beside(vec![inner]),
                other => other,
            },
            Err(reason) => Runs::Unknown(reason),
        },
        "command" if is_question(arguments) => Runs::Itself,
        _ => match WRAPPERS.iter().find(|(wrapper, _)| *wrapper == base) {
            None => Runs::Itself,
            Some((_, options)) => match inner(arguments, options) {
                Err(reason) => Runs::Unknown(reason),
                Ok((_, [])) => Runs::Itself,
                Ok((_, words)) => Runs::Other(Inner { words: words.to_vec(), ..Inner::default() }),
            },
        },
    }
}

/// Returns whether `command` only says what a name means.
fn is_question(arguments: &[ShellWord]) -> bool {
    arguments.first().and_then(ShellWord::literal).is_some_and(|word| matches!(word, "-v" | "-V"))
}

/// The values of the options of one letter, and the words after the options and operands.
type Parsed<'a> = (Vec<(char, &'a ShellWord)>, &'a [ShellWord]);

/// Returns the values of options, and the words after the options and operands.
fn inner<'a>(arguments: &'a [ShellWord], options: &Options) -> Result<Parsed<'a>, &'static str> {
    let (mut values, mut at) = (Vec::new(), 0);
    while let Some(word) = arguments.get(at) {
        let Some(text) = word.literal() else {
            // It may be an option, or the command itself.
            return Err(COMPUTED);
        };
        if text == "--" {
            at += 1;
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            if !options.long.contains(&name) {
                return Err(OPTION);
            }
            at += 1;
            continue;
        }
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            break;
        };
        let is_number = letters.bytes().all(|digit| digit.is_ascii_digit());
        if is_number && options.values.contains('n') {
            at += 1;
            continue;
        }
        let last = letters.trim_start_matches(|letter| options.flags.contains(letter));
        at += 1;
        match last.chars().next() {
            None => {}
            Some(letter) if options.values.contains(letter) => {
                if last.len() == 1 {
                    values.push((letter, arguments.get(at).ok_or(OPTION)?));
                    at += 1;
                } else if letter == 'I' {
                    return Err(OPTION);
                }
            }
            Some(_) => return Err(OPTION),
        }
    }
    for _ in 0..options.operands {
        arguments.get(at).and_then(ShellWord::literal).ok_or(COMPUTED)?;
        at += 1;
    }
    Ok((values, arguments.get(at..).unwrap_or_default()))
}

/// Returns what `env` runs, of the words after its options.
fn env(words: &[ShellWord]) -> Runs {
    let name = |word: &ShellWord| {
        let (ShellWord::Literal(text) | ShellWord::Computed(text)) = word;
        let (name, _) = text.split_once('=')?;
        let is_name = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
        name.chars().all(is_name).then(|| name.to_owned())
    };
    let variables: Vec<_> = words.iter().map_while(name).collect();
    match &words[variables.len()..] {
        [] => Runs::Itself,
        words => Runs::Other(Inner { variables, words: words.to_vec() }),
    }
}

fn xargs(arguments: &[ShellWord]) -> Runs {
    let (values, words) = match inner(arguments, &XARGS) {
        Ok(found) => found,
        Err(reason) => return Runs::Unknown(reason),
    };
    let replaced = values.iter().find(|(letter, _)| *letter == 'I').map(|(_, word)| word.literal());
    let mut words = match words {
        [] => return Runs::Itself,
        words => words.to_vec(),
    };
    match replaced {
        Some(None | Some("")) => return Runs::Unknown(COMPUTED),
        Some(Some(replaced)) => {
            for word in &mut words {
                if let Some(text) = word.literal().filter(|text| text.contains(replaced)) {
                    *word = ShellWord::Computed(text.to_owned());
                }
            }
        }
        None => words.push(ShellWord::Computed("…".to_owned())),
    }
    Runs::Other(Inner { words, ..Inner::default() })
}

/// Returns the commands that `find` runs for files.
fn find(arguments: &[ShellWord]) -> Runs {
    let is_exec =
        |word: &ShellWord| matches!(word.literal(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
    let mut found = Vec::new();
    let mut rest = arguments;
    while let Some(at) = rest.iter().position(is_exec) {
        rest = &rest[at + 1..];
        let is_end = |word: &ShellWord| matches!(word.literal(), Some(";" | "+"));
        let end = rest.iter().position(is_end).unwrap_or(rest.len());
        let words = rest[..end].iter().map(|word| match word.literal() {
            Some(text) if text.contains("{}") => ShellWord::Computed(text.to_owned()),
            _ => word.clone(),
        });
        let words: Vec<_> = words.collect();
        if !words.is_empty() {
            found.push(Inner { words, ..Inner::default() });
        }
        rest = &rest[end..];
    }
    if found.is_empty() { Runs::Itself } else { Runs::Beside(found) }
}

/// Returns what a shell runs: the script of `-c`, or a file.
fn shell(arguments: &[ShellWord]) -> Runs {
    let mut has_script = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else { return Runs::Unknown(COMPUTED) };
        match text {
            "--version" | "--help" => return Runs::Itself,
            "--norc" | "--noprofile" | "--posix" | "--" => {}
            _ if text.starts_with("--") => return Runs::Unknown(OPTION),
            _ if text.len() > 1 && text.starts_with(['-', '+']) => {
                let letters = &text[1..];
                if letters.contains(['s', 'i', 'l', 'O']) {
                    return Runs::Unknown("a shell reads its commands from elsewhere");
                }
                has_script |= letters.contains('c');
                if letters.contains('o') {
                    let _option = words.next();
                }
            }
            script if has_script => return Runs::Script(script.to_owned()),
            _file => return Runs::Itself,
        }
    }
    Runs::Unknown("a shell reads its commands from its input")
}
