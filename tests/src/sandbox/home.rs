//! What an engine keeps in its home: ledger, task stores, workspaces, journals.

use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value;

use super::Fingerprint;

/// One REGATTA_HOME, looked at from outside.
#[derive(Clone, Debug)]
pub struct Home {
    folder: PathBuf,
}

/// One row of the ledger's tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerTask {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub state: String,
}

impl Home {
    /// Returns the home at `folder`, which need not be there yet.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Returns its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns where data lives in it.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Returns where settings live in it.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.folder.join("config").join("config.yml")
    }

    /// Writes the user's settings.
    pub fn configure(&self, yaml: &str) {
        let file = self.config_file();
        let folder = file.parent().expect("it lies in a folder");
        std::fs::create_dir_all(folder).expect("a folder can be made");
        std::fs::write(file, yaml).expect("a file can be written");
    }

    /// Returns the text of a run's log.
    #[must_use]
    pub fn log(&self, run: &str) -> String {
        let file = self.folder.join("state").join("logs").join(format!("{run}.log"));
        std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    }

    /// Returns what the output of a task was kept as.
    #[must_use]
    pub fn output(&self, run: &str, task: &str) -> Vec<u8> {
        let file = self.data().join("artifacts").join(run).join(task).join("output.log");
        match std::fs::read(&file) {
            // A command that wrote nothing has no file.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read.unwrap_or_else(|e| panic!("{}: {e}", file.display())),
        }
    }

    /// Returns the lines of a task's session log, each a JSON document.
    ///
    /// # Panics
    /// When there is none, or a line that is none; the last may be cut.
    #[must_use]
    pub fn session(&self, run: &str, task: &str) -> Vec<Value> {
        let file = self.data().join("artifacts").join(run).join(task).join("session.jsonl");
        let text = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let lines =
            text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let line = |line| {
            let said = || String::from_utf8_lossy(line).into_owned();
            serde_json::from_slice(line).unwrap_or_else(|e| panic!("{e} in {}", said()))
        };
        lines.map(line).collect()
    }

    /// Returns the messages in a task's session log.
    #[must_use]
    pub fn messages(&self, run: &str, task: &str) -> Vec<Value> {
        let mut entries = self.session(run, task);
        entries.retain(|entry| entry["type"] == "message");
        entries.iter_mut().map(|entry| entry["message"].take()).collect()
    }

    /// Returns the files of the sessions without a task, in the order of their paths.
    #[must_use]
    pub fn session_files(&self) -> Vec<PathBuf> {
        let folder = self.data().join("sessions");
        let all = Fingerprint::of(&folder);
        let is_session = |path: &&Path| path.extension().is_some_and(|it| it == "jsonl");
        let mut files: Vec<_> =
            all.paths().filter(is_session).map(|path| folder.join(path)).collect();
        files.sort();
        files
    }

    /// Returns the folders of workspaces, RUN and TASK below each repository's.
    #[must_use]
    pub fn workspaces(&self) -> Vec<String> {
        let everything = Fingerprint::of(&self.data().join("workspaces"));
        let deep = everything.paths().filter(|path| path.components().count() > 1);
        deep.map(|path| path.display().to_string()).collect()
    }

    /// Returns the task stores, each a bare git repository.
    #[must_use]
    pub fn stores(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.data().join("stores")) else { return Vec::new() };
        let paths = entries.flatten().map(|entry| entry.path());
        paths.filter(|path| path.extension().is_some_and(|end| end == "git")).collect()
    }

    /// Runs git in the only task store and returns what it wrote.
    ///
    /// # Panics
    /// When git fails, or there is not exactly one store.
    #[must_use]
    pub fn store_git(&self, arguments: &[&str]) -> String {
        let stores = self.stores();
        assert_eq!(stores.len(), 1, "one task store: {stores:?}");
        let mut git = Command::new("git");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.arg("--git-dir").arg(&stores[0]).args(arguments).output();
        let output = output.expect("git can be run");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns the names of the captures in the only task store, sorted: `RUN/TASK/ATTEMPT`.
    #[must_use]
    pub fn captures(&self) -> Vec<String> {
        if self.stores().is_empty() {
            return Vec::new();
        }
        let format = "--format=%(refname:lstrip=2)";
        let refs = self.store_git(&["for-each-ref", format, "refs/tasks"]);
        refs.lines().map(str::to_owned).collect()
    }

    /// Returns the text of one file as a capture has it, on the task's side.
    #[must_use]
    pub fn captured(&self, capture: &str, path: &str) -> String {
        self.store_git(&["cat-file", "blob", &format!("refs/tasks/{capture}:task/{path}")])
    }

    /// Asks the ledger; each row becomes what `row` makes of it.
    #[must_use]
    pub fn ledger<T>(&self, query: &str, row: impl Fn(&Row<'_>) -> rusqlite::Result<T>) -> Vec<T> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let file = self.data().join("ledger.db");
        let connection = Connection::open_with_flags(&file, flags).expect("there is a ledger");
        let mut statement = connection.prepare(query).expect("the query fits the ledger");
        let rows = statement.query_map([], |found| row(found)).expect("it can be asked");
        rows.collect::<Result<_, _>>().expect("the rows are what the query says")
    }

    /// Changes the ledger behind the back of the engines, to make one that would take long to come
    /// by.
    ///
    /// # Panics
    /// When the statements do not fit the ledger.
    pub fn change_ledger(&self, statements: &str) {
        let file = self.data().join("ledger.db");
        let connection = Connection::open(&file).expect("there is a ledger");
        connection.execute_batch(statements).expect("the statements fit the ledger");
    }

    /// Returns the tasks in the ledger, by name.
    #[must_use]
    pub fn ledger_tasks(&self) -> Vec<LedgerTask> {
        self.ledger("SELECT name, state FROM task ORDER BY name", |row| {
            Ok(LedgerTask { name: row.get(0)?, state: row.get(1)? })
        })
    }

    /// Returns whether SQLite finds the ledger in order.
    #[must_use]
    pub fn ledger_is_sound(&self) -> bool {
        self.ledger("PRAGMA integrity_check", |row| row.get::<_, String>(0)) == ["ok"]
    }

    /// Returns what should not be there when no engine runs: workspaces, and journals that are not
    /// done.
    #[must_use]
    pub fn leftovers(&self) -> Vec<String> {
        let mut found = self.workspaces();
        let journals = Fingerprint::of(&self.data().join("landings"));
        // What is done is in a folder of its own, and so is what runs began with; what is open ends
        // with how far it came.
        let kept =
            |path: &Path| path.iter().nth(1).is_some_and(|name| name == "done" || name == "lists");
        let open = journals.paths().filter(|path| path.components().count() > 1 && !kept(path));
        found.extend(open.map(|path| format!("landings/{}", path.display())));
        found
    }
}
