//! What was said and done in a session, for a person to read.

mod call;
mod pieces;
mod text;
mod write;

pub use text::visible_line;
pub use write::transcript;
