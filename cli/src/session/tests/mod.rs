//! Sessions of an engine in this process with real providers, session files and commands.

mod aborts;
mod damaged_histories;
mod engine;
