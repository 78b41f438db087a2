//! A session on the command line: its prompts, its model and folder, and how its answer is printed.

#[cfg(feature = "tui")]
mod approvals;
#[cfg(feature = "tui")]
mod conversation_ports;
#[cfg(feature = "tui")]
mod earlier;
mod log_choice;
mod log_question;
mod mentions;
mod prompt_parts;
#[cfg(feature = "tui")]
mod session_tree;
mod setup;
mod standard_input;
#[cfg(feature = "tui")]
mod switch;
#[cfg(test)]
mod tests;

#[cfg(feature = "tui")]
pub(crate) use approvals::SessionApprovals;
#[cfg(feature = "tui")]
pub(crate) use conversation_ports::SessionPorts;
#[cfg(feature = "tui")]
pub(crate) use earlier::earlier;
pub(crate) use log_choice::{choose, sessions_in};
pub(crate) use log_question::{can_choose, has_person, is_confirmed, pick};
pub(crate) use mentions::Mentions;
pub(crate) use prompt_parts::prompt_parts;
pub(crate) use setup::{SessionPlace, SessionPlan, plan_with, usable_model};
pub(crate) use standard_input::{PipedRole, may_be_piped, read_piped};
#[cfg(feature = "tui")]
pub(crate) use switch::SessionSwitch;
