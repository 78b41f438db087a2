//! What to type in place of a command line that the parser refuses.

use std::ffi::OsString;

use crate::elsewhere::nearest;
use clap::error::{ContextKind, ErrorKind};

use super::launch_line::LAUNCH;
use super::{argument, command_of, text, texts, unknown_option};
use crate::args::LimitSetting;
use crate::elsewhere::{TypedLine, level, listed_tools, may_be_target};
use crate::not_implemented;
use crate::render::shell_word;
use regatta::error::Error;

/// Returns an error whose suggestions have what was typed in their places.
pub(super) fn completed(mut error: Error, line: &[OsString]) -> Error {
    let words: Vec<_> = line.iter().filter_map(|word| word.to_str()).collect();
    let values = not_implemented::valued_options();
    let values = values.map(|name| unknown_option::value_of(&format!("--{name}"), &words));
    let typed = TypedLine::of(command_of(line).unwrap_or(LAUNCH), line);
    let typed = values.fold(typed, TypedLine::without);
    for hint in &mut error.hints {
        *hint = typed.complete(hint);
    }
    error
}

/// Returns what to type where an argument is missing, or a value is that of other programs.
pub(super) fn lines_instead(
    error: &clap::Error,
    command: Option<&str>,
    line: &[OsString],
) -> Vec<String> {
    let value = text(error, ContextKind::InvalidValue);
    match error.kind() {
        // The option `-n` of `regatta runs` has this long name, too.
        ErrorKind::ValueValidation
            if argument(error) == "--limit"
                && (command != Some("runs") || line.iter().any(|word| word == "retry")) =>
        {
            LimitSetting::instead_of(&value).into_iter().collect()
        }
        ErrorKind::ValueValidation if argument(error) == "--older-than" => {
            days_of_weeks(&value).into_iter().map(|days| format!("--older-than {days}d")).collect()
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = texts(error, ContextKind::InvalidArg);
            let option = missing.iter().find(|it| it.starts_with("--"));
            let option = option.filter(|_| command != Some("trust"));
            let lines = complete_lines(command.unwrap_or_default()).iter();
            match option {
                Some(option) => vec![plain(option)],
                None => lines.map(|line| (*line).to_owned()).collect(),
            }
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            vec![plain(&text(error, ContextKind::InvalidArg))]
        }
        ErrorKind::TooManyValues => {
            let is_off = ["0", "false", "no", "off"].contains(&value.as_str());
            vec![if is_off { "leave it out".to_owned() } else { argument(error) }]
        }
        _ if argument(error) == "--thinking" => {
            let level = level(&text(error, ContextKind::InvalidValue));
            level.into_iter().map(|level| format!("--thinking {level}")).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns an option as it is typed: `--model MODEL`. A value that may be left out is.
fn plain(option: &str) -> String {
    let option = option.split(" [").next().unwrap_or_default();
    option.replace(['<', '>'], "").trim_end_matches("...").to_owned()
}

/// Returns the value of a closed set that an invalid one is meant as, if it is near in spelling.
pub(super) fn near_value(
    error: &clap::Error,
    valid: &[String],
    line: &[OsString],
) -> Option<String> {
    let typed = text(error, ContextKind::InvalidValue);
    if valid.is_empty() || typed.is_empty() {
        return None;
    }
    if argument(error) == "--tools" {
        // The error has one name of the list.
        let words: Vec<_> = line.iter().filter_map(|word| word.to_str()).collect();
        return listed_tools(unknown_option::value_of("--tools", &words).unwrap_or(&typed));
    }
    nearest(&typed, valid.iter().map(String::as_str)).map(str::to_owned)
}

/// Returns the days of an age in weeks, such as `2w`.
fn days_of_weeks(age: &str) -> Option<u64> {
    let end = age.find(|it: char| !it.is_ascii_digit())?;
    let (number, unit) = age.split_at(end);
    ["w", "week", "weeks"]
        .contains(&unit.trim())
        .then(|| number.parse::<u64>().ok())?
        .and_then(|it| it.checked_mul(7))
}

/// Returns what to type in place of a command below another one that has none, such as `trust list`.
pub(super) fn other_lines(command: Option<&str>, line: &[OsString]) -> Vec<String> {
    let words: Vec<_> = line.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let words = words.into_iter().skip_while(|word| Some(*word) != command).skip(1);
    let words: Vec<_> = words.filter(|word| !word.starts_with('-')).collect();
    let Some((verb, rest)) = words.split_first() else { return Vec::new() };
    let rest: String = rest.iter().map(|word| format!(" {}", shell_word(word))).collect();
    match (command, *verb) {
        (Some("trust"), "list" | "ls" | "show" | "status") => {
            vec!["regatta trust --list".to_owned()]
        }
        (Some("trust"), "revoke" | "remove" | "rm" | "delete" | "reset") => {
            vec![format!("regatta trust --revoke{rest}")]
        }
        (Some("trust"), rule) if rule.contains('(') || ["add", "allow"].contains(&rule) => {
            let rule = words.iter().find(|word| word.contains('(')).unwrap_or(&"RULE");
            let rule = shell_word(rule);
            vec![
                "a (in the question about a call: always)".to_owned(),
                format!("approvals: {{ allow: [{rule}] }} (in <SETTINGS FILE>)"),
                format!("regatta trust --revoke {rule} (removes what a question has kept)"),
            ]
        }
        (Some("show"), run) if may_be_target(run) => {
            let run = shell_word(run);
            vec![format!("regatta runs show {run}{rest}"), format!("regatta diff {run}{rest}")]
        }
        (Some("models"), "refresh") if !rest.is_empty() => {
            vec![format!("regatta models refresh --from{rest}")]
        }
        _ => Vec::new(),
    }
}

/// Returns lines with what a command needs.
fn complete_lines(command: &str) -> &'static [&'static str] {
    match command {
        "completions" => &["regatta completions bash (or zsh, fish, elvish, powershell)"],
        "schema" => &["regatta schema plan", "regatta schema events", "regatta schema settings"],
        "discard" => &["regatta discard RUN/TASK", "regatta runs (lists kept work)"],
        "show" => &["regatta show RUN/TASK:PATH", "regatta conflicts (lists the paths)"],
        "login" => &["regatta login anthropic (or openai, google, openrouter, …)"],
        "logout" => &["regatta logout PROVIDER"],
        "apply" => &["regatta apply RUN/TASK", "regatta runs (lists kept work)"],
        "runs" => &["regatta runs retry @ (the latest run)"],
        _ => &[],
    }
}
