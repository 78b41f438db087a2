//! One call of the binary: its arguments, its environment, its input.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::running::{Finished, Running};
use super::{Processes, Sandbox, User};

/// A call that is being put together.
#[derive(Debug)]
pub struct Invocation {
    command: Command,
    input: Option<Vec<u8>>,
}

impl Invocation {
    /// Begins a call of `sandbox`'s binary in `folder`, with nothing of our own environment but
    /// the path to programs.
    pub(super) fn new(sandbox: &Sandbox, folder: &Path) -> Self {
        let mut command = Command::new(sandbox.binary());
        command
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", sandbox.folder().join("user"))
            .env("TMPDIR", sandbox.temporary())
            .env("REGATTA_HOME", sandbox.home().folder())
            .env(Processes::VARIABLE, sandbox.mark())
            .env("TZ", "UTC");
        // The name of a mistake in a copy of the source, which `.ci/mutants` makes.
        if let Some(mutant) = std::env::var_os("REGATTA_MUTANT") {
            command.env("REGATTA_MUTANT", mutant);
        }
        Self { command, input: None }
    }

    /// Adds arguments, split at spaces.
    #[must_use]
    pub fn words(mut self, words: &str) -> Self {
        self.command.args(words.split_whitespace());
        self
    }

    /// Adds one argument as it stands.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds `--exec` with this command.
    #[must_use]
    pub fn exec(self, script: &str) -> Self {
        self.arg("--exec").arg(script)
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Plans faults.
    #[must_use]
    pub fn fault(self, words: &str) -> Self {
        self.env("REGATTA_FAULT", words)
    }

    /// Plans that it waits at this point: it makes the file `gate` there, and goes on when that is
    /// gone.
    #[must_use]
    pub fn wait_at(self, point: &str, gate: &Path) -> Self {
        self.fault(&format!("slow@{point}")).env("REGATTA_FAULT_GATE", gate)
    }

    /// Gives it this on its standard input.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = Some(bytes.into());
        self
    }

    /// Gives it another REGATTA_HOME.
    #[must_use]
    pub fn home(self, folder: &Path) -> Self {
        self.env("REGATTA_HOME", folder)
    }

    /// Returns the call as a command of the standard library, for what this does not offer.
    #[must_use]
    pub fn into_command(self) -> Command {
        self.command
    }

    /// Lets a shell do something first, which then becomes the binary: what a process hands on to
    /// the program that it becomes can be set that way.
    #[must_use]
    pub fn after(self, script: &str) -> Self {
        self.shell(&format!("{script}; exec \"$0\" \"$@\""))
    }

    /// Lets a shell run `script` instead, in the same folder and environment. `$0` is the binary, and
    /// `$@` the arguments.
    #[must_use]
    pub fn shell(self, script: &str) -> Self {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(script);
        shell.arg(self.command.get_program()).args(self.command.get_args());
        let variables = self.command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        shell.env_clear().envs(variables);
        if let Some(folder) = self.command.get_current_dir() {
            shell.current_dir(folder);
        }
        Self { command: shell, input: self.input }
    }

    /// Lets `user` call it. The sandbox must be that user's: [`Sandbox::hand_to`].
    #[must_use]
    pub fn by(mut self, user: User) -> Self {
        if !user.is_me() {
            self.command.uid(user.id()).gid(user.id());
        }
        self
    }

    /// Starts it.
    #[must_use]
    pub fn start(mut self) -> Running {
        let stdin = if self.input.is_some() { Stdio::piped() } else { Stdio::null() };
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let said = format!("{:?}", self.command.get_args().collect::<Vec<_>>());
        let mut child = self.command.spawn().expect("the binary can be started");
        if let Some(input) = self.input {
            let mut stdin = child.stdin.take().expect("its input is a pipe");
            let _unread = std::thread::spawn(move || stdin.write_all(&input)); // it may not want it
        }
        Running::of(child, said)
    }

    /// Runs it to its end.
    #[must_use]
    pub fn run(self) -> Finished {
        self.start().wait()
    }
}
