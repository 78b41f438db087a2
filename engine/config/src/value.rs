//! Converts raw values of settings to typed values. The error is a description of valid values.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{
    ApprovalMode, ApprovalRule, CommitStyle, Cost, EditMode, IsolationMode, MergeMode, ModelRoute,
    RuleError, quote_within,
};

use crate::alert::Alert;
use crate::quantity::{self, parse_cost, parse_count, parse_duration, parse_size};
use crate::yaml::{Node, Value};

/// The value of a setting before it is checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RawValue {
    /// A value of a YAML file.
    Yaml(Value),
    /// The text of an environment variable or a command line option.
    Text(String),
}

/// Returns whether a text can name a model: `PROVIDER/ID`, an id, a family or a glob.
pub(crate) fn names_model(text: &str) -> bool {
    // No id has a star in it: it is a glob.
    match text.contains('/') && !text.contains('*') {
        true => text.parse::<ModelRoute>().is_ok(),
        false => {
            !text.trim().is_empty() && text.len() <= 256 && !text.chars().any(char::is_control)
        }
    }
}

/// What rules for calls of tools are.
const RULES: Expected = "a list of rules such as `bash(cargo test *)` or `edit(docs/**)`";

/// The description of valid values, for the error message.
pub(crate) type Expected = &'static str;

impl Value {
    /// Returns the text of a key of a mapping; `None` if the value cannot be one.
    pub(crate) fn as_name(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Integer(number) => Some(number.to_string()),
            Self::Number(number) => Some(number.clone()),
            Self::Bool(flag) => Some(flag.to_string()),
            Self::Null | Self::List(_) | Self::Map(_) => None,
        }
    }
}

impl RawValue {
    /// Parses a number of at least one.
    pub(crate) fn count(&self) -> Result<NonZeroUsize, Expected> {
        let number = match self {
            Self::Yaml(Value::Integer(number)) => usize::try_from(*number).ok(),
            Self::Text(words) => words.trim().parse().ok(),
            Self::Yaml(_) => None,
        };
        number.and_then(NonZeroUsize::new).ok_or("a whole number of at least 1")
    }

    /// Parses how deep calls for subagents may be below each other.
    pub(crate) fn depth(&self) -> Result<u32, Expected> {
        let number = match self {
            Self::Yaml(Value::Integer(number)) => u32::try_from(*number).ok(),
            Self::Text(words) => words.trim().parse().ok(),
            Self::Yaml(_) => None,
        };
        number.filter(|depth| *depth <= 100).ok_or("a whole number from 0 to 100")
    }

    /// Parses an isolation mode.
    pub(crate) fn isolation(&self) -> Result<IsolationMode, Expected> {
        let word = self.text().unwrap_or_default();
        if word == "auto" {
            return Ok(IsolationMode::AUTO);
        }
        IsolationMode::named(word).ok_or(if IsolationMode::is_planned(word) {
            "`auto`, `worktree` or `none` (the others are not implemented yet)"
        } else {
            "`auto`, `worktree` or `none`"
        })
    }

    /// Parses who writes the subjects of commits.
    pub(crate) fn commit_style(&self) -> Result<CommitStyle, Expected> {
        match self.text() {
            Some("generic") => Ok(CommitStyle::Generic),
            Some("ai") => Ok(CommitStyle::Ai),
            _ => Err("`generic` or `ai`"),
        }
    }

    /// Parses a merge mode.
    pub(crate) fn merge(&self) -> Result<MergeMode, Expected> {
        match self.text() {
            Some("patch") => Ok(MergeMode::Patch),
            Some("branch") => Ok(MergeMode::Branch),
            Some("none") => Ok(MergeMode::None),
            Some("stack") => Ok(MergeMode::Stack),
            _ => Err("`patch`, `branch`, `stack` or `none`"),
        }
    }

    /// Parses a folder: an absolute path, or one below the user's home.
    pub(crate) fn folder(&self, home: Option<&Path>) -> Result<PathBuf, Expected> {
        let text = self.text().filter(|text| !text.contains('\0')).unwrap_or_default();
        match (text.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => Ok(home.join(below)),
            (Some(_), None) => Err("an absolute path, because HOME is not set"),
            (None, _) if text.starts_with('/') => Ok(PathBuf::from(text)),
            (None, _) => Err("an absolute path, or one that begins with `~/`"),
        }
    }

    /// Parses a size; a plain number is in bytes.
    pub(crate) fn size(&self) -> Result<u64, Expected> {
        let size = match self {
            Self::Yaml(Value::Integer(number)) => Some(*number),
            _ => self.text().and_then(|text| parse_size(text).ok()),
        };
        size.ok_or("a size such as `500 KB` or `256 MiB`")
    }

    /// Parses a duration that is not zero; a plain number is in seconds.
    pub(crate) fn duration(&self) -> Result<Duration, Expected> {
        let duration = match self {
            Self::Yaml(Value::Integer(seconds)) => parse_duration(&seconds.to_string()).ok(),
            _ => self.text().and_then(|text| parse_duration(text).ok()),
        };
        duration
            .filter(|duration| !duration.is_zero())
            .ok_or("a duration such as `90s`, `20m` or `1h30m`")
    }

    /// Parses an age that is not zero. It has a unit: a plain number may mean seconds or days.
    pub(crate) fn age(&self) -> Result<Duration, Expected> {
        let age = self.text().and_then(|text| quantity::parse_age(text).ok());
        age.filter(|age| !age.is_zero()).ok_or("an age with its unit, such as `30d` or `12h`")
    }

    /// Parses the size of what is kept. It has a unit.
    pub(crate) fn store_size(&self) -> Result<u64, Expected> {
        let size = self.text().and_then(|text| quantity::parse_store_size(text).ok());
        size.ok_or("a size with its unit, such as `2 GB` or `500 MB`")
    }

    /// Parses a timeout; zero means no timeout.
    pub(crate) fn timeout(&self) -> Result<Duration, Expected> {
        match self {
            Self::Yaml(Value::Integer(0)) => Ok(Duration::ZERO),
            _ => match self.text().map(parse_duration) {
                Some(Ok(duration)) => Ok(duration),
                _ => self.duration(),
            },
        }
        .map_err(|_not_even_zero| "a duration such as `90s` or `2m`, or 0 to wait for ever")
    }

    /// Parses the maximum number of turns.
    pub(crate) fn turns(&self) -> Result<NonZeroU32, Expected> {
        let number = self.tokens().ok().and_then(|number| u32::try_from(number.get()).ok());
        number.and_then(NonZeroU32::new).ok_or("a whole number of at least 1")
    }

    /// Parses the maximum number of tokens.
    pub(crate) fn tokens(&self) -> Result<NonZeroU64, Expected> {
        let number = match self {
            Self::Yaml(Value::Integer(number)) => NonZeroU64::new(*number),
            _ => self.text().and_then(|text| parse_count(text).ok()),
        };
        number.ok_or("a number of tokens from 1 on, such as `400000` or `2M`")
    }

    /// Parses a part of a whole.
    pub(crate) fn percent(&self) -> Result<u8, Expected> {
        let number = match self {
            Self::Yaml(Value::Integer(number)) => u8::try_from(*number).ok(),
            _ => self.text().and_then(|text| text.trim().parse().ok()),
        };
        number.filter(|number| (1..=99).contains(number)).ok_or("a percentage from 1 to 99")
    }

    /// Parses the maximum cost.
    pub(crate) fn cost(&self) -> Result<Cost, Expected> {
        let cost = self.text().and_then(|text| parse_cost(text).ok());
        cost.ok_or("an amount of US dollars, such as `2.00 USD`")
    }

    /// Parses what names a model: `PROVIDER/ID`, or a name, which only the models that there are can tell.
    pub(crate) fn model(&self) -> Result<String, Expected> {
        let model = self.text().filter(|text| names_model(text)).map(str::to_owned);
        model
            .ok_or("a model, for instance `ollama/qwen3:8b` (`PROVIDER/ID`) or `sonnet` (a family)")
    }

    /// Parses a number of retries, which may be zero.
    pub(crate) fn retries(&self) -> Result<u32, Expected> {
        let number = match self {
            Self::Yaml(Value::Integer(number)) => u32::try_from(*number).ok(),
            _ => self.text().and_then(|text| text.parse().ok()),
        };
        number.filter(|number| *number <= 100).ok_or("a whole number up to 100")
    }

    /// Parses a number of milliseconds.
    pub(crate) fn milliseconds(&self) -> Result<Duration, Expected> {
        let number = match self {
            Self::Yaml(Value::Integer(number)) => Some(*number),
            _ => self.text().and_then(|text| text.parse().ok()),
        };
        let longest = 24 * 3_600_000;
        let number = number.filter(|number| (1..=longest).contains(number));
        number.map(Duration::from_millis).ok_or("a number of milliseconds from 1 to a day")
    }

    /// Parses a boolean.
    pub(crate) fn boolean(&self) -> Result<bool, Expected> {
        match (self, self.text()) {
            (Self::Yaml(Value::Bool(flag)), _) => Ok(*flag),
            (_, Some("true" | "1")) => Ok(true),
            (_, Some("false" | "0")) => Ok(false),
            _ => Err("`true` or `false`"),
        }
    }

    /// Parses what is on or off.
    pub(crate) fn switch(&self) -> Result<bool, Expected> {
        match self.text() {
            Some("on") => Ok(true),
            Some("off") => Ok(false),
            _ => self.boolean().map_err(|_neither| "`on` or `off`"),
        }
    }

    /// Parses the prefix of branch names.
    pub(crate) fn prefix(&self) -> Result<String, Expected> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let segment = |segment: &str| {
            segment.starts_with(|first: char| first.is_ascii_alphanumeric())
                && segment.chars().all(allowed)
                && !segment.contains("..")
                && !segment.ends_with('.')
                && !segment.to_ascii_lowercase().ends_with(".lock")
        };
        let text = self.text().unwrap_or_default();
        if text.len() <= 100 && text.split('/').all(segment) {
            Ok(text.to_owned())
        } else {
            Err("the beginning of a branch's name: letters, digits, `_`, `-`, `.` and `/`")
        }
    }

    /// Parses a list of names of environment variables.
    pub(crate) fn variables(&self) -> Result<Vec<String>, Expected> {
        let names: Option<Vec<&str>> = match self {
            Self::Text(words) => {
                Some(words.split(',').map(str::trim).filter(|name| !name.is_empty()).collect())
            }
            Self::Yaml(Value::List(items)) => items.iter().map(text).collect(),
            Self::Yaml(_) => None,
        };
        let valid = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
        names
            .filter(|names| names.iter().all(|name| valid(name)))
            .map(|names| names.into_iter().map(str::to_owned).collect())
            .ok_or("a list of names of environment variables")
    }

    /// Parses a list of at least one environment variable: an empty environment is a mistake.
    pub(crate) fn some_variables(&self) -> Result<Vec<String>, Expected> {
        let names = self.variables()?;
        if names.is_empty() {
            Err("a list of at least one environment variable")
        } else {
            Ok(names)
        }
    }

    /// Parses a list of shell commands; a text in the environment has one in each line.
    pub(crate) fn commands(&self) -> Result<Vec<String>, Expected> {
        let expected = "a command, or a list of commands";
        let commands = match self {
            Self::Text(words) => words.lines().filter(|line| !line.trim().is_empty()).collect(),
            Self::Yaml(_) => self.texts().ok_or(expected)?,
        };
        let valid = commands.iter().all(|command| !command.trim().is_empty());
        if valid { Ok(owned(&commands)) } else { Err(expected) }
    }

    /// Parses which calls of tools are asked about.
    pub(crate) fn approval_mode(&self) -> Result<ApprovalMode, Expected> {
        self.text().and_then(ApprovalMode::named).ok_or("`ask`, `write` or `yolo`")
    }

    /// Parses how the terminal alerts the user.
    pub(crate) fn alert(&self) -> Result<Alert, Expected> {
        self.text().and_then(Alert::named).ok_or("`none`, `bell` or `osc9`")
    }

    /// Parses which tool a model changes parts of files with.
    pub(crate) fn edit_mode(&self) -> Result<EditMode, Expected> {
        self.text().and_then(EditMode::named).ok_or("`auto`, `replace` or `apply_patch`")
    }

    /// Parses rules for calls of tools; a text in the environment has one in each line. Use
    /// [`Self::rule_error`] to know what is wrong with one of them.
    pub(crate) fn rules(&self) -> Result<Vec<ApprovalRule>, Expected> {
        let rules = self.rule_texts()?.into_iter().map(str::parse::<ApprovalRule>);
        rules.collect::<Result<_, _>>().map_err(|_error| RULES)
    }

    /// Returns what is wrong with the first of the rules that is none.
    pub(crate) fn rule_error(&self) -> Option<RuleError> {
        let rules = self.rule_texts().ok()?;
        rules.into_iter().find_map(|rule| rule.parse::<ApprovalRule>().err())
    }

    fn rule_texts(&self) -> Result<Vec<&str>, Expected> {
        match self {
            Self::Text(words) => Ok(words.lines().filter(|line| !line.trim().is_empty()).collect()),
            Self::Yaml(_) => self.texts().ok_or(RULES),
        }
    }

    /// Parses a list of globs.
    pub(crate) fn globs(&self) -> Result<Vec<String>, Expected> {
        let expected = "a glob such as `node_modules/**`, or a list of globs";
        let globs = match self {
            Self::Text(words) => {
                words.split(',').map(str::trim).filter(|glob| !glob.is_empty()).collect()
            }
            Self::Yaml(_) => self.texts().ok_or(expected)?,
        };
        let valid = globs.iter().all(|glob| !glob.is_empty());
        if valid { Ok(owned(&globs)) } else { Err(expected) }
    }

    /// Parses a list of names of agents.
    pub(crate) fn agent_names(&self) -> Result<Vec<String>, Expected> {
        let expected = "the name of an agent, or a list of names";
        let names = match self {
            Self::Text(words) => {
                words.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
            }
            Self::Yaml(_) => self.texts().ok_or(expected)?,
        };
        let valid = names.iter().all(|name| !name.trim().is_empty());
        if valid { Ok(owned(&names)) } else { Err(expected) }
    }

    /// Returns the texts of a list, or the only text.
    fn texts(&self) -> Option<Vec<&str>> {
        match self {
            Self::Yaml(Value::List(items)) => items.iter().map(text).collect(),
            Self::Yaml(Value::Text(text)) => Some(vec![text]),
            Self::Yaml(_) | Self::Text(_) => None,
        }
    }

    /// Returns the value for the error message, shortened.
    pub(crate) fn describe(&self) -> String {
        let quoted = |text: &str| format!("`{}`", quote_within(text, 40));
        match self {
            Self::Text(words) => quoted(words),
            Self::Yaml(Value::List(items)) if items.is_empty() => "an empty list".to_owned(),
            Self::Yaml(Value::List(_)) => "a list".to_owned(),
            Self::Yaml(Value::Map(_)) => "a mapping".to_owned(),
            Self::Yaml(value) => quoted(&value.as_name().unwrap_or_default()),
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Yaml(Value::Text(text)) => Some(text),
            Self::Text(words) => Some(words.trim()),
            Self::Yaml(_) => None,
        }
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}
