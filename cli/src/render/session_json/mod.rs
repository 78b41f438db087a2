//! The events of a session as JSON lines with snapshots, as programs that drive pi expect them:
//! `--mode json`. On the bus there are deltas only; here the snapshots are rebuilt from them.

mod partial_answer;
mod partial_json;
mod queue;
mod snapshots;
#[cfg(test)]
mod tests;

pub use snapshots::SessionJson;
