//! Deterministic jitter: sessions that were turned away together do not come back together.

use std::time::Duration;

use protocol::SessionId;

/// How many different delays there are within a span.
const STEPS: u32 = 1024;

/// Returns a delay within `span`, in whole milliseconds: for one session and attempt always the
/// same, and unlike those of others.
pub(super) fn jitter(span: Duration, session: SessionId, attempt: u32) -> Duration {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in session.as_bytes().iter().chain(&attempt.to_le_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // The last bytes have reached few of the bits yet.
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let at = mixed >> 54;
    let millis = span.as_millis() * u128::from(at) / u128::from(STEPS);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_jitter_of_one_session_stays_the_same_and_that_of_many_is_all_over_the_span() {
        let session: SessionId = "session_0190a7c0de7b7c10a51f2b3c4d5e6f70".parse().unwrap();
        let span = Duration::from_secs(10);
        let delays: Vec<_> =
            (1..=3).map(|attempt| jitter(span, session, attempt).as_millis()).collect();
        assert_eq!(delays, [2949, 4003, 4169]);
        assert_eq!(jitter(Duration::ZERO, session, 1), Duration::ZERO);
        for attempt in 1..=3 {
            let many = (0..400).map(|_| jitter(span, SessionId::generate(), attempt).as_secs());
            assert_eq!(many.collect::<BTreeSet<_>>(), (0..10).collect());
        }
    }
}
