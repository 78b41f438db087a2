//! One provider of the file of models.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use protocol::{is_api_version, quote_within};

use super::api_name::ApiName;
use super::compat::{CompatSwitches, compat};
use super::fields::{Fields, line_of};
use super::model::{ModelEntry, id_of, is_model_id};
use super::oauth::OauthEntry;
use crate::mistake::Mistake;
use crate::secret::{Secret, ValueSource};
use crate::yaml::{Node, Value};

/// What the user says about a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderEntry {
    /// The base URL of its API, with http or https, a host and no password.
    pub base_url: Option<String>,
    /// Where its API key comes from.
    pub api_key: Option<ValueSource>,
    /// The wire API that it speaks.
    pub api: Option<ApiName>,
    /// Headers of each request.
    pub headers: BTreeMap<String, ValueSource>,
    /// Whether the key is also sent as `Authorization: Bearer`.
    pub auth_header: bool,
    /// How it wants to be authenticated.
    pub auth: AuthKind,
    /// Whether plain HTTP to another machine is wanted.
    pub allow_http: bool,
    /// The proxy of its requests. It may contain a password.
    pub proxy: Option<Secret>,
    /// How much of it is used.
    pub limits: ProviderLimits,
    /// How the user logs in there.
    pub oauth: Option<OauthEntry>,
    /// How it departs from the API that it speaks.
    pub compat: CompatSwitches,
    /// Whether tools say nothing of `strict`.
    pub disable_strict_tools: bool,
    /// The kind of server on this machine that is asked for its models.
    pub discovery: Option<DiscoveryKind>,
    /// Changes of known models, by id.
    pub overrides: BTreeMap<String, ModelEntry>,
    /// Its own models, by id.
    pub models: BTreeMap<String, ModelEntry>,
}

/// How much of a provider is used at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProviderLimits {
    /// Requests at the same time.
    pub concurrency: Option<NonZeroUsize>,
    /// Requests that begin within a minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens of the requests that begin within a minute.
    pub tokens_per_minute: Option<NonZeroU64>,
}

/// How a provider wants to be authenticated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthKind {
    /// By an API key.
    #[default]
    ApiKey,
    /// By a login: `oauth`.
    Login,
    /// Not at all.
    None,
}

/// The kinds of servers that list the models that they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoveryKind {
    /// Ollama.
    Ollama,
    /// The server of llama.cpp.
    LlamaCpp,
    /// LM Studio.
    LmStudio,
}

/// The maximum number of headers.
const MOST_HEADERS: usize = 50;

impl ProviderEntry {
    /// Parses the provider `name`.
    pub(super) fn parse(
        name: &str,
        node: &Node,
        warnings: &mut Vec<Mistake>,
    ) -> Result<Self, Mistake> {
        let path = format!("providers.{name}");
        let mut fields = Fields::of(node, path.clone())?;
        let entry = Self {
            base_url: fields.read("baseUrl", base_url)?,
            api_key: fields.text("apiKey")?.map(|text| ValueSource::parse(&text)),
            api: fields.read("api", ApiName::read)?,
            headers: headers(&mut fields)?,
            auth_header: fields.flag("authHeader")?.unwrap_or(false),
            auth: fields.read("auth", auth)?.unwrap_or_default(),
            allow_http: fields.flag("allowHttp")?.unwrap_or(false),
            proxy: fields.read("proxyUrl", proxy)?,
            limits: limits(&mut fields, warnings)?,
            oauth: OauthEntry::parse(&mut fields, warnings)?,
            compat: compat(&mut fields, warnings)?,
            disable_strict_tools: fields.flag("disableStrictTools")?.unwrap_or(false),
            discovery: discovery(&mut fields, warnings)?,
            overrides: overrides(&mut fields, warnings)?,
            models: models(&mut fields, warnings)?,
        };
        fields.rest(&[], warnings);
        entry.check(&path, node)?;
        warnings.extend(entry.useless_compat(&path, node));
        Ok(entry)
    }

    /// Returns the warning about switches of an API that is not spoken.
    fn useless_compat(&self, path: &str, node: &Node) -> Option<Mistake> {
        let speaks = |api: Option<ApiName>| api.is_none_or(|it| it == ApiName::OpenAiCompletions);
        let mut of_models = self
            .all_models()
            .filter(|(_, _, model)| !model.compat.is_empty() && !speaks(model.api.or(self.api)));
        let own = !self.compat.is_empty()
            && !speaks(self.api)
            && !self.all_models().any(|(_, _, it)| speaks(it.api));
        let line = match of_models.next() {
            Some((list, id, _)) => line_of(node, &[list, id, "compat"]),
            None if own => line_of(node, &["compat"]),
            None => return None,
        };
        let message = format!("`{path}.compat` has an effect with the API openai-completions only");
        Some(Mistake::in_line(line, message))
    }

    /// Returns its own models and changed ones, each with its list and its id.
    fn all_models(&self) -> impl Iterator<Item = (&'static str, &String, &ModelEntry)> {
        let own = self.models.iter().map(|(id, model)| ("models", id, model));
        own.chain(self.overrides.iter().map(|(id, model)| ("modelOverrides", id, model)))
    }

    /// Checks what the members must be together.
    fn check(&self, path: &str, node: &Node) -> Result<(), Mistake> {
        let refused =
            |keys: &[&str], message: String| Err(Mistake::in_line(line_of(node, keys), message));
        let known = ["ollama", "llama.cpp", "lm-studio", "vllm"];
        let local = known.iter().any(|name| path.ends_with(&format!("providers.{name}")));
        if !self.models.is_empty() {
            let keyed = self.api_key.is_some() || self.auth == AuthKind::None || local;
            let keyed = keyed || self.oauth.is_some();
            let spoken =
                self.api.is_some() || local || self.models.values().all(|it| it.api.is_some());
            let addressed = self.base_url.is_some()
                || local
                || self.models.values().all(|it| it.base_url.is_some());
            let key = "`apiKey` (or `oauth`, or `auth: none`)";
            let all = [(addressed, "`baseUrl`"), (spoken, "`api`"), (keyed, key)];
            if let Some(missing) = missing(&all) {
                return refused(&["models"], format!("`{path}` needs {missing} beside `models`"));
            }
        } else if *self == Self::default() {
            return refused(&[], format!("`{path}` says nothing that has an effect"));
        }
        if self.discovery.is_some() {
            let addressed = self.base_url.is_some() || local;
            let spoken = self.api.is_some() || local;
            if let Some(missing) = missing(&[(addressed, "`baseUrl`"), (spoken, "`api`")]) {
                let message = format!("`{path}` needs {missing} beside `discovery`");
                return refused(&["discovery"], message);
            }
        }
        if self.auth == AuthKind::Login && self.oauth.is_none() {
            let message = format!("`{path}.oauth` must be set beside `auth: oauth`");
            return refused(&["auth"], message);
        }
        let oauth = self.oauth.iter().flat_map(OauthEntry::addresses);
        for (key, _url) in oauth.filter(|(_, url)| plain_http_to_elsewhere(url)) {
            if !self.allow_http {
                let message = format!(
                    "`{path}.oauth.{key}` is plain http to another machine, where others can read \
                     the login (`allowHttp: true` allows it)"
                );
                return refused(&["oauth", key], message);
            }
        }
        let of_models = self.all_models().map(|(list, id, model)| {
            (vec![list, id, "baseUrl"], format!("{id}.baseUrl"), &model.base_url)
        });
        let own = std::iter::once((vec!["baseUrl"], "baseUrl".to_owned(), &self.base_url));
        for (keys, key, url) in own.chain(of_models) {
            let far = url.as_deref().is_some_and(plain_http_to_elsewhere);
            if far && !self.allow_http {
                let message = format!(
                    "`{path}.{key}` is plain http to another machine, where others can read the \
                     key (`allowHttp: true` allows it)"
                );
                return refused(&keys, message);
            }
        }
        Ok(())
    }
}

fn limits(fields: &mut Fields<'_>, warnings: &mut Vec<Mistake>) -> Result<ProviderLimits, Mistake> {
    let Some((_line, node)) = fields.take("limits") else { return Ok(ProviderLimits::default()) };
    let mut limits = Fields::of(node, fields.key("limits"))?;
    let read = ProviderLimits {
        concurrency: limits
            .count("concurrency")?
            .and_then(|count| NonZeroUsize::new(usize::try_from(count).ok()?)),
        requests_per_minute: limits
            .count("requestsPerMinute")?
            .and_then(|count| NonZeroU32::new(u32::try_from(count).ok()?)),
        tokens_per_minute: limits.count("tokensPerMinute")?.and_then(NonZeroU64::new),
    };
    limits.rest(&[], warnings);
    Ok(read)
}

/// Parses a base URL. It is shown in messages and therefore must not contain a secret.
pub(super) fn base_url(value: &Value) -> Result<String, &'static str> {
    const EXPECTED: &str = "a URL that begins with http:// or https:// and a host, without a user or a \
         password, and without a `?` except `?api-version=`";
    let Value::Text(text) = value else { return Err(EXPECTED) };
    let (address, query) = text
        .split_once('?')
        .map_or((text.as_str(), None), |(address, query)| (address, Some(query)));
    let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
    let authority = rest.and_then(|rest| rest.split(['/', '#']).next()).unwrap_or_default();
    let spoiled =
        |letter: char| letter.is_control() || letter.is_whitespace() || "?#\\".contains(letter);
    let fine = !authority.is_empty()
        && !authority.starts_with(':')
        && !authority.contains('@')
        && text.len() <= 2_000
        && !address.chars().any(spoiled)
        && query.is_none_or(is_api_version);
    if !fine {
        return Err(EXPECTED);
    }
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Ok(format!("{}{query}", address.trim_end_matches('/')))
}

/// Returns whether a base URL is plain HTTP to a machine other than this one.
fn plain_http_to_elsewhere(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let here = host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|it| it.is_loopback() || it.is_unspecified());
    !here
}

fn proxy(value: &Value) -> Result<Secret, &'static str> {
    const EXPECTED: &str = "the URL of a proxy: http://, https:// or socks5:// and a host";
    let Value::Text(text) = value else { return Err(EXPECTED) };
    let schemes = ["http://", "https://", "socks5://", "socks5h://"];
    let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    let spoiled = |letter: char| letter.is_control() || letter.is_whitespace();
    let fine = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    let fine = fine && text.len() <= 2_000 && !text.chars().any(spoiled);
    if fine { Ok(Secret::new(text.as_str())) } else { Err(EXPECTED) }
}

/// Returns the keys that are not there, as a list: "`a`, `b` and `c`".
fn missing(keys: &[(bool, &str)]) -> Option<String> {
    let missing: Vec<_> = keys.iter().filter(|(there, _)| !there).map(|(_, key)| *key).collect();
    let (last, before) = missing.split_last()?;
    Some(if before.is_empty() {
        (*last).to_owned()
    } else {
        format!("{} and {last}", before.join(", "))
    })
}

fn auth(value: &Value) -> Result<AuthKind, &'static str> {
    match value {
        Value::Text(text) if text == "apiKey" => Ok(AuthKind::ApiKey),
        Value::Text(text) if text == "none" => Ok(AuthKind::None),
        Value::Text(text) if text == "oauth" => Ok(AuthKind::Login),
        _ => Err("`apiKey`, `oauth` or `none`"),
    }
}

fn discovery(
    fields: &mut Fields<'_>,
    warnings: &mut Vec<Mistake>,
) -> Result<Option<DiscoveryKind>, Mistake> {
    let Some((line, node)) = fields.take("discovery") else { return Ok(None) };
    let mut below = Fields::of(node, fields.key("discovery"))?;
    let kind = |value: &Value| match value {
        Value::Text(text) if text == "ollama" => Ok(DiscoveryKind::Ollama),
        Value::Text(text) if text == "llama.cpp" => Ok(DiscoveryKind::LlamaCpp),
        Value::Text(text) if text == "lm-studio" => Ok(DiscoveryKind::LmStudio),
        _ => Err("`ollama`, `llama.cpp` or `lm-studio`"),
    };
    let kind = below.read("type", kind)?;
    below.rest(&[], warnings);
    kind.map(Some).ok_or_else(|| fields.mistake(line, "discovery", "a mapping with `type`"))
}

/// Parses the headers of a provider or a model.
pub(super) fn headers(fields: &mut Fields<'_>) -> Result<BTreeMap<String, ValueSource>, Mistake> {
    let members = fields.take_map("headers")?;
    let line = members.first().map_or(1, |(_, line, _)| *line);
    if members.len() > MOST_HEADERS {
        return Err(fields.mistake(line, "headers", "at most 50 headers"));
    }
    let mut headers = BTreeMap::new();
    for (name, line, node) in members {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let value = match &node.value {
            Value::Text(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            _ => None,
        };
        let value = value.filter(|text| !text.chars().any(char::is_control));
        let named = (1..=100).contains(&name.len()) && name.bytes().all(token);
        let Some(value) = value.filter(|_| named) else {
            let key = format!("headers.{}", quote_within(&name, 60));
            return Err(fields.mistake(line, &key, "a header: a name, and a text of one line"));
        };
        headers.insert(name, ValueSource::parse(&value));
    }
    Ok(headers)
}

fn overrides(
    fields: &mut Fields<'_>,
    warnings: &mut Vec<Mistake>,
) -> Result<BTreeMap<String, ModelEntry>, Mistake> {
    let path = fields.key("modelOverrides");
    let mut overrides = BTreeMap::new();
    for (id, line, node) in fields.take_map("modelOverrides")? {
        if !is_model_id(&id) {
            let message = format!("`{path}` has an id that no model can have");
            return Err(Mistake::in_line(line, message));
        }
        let below = Fields::of(node, format!("{path}.{}", quote_within(&id, 60)))?;
        overrides.insert(id, ModelEntry::parse(below, warnings)?);
    }
    Ok(overrides)
}

fn models(
    fields: &mut Fields<'_>,
    warnings: &mut Vec<Mistake>,
) -> Result<BTreeMap<String, ModelEntry>, Mistake> {
    let Some((line, node)) = fields.take("models") else { return Ok(BTreeMap::new()) };
    let Value::List(list) = &node.value else {
        return Err(fields.mistake(line, "models", "a list of models, each with an `id`"));
    };
    let mut models = BTreeMap::new();
    for (at, node) in list.iter().enumerate() {
        let path = fields.key(&format!("models[{at}]"));
        let id = id_of(node, &path)?;
        let mut below = Fields::of(node, path.clone())?;
        below.take("id");
        if models.insert(id.clone(), ModelEntry::parse(below, warnings)?).is_some() {
            let message =
                format!("`{path}.id`: two models have the id `{}`", quote_within(&id, 60));
            return Err(Mistake::in_line(node.line, message));
        }
    }
    Ok(models)
}
