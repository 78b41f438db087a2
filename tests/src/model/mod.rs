//! A model to talk to: a real HTTP server on the loopback that speaks four APIs, says what a script
//! tells it, and holds every request against what a strict provider would accept.

mod answer;
mod asked;
mod audit;
mod cache;
mod connection;
mod gemini;
mod messages;
mod quota;
mod respond;
mod responses;
mod schema_rules;
mod script;
mod server;
mod stated_limits;
mod stream;
mod talk;
mod validator;
mod wire;

pub use answer::{Answer, Call, Cut, Said, Tokens};
pub use asked::Asked;
pub use script::{Script, marker, steps};
pub use server::{Checks, LoopbackModel, Pace};
pub use wire::Wire;
