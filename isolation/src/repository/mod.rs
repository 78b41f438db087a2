//! The user's repository: opening it, and checking that it is in a state that can be worked on.

mod notices;
mod open;
mod refusals;
#[cfg(test)]
mod tests;

pub(crate) use open::Repo;
pub use open::git_state_at;
