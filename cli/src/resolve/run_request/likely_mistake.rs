//! The note about a request that is valid and probably not what was meant.

use super::{RunRequest, TaskSource};
use regatta::each::{NamedPrompt, WorkTemplate};

/// Words with which a prompt begins that says what to do: with such a word, `NAME=` is meant as a name.
const VERBS: [&str; 32] = [
    "add",
    "build",
    "change",
    "check",
    "clean",
    "convert",
    "create",
    "delete",
    "describe",
    "do",
    "document",
    "explain",
    "find",
    "fix",
    "implement",
    "improve",
    "make",
    "migrate",
    "move",
    "port",
    "refactor",
    "remove",
    "rename",
    "replace",
    "review",
    "run",
    "split",
    "test",
    "translate",
    "update",
    "use",
    "write",
];

impl RunRequest {
    /// Returns a note about a likely mistake: words without quotes are tasks of one word each, a prompt
    /// without placeholders is the same for each item, and the only prompt needs no name before it.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let prompts = match &self.0 {
            TaskSource::Prompts(prompts) => prompts,
            TaskSource::Each { pattern: WorkTemplate::Prompt(prompt), .. } => {
                let alike = "each item makes the same task, because {{item}} is not in the TASK";
                return (!prompt.contains("{{")).then(|| alike.to_owned());
            }
            TaskSource::Words { script: WorkTemplate::Command(script), words } => {
                return same_command(script, words);
            }
            TaskSource::Each { pattern: WorkTemplate::Command(script), .. } => {
                return same_command(script, &[]);
            }
            TaskSource::Words { script: WorkTemplate::Prompt(_), .. }
            | TaskSource::Plan(_)
            | TaskSource::Command(_) => return None,
        };
        if let [NamedPrompt { name: Some(name), prompt }] = prompts.as_slice()
            && let Some(first) = prompt.split_whitespace().next()
            && first.starts_with(char::is_lowercase)
            && !VERBS.contains(&first)
        {
            return Some(format!(
                "`{name}=` names the task, and its prompt begins with `{first}`; a blank before `{name}=` makes it a part of the prompt"
            ));
        }
        let single = |prompt: &NamedPrompt| {
            prompt.name.is_none() && !prompt.prompt.trim().contains(char::is_whitespace)
        };
        let all = prompts.len() > 1 && prompts.iter().all(single);
        all.then(|| {
            let (first, count) = (&prompts[0].prompt, prompts.len());
            format!("these are {count} tasks of one word each, the first is `{first}`; put a TASK of several words in quotes")
        })
    }
}

/// Returns a note about a command in which no item is named; `words` are the items of the command line.
fn same_command(script: &str, words: &[String]) -> Option<String> {
    if script.contains("{{") || script.contains("REGATTA_ITEM") {
        return None;
    }
    let alike = "each item runs the same command, because {{item}} is not in --exec";
    let is_one_word = !script.trim().contains(char::is_whitespace);
    Some(match words.first() {
        _ if script.contains("{}") => format!("{alike}; {{}} is not replaced"),
        Some(word) if is_one_word => format!(
            "{alike}: the command is `{script}`, and `{word}` is an item; put a command of several words in \
             quotes"
        ),
        _ => alike.to_owned(),
    })
}
