//! What other programs call tools, and their names here.

/// The tools of other programs whose names differ, in lower case, and the tool here.
const TOOLS: &[(&str, &str)] = &[
    ("agent", "task"),
    ("askuserquestion", "ask"),
    ("ask_user", "ask"),
    ("bashoutput", "job"),
    ("batchread", "read"),
    ("codebase_search", "grep"),
    ("container.exec", "bash"),
    ("create_file", "write"),
    ("edit_file", "edit"),
    ("exec", "bash"),
    ("exec_command", "bash"),
    ("fetch_webpage", "fetch"),
    ("file_search", "find"),
    ("glob", "find"),
    ("google_web_search", "web_search"),
    ("grep_files", "grep"),
    ("grep_search", "grep"),
    ("killbash", "job"),
    ("killshell", "job"),
    ("list", "ls"),
    ("list_dir", "ls"),
    ("list_directory", "ls"),
    ("local_shell", "bash"),
    ("multiedit", "edit"),
    ("multi_edit", "edit"),
    ("notebookedit", "notebook"),
    ("notebookread", "read"),
    ("poll", "job"),
    ("python", "eval"),
    ("read_file", "read"),
    ("read_many_files", "read"),
    ("replace", "edit"),
    ("request_user_input", "ask"),
    ("ripgrep", "grep"),
    ("run_command", "bash"),
    ("run_in_terminal", "bash"),
    ("run_shell_command", "bash"),
    ("search", "grep"),
    ("search_file_content", "grep"),
    ("search_files", "grep"),
    ("shell", "bash"),
    ("shell_command", "bash"),
    ("spawn_agent", "task"),
    ("str_replace", "edit"),
    ("str_replace_editor", "edit"),
    ("subagent", "task"),
    ("submit_result", "yield"),
    ("taskoutput", "job"),
    ("taskstop", "job"),
    ("todo", "todo_write"),
    ("todoread", "todo_write"),
    ("todowrite", "todo_write"),
    ("unified_exec", "bash"),
    ("update_plan", "todo_write"),
    ("view", "read"),
    ("view_image", "read"),
    ("web_fetch", "fetch"),
    ("webfetch", "fetch"),
    ("websearch", "web_search"),
    ("write_file", "write"),
    ("write_stdin", "job"),
    ("write_todos", "todo_write"),
];

/// The names of tools here, also of those that are not there yet.
const HERE: &[&str] = &[
    "apply_patch",
    "ask",
    "bash",
    "edit",
    "eval",
    "fetch",
    "find",
    "grep",
    "job",
    "ls",
    "lsp",
    "notebook",
    "read",
    "report_finding",
    "task",
    "todo_write",
    "web_search",
    "write",
    "yield",
];

/// The tools that change files or run commands. An agent that only reads has none of them.
pub(super) const CHANGING: [&str; 6] = ["write", "edit", "notebook", "bash", "eval", "task"];

/// A word of a list of tools.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolWord {
    /// The name of the tool here.
    pub(super) tool: String,
    /// Whether there is such a tool, or may be: those of MCP servers are not known before they run.
    pub(super) is_known: bool,
    /// What stands in parentheses behind the name.
    pub(super) only: Option<String>,
}

/// Returns what a word of a list of tools means.
pub(super) fn tool(word: &str) -> ToolWord {
    let (name, only) = match word.split_once('(') {
        Some((name, rest)) => (name.trim(), Some(rest.trim().trim_end_matches(')').to_owned())),
        None => (word, None),
    };
    let lower = name.to_ascii_lowercase();
    let foreign = TOOLS.iter().find(|(foreign, _)| *foreign == lower).map(|(_, here)| *here);
    let here = foreign.or_else(|| HERE.iter().copied().find(|here| *here == lower));
    let is_known = here.is_some() || lower.starts_with("mcp_");
    ToolWord { tool: here.unwrap_or(name).to_owned(), is_known, only }
}

/// What separates the words of a list in one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// Commas.
    Comma,
    /// Commas or white space.
    CommaOrSpace,
}

/// Returns the words of a list in one text. What stands in parentheses is part of its word.
pub(super) fn split_list(list: &str, separator: Separator) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0_usize;
    for letter in list.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _other => {}
        }
        let is_space = separator == Separator::CommaOrSpace && letter.is_whitespace();
        let ends = matches!(letter, ',' | '\n') || is_space;
        match words.last_mut() {
            Some(word) if !(ends && depth == 0) => word.push(letter),
            _end => words.push(String::new()),
        }
    }
    words.iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_leads_to_tools_that_there_are() {
        assert!(HERE.is_sorted());
        for (foreign, here) in TOOLS {
            assert!(HERE.contains(here) && !HERE.contains(foreign), "{foreign}");
            assert_eq!(*foreign, foreign.to_lowercase());
        }
    }

    #[test]
    fn words_are_split_outside_of_parentheses() {
        let tools = "Read, Bash(git add:*, git commit:*)  Grep,,";
        assert_eq!(
            split_list(tools, Separator::CommaOrSpace),
            ["Read", "Bash(git add:*, git commit:*)", "Grep"]
        );
        assert_eq!(split_list("a b, c", Separator::Comma), ["a b", "c"]);
        assert_eq!(split_list("Bash(((, Read", Separator::CommaOrSpace), ["Bash(((, Read"]);
        let only = tool("Bash(git:*)");
        assert_eq!((&*only.tool, only.only.as_deref()), ("bash", Some("git:*")));
        assert_eq!(tool("mcp__docs__Search").tool, "mcp__docs__Search");
        assert!(!tool("Teleport").is_known);
    }
}
