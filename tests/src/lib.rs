//! Stand-ins for the outside world, a model among them, and a place to drive the built binary in.

pub mod fakes;
pub mod model;
pub mod sandbox;
