//! The identities of a log's entries: eight hexadecimal digits, unique in their file.

use std::collections::HashSet;

use protocol::SessionId;

/// Gives each entry of one log an identity that no other entry of it has.
#[derive(Debug)]
pub(super) struct Ids {
    seed: u32,
    next: u32,
    taken: HashSet<u32>,
}

impl Ids {
    /// Returns identities for the log of `session`, in which `taken` are given already.
    pub(super) fn of(session: SessionId, taken: &[String]) -> Self {
        let bytes = session.as_bytes();
        let seed = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        let taken: HashSet<_> = taken.iter().filter_map(|id| number(id)).collect();
        Self { seed, next: u32::try_from(taken.len()).unwrap_or(0), taken }
    }

    /// Returns the next identity.
    pub(super) fn next(&mut self) -> String {
        loop {
            let id = scattered(self.seed.wrapping_add(self.next));
            self.next = self.next.wrapping_add(1);
            // Only what stood in the file before can be in the way: scattering is one to one.
            if !self.taken.contains(&id) {
                return format!("{id:08x}");
            }
        }
    }
}

fn number(id: &str) -> Option<u32> {
    u32::from_str_radix(id, 16).ok().filter(|_| id.len() == 8)
}

/// Sends neighbours far apart, and no two numbers to the same place.
fn scattered(number: u32) -> u32 {
    let number = (number ^ (number >> 16)).wrapping_mul(0x85eb_ca6b);
    let number = (number ^ (number >> 13)).wrapping_mul(0xc2b2_ae35);
    number ^ (number >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_identity_is_given_twice_also_not_after_the_log_was_opened_again() {
        let session = SessionId::generate();
        let mut given = Vec::new();
        for _ in 0..3 {
            let mut ids = Ids::of(session, &given);
            given.extend((0..1_000).map(|_| ids.next()));
        }
        assert!(given.iter().all(|id| id.len() == 8 && number(id).is_some()));
        assert_eq!(given.iter().collect::<HashSet<_>>().len(), given.len());
    }
}
