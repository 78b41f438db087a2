//! The names of the fields of agents, here and in other programs.

/// The fields that there are, without `-` and `_` and in lower case.
const FIELDS: [&str; 31] = [
    "name",
    "description",
    "prompt",
    "developerinstructions",
    "tools",
    "allowedtools",
    "disallowedtools",
    "deniedtools",
    "spawns",
    "model",
    "models",
    "thinking",
    "thinkinglevel",
    "effort",
    "reasoningeffort",
    "modelreasoningeffort",
    "output",
    "outputschema",
    "schema",
    "isolated",
    "isolation",
    "apply",
    "maxturns",
    "limits",
    "timeoutmins",
    "permissionmode",
    "sandboxmode",
    "kind",
    "timeout",
    "turns",
    "maxsteps",
];

/// Fields of other programs that mean nothing here.
pub(super) const IDLE: [&str; 19] = [
    "autoloadskills",
    "background",
    "blocking",
    "color",
    "colour",
    "displayname",
    "experimental",
    "hooks",
    "icon",
    "initialprompt",
    "license",
    "mcpservers",
    "memory",
    "metadata",
    "nicknamecandidates",
    "skills",
    "tags",
    "temperature",
    "version",
];

/// Returns whether there is a field with this key, here or in another program.
pub(super) fn is_field(key: &str) -> bool {
    let name = plain(key);
    FIELDS.contains(&name.as_str()) || IDLE.contains(&name.as_str())
}

/// Returns a key in lower case, without what separates its words.
pub(super) fn plain(key: &str) -> String {
    key.chars().filter(|it| !matches!(it, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}
