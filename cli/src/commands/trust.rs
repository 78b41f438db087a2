//! `regatta trust`: shows which settings and MCP servers of a project would run or allow something, and lets them
//! count.

use std::path::Path;

use config::DataPaths;
use protocol::ExitCode;
use regatta::error::{Error, ErrorKind};
use regatta::mcp::definition_lines;
use regatta::trust::{
    Power, PowerKind, PowerState, RepositoryTrust, RevokeError, check_outside_task, project_root,
    settings_to_look, trusted,
};
use serde_json::{Value, json};

use super::config::value_text;
use super::context::{Out, print_json, write_text};
use super::dispatch::folder;
use super::note::note;
use crate::args::{Form, Globals, TrustAction, TrustArgs};
use crate::render::one_line;
use crate::session::{has_person, is_confirmed};

/// Shows, gives, lists or ends trust.
///
/// # Errors
/// The settings or the trust file cannot be read, or standard input is not a terminal.
pub fn run(globals: &Globals, args: &TrustArgs, out: Out<'_>) -> Result<ExitCode, Error> {
    let places = DataPaths::of_this_process()?;
    if args.action() != TrustAction::List {
        check_outside_task()?;
    }
    match args.action() {
        TrustAction::List => list(globals, &places, out)?,
        TrustAction::Revoke(names) => revoke(globals, &places, names)?,
        action @ (TrustAction::Ask | TrustAction::Trust) => {
            let project = settings_to_look(&places, Some(&folder(globals)))?;
            if let Some(why) = &project.unusable {
                return Err(Error::new(ErrorKind::Settings, why.clone()));
            }
            if project.left_out.is_some() {
                project.warnings("").iter().for_each(|line| note(globals, line));
            }
            if is_trusted(globals, &project.powers, action, out)? {
                project.trust(&places)?;
                let root = project_root(&folder(globals));
                note(globals, &format!("trusted in {}", one_line(&root.to_string_lossy())));
            }
        }
    }
    Ok(ExitCode::Success)
}

/// Shows the powers, and returns whether they are to be trusted from now on.
fn is_trusted(
    globals: &Globals,
    powers: &[Power],
    action: TrustAction<'_>,
    out: Out<'_>,
) -> Result<bool, Error> {
    let is_new = powers.iter().any(|power| power.state != PowerState::Trusted);
    match globals.form() {
        Form::Json => {
            let shown: Vec<_> = powers.iter().map(power_json).collect();
            print_json(out, &json!({ "powers": shown }))?;
            return Ok(is_new && action == TrustAction::Trust);
        }
        Form::Text if powers.is_empty() => {
            note(globals, "nothing of this project waits for trust");
            return Ok(false);
        }
        Form::Text => {
            let shown: Vec<_> = powers.iter().map(power_text).collect();
            write_text(out, &shown.join("\n"))?;
        }
    }
    if !is_new {
        note(globals, "trusted already, and nothing has changed");
        return Ok(false);
    }
    match action {
        TrustAction::Trust => Ok(true),
        _ if has_person() => Ok(is_confirmed("Trust these?")),
        _ => Err(Error::usage("cannot ask without a terminal")
            .because("standard input or standard error is not a terminal")
            .hint("regatta trust --yes")),
    }
}

/// Returns the lines about a power: its place and value, what it runs, and what has changed.
fn power_text(power: &Power) -> String {
    let mut text =
        format!("{}: {}", one_line(&power.origin.to_string()), one_line(&power.kind.to_string()));
    let value = &power.now.value;
    match (&power.kind, value) {
        (PowerKind::Server(_), definition) => {
            for line in definition_lines(definition) {
                text += &format!("\n  {}", one_line(&line));
            }
        }
        (kind, Value::Array(commands)) if kind.is_command() => {
            commands.iter().for_each(|command| text += &command_text(command));
        }
        (kind, command) if kind.is_command() => text += &command_text(command),
        (_, value) => text += &format!(" = {}", value_text(value)),
    }
    let line = |line: &str| format!("\n  {}", one_line(line));
    if !power.now.files.is_empty() {
        let files: Vec<_> = power.now.files.keys().map(String::as_str).collect();
        text += &line(&format!("reads or runs: {}", files.join(", ")));
    }
    if power.now.tree.is_some() {
        text += &line("may run any file of the repository: trust ends when HEAD's files change");
    }
    match &power.state {
        PowerState::New => {}
        PowerState::Unbounded => {
            text += &line("may run any file, and there is no commit: it cannot be trusted");
        }
        PowerState::Trusted => text += &line("trusted"),
        PowerState::Changed(_) => {
            text += &line("was trusted, but has changed:");
            power
                .changes()
                .iter()
                .for_each(|change| text += &format!("\n    {}", one_line(change)));
        }
    }
    text
}

/// Returns the lines of a command, each of them whole.
fn command_text(command: &Value) -> String {
    let command = command.as_str().unwrap_or_default();
    command.lines().map(|line| format!("\n  $ {}", one_line(line))).collect()
}

fn power_json(power: &Power) -> Value {
    let state = match power.state {
        PowerState::New => "new",
        PowerState::Trusted => "trusted",
        PowerState::Changed(_) => "changed",
        PowerState::Unbounded => "unbounded",
    };
    json!({
        "key": power.kind.to_string(),
        "origin": power.origin.to_string(),
        "state": state,
        "now": power.now,
        "changes": power.changes(),
    })
}

/// Lists what is trusted, in all repositories or in that of `--repo`.
fn list(globals: &Globals, places: &DataPaths, out: Out<'_>) -> Result<(), Error> {
    let mut all = trusted(places)?;
    if let Some(repo) = globals.repo() {
        let root = project_root(repo);
        all.retain(|repository, _| Path::new(repository) == root);
    }
    match globals.form() {
        Form::Json => print_json(out, &json!({ "repositories": all })),
        Form::Text if all.is_empty() => {
            note(globals, "nothing is trusted");
            Ok(())
        }
        Form::Text => {
            let texts: Vec<_> = all.iter().map(|(root, trust)| trust_text(root, trust)).collect();
            write_text(out, &texts.join("\n"))
        }
    }
}

fn trust_text(root: &str, trust: &RepositoryTrust) -> String {
    let mut text = one_line(root);
    for (key, power) in &trust.powers {
        text += &format!("\n  {} = {}", one_line(key), value_text(&power.value));
    }
    for rule in &trust.rules {
        text += &format!("\n  {}", one_line(&rule.to_string()));
    }
    text
}

/// Ends the trust in settings and rules of one repository.
fn revoke(globals: &Globals, places: &DataPaths, names: &[String]) -> Result<(), Error> {
    let root = project_root(&folder(globals));
    let shown_root = one_line(&root.to_string_lossy());
    let was_trusted =
        regatta::trust::revoke(places, &root, names).map_err(|error| match error {
            RevokeError::NotTrusted(name) => {
                Error::usage(format!("`{}` is not trusted in {shown_root}", one_line(&name)))
                    .hint("regatta trust --list")
            }
            RevokeError::File(error) => error.into(),
        })?;
    let line = match (was_trusted, names) {
        (false, _) => format!("nothing is trusted in {shown_root}"),
        (true, []) => format!("nothing is trusted in {shown_root} any more"),
        (true, names) => {
            let names = one_line(&names.join(", "));
            format!("not trusted in {shown_root} any more: {names}")
        }
    };
    note(globals, &line);
    Ok(())
}
