//! Rules of the engine, and actors on fakes.

mod actors;
mod adding;
mod agents;
mod deadlines;
mod gates;
mod isolation;
mod opening;
mod panics;
mod side_by_side;
mod tidy;
