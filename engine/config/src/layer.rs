//! One layer of settings: a settings file, the environment or the command line.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use protocol::{quote_within, utf8_text};

use crate::error::Origin;
use crate::error::{SettingsError, UnknownKey};
use crate::key::{Alias, Key};
use crate::mistake::Mistake;
use crate::value::RawValue;
use crate::yaml::{self, Node, Value};

/// The maximum size of a settings file, in bytes.
pub(crate) const LARGEST: u64 = 1 << 20;

/// The maximum number of unknown keys that are reported.
const UNKNOWN: usize = 20;

/// The group of the rules for calls of tools.
const APPROVALS: &str = "approvals";

/// The values that one layer sets, and its unknown keys.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    pub(crate) given: BTreeMap<Key, (RawValue, Origin)>,
    pub(crate) unknown: Vec<UnknownKey>,
}

impl Layer {
    /// Reads the file `at`, which the user knows as `file`. One that does not exist sets nothing.
    pub(crate) fn of_file(
        at: &Path,
        file: &Path,
        origin: impl Fn(u64) -> Origin,
    ) -> Result<Self, SettingsError> {
        let unreadable = |source| SettingsError::Unreadable { file: file.to_owned(), source };
        let bytes = match read_bounded(at) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(error)),
        };
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LARGEST {
            return Err(SettingsError::TooLarge { file: file.to_owned(), limit: LARGEST });
        }
        let text = utf8_text(bytes)
            .map_err(|(error, _)| malformed(file, error.line, &format!("it is {}", error.what)))?;
        Self::of_text(&text, file, origin)
    }

    /// Parses the text of a settings file.
    pub(crate) fn of_text(
        text: &str,
        file: &Path,
        origin: impl Fn(u64) -> Origin,
    ) -> Result<Self, SettingsError> {
        let root = yaml::read(text).map_err(|mistake| malformed_at(file, mistake))?;
        let mut layer = Self::default();
        match root.value {
            Value::Null => Ok(layer),
            Value::Map(members) => {
                layer.walk("", members, file, &origin)?;
                Ok(layer)
            }
            _ => Err(malformed(file, root.line, "settings are a mapping of keys to values")),
        }
    }

    /// Reads the environment variables of settings. An empty variable sets nothing.
    pub(crate) fn of_environment(variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let mut layer = Self::default();
        let look_up = |name: &str| {
            let words = variable(name).filter(|words| !words.is_empty())?;
            Some(words.to_string_lossy().into_owned())
        };
        for key in Key::ALL {
            let own = key.variable();
            let found = look_up(&own).map(|words| (words, own)).or_else(|| {
                key.aliases().iter().find_map(|alias| match alias {
                    Alias::Same(name) => Some((look_up(name)?, (*name).to_owned())),
                    Alias::Milliseconds(name) => {
                        Some((milliseconds(look_up(name)?), (*name).to_owned()))
                    }
                })
            });
            if let Some((words, variable)) = found {
                layer.given.insert(key, (RawValue::Text(words), Origin::Environment { variable }));
            }
        }
        layer
    }

    /// Reads a mapping. `path` is the key of the mapping, which is empty for the whole file.
    fn walk(
        &mut self,
        path: &str,
        members: Vec<(Node, Node)>,
        file: &Path,
        origin: &impl Fn(u64) -> Origin,
    ) -> Result<(), SettingsError> {
        for (name, node) in members {
            let Some(name_text) = name.value.as_name() else {
                return Err(malformed(file, name.line, "a key must be a word"));
            };
            let path = if path.is_empty() { name_text } else { format!("{path}.{name_text}") };
            if let Some(key) = Key::find(&path) {
                // An empty value sets nothing.
                if node.value == Value::Null {
                    continue;
                }
                let twice = self.given.insert(key, (RawValue::Yaml(node.value), origin(name.line)));
                if twice.is_some() {
                    return Err(malformed(file, name.line, &format!("`{key}` is set twice")));
                }
                continue;
            }
            match node.value {
                Value::Null if Key::is_group(&path) => {}
                Value::Map(members) if Key::is_group(&path) => {
                    self.walk(&path, members, file, origin)?;
                }
                _ if Key::is_group(&path) => {
                    let message = format!("`{path}` is a group of settings, not a value");
                    return Err(malformed(file, name.line, &message));
                }
                _ => self.unknown(&path, file, name.line)?,
            }
        }
        Ok(())
    }

    /// Keeps an unknown key for a warning. One that may stand for rules of approvals is an error: a session
    /// without them would run what they refuse.
    fn unknown(&mut self, path: &str, file: &Path, line: u64) -> Result<(), SettingsError> {
        let key = quote_within(path, 60);
        let unknown = UnknownKey { file: file.to_owned(), line, key, nearest: Key::nearest(path) };
        let is_of_approvals = |key: &str| key.split('.').next() == Some(APPROVALS);
        if is_of_approvals(path) || unknown.nearest.is_some_and(is_of_approvals) {
            return Err(SettingsError::UnknownRules(unknown));
        }
        if self.unknown.len() < UNKNOWN {
            self.unknown.push(unknown);
        }
        Ok(())
    }
}

/// Adds the unit to a number of milliseconds. Other text is returned as it is and refused later.
fn milliseconds(words: String) -> String {
    let number = words.trim();
    let plain = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    if plain { format!("{number}ms") } else { words }
}

fn malformed(file: &Path, line: u64, message: &str) -> SettingsError {
    malformed_at(file, Mistake::in_line(line, message))
}

fn malformed_at(file: &Path, mistake: Mistake) -> SettingsError {
    SettingsError::Malformed { file: file.to_owned(), mistake }
}

/// Reads a file up to one byte more than allowed, so that the caller can tell that it is too large.
pub(crate) fn read_bounded(file: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would block until someone writes.
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(file)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
