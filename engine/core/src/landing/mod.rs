//! The landing of captured work: what lands, and the steps from the request to the recorded report.
//! The end of a run and the commands that land kept work later share this code.

mod commit_subject;
mod land;
mod model_subject;

pub use commit_subject::commit_message;
pub use land::{
    LandingBackend, LandingEnd, LedgerWriter, changed_predecessors, failed_landing_report, land,
    landed_predecessors, landed_tasks, landing_request, landing_request_of, landing_target,
    landing_tasks,
};
pub use model_subject::{
    CHANGE_LIMIT, SUBJECT_SYSTEM, checked_subject, subject_prompt, with_subject,
};
