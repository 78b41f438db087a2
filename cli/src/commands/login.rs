//! `regatta login` and `regatta logout`: store and remove the API keys and logins of providers.

use std::io::{self, IsTerminal as _, Read as _};

use config::{DEFAULT_KEY, DataPaths, KeyStoreError, LoginTokens, Secret, nearest};
use protocol::{ExitCode, utf8_text};
use providers::{Granted, KnownProvider, LoginService, known_providers};
use serde_json::json;

use super::context::print_json;
use super::login_oauth::{self, has_desktop};
use crate::args::{Form, Globals, LoginArgs, LoginMethod, LogoutArgs};
use crate::process;
use crate::render::{count, one_line};
use regatta::error::{Error, ErrorKind};
use regatta::launcher;
use regatta::model::{UserModels, expiry};

/// The longest input that is read as a key, in bytes.
const LONGEST: u64 = 64 << 10;

/// Reads a key, or logs in at a provider, and stores what that brings.
///
/// # Errors
/// The provider is not known, the input is not a key, the login failed, or the result cannot be
/// stored.
pub async fn login(args: &LoginArgs, globals: &Globals) -> Result<ExitCode, Error> {
    // The key is in the memory of this process.
    launcher::hide_memory();
    let user = UserModels::new(&DataPaths::of_this_process()?);
    check_provider(&user, &args.provider)?;
    // What is wrong with the file is said before the user types a key.
    let note = user.store().read().map_err(store_error)?.note;
    let name = args.name.as_deref().unwrap_or(DEFAULT_KEY);
    let brought = match method(&user, args).await? {
        None => Granted::Key(read_key(&args.provider)?),
        Some((service, method)) => {
            if !config::is_key_name(name) {
                return Err(store_error(KeyStoreError::Name));
            }
            user.store().check_writable().map_err(store_error)?;
            let limit = args.timeout.unwrap_or(login_oauth::USUAL_TIMEOUT);
            login_oauth::run(&args.provider, &service, method, limit).await?
        }
    };
    let what = match &brought {
        Granted::Key(key) => {
            user.store().store(&args.provider, name, key).map_err(store_error)?;
            "key"
        }
        Granted::Tokens(tokens) => {
            let refresh = tokens.refresh.as_deref().map(Secret::new);
            let rest = LoginTokens { refresh, expires: expiry(tokens) };
            let stored = user.store().store_login(&args.provider, name, &tokens.access, &rest);
            stored.map_err(store_error)?;
            "login"
        }
    };
    let file = user.store().file().display().to_string();
    match globals.form() {
        Form::Json => {
            let document = json!({ "provider": args.provider, "name": name, "kind": what, "file": file, "note": note });
            print_json(&mut io::stdout(), &document)?;
        }
        Form::Text => {
            let note = note.map(|note| format!("note: {}\n", one_line(&note))).unwrap_or_default();
            process::print(&format!(
                "{note}the {what} `{name}` of {} is stored in {}\n",
                args.provider,
                one_line(&file)
            ))?;
        }
    }
    Ok(ExitCode::Success)
}

/// Returns how to log in: as the user says, else in the way that the provider has; `None` if a key is
/// read.
async fn method(
    user: &UserModels,
    args: &LoginArgs,
) -> Result<Option<(LoginService, LoginMethod)>, Error> {
    let provider = args.provider.as_str();
    let asked = args.method();
    if asked == Some(LoginMethod::Key) {
        return Ok(None);
    }
    user.prepare([provider]).await;
    let Some(service) = user.login_service(provider) else {
        if asked.is_none() {
            return Ok(None);
        }
        let error = Error::usage(format!("{} has no login, only API keys", one_line(provider)))
            .because("OpenRouter has one, and a provider with `oauth` in models.yml");
        return Err(error.hint(format!("regatta login {}", one_line(provider))));
    };
    let service = service.map_err(|why| {
        let what = format!("cannot log in at {}", one_line(provider));
        Error::new(ErrorKind::Settings, what).because(one_line(&why))
    })?;
    let method = match asked {
        // What a script gives is a key.
        None if service.gives_key() && !io::stdin().is_terminal() => return Ok(None),
        None if service.has_device_code() && !(service.has_browser() && has_desktop()) => {
            LoginMethod::Device
        }
        None => LoginMethod::Browser,
        Some(method) => method,
    };
    Ok(Some((service, method)))
}

/// Removes stored keys.
///
/// # Errors
/// There is no such key, or it cannot be removed.
pub fn logout(args: &LogoutArgs, globals: &Globals) -> Result<ExitCode, Error> {
    let user = UserModels::new(&DataPaths::of_this_process()?);
    let removed = user.store().remove(&args.provider, args.name.as_deref()).map_err(store_error)?;
    let provider = one_line(&args.provider);
    if removed == 0 {
        let named = args.name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default();
        let what = format!("no key{} of {provider} is stored", one_line(&named));
        return Err(Error::usage(what).hint("regatta models --json (says where the keys are)"));
    }
    match globals.form() {
        Form::Json => {
            print_json(&mut io::stdout(), &json!({ "provider": provider, "removed": removed }))?;
        }
        Form::Text => {
            let keys = count(removed, "key");
            process::print(&format!("{keys} of {provider} removed\n"))?;
        }
    }
    Ok(ExitCode::Success)
}

fn check_provider(user: &UserModels, name: &str) -> Result<(), Error> {
    let own = user.file().providers.keys().map(String::as_str);
    let faulty = user.file().faults.iter().filter_map(|fault| fault.provider.as_deref());
    let names: Vec<&str> = known_providers().map(|it| it.id).chain(own).chain(faulty).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let error = Error::usage(format!("no provider is called `{}`", one_line(name)))
        .because("a provider is known by name, or described in models.yml")
        .because(user.file_fault().unwrap_or_default());
    Err(match nearest(name, names.iter().copied()) {
        Some(near) => error.hint(format!("regatta login {near}")),
        None => error.hint("regatta models --all (lists the providers)"),
    })
}

/// Reads a key: without an echo from a terminal, else all of standard input.
fn read_key(provider: &str) -> Result<String, Error> {
    let failed =
        |error: &io::Error| Error::new(ErrorKind::Machine, "cannot read the key").caused_by(error);
    if io::stdin().is_terminal() {
        let variable = KnownProvider::find(provider).and_then(KnownProvider::key);
        let like = variable.map(|name| format!(" (as in {name})")).unwrap_or_default();
        let prompt = format!("API key of {provider}{like}, not shown: ");
        return rpassword::prompt_password(prompt).map_err(|error| failed(&error));
    }
    let mut bytes = Vec::new();
    io::stdin().take(LONGEST).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    // The text of this error would quote the input.
    utf8_text(bytes).map_err(|_not_text| Error::usage("an API key is text, and this is not"))
}

fn store_error(error: KeyStoreError) -> Error {
    let kind = match &error {
        KeyStoreError::Key(_) | KeyStoreError::Name => ErrorKind::Usage,
        KeyStoreError::Malformed { .. } | KeyStoreError::Refused { .. } => ErrorKind::Settings,
        KeyStoreError::Io { .. } | KeyStoreError::Locked { .. } => ErrorKind::Machine,
    };
    let told = Error::new(kind, error.to_string());
    match std::error::Error::source(&error) {
        Some(source) if kind != ErrorKind::Usage => told.caused_by(source),
        _ => told,
    }
}
