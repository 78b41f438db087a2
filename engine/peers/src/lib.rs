//! Servers of the Model Context Protocol: implements the engine's port for them on the SDK `rmcp`.

mod connector;

pub use connector::Connector;
