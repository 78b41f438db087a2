//! The rules of the engine that a compiler does not know.

mod compiled_once;
mod cycles;
mod flows;
mod jobs;
mod layers;
mod names;
mod paper;
mod sleeps;
mod sources;
mod workspace;
