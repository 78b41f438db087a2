//! The port: what the engine asks of isolation, done on threads that may block.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use engine::fault::Faults;
use engine::ports::{
    Baseline, FreezeRequest, Isolation, IsolationError, LandingNews, LandingRequest, Notice,
    Recovered, Repository, RepositoryFacts, Withdrawal, Workspace, WorkspaceRequest,
};
use protocol::{Captured, IsolationMode, LandingReport};

use crate::baseline::Frozen;
use crate::error::{Result, cannot};
use crate::places::{Places, RepoPlaces};
use crate::repository::Repo;
use crate::workspace::Manifest;
use crate::{capture, landing, sweep, workspace};

#[cfg(test)]
mod tests;

/// Isolation by workspaces that are copies of the working tree.
pub struct Worktrees {
    places: Places,
    faults: Faults,
}

impl Worktrees {
    /// Keeps what it makes at `places`.
    #[must_use]
    pub fn new(places: Places, faults: Faults) -> Self {
        Self { places, faults }
    }
}

#[async_trait]
impl Isolation for Worktrees {
    async fn open(&self, at: &Path) -> Result<Arc<dyn Repository>> {
        let at: PathBuf = at.to_path_buf();
        let repo = blocking(move || Repo::open(&at)).await?;
        let facts = RepositoryFacts {
            root: repo.root.clone(),
            subfolder: repo.subfolder.clone(),
            notices: repo.notices.clone(),
        };
        let places = self.places.of(&repo.root);
        let opened = Opened { repo, places, faults: self.faults.clone() };
        Ok(Arc::new(OpenedRepository { facts, opened: Arc::new(opened) }))
    }
}

/// What every request to a repository needs.
struct Opened {
    repo: Repo,
    places: RepoPlaces,
    faults: Faults,
}

struct OpenedRepository {
    facts: RepositoryFacts,
    opened: Arc<Opened>,
}

#[async_trait]
impl Repository for OpenedRepository {
    fn facts(&self) -> &RepositoryFacts {
        &self.facts
    }

    async fn recover(&self) -> Result<Recovered> {
        let opened = Arc::clone(&self.opened);
        blocking(move || {
            let Opened { repo, places, faults } = opened.as_ref();
            // Landings first: what they hold of the user's tree is what workspaces lean on.
            let rescued = RefCell::new(Vec::new());
            let news = |news| {
                if let LandingNews::Rescued(rescue) = news {
                    rescued.borrow_mut().push(rescue);
                }
            };
            let mut landings = landing::recover(repo, places, faults, &news)?;
            let swept = sweep::sweep(repo, places, faults)?;
            // An engine may have died after its landing and before anybody was told of it.
            for run in &swept.dead {
                if !landings.iter().any(|(recovered, _)| recovered == run) {
                    let reports = landing::reports(places, run)?;
                    landings.extend(reports.into_iter().map(|report| (run.clone(), report)));
                }
            }
            let rescued = rescued.into_inner();
            Ok(Recovered { landings, tasks: swept.tasks, dead: swept.dead, rescued })
        })
        .await
    }

    async fn freeze(&self, request: FreezeRequest) -> Result<Arc<dyn Baseline>> {
        let opened = Arc::clone(&self.opened);
        let frozen = blocking(move || {
            let Opened { repo, places, faults } = opened.as_ref();
            Frozen::freeze(repo, places, faults, &request)
        })
        .await?;
        Ok(Arc::new(FrozenBaseline { frozen: Arc::new(frozen) }))
    }

    async fn land(
        &self,
        request: LandingRequest,
        withdrawal: Withdrawal,
        news: Arc<dyn Fn(LandingNews) + Send + Sync>,
    ) -> Result<LandingReport> {
        let opened = Arc::clone(&self.opened);
        blocking(move || {
            let Opened { repo, places, faults } = opened.as_ref();
            landing::land(repo, places, faults, request, &withdrawal, news.as_ref())
        })
        .await
    }

    async fn rehearse(&self, request: LandingRequest) -> Result<LandingReport> {
        let opened = Arc::clone(&self.opened);
        blocking(move || {
            let Opened { repo, places, faults } = opened.as_ref();
            landing::rehearse(repo, places, faults, &request)
        })
        .await
    }
}

struct FrozenBaseline {
    frozen: Arc<Frozen>,
}

#[async_trait]
impl Baseline for FrozenBaseline {
    fn notices(&self) -> &[Notice] {
        &self.frozen.notices
    }

    async fn prepare(&self, request: WorkspaceRequest) -> Result<Workspace> {
        let frozen = Arc::clone(&self.frozen);
        blocking(move || workspace::prepare(&frozen, &request)).await
    }

    async fn capture(&self, workspace: &Workspace) -> Result<Option<Captured>> {
        if self.frozen.mode == IsolationMode::None {
            return Ok(None);
        }
        let frozen = Arc::clone(&self.frozen);
        let folder = workspace.folder.clone();
        blocking(move || {
            workspace::must_be_there(&folder)?;
            let manifest = Manifest::read(&folder)?.ok_or_else(|| {
                cannot(format!("capture {}", folder.display()), "its manifest is gone")
            })?;
            capture::capture(&frozen, &folder, &manifest).map(Some)
        })
        .await
    }

    async fn discard(&self, workspace: &Workspace) -> Result<()> {
        if self.frozen.mode == IsolationMode::None {
            return Ok(());
        }
        let frozen = Arc::clone(&self.frozen);
        let folder = workspace.folder.clone();
        blocking(move || workspace::discard(&folder, &frozen.faults)).await
    }

    async fn close(&self) -> Result<()> {
        let frozen = Arc::clone(&self.frozen);
        blocking(move || frozen.close()).await
    }
}

/// Runs what blocks where it may. A panic there is an error here: one task's, not the house's.
async fn blocking<T: Send + 'static>(
    step: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(step).await {
        Ok(end) => end,
        Err(error) => Err(IsolationError::Failed {
            what: "finish a step of isolation".to_owned(),
            source: Box::new(error),
        }),
    }
}
