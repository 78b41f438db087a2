//! Writes plans as a person would, without thinking about quotes.

use std::fmt::Write;

/// A plan that is being written.
#[derive(Clone, Debug)]
pub struct Plan(String);

impl Default for Plan {
    fn default() -> Self {
        Self("version = 1\n".to_owned())
    }
}

impl Plan {
    /// Adds a line to the top of the plan.
    #[must_use]
    pub fn top(mut self, line: &str) -> Self {
        self.0.push_str(line);
        self.0.push('\n');
        self
    }

    /// Adds a task that runs a command.
    #[must_use]
    pub fn task(mut self, id: &str, script: &str) -> Self {
        // A JSON string is a TOML string too.
        let script = serde_json::Value::from(script).to_string();
        let id = serde_json::Value::from(id).to_string();
        let _written = write!(self.0, "\n[[task]]\nid = {id}\nexec = {script}\n"); // into a String
        self
    }

    /// Adds a task that asks a model.
    #[must_use]
    pub fn agent(mut self, id: &str, prompt: &str) -> Self {
        let prompt = serde_json::Value::from(prompt).to_string();
        let id = serde_json::Value::from(id).to_string();
        let _written = write!(self.0, "\n[[task]]\nid = {id}\nprompt = {prompt}\n"); // into a String
        self
    }

    /// Lets the task that was added last depend on others.
    #[must_use]
    pub fn after(self, tasks: &[&str]) -> Self {
        let line = format!("depends_on = {tasks:?}");
        self.with(&line)
    }

    /// Adds a line to the task that was added last.
    #[must_use]
    pub fn with(mut self, line: &str) -> Self {
        self.0.push_str(line);
        self.0.push('\n');
        self
    }

    /// Returns the plan.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}
