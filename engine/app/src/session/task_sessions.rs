//! Finds the sessions of tasks. They are printed and copied, and never continued: each belongs to its run.

use std::path::PathBuf;

use config::DataPaths;
use protocol::{SessionId, TaskId};
use store::{Reader, RunRow, list_all_sessions};

use crate::error::Error;

/// The session of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSession {
    /// The run and the task, as commands take them.
    pub task: String,
    /// Its log.
    pub log: PathBuf,
}

impl TaskSession {
    /// Returns the session that `given` means: `RUN/TASK`, the id of the task, or that of its session.
    /// `None` if there is none, or if the ledger cannot be read.
    pub fn find(places: &DataPaths, reader: &Reader, given: &str) -> Option<Self> {
        let of = |run: RunRow, task: &str| {
            let task = reader.find_task(run.id, task).ok()?;
            let log = places.session_log(&run.name, &task.name);
            log.is_file().then(|| Self { task: format!("{}/{}", run.name, task.name), log })
        };
        let of_task = match given.split_once('/') {
            // These would be the latest run of any repository.
            Some(("" | "@", _)) => None,
            Some((run, task)) => reader.find_run(None, run).ok().and_then(|run| of(run, task)),
            None => {
                let run =
                    given.parse::<TaskId>().ok().and_then(|id| reader.run_of_task(id).ok()?);
                run.and_then(|run| of(run, given))
            }
        };
        of_task.or_else(|| Self::with_id(places, given))
    }

    /// Returns the session with this id, if it is one of a task.
    pub fn with_id(places: &DataPaths, given: &str) -> Option<Self> {
        let id = given.parse::<SessionId>().ok()?;
        let runs = std::fs::read_dir(places.all_artifacts()).ok()?;
        runs.flatten().find_map(|run| {
            let sessions = list_all_sessions(&run.path()).ok()?;
            let found = sessions.into_iter().find(|it| SessionId::of_text(&it.id) == id)?;
            let task = found.path.parent()?.file_name()?.to_string_lossy();
            let task = format!("{}/{task}", run.file_name().to_string_lossy());
            Some(Self { task, log: found.path })
        })
    }

    /// Returns the error for a command that would continue the session.
    pub fn refused(&self, given: &str) -> Error {
        Error::usage(format!("session `{given}` is that of task {}", self.task))
            .because("it belongs to its run, and is not continued")
            .hint(format!("regatta --fork {given} … (continues a copy here)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_of_a_task_is_found_by_its_whole_id() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().as_os_str().to_owned();
        let places = DataPaths::resolve(|name| (name == "REGATTA_HOME").then(|| root.clone()));
        let places = places.unwrap();
        let id = SessionId::generate();
        let [run, task] = ["r7k3f", "auth"];
        let log = places.session_log(&run.parse().unwrap(), &task.parse().unwrap());
        std::fs::create_dir_all(log.parent().unwrap()).unwrap();
        let written = serde_json::to_value(id).unwrap();
        let written = written.as_str().unwrap();
        let header = format!(r#"{{"type":"session","version":3,"id":"{written}","cwd":"/a"}}"#);
        std::fs::write(&log, header + "\n").unwrap();
        let found = TaskSession { task: "r7k3f/auth".to_owned(), log };
        for given in [written, &written.to_uppercase(), &id.to_string()] {
            assert_eq!(TaskSession::with_id(&places, given).as_ref(), Some(&found), "{given}");
        }
        for other in [&written[..20], "session", "", &SessionId::generate().to_string()] {
            assert_eq!(TaskSession::with_id(&places, other), None, "{other}");
        }
        let refused = found.refused("x");
        assert_eq!(refused.what, "session `x` is that of task r7k3f/auth");
        assert_eq!(refused.hints, ["regatta --fork x … (continues a copy here)"]);
    }
}
