//! The names by which models call the tools of servers.

use std::collections::BTreeSet;

/// The maximum number of bytes of a name: providers refuse longer ones.
const LONGEST: usize = 64;

/// The beginning of the names of servers' tools.
pub const PREFIX: &str = "mcp__";

/// Returns a name for a tool of a server that is not among `taken`: `mcp__server_tool`, with a suffix where that
/// is too long or taken.
pub(super) fn tool_name(server: &str, tool: &str, taken: &BTreeSet<String>) -> String {
    let (server_part, tool_part) = (plain(server, "server"), plain(tool, "tool"));
    let begin = format!("{server_part}_");
    let tool_part =
        tool_part.strip_prefix(&begin).filter(|rest| !rest.is_empty()).unwrap_or(&tool_part);
    let name = format!("{PREFIX}{begin}{tool_part}");
    if name.len() <= LONGEST && !taken.contains(&name) {
        return name;
    }
    (0_u32..)
        .map(|number| {
            let suffix = format!("_{:06x}", hash(&[server, tool], number) & 0x00ff_ffff);
            let kept = name.len().min(LONGEST - suffix.len());
            format!("{}{suffix}", &name[..kept])
        })
        .find(|name| !taken.contains(name))
        .unwrap_or(name)
}

/// Returns a text in lower case with `_` for each run of other characters than letters and digits.
fn plain(text: &str, empty: &str) -> String {
    let mut plain = String::new();
    for letter in text.chars() {
        match letter.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => plain.push(letter),
            _ if plain.is_empty() || plain.ends_with('_') => {}
            _ => plain.push('_'),
        }
    }
    let plain = plain.trim_end_matches('_');
    if plain.is_empty() { empty.to_owned() } else { plain.to_owned() }
}

/// Returns a hash that is the same in every process (FNV-1a).
fn hash(texts: &[&str], number: u32) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.chain(number.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_letters_and_digits_and_leaves_out_the_server_that_the_tool_repeats() {
        for (server, tool, expected) in [
            ("github", "create_issue", "mcp__github_create_issue"),
            ("GitHub", "github_create-issue", "mcp__github_create_issue"),
            ("web.search", "v1", "mcp__web_search_v1"),
            ("a", "gpt4", "mcp__a_gpt4"),
            ("größe", "\u{1b}[31mred", "mcp__gr_e_31mred"),
            ("..", "__", "mcp__server_tool"),
            ("a", "a_", "mcp__a_a"),
        ] {
            assert_eq!(tool_name(server, tool, &BTreeSet::new()), expected, "{server} {tool}");
        }
    }

    #[test]
    fn names_that_are_long_or_taken_get_suffixes_and_stay_apart() {
        let mut taken = BTreeSet::new();
        let long = "x".repeat(100);
        let tools = ["read-file", "read_file", "read file", &long, &format!("{long}y")];
        for tool in tools {
            let name = tool_name("fs", tool, &taken);
            assert!(name.len() <= LONGEST && name.starts_with("mcp__fs_"), "{name}");
            assert!(taken.insert(name.clone()), "{name} is there twice");
        }
        assert!(taken.contains("mcp__fs_read_file"));
        let again = tool_name("fs", "read_file", &["mcp__fs_read_file".to_owned()].into());
        assert!(taken.contains(&again), "a suffix is the same each time");
    }
}
