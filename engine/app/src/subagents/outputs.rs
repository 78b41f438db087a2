//! The names and the results of subagents, which are files in the folder of their caller's artifacts:
//! `agent://1-Id` is `1-Id.md`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use engine::ports::{AGENT_SCHEME, SubagentReport};
use protocol::TaskName;
use tokio::task::{JoinError, spawn_blocking};

/// The longest name of a subagent below others, in bytes: a file has it.
const LONGEST_NAME: usize = 200;

/// The longest result that is kept, in bytes.
const LONGEST: usize = 500_000;

/// Numbers the subagents of each caller. Clones share the numbers.
#[derive(Clone, Default)]
pub(super) struct Outputs(Arc<Mutex<BTreeMap<PathBuf, u64>>>);

impl Outputs {
    /// Returns the names of new subagents of the caller with this folder of artifacts: `N-ID`, behind the name
    /// of the caller if it is one itself. N counts on from the results that are there.
    pub(super) async fn reserve(
        &self,
        folder: &Path,
        caller: Option<&str>,
        ids: Vec<String>,
    ) -> Result<Vec<TaskName>, JoinError> {
        let (outputs, folder) = (self.clone(), folder.to_owned());
        let caller = caller.map(str::to_owned);
        let names =
            move || outputs.names(&folder, caller.as_deref(), ids.iter().map(String::as_str));
        spawn_blocking(names).await
    }

    /// Keeps the results of subagents, and returns them.
    pub(super) async fn keep(
        folder: &Path,
        subagents: Vec<SubagentReport>,
    ) -> Result<Vec<SubagentReport>, JoinError> {
        let folder = folder.to_owned();
        let keep = move || {
            for SubagentReport { name, output, .. } in &subagents {
                if let Err(error) = Self::write(&folder, name, output) {
                    tracing::warn!(%error, name, "a result cannot be kept");
                }
            }
            subagents
        };
        spawn_blocking(keep).await
    }

    fn names<'a>(
        &self,
        folder: &Path,
        caller: Option<&str>,
        ids: impl Iterator<Item = &'a str>,
    ) -> Vec<TaskName> {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = next.entry(folder.to_owned()).or_insert_with(|| last_number(folder));
        ids.map(|id| {
            *next += 1;
            let own = TaskName::nearest(&format!("{next}-{id}"));
            let whole = caller.map(|above| format!("{above}.{own}"));
            let whole = whole.filter(|whole| whole.len() <= LONGEST_NAME);
            let name: TaskName = whole.and_then(|whole| whole.parse().ok()).unwrap_or(own);
            // From now on nothing else gets the number, not even if the engine is killed.
            let reserved = Self::write(folder, name.as_str(), "");
            if let Err(error) = reserved {
                tracing::warn!(%error, %name, "the number of a subagent cannot be kept");
            }
            name
        })
        .collect()
    }

    /// Keeps what a subagent has changed and what has not landed, as a patch. Returns its name for the model.
    pub(super) fn write_patch(folder: &Path, name: &str, patch: &[u8]) -> io::Result<String> {
        let name = format!("{name}.patch");
        fs::create_dir_all(folder)?;
        fs::write(folder.join(format!("{name}.md")), patch)?;
        Ok(format!("{AGENT_SCHEME}{name}"))
    }

    /// Keeps the result of a subagent. A longer one loses its beginning.
    fn write(folder: &Path, name: &str, result: &str) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join(format!("{name}.md")), end_of(result, LONGEST))
    }
}

/// Returns the end of a text, in at most so many bytes.
fn end_of(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
    text.get(from.unwrap_or(text.len())..).unwrap_or_default()
}

/// Returns the highest number of a result in this folder; 0 if there is none.
fn last_number(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |name: &str| {
        let (_, last) = name.strip_suffix(".md")?.rsplit_once('.').unwrap_or(("", name));
        last.split_once('-')?.0.parse().ok()
    };
    entries.filter_map(|entry| number(entry.file_name().to_str()?)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use engine::ports::SubagentStatus;
    use rustix::fs::{CWD, mkfifoat};

    use super::*;

    /// Returns what is written to a pipe. Writing waits for this reader, and this reader for the runtime.
    async fn written(pipe: &Path) -> String {
        tokio::task::yield_now().await;
        let pipe = pipe.to_owned();
        spawn_blocking(move || fs::read_to_string(pipe).unwrap()).await.unwrap()
    }

    #[test]
    async fn names_and_results_are_written_off_the_thread_of_the_runtime() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, outputs) = (folder.path(), Outputs::default());
        let first = outputs.reserve(folder, None, vec!["A".to_owned()]).await.unwrap();
        assert_eq!(first[0].as_str(), "1-A");
        let pipe = folder.join("2-B.md");
        mkfifoat(CWD, &pipe, 0o600.into()).unwrap();
        let names = outputs.reserve(folder, None, vec!["B".to_owned()]);
        let (names, reserved) = tokio::join!(names, written(&pipe));
        assert_eq!((names.unwrap()[0].as_str(), reserved.as_str()), ("2-B", ""));
        let report = SubagentReport {
            name: "2-B".to_owned(),
            agent: "task".to_owned(),
            description: None,
            status: SubagentStatus::Completed,
            output: "done".to_owned(),
            error: String::new(),
            task: String::new(),
            changes: None,
            patch: None,
            ms: 1,
            usage: None,
            refused_calls: 0,
            findings: Vec::new(),
        };
        let kept = Outputs::keep(folder, vec![report]);
        let (kept, result) = tokio::join!(kept, written(&pipe));
        assert_eq!((kept.unwrap().len(), result.as_str()), (1, "done"));
    }

    #[test]
    fn subagents_are_numbered_on_from_the_results_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let names = |outputs: &Outputs, caller, ids: &[&str]| -> Vec<String> {
            let names = outputs.names(folder, caller, ids.iter().copied());
            names.iter().map(ToString::to_string).collect()
        };
        let outputs = Outputs::default();
        assert_eq!(names(&outputs, None, &["Fix", "Test"]), ["1-Fix", "2-Test"]);
        assert_eq!(names(&outputs, None, &["Fix"]), ["3-Fix"]);
        let again = names(&Outputs::default(), None, &["Fix"]);
        assert_eq!(again, ["4-Fix"], "also if nothing has ended since");
        assert_eq!(Outputs::write_patch(folder, "4-Fix", b"+").unwrap(), "agent://4-Fix.patch");
        for name in ["1-Fix", "7-Test"] {
            Outputs::write(folder, name, "done").unwrap();
        }
        fs::write(folder.join("9.bash.log"), "").unwrap();
        assert_eq!(names(&Outputs::default(), None, &["Next"]), ["8-Next"]);
        Outputs::write(folder, "1-Fix.12-Deep", &"é".repeat(LONGEST)).unwrap();
        assert_eq!(names(&Outputs::default(), Some("1-Fix"), &["Next"]), ["1-Fix.13-Next"]);
        let kept = fs::read_to_string(folder.join("1-Fix.12-Deep.md")).unwrap();
        assert_eq!(kept.len(), LONGEST);
    }
}
