//! One server from its entry in a file: the keys of Regatta, and those of other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use super::entry::{
    ServerAddress, ServerEntry, ServerLevel, ServerPlace, ServerProgram, ServerScope, UrlKind,
};
use super::jsonc;
use super::user_file::is_server_name;
use crate::mistake::Mistake;
use crate::models_file::fields::Fields;
use crate::secret::Secret;
use crate::yaml::{Node, Value};

/// The longest text of an entry in bytes, and the most members of a list or an object.
const LONGEST: usize = 32 << 10;
const MOST: usize = 500;

/// The longest timeout.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 3_600);

/// Returns a server of its entry `node` below `key`. The keys that there are not are added to `unknown`, in files of
/// Regatta only.
pub(super) fn server(
    place: ServerPlace,
    name: &str,
    (key, node): (&str, &Node),
    unknown: &mut Vec<Mistake>,
) -> Result<ServerEntry, Mistake> {
    if !is_server_name(name) {
        let message = "a name has 1 to 100 letters, digits, `_`, `.` and `-`";
        return Err(Mistake::in_line(place.line, message));
    }
    let mut entry = Reader { fields: Fields::of(node, format!("{key}.{name}"))?, line: place.line };
    let address = entry.address(place.program)?;
    let is_disabled = entry.fields.flag("disabled")?.unwrap_or_default();
    let is_enabled = entry.fields.flag("enabled")?.unwrap_or(true) && !is_disabled;
    let (allowed_tools, denied_tools) = entry.tools()?;
    let hints = entry.fields.flag("trustReadOnlyHint")?.unwrap_or_default();
    let server = ServerEntry {
        name: name.to_owned(),
        address,
        is_enabled,
        is_required: entry.fields.flag("required")?.unwrap_or_default(),
        startup_timeout: entry.first_duration(&STARTUP_TIMEOUTS)?,
        timeout: entry.first_duration(&TIMEOUTS)?,
        protocol: entry.revision()?,
        scope: entry.scope()?,
        concurrency: entry.concurrency()?,
        allowed_tools,
        denied_tools,
        // A repository does not decide what needs no question.
        trusts_read_only_hints: hints && place.level == ServerLevel::User,
        place,
    };
    if server.place.program == ServerProgram::Regatta {
        entry.fields.rest(&["auth", "oauth", "sampling"], unknown);
    }
    Ok(server)
}

/// Checks an entry of the user's own file before it is written.
///
/// # Errors
/// It cannot be a server.
pub fn check_server(name: &str, entry: &serde_json::Value) -> Result<(), String> {
    let node = jsonc::read(&entry.to_string()).map_err(|mistake| mistake.message)?;
    let place = ServerPlace {
        program: ServerProgram::Regatta,
        level: ServerLevel::User,
        file: PathBuf::new(),
        line: 1,
    };
    let checked = server(place, name, ("mcpServers", &node), &mut Vec::new());
    checked.map(drop).map_err(|mistake| mistake.message)
}

/// The keys of a duration, with its unit.
const STARTUP_TIMEOUTS: [(&str, Unit); 3] = [
    ("startupTimeout", Unit::Milliseconds),
    ("startup_timeout_ms", Unit::Milliseconds),
    ("startup_timeout_sec", Unit::Seconds),
];
const TIMEOUTS: [(&str, Unit); 2] =
    [("timeout", Unit::Milliseconds), ("tool_timeout_sec", Unit::Seconds)];

#[derive(Clone, Copy)]
enum Unit {
    Milliseconds,
    Seconds,
}

struct Reader<'a> {
    fields: Fields<'a>,
    line: u64,
}

impl<'a> Reader<'a> {
    fn address(&mut self, program: ServerProgram) -> Result<ServerAddress, Mistake> {
        let kind = self.fields.text("type")?;
        let (command, environment) = (self.command()?, self.environment()?);
        let folder = self.bounded("cwd")?;
        let (url, usual) = self.url(program)?;
        let headers = self.headers()?;
        let wrong = |message: &str| Err(Mistake::in_line(self.line, message));
        match (kind.as_deref(), command, url) {
            (_, Some(_), Some(_)) => {
                wrong("it has a command and a URL; only one of them is allowed")
            }
            (None | Some("stdio" | "local"), Some((command, arguments)), None) => {
                Ok(ServerAddress::Program { command, arguments, environment, folder })
            }
            (None | Some("remote"), None, Some(url)) => {
                Ok(ServerAddress::Url { kind: usual, url, headers })
            }
            (
                Some("http" | "streamable-http" | "streamableHttp" | "streamable_http"),
                None,
                Some(url),
            ) => Ok(ServerAddress::Url { kind: UrlKind::Http, url, headers }),
            (Some("sse"), None, Some(url)) => {
                Ok(ServerAddress::Url { kind: UrlKind::Sse, url, headers })
            }
            (None, None, None) => wrong("it has neither a `command` nor a `url`"),
            (Some("stdio" | "local"), None, _) => wrong("its type needs a `command`"),
            (Some("http" | "sse" | "remote" | "streamable-http" | "streamableHttp"), _, _) => {
                wrong("its type needs a `url`, and has no `command`")
            }
            (Some(_), _, _) => wrong("its `type` must be `stdio`, `http` or `sse`"),
        }
    }

    /// Returns the program and its arguments. The command may be a list that begins with the program.
    fn command(&mut self) -> Result<Option<(String, Vec<String>)>, Mistake> {
        let given = match self.fields.take("command") {
            Some((line, node)) => match &node.value {
                Value::List(_) => {
                    let words = self.list(line, "command", node)?;
                    let mut words = words.into_iter();
                    words.next().map(|first| (first, words.collect()))
                }
                Value::Text(text) => Some((self.checked(line, "command", text)?, Vec::new())),
                _ => return Err(self.fields.mistake(line, "command", "a text or a list of texts")),
            },
            None => None,
        };
        let more = match self.fields.take("args") {
            Some((line, node)) => self.list(line, "args", node)?,
            None => Vec::new(),
        };
        let Some((command, mut arguments)) = given else { return Ok(None) };
        if command.trim().is_empty() {
            return Err(self.fields.mistake(self.line, "command", "the name of a program"));
        }
        arguments.extend(more);
        Ok(Some((command, arguments)))
    }

    fn environment(&mut self) -> Result<BTreeMap<String, Secret>, Mistake> {
        let mut environment = self.values("env")?;
        environment.extend(self.values("environment")?);
        if let Some((line, node)) = self.fields.take("env_vars") {
            for name in self.list(line, "env_vars", node)? {
                let value = Secret::new(format!("${{{name}:-}}"));
                environment.insert(name, value);
            }
        }
        let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
        match environment.keys().all(|name| is_name(name)) {
            true => Ok(environment),
            false => Err(self.fields.mistake(self.line, "env", "an object of names and values")),
        }
    }

    /// Returns the URL, and what is spoken there if no type says it.
    fn url(&mut self, program: ServerProgram) -> Result<(Option<String>, UrlKind), Mistake> {
        let streamable = self.bounded("httpUrl")?;
        let of_windsurf = self.bounded("serverUrl")?;
        let plain = self.bounded("url")?;
        let usual = match (&streamable, program) {
            (None, ServerProgram::Gemini) => UrlKind::Sse,
            _ => UrlKind::Http,
        };
        Ok((streamable.or(of_windsurf).or(plain), usual))
    }

    fn headers(&mut self) -> Result<BTreeMap<String, Secret>, Mistake> {
        let mut headers = self.values("headers")?;
        headers.extend(self.values("http_headers")?);
        for (name, variable) in self.values("env_http_headers")? {
            headers.insert(name, Secret::new(format!("${{{}}}", variable.expose())));
        }
        if let Some(variable) = self.bounded("bearer_token_env_var")? {
            headers
                .insert("Authorization".to_owned(), Secret::new(format!("Bearer ${{{variable}}}")));
        }
        let is_name = |name: &str| {
            let allowed =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            !name.is_empty() && name.bytes().all(allowed)
        };
        match headers.keys().all(|name| is_name(name)) {
            true => Ok(headers),
            false => {
                Err(self.fields.mistake(self.line, "headers", "an object of names and values"))
            }
        }
    }

    /// Returns the tools that are offered and those that are not.
    fn tools(&mut self) -> Result<(Option<BTreeSet<String>>, BTreeSet<String>), Mistake> {
        let (mut allowed, mut denied) = (None, BTreeSet::new());
        if let Some((line, node)) = self.fields.take("tools") {
            // In files of other programs it may mean something else.
            if let Value::Map(_) = &node.value {
                let mut tools = Self { fields: Fields::of(node, self.fields.key("tools"))?, line };
                allowed = tools.names(&["allow"])?;
                denied.extend(tools.names(&["deny"])?.into_iter().flatten());
            }
        }
        let others = self.names(&["enabled_tools", "includeTools"])?;
        denied.extend(self.names(&["disabled_tools", "excludeTools"])?.into_iter().flatten());
        Ok((allowed.or(others), denied))
    }

    fn names(&mut self, keys: &[&'static str]) -> Result<Option<BTreeSet<String>>, Mistake> {
        let mut names = None;
        for key in keys {
            if let Some((line, node)) = self.fields.take(key) {
                names = Some(self.list(line, key, node)?.into_iter().collect());
            }
        }
        Ok(names)
    }

    fn first_duration(
        &mut self,
        keys: &[(&'static str, Unit)],
    ) -> Result<Option<Duration>, Mistake> {
        let mut first = None;
        for (key, unit) in keys {
            let found = self.fields.read(key, |value| duration(value, *unit))?;
            first = first.or(found);
        }
        Ok(first)
    }

    fn revision(&mut self) -> Result<Option<String>, Mistake> {
        self.fields.read("protocol", |value| match value {
            Value::Text(text)
                if text.len() == 10 && text.bytes().all(|it| it.is_ascii_digit() || it == b'-') =>
            {
                Ok(text.clone())
            }
            _ => Err("a revision such as `2025-06-18`"),
        })
    }

    fn scope(&mut self) -> Result<ServerScope, Mistake> {
        let scope = self.fields.read("scope", |value| match value {
            Value::Text(text) if text == "shared" => Ok(ServerScope::Shared),
            Value::Text(text) if text == "workspace" => Ok(ServerScope::Workspace),
            _ => Err("`shared` or `workspace`"),
        })?;
        Ok(scope.unwrap_or_default())
    }

    fn concurrency(&mut self) -> Result<Option<NonZeroUsize>, Mistake> {
        self.fields.read("concurrency", |value| {
            match value {
                Value::Integer(count) if *count <= 1_000 => usize::try_from(*count).ok(),
                _ => None,
            }
            .and_then(NonZeroUsize::new)
            .ok_or("a whole number from 1 to 1000")
        })
    }

    /// Returns the values of an object, by their names.
    fn values(&mut self, key: &'static str) -> Result<BTreeMap<String, Secret>, Mistake> {
        let members = self.fields.take_map(key)?;
        if members.len() > MOST {
            return Err(self.fields.mistake(self.line, key, "an object of at most 500 values"));
        }
        let mut values = BTreeMap::new();
        for (name, line, node) in members {
            let expected = || self.fields.mistake(line, key, "an object of names and texts");
            let text = node.value.as_name().ok_or_else(expected)?;
            values.insert(name, Secret::new(self.checked(line, key, &text)?));
        }
        Ok(values)
    }

    fn list(&self, line: u64, key: &str, node: &Node) -> Result<Vec<String>, Mistake> {
        let expected = || self.fields.mistake(line, key, "a list of at most 500 texts");
        let items = match &node.value {
            Value::List(items) if items.len() <= MOST => items,
            _ => return Err(expected()),
        };
        // Other programs take numbers as well.
        let item = |item: &Node| item.value.as_name().ok_or_else(expected);
        let words = items.iter().map(item).collect::<Result<Vec<_>, _>>();
        words?.iter().map(|word| self.checked(line, key, word)).collect()
    }

    fn bounded(&mut self, key: &'static str) -> Result<Option<String>, Mistake> {
        match self.fields.text(key)? {
            Some(text) => self.checked(self.line, key, &text).map(Some),
            None => Ok(None),
        }
    }

    /// Returns a text that can be an argument, a variable or a part of a request.
    fn checked(&self, line: u64, key: &str, text: &str) -> Result<String, Mistake> {
        if text.len() > LONGEST || text.contains('\0') {
            return Err(self.fields.mistake(
                line,
                key,
                "of texts of at most 32 KiB, without a NUL",
            ));
        }
        if text.contains("${input:") {
            let message = format!(
                "`{}` asks for an input (`${{input:…}}`), which is not supported: use `${{VARIABLE}}`",
                self.fields.key(key)
            );
            return Err(Mistake::in_line(line, message));
        }
        Ok(text.to_owned())
    }
}

fn duration(value: &Value, unit: Unit) -> Result<Duration, &'static str> {
    let number = match value {
        Value::Integer(number) => u32::try_from(*number).ok().map(f64::from),
        Value::Number(number) => number.parse().ok(),
        _ => None,
    };
    let (factor, expected) = match unit {
        Unit::Milliseconds => (0.001, "a number of milliseconds, at most a day"),
        Unit::Seconds => (1.0, "a number of seconds, at most a day"),
    };
    let duration = number.and_then(|number| Duration::try_from_secs_f64(number * factor).ok());
    duration.filter(|it| !it.is_zero() && *it <= LONGEST_TIMEOUT).ok_or(expected)
}
