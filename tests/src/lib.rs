//! Stand-ins for the outside world, and a place to drive the built binary in.

pub mod fakes;
pub mod sandbox;
