//! Workspaces, what they are made of, and what is left of them.

mod dirty;
pub(super) mod disk;
mod frozen;
mod gc;
mod gc_faults;
mod gc_kit;
mod hostile;
mod mcp;
mod pool;
mod private;
mod reflink;
mod trust;
mod trust_canaries;
