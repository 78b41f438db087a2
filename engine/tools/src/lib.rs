//! What a model may call: one file per tool, and the table of them.

mod arguments;
mod artifacts;
mod bash;
mod builtin;
mod builtins;
mod declared;
mod desk;
mod edit;
mod limits;
mod plain;
mod read;
mod rehearsal;
mod set;
mod shown;
mod table;
mod tree;
mod trouble;
mod write;
mod yielding;

pub use builtins::Builtins;

#[cfg(test)]
mod stage;
