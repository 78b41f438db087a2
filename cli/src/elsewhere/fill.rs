//! Fills the places of a suggestion, such as `<RUN>`, with what was typed. A place that nothing was typed
//! for is shown as it stands: `regatta runs retry <RUN>` becomes `regatta runs retry RUN`, and
//! `regatta run <SENTENCE:'what to fix'>` becomes `regatta run 'what to fix'`.

use config::DataPaths;
use protocol::{RunName, ThinkingLevel};

use super::typed_options::{most_targets, split_for, with_options};

use crate::args::public_grammar;
use crate::commands::recorded_run;
use crate::render::{shell_word, shell_words};

/// Returns the lines of a text, with its places filled from the words of a command.
pub(crate) fn with_words(text: &str, words: &[&str]) -> Vec<String> {
    let fill = |line: &str| {
        let whole = ["<LINE>", "<WORDS>"].iter().any(|place| line.contains(place));
        let (first, rest) = words.split_at(words.len().min(1));
        let (options, rest) = match whole {
            true => (Vec::new(), rest.to_vec()),
            false => split_for(line, rest),
        };
        let words = [first, &rest].concat();
        let most = most_targets(line);
        let filled = filled(line, |place| match place {
            "RUN" | "RUN/TASK" => targets(&rest, most),
            place => from_words(place, &words),
        });
        filled.into_iter().map(move |line| with_options(&line, &options)).collect::<Vec<_>>()
    };
    text.lines().flat_map(fill).collect()
}

/// Returns the lines of a text, with its places filled from the value of an option.
pub(crate) fn with_value(text: &str, value: Option<&str>) -> Vec<String> {
    filled(text, |place| from_value(place, value?))
}

/// Returns the lines of a text where nothing was typed.
pub(crate) fn as_shown(text: &str) -> Vec<String> {
    filled(text, |_| None)
}

/// Returns the lines of `text` with their places filled. `typed` returns what was typed for a place.
fn filled(text: &str, typed: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let fill = |line: &str| {
        let mut parts = line.split('<');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (place, after) = part.split_once('>').unwrap_or((part, ""));
            let (place, otherwise) = place.split_once(':').unwrap_or((place, place));
            let said = if place == SETTINGS_FILE { Some(settings_file()) } else { typed(place) };
            filled.push_str(&said.unwrap_or_else(|| otherwise.to_owned()));
            filled.push_str(after);
        }
        filled
    };
    text.lines().map(fill).collect()
}

/// The place of the file of the user's settings.
const SETTINGS_FILE: &str = "SETTINGS FILE";

/// Returns the file of the user's settings, as it can be typed.
fn settings_file() -> String {
    let Ok(places) = DataPaths::of_this_process() else { return "config.yml".to_owned() };
    let file = places.config_file();
    let below_home = places.home().and_then(|home| file.strip_prefix(home).ok());
    match below_home {
        Some(below) => format!("~/{}", shell_word(&below.to_string_lossy())),
        None => shell_word(&file.to_string_lossy()),
    }
}

/// Returns the level of thinking that a word of other programs means.
pub(crate) fn level(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    match word.as_str() {
        "max" | "maximum" | "highest" | "ultra" | "extra-high" | "ultrathink" => Some("xhigh"),
        "min" | "lowest" => Some("minimal"),
        "none" | "no" | "disabled" | "false" => Some("off"),
        "mid" | "normal" => Some("medium"),
        _ => word.parse::<ThinkingLevel>().ok().map(ThinkingLevel::as_str),
    }
}

/// Returns the run that words name, with the tasks behind it. A command that takes fewer of them than these, at
/// `most`, gets none: without its tasks it would be about the whole run.
fn targets(words: &[&str], most: usize) -> Option<String> {
    let at = words.iter().position(|word| may_be_target(word))?;
    let is_option = |word: &&&str| word.starts_with('-');
    let named: Vec<_> = words[at..].iter().filter(|word| !is_option(word)).copied().collect();
    (named.len() <= most).then(|| shell_words(&named))
}

/// Returns what the words of a command have for a place.
fn from_words(place: &str, words: &[&str]) -> Option<String> {
    let rest = words.get(1..).unwrap_or_default();
    let has_options = rest.iter().any(|word| word.starts_with('-'));
    match place {
        "WORDS" => Some(shell_words(words)),
        "LINE" => Some(shell_word(&shell_words(words))),
        "SENTENCE" if rest.is_empty() || has_options => None,
        "SENTENCE" => Some(shell_word(&words.join(" "))),
        "QUOTED" => quoted(rest),
        "FIRST" => rest.first().filter(|word| !word.starts_with('-')).map(|word| shell_word(word)),
        "PROMPT" if quoted(rest).is_some() => quoted(rest),
        _ if rest.is_empty() || has_options => None,
        _ => Some(shell_word(&rest.join(" "))),
    }
}

/// Returns the prompt among words that are options, commands and a prompt: the word that is in quotes, or
/// behind `-p`.
fn quoted(words: &[&str]) -> Option<String> {
    let is_print = |word: &&&str| ["-p", "--print"].contains(*word);
    let behind = words.iter().skip_while(|word| !is_print(word)).nth(1);
    let behind = || behind.filter(|word| !word.starts_with('-'));
    let in_quotes = words.iter().find(|word| word.contains(char::is_whitespace));
    in_quotes.or_else(behind).map(|word| shell_word(word))
}

/// Returns what the value of an option has for a place.
fn from_value(place: &str, value: &str) -> Option<String> {
    let is_number = |text: &str| {
        let all = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
        all && text.starts_with(|c: char| c.is_ascii_digit())
    };
    match place {
        "NAME" => value.split('=').next().map(shell_word),
        "NAME=VALUE" => Some(match value.split_once('=') {
            Some((name, value)) if !is_secret(name) => format!("{name}={}", shell_word(value)),
            Some((name, _)) => format!("{name}=VALUE"),
            None => format!("{value}=VALUE"),
        }),
        "RUN" => may_be_target(value).then(|| shell_word(value)),
        "LEVEL" | "high" => level(value).map(str::to_owned),
        "EXCLUDED" => Some(shell_word(&format!(":(exclude){value}"))),
        "SIGN" => (value.chars().count() == 1).then(|| shell_word(value)),
        // A schema may be typed itself where a file is meant.
        "FILE" if value.starts_with(['{', '[']) => None,
        "DOLLARS" => dollars(value),
        "TOOLS" => tools(value).0,
        "OTHER TOOLS" => tools(value).1,
        place if place == "N" || is_number(place) => is_number(value).then(|| value.to_owned()),
        _ => Some(shell_word(value)),
    }
}

/// What other agents call a tool, and its name here.
const TOOLS: [(&str, &str); 6] = [
    ("glob", "find"),
    ("multiedit", "edit"),
    ("notebookedit", "edit"),
    ("read_file", "read"),
    ("run_shell_command", "bash"),
    ("write_file", "write"),
];

/// Returns the tools that a list of other agents names, such as `Bash(git:*),Read`, and all but these, if it
/// names some.
fn tools(list: &str) -> (Option<String>, Option<String>) {
    let grammar = public_grammar();
    let launch = grammar.get_subcommands().filter(|command| command.get_name() == "launch");
    let options = launch.flat_map(clap::Command::get_arguments);
    let options = options.filter(|option| option.get_long() == Some("tools"));
    let all: Vec<_> = options.flat_map(clap::Arg::get_possible_values).collect();
    let here = |tool: &str| {
        let name = tool.split('(').next().unwrap_or_default().to_ascii_lowercase();
        let other = TOOLS.iter().find(|(other, _)| *other == name);
        other.map_or(name, |(_, here)| (*here).to_owned())
    };
    let typed: Vec<_> = list.split([',', ' ']).map(here).collect();
    let names = all.iter().map(clap::builder::PossibleValue::get_name);
    let (named, others): (Vec<_>, Vec<_>) =
        names.partition(|tool| typed.iter().any(|name| name == tool));
    let is_some = !named.is_empty();
    let joined = |tools: Vec<&str>| (is_some && !tools.is_empty()).then(|| tools.join(","));
    (joined(named), joined(others))
}

/// Returns the tools here that a list of other agents names.
pub(crate) fn listed_tools(list: &str) -> Option<String> {
    tools(list).0
}

/// Returns the number of an amount of US dollars: `5` of `5USD`, `$5` and `5.00`.
fn dollars(amount: &str) -> Option<String> {
    let amount = amount.trim().trim_start_matches('$').to_ascii_uppercase();
    let number = amount.trim_end_matches("USD").trim_end_matches('$').trim();
    let is_number = number.starts_with(|it: char| it.is_ascii_digit())
        && number.chars().all(|it| it.is_ascii_digit() || it == '.');
    is_number.then(|| number.to_owned())
}

/// Returns whether no message quotes the value of a variable with this name.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
}

/// Returns whether a word seems to be a run or a task of one: `@`, `r7k3f`, the beginning `r7`, or one of
/// these with a task behind it. A name that could be an English word is one if the ledger has such a run.
pub(crate) fn may_be_target(word: &str) -> bool {
    let run = word.split('/').next().unwrap_or_default();
    let has_digit = run.contains(|c: char| c.is_ascii_digit());
    let is_run = |run: &str| run.parse::<RunName>().is_ok();
    let is_name = || has_digit || !run.contains(['a', 'e', 'y']) || recorded_run::is_recorded(run);
    // The beginning of a name is one as soon as it is long enough.
    run == "@" || is_run(run) && is_name() || has_digit && is_run(&format!("{run:0<5}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_what_was_typed_for_it_or_stays() {
        for (text, words, expected) in [
            ("show <RUN>\n<RUN/TASK>", &["ls", "-l"][..], "show RUN\nRUN/TASK"),
            ("regatta diff <RUN/TASK>", &["patch", "-p1", "@/a b"], "regatta diff '@/a b'"),
            ("regatta discard <RUN/TASK>", &["rm", "@", "a", "b"], "regatta discard @ a b"),
            ("regatta logs <RUN> --follow", &["tail", "@", "a"], "regatta logs @ a --follow"),
            ("regatta logs <RUN> --follow", &["tail", "@", "a", "b"], "regatta logs RUN --follow"),
            ("--exec <LINE>", &["make", "a b", "-j4"], r"--exec 'make '\''a b'\'' -j4'"),
            ("-p <PROMPT>", &["ask", "why", "so"], "-p 'why so'"),
            ("-p <PROMPT>", &["ask", "-x", "why"], "-p PROMPT"),
            ("-p <PROMPT>", &["exec", "-p", "why"], "-p why"),
            ("-p <PROMPT>", &["exec", "-m", "o3", "fix it"], "-p 'fix it'"),
            ("-p <QUOTED:PROMPT>", &["codex", "exec", "fix it"], "-p 'fix it'"),
            ("-p <QUOTED:PROMPT>", &["codex", "exec", "login"], "-p PROMPT"),
            ("run <SENTENCE:'what to fix'>", &["fix", "the", "tests"], "run 'fix the tests'"),
            ("run <SENTENCE:'what to fix'>", &["fix"], "run 'what to fix'"),
            ("run <SENTENCE:'what to fix'>", &["fix", "-x"], "run 'what to fix'"),
            ("a <RUN>\nb <PROMPT>", &["x", "two\nlines"], "a RUN\nb 'two\nlines'"),
        ] {
            assert_eq!(with_words(text, words).join("\n"), expected, "{words:?}");
        }
        for (text, value, expected) in [
            ("--jobs <N>", "3", "--jobs 3"),
            ("--jobs <N>", "fix it", "--jobs N"),
            ("wall=<20m>", "90", "wall=90"),
            ("wall=<20m>", "soon", "wall=20m"),
            ("--repo <DIR>", "a b", "--repo 'a b'"),
            ("--pass-env <NAME> with <NAME=VALUE>", "A=b c", "--pass-env A with A='b c'"),
            ("--pass-env <NAME> with <NAME=VALUE>", "A", "--pass-env A with A=VALUE"),
            ("<NAME=VALUE> regatta", "MY_API_KEY=sk-1", "MY_API_KEY=VALUE regatta"),
            ("--tools <TOOLS:read,write>", "Bash", "--tools bash"),
            ("--tools <TOOLS:read,write>", "MultiEdit(src/*)", "--tools edit"),
            ("--tools <TOOLS:read,write>", "WebSearch", "--tools read,write"),
            ("cost=<DOLLARS:2.00>USD", "5USD", "cost=5USD"),
            ("cost=<DOLLARS:2.00>USD", "$1.50", "cost=1.50USD"),
            ("cost=<DOLLARS:2.00>USD", "5EUR", "cost=2.00USD"),
        ] {
            assert_eq!(with_value(text, Some(value)), [expected]);
        }
        let others = with_value("<OTHER TOOLS:none>", Some("Bash,MultiEdit")).join("");
        let others: Vec<_> = others.split(',').collect();
        assert!(others.contains(&"read") && others.contains(&"write"), "{others:?}");
        assert!(!others.contains(&"bash") && !others.contains(&"edit"), "{others:?}");
        assert_eq!(with_value("--jobs <N>", None), ["--jobs N"]);
    }

    #[test]
    fn a_run_is_told_from_a_word() {
        for run in ["@", "@/auth", "r7k3f", "R7K3F", "r1", "r7k/auth", "rkmwp", "r7k3f/src/a.rs"] {
            assert!(may_be_target(run), "{run}");
        }
        for word in ["", "r", "rm", "retry", "rsync", "research", "auth", "main", "5", "run1", "@a"]
        {
            assert!(!may_be_target(word), "{word}");
        }
    }
}
