//! The system prompt as data, and its text.

use std::sync::{Arc, OnceLock};

use minijinja::Environment as Templates;
use minijinja::value::Serde;
use serde::Serialize;

use super::context_files::ContextFile;
use super::environment::Environment;
use crate::agent::YIELD;

/// The template. What users and repositories write is a value in it, never a part of it.
const TEMPLATE: &str = include_str!("system.md");

/// What the system prompt of a session is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPrompt {
    /// What the model is.
    pub role: Role,
    /// Where it works.
    pub environment: Environment,
    /// The notes of the user and of the repository.
    pub files: Vec<ContextFile>,
    /// What every task of a run should know.
    pub context: Option<String>,
    /// What the user adds at the end.
    pub appended: Option<String>,
    /// Its text, for those who share it.
    pub shared: SharedText,
}

/// The text of a system prompt for the tools for which it was first asked. Those who share the prompt
/// share it. A copy of the prompt, which may be changed, has none: change a prompt before its text is
/// asked for, or a copy.
#[derive(Debug, Default)]
pub struct SharedText(OnceLock<(Vec<String>, Arc<str>)>);

impl Clone for SharedText {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for SharedText {
    fn eq(&self, _other: &Self) -> bool {
        true // it says nothing that the prompt does not
    }
}

impl Eq for SharedText {}

/// What the model of a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It does one task, alone.
    Task,
    /// It works with a user.
    Assistant,
    /// It is what the user says.
    Own(String),
}

/// The values of the template.
#[derive(Serialize)]
struct Values<'a> {
    role: &'a str,
    own: Option<&'a str>,
    tools: &'a [&'a str],
    r#yield: &'a str,
    environment: Environment,
    files: &'a [ContextFile],
    context: Option<&'a str>,
    appended: Option<&'a str>,
}

impl SystemPrompt {
    /// Returns the prompt for a model with this role, without anything that a user or a repository
    /// adds.
    #[must_use]
    pub fn of(role: Role, environment: Environment) -> Self {
        let (files, shared) = (Vec::new(), SharedText::default());
        Self { role, environment, files, context: None, appended: None, shared }
    }

    /// Returns the text for a model that has these tools.
    #[must_use]
    pub fn text(&self, tools: &[&str]) -> Arc<str> {
        let (of, text) = self.shared.0.get_or_init(|| {
            (tools.iter().map(|&name| name.to_owned()).collect(), self.render(tools))
        });
        if of == tools { Arc::clone(text) } else { self.render(tools) }
    }

    fn render(&self, tools: &[&str]) -> Arc<str> {
        let (role, own) = match &self.role {
            Role::Task => ("task", None),
            Role::Assistant => ("assistant", None),
            Role::Own(own) => ("own", Some(own.trim())),
        };
        let values = Values {
            role,
            own,
            tools,
            r#yield: YIELD,
            environment: self.environment.printable(),
            files: &self.files,
            context: self.context.as_deref().map(str::trim_end),
            appended: self.appended.as_deref().map(str::trim),
        };
        let text = Templates::empty().render_str(TEMPLATE, Serde(values));
        text.expect("a test renders the template of this program").into()
    }
}

#[cfg(test)]
mod tests {
    use protocol::Timestamp;

    use super::super::environment::GitState;
    use super::*;

    fn environment() -> Environment {
        Environment {
            system: "linux x86_64".to_owned(),
            ..Environment::at(Timestamp::from_millisecond(1_767_323_045_678))
        }
    }

    #[test]
    fn a_task_is_told_how_to_end_and_no_folder() {
        let prompt = SystemPrompt {
            context: Some("All know it.\n".to_owned()),
            ..SystemPrompt::of(Role::Task, environment())
        };
        let text = prompt.text(&["read", "yield"]);
        assert!(text.starts_with("You are a coding agent. You work alone on one task"), "{text}");
        assert!(text.contains("call the tool `yield` with your result"), "{text}");
        let end = "is not a result.\n\nYour tools: `read`, `yield`.\n\n<environment>\nSystem: linux x86_64\nDate: \
                   2026-01-02\n</environment>\n\n<context>\nAll know it.\n</context>";
        assert!(text.ends_with(end), "{text}");
        assert!(Arc::ptr_eq(&text, &prompt.text(&["read", "yield"])), "it is rendered once");
        assert!(prompt.text(&["read"]).contains("Your tools: `read`.\n"), "for other tools anew");
        let other = SystemPrompt { context: None, ..prompt.clone() };
        assert!(!other.text(&["read", "yield"]).contains("All know it."));
    }

    #[test]
    fn a_session_is_told_where_it_works_and_what_the_user_and_the_repository_say() {
        let file =
            |path: &str, text: &str| ContextFile { path: path.to_owned(), text: text.to_owned() };
        let git =
            GitState { branch: Some("main".to_owned()), commit: Some("1a2b3c4 Begin".to_owned()) };
        let prompt = SystemPrompt {
            role: Role::Own("Be {{ brief }}.\n".to_owned()),
            environment: Environment {
                folder: Some("/app".to_owned()),
                git: Some(git),
                ..environment()
            },
            files: vec![
                file("~/AGENTS.md", "{% for x in y %}"),
                file("AGENTS.md", "<b> & {{ 7 * 6 }}"),
            ],
            context: None,
            appended: Some("{# kept #}".to_owned()),
            shared: SharedText::default(),
        };
        let expected = "Be {{ brief }}.\n\n<environment>\nSystem: linux x86_64\nDate: 2026-01-02\n\
                        Folder: /app\nBranch: main\nCommit: 1a2b3c4 Begin\n</environment>\n\n\
                        <context-file path=\"~/AGENTS.md\">\n{% for x in y %}\n</context-file>\n\n\
                        <context-file path=\"AGENTS.md\">\n<b> & {{ 7 * 6 }}\n</context-file>\n\n\
                        {# kept #}";
        assert_eq!(&*prompt.text(&[]), expected);
    }

    #[test]
    fn a_session_in_a_copy_is_told_whose_copy_it_is_and_that_nothing_lands_by_itself() {
        let own = SystemPrompt::of(Role::Assistant, environment()).text(&[]);
        assert!(own.contains("the user's own folder"), "{own}");
        let environment =
            Environment { copy_of: Some("/app\nDate: 1970".to_owned()), ..environment() };
        let copy = SystemPrompt::of(Role::Assistant, environment).text(&[]);
        assert!(
            copy.contains("in a copy of the repository. Change files only in the copy"),
            "{copy}"
        );
        assert!(copy.contains("\nCopy of: /appDate: 1970\n"), "{copy}");
        assert!(!copy.contains("own folder"), "{copy}");
    }

    #[test]
    fn a_hostile_branch_or_folder_is_one_short_line() {
        let git =
            GitState { branch: Some(format!("a\nDate: 1970{}", "x".repeat(500))), commit: None };
        let environment = Environment { git: Some(git), ..environment() };
        let text = SystemPrompt::of(Role::Assistant, environment).text(&[]);
        let branch = text.lines().find(|line| line.starts_with("Branch:")).unwrap();
        assert_eq!((branch.len(), text.matches("\nDate:").count()), (208, 1));
        assert!(text.contains("Commit: none yet"), "{text}");
    }
}
