//! The ids of new entries.

use std::collections::BTreeSet;

use protocol::{EntryId, SessionId};

/// Generates the ids of the entries of one log: eight hexadecimal digits, unique in their file.
#[derive(Debug)]
pub struct EntryIds {
    seed: u32,
    next: u32,
    taken: BTreeSet<u32>,
}

impl EntryIds {
    /// Returns a generator for the log of `session`, in which the ids `taken` exist already.
    pub fn new<'a>(session: SessionId, taken: impl IntoIterator<Item = &'a EntryId>) -> Self {
        let bytes = session.as_bytes();
        let seed = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        let taken: BTreeSet<_> = taken.into_iter().filter_map(|id| number(id.as_str())).collect();
        Self { seed, next: u32::try_from(taken.len()).unwrap_or(0), taken }
    }

    /// Returns the next id.
    pub fn generate(&mut self) -> EntryId {
        loop {
            let id = scrambled(self.seed.wrapping_add(self.next));
            self.next = self.next.wrapping_add(1);
            // `scrambled` is one to one, so a new id can collide only with an older id of the file.
            if !self.taken.contains(&id) {
                return EntryId::new(format!("{id:08x}"));
            }
        }
    }
}

fn number(id: &str) -> Option<u32> {
    u32::from_str_radix(id, 16).ok().filter(|_| id.len() == 8)
}

/// Maps numbers one to one to numbers that look random.
fn scrambled(number: u32) -> u32 {
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
        let mut given: Vec<EntryId> = Vec::new();
        for _ in 0..3 {
            let mut ids = EntryIds::new(session, &given);
            given.extend((0..1_000).map(|_| ids.generate()));
        }
        assert!(given.iter().all(|id| id.as_str().len() == 8 && number(id.as_str()).is_some()));
        assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), given.len());
    }
}
