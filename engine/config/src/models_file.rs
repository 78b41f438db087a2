//! The file of models: providers and models of the user, in `models.yml` or `models.json`.
//!
//! A mistake in one provider leaves the others alone: it is a fault with the file, the line and the
//! key, and that provider is not used.

mod api_name;
mod compat;
mod equivalence;
mod fields;
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
use self::fields::{Fields, Mistake};
use self::jsonc::{provider_at, without_comments};
pub use self::model::ModelEntry;
pub use self::oauth::OauthEntry;
pub use self::provider::{AuthKind, DiscoveryKind, ProviderEntry};
use self::sound_part::{SoundPart, sound_part};
use crate::layer::{LARGEST, read_bounded};
use crate::yaml::{self, Malformed, Value};

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
#[error("{}:{line}{}: {message}", .file.display(), column.map(|it| format!(":{it}")).unwrap_or_default())]
pub struct ModelsFault {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// The column of an error of syntax, from 1.
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
                    return Self::of_fault(file, 1, message);
                }
            }
        }
        Self::default()
    }

    fn of_bytes(bytes: Vec<u8>, file: &Path) -> Self {
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LARGEST {
            return Self::of_fault(file, 1, format!("it is larger than {LARGEST} bytes"));
        }
        match utf8_text(bytes) {
            Ok(text) => Self::of_text(&text, file),
            Err((error, _bytes)) => {
                Self::of_fault(file, error.line, format!("it is {}", error.what))
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
        let read = read.or_else(|malformed| sound_part(text).ok_or(malformed));
        let SoundPart { root, unreadable } = match read {
            Ok(part) => part,
            Err(malformed) => {
                let message = syntax_error(text, &malformed);
                let provider = is_json.then(|| provider_at(text, &malformed)).flatten();
                let message = match provider {
                    Some(name) => format!("in `providers.{}`: {message}", quote_within(&name, 60)),
                    None => message,
                };
                let Malformed { line, column, .. } = malformed;
                let fault = fault(file, None, Mistake { line, message });
                return Self { faults: vec![ModelsFault { column, ..fault }], ..Self::default() };
            }
        };
        if root.value == Value::Null {
            return Self::default();
        }
        let mut read = Self::default();
        for (name, malformed) in &unreadable {
            let message = format!("`providers.{name}`: {}", syntax_error(text, malformed));
            let fault = fault(file, Some(name), Mistake { line: malformed.line, message });
            read.faults.push(ModelsFault { column: malformed.column, ..fault });
        }
        let mut warnings = Vec::new();
        let providers = Fields::of(&root, String::new()).and_then(|mut top| {
            let providers = top.take_map("providers")?;
            match Equivalence::parse(&mut top, &mut warnings) {
                Ok(equivalence) => read.equivalence = equivalence,
                // The providers are used all the same.
                Err(Mistake { line, message }) => {
                    let message = format!("{message}; `equivalence` has no effect");
                    warnings.push(Mistake { line, message });
                }
            }
            top.rest(&[], &mut warnings);
            Ok(providers)
        });
        match providers {
            Err(mistake) => return Self::of_fault(file, mistake.line, mistake.message),
            Ok(providers) => {
                for (name, line, node) in providers {
                    read.add(&name, line, node, file, &mut warnings);
                }
            }
        }
        let count: usize = read.providers.values().map(|entry| entry.models.len()).sum();
        if count > MOST_MODELS {
            let message = format!("there are {count} models, and {MOST_MODELS} are the limit");
            return Self::of_fault(file, 1, message);
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
            false => Err(Mistake {
                line,
                message: format!(
                    "`{}` cannot name a provider: use up to 40 letters, digits, `.`, `_` and `-`",
                    quote_within(name, 60)
                ),
            }),
        };
        match entry {
            Ok(entry) => drop(self.providers.insert(name.to_owned(), entry)),
            Err(mistake) => self.faults.push(fault(file, Some(name), mistake)),
        }
    }

    fn of_fault(file: &Path, line: u64, message: String) -> Self {
        let fault = fault(file, None, Mistake { line, message });
        Self { faults: vec![fault], ..Self::default() }
    }
}

/// Returns what is wrong with the syntax of a text.
fn syntax_error(text: &str, malformed: &Malformed) -> String {
    let at = usize::try_from(malformed.line).unwrap_or(1).saturating_sub(1);
    let line = text.lines().nth(at).unwrap_or_default();
    let is_tab = line.trim_start_matches(' ').starts_with('\t');
    let tab = if is_tab { "; spaces indent YAML, no tab can" } else { "" };
    format!("{}{tab}", malformed.message)
}

fn fault(file: &Path, provider: Option<&str>, mistake: Mistake) -> ModelsFault {
    let Mistake { line, message } = mistake;
    let provider = provider.map(str::to_owned);
    ModelsFault { file: file.to_owned(), line, column: None, provider, message }
}

/// Returns whether a provider can have this name, so that it can be in `PROVIDER/ID`.
fn is_provider_name(name: &str) -> bool {
    let route = format!("{name}/x").parse::<protocol::ModelRoute>();
    name != "offline" && route.is_ok_and(|route| route.provider == name)
}

#[cfg(test)]
mod tests;
