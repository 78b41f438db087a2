//! The keys of a plan that are planned but not implemented yet.

/// A key that is not implemented yet: the table it belongs to, its name, and what to do today.
pub const PLANNED_KEYS: [(&str, &str, &str); 3] = [
    ("a task", "agent", "leave it out: every prompt has the agent `task`"),
    ("a task", "scope", OWN_CHECK),
    ("a task", "proofs", OWN_CHECK),
];

/// What to do today for what a task may change, and what must hold at its end.
const OWN_CHECK: &str = "check it at the end of the command or say so in the prompt";

/// Returns what to do instead of using a key of a table, if the key is planned.
pub(super) fn instead_of_key(table: &str, key: &str) -> Option<&'static str> {
    let found = PLANNED_KEYS.iter().find(|(of, name, _)| (*of, *name) == (table, key));
    found.map(|(_, _, instead)| *instead)
}
