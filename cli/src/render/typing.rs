//! The commands that we tell people to type, as they would have to type them.

use std::path::PathBuf;

use super::safe;

/// What has to stand around a command so that it reaches the same ledger and repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typing {
    /// The `REGATTA_HOME` that the ledger is under, where it is not the usual one.
    pub home: Option<PathBuf>,
    /// The repository, where it is not the current folder.
    pub repo: Option<PathBuf>,
}

impl Typing {
    /// Returns the line to type for `words`, which follow the program's name.
    #[must_use]
    pub fn command(&self, words: &str) -> String {
        let mut line = String::new();
        if let Some(home) = &self.home {
            line.push_str(&format!("REGATTA_HOME={} ", shell_word(&home.to_string_lossy())));
        }
        line.push_str(&format!("regatta {words}"));
        if let Some(repo) = &self.repo {
            line.push_str(&format!(" --repo {}", shell_word(&repo.to_string_lossy())));
        }
        safe::one_line(&line)
    }
}

/// Returns `text` as one word of a POSIX shell.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |letter: char| {
        letter.is_ascii_alphanumeric()
            || matches!(letter, '_' | '.' | '/' | ',' | ':' | '@' | '%' | '+' | '-')
    };
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_as_it_is_printed() {
        let typing = Typing { home: Some("/tmp/a b".into()), repo: Some("/tmp/it's".into()) };
        assert_eq!(
            typing.command("diff r7k3f/auth"),
            r"REGATTA_HOME='/tmp/a b' regatta diff r7k3f/auth --repo '/tmp/it'\''s'"
        );
        assert_eq!(Typing::default().command("runs"), "regatta runs");
    }
}
