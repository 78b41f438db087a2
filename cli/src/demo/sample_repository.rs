//! Makes the sample repository of the demo, and the specification of the run that works on it.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use engine::ports::IsolationError;
use protocol::{
    Agent, ChangeDemand, IsolationMode, MergeMode, ModelRoute, OnFailure, RunId, RunSpec, TaskId,
    TaskLimits, TaskSpec, VerifySpec, Work, WorkspaceNeeds,
};
use tempfile::TempDir;

use super::scenario::{prompt, scenario, schema};
use super::tickets::{TICKETS, Ticket};

/// How many tasks run at the same time. There are enough to show that tasks run in parallel.
const JOBS: NonZeroUsize = NonZeroUsize::new(4).expect("four is not zero");

/// The name of the scenario file, which is beside the repository.
const SCENARIO: &str = "scenario.toml";

/// A sample repository, with a `REGATTA_HOME` folder of its own beside it.
#[derive(Debug)]
pub struct Sample {
    lifetime: Lifetime,
    root: PathBuf,
    home: PathBuf,
    model: ModelRoute,
    nonces: Vec<String>,
}

/// How long a sample exists.
#[derive(Debug)]
enum Lifetime {
    /// Until it is dropped.
    Temporary(TempDir),
    /// For good, in a folder that the user named.
    Kept,
}

/// Why a sample could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The folder is not empty.
    #[error("cannot make the sample in {}: it is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// The folder cannot be created or read.
    #[error("cannot make the folder {} for the sample", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The repository cannot be made.
    #[error(transparent)]
    Repository(#[from] IsolationError),
}

impl Sample {
    /// Makes a sample that is removed when it is dropped.
    ///
    /// # Errors
    /// See [`SampleError`].
    pub fn temporary() -> Result<Self, SampleError> {
        let folder = tempfile::Builder::new().prefix("regatta-demo-").tempdir();
        let folder = folder.map_err(|source| folder_error(&std::env::temp_dir(), source))?;
        let path = folder.path().to_owned();
        Self::make(&path, Lifetime::Temporary(folder))
    }

    /// Makes a sample in `folder`, which is made or must be empty, and leaves it there.
    ///
    /// # Errors
    /// See [`SampleError`].
    pub fn kept(folder: &Path) -> Result<Self, SampleError> {
        std::fs::create_dir_all(folder).map_err(|source| folder_error(folder, source))?;
        let mut entries = folder.read_dir().map_err(|source| folder_error(folder, source))?;
        if entries.next().is_some() {
            return Err(SampleError::NotEmpty(folder.to_owned()));
        }
        Self::make(folder, Lifetime::Kept)
    }

    fn make(folder: &Path, lifetime: Lifetime) -> Result<Self, SampleError> {
        let folder = folder.canonicalize().map_err(|source| folder_error(folder, source))?;
        let (root, home) = (folder.join("sample"), folder.join("home"));
        std::fs::create_dir(&root).map_err(|source| folder_error(&root, source))?;
        let nonces: Vec<_> = (1..=TICKETS.len()).map(nonce).collect();
        isolation::sample::init(&root, &files(&nonces), "Open the harbour")?;
        let script = folder.join(SCENARIO);
        std::fs::write(&script, scenario()).map_err(|source| folder_error(&script, source))?;
        let model = ModelRoute {
            provider: "offline".to_owned(),
            id: script.to_string_lossy().into_owned(),
            base_url: None,
            thinking: None,
        };
        Ok(Self { lifetime, root, home, model, nonces })
    }

    /// Removes a temporary sample.
    ///
    /// # Errors
    /// The folder could not be removed.
    pub fn close(self) -> std::io::Result<()> {
        match self.lifetime {
            Lifetime::Temporary(folder) => folder.close(),
            Lifetime::Kept => Ok(()),
        }
    }

    /// Returns the root of the repository.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the `REGATTA_HOME` of the demo.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns whether the sample will be there when the demo is over.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        matches!(self.lifetime, Lifetime::Kept)
    }

    /// Returns each ticket with its unique number, in the order of `TICKETS`.
    pub fn tickets(&self) -> impl Iterator<Item = (&'static Ticket, &str)> {
        TICKETS.iter().zip(self.nonces.iter().map(String::as_str))
    }

    /// Returns the specification of the demo's run.
    #[must_use]
    pub fn run(&self) -> RunSpec {
        RunSpec {
            id: RunId::generate(),
            label: Some("demo".to_owned()),
            repo: self.root.clone(),
            subfolder: PathBuf::new(),
            tasks: TICKETS.iter().map(|ticket| self.task(ticket)).collect(),
            jobs: JOBS,
            isolation: IsolationMode::Worktree,
            merge: MergeMode::Patch,
            stack: None,
            land: protocol::LandTime::End,
            on_failure: OnFailure::Continue,
            union: Vec::new(),
            branch_prefix: "regatta".to_owned(),
            untracked_limit: 1 << 20,
            pass_env: Vec::new(),
            needs: WorkspaceNeeds::default(),
            verify: VerifySpec::default(),
            commits: protocol::CommitSubjects::default(),
            group: None,
            retry: None,
            caller: None,
        }
    }

    fn task(&self, ticket: &Ticket) -> TaskSpec {
        let (model, prompt) = (self.model.clone(), prompt(ticket));
        TaskSpec {
            id: TaskId::generate(),
            name: ticket.name.parse().expect("the names of the demo's tasks are valid"),
            title: ticket.title.to_owned(),
            items: Vec::new(),
            work: Work::from(Agent {
                model,
                prompt,
                fallback: Vec::new(),
                yields: Vec::new(),
                context: None,
                approvals: Default::default(),
                subagent: None,
                servers: Default::default(),
            }),
            depends_on: Vec::new(),
            priority: 0,
            change: ChangeDemand::Required,
            schema: Some(Box::new(schema())),
            limits: TaskLimits::default(),
            needs: protocol::TaskNeeds::default(),
        }
    }
}

fn folder_error(path: &Path, source: std::io::Error) -> SampleError {
    SampleError::Folder { path: path.to_owned(), source }
}

/// Returns a unique number for a ticket: `place`, followed by the random part of a new id in
/// hexadecimal.
fn nonce(place: usize) -> String {
    let id = TaskId::generate();
    let random = id.as_bytes()[8..].iter().map(|byte| format!("{byte:02x}"));
    std::iter::once(place.to_string()).chain(random).collect()
}

/// Returns the files of the sample's first commit.
fn files(nonces: &[String]) -> Vec<(String, String)> {
    const README: &str = "# Harbour\n\nThe books of a small harbour: who comes, who goes, what it \
                          costs.\n\nOpen tickets are in `tickets/`.\n";
    let mut files = vec![("README.md".to_owned(), README.to_owned())];
    for (ticket, nonce) in TICKETS.iter().zip(nonces) {
        let text = format!("# {}\n\nticket: {nonce}\nfile: {}\n", ticket.title, ticket.file);
        files.push((format!("tickets/{}.md", ticket.name), text));
        if let Some(before) = ticket.before {
            files.push((ticket.file.to_owned(), before.to_owned()));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passing_sample_is_gone_when_it_is_dropped() {
        let sample = Sample::temporary().unwrap();
        let root = sample.root().to_owned();
        assert!(root.join(".git").is_dir() && root.join("tickets/auth.md").is_file());
        assert!(!sample.is_kept());
        sample.close().unwrap();
        assert!(!root.exists());
    }

    #[test]
    fn a_kept_sample_stays_and_never_takes_a_folder_that_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("demo");
        Sample::kept(&place).unwrap().close().unwrap();
        assert!(place.join("sample/README.md").is_file());
        assert!(matches!(Sample::kept(&place), Err(SampleError::NotEmpty(_))));
    }

    #[test]
    fn every_number_is_fresh_and_stands_in_its_ticket_only() {
        let (one, two) = (Sample::temporary().unwrap(), Sample::temporary().unwrap());
        let numbers: std::collections::BTreeSet<_> =
            one.tickets().chain(two.tickets()).map(|(_, nonce)| nonce).collect();
        assert_eq!(numbers.len(), 2 * TICKETS.len());
        let run = one.run();
        let asked = serde_json::to_string(&run).unwrap() + &scenario();
        for (ticket, nonce) in one.tickets() {
            assert!(!asked.contains(nonce), "{} could know its number", ticket.name);
            let page = one.root().join(format!("tickets/{}.md", ticket.name));
            assert!(std::fs::read_to_string(page).unwrap().contains(nonce));
        }
        assert_eq!(run.tasks.len(), 8);
    }
}
