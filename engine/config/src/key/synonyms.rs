//! The keys of other programs that mean settings here.

/// Keys that other programs have, each with the key or the group of keys here.
pub(super) const SYNONYMS: [(&str, &str); 14] = [
    ("model", "modelRoles.default"),
    ("models", "modelRoles.default"),
    ("defaultModel", "modelRoles.default"),
    ("smallModel", "modelRoles.smol"),
    ("small_model", "modelRoles.smol"),
    ("jobs", "task.maxConcurrency"),
    ("parallel", "task.maxConcurrency"),
    ("concurrency", "task.maxConcurrency"),
    ("timeout", "limits.wall"),
    ("max_turns", "limits.turns"),
    ("permissions", "approvals"),
    ("approval_policy", "approvals.mode"),
    ("sandbox", "task.isolation.mode"),
    ("fallback", "retry.fallbackChains"),
];
