//! The options of `regatta models`, `login` and `logout`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgAction, Args, Subcommand};
use config::Secret;
use regatta::error::Error;
use regatta::text::shell_word;

/// The arguments of `regatta models`.
#[derive(Args, Clone, Debug, Default)]
pub struct ModelsArgs {
    /// The subcommand; without one, models are listed.
    #[command(subcommand)]
    pub command: Option<ModelsCommand>,

    /// List models with this in their name, or that match this glob
    #[arg(value_name = "PATTERN")]
    pub words: Vec<String>,

    /// List models that cannot be used as well, and why
    #[arg(long, action = ArgAction::SetTrue)]
    all: bool,
}

/// The subcommands of `regatta models`.
#[derive(Subcommand, Clone, Debug)]
pub enum ModelsCommand {
    /// Fetch newer facts about models from models.dev, or read them from a file
    #[command(long_about = super::help_text::MODELS_REFRESH)]
    Refresh {
        /// A file or a URL, in the form of the api.json of models.dev [default: models.dev]
        #[arg(long, value_name = "FILE|URL")]
        from: Option<String>,
    },
}

/// Which models are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedModels {
    /// Those that can be used.
    Usable,
    /// All.
    All,
}

impl ModelsArgs {
    /// Returns the arguments that list the models that can be used, of a pattern if there is one.
    #[must_use]
    pub fn of_usable(pattern: Option<String>) -> Self {
        Self { words: pattern.into_iter().collect(), ..Self::default() }
    }

    /// Returns the pattern. `models list` and `models show NAME` are what other programs have.
    ///
    /// # Errors
    /// There are several patterns.
    pub fn pattern(&self) -> Result<Option<&str>, Error> {
        match self.words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] | ["list" | "ls"] => Ok(None),
            [pattern] | ["list" | "ls" | "show" | "get" | "search" | "info", pattern] => {
                Ok(Some(pattern))
            }
            ["list" | "ls" | "show" | "get" | "search" | "info", first, ..] | [first, ..] => {
                Err(Error::usage("this command takes one PATTERN")
                    .hint(format!("regatta models {}", shell_word(first))))
            }
        }
    }

    /// Returns which models are listed.
    #[must_use]
    pub fn listed(&self) -> ListedModels {
        if self.all { ListedModels::All } else { ListedModels::Usable }
    }
}

/// The arguments of `regatta login`.
#[derive(Args, Clone, Debug)]
pub struct LoginArgs {
    /// The provider, as in PROVIDER/MODEL
    #[arg(value_name = "PROVIDER")]
    pub provider: String,

    /// The name of the key, if the provider gets several [default: default]
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,

    /// Log in in a browser
    #[arg(long, action = ArgAction::SetTrue, conflicts_with_all = ["device", "key"])]
    browser: bool,

    /// Log in by a code that is typed in a browser of another device
    #[arg(long, action = ArgAction::SetTrue, conflicts_with = "key")]
    device: bool,

    /// Store an API key, also if the provider has a login
    #[arg(long, action = ArgAction::SetTrue)]
    key: bool,

    /// How long a login may take [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = config::parse_duration)]
    pub timeout: Option<Duration>,
}

/// How the user wants to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginMethod {
    /// In a browser.
    Browser,
    /// By a code that is typed on another device.
    Device,
    /// By an API key.
    Key,
}

impl LoginArgs {
    /// Returns how the user wants to log in; `None` if nothing is said.
    #[must_use]
    pub fn method(&self) -> Option<LoginMethod> {
        let methods = [
            (self.browser, LoginMethod::Browser),
            (self.device, LoginMethod::Device),
            (self.key, LoginMethod::Key),
        ];
        methods.into_iter().find_map(|(given, method)| given.then_some(method))
    }
}

/// The arguments of `regatta logout`.
#[derive(Args, Clone, Debug)]
pub struct LogoutArgs {
    /// The provider, as in PROVIDER/MODEL
    #[arg(value_name = "PROVIDER")]
    pub provider: String,

    /// The name of the key [default: all keys of the provider]
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
}

/// The value of `--api-key`.
#[derive(Clone, PartialEq, Eq)]
pub struct GivenKey(pub Secret);

impl FromStr for GivenKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        config::api_key(text).map(Self).map_err(|error| error.to_string())
    }
}

impl fmt::Debug for GivenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GivenKey(…)")
    }
}
