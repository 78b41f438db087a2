//! Finds tools by words.

use super::offered::OfferedTool;

/// Returns the tools that match at least one of the words, the best first, and at most `most`. A word counts more
/// in a name than in a description.
#[must_use]
pub fn matching<'a>(tools: &'a [OfferedTool], words: &str, most: usize) -> Vec<&'a OfferedTool> {
    let words: Vec<_> = words
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let score = |tool: &OfferedTool| -> usize {
        let (name, description) = (tool.name.to_lowercase(), tool.description.to_lowercase());
        let of_word = |word: &String| {
            10 * usize::from(name.contains(word)) + usize::from(description.contains(word))
        };
        words.iter().map(of_word).sum()
    };
    let mut scored: Vec<_> = tools.iter().map(|tool| (score(tool), tool)).collect();
    scored.retain(|(score, _)| *score > 0);
    // Equal scores stay in the order of the tools.
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().take(most).map(|(_, tool)| tool).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::Declared;
    use super::*;
    use crate::ports::McpTool;

    fn tool(name: &str, description: &str) -> OfferedTool {
        let schema = json!({ "type": "object" });
        OfferedTool {
            name: name.to_owned(),
            server: 0,
            tool: McpTool {
                name: name.to_owned(),
                title: None,
                description: description.to_owned(),
                input_schema: schema.clone(),
                read_only: false,
                idempotent: false,
            },
            declared: Declared::Deferred,
            description: description.to_owned(),
            schema: Arc::new(schema),
        }
    }

    #[test]
    fn tools_are_found_by_words_of_their_names_and_descriptions() {
        let tools = [
            tool("mcp__git_log", "Shows commits."),
            tool("mcp__hub_create_issue", "Opens an issue."),
            tool("mcp__hub_list", "Lists each issue of a repository."),
        ];
        let names = |words, most| -> Vec<&str> {
            matching(&tools, words, most).into_iter().map(|tool| tool.name.as_str()).collect()
        };
        assert_eq!(names("Issue, create!", 5), ["mcp__hub_create_issue", "mcp__hub_list"]);
        assert_eq!(names("hub", 1), ["mcp__hub_create_issue"]);
        assert_eq!(names("commits", 5), ["mcp__git_log"]);
        assert_eq!(names("  ", 5), [""; 0]);
        assert_eq!(names("zebra", 5), [""; 0]);
    }
}
