//! Estimates what an answer used whose provider does not count it: limits hold for it too.

use protocol::Usage;

/// How many bytes a token has, about.
const BYTES: usize = 4;

/// Returns how many tokens so many bytes are, about.
pub(crate) fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES)).unwrap_or(u64::MAX)
}

/// Returns what was used, about, when so many bytes were read and written. What that cost is not
/// known.
pub(crate) fn usage(read: usize, written: usize) -> Usage {
    Usage { input: tokens(read), output: tokens(written), cost: None, ..Usage::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_are_a_token_whose_cost_is_not_known() {
        let expected = Usage { input: 250, output: 1, cache_read: 0, cache_write: 0, cost: None };
        assert_eq!(usage(1000, 1), expected);
        assert_eq!(usage(usize::MAX, 0).input, 1 << 62);
    }
}
