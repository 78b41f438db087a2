//! The user's repository: opened, checked for everything we will not work on, and read afresh by
//! whoever needs it.

mod check;
mod open;
mod refusal;
mod special;
#[cfg(test)]
mod tests;

pub(crate) use open::Repo;
