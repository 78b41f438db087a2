//! Landing captured work: what backend, and how a landing goes from its request to its report. A run
//! that ends and a person who asks for kept work use the same.

mod land;

pub use land::{
    LandingBackend, LandingEnd, LedgerWriter, changed_predecessors, land, landing_request,
    landing_tasks, unwritten,
};
