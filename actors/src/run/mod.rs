//! The actor of one run.

mod actor;
mod landing_ports;
mod messages;
mod state;
mod times;

pub(crate) use actor::Run;
pub(crate) use messages::{RunArguments, RunMessage, RunRequest, ScheduleRequest};
