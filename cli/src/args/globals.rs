//! The options that every command takes.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

/// What every command can be told.
#[derive(Args, Clone, Debug, Default)]
pub struct Globals {
    /// The repository, or a folder in it [default: the current folder]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Options of every command")]
    pub repo: Option<PathBuf>,

    /// Whether what is printed has colours; NO_COLOR is honoured
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        global = true,
        help_heading = "Options of every command"
    )]
    pub color: ColorWhen,

    /// How progress is shown
    #[arg(
        long,
        value_name = "STYLE",
        value_enum,
        default_value_t,
        global = true,
        help_heading = "Options of every command"
    )]
    pub progress: ProgressStyle,

    /// Print for programs: events, one per line, or one JSON document
    #[arg(long, global = true, action = ArgAction::SetTrue, help_heading = "Options of every command")]
    json: bool,

    /// Say less
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        action = ArgAction::SetTrue,
        help_heading = "Options of every command"
    )]
    quiet: bool,

    /// Say more
    #[arg(short, long, global = true, action = ArgAction::SetTrue, help_heading = "Options of every command")]
    verbose: bool,
}

impl Globals {
    /// Returns for whom results are printed.
    #[must_use]
    pub fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Text }
    }

    /// Returns how much is said.
    #[must_use]
    pub fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

/// For whom results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// What went wrong, and the end.
    Quiet,
    /// What a person wants to know.
    Normal,
    /// That, and how.
    Verbose,
}

/// When what is printed has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal that has not said otherwise.
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
