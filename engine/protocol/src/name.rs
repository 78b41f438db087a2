//! The names of runs and tasks, as people type them: `r7k3f` is a run, `auth` or `auth.tests` a
//! task.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RunId;

/// The digits of Crockford's base 32 in lower case, which leaves out i, l, o and u.
const CROCKFORD: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The name of a run: `r` followed by 4 to 12 digits of Crockford's base 32.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct RunName(Arc<str>);

impl RunName {
    /// The minimum number of digits after the `r`.
    pub const SHORTEST: usize = 4;

    /// Returns the name of `run` with `length` digits after the `r`, clamped to 4 to 12.
    ///
    /// The ledger asks for a longer name if a shorter one is taken.
    #[must_use]
    pub fn of(run: RunId, length: usize) -> Self {
        Self(name_of(run, 'r', length))
    }

    /// Returns the name as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.to_ascii_lowercase();
        match is_name_with(&lower, 'r') {
            true => Ok(Self(lower.into())),
            false => Err(NameError::Run(text.to_owned())),
        }
    }
}

/// The name of a group of runs, one per repository: `g` followed by 4 to 12 digits of Crockford's base 32.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct GroupName(Arc<str>);

impl GroupName {
    /// Returns a new name with `length` digits after the `g`, clamped to 4 to 12.
    #[must_use]
    pub fn generate(length: usize) -> Self {
        Self(name_of(RunId::generate(), 'g', length))
    }

    /// Returns the name as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for GroupName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.to_ascii_lowercase();
        match is_name_with(&lower, 'g') {
            true => Ok(Self(lower.into())),
            false => Err(NameError::Group(text.to_owned())),
        }
    }
}

/// Returns `letter` and `length` digits that belong to `run`.
fn name_of(run: RunId, letter: char, length: usize) -> Arc<str> {
    // The lower 64 bits of a UUID v7 are random, except for the two variant bits at the top. A name uses
    // at most the lowest 60 bits.
    let mut random = [0; 8];
    random.copy_from_slice(&run.as_bytes()[8..]);
    let mut bits = u64::from_be_bytes(random);
    let mut name = String::from(letter);
    for _ in 0..length.clamp(RunName::SHORTEST, 12) {
        name.push(char::from(CROCKFORD[usize::try_from(bits & 31).unwrap_or_default()]));
        bits >>= 5;
    }
    name.into()
}

/// Returns whether `text` is `letter` and as many digits as a name has.
fn is_name_with(text: &str, letter: char) -> bool {
    text.strip_prefix(letter).is_some_and(|digits| {
        (RunName::SHORTEST..=12).contains(&digits.len())
            && digits.bytes().all(|digit| CROCKFORD.contains(&digit))
    })
}

/// The name of a task: segments of `[A-Za-z0-9][A-Za-z0-9_-]{0,47}` joined by single dots, never
/// ending in `.lock`. It is unique in its run, compared without case.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct TaskName(Arc<str>);

impl TaskName {
    /// The maximum length of one dot-separated segment.
    pub const SEGMENT: usize = 48;

    /// Returns the name as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name in lower case, which is the form for comparison.
    #[must_use]
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// Returns a valid name that is similar to `text`: characters that are not allowed become `-`.
    #[must_use]
    pub fn nearest(text: &str) -> Self {
        let mut slug = String::new();
        for letter in text.chars().take(4 * Self::SEGMENT) {
            let allowed = letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
            let letter = if allowed { letter } else { '-' };
            if !(letter == '-' && (slug.is_empty() || slug.ends_with('-'))) {
                slug.push(letter);
            }
        }
        let slug = slug.trim_start_matches(['-', '_']);
        let slug: String = slug.chars().take(Self::SEGMENT).collect();
        let slug = slug.trim_end_matches('-');
        Self(if slug.is_empty() { "task" } else { slug }.into())
    }

    /// Returns this name with the suffix `-number`. The name is cut before the suffix if its last
    /// segment would be too long.
    #[must_use]
    pub fn numbered(&self, number: usize) -> Self {
        let suffix = format!("-{number}");
        let last = self.0.rsplit('.').next().map_or(0, str::len);
        let cut = (last + suffix.len()).saturating_sub(Self::SEGMENT);
        Self(format!("{}{suffix}", &self.0[..self.0.len() - cut]).into())
    }
}

impl FromStr for TaskName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let segment = |segment: &str| {
            segment.len() <= Self::SEGMENT
                && segment.starts_with(|first: char| first.is_ascii_alphanumeric())
                && segment.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        };
        let locked = text.to_ascii_lowercase().ends_with(".lock");
        if text.split('.').all(segment) && !locked && text.len() <= 4 * Self::SEGMENT {
            Ok(Self(text.into()))
        } else {
            Err(NameError::Task { name: text.to_owned(), nearest: Self::nearest(text) })
        }
    }
}

/// The error for a text that is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is not the name of a run.
    #[error("`{0}` is not the name of a run (they look like `r7k3f`)")]
    Run(String),
    /// The text is not the name of a group.
    #[error("`{0}` is not the name of a group (they look like `g7k3f`)")]
    Group(String),
    /// The text is not the name of a task.
    #[error(
        "`{name}` cannot name a task (letters, digits, `_` and `-`, beginning with a letter or \
         digit, at most 48; segments joined by single dots, not ending in `.lock`); try `{nearest}`"
    )]
    Task {
        /// The text.
        name: String,
        /// A valid name that is similar to it.
        nearest: TaskName,
    },
}

macro_rules! text_type {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                (*name.0).to_owned()
            }
        }
    };
}

text_type!(RunName);
text_type!(GroupName);
text_type!(TaskName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_name_is_made_from_its_id_and_grows_from_the_same_characters() {
        let run = RunId::generate();
        let (short, long) = (RunName::of(run, 4), RunName::of(run, 6));
        assert_eq!(short.as_str().len(), 5);
        assert!(long.as_str().starts_with(short.as_str()));
        assert_eq!(short.as_str().parse(), Ok(short.clone()));
    }

    #[test]
    fn a_task_name_is_a_valid_git_reference_and_nothing_else() {
        for good in ["auth", "t1", "auth.tests", "A-b_c.0", &"a".repeat(48)] {
            assert_eq!(good.parse::<TaskName>().map(String::from), Ok(good.to_owned()), "{good}");
        }
        let long = "a".repeat(49);
        for bad in ["", ".", "a..b", "-a", "a.-b", "a.lock", "a.LOCK", "a b", "ä", "a/b", &long] {
            assert!(bad.parse::<TaskName>().is_err(), "{bad} must be refused");
        }
    }

    #[test]
    fn the_nearest_name_is_itself_valid() {
        for odd in ["", "-a", "src/auth mod.rs", "a.lock", "ä", "...", &"x/".repeat(90)] {
            let near = TaskName::nearest(odd);
            assert_eq!(near.as_str().parse(), Ok(near.clone()), "{odd}");
            assert_eq!(near.numbered(12).as_str().parse(), Ok(near.numbered(12)), "{odd}");
        }
        assert_eq!(TaskName::nearest("src/auth.rs").as_str(), "src-auth-rs");
    }
}
