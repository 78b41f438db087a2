//! MCP servers: when a server is started, started again and given up, which of its tools a model has and by
//! which names, and where the servers of isolated tasks run.

mod isolated;
mod life;
mod offered;
mod search;
#[cfg(test)]
mod test_definition;
mod tool_names;

pub use isolated::{PlacedServer, ServerOwner, ServerPlace, placed};
pub use life::{ServerEffect, ServerInput, ServerLife, ServerPhase};
pub use offered::{
    Declared, DeferLimits, FIND_TOOLS, OfferedTool, ServerTools, description, offered,
};
pub use search::matching;
pub use tool_names::PREFIX;
