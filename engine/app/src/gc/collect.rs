//! Removes old work of all repositories: what stays is written durably first, then the ledger has the
//! removal, and only then anything is removed. A kill in between is completed by the next call.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::DataPaths;
use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{Clock, LedgerStore};
use isolation::{IsolationPaths, OpenedStore, StoreContents, StoreRetention};
use protocol::{LedgerEntry, RunName};
use store::Reader;

use super::files::{self, RunFiles};
use super::plan::{Ages, RepositoryPlan};
use super::report::{GcReport, RepositoryReport};
use super::size::{choose, freed_of_store, young_runs};
use crate::app_context::{AppContext, isolation_places};
use crate::error::{Error, ErrorKind};

/// Whether a command does its work, or only prints what it would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// The command does its work.
    Real,
    /// `--dry-run`: the command only prints what it would do.
    DryRun,
}

/// How often work is removed because of its size. Each time, the sizes that are left are measured.
const ROUNDS: usize = 8;

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// The age from which on work is removed.
    pub older_than: Duration,
    /// The size down to which younger work is removed, in bytes.
    pub keep_size: Option<u64>,
}

/// Removes old work.
pub struct Collector {
    places: DataPaths,
    isolation: IsolationPaths,
    ledger: Arc<dyn LedgerStore>,
    reader: Reader,
    clock: Arc<dyn Clock>,
    faults: Faults,
    retention: Retention,
    execution: Execution,
}

impl Collector {
    /// Returns a collector for the data of this user.
    #[must_use]
    pub fn of(app: &AppContext, retention: Retention, execution: Execution) -> Self {
        Self {
            places: app.places.clone(),
            isolation: isolation_places(&app.places),
            ledger: Arc::clone(&app.ledger) as Arc<_>,
            reader: app.ledger.reader(),
            clock: Arc::clone(&app.clock),
            faults: app.faults.clone(),
            retention,
            execution,
        }
    }

    /// Removes old work of all repositories, or of `only` one. A repository whose work cannot be
    /// inspected keeps all of it, and is reported with the error.
    ///
    /// # Errors
    /// The ledger or the folders of files cannot be read.
    pub async fn collect(&self, only: Option<&Path>) -> Result<GcReport, Error> {
        let mut roots = self.reader.repositories()?;
        roots.retain(|root| only.is_none_or(|only| only == root));
        let mut report = GcReport::new(self.execution, self.retention);
        report.bytes_before = self.bytes(&roots)?;
        self.round(&roots, &BTreeSet::new(), &mut report).await?;
        let mut any_age = BTreeSet::new();
        for _round in 0..ROUNDS {
            let Some(limit) = self.retention.keep_size else { break };
            let excess = match self.execution {
                Execution::Real => self.bytes(&roots)?,
                Execution::DryRun => {
                    report.bytes_before - report.freed_bytes().min(report.bytes_before)
                }
            };
            let excess = excess.saturating_sub(limit);
            let chosen = choose(self.young(&roots, &any_age)?, excess);
            if chosen.is_empty() {
                break;
            }
            any_age.extend(chosen);
            self.round(&roots, &any_age, &mut report).await?;
            if self.execution == Execution::DryRun {
                break;
            }
        }
        self.find_unknown(only, &roots, &mut report)?;
        report.bytes_after = match self.execution {
            Execution::Real => Some(self.bytes(&roots)?),
            Execution::DryRun => None,
        };
        Ok(report)
    }

    async fn round(
        &self,
        roots: &[PathBuf],
        any_age: &BTreeSet<RunName>,
        report: &mut GcReport,
    ) -> Result<(), Error> {
        let files = self.files()?;
        for root in roots {
            match self.collect_one(root, &files, any_age).await {
                Ok(one) => report.add(one),
                Err(error) => report.fail(root, error),
            }
        }
        Ok(())
    }

    async fn collect_one(
        &self,
        root: &Path,
        files: &RunFiles,
        any_age: &BTreeSet<RunName>,
    ) -> Result<RepositoryReport, Error> {
        let opened = match self.execution {
            Execution::Real => {
                StoreRetention::remove_ended_folders(root, &self.isolation)?;
                StoreRetention::lock(root, &self.isolation, &self.faults)?
            }
            Execution::DryRun => StoreRetention::look(root, &self.isolation)?,
        };
        let in_use = |why: &str| Ok(RepositoryReport::in_use(root, why));
        let store = match opened {
            OpenedStore::Opened(store) => Some(store),
            OpenedStore::Missing => None,
            OpenedStore::Collecting => return in_use("another `regatta gc` is clearing it"),
            OpenedStore::Busy => return in_use("other processes are using its task store"),
        };
        let contents = match &store {
            Some(store) => store.contents()?,
            None => StoreContents::default(),
        };
        let plan = self.plan(root, &contents, files, any_age)?;
        let mut report = RepositoryReport::of(&plan, &contents);
        if self.execution == Execution::DryRun {
            if let Some(store) = &store {
                report.store_bytes_freed = freed_of_store(&plan, store, contents.bytes)?;
            }
            return Ok(report);
        }
        let removal = plan.removal();
        let prepared =
            store.as_ref().map(|store| store.prepare(&removal, &contents)).transpose()?;
        self.record(&plan).await?;
        if let (Some(store), Some(prepared)) = (&store, &prepared) {
            report.store_bytes_after = Some(store.remove(&removal, prepared)?);
        }
        self.remove_files(&plan).map_err(|error| file_error("remove old files", &error))?;
        Ok(report)
    }

    fn plan(
        &self,
        root: &Path,
        contents: &StoreContents,
        files: &RunFiles,
        any_age: &BTreeSet<RunName>,
    ) -> Result<RepositoryPlan, Error> {
        let ages = Ages {
            now: self.clock.now(),
            older_than: self.retention.older_than,
            any_age: any_age.clone(),
        };
        Ok(RepositoryPlan::of(&self.reader, root.to_path_buf(), (contents, files), &ages)?)
    }

    /// Records the removal, before anything is removed: the ledger never offers what is gone.
    async fn record(&self, plan: &RepositoryPlan) -> Result<(), Error> {
        let tasks = plan.unrecorded();
        if tasks.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        let entries = tasks.into_iter().map(|task| (now, LedgerEntry::TaskCollected { task }));
        Ok(self.ledger.append(entries.collect()).await?)
    }

    fn remove_files(&self, plan: &RepositoryPlan) -> std::io::Result<()> {
        for run in &plan.runs {
            let gone = run.tasks.iter().filter(|task| task.decision.is_ok());
            let gone: Vec<_> = gone.filter(|task| task.output.is_some()).collect();
            if !gone.is_empty() {
                failpoint!(self.faults, "gc.files")?;
                let gone = gone.into_iter().map(|task| &task.name);
                files::remove_outputs(&self.places, &run.name, gone)?;
            }
            if run.is_whole {
                files::remove_log(&self.places, &run.name)?;
            }
        }
        Ok(())
    }

    /// Returns the runs whose work only its age keeps.
    fn young(
        &self,
        roots: &[PathBuf],
        any_age: &BTreeSet<RunName>,
    ) -> Result<Vec<super::size::YoungRun>, Error> {
        let files = self.files()?;
        let mut young = Vec::new();
        for root in roots {
            // A store that cannot be read is reported already.
            let Ok(opened) = StoreRetention::look(root, &self.isolation) else { continue };
            let store = match opened {
                OpenedStore::Opened(store) => Some(store),
                OpenedStore::Missing | OpenedStore::Collecting | OpenedStore::Busy => None,
            };
            let contents = store.as_ref().map(|store| store.contents()).transpose();
            let Ok(contents) = contents else { continue };
            let contents = contents.unwrap_or_default();
            let plan = self.plan(root, &contents, &files, any_age)?;
            let store = store.as_deref().map(|store| (store, contents.bytes));
            if let Ok(found) = young_runs(&plan, store) {
                young.extend(found);
            }
        }
        Ok(young)
    }

    /// Finds the runs with files, and the task stores, that no repository in the ledger has.
    fn find_unknown(
        &self,
        only: Option<&Path>,
        roots: &[PathBuf],
        report: &mut GcReport,
    ) -> Result<(), Error> {
        if only.is_some() {
            return Ok(());
        }
        let mut known = BTreeSet::new();
        for root in roots {
            known.extend(self.reader.run_names(root)?);
        }
        let files = self.files()?;
        report.unknown_runs =
            files.runs().into_iter().filter(|run| !known.contains(*run)).cloned().collect();
        Ok(())
    }

    fn files(&self) -> Result<RunFiles, Error> {
        let found = RunFiles::find(&self.places);
        found.map_err(|error| file_error("look for the files of runs", &error))
    }

    /// Returns the size of all stores and files together, in bytes.
    fn bytes(&self, roots: &[PathBuf]) -> Result<u64, Error> {
        let mut bytes = self.files()?.bytes();
        for root in roots {
            // A store that cannot be read is reported with what is to be removed from it.
            bytes += StoreRetention::bytes(root, &self.isolation).unwrap_or(0);
        }
        Ok(bytes)
    }
}

fn file_error(what: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Machine, format!("cannot {what}")).caused_by(error)
}
