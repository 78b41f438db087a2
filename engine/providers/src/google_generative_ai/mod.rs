//! Google's Generative Language API, which Gemini models speak.

mod models;
mod request;
mod stream;

pub(crate) use request::request;
pub(crate) use stream::CandidateParser;
