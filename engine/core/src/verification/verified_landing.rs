//! A landing that leaves out the work that its verification has held back.

use std::sync::Arc;

use async_trait::async_trait;
use protocol::{LandingId, LandingReport, RunName, TaskLanding, TaskName};

use crate::landing::{LandingBackend, failed_landing_report};
use crate::ports::{CancelToken, IsolationError, LandingNotice, LandingRequest};

/// Lands through another backend, except for work that is held. The report has all of it, in the
/// order of the request.
pub struct VerifiedLanding<'a> {
    /// What lands the rest.
    pub backend: &'a dyn LandingBackend,
    /// The work that does not land, and why.
    pub held: Vec<TaskLanding>,
}

impl VerifiedLanding<'_> {
    fn held(&self, task: &TaskName) -> Option<&TaskLanding> {
        self.held.iter().find(|held| held.task.folded() == task.folded())
    }
}

#[async_trait]
impl LandingBackend for VerifiedLanding<'_> {
    async fn land(
        &self,
        landing: LandingId,
        request: LandingRequest,
        cancel: CancelToken,
        notify: Arc<dyn Fn(LandingNotice) + Send + Sync>,
    ) -> Result<LandingReport, IsolationError> {
        if self.held.is_empty() {
            return self.backend.land(landing, request, cancel, notify).await;
        }
        let asked: Vec<_> = request.tasks.iter().map(|task| task.task.clone()).collect();
        let mut rest = request;
        rest.tasks.retain(|task| self.held(&task.task).is_none());
        let names: Vec<_> = rest.tasks.iter().map(|task| task.task.clone()).collect();
        let landed = match names.is_empty() {
            true => Ok(LandingReport::default()),
            false => self.backend.land(landing, rest, cancel, notify).await,
        };
        let landed = match landed {
            Err(error @ IsolationError::Withdrawn) => return Err(error),
            Err(error) => failed_landing_report(&names, &error.to_failure().message),
            Ok(report) => report,
        };
        let find = |task: &TaskName| {
            let landed = landed.tasks.iter().find(|landing| landing.task == *task);
            landed.or_else(|| self.held(task)).cloned()
        };
        Ok(LandingReport { tasks: asked.iter().filter_map(find).collect() })
    }

    async fn acknowledge(&self, run: &RunName) {
        self.backend.acknowledge(run).await;
    }
}
