//! The arguments of `bash`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::user_shell::quoted;
use crate::builtin::{rename, text};
use crate::error::ToolError;

/// What to run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BashArguments {
    /// The command, for a shell.
    pub(super) command: String,
    /// After how many seconds it is stopped; 300 if left out, or never in the background.
    #[schemars(range(min = 1, max = 3600))]
    pub(super) timeout: Option<u64>,
    /// The folder to run it in, relative to the folder you are in.
    pub(super) cwd: Option<String>,
    /// Environment variables for it.
    pub(super) env: Option<BTreeMap<String, String>>,
    /// Whether it runs on in the background; the call returns at once.
    pub(super) background: Option<bool>,
    /// Whether it has a terminal of its own, for programs that work only in one. Nobody types in it.
    pub(super) pty: Option<bool>,
    /// A name: the command starts in the folder where the last one with the same name has ended, unless
    /// that was in the background.
    pub(super) session: Option<String>,
}

impl BashArguments {
    /// Renames what models spell differently.
    pub(super) fn reshape(arguments: &mut Map<String, Value>) {
        rename(arguments, "command", &["cmd", "script"]);
        rename(arguments, "cwd", &["workdir", "dir", "directory"]);
        rename(arguments, "background", &["run_in_background", "async"]);
        rename(arguments, "pty", &["tty", "terminal"]);
        if let Some(Value::Object(variables)) = arguments.get_mut("env") {
            for value in variables.values_mut() {
                if matches!(value, Value::Number(_) | Value::Bool(_)) {
                    *value = Value::String(value.to_string());
                }
            }
        }
    }

    /// Returns an error for what no process can get.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        let wrong = |what: &str| Err(ToolError::Arguments(what.to_owned()));
        if self.command.contains('\0') {
            return wrong("the command has a NUL in it");
        }
        for (name, value) in self.env.iter().flatten() {
            // Other names would be read as something else where the command is judged with its variables.
            if !is_name(name) || value.contains('\0') {
                return wrong(
                    "/env: a name has letters, digits and `_`, and begins with no digit; no value has a NUL",
                );
            }
        }
        Ok(())
    }
}

/// Returns whether shells take `text` for the name of a variable.
fn is_name(text: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.starts_with(|first: char| is_word(first) && !first.is_ascii_digit())
        && text.chars().all(is_word)
}

/// Returns the command as it is judged: with its variables before it, which may change what it does.
pub(super) fn judged_command(arguments: &Map<String, Value>) -> String {
    let command = text(arguments, "command");
    let Some(Value::Object(variables)) = arguments.get("env") else { return command };
    let assigned: String = variables
        .iter()
        .map(|(name, value)| format!("{name}={}; ", quoted(value.as_str().unwrap_or_default())))
        .collect();
    format!("{assigned}{command}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_shells_take_for_a_name_is_the_name_of_a_variable() {
        let checked = |name: &str| {
            let arguments = json!({ "command": "make", "env": { name: "x" } });
            serde_json::from_value::<BashArguments>(arguments).unwrap().check().is_ok()
        };
        for (name, is_one) in [("CC", true), ("_a1", true), ("1a", false), ("", false)] {
            assert_eq!(checked(name), is_one, "{name}");
        }
        for name in ["#", "ls #", "a-b", "BASH_FUNC_ls%%", "a=b", "a\nb", "x;rm"] {
            assert!(!checked(name), "{name}");
        }
    }

    #[test]
    fn a_command_is_judged_with_its_variables() {
        let judged = |arguments: Value| judged_command(arguments.as_object().unwrap());
        assert_eq!(judged(json!({ "command": "make" })), "make");
        let arguments = json!({ "command": "make x", "env": { "CC": "it's", "V": "1" } });
        assert_eq!(judged(arguments), r"CC='it'\''s'; V='1'; make x");
    }
}
