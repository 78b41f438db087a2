//! The commands that run another command, which is among their arguments.

mod unknown;

use engine::ports::ShellWord;

use unknown::unseen_reason;

/// What a command runs besides itself.
pub(crate) enum Runs {
    /// Nothing that is known from its words.
    Itself,
    /// Only another command.
    Other(Inner),
    /// Itself, and other commands; and perhaps more, for this reason.
    Beside(Vec<Inner>, Option<&'static str>),
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
    /// Long options without a value, or with one only after `=`.
    long: &'static [&'static str],
    /// Long options with a value, after `=` or in the next word.
    long_values: &'static [&'static str],
    operands: usize,
}

const NONE: Options = Options { flags: "", values: "", long: &[], long_values: &[], operands: 0 };

const ENV: Options = Options {
    flags: "i0v",
    values: "u",
    long: &["ignore-environment", "null", "debug"],
    long_values: &["unset"],
    operands: 0,
};

const XARGS: Options = Options {
    flags: "0rtx",
    values: "nPLsdEaI",
    long: &["null", "no-run-if-empty", "verbose", "exit", "max-lines"],
    long_values: &["max-args", "max-procs", "max-chars", "delimiter", "arg-file"],
    operands: 0,
};

/// The commands that only run another one.
const WRAPPERS: &[(&str, Options)] = &[
    ("builtin", NONE),
    ("busybox", NONE),
    ("toybox", NONE),
    ("command", Options { flags: "p", ..NONE }),
    ("exec", Options { flags: "cl", values: "a", ..NONE }),
    ("ionice", Options { flags: "t", values: "cn", ..NONE }),
    ("nice", Options { values: "n", long_values: &["adjustment"], ..NONE }),
    ("nohup", NONE),
    ("setsid", Options { flags: "cfw", ..NONE }),
    ("stdbuf", Options { values: "ioe", long_values: &["input", "output", "error"], ..NONE }),
    ("time", Options { flags: "p", ..NONE }),
    (
        "timeout",
        Options {
            flags: "v",
            values: "ks",
            long: &["foreground", "preserve-status", "verbose"],
            long_values: &["kill-after", "signal"],
            operands: 1,
        },
    ),
];

/// The commands that run another one as another user, which is more than the command itself.
const SUDO: Options = Options { flags: "AbEHnPS", values: "CghprTtuU", ..NONE };

const SHELLS: &[&str] = &[
    "ash", "bash", "dash", "ksh", "ksh93", "lksh", "mksh", "posh", "rbash", "rksh", "sh", "yash",
    "zsh",
];

const OPTION: &str = "an option of a command that runs another one is not known";
const COMPUTED: &str = "the command that a command runs is computed";

/// Returns what a command runs, whose name is `name`.
pub(crate) fn runs(name: &str, arguments: &[ShellWord]) -> Runs {
    let base = name.rsplit('/').next().unwrap_or(name);
    if let Some(reason) = unseen_reason(base, arguments) {
        return Runs::Unknown(reason);
    }
    if SHELLS.contains(&base) {
        return shell(arguments);
    }
    match base {
        "env" => match inner(arguments, &ENV) {
            // A lone `-` is `-i`.
            Ok((_, [dash, rest @ ..])) if dash.literal() == Some("-") => env(rest),
            Ok((_, rest)) => env(rest),
            Err(reason) => Runs::Unknown(reason),
        },
        "xargs" => xargs(arguments),
        "find" => find(arguments),
        "sudo" | "doas" => match inner(arguments, &SUDO) {
            Ok((_, rest)) => match env(rest) {
                Runs::Other(inner) => Runs::Beside(vec![inner], None),
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
            let takes_value = options.long_values.contains(&name);
            if !takes_value && !options.long.contains(&name) {
                return Err(OPTION);
            }
            at += 1;
            if takes_value && name == long {
                arguments.get(at).and_then(ShellWord::literal).ok_or(COMPUTED)?;
                at += 1;
            }
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
                    let value = arguments.get(at).ok_or(OPTION)?;
                    // A computed value may be several words, or none.
                    value.literal().ok_or(COMPUTED)?;
                    values.push((letter, value));
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
    let name = |word: &ShellWord| Some(word.literal()?.split_once('=')?.0.to_owned());
    let variables: Vec<_> = words.iter().map_while(name).collect();
    match &words[variables.len()..] {
        [] => Runs::Itself,
        [first, ..] if first.literal().is_none() => Runs::Unknown(COMPUTED),
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
    // A computed word may be several, with an `-exec` among them.
    let mut is_certain = arguments.iter().all(|word| word.literal().is_some());
    let mut rest = arguments;
    while let Some(at) = rest.iter().position(is_exec) {
        rest = &rest[at + 1..];
        let is_end = |(at, word): (usize, &ShellWord)| match word.literal() {
            Some(";") => true,
            Some("+") => at > 0 && rest[at - 1].literal() == Some("{}"),
            _ => false,
        };
        let end = rest.iter().enumerate().position(is_end);
        let (words, behind) = rest.split_at(end.unwrap_or(rest.len()));
        // Where one `-exec` is in another, the first may be the value of an option.
        is_certain &= end.is_some() && !words.iter().any(is_exec);
        let words = words.iter().map(|word| match word.literal() {
            Some(text) if text.contains("{}") => ShellWord::Computed(text.to_owned()),
            _ => word.clone(),
        });
        let words: Vec<_> = words.collect();
        if !words.is_empty() {
            found.push(Inner { words, ..Inner::default() });
        }
        rest = behind;
    }
    match (is_certain, found.is_empty()) {
        (true, true) => Runs::Itself,
        (true, false) => Runs::Beside(found, None),
        (false, _) => Runs::Beside(found, Some("what `find` runs is computed")),
    }
}

/// Returns what a shell runs: the script of `-c`, or a file.
fn shell(arguments: &[ShellWord]) -> Runs {
    let (mut has_script, mut has_options) = (false, true);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else { return Runs::Unknown(COMPUTED) };
        match text {
            "--" if has_options => has_options = false,
            "--version" | "--help" if has_options => return Runs::Itself,
            "--norc" | "--noprofile" | "--posix" if has_options => {}
            _ if has_options && text.starts_with(['-', '+']) => {
                let letters = &text[1..];
                let is_known = letters.bytes().all(|letter| b"cefnouvxC".contains(&letter));
                if letters.is_empty() || text.starts_with('+') || !is_known {
                    return Runs::Unknown(OPTION);
                }
                has_script |= letters.contains('c');
                for _ in letters.matches('o') {
                    let is_name = |it: &str| it.bytes().all(|letter| letter.is_ascii_lowercase());
                    let option = words.next().and_then(ShellWord::literal);
                    if !option.is_some_and(is_name) {
                        return Runs::Unknown(OPTION);
                    }
                }
            }
            script if has_script => return Runs::Script(script.to_owned()),
            file if is_stream(file) => break,
            _file => return Runs::Itself,
        }
    }
    Runs::Unknown("a shell reads its commands from its input")
}

/// Returns whether a path may be the input of a process.
fn is_stream(path: &str) -> bool {
    path.split('/').any(|name| matches!(name, "dev" | "proc" | "fd" | "stdin" | "-"))
}
