//! Ids of tool calls as an API accepts them. A session may have calls of several APIs.

use std::collections::{BTreeMap, BTreeSet};

/// The form of tool call ids that an API accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallIds {
    /// Up to this many letters, digits, `_` and `-`; at least 16.
    Plain(usize),
    /// Exactly nine letters and digits.
    Nine,
}

/// Maps the call ids of a session to ids that the API accepts. Equal ids stay equal and different
/// ids stay different. The id of a call depends on the calls before it only.
#[derive(Debug)]
pub(crate) struct CallIdMap {
    kind: CallIds,
    given: BTreeMap<String, String>,
    taken: BTreeSet<String>,
}

impl CallIdMap {
    pub(crate) fn new(kind: CallIds) -> Self {
        Self { kind, given: BTreeMap::new(), taken: BTreeSet::new() }
    }

    /// Returns the id that requests contain in place of `id`.
    pub(crate) fn of(&mut self, id: &str) -> String {
        if let Some(given) = self.given.get(id) {
            return given.clone();
        }
        let first = match self.kind {
            CallIds::Plain(most) => plain(id, most),
            CallIds::Nine => nine(id, 0),
        };
        let mut salt = 0;
        let mut free = first.clone();
        while self.taken.contains(&free) {
            salt += 1;
            free = match self.kind {
                CallIds::Plain(most) => salted(&first, id, most, salt),
                CallIds::Nine => nine(id, salt),
            };
        }
        self.taken.insert(free.clone());
        self.given.insert(id.to_owned(), free.clone());
        free
    }
}

/// The maximum length of a tool's name in characters.
const MAX_NAME: usize = 64;

/// Returns `given` as a name of a tool that APIs accept. A model can call a tool that does not
/// exist, by a name that is not valid.
pub(crate) fn tool_name(given: &str) -> String {
    let letters = given.chars().take(MAX_NAME);
    let name: String = letters.map(|it| if is_allowed(it) { it } else { '_' }).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// Returns whether ids and names may have this character.
pub(crate) fn is_allowed(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_-".contains(letter)
}

/// Returns `id` in the form of `CallIds::Plain`. Some ids have two halves separated by `|`, of
/// which only the first identifies the call.
fn plain(id: &str, most: usize) -> String {
    let half = id.split('|').next().unwrap_or(id);
    if !half.is_empty() && half.len() <= most && half.chars().all(is_allowed) {
        return half.to_owned();
    }
    let clean: String = half.chars().map(|it| if is_allowed(it) { it } else { '_' }).collect();
    salted(&clean, id, most, 0)
}

fn salted(clean: &str, id: &str, most: usize, salt: u64) -> String {
    let clean: String = clean.chars().take(most.saturating_sub(12)).collect();
    format!("{clean}_{}", digits(hash(id, salt), 11))
}

fn nine(id: &str, salt: u64) -> String {
    let fits = id.len() == 9 && id.chars().all(|letter| letter.is_ascii_alphanumeric());
    if fits && salt == 0 { id.to_owned() } else { digits(hash(id, salt), 9) }
}

/// Returns the FNV-1a hash, which is stable: a call must have the same id in every request.
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

    const KINDS: [CallIds; 3] = [CallIds::Plain(40), CallIds::Plain(64), CallIds::Nine];

    #[test]
    fn what_is_acceptable_stays_as_it_is() {
        let mut ids = CallIdMap::new(CallIds::Plain(40));
        assert_eq!(ids.of("call_1"), "call_1");
        assert_eq!(ids.of("call_1"), "call_1");
        assert_eq!(ids.of("call_2|item_9"), "call_2");
        assert_eq!(CallIdMap::new(CallIds::Nine).of("a1B2c3D4e"), "a1B2c3D4e");
    }

    #[test]
    fn no_two_calls_become_one_and_each_identity_is_acceptable() {
        let long = "x".repeat(300);
        let odd = ["", "a b", "a_b", "a\nb", "ä", "c|1", "c|2", "c", &long, &format!("{long}y")];
        for kind in KINDS {
            let mut ids = CallIdMap::new(kind);
            let given: BTreeSet<_> = odd.iter().map(|id| ids.of(id)).collect();
            assert_eq!(given.len(), odd.len());
            for id in given {
                let sound = match kind {
                    CallIds::Plain(most) => !id.is_empty() && id.len() <= most,
                    CallIds::Nine => id.len() == 9 && !id.contains(['_', '-']),
                };
                assert!(sound && id.chars().all(is_allowed), "{id}");
            }
        }
    }

    #[test]
    fn a_call_keeps_its_id_whatever_follows_it() {
        for kind in KINDS {
            let mut ids = CallIdMap::new(kind);
            let before = ["a b", "c|1"].map(|id| ids.of(id));
            let _later = ["a b|2", "c|2"].map(|id| ids.of(id));
            let mut again = CallIdMap::new(kind);
            assert_eq!(["a b", "c|1"].map(|id| again.of(id)), before);
        }
    }

    #[test]
    fn a_name_becomes_one_that_is_accepted() {
        assert_eq!(tool_name("read file!"), "read_file_");
        assert_eq!(tool_name(""), "unnamed");
        assert_eq!(tool_name(&"ä".repeat(100)).len(), 64);
    }
}
