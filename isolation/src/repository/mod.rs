//! The user's repository: opened, checked for everything we will not work on, and read afresh by
//! whoever needs it.

mod notices;
mod open;
mod refusals;
#[cfg(test)]
mod tests;

pub(crate) use open::Repo;
