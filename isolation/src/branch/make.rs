//! Makes one branch per task.

use engine::ports::LandingRequest;
use protocol::LandingReport;

use crate::error::{Result, cannot};
use crate::repository::Repo;
use crate::store::TaskStore;

/// Makes the branches of `request`.
pub(crate) fn make(
    _repo: &Repo,
    _store: &TaskStore,
    prefix: &str,
    _request: &LandingRequest,
) -> Result<LandingReport> {
    Err(cannot(format!("make branches below {prefix}"), "it is not built yet"))
}
