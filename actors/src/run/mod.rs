//! The actor of one run.

mod actor;
mod commit_subjects;
mod landing;
mod landing_ports;
mod messages;
mod open_questions;
mod publishing;
mod questions;
mod state;
mod steps;
mod times;
mod verifier;

pub(crate) use actor::Run;
pub(crate) use messages::{RunArguments, RunMessage, RunRequest, ScheduleRequest};
