//! The provider that plays scripts: models that say what a file has them say, for rehearsals.

mod check;
mod file;
mod memory;
mod play;
mod provider;
mod script;
mod template;
mod theatre;

pub(crate) use theatre::Theatre;
