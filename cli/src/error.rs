//! What the program says when it cannot go on: one error type, with what, why and what to do.

use std::fmt::{self, Write as _};

use config::{DataPathsError, SettingsError};
use engine::ports::{IsolationError, LedgerError};
use protocol::ExitCode;

/// Why the program ends without having done what was asked.
///
/// It prints as `error: what` in one line, then `  because …` and `  try: …` lines. Nothing that
/// it quotes can move a terminal's cursor or begin a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Whose fault it is.
    pub kind: ErrorKind,
    /// What cannot be done, and where.
    pub what: String,
    /// Why, the nearest cause first.
    pub because: Vec<String>,
    /// What to do about it; lines to type where there are such.
    pub hints: Vec<String>,
    /// How the program ends.
    pub exit: ExitCode,
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// What was typed.
    Usage,
    /// What the settings say.
    Settings,
    /// A plan, a list or a schema.
    Plan,
    /// The repository.
    Repository,
    /// A model, or where it is had.
    Model,
    /// The machine: disk, memory, permissions.
    Machine,
    /// Ours.
    Bug,
    /// Nobody's: who read our output has read enough.
    Closed,
}

/// The exit code of an error, unless it says otherwise.
fn usual_exit(kind: ErrorKind) -> ExitCode {
    match kind {
        ErrorKind::Usage
        | ErrorKind::Settings
        | ErrorKind::Plan
        | ErrorKind::Repository
        | ErrorKind::Model
        | ErrorKind::Machine => ExitCode::NotStarted,
        ErrorKind::Bug => ExitCode::Bug,
        ErrorKind::Closed => ExitCode::Success,
    }
}

impl Error {
    /// Returns an error of this kind.
    #[must_use]
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        let (because, hints) = (Vec::new(), Vec::new());
        Self { kind, what: what.into(), because, hints, exit: usual_exit(kind) }
    }

    /// Returns an error about what was typed.
    #[must_use]
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, what)
    }

    /// Returns the refusal of something that comes later.
    #[must_use]
    pub fn not_yet_built(what: &str) -> Self {
        Self::usage(format!("{what} is not yet built"))
    }

    /// Adds a cause behind those that are known.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> Self {
        self.because.push(cause.into());
        self
    }

    /// Adds everything behind `source`, and itself, as causes.
    #[must_use]
    pub fn caused_by(mut self, source: &dyn std::error::Error) -> Self {
        let mut next = Some(source);
        while let Some(error) = next {
            let told = error.to_string();
            // The number of an error says nothing that its name does not.
            let name = told.split(" (os error ").next().unwrap_or_default();
            self.because.push(name.to_owned());
            next = error.source();
        }
        self
    }

    /// Adds something to try.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the same error with another way for the program to end.
    #[must_use]
    pub fn exit(self, exit: ExitCode) -> Self {
        Self { exit, ..self }
    }

    /// Returns what it means that standard output could not be written. A reader who has read
    /// enough is no error: the program then ends quietly.
    #[must_use]
    pub fn output(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::new(ErrorKind::Closed, "nobody reads on"),
            _ => Self::new(ErrorKind::Machine, "cannot write to standard output").caused_by(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", Line(&self.what))?;
        for cause in &self.because {
            write!(f, "\n  because {}", Line(cause))?;
        }
        for hint in &self.hints {
            write!(f, "\n  try: {}", Line(hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// One line of text for a terminal: whatever is no visible character is written as an escape.
struct Line<'a>(&'a str);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| {
            let moves = letter.is_control()
                || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
            if moves { write!(f, "{}", letter.escape_default()) } else { f.write_char(letter) }
        })
    }
}

impl From<IsolationError> for Error {
    fn from(error: IsolationError) -> Self {
        let what = error.to_string();
        match error {
            IsolationError::Refused { because, hint, .. } => {
                let refused = Self::new(ErrorKind::Repository, what).because(because);
                if hint.is_empty() { refused } else { refused.hint(hint) }
            }
            IsolationError::Resources { source, .. } => {
                Self::new(ErrorKind::Machine, what).caused_by(source.as_ref())
            }
            IsolationError::Predecessors { paths, .. } => {
                let paths = paths.join(", ");
                Self::new(ErrorKind::Repository, what).because(format!("both change {paths}"))
            }
            IsolationError::Vanished { .. } | IsolationError::Withdrawn => {
                Self::new(ErrorKind::Repository, what)
            }
            IsolationError::Failed { source, .. } => {
                Self::new(ErrorKind::Repository, what).caused_by(source.as_ref())
            }
        }
    }
}

impl From<SettingsError> for Error {
    fn from(error: SettingsError) -> Self {
        let settings = Self::new(ErrorKind::Settings, error.to_string());
        match std::error::Error::source(&error) {
            Some(source) => settings.caused_by(source),
            None => settings,
        }
    }
}

impl From<DataPathsError> for Error {
    fn from(error: DataPathsError) -> Self {
        Self::new(ErrorKind::Settings, error.to_string())
    }
}

impl From<LedgerError> for Error {
    fn from(error: LedgerError) -> Self {
        Self::new(ErrorKind::Machine, error.to_string()).caused_by(error.source.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_why_and_what_to_try() {
        let refused = IsolationError::Refused {
            what: "cannot open /home/ada/app: its index is sparse".to_owned(),
            because: "the mandatory extension 'sdir' is not supported".to_owned(),
            hint: "git sparse-checkout reapply --no-sparse-index".to_owned(),
        };
        let error = Error::from(refused);
        assert_eq!(
            error.to_string(),
            "error: cannot open /home/ada/app: its index is sparse\n  \
             because the mandatory extension 'sdir' is not supported\n  \
             try: git sparse-checkout reapply --no-sparse-index"
        );
        assert_eq!(error.exit, ExitCode::NotStarted);
    }

    #[test]
    fn every_cause_of_a_failure_is_told() {
        let source = std::io::Error::from_raw_os_error(28);
        let failed = IsolationError::Resources {
            what: "copy src/a.rs".to_owned(),
            source: Box::new(source),
        };
        let error = Error::from(failed);
        assert_eq!(
            error.to_string(),
            "error: cannot copy src/a.rs\n  because No space left on device"
        );
        assert_eq!(error.kind, ErrorKind::Machine);
    }

    #[test]
    fn what_is_quoted_cannot_move_the_cursor_or_forge_a_line() {
        let error = Error::usage("no file `a\u{1b}[2J\nerror: b\u{202e}`");
        assert_eq!(error.to_string(), "error: no file `a\\u{1b}[2J\\nerror: b\\u{202e}`");
    }

    #[test]
    fn a_reader_who_has_read_enough_is_no_error() {
        let closed = Error::output(&std::io::ErrorKind::BrokenPipe.into());
        assert_eq!((closed.kind, closed.exit), (ErrorKind::Closed, ExitCode::Success));
        let full = Error::output(&std::io::ErrorKind::StorageFull.into());
        assert_eq!((full.kind, full.exit), (ErrorKind::Machine, ExitCode::NotStarted));
    }
}
