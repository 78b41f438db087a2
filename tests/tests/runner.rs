//! Rules of the engine, and actors on fakes.

mod actors;
mod agents;
mod deadlines;
mod gates;
mod isolation;
mod opening;
mod panics;
mod tidy;
