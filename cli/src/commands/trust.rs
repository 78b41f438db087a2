//! `regatta trust`: shows which settings of a project would run or allow something, and lets them count.

use std::path::Path;

use config::{DataPaths, ProjectMark};
use protocol::ExitCode;
use regatta::error::{Error, ErrorKind};
use regatta::trust::{Power, PowerState, project_root};
use serde_json::{Value, json};
use store::{RepositoryTrust, TrustError, TrustFile};

use super::config::value_text;
use super::context::{Out, print_json, write_text};
use super::dispatch::folder;
use super::note::note;
use super::project_settings::{is_in_task, load};
use crate::args::{Form, Globals, TrustAction, TrustArgs};
use crate::render::one_line;
use crate::session::{has_person, is_confirmed};

/// Shows, gives, lists or ends trust.
///
/// # Errors
/// The settings or the trust file cannot be read, or standard input is not a terminal.
pub fn run(globals: &Globals, args: &TrustArgs, out: Out<'_>) -> Result<ExitCode, Error> {
    let places = DataPaths::of_this_process()?;
    let file = TrustFile::new(places.trust_file());
    if args.action() != TrustAction::List && is_in_task() {
        return Err(Error::usage("a task cannot change what is trusted")
            .because("the variable REGATTA_TASK is set")
            .hint("regatta trust (outside of the run)"));
    }
    match args.action() {
        TrustAction::List => list(globals, &file, out)?,
        TrustAction::Revoke(names) => revoke(globals, &file, names)?,
        action @ (TrustAction::Ask | TrustAction::Trust) => {
            let root = project_root(&folder(globals));
            let loaded = load(&places, Some(&root))?;
            if let Some(why) = loaded.unusable {
                return Err(Error::new(ErrorKind::Settings, why));
            }
            if !is_trusted(globals, &loaded.powers, action, out)? {
                return Ok(ExitCode::Success);
            }
            if let Err(error) = places.make_private() {
                let error = Error::new(ErrorKind::Settings, "cannot make the data folder")
                    .because(error.to_string());
                return Err(error);
            }
            let now = loaded.powers.into_iter();
            let now = now.map(|power| (power.setting.key.to_string(), power.now)).collect();
            file.change(&root, |trust| trust.powers = now).map_err(trust_error)?;
            note(globals, &format!("trusted in {}", one_line(&root.to_string_lossy())));
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
            note(globals, "no setting of this project waits for trust");
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
        _ if has_person() => Ok(is_confirmed("Trust these settings?")),
        _ => Err(Error::usage("cannot ask without a terminal")
            .because("standard input or standard error is not a terminal")
            .hint("regatta trust --yes")),
    }
}

/// Returns the lines about a power: its place and value, what it runs, and what has changed.
fn power_text(power: &Power) -> String {
    let setting = &power.setting;
    let mut text = format!("{}: {}", one_line(&setting.origin.to_string()), setting.key);
    match (ProjectMark::of(setting.key), &setting.value) {
        (ProjectMark::Commands, Value::Array(commands)) => {
            commands.iter().for_each(|command| text += &command_text(command));
        }
        (ProjectMark::Commands, command) => text += &command_text(command),
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
    };
    json!({
        "key": power.setting.key.as_str(),
        "origin": power.setting.origin.to_string(),
        "state": state,
        "now": power.now,
        "changes": power.changes(),
    })
}

/// Lists what is trusted, in all repositories or in that of `--repo`.
fn list(globals: &Globals, file: &TrustFile, out: Out<'_>) -> Result<(), Error> {
    let mut all = file.all().map_err(trust_error)?;
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
fn revoke(globals: &Globals, file: &TrustFile, names: &[String]) -> Result<(), Error> {
    let root = project_root(&folder(globals));
    let there = file.of(&root).map_err(trust_error)?;
    let shown_root = one_line(&root.to_string_lossy());
    let is_there = |name: &&String| {
        let is_rule = there.rules.iter().any(|rule| rule.to_string() == **name);
        is_rule || there.powers.contains_key(*name)
    };
    if let Some(name) = names.iter().find(|name| !is_there(name)) {
        let what = format!("`{}` is not trusted in {shown_root}", one_line(name));
        return Err(Error::usage(what).hint("regatta trust --list"));
    }
    if there.is_empty() {
        note(globals, &format!("nothing is trusted in {shown_root}"));
        return Ok(());
    }
    let is_revoked = |name: &str| names.is_empty() || names.iter().any(|it| it == name);
    file.change(&root, |trust| {
        trust.rules.retain(|rule| !is_revoked(&rule.to_string()));
        trust.powers.retain(|key, _| !is_revoked(key));
    })
    .map_err(trust_error)?;
    let what = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    let what = one_line(&what);
    let line = match names.is_empty() {
        true => format!("{what} is trusted in {shown_root} any more"),
        false => format!("not trusted in {shown_root} any more: {what}"),
    };
    note(globals, &line);
    Ok(())
}

fn trust_error(error: TrustError) -> Error {
    let text = error.to_string();
    Error::new(ErrorKind::Settings, text).caused_by(&error)
}
