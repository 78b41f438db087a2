//! What a provider caches: the beginnings of the requests that it has begun to answer.

use std::time::Instant;

use super::{Said, Tokens, Wire};

/// The bytes of a token.
const BYTES_PER_TOKEN: usize = 4;

/// The fewest tokens that are cached.
const LEAST: u64 = 1024;

/// The requests whose beginnings are cached.
#[derive(Default)]
pub(super) struct PromptCache {
    /// Each request, and when the first byte of its answer is sent.
    known: Vec<(Wire, Vec<u8>, Instant)>,
}

impl PromptCache {
    /// Counts what an answer to this request uses, and caches the request.
    pub(super) fn count(&mut self, wire: Wire, body: &[u8], said: &mut Said) {
        let now = Instant::now();
        let known = self.known.iter().filter(|(its, _, from)| *its == wire && *from <= now);
        let longest = known.map(|(_, other, _)| common(body, other)).max().unwrap_or(0);
        let prompt = tokens(body.len());
        let cached = Some(tokens(longest)).filter(|cached| *cached >= LEAST).unwrap_or(0);
        // Only this API has a price for what is written, and says how much that was.
        let written = if wire == Wire::Messages { prompt - cached } else { 0 };
        said.tokens = Tokens { prompt, cached, written, ..said.tokens };
        self.known.push((wire, body.to_vec(), now + said.think));
    }
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes / BYTES_PER_TOKEN).unwrap_or(u64::MAX)
}

/// Returns how many bytes two texts have in common at their beginning.
fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}
