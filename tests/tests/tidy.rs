//! The rules of the engine that a compiler does not know.

mod layers;
mod paper;
mod sources;
mod workspace;
