//! The port that takes a shell script apart.

/// Parses shell scripts.
pub trait ShellSyntax: Send + Sync {
    /// Returns what a script runs, reads and writes. Whatever may run unseen is an undecidable part.
    fn parts(&self, script: &str) -> Vec<ShellPart>;
}

/// A part of a shell script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellPart {
    /// A simple command, with the names of the variables that are assigned for it.
    Command {
        /// The variables.
        variables: Vec<String>,
        /// The name of the command and its arguments; never empty.
        words: Vec<ShellWord>,
    },
    /// A command that only runs the command of another part: `timeout`, `env`, `sh -c`.
    Wrapper(Vec<ShellWord>),
    /// A variable is set for the commands that follow.
    Assignment(String),
    /// A file is read as input.
    Input(ShellWord),
    /// A file is written with output.
    Output(ShellWord),
    /// Input or output goes elsewhere, but not to a file: `2>&1`, `>/dev/null`, a here-document.
    Stream,
    /// What runs here cannot be known before, for this reason.
    Undecidable(&'static str),
}

/// A word of a shell script, without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellWord {
    /// The word is this text.
    Literal(String),
    /// The word is computed when the script runs, and may become several: it has a variable, a
    /// substitution, a glob or a tilde. This is how it was written.
    Computed(String),
}

impl ShellWord {
    /// Returns the text of the word if it is literal.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Computed(_) => None,
        }
    }
}
