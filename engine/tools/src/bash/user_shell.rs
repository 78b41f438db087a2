//! The shell of the user, with the user's functions, aliases, options and PATH: taken once, and read by each
//! command. Nothing else of what the user's profile sets is in them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use engine::ports::{
    Background, CancelLevel, CancelToken, CommandOwner, CommandRequest, CommandTerminal, EndCause,
    ShortOutput,
};
use tokio::sync::OnceCell;
use tokio::time::sleep;

/// How long the user's profile may take. One that takes longer, asks or hangs is done without.
const TIME: Duration = Duration::from_secs(2);

/// Writes the snapshot of a bash to the file `$1`. Options come before the functions that need them, and
/// aliases after them, so that they do not change them.
const BASH: &str = r#"umask 077
\command mkdir -p "${1%/*}" && {
shopt -p extglob globstar dotglob nullglob nocaseglob nocasematch
shopt -po pipefail noclobber noglob
declare -f
alias -p
printf 'shopt -s expand_aliases\nexport PATH=%q\n' "$PATH"
} 2>/dev/null >"$1.$$" && \command mv -f "$1.$$" "$1"
exit"#;

/// The same for zsh.
const ZSH: &str = r#"umask 077
\command mkdir -p "${1:h}" && {
for name in extendedglob globdots kshglob nomatch nullglob pipefail shwordsplit clobber; do
if [[ -o $name ]]; then print setopt $name; else print unsetopt $name; fi
done
functions
alias -L
print -r -- "export PATH=${(q)PATH}"
} 2>/dev/null >|"$1.$$" && \command mv -f "$1.$$" "$1"
exit"#;

/// The shell of the user, whose snapshot is taken once, with the first session that may need it.
#[derive(Debug, Default)]
pub struct UserShells {
    shell: Option<KnownShell>,
    taken: OnceCell<Shell>,
    /// Whether it is being taken in the background of a session.
    is_prepared: AtomicBool,
}

/// A shell that is known.
#[derive(Clone, Debug)]
struct KnownShell {
    program: String,
    snapshot: String,
    take: &'static str,
}

/// What runs a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shell {
    /// `/bin/sh`.
    Plain,
    /// The shell of the user, and the file that it reads first, if there is one.
    User { program: String, snapshot: Option<String> },
}

impl UserShells {
    /// Returns the shell `program` of the user, which keeps its snapshot in `folder`. Commands run with
    /// `/bin/sh` if it is neither bash nor zsh.
    #[must_use]
    pub fn new(program: Option<&OsStr>, folder: &Path) -> Self {
        let shell = program.and_then(|program| KnownShell::new(Path::new(program), folder));
        Self { shell, taken: OnceCell::new(), is_prepared: AtomicBool::new(false) }
    }

    /// Returns whether there is a shell of which a snapshot is taken.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.shell.is_some()
    }

    /// Begins to take the snapshot in `background`, with `commands`, unless another session does that.
    pub(crate) fn prepare(
        self: &Arc<Self>,
        commands: &Arc<dyn CommandOwner>,
        background: &dyn Background,
    ) {
        if !self.is_known() || self.taken.initialized() || self.is_prepared.swap(true, Relaxed) {
            return;
        }
        let (preparing, stop) = (Preparing(Arc::clone(self)), background.stop());
        let commands = Arc::clone(commands);
        background.run(Box::pin(async move {
            let _taken = preparing.0.get(commands.as_ref(), &stop).await;
            None
        }));
    }

    /// Returns what runs commands. Takes the snapshot, with `commands`, if that is not done yet.
    pub(crate) async fn get(&self, commands: &dyn CommandOwner, cancel: &CancelToken) -> Shell {
        let Some(known) = &self.shell else { return Shell::Plain };
        let taken = self.taken.get_or_try_init(|| known.take(commands, cancel)).await;
        taken.cloned().unwrap_or(Shell::Plain)
    }
}

/// Takes the snapshot. When it is dropped before, because its session has ended, the next one may do that.
struct Preparing(Arc<UserShells>);

impl Drop for Preparing {
    fn drop(&mut self) {
        self.0.is_prepared.store(false, Relaxed);
    }
}

/// The session was stopped while the snapshot was taken.
struct Stopped;

impl KnownShell {
    fn new(program: &Path, folder: &Path) -> Option<Self> {
        let name = program.file_name()?.to_str()?;
        let take = match name {
            "bash" => BASH,
            "zsh" => ZSH,
            _ => return None,
        };
        let is_there = program.is_absolute() && program.is_file();
        let snapshot = folder.join(name).to_str()?.to_owned();
        is_there.then_some(Self { program: program.to_str()?.to_owned(), snapshot, take })
    }

    async fn take(
        &self,
        commands: &dyn CommandOwner,
        cancel: &CancelToken,
    ) -> Result<Shell, Stopped> {
        let Self { program, snapshot, take } = self;
        let arguments = [program.as_str(), take, snapshot];
        let printed = PathBuf::from(format!("{snapshot}.output"));
        let request = CommandRequest {
            // Functions and aliases are in files that only an interactive shell reads.
            script: r#"exec "$1" -i -c "$2" "$1" "$3""#.to_owned(),
            arguments: arguments.map(str::to_owned).to_vec(),
            folder: PathBuf::from("/"),
            environment: BTreeMap::new(),
            output: printed.clone(),
            keep: 0,
            short: ShortOutput::Memory,
            terminal: CommandTerminal::None,
        };
        let stop = cancel.child();
        let mut running = pin!(commands.run(request, Arc::new(|_line| {}), stop.clone()));
        let ended = tokio::select! {
            biased;
            ended = &mut running => ended,
            () = sleep(TIME) => {
                stop.cancel(CancelLevel::AtOnce);
                running.await
            }
        };
        // What the profile prints is kept nowhere.
        let _none = tokio::fs::remove_file(printed).await;
        if cancel.is_cancelled() {
            return Err(Stopped);
        }
        let is_taken = ended.is_ok_and(|end| end.cause == EndCause::Exited(0));
        let snapshot = is_taken.then(|| snapshot.clone());
        Ok(Shell::User { program: program.clone(), snapshot })
    }
}

impl Shell {
    /// Returns the script for `/bin/sh` that runs `command` after `first`, and the parameters of the script.
    /// Standard output and standard error share one pipe, which keeps their order. `path` is a PATH that
    /// replaces that of the user.
    pub(super) fn script(
        &self,
        (first, command): (Option<&str>, &str),
        path: Option<&OsStr>,
    ) -> (String, Vec<String>) {
        let first = first.map(|first| format!("{first}\n")).unwrap_or_default();
        match self {
            Self::Plain => (format!("exec 2>&1; {first}{command}"), Vec::new()),
            Self::User { program, snapshot } => {
                let snapshot = snapshot.as_deref().map(|file| {
                    let path = path.and_then(OsStr::to_str);
                    let path = path.map(|path| format!("PATH={}\n", quoted(path)));
                    format!(". {} >/dev/null 2>&1\n{}", quoted(file), path.unwrap_or_default())
                });
                // Aliases are known to what is read after them.
                let command = quoted(command);
                let inner = format!("{}{first}eval {command}", snapshot.unwrap_or_default());
                let script = r#"exec 2>&1; exec "$1" -c "$2""#.to_owned();
                (script, vec![program.clone(), inner])
            }
        }
    }
}

/// Returns `text` as one word for a shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Runs a script as `/bin/sh` runs it, and returns what it prints.
    fn printed((script, arguments): (String, Vec<String>)) -> String {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script, "sh"]).args(arguments).env("PATH", "/usr/bin:/bin");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    #[test]
    fn a_command_is_run_as_it_is_written_by_either_shell() {
        let bash = Shell::User { program: "/bin/bash".to_owned(), snapshot: None };
        for shell in [Shell::Plain, bash] {
            let run = |command| printed(shell.script((Some("x=1"), command), None));
            assert_eq!(run("echo \"it's $x\" >&2; printf '%s' \"$#\""), "it's 1\n0", "{shell:?}");
            assert_eq!(run("cat <<'END'\na'b\nEND"), "a'b\n", "{shell:?}");
        }
    }

    #[test]
    fn only_a_shell_that_is_known_and_there_is_taken() {
        let known =
            |program: &str| UserShells::new(Some(OsStr::new(program)), Path::new("/x")).is_known();
        assert!(known("/bin/bash"));
        for program in ["/bin/sh", "bash", "/nowhere/bash", "/usr/bin/fish", ""] {
            assert!(!known(program), "{program}");
        }
    }
}
