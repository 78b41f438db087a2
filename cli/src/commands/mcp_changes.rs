//! The subcommands of `regatta mcp` that change files of servers.

use std::collections::BTreeMap;

use regatta::error::Error;
use regatta::mcp::{ListedServer, McpServers, ServerOwner, ServerState};
use serde_json::json;

use super::mcp::shown_path;
use super::note::note;
use crate::args::{Globals, McpAddArgs, McpRemoveArgs, TransportChoice};
use crate::render::one_line;

/// Adds a server.
///
/// # Errors
/// The arguments are no server, or the file has one of this name or cannot be changed.
pub(super) fn add(globals: &Globals, servers: &McpServers, args: &McpAddArgs) -> Result<(), Error> {
    let entry = entry(args)?;
    let (owner, name) = (args.owner(), &args.name);
    let is_added = servers.add(owner, name, &entry)?;
    let shown = shown_path(&servers.file_of(owner));
    if !is_added {
        let project = if owner == ServerOwner::Project { " --project" } else { "" };
        return Err(Error::usage(format!("there is an MCP server `{name}` in {shown}"))
            .hint(format!("regatta mcp remove {name}{project}")));
    }
    note(globals, &format!("added `{name}` to {shown}"));
    if owner == ServerOwner::Project {
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
    servers: &McpServers,
    args: &McpRemoveArgs,
) -> Result<(), Error> {
    let is_removed = servers.remove(args.owner(), &args.name)?;
    let (name, shown) = (one_line(&args.name), shown_path(&servers.file_of(args.owner())));
    if is_removed {
        note(globals, &format!("removed `{name}` from {shown}"));
        return Ok(());
    }
    let error = Error::usage(format!("there is no MCP server `{name}` in {shown}"));
    Err(match servers.named(&args.name) {
        Ok(server) if server.is_of_project() && !server.is_foreign() => {
            error.hint(format!("regatta mcp remove {name} --project"))
        }
        Ok(server) => error
            .because(format!("it is in {}", one_line(&server.source())))
            .hint(format!("regatta mcp disable {name}")),
        Err(_none) => error.hint("regatta mcp"),
    })
}

/// Enables a server.
///
/// # Errors
/// The file of the server says that it is disabled, and is not the user's own; or the user's cannot be changed.
pub(super) fn enable(
    globals: &Globals,
    servers: &McpServers,
    server: &ListedServer,
) -> Result<(), Error> {
    let name = server.name();
    match (servers.enable(server)?, &server.state) {
        (true, _) => note(globals, &format!("enabled `{name}` of {}", server.source())),
        (false, ServerState::Untrusted(_)) => {}
        (false, _) => note(globals, &format!("`{name}` is enabled already")),
    }
    if server.is_of_project() && server.state != ServerState::Enabled {
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
    servers: &McpServers,
    server: &ListedServer,
) -> Result<(), Error> {
    let (name, file) = (server.name(), servers.file_of(ServerOwner::User));
    match servers.disable(server)? {
        true => note(globals, &format!("disabled `{name}` in {}", shown_path(&file))),
        false => note(globals, &format!("`{name}` is disabled already")),
    }
    Ok(())
}
