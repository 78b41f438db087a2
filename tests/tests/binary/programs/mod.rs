//! Programs that are not ours, the README, and archives of a release.

mod archives;
mod demo;
mod npm_workers;
mod readme;
mod readme_commands;
mod registry_crate;
