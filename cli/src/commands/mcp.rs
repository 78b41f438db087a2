//! `regatta mcp`: lists the MCP servers that are defined, shows one, and tests one.

use std::path::Path;

use protocol::ExitCode;
use regatta::error::Error;
use regatta::mcp::{ListedServer, McpServers, ProbedServer, definition_lines};
use serde_json::{Value, json};

use super::context::{Out, print_json, write_text};
use super::dispatch::folder;
use super::mcp_changes;
use super::note::note;
use crate::args::{Form, Globals, McpArgs, McpCommand};
use crate::render::{OutputWidth, cut, fit, one_line, width};

/// The widest column of names.
const NAME: usize = 24;

/// Does what the subcommand says.
///
/// # Errors
/// The server does not exist or cannot be used, or a file cannot be read or changed.
pub async fn run(globals: &Globals, args: &McpArgs, out: Out<'_>) -> Result<ExitCode, Error> {
    let servers = McpServers::of_this_process(&folder(globals))?;
    match &args.command {
        None | Some(McpCommand::List) => list(globals, &servers, out)?,
        Some(McpCommand::Show(args)) => show(globals, servers.named(&args.name)?, out)?,
        Some(McpCommand::Test(args)) => {
            let server = servers.named(&args.name)?;
            let probed = servers.probe(server).await?;
            print_probed(globals, server, &probed, out)?;
        }
        Some(McpCommand::Add(args)) => mcp_changes::add(globals, &servers, args)?,
        Some(McpCommand::Remove(args)) => mcp_changes::remove(globals, &servers, args)?,
        Some(McpCommand::Enable(args)) => {
            mcp_changes::enable(globals, &servers, servers.named(&args.name)?)?;
        }
        Some(McpCommand::Disable(args)) => {
            mcp_changes::disable(globals, &servers, servers.named(&args.name)?)?;
        }
    }
    Ok(ExitCode::Success)
}

fn list(globals: &Globals, servers: &McpServers, out: Out<'_>) -> Result<(), Error> {
    if globals.form() == Form::Json {
        let shown: Vec<_> = servers.servers.iter().map(server_json).collect();
        let warnings: Vec<_> = servers.warnings.iter().map(ToString::to_string).collect();
        return print_json(out, &json!({ "servers": shown, "warnings": warnings }));
    }
    if servers.servers.is_empty() {
        note(
            globals,
            "no MCP server is defined here; regatta mcp add NAME URL, or -- CMD, adds one",
        );
    } else {
        let room = out.room();
        write_text(out, table(&servers.servers, room).trim_end())?;
    }
    servers.warnings.iter().for_each(|line| note(globals, &format!("warning: {line}")));
    Ok(())
}

/// Returns the table of servers: a line for each, and below it where it is defined and why it is not used.
fn table(servers: &[ListedServer], room: OutputWidth) -> String {
    let columns = match room {
        OutputWidth::Columns(columns) => columns,
        OutputWidth::Pipe => usize::MAX,
    };
    let cells = |server: &ListedServer| {
        let (name, state) = (one_line(server.name()), server.state.as_str().to_owned());
        [name, state, server.transport().to_owned(), one_line(&reached(server))]
    };
    let head = ["name", "state", "transport", "command or URL"].map(str::to_owned);
    let rows: Vec<_> = [head].into_iter().chain(servers.iter().map(cells)).collect();
    let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or_default();
    let widths = [widest(0).min(NAME), widest(1), widest(2)];
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let fixed = row.iter().zip(widths).map(|(cell, width)| fit(cell, width) + "  ");
        let line: String = fixed.chain([row[3].clone()]).collect();
        text += &format!("{}\n", cut(line.trim_end(), columns));
        if let Some(server) = number.checked_sub(1).and_then(|at| servers.get(at)) {
            let why = server.state.why().map(|why| format!(" ({why})")).unwrap_or_default();
            let place = one_line(&format!("{}{why}", server.source()));
            text += &format!("{}\n", cut(&format!("  {place}"), columns));
        }
    }
    text
}

/// Returns the command of a server, or its URL.
fn reached(server: &ListedServer) -> String {
    let lines = definition_lines(&server.definition());
    let first = lines.into_iter().next().unwrap_or_default();
    first.strip_prefix("$ ").map(str::to_owned).unwrap_or(first)
}

fn server_json(server: &ListedServer) -> Value {
    let transport = server.transport();
    let key = if transport == "stdio" { "command" } else { "url" };
    json!({
        "name": server.name(),
        "state": server.state.as_str(),
        "transport": transport,
        key: reached(server),
        "source": server.source(),
        "program": server.program(),
        "level": if server.is_of_project() { "project" } else { "user" },
        "why": server.state.why(),
    })
}

fn show(globals: &Globals, server: &ListedServer, out: Out<'_>) -> Result<(), Error> {
    let definition = server.definition();
    if globals.form() == Form::Json {
        let mut shown = server_json(server);
        shown["definition"] = without_digests(&definition);
        return print_json(out, &shown);
    }
    let mut lines = vec![server.name().to_owned()];
    let why = server.state.why().map(|why| format!(": {why}")).unwrap_or_default();
    lines.push(format!("  {}{why}", server.state.as_str()));
    lines.push(format!("  {} ({})", server.source(), server.program()));
    lines.extend(definition_lines(&definition).into_iter().map(|line| format!("  {line}")));
    let options = definition.as_object().into_iter().flatten();
    let described = ["command", "args", "env", "cwd", "type", "url", "urlDigest", "headers"];
    let options = options.filter(|(key, _)| !described.contains(&key.as_str()));
    lines.extend(options.map(|(key, value)| format!("  {key}: {value}")));
    let lines: Vec<_> = lines.iter().map(|line| line_of(line)).collect();
    write_text(out, &lines.join("\n"))
}

/// Returns a line that controls no terminal, with its indentation.
fn line_of(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", &line[..indent], one_line(&line[indent..]))
}

/// Returns a definition with `…` in the place of digests.
fn without_digests(definition: &Value) -> Value {
    let mut shown = definition.clone();
    for key in ["env", "headers"] {
        for value in shown.get_mut(key).and_then(Value::as_object_mut).into_iter().flatten() {
            if !value.1.as_str().is_some_and(|text| text.contains("${")) {
                *value.1 = "…".into();
            }
        }
    }
    if let Some(all) = shown.as_object_mut() {
        let _digest = all.remove("urlDigest");
    }
    shown
}

fn print_probed(
    globals: &Globals,
    server: &ListedServer,
    probed: &ProbedServer,
    out: Out<'_>,
) -> Result<(), Error> {
    let (info, milliseconds) = (&probed.info, probed.time.as_millis());
    let name = server.name();
    if globals.form() == Form::Json {
        let tools: Vec<_> = probed.tools.iter().map(|tool| &tool.name).collect();
        return print_json(
            out,
            &json!({
                "name": name,
                "program": info.name,
                "version": info.version,
                "protocol": info.protocol,
                "tools": tools,
                "ms": u64::try_from(milliseconds).unwrap_or(u64::MAX),
            }),
        );
    }
    let count = match probed.tools.len() {
        1 => "1 tool".to_owned(),
        count => format!("{count} tools"),
    };
    let first = format!(
        "{name}: {} {}, revision {}, {count} in {milliseconds} ms",
        info.name, info.version, info.protocol
    );
    let columns = match out.room() {
        OutputWidth::Columns(columns) => columns,
        OutputWidth::Pipe => usize::MAX,
    };
    let tools = probed.tools.iter().map(|tool| {
        let description = tool.description.lines().next().unwrap_or_default();
        cut(&format!("  {}", one_line(&format!("{}  {description}", tool.name))), columns)
    });
    let lines: Vec<_> = std::iter::once(one_line(&first)).chain(tools).collect();
    write_text(out, &lines.join("\n"))
}

/// Returns a path as a message shows it.
pub(super) fn shown_path(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}
