//! The MCP servers that files of Regatta and of other programs define, as the files say it: no value is resolved,
//! and nothing is started.

mod edit;
mod entry;
mod file_table;
mod files;
mod jsonc;
mod lines;
mod server;
mod toml_tree;
mod user_file;

pub use entry::{
    EnabledServer, ServerAddress, ServerCatalog, ServerEntry, ServerLevel, ServerPlace,
    ServerProgram, ServerScope, ServerWarning, UrlKind,
};
pub use files::{Sought, discover};
pub use server::check_server;
pub use user_file::{ServerFile, ServerFileError, is_server_name};

#[cfg(test)]
mod tests;
