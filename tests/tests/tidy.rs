//! The rules of the engine that a compiler does not know.

mod clocks;
mod compiled_once;
mod cycles;
mod depth;
mod flows;
mod fronts;
mod jobs;
mod layers;
mod library;
mod names;
mod paper;
mod prose;
mod sources;
mod workspace;
