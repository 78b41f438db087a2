//! The commands: one file each, and what they share.

pub mod apply;
mod apply_output;
pub mod conflicts;
pub mod context;
pub mod demo;
pub mod diff;
pub mod discard;
pub mod dispatch;
#[cfg(test)]
mod fake_captures;
#[cfg(test)]
mod fake_repository;
pub mod gc;
pub mod help;
mod kept_work;
mod landable_work;
mod landed_work;
mod landing_notices;
pub mod login;
mod login_oauth;
pub mod logs;
pub mod manual;
pub mod models;
mod models_refresh;
mod programs;
mod resolve_run;
mod resolver_agent;
mod resolver_workspace;
pub mod results;
pub mod retry;
pub mod run;
mod run_document;
pub mod runs;
pub mod schema;
mod settle;
mod settle_branch;
mod settle_choices;
mod setup_logs;
pub mod show;
mod side_bytes;
mod side_check;
mod side_program;
mod target;
mod timing;
pub mod undo;
mod undo_output;
mod verify_logs;
