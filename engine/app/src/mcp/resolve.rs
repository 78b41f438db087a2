//! Makes the definition of a server of its entry: every value is resolved.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use config::Secret;
use config::mcp::{ServerAddress, ServerEntry, ServerLevel, ServerPlace, ServerScope, UrlKind};
use engine::ports::{McpDefinition, McpHints, McpScope, McpToolFilter, McpTransport};
use serde_json::json;

use super::definition::{digest, shown_url};
use super::environment::base_environment;
use super::values::{Values, is_variable_name};
use crate::model::UserModels;

/// What holds where an entry says nothing.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(60);
const CONCURRENCY: usize = 8;

/// Resolves entries.
pub(super) struct Resolver<'a> {
    pub(super) values: Values,
    /// The variables that no program gets.
    pub(super) removed: &'a [String],
    /// Runs the commands of the user's own file.
    pub(super) user: &'a UserModels,
}

impl Resolver<'_> {
    /// Returns the definition of an entry.
    ///
    /// # Errors
    /// A value cannot be resolved. The error names its key, and contains no value.
    pub(super) async fn definition(&self, entry: &ServerEntry) -> Result<McpDefinition, String> {
        let place = &entry.place;
        let (transport, own) = match &entry.address {
            ServerAddress::Program { command, arguments, environment, folder } => {
                let own = self.secrets("env", environment, place).await?;
                let program = self.program((command, arguments), folder.as_deref(), place)?;
                let mut all = base_environment(self.values.variables(), self.removed);
                all.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
                let Program { command, arguments, folder } = program;
                (McpTransport::Stdio { command, arguments, environment: all, folder }, own)
            }
            ServerAddress::Url { kind, url, headers } => {
                let url = self.url(url, place)?;
                let headers = self.secrets("headers", headers, place).await?;
                if let Some(name) = headers.iter().find(|it| !is_header_value(it.1)).map(|it| it.0)
                {
                    return Err(format!("`headers.{name}` cannot be the value of a header"));
                }
                let transport = match kind {
                    UrlKind::Http => McpTransport::Http { url, headers },
                    UrlKind::Sse => McpTransport::Sse { url, headers },
                };
                (transport, BTreeMap::new())
            }
        };
        Ok(McpDefinition {
            name: entry.name.clone(),
            protocol: entry.protocol.clone(),
            startup_timeout: entry.startup_timeout.unwrap_or(STARTUP_TIMEOUT),
            timeout: entry.timeout.unwrap_or(TIMEOUT),
            concurrency: entry.concurrency.map_or(CONCURRENCY, NonZeroUsize::get),
            required: entry.is_required,
            scope: match entry.scope {
                ServerScope::Shared => McpScope::Shared,
                ServerScope::Workspace => McpScope::Workspace,
            },
            tools: McpToolFilter {
                allow: entry.allowed_tools.clone(),
                deny: entry.denied_tools.clone(),
            },
            read_only_hints: match entry.trusts_read_only_hints {
                true => McpHints::Trusted,
                false => McpHints::Ignored,
            },
            source: place.to_string(),
            key: identity(entry, &transport, &own),
            transport,
        })
    }

    fn program(
        &self,
        (command, arguments): (&str, &[String]),
        folder: Option<&str>,
        place: &ServerPlace,
    ) -> Result<Program, String> {
        let resolved = |key: &str, text: &str| {
            self.values.resolved(text, place).map_err(|why| format!("`{key}`: {why}"))
        };
        let command = self.at_home(&resolved("command", command)?);
        let arguments: Vec<_> =
            arguments.iter().map(|it| resolved("args", it)).collect::<Result<_, _>>()?;
        // What is relative is meant from the root of the project, and a program of a project works there.
        let is_relative =
            |word: &str| word == "." || word.starts_with("./") || word.starts_with("../");
        let works_in_project = place.level == ServerLevel::Project
            || is_relative(&command)
            || arguments.iter().any(|word| is_relative(word));
        let folder = match folder {
            Some(folder) => Some(self.values.root.join(self.at_home(&resolved("cwd", folder)?))),
            None => works_in_project.then(|| self.values.root.clone()),
        };
        let arguments = arguments.into_iter().map(OsString::from).collect();
        Ok(Program { command: command.into(), arguments, folder })
    }

    /// Returns a path with the user's home in the place of `~`.
    fn at_home(&self, path: &str) -> String {
        let home = self.values.home.as_ref().and_then(|home| home.to_str());
        match (path.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => format!("{home}/{below}"),
            _ => path.to_owned(),
        }
    }

    fn url(&self, url: &str, place: &ServerPlace) -> Result<String, String> {
        let url = self.values.resolved(url, place).map_err(|why| format!("`url`: {why}"))?;
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let has_host =
            rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#']));
        let is_plain = !url.chars().any(|letter| letter.is_whitespace() || letter.is_control());
        match has_host && is_plain {
            true => Ok(url),
            false => Err(format!(
                "`url` must begin with `https://` or `http://`, not `{}`",
                shown_url(&url)
            )),
        }
    }

    async fn secrets(
        &self,
        key: &str,
        secrets: &BTreeMap<String, Secret>,
        place: &ServerPlace,
    ) -> Result<BTreeMap<String, String>, String> {
        let mut values = BTreeMap::new();
        for (name, secret) in secrets {
            let value = self.secret(secret.expose(), place).await;
            let value = value.map_err(|why| format!("`{key}.{name}`: {why}"))?;
            values.insert(name.clone(), value);
        }
        Ok(values)
    }

    /// Returns a value of a variable or a header: what a command prints (only for the user's own file), a variable that
    /// the whole text names (only for a file of the user), or the text with its references resolved.
    async fn secret(&self, text: &str, place: &ServerPlace) -> Result<String, String> {
        if let Some(command) = text.strip_prefix('!') {
            return match place.is_own() {
                true => Ok(self.user.command_output(command.trim()).await?.expose().to_owned()),
                false => {
                    Err("a command (`!…`) is run for servers of your own mcp.json only".to_owned())
                }
            };
        }
        let named = (place.level == ServerLevel::User && is_variable_name(text))
            .then(|| self.values.named(text))
            .flatten();
        match named {
            Some(value) => Ok(value.to_owned()),
            None => self.values.resolved(text, place),
        }
    }
}

struct Program {
    command: OsString,
    arguments: Vec<OsString>,
    folder: Option<PathBuf>,
}

/// Returns the identity of a definition. The variables that every program gets are the same in a process, and differ
/// between terminals, so they are not part of it.
fn identity(
    entry: &ServerEntry,
    transport: &McpTransport,
    own: &BTreeMap<String, String>,
) -> String {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let reached = match transport {
        McpTransport::Stdio { command, arguments, folder, .. } => json!([
            "stdio",
            text(command),
            arguments.iter().map(text).collect::<Vec<_>>(),
            own,
            folder.as_ref().map(|folder| folder.to_string_lossy()),
        ]),
        McpTransport::Http { url, headers } => json!(["http", url, headers]),
        McpTransport::Sse { url, headers } => json!(["sse", url, headers]),
    };
    let workspace = entry.scope == ServerScope::Workspace;
    digest(json!([entry.name, entry.protocol, workspace, reached]).to_string().as_bytes())
}

fn is_header_value(value: &str) -> bool {
    value.chars().all(|letter| letter == '\t' || !letter.is_control())
}
