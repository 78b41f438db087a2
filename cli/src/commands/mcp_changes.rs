//! The subcommands of `regatta mcp` that change files of servers.

use std::collections::BTreeMap;

use config::DataPaths;
use config::mcp::{EnabledServer, ServerFile, ServerFileError, ServerLevel, check_server};
use protocol::error_chain;
use regatta::error::{Error, ErrorKind};
use regatta::mcp::{ListedServer, McpServers, ServerState};
use regatta::trust::check_outside_task;
use serde_json::json;

use super::mcp::shown_path;
use super::note::note;
use crate::args::{Globals, McpAddArgs, McpRemoveArgs, ServerFileChoice, TransportChoice};
use crate::render::one_line;

/// Adds a server.
///
/// # Errors
/// The arguments are no server, or the file has one of this name or cannot be changed.
pub(super) fn add(
    globals: &Globals,
    (places, servers): (&DataPaths, &McpServers),
    args: &McpAddArgs,
) -> Result<(), Error> {
    check_outside_task()?;
    let entry = entry(args)?;
    check_server(&args.name, &entry).map_err(|why| {
        let name = one_line(&args.name);
        Error::usage(format!("cannot add the MCP server `{name}`")).because(why)
    })?;
    let file = file(places, servers, args.file());
    let shown = shown_path(file.path());
    if !file.add(&args.name, &entry).map_err(unchanged)? {
        let project = if args.file() == ServerFileChoice::Project { " --project" } else { "" };
        return Err(Error::usage(format!("there is an MCP server `{}` in {shown}", args.name))
            .hint(format!("regatta mcp remove {}{project}", args.name)));
    }
    note(globals, &format!("added `{}` to {shown}", args.name));
    if args.file() == ServerFileChoice::Project {
        note(globals, "it counts once you trust it: regatta trust");
        let has_literal = ["env", "headers"].iter().any(|key| {
            let values = entry.get(key).and_then(|it| it.as_object()).into_iter().flatten();
            values.into_iter().any(|(_, value)| !value.as_str().unwrap_or("${").contains("${"))
        });
        if has_literal {
            note(
                globals,
                "warning: the file is part of the repository; `${NAME}` keeps secrets out of it",
            );
        }
    }
    Ok(())
}

/// Returns the entry that the arguments describe.
fn entry(args: &McpAddArgs) -> Result<serde_json::Value, Error> {
    let name = one_line(&args.name);
    let mistake = |what: &str| {
        Err(Error::usage(what)
            .hint(format!("regatta mcp add {name} https://HOST/PATH"))
            .hint(format!("regatta mcp add {name} -- CMD ARGUMENT")))
    };
    match (&args.url, args.command.split_first(), args.transport) {
        (None, Some(_), Some(TransportChoice::Http | TransportChoice::Sse)) => {
            mistake("`--transport` is http or sse, which need a URL and no command")
        }
        (Some(_), None, Some(TransportChoice::Stdio)) => {
            mistake("`--transport` is stdio, which needs a command behind `--` and no URL")
        }
        (Some(url), None, _)
            if !url.starts_with("http://")
                && !url.starts_with("https://")
                && !url.starts_with("${") =>
        {
            let url = one_line(url);
            Err(Error::usage(format!("`{url}` is not a URL that begins with http:// or https://"))
                .hint(format!("regatta mcp add {name} -- {url} (a command stands behind --)")))
        }
        (None, Some((command, arguments)), _) => {
            let mut entry = json!({ "command": command });
            if !arguments.is_empty() {
                entry["args"] = json!(arguments);
            }
            let env = pairs("--env", &args.env, '=')?;
            if !env.is_empty() {
                entry["env"] = json!(env);
            }
            Ok(entry)
        }
        (Some(url), None, transport) => {
            let kind = if transport == Some(TransportChoice::Sse) { "sse" } else { "http" };
            let mut entry = json!({ "type": kind, "url": url });
            let headers = pairs("--header", &args.header, ':')?;
            if !headers.is_empty() {
                entry["headers"] = json!(headers);
            }
            Ok(entry)
        }
        _ => mistake("an MCP server needs a URL, or a command behind `--`"),
    }
}

/// Returns names and values. The error contains no value.
fn pairs(
    option: &str,
    given: &[String],
    separator: char,
) -> Result<BTreeMap<String, String>, Error> {
    let pair = |text: &String| {
        let (name, value) = text.split_once(separator)?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), value.trim_start().to_owned()))
    };
    let pairs: Option<_> = given.iter().map(pair).collect();
    pairs.ok_or_else(|| {
        let form = if separator == '=' { "NAME=VALUE" } else { "'NAME: VALUE'" };
        Error::usage(format!("invalid value for `{option}`")).hint(format!("{option} {form}"))
    })
}

/// Removes a server.
///
/// # Errors
/// The file has no such server, or cannot be changed.
pub(super) fn remove(
    globals: &Globals,
    (places, servers): (&DataPaths, &McpServers),
    args: &McpRemoveArgs,
) -> Result<(), Error> {
    check_outside_task()?;
    let file = file(places, servers, args.file());
    let (name, shown) = (one_line(&args.name), shown_path(file.path()));
    if file.remove(&args.name).map_err(unchanged)? {
        note(globals, &format!("removed `{name}` from {shown}"));
        return Ok(());
    }
    let error = Error::usage(format!("there is no MCP server `{name}` in {shown}"));
    let elsewhere = servers.servers.iter().find(|server| server.entry.name == args.name);
    Err(match elsewhere {
        Some(server) if server.entry.place.file == servers.root().join(".regatta/mcp.json") => {
            error.hint(format!("regatta mcp remove {name} --project"))
        }
        Some(server) => error
            .because(format!("it is in {}", one_line(&server.entry.place.to_string())))
            .hint(format!("regatta mcp disable {name}")),
        None => error.hint("regatta mcp"),
    })
}

/// Enables a server.
///
/// # Errors
/// The file of the server says that it is disabled, and is not the user's own; or the user's cannot be changed.
pub(super) fn enable(
    globals: &Globals,
    places: &DataPaths,
    server: &ListedServer,
) -> Result<(), Error> {
    check_outside_task()?;
    let (name, place) = (&server.entry.name, &server.entry.place);
    let file = ServerFile::of_user(places.mcp_file());
    if !server.entry.is_enabled && !place.is_own() {
        return Err(Error::usage(format!("cannot enable the MCP server `{name}`"))
            .because(format!("{} disables it", one_line(&place.to_string())))
            .hint("change it there"));
    }
    let of_other = server.is_foreign().then(|| EnabledServer {
        name: name.clone(),
        source: place.file.to_string_lossy().into_owned(),
        definition: server.definition_digest(),
    });
    match (file.enable(name, of_other.as_ref()).map_err(unchanged)?, &server.state) {
        (true, _) => {
            note(globals, &format!("enabled `{name}` of {}", one_line(&place.to_string())))
        }
        (false, ServerState::Untrusted(_)) => {}
        (false, _) => note(globals, &format!("`{name}` is enabled already")),
    }
    if place.level == ServerLevel::Project && server.state != ServerState::Enabled {
        note(globals, "it counts once you trust it: regatta trust");
    }
    Ok(())
}

/// Disables a server.
///
/// # Errors
/// The user's file cannot be changed.
pub(super) fn disable(
    globals: &Globals,
    places: &DataPaths,
    server: &ListedServer,
) -> Result<(), Error> {
    check_outside_task()?;
    let file = ServerFile::of_user(places.mcp_file());
    let name = &server.entry.name;
    match file.disable(name).map_err(unchanged)? {
        true => note(globals, &format!("disabled `{name}` in {}", shown_path(file.path()))),
        false => note(globals, &format!("`{name}` is disabled already")),
    }
    Ok(())
}

fn file(places: &DataPaths, servers: &McpServers, choice: ServerFileChoice) -> ServerFile {
    match choice {
        ServerFileChoice::User => ServerFile::of_user(places.mcp_file()),
        ServerFileChoice::Project => ServerFile::of_project(servers.root()),
    }
}

fn unchanged(error: ServerFileError) -> Error {
    Error::new(ErrorKind::Settings, error_chain(&error))
}
