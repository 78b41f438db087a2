//! Stand-ins for the outside world, a model among them, a place to drive the built binary in, and
//! fuzzers that drive it there.

pub mod fakes;
pub mod fuzz;
pub mod model;
pub mod sandbox;
