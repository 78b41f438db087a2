//! Makes typed values out of what was given, or says what was expected instead.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{IsolationMode, MergeMode, ModelRoute};

use crate::quantity::{parse_count, parse_duration, parse_size};
use crate::shown::shown;
use crate::yaml::{Node, Value};

/// What a layer says of one setting.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    /// A value in a file.
    Node(Value),
    /// What a variable or an option says.
    Words(String),
}

/// What a setting may be, for the error.
pub(crate) type Expected = &'static str;

impl Value {
    /// The text of a key.
    pub(crate) fn as_name(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Whole(number) => Some(number.to_string()),
            Self::Number(number) => Some(number.clone()),
            Self::Flag(flag) => Some(flag.to_string()),
            Self::Null | Self::List(_) | Self::Map(_) => None,
        }
    }
}

impl Given {
    /// How many of something: at least one.
    pub(crate) fn count(&self) -> Result<NonZeroUsize, Expected> {
        let number = match self {
            Self::Node(Value::Whole(number)) => usize::try_from(*number).ok(),
            Self::Words(words) => words.trim().parse().ok(),
            Self::Node(_) => None,
        };
        number.and_then(NonZeroUsize::new).ok_or("a whole number of at least 1")
    }

    pub(crate) fn isolation(&self) -> Result<IsolationMode, Expected> {
        let word = self.word().unwrap_or_default();
        if word == "auto" {
            return Ok(IsolationMode::AUTO);
        }
        IsolationMode::named(word).ok_or(if IsolationMode::is_planned(word) {
            "`auto`, `worktree` or `none` (the others are not implemented yet)"
        } else {
            "`auto`, `worktree` or `none`"
        })
    }

    pub(crate) fn merge(&self) -> Result<MergeMode, Expected> {
        match self.word() {
            Some("patch") => Ok(MergeMode::Patch),
            Some("branch") => Ok(MergeMode::Branch),
            Some("none") => Ok(MergeMode::None),
            Some("stack") => Err("`patch`, `branch` or `none` (`stack` is not implemented yet)"),
            _ => Err("`patch`, `branch` or `none`"),
        }
    }

    /// A folder: absolute, or below the user's home.
    pub(crate) fn folder(&self, home: Option<&Path>) -> Result<PathBuf, Expected> {
        let text = self.word().filter(|text| !text.contains('\0')).unwrap_or_default();
        match (text.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => Ok(home.join(below)),
            (Some(_), None) => Err("an absolute path, because HOME is not set"),
            (None, _) if text.starts_with('/') => Ok(PathBuf::from(text)),
            (None, _) => Err("an absolute path, or one that begins with `~/`"),
        }
    }

    /// A size in bytes; a plain number counts bytes.
    pub(crate) fn size(&self) -> Result<u64, Expected> {
        let size = match self {
            Self::Node(Value::Whole(number)) => Some(*number),
            _ => self.word().and_then(|text| parse_size(text).ok()),
        };
        size.ok_or("a size such as `500 KB` or `256 MiB`")
    }

    /// A duration that is not zero; a plain number counts seconds.
    pub(crate) fn duration(&self) -> Result<Duration, Expected> {
        let duration = match self {
            Self::Node(Value::Whole(seconds)) => parse_duration(&seconds.to_string()).ok(),
            _ => self.word().and_then(|text| parse_duration(text).ok()),
        };
        duration
            .filter(|duration| !duration.is_zero())
            .ok_or("a duration such as `90s`, `20m` or `1h30m`")
    }

    /// A duration; none at all switches what waits for it off.
    pub(crate) fn patience(&self) -> Result<Duration, Expected> {
        match self {
            Self::Node(Value::Whole(0)) => Ok(Duration::ZERO),
            _ => match self.word().map(parse_duration) {
                Some(Ok(duration)) => Ok(duration),
                _ => self.duration(),
            },
        }
        .map_err(|_not_even_zero| "a duration such as `90s` or `2m`, or 0 to wait for ever")
    }

    /// How often a model may answer.
    pub(crate) fn turns(&self) -> Result<NonZeroU32, Expected> {
        let number = self.tokens().ok().and_then(|number| u32::try_from(number.get()).ok());
        number.and_then(NonZeroU32::new).ok_or("a whole number of at least 1")
    }

    /// How many tokens a model may use.
    pub(crate) fn tokens(&self) -> Result<NonZeroU64, Expected> {
        let number = match self {
            Self::Node(Value::Whole(number)) => NonZeroU64::new(*number),
            _ => self.word().and_then(|text| parse_count(text).ok()),
        };
        number.ok_or("a number of tokens from 1 on, such as `400000` or `2M`")
    }

    /// A model of a provider.
    pub(crate) fn model(&self) -> Result<ModelRoute, Expected> {
        let model = self.word().and_then(|text| text.parse().ok());
        model.ok_or("the model as `PROVIDER/ID`, for instance `ollama/qwen3:8b`")
    }

    /// How often something is tried again; not at all is an answer too.
    pub(crate) fn times(&self) -> Result<u32, Expected> {
        let number = match self {
            Self::Node(Value::Whole(number)) => u32::try_from(*number).ok(),
            _ => self.word().and_then(|text| text.parse().ok()),
        };
        number.filter(|number| *number <= 100).ok_or("a whole number up to 100")
    }

    /// A number of milliseconds.
    pub(crate) fn milliseconds(&self) -> Result<Duration, Expected> {
        let number = match self {
            Self::Node(Value::Whole(number)) => Some(*number),
            _ => self.word().and_then(|text| text.parse().ok()),
        };
        let longest = 24 * 3_600_000;
        let number = number.filter(|number| (1..=longest).contains(number));
        number.map(Duration::from_millis).ok_or("a number of milliseconds from 1 to a day")
    }

    /// Yes or no.
    pub(crate) fn flag(&self) -> Result<bool, Expected> {
        match (self, self.word()) {
            (Self::Node(Value::Flag(flag)), _) => Ok(*flag),
            (_, Some("true" | "1")) => Ok(true),
            (_, Some("false" | "0")) => Ok(false),
            _ => Err("`true` or `false`"),
        }
    }

    /// What the names of branches can begin with.
    pub(crate) fn prefix(&self) -> Result<String, Expected> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let segment = |segment: &str| {
            segment.starts_with(|first: char| first.is_ascii_alphanumeric())
                && segment.chars().all(allowed)
                && !segment.contains("..")
                && !segment.ends_with('.')
                && !segment.to_ascii_lowercase().ends_with(".lock")
        };
        let text = self.word().unwrap_or_default();
        if text.len() <= 100 && text.split('/').all(segment) {
            Ok(text.to_owned())
        } else {
            Err("the beginning of a branch's name: letters, digits, `_`, `-`, `.` and `/`")
        }
    }

    /// Names of environment variables.
    pub(crate) fn variables(&self) -> Result<Vec<String>, Expected> {
        let names: Option<Vec<&str>> = match self {
            Self::Words(words) => {
                Some(words.split(',').map(str::trim).filter(|name| !name.is_empty()).collect())
            }
            Self::Node(Value::List(items)) => items.iter().map(text).collect(),
            Self::Node(_) => None,
        };
        let valid = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
        names
            .filter(|names| names.iter().all(|name| valid(name)))
            .map(|names| names.into_iter().map(str::to_owned).collect())
            .ok_or("a list of names of environment variables")
    }

    /// Names of environment variables, at least one: nobody means an empty environment.
    pub(crate) fn some_variables(&self) -> Result<Vec<String>, Expected> {
        let names = self.variables()?;
        if names.is_empty() {
            Err("a list of at least one environment variable")
        } else {
            Ok(names)
        }
    }

    /// What was given, shortened, for the error.
    pub(crate) fn found(&self) -> String {
        let quoted = |text: &str| format!("`{}`", shown(text, 40));
        match self {
            Self::Words(words) => quoted(words),
            Self::Node(Value::List(items)) if items.is_empty() => "an empty list".to_owned(),
            Self::Node(Value::List(_)) => "a list".to_owned(),
            Self::Node(Value::Map(_)) => "a mapping".to_owned(),
            Self::Node(value) => quoted(&value.as_name().unwrap_or_default()),
        }
    }

    fn word(&self) -> Option<&str> {
        match self {
            Self::Node(Value::Text(text)) => Some(text),
            Self::Words(words) => Some(words.trim()),
            Self::Node(_) => None,
        }
    }
}

fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}
