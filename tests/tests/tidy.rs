//! The rules of the house that a compiler does not know.

mod layers;
mod paper;
mod sources;
mod workspace;
