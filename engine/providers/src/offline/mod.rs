//! The provider that plays scripts: models that say what a file has them say, for rehearsals.

mod check;
mod file;
mod play;
mod provider;
mod scenarios;
mod script;
mod template;
mod variables;

pub(crate) use scenarios::Scenarios;
