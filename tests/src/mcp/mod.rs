//! MCP servers, well-behaved and hostile: on the standard streams of a process, and over HTTP.

mod answers;
mod http;
mod stdio;

pub use answers::{Answers, Revision};
pub use http::{HttpBehaviour, HttpMcpServer, HttpRequest};
pub use stdio::{StdioBehaviour, serve_stdio};
