//! The file of models: providers and models of the user, in `models.yml` or `models.json`.
//!
//! A mistake in one provider leaves the others alone: it is a fault with the file, the line and the
//! key, and that provider is not used.

mod api_name;
mod compat;
mod equivalence;
pub(crate) mod fields;
mod jsonc;
mod model;
mod oauth;
mod provider;
mod sound_part;
mod thinking;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use protocol::{quote_within, utf8_text};

pub use self::api_name::ApiName;
pub use self::compat::CompatSwitches;
pub use self::equivalence::Equivalence;
use self::fields::Fields;
use self::jsonc::{provider_at, without_comments};
pub use self::model::ModelEntry;
pub use self::oauth::OauthEntry;
pub use self::provider::{AuthKind, DiscoveryKind, ProviderEntry};
use self::sound_part::{SoundPart, sound_part};
use crate::layer::{LARGEST, read_bounded};
use crate::mistake::{Mistake, column_text};
use crate::yaml::{self, Value};

/// The maximum number of models in the file.
const MOST_MODELS: usize = 5_000;

/// What the file of models says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelsFile {
    /// The providers without a mistake, by name.
    pub providers: BTreeMap<String, ProviderEntry>,
    /// Which models are the same one.
    pub equivalence: Equivalence,
    /// The mistakes.
    pub faults: Vec<ModelsFault>,
    /// What is known and not used, or not known.
    pub warnings: Vec<ModelsFault>,
}

/// A mistake in the file of models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}{}: {message}", .file.display(), column_text(*.column))]
pub struct ModelsFault {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1, of an error of syntax.
    pub column: Option<u64>,
    /// The provider that is not used; `None` if it is none of them or all.
    pub provider: Option<String>,
    /// The key and what is wrong with it. It never contains a value that may be a secret.
    pub message: String,
}

impl ModelsFile {
    /// Reads the first of `files` that exists. Without any, it says nothing.
    #[must_use]
    pub fn read(files: &[PathBuf]) -> Self {
        for file in files {
            match read_bounded(file) {
                Ok(bytes) => return Self::of_bytes(bytes, file),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    let message = format!("it cannot be read: {error}");
                    return Self::of_fault(file, Mistake::in_line(1, message));
                }
            }
        }
        Self::default()
    }

    fn of_bytes(bytes: Vec<u8>, file: &Path) -> Self {
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LARGEST {
            let message = format!("it is larger than {LARGEST} bytes");
            return Self::of_fault(file, Mistake::in_line(1, message));
        }
        match utf8_text(bytes) {
            Ok(text) => Self::of_text(&text, file),
            Err((error, _bytes)) => {
                let message = format!("it is {}", error.what);
                Self::of_fault(file, Mistake::in_line(error.line, message))
            }
        }
    }

    /// Parses the text of the file.
    #[must_use]
    pub fn of_text(text: &str, file: &Path) -> Self {
        // JSON is YAML, except for its comments and tabs.
        let is_json = file.extension().is_some_and(|end| end == "json");
        let plain = is_json.then(|| without_comments(text));
        let text = plain.as_deref().unwrap_or(text);
        let read = yaml::read(text).map(|root| SoundPart { root, unreadable: Vec::new() });
        let read = read.or_else(|mistake| sound_part(text).ok_or(mistake));
        let SoundPart { root, unreadable } = match read {
            Ok(part) => part,
            Err(mistake) => {
                let message = syntax_error(text, &mistake);
                let provider = is_json.then(|| provider_at(text, &mistake)).flatten();
                let message = match provider {
                    Some(name) => format!("in `providers.{}`: {message}", quote_within(&name, 60)),
                    None => message,
                };
                return Self::of_fault(file, Mistake { message, ..mistake });
            }
        };
        if root.value == Value::Null {
            return Self::default();
        }
        let mut read = Self::default();
        for (name, mistake) in unreadable {
            let message = format!("`providers.{name}`: {}", syntax_error(text, &mistake));
            read.faults.push(fault(file, Some(&name), Mistake { message, ..mistake }));
        }
        let mut warnings = Vec::new();
        let providers = Fields::of(&root, String::new()).and_then(|mut top| {
            let providers = top.take_map("providers")?;
            match Equivalence::parse(&mut top, &mut warnings) {
                Ok(equivalence) => read.equivalence = equivalence,
                // The providers are used all the same.
                Err(mistake) => {
                    let message = format!("{}; `equivalence` has no effect", mistake.message);
                    warnings.push(Mistake { message, ..mistake });
                }
            }
            top.rest(&[], &mut warnings);
            Ok(providers)
        });
        match providers {
            Err(mistake) => return Self::of_fault(file, mistake),
            Ok(providers) => {
                for (name, line, node) in providers {
                    read.add(&name, line, node, file, &mut warnings);
                }
            }
        }
        let count: usize = read.providers.values().map(|entry| entry.models.len()).sum();
        if count > MOST_MODELS {
            let message = format!("there are {count} models, and {MOST_MODELS} are the limit");
            return Self::of_fault(file, Mistake::in_line(1, message));
        }
        warnings.sort_by_key(|mistake| mistake.line);
        let warnings = warnings.into_iter().map(|mistake| fault(file, None, mistake));
        read.warnings.extend(warnings);
        read
    }

    fn add(
        &mut self,
        name: &str,
        line: u64,
        node: &yaml::Node,
        file: &Path,
        warnings: &mut Vec<Mistake>,
    ) {
        let entry = match is_provider_name(name) {
            true => ProviderEntry::parse(name, node, warnings),
            false => {
                let name = quote_within(name, 60);
                let allowed = "use up to 40 letters, digits, `.`, `_` and `-`";
                let message = format!("`{name}` cannot name a provider: {allowed}");
                Err(Mistake::in_line(line, message))
            }
        };
        match entry {
            Ok(entry) => drop(self.providers.insert(name.to_owned(), entry)),
            Err(mistake) => self.faults.push(fault(file, Some(name), mistake)),
        }
    }

    fn of_fault(file: &Path, mistake: Mistake) -> Self {
        Self { faults: vec![fault(file, None, mistake)], ..Self::default() }
    }
}

/// Returns what is wrong with the syntax of a text.
fn syntax_error(text: &str, mistake: &Mistake) -> String {
    let at = usize::try_from(mistake.line).unwrap_or(1).saturating_sub(1);
    let line = text.lines().nth(at).unwrap_or_default();
    let is_tab = line.trim_start_matches(' ').starts_with('\t');
    let tab = if is_tab { "; spaces indent YAML, no tab can" } else { "" };
    format!("{}{tab}", mistake.message)
}

fn fault(file: &Path, provider: Option<&str>, mistake: Mistake) -> ModelsFault {
    let Mistake { line, column, message } = mistake;
    let provider = provider.map(str::to_owned);
    ModelsFault { file: file.to_owned(), line, column, provider, message }
}

/// Returns whether a provider can have this name, so that it can be in `PROVIDER/ID`.
fn is_provider_name(name: &str) -> bool {
    let route = format!("{name}/x").parse::<protocol::ModelRoute>();
    name != "offline" && route.is_ok_and(|route| route.provider == name)
}

#[cfg(test)]
mod tests;
