//! The folders and files of the program: settings, ledger, workspaces, artifacts, logs and sockets.

use std::env::VarError;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use protocol::{ExitCode, RunName, SessionId, TaskName};

/// The name of the program's folder in the XDG folders.
const NAME: &str = "regatta";

/// The folders of the program: all below `REGATTA_HOME`, or in the XDG base directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPaths {
    config: PathBuf,
    data: PathBuf,
    state: PathBuf,
    runtime: PathBuf,
    workspaces: PathBuf,
    home: Option<PathBuf>,
}

/// Why the folders cannot be determined.
#[derive(Debug, thiserror::Error)]
pub enum DataPathsError {
    /// No variable names the user's home.
    #[error(
        "HOME is not set, so there is no folder for settings and data (set HOME or REGATTA_HOME)"
    )]
    NoHome,
    /// A path that must be absolute is relative.
    #[error("{variable} must be an absolute path, not `{}`", .folder.display())]
    NotAbsolute {
        /// The variable with the path.
        variable: &'static str,
        /// The relative path.
        folder: PathBuf,
    },
}

impl DataPaths {
    /// Determines the folders. `variable` looks up an environment variable. Nothing is read or created.
    ///
    /// # Errors
    /// `HOME` is needed and not set, or a path that must be absolute is relative.
    pub fn resolve(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, DataPathsError> {
        let folder =
            |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let absolute = |name: &'static str| match folder(name) {
            Some(folder) if folder.is_relative() => {
                Err(DataPathsError::NotAbsolute { variable: name, folder })
            }
            found => Ok(found),
        };
        if let Some(own) = absolute("REGATTA_HOME")? {
            let data = own.join("data");
            return Ok(Self {
                config: own.join("config"),
                state: own.join("state"),
                runtime: own.join("run"),
                workspaces: data.join("workspaces"),
                data,
                home: folder("HOME").filter(|home| home.is_absolute()),
            });
        }
        let home = absolute("HOME")?;
        // The XDG specification requires that relative paths are ignored.
        let given = |name: &str| folder(name).filter(|path| path.is_absolute());
        let xdg = |name: &str, usual: &str| -> Result<PathBuf, DataPathsError> {
            let base = given(name).or_else(|| home.as_ref().map(|home| home.join(usual)));
            Ok(base.ok_or(DataPathsError::NoHome)?.join(NAME))
        };
        let data = xdg("XDG_DATA_HOME", ".local/share")?;
        let state = xdg("XDG_STATE_HOME", ".local/state")?;
        let runtime = given("XDG_RUNTIME_DIR").map(|folder| folder.join(NAME));
        Ok(Self {
            config: xdg("XDG_CONFIG_HOME", ".config")?,
            runtime: runtime.unwrap_or_else(|| state.join("run")),
            workspaces: data.join("workspaces"),
            data,
            state,
            home,
        })
    }

    /// Returns the folders from the environment of this process.
    ///
    /// # Errors
    /// As [`DataPaths::resolve`].
    pub fn of_this_process() -> Result<Self, DataPathsError> {
        Self::resolve(|name| match std::env::var(name) {
            Ok(value) => Some(value.into()),
            Err(VarError::NotUnicode(value)) => Some(value),
            Err(VarError::NotPresent) => None,
        })
    }

    /// Sets another folder for workspaces, the setting `isolation.dir`, or the usual one if there is none.
    #[must_use]
    pub fn with_workspaces(self, folder: Option<PathBuf>) -> Self {
        Self { workspaces: folder.unwrap_or_else(|| self.data.join("workspaces")), ..self }
    }

    /// Creates the top folders with access for this user only, whatever the umask is, and removes
    /// the access of others from existing ones. The folder of workspaces stays as it is if it exists.
    ///
    /// # Errors
    /// A folder cannot be created, or its access not changed.
    pub fn make_private(&self) -> io::Result<()> {
        for folder in [&self.data, &self.state] {
            make_private(folder)?;
            let permissions = fs::metadata(folder)?.permissions();
            if permissions.mode() & GROUP_AND_OTHERS != 0 {
                let closed = Permissions::from_mode(permissions.mode() & !GROUP_AND_OTHERS);
                fs::set_permissions(folder, closed)?;
            }
        }
        // The user may have created this folder for other things, too.
        make_private(&self.workspaces)
    }

    /// Returns the user's home, if it is known.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the file of the user's settings.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.yml")
    }

    /// Returns the file of the user's MCP servers.
    #[must_use]
    pub fn mcp_file(&self) -> PathBuf {
        self.config.join("mcp.json")
    }

    /// Returns the folder of the agents that the user has written.
    #[must_use]
    pub fn agents(&self) -> PathBuf {
        self.config.join("agents")
    }

    /// Returns the file with what the user tells every agent.
    #[must_use]
    pub fn context_file(&self) -> PathBuf {
        self.config.join("AGENTS.md")
    }

    /// Returns the files of the user's providers and models. The first that exists is read.
    #[must_use]
    pub fn models_files(&self) -> [PathBuf; 2] {
        [self.config.join("models.yml"), self.config.join("models.json")]
    }

    /// Returns the file of the stored API keys.
    #[must_use]
    pub fn keys_file(&self) -> PathBuf {
        self.config.join("auth.json")
    }

    /// Returns the file of the facts about models that `regatta models refresh` brought.
    #[must_use]
    pub fn model_facts(&self) -> PathBuf {
        self.data.join("models.json")
    }

    /// Returns the folder of what is kept.
    #[must_use]
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Returns the database file of the ledger.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.data.join("ledger.db")
    }

    /// Returns the file of what the user trusts in each repository.
    #[must_use]
    pub fn trust_file(&self) -> PathBuf {
        self.data.join("trust.json")
    }

    /// Returns the folder of workspaces: `REPO/RUN/TASK/` below it.
    #[must_use]
    pub fn workspaces(&self) -> &Path {
        &self.workspaces
    }

    /// Returns the folder of task stores: `REPO.git` in it.
    #[must_use]
    pub fn stores(&self) -> PathBuf {
        self.data.join("stores")
    }

    /// Returns the folder of landing journals: `REPO/ID.json` below it.
    #[must_use]
    pub fn landings(&self) -> PathBuf {
        self.data.join("landings")
    }

    /// Returns the folder of the sessions of all folders, with a folder for each.
    #[must_use]
    pub fn all_sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// Returns the folder of the large content of sessions.
    #[must_use]
    pub fn blobs(&self) -> PathBuf {
        self.data.join("blobs")
    }

    /// Returns the file of the prompts that the user has typed.
    #[must_use]
    pub fn prompt_history(&self) -> PathBuf {
        self.data.join("history.db")
    }

    /// Returns the folder in which each terminal has the session that it used last.
    #[must_use]
    pub fn terminal_sessions(&self) -> PathBuf {
        self.data.join("terminal-sessions")
    }

    /// Returns the folder of the output files of all tasks: `RUN/TASK/` below it.
    #[must_use]
    pub fn all_artifacts(&self) -> PathBuf {
        self.data.join("artifacts")
    }

    /// Returns the folder of the output files of a task.
    #[must_use]
    pub fn artifacts(&self, run: &RunName, task: &TaskName) -> PathBuf {
        self.all_artifacts().join(run.as_str()).join(task.as_str())
    }

    /// Returns the session log of a task.
    #[must_use]
    pub fn session_log(&self, run: &RunName, task: &TaskName) -> PathBuf {
        self.artifacts(run, task).join("session.jsonl")
    }

    /// Returns the folder with the yields of the predecessors of a task, while the task runs.
    #[must_use]
    pub fn inputs(&self, run: &RunName, task: &TaskName) -> PathBuf {
        self.artifacts(run, task).join("inputs")
    }

    /// Returns the log file of a run.
    #[must_use]
    pub fn log(&self, run: &RunName) -> PathBuf {
        self.logs().join(format!("{run}.log"))
    }

    /// Returns the file that says that there was no room in the ledger for the end of a run, which ended
    /// with this exit code.
    #[must_use]
    pub fn no_room(&self, run: &RunName, exit_code: ExitCode) -> PathBuf {
        self.logs().join(format!("{run}.no-room-{}", u8::from(exit_code)))
    }

    /// Returns the log file of what the engine traces in a session.
    #[must_use]
    pub fn session_trace(&self, session: SessionId) -> PathBuf {
        self.logs().join(format!("{session}.log"))
    }

    /// Returns the folder of log files.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }

    /// Returns the folder in which engines share what they know about provider accounts, which may be
    /// lost at a reboot.
    #[must_use]
    pub fn gates(&self) -> PathBuf {
        self.state.join("gates")
    }

    /// Returns the folder of what MCP servers offered when they were last used, which may be lost.
    #[must_use]
    pub fn mcp_cache(&self) -> PathBuf {
        self.state.join("mcp")
    }

    /// Returns the folder with a record of each folder for temporary files that a task has.
    #[must_use]
    pub fn temporary_folders(&self) -> PathBuf {
        self.state.join("temporary")
    }

    /// Returns the folder of sockets, which may be lost at a reboot.
    #[must_use]
    pub fn runtime(&self) -> &Path {
        &self.runtime
    }
}

/// The permission bits of group and others.
const GROUP_AND_OTHERS: u32 = 0o077;

/// Creates a folder and its parents with access for this user only. An existing folder stays as it is.
///
/// # Errors
/// The folder cannot be created.
pub fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(variables: &[(&str, &str)]) -> Result<DataPaths, DataPathsError> {
        DataPaths::resolve(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn without_other_wishes_things_are_below_home() {
        let places = resolve(&[("HOME", "/home/ada")]).unwrap();
        let (run, task) = ("r7k3f".parse().unwrap(), "auth.tests".parse().unwrap());
        let data = "/home/ada/.local/share/regatta";
        assert_eq!(places.config_file(), Path::new("/home/ada/.config/regatta/config.yml"));
        assert_eq!(places.ledger(), Path::new(data).join("ledger.db"));
        assert_eq!(places.workspaces(), Path::new(data).join("workspaces"));
        assert_eq!(places.stores(), Path::new(data).join("stores"));
        assert_eq!(places.landings(), Path::new(data).join("landings"));
        let artifacts = Path::new(data).join("artifacts/r7k3f/auth.tests");
        assert_eq!(places.artifacts(&run, &task), artifacts);
        assert_eq!(places.session_log(&run, &task), artifacts.join("session.jsonl"));
        assert_eq!(places.inputs(&run, &task), artifacts.join("inputs"));
        assert_eq!(places.log(&run), Path::new("/home/ada/.local/state/regatta/logs/r7k3f.log"));
        assert_eq!(places.runtime(), Path::new("/home/ada/.local/state/regatta/run"));
    }

    #[test]
    fn the_folders_of_the_desktop_are_used_where_they_are_absolute() {
        let places = resolve(&[
            ("HOME", "/home/ada"),
            ("XDG_CONFIG_HOME", "/etc/ada"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_STATE_HOME", ""),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
        ])
        .unwrap();
        assert_eq!(places.config_file(), Path::new("/etc/ada/regatta/config.yml"));
        assert_eq!(places.ledger(), Path::new("/home/ada/.local/share/regatta/ledger.db"));
        assert_eq!(places.logs(), Path::new("/home/ada/.local/state/regatta/logs"));
        assert_eq!(places.runtime(), Path::new("/run/user/1/regatta"));
    }

    #[test]
    fn a_home_of_its_own_holds_everything() {
        let places = resolve(&[("REGATTA_HOME", "/r"), ("XDG_DATA_HOME", "/x")]).unwrap();
        let run = "r7k3f".parse().unwrap();
        let found = [places.config_file(), places.ledger(), places.log(&run), places.stores()];
        let expected = [
            "/r/config/config.yml",
            "/r/data/ledger.db",
            "/r/state/logs/r7k3f.log",
            "/r/data/stores",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
        assert_eq!(places.home(), None);
    }

    #[test]
    fn workspaces_can_be_elsewhere() {
        let places = resolve(&[("HOME", "/h")]).unwrap();
        let moved = places.clone().with_workspaces(Some(PathBuf::from("/fast")));
        assert_eq!(moved.workspaces(), Path::new("/fast"));
        assert_eq!(moved.stores(), places.stores());
        assert_eq!(moved.with_workspaces(None), places);
    }

    #[test]
    fn without_any_home_the_message_says_what_to_set() {
        let error = resolve(&[]).unwrap_err();
        assert!(error.to_string().contains("set HOME or REGATTA_HOME"), "{error}");
        assert!(resolve(&[("HOME", "")]).is_err());
        let error = resolve(&[("HOME", "/h"), ("REGATTA_HOME", "x")]).unwrap_err();
        assert_eq!(error.to_string(), "REGATTA_HOME must be an absolute path, not `x`");
        let all = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"].map(|name| (name, "/x"));
        assert!(resolve(&all).is_ok(), "HOME is not needed then");
    }
}
