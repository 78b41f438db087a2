//! Estimates the usage of an answer whose provider does not count it: limits hold for it too.

use protocol::Usage;

/// How many bytes a token has, about.
const BYTES: usize = 4;

/// Returns about how many tokens so many bytes are.
#[must_use]
pub fn estimated_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES)).unwrap_or(u64::MAX)
}

/// Returns about what was used when so many bytes were read and written. Its cost is not known.
pub(super) fn estimated_usage(read: usize, written: usize) -> Usage {
    Usage {
        input: estimated_tokens(read),
        output: estimated_tokens(written),
        cost: None,
        ..Usage::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_are_a_token_whose_cost_is_not_known() {
        let expected = Usage { input: 250, output: 1, cache_read: 0, cache_write: 0, cost: None };
        assert_eq!(estimated_usage(1000, 1), expected);
        assert_eq!(estimated_usage(usize::MAX, 0).input, 1 << 62);
    }
}
