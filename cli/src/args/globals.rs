//! The options that every command takes.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

/// The options of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct Globals {
    /// The repository [default: that of the current folder]
    ///
    /// `regatta run` takes several: --repo A --repo B. Without it, `regatta gc` collects all repositories.
    #[arg(long = "repo", value_name = "DIR", global = true)]
    pub repos: Vec<PathBuf>,

    /// When to use colours; NO_COLOR is respected
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    pub color: ColorWhen,

    /// How to show progress
    #[arg(long, value_name = "STYLE", value_enum, default_value_t, global = true)]
    pub progress: ProgressStyle,

    /// Print JSON
    ///
    /// Commands that run tasks print one event per line, others one document.
    #[arg(long, global = true, action = ArgAction::SetTrue)]
    json: bool,

    /// Print less
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        action = ArgAction::SetTrue
    )]
    quiet: bool,

    /// Print more
    #[arg(short, long, global = true, action = ArgAction::SetTrue)]
    verbose: bool,
}

impl Globals {
    /// Returns the repository, if one is named.
    #[must_use]
    pub fn repo(&self) -> Option<&PathBuf> {
        self.repos.first()
    }

    /// Returns the format of results.
    #[must_use]
    pub fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }

    /// Returns how much is printed.
    #[must_use]
    pub fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

/// The format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text for a person.
    Text,
    /// JSON for a program.
    Json,
}

/// How much is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// Errors and the result.
    Quiet,
    /// Progress, notes and the result.
    Normal,
    /// Progress, notes and the result, with details of each task.
    Verbose,
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProgressStyle {
    /// Live on a terminal, else plain.
    #[default]
    Auto,
    /// A display that is redrawn.
    Live,
    /// One line per event.
    Plain,
    /// Not at all.
    None,
}
