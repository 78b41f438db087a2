//! The message of the commit that a task's work becomes on a branch.

use protocol::{RunName, TaskSpec, Work};

/// The maximum length of a subject in characters.
pub(super) const LONGEST: usize = 72;

/// Returns the subject for the work of a task: of a model, its item and the first line of its
/// prompt; of a command, its item or else the beginning of the script that reads as plain words. A
/// script with quotes in it is never a subject.
fn commit_subject(task: &TaskSpec) -> String {
    let item = match task.items.as_slice() {
        [] => None,
        [item] => Some(line_of(item)),
        [first, others @ ..] => Some(format!("{} and {} more", line_of(first), others.len())),
    };
    let title = line_of(&task.title);
    let subject = match (&task.work, item) {
        (Work::Command(_), Some(item)) => item,
        (Work::Command(command), None) => {
            plain_words(&command.script).unwrap_or_else(|| task.name.to_string())
        }
        (Work::Agent(_) | Work::Conversation(_), Some(item)) if !title.contains(&item) => {
            format!("{item}: {title}")
        }
        (Work::Agent(_) | Work::Conversation(_), _) => title,
    };
    let subject = subject.trim();
    if subject.is_empty() { task.name.to_string() } else { shortened(subject) }
}

/// Returns the message of the commit with the work of a task: its subject, and trailers that name the
/// run and the task.
#[must_use]
pub fn commit_message(run: &RunName, task: &TaskSpec) -> String {
    let subject = commit_subject(task);
    format!("{subject}\n\nRegatta-Run: {run}\nRegatta-Task: {}\n", task.name)
}

/// Returns the first line of a text that is not blank, without control characters.
pub(super) fn line_of(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim();
    line.chars().filter(|letter| !letter.is_control()).collect()
}

/// Returns the first words of a script up to one that a shell would not take literally, or `None`
/// if that is the first one.
fn plain_words(script: &str) -> Option<String> {
    let is_plain = |word: &&str| {
        word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./,:=@%+-".contains(&byte))
    };
    let line = line_of(script);
    let words: Vec<_> = line.split_whitespace().take_while(is_plain).collect();
    let is_all = words.len() == script.split_whitespace().count();
    match words.len() {
        0 => None,
        _ if is_all => Some(words.join(" ")),
        _ => Some(format!("{} …", words.join(" "))),
    }
}

fn shortened(subject: &str) -> String {
    if subject.chars().count() <= LONGEST {
        return subject.to_owned();
    }
    let kept: String = subject.chars().take(LONGEST - 1).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use protocol::{Agent, ChangeDemand, Command, TaskId, TaskLimits};

    use super::*;

    fn task(work: Work) -> TaskSpec {
        TaskSpec {
            id: TaskId::generate(),
            name: "auth".parse().unwrap(),
            title: String::new(),
            items: Vec::new(),
            work,
            depends_on: Vec::new(),
            priority: 0,
            change: ChangeDemand::Optional,
            schema: None,
            limits: TaskLimits::default(),
            needs: protocol::TaskNeeds::default(),
        }
    }

    fn command(script: &str, items: &[&str]) -> String {
        let command = Command { script: script.into(), item: None, arguments: Vec::new() };
        let items = items.iter().map(|item| (*item).to_owned()).collect();
        commit_subject(&TaskSpec { items, ..task(Work::Command(command)) })
    }

    fn prompt(prompt: &str, items: &[&str]) -> String {
        let agent = Agent {
            model: "a/b".parse().unwrap(),
            prompt: prompt.to_owned(),
            yields: Vec::new(),
            context: None,
            approvals: Default::default(),
            fallback: Vec::new(),
            subagent: None,
            servers: Default::default(),
        };
        let items = items.iter().map(|item| (*item).to_owned()).collect();
        let title = prompt.lines().next().unwrap_or_default().to_owned();
        commit_subject(&TaskSpec { items, title, ..task(agent.into()) })
    }

    #[test]
    fn a_command_is_its_item_or_the_plain_beginning_of_its_script() {
        assert_eq!(command("rustfmt src/a.rs", &["src/a.rs"]), "src/a.rs");
        assert_eq!(command("ls \"$@\"", &["a", "b", "c"]), "a and 2 more");
        assert_eq!(command("make docs", &[]), "make docs");
        assert_eq!(command("sed -i 's/a/b/' src/a.rs", &[]), "sed -i …");
        assert_eq!(command("make -C docs all\nrm -rf tmp", &[]), "make -C docs all …");
        assert_eq!(command("'./my script'", &[]), "auth");
        assert_eq!(command("$(evil)", &["\u{1b}[2J\n"]), "[2J");
    }

    #[test]
    fn a_prompt_is_its_item_and_its_first_line() {
        assert_eq!(prompt("Fix the tests.\nAll.", &[]), "Fix the tests.");
        assert_eq!(prompt("Port src/a.rs.", &["src/a.rs"]), "Port src/a.rs.");
        assert_eq!(prompt("Add types.\nsrc/a.rs", &["src/a.rs"]), "src/a.rs: Add types.");
        assert_eq!(prompt("Add types.", &["a", "b"]), "a and 1 more: Add types.");
        let long = prompt(&"word ".repeat(40), &[]);
        assert_eq!(long.chars().count(), 72, "{long}");
        assert!(long.ends_with("word…") || long.ends_with("wo…") || long.ends_with('…'), "{long}");
    }
}
