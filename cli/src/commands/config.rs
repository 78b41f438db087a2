//! `regatta config`: lists the settings, with the places where they were set.

use std::path::PathBuf;

use config::{DataPaths, Key};
use protocol::ExitCode;
use serde::Serialize;
use serde_json::Value;

use super::context::{Out, print_json, write_text};
use super::dispatch::folder;
use super::note::note;
use super::project_settings::say_warnings;
use crate::args::{ConfigArgs, Form, Globals};
use crate::elsewhere::{SETTINGS, as_shown};
use crate::render::one_line;
use regatta::error::Error;
use regatta::trust::settings_to_look;

/// A setting, as programs read it.
#[derive(Serialize)]
struct Listed {
    key: &'static str,
    /// `null` if it is unset.
    value: Value,
    origin: String,
}

/// Lists all settings, or those of a key.
///
/// # Errors
/// The settings cannot be read, or the key does not exist.
pub fn run(globals: &Globals, args: &ConfigArgs, out: Out<'_>) -> Result<ExitCode, Error> {
    let keys = keys_of(&args.words)?;
    if let Some(repo) = globals.repo().filter(|repo| !repo.is_dir()) {
        let shown = one_line(&repo.to_string_lossy());
        return Err(Error::usage(format!("there is no folder `{shown}`")).hint("--repo DIR"));
    }
    let places = DataPaths::of_this_process()?;
    let project = settings_to_look(&places, Some(&folder(globals)))?;
    let named = globals.repo().map(PathBuf::as_path);
    say_warnings(&|line| note(globals, line), &project, named);
    let loaded = project.loaded;
    let listed: Vec<_> = loaded.listed().collect();
    let rows = keys.into_iter().map(|key| {
        let found = listed.iter().find(|(listed, ..)| *listed == key);
        let (value, origin) = match found {
            Some((_, value, origin)) => {
                let others = loaded.other_origin(key).into_iter().chain([*origin]);
                let origins: Vec<_> = others.map(ToString::to_string).collect();
                (value.clone(), origins.join(" and "))
            }
            None => (Value::Null, config::Origin::BuiltIn.to_string()),
        };
        Listed { key: key.as_str(), value, origin }
    });
    let rows: Vec<_> = rows.collect();
    match globals.form() {
        Form::Json => print_json(out, &serde_json::json!({ "settings": rows }))?,
        Form::Text => write_text(out, &text(&rows))?,
    }
    Ok(ExitCode::Success)
}

/// Returns the keys that are asked for.
fn keys_of(words: &[String]) -> Result<Vec<Key>, Error> {
    // `config get KEY` and `config list` are what other programs have.
    let asked = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] | ["list" | "ls" | "show"] => return Ok(Key::ALL.to_vec()),
        [key] | ["get" | "list" | "show", key] if *key != "edit" => *key,
        _ => {
            let error = Error::usage("this command only lists settings")
                .because("a setting is changed in its file");
            return Err(as_shown(SETTINGS).into_iter().rev().fold(error, Error::hint));
        }
    };
    let is_in = |key: &Key| {
        key.as_str()
            .strip_prefix(asked)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let keys: Vec<_> = Key::ALL.into_iter().filter(is_in).collect();
    if keys.is_empty() {
        let error = Error::usage(format!("there is no setting `{}`", one_line(asked)));
        return Err(match Key::nearest(asked) {
            Some(near) => error.hint(format!("regatta config {near}")),
            None => as_shown(SETTINGS).into_iter().fold(error, Error::hint),
        });
    }
    Ok(keys)
}

/// Returns a line for each setting: its key, its value, and where it was set if not by the defaults.
fn text(rows: &[Listed]) -> String {
    let line = |row: &Listed| {
        let value = match &row.value {
            Value::Null => "unset".to_owned(),
            value => value_text(value),
        };
        let origin = match row.origin == config::Origin::BuiltIn.to_string() {
            true => String::new(),
            false => format!("  ({})", one_line(&row.origin)),
        };
        format!("{} = {value}{origin}", row.key)
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns a value as one printable line.
pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        value => one_line(&value.to_string()),
    }
}
