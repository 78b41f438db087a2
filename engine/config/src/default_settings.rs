//! The settings as they are where nothing is set, for people to read.

/// Every setting with its default and what it does: YAML with comments.
pub const DEFAULT_SETTINGS: &str = include_str!("defaults.yml");
