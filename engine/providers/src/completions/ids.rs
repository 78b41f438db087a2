//! The identities of calls as a provider accepts them: always the same for the same call, and
//! never the same for two.

use std::collections::{BTreeMap, BTreeSet};

use crate::known::CallIds;

/// The most characters of an identity.
const LONGEST: usize = 40;

/// The identities given in one request.
#[derive(Debug)]
pub(crate) struct Ids {
    kind: CallIds,
    given: BTreeMap<String, String>,
    taken: BTreeSet<String>,
}

impl Ids {
    pub(crate) fn new(kind: CallIds) -> Self {
        Self { kind, given: BTreeMap::new(), taken: BTreeSet::new() }
    }

    /// Returns the identity of the call that the session knows as `id`.
    pub(crate) fn of(&mut self, id: &str) -> String {
        if let Some(given) = self.given.get(id) {
            return given.clone();
        }
        let first = match self.kind {
            CallIds::Plain => plain(id),
            CallIds::Nine => nine(id, 0),
        };
        let mut salt = 0;
        let mut free = first.clone();
        while self.taken.contains(&free) {
            salt += 1;
            free = match self.kind {
                CallIds::Plain => salted(&first, id, salt),
                CallIds::Nine => nine(id, salt),
            };
        }
        self.taken.insert(free.clone());
        self.given.insert(id.to_owned(), free.clone());
        free
    }
}

/// Some identities have two halves; the first is the call's.
fn plain(id: &str) -> String {
    let half = id.split('|').next().unwrap_or(id);
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if !half.is_empty() && half.len() <= LONGEST && half.chars().all(allowed) {
        return half.to_owned();
    }
    let clean: String = half.chars().map(|it| if allowed(it) { it } else { '_' }).collect();
    salted(&clean, id, 0)
}

fn salted(clean: &str, id: &str, salt: u64) -> String {
    let clean: String = clean.chars().take(LONGEST - 12).collect();
    format!("{clean}_{}", digits(hash(id, salt), 11))
}

fn nine(id: &str, salt: u64) -> String {
    let fits = id.len() == 9 && id.chars().all(|letter| letter.is_ascii_alphanumeric());
    if fits && salt == 0 { id.to_owned() } else { digits(hash(id, salt), 9) }
}

/// FNV-1a: the same everywhere and always.
fn hash(text: &str, salt: u64) -> u64 {
    let bytes = text.bytes().chain(salt.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn digits(mut number: u64, count: usize) -> String {
    const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut digit = || {
        let letter = LETTERS[usize::try_from(number % 36).unwrap_or(0)];
        number /= 36;
        char::from(letter)
    };
    (0..count).map(|_| digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_acceptable_stays_as_it_is() {
        let mut ids = Ids::new(CallIds::Plain);
        assert_eq!(ids.of("call_1"), "call_1");
        assert_eq!(ids.of("call_1"), "call_1");
        assert_eq!(ids.of("call_2|item_9"), "call_2");
        assert_eq!(Ids::new(CallIds::Nine).of("a1B2c3D4e"), "a1B2c3D4e");
    }

    #[test]
    fn no_two_calls_become_one_and_each_identity_is_acceptable() {
        let long = "x".repeat(300);
        let odd = ["", "a b", "a_b", "a\nb", "ä", "c|1", "c|2", "c", &long, &format!("{long}y")];
        for kind in [CallIds::Plain, CallIds::Nine] {
            let mut ids = Ids::new(kind);
            let given: BTreeSet<_> = odd.iter().map(|id| ids.of(id)).collect();
            assert_eq!(given.len(), odd.len());
            for id in given {
                let letters = |it: char| it.is_ascii_alphanumeric() || "_-".contains(it);
                assert!(!id.is_empty() && id.len() <= LONGEST && id.chars().all(letters), "{id}");
                let nine = id.len() == 9 && id.chars().all(|it| it.is_ascii_alphanumeric());
                assert!(kind == CallIds::Plain || nine, "{id}");
            }
        }
    }
}
