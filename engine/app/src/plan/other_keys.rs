//! Keys that other formats have, with the key of a plan that does the same.

/// The table of the plan, the keys of other formats, and the key here.
const OTHER_KEYS: [(&str, &str, &str); 11] = [
    ("a plan", "label title", "name"),
    ("a plan", "steps", "task"),
    ("a plan", "concurrency parallel parallelism workers max_parallel", "jobs"),
    ("a plan", "timeout max_turns max_tokens budget", "limits"),
    ("a task", "name title label", "id"),
    ("a task", "cmd command run script shell", "exec"),
    ("a task", "needs depends dependencies after requires", "depends_on"),
    ("a task", "task text description instructions message", "prompt"),
    ("a task", "timeout max_turns max_tokens budget", "limits"),
    ("limits", "time timeout duration", "wall"),
    ("limits", "budget usd", "cost"),
];

/// Returns the key of a table that does what `other` does elsewhere.
pub(super) fn key_for(table: &str, other: &str) -> Option<&'static str> {
    let is_it = |(of, names, _): &&(&str, &str, &str)| {
        *of == table && names.split(' ').any(|name| name == other)
    };
    OTHER_KEYS.iter().find(is_it).map(|(.., key)| *key)
}
