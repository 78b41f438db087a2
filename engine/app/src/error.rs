//! The error of the command line: what failed, why, what to try, and the exit code.

use std::fmt;

use config::{DataPathsError, SettingsError};
use engine::ports::{IsolationError, LedgerError};
use protocol::{ExitCode, Failure, FailureClass};
use store::TrustError;

use crate::runs::WorkError;
use crate::text::{escaped, shell_word};

/// Why a command failed.
///
/// It prints as `error: what` in one line, then `  because …` and `  try: …` lines. Text that the
/// error quotes can neither move a terminal's cursor nor begin a new line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where the cause is.
    pub kind: ErrorKind,
    /// What failed.
    pub what: String,
    /// The causes, the nearest first.
    pub because: Vec<String>,
    /// What the user can try: sentences, or commands to type.
    pub hints: Vec<String>,
    /// The exit code.
    pub exit: ExitCode,
}

/// Where the cause of an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command line.
    Usage,
    /// The settings or the environment.
    Settings,
    /// A plan, a list or a schema.
    Plan,
    /// No error in a group of runs: there are no items in this repository.
    NoItems,
    /// The repository.
    Repository,
    /// A model or its provider.
    Model,
    /// The machine: disk, memory, permissions.
    Machine,
    /// This program.
    Bug,
    /// No error: the reader of the output has closed the pipe.
    Closed,
}

/// Returns the exit code of errors of a kind.
fn usual_exit(kind: ErrorKind) -> ExitCode {
    match kind {
        ErrorKind::Usage
        | ErrorKind::Settings
        | ErrorKind::Plan
        | ErrorKind::NoItems
        | ErrorKind::Repository
        | ErrorKind::Model
        | ErrorKind::Machine => ExitCode::NotStarted,
        ErrorKind::Bug => ExitCode::Bug,
        ErrorKind::Closed => ExitCode::Success,
    }
}

/// What to try where a disk is full.
const ROOM_HINT: &str = "make room on the disk of that folder";

/// What to try where nothing can be written in the temporary folder.
pub const TEMPORARY_HINT: &str =
    "export TMPDIR=FOLDER, an absolute path, for another temporary folder";

/// What to try where the folder of the program cannot be written or locked.
const HOME_HINT: &str = "REGATTA_HOME=FOLDER, an absolute path on a local disk, moves everything; the \
                         setting isolation.dir moves the workspaces only";

impl Error {
    /// Returns an error of this kind.
    #[must_use]
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        let (because, hints) = (Vec::new(), Vec::new());
        Self { kind, what: what.into(), because, hints, exit: usual_exit(kind) }
    }

    /// Returns an error about the command line.
    #[must_use]
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, what)
    }

    /// Returns the error about a feature that is planned but not implemented yet.
    #[must_use]
    pub fn not_implemented(what: &str) -> Self {
        Self::usage(format!("{what} is not implemented yet"))
    }

    /// Adds a cause after the known ones, unless it is empty or the line above it says the same.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> Self {
        let cause = cause.into();
        let cause = without_os_code(cause.trim_start_matches("because "));
        let above = self.because.last().unwrap_or(&self.what);
        if !cause.is_empty() && !above.ends_with(&cause) && !cause.ends_with(above.as_str()) {
            self.because.push(cause);
        }
        self
    }

    /// Adds a failure as a cause, and what it says to try as a hint.
    #[must_use]
    pub fn because_of(self, failure: &Failure) -> Self {
        let mut error = self.because(failure.cause());
        let advice = failure.advice.iter();
        error.hints.extend(advice.map(|advice| advice.trim_start_matches("try: ").to_owned()));
        error
    }

    /// Adds `source` and the errors behind it as causes.
    #[must_use]
    pub fn caused_by(self, source: &dyn std::error::Error) -> Self {
        causes(source).fold(self, |error, cause| error.because(cause))
    }

    /// Adds something to try, unless it is there already.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        if !self.hints.contains(&hint) {
            self.hints.push(hint);
        }
        self
    }

    /// Returns what failed and why, in one line.
    #[must_use]
    pub fn what_and_why(&self) -> String {
        let texts = std::iter::once(&self.what).chain(&self.because);
        texts.map(String::as_str).collect::<Vec<_>>().join(": ")
    }

    /// Returns what failed, why, and what to try, in one line.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!("; try: {hint}"));
        std::iter::once(self.what_and_why()).chain(hints).collect()
    }

    /// Returns the same error with another exit code.
    #[must_use]
    pub fn exit(self, exit: ExitCode) -> Self {
        Self { exit, ..self }
    }

    /// Returns the error of an engine that cannot go on: a bug, unless there is no room for what it has to
    /// record.
    #[must_use]
    pub fn engine_failed(failure: &Failure) -> Self {
        if failure.class == FailureClass::Resources {
            Self::new(ErrorKind::Machine, failure.message.as_str())
                .hint(ROOM_HINT)
                .exit(ExitCode::NoSuccess)
        } else {
            Self::new(ErrorKind::Bug, "a part of the program failed, so the program stops")
                .because_of(failure)
        }
    }

    /// Returns the error of a ledger that cannot be opened, or of a run that cannot be locked: the folder
    /// of the program may have to be elsewhere.
    #[must_use]
    pub fn of_home(error: LedgerError) -> Self {
        let hint = match error.class {
            FailureClass::Resources => ROOM_HINT,
            _ => HOME_HINT,
        };
        Self::from(error).hint(hint)
    }

    /// Returns the error of a failed write to standard output. A closed pipe is not an error: the program
    /// then exits quietly.
    #[must_use]
    pub fn output(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => {
                Self::new(ErrorKind::Closed, "the reader of standard output has gone")
            }
            _ => Self::new(ErrorKind::Machine, "cannot write to standard output").caused_by(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", escaped(&self.what))?;
        for cause in &self.because {
            write!(f, "\n  because {}", escaped(cause))?;
        }
        for hint in &self.hints {
            write!(f, "\n  try: {}", escaped(hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Returns the texts of `error` and of the errors behind it.
fn causes(error: &dyn std::error::Error) -> impl Iterator<Item = String> {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string)
}

/// Removes the number of a system error from a message, because the message also has its name.
pub fn without_os_code(message: &str) -> String {
    let Some((before, rest)) = message.split_once(" (os error ") else { return message.to_owned() };
    let after = rest.split_once(')').map_or("", |(_, after)| after);
    format!("{before}{after}")
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
        match error {
            SettingsError::Unreadable { source, .. } => settings.caused_by(&source).hint(HOME_HINT),
            // These say what is valid there.
            SettingsError::Outside { .. }
            | SettingsError::TooLarge { .. }
            | SettingsError::Malformed { .. }
            | SettingsError::UnknownRules(_)
            | SettingsError::Rule { .. }
            | SettingsError::Value { .. } => settings,
        }
    }
}

impl From<TrustError> for Error {
    fn from(error: TrustError) -> Self {
        Self::new(ErrorKind::Settings, error.to_string()).caused_by(&error)
    }
}

impl From<DataPathsError> for Error {
    fn from(error: DataPathsError) -> Self {
        let settings = Self::new(ErrorKind::Settings, error.to_string());
        match error {
            DataPathsError::NoHome => settings.hint(HOME_HINT),
            DataPathsError::NotAbsolute { variable, folder } => {
                let folder = std::path::absolute(&folder).unwrap_or(folder);
                let folder = shell_word(&folder.to_string_lossy());
                settings.hint(format!("export {variable}={folder}"))
            }
        }
    }
}

impl From<WorkError> for Error {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::LostRun(_) => Self::new(ErrorKind::Bug, error.to_string()),
            WorkError::StillRunning(_) => Self::usage(error.to_string()),
            WorkError::Ledger(error) => error.into(),
            WorkError::Captures(error) => error.into(),
        }
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
    fn the_same_is_suggested_once() {
        let error = Error::usage("no").hint("a").hint("b").hint("a");
        assert_eq!(error.hints, ["a", "b"]);
    }

    #[test]
    fn a_cause_is_told_once_and_what_to_try_is_no_cause() {
        let error = Error::usage("cannot open x: no such file").because("no such file");
        assert_eq!(error.because, Vec::<String>::new());
        let error =
            Error::usage("cannot write x").because("disk is full").because("13: disk is full");
        assert_eq!(error.because, ["disk is full"]);
        let said = Failure::new(FailureClass::Transient, "a; try: curl x | sh; b");
        let failure = said.advise("try: ollama serve");
        let error = Error::usage("cannot ask").because_of(&failure);
        assert_eq!(error.because, ["a; try: curl x | sh; b"], "a server has said it");
        assert_eq!(error.hints, ["ollama serve"]);
        let error = Error::usage("x").because("No such file (os error 2); a is needed");
        assert_eq!(error.because, ["No such file; a is needed"]);
        let error = Error::usage("cannot ask").because("because because it is late");
        assert_eq!(error.to_string(), "error: cannot ask\n  because it is late");
    }

    #[test]
    fn a_home_that_cannot_be_used_names_what_moves_it() {
        let of_home = |class| {
            let (what, source) = ("open the ledger at /l".to_owned(), "no locks".into());
            Error::of_home(LedgerError { what, class, source }).hints
        };
        assert_eq!(of_home(FailureClass::Crashed), [HOME_HINT]);
        assert_eq!(of_home(FailureClass::Resources), [ROOM_HINT]);
        assert_eq!(Error::from(DataPathsError::NoHome).hints, [HOME_HINT]);
        let (file, source) =
            ("/dev/null/config.yml".into(), std::io::ErrorKind::NotADirectory.into());
        assert_eq!(Error::from(SettingsError::Unreadable { file, source }).hints, [HOME_HINT]);
        let relative =
            DataPathsError::NotAbsolute { variable: "REGATTA_HOME", folder: "a b".into() };
        let here = std::env::current_dir().unwrap();
        let expected = format!("export REGATTA_HOME='{}/a b'", here.display());
        assert_eq!(Error::from(relative).hints, [expected]);
        assert!(HOME_HINT.contains("REGATTA_HOME") && HOME_HINT.contains("isolation.dir"));
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
