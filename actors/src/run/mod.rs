//! One run: carries out what its machine asks for.

mod actor;
mod landing;
mod message;
mod state;

pub(crate) use actor::Run;
pub(crate) use message::{RunArguments, RunMessage, RunRequest, ScheduleRequest};
