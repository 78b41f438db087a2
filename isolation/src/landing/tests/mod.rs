//! Landing in real repositories, made and judged by the git program.

mod apart;
mod encodings;
mod failures;
mod kills;
mod kinds;
pub(crate) mod kit;
mod races;
mod savers;
mod sparse;
mod swaps;
mod writers;
