//! How the user logs in at a provider of the file of models.

use super::fields::Fields;
use crate::mistake::Mistake;
use crate::secret::ValueSource;
use crate::yaml::Value;

/// How the user logs in at a provider, by OAuth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OauthEntry {
    /// The page at which the user logs in.
    pub authorize_url: Option<String>,
    /// Where tokens are given.
    pub token_url: String,
    /// Where codes for other devices are given.
    pub device_url: Option<String>,
    /// Where the browser goes at the end.
    pub redirect_url: Option<String>,
    /// The id of this program at the server.
    pub client_id: String,
    /// The secret of this program at the server.
    pub client_secret: Option<ValueSource>,
    /// What the program asks for.
    pub scopes: Vec<String>,
}

/// The maximum number of scopes.
const MOST_SCOPES: usize = 100;

impl OauthEntry {
    /// Parses the member `oauth`.
    pub(super) fn parse(
        fields: &mut Fields<'_>,
        warnings: &mut Vec<Mistake>,
    ) -> Result<Option<Self>, Mistake> {
        let path = fields.key("oauth");
        let Some((line, node)) = fields.take("oauth") else { return Ok(None) };
        let mut below = Fields::of(node, path.clone())?;
        let authorize_url = below.read("authorizeUrl", address)?;
        let token_url = below.read("tokenUrl", address)?;
        let device_url = below.read("deviceUrl", address)?;
        let redirect_url = below.read("redirectUrl", redirect)?;
        let client_id = below.read("clientId", one_line)?;
        let client_secret = below.text("clientSecret")?.map(|text| ValueSource::parse(&text));
        let scopes = below.read("scopes", scopes)?.unwrap_or_default();
        below.rest(&[], warnings);
        let missing = |key: &str| Mistake::in_line(line, format!("`{path}.{key}` must be set"));
        if authorize_url.is_none() && device_url.is_none() {
            let message = format!("`{path}.authorizeUrl` or `{path}.deviceUrl` must be set");
            return Err(Mistake::in_line(line, message));
        }
        Ok(Some(Self {
            authorize_url,
            token_url: token_url.ok_or_else(|| missing("tokenUrl"))?,
            device_url,
            redirect_url,
            client_id: client_id.ok_or_else(|| missing("clientId"))?,
            client_secret,
            scopes,
        }))
    }

    /// Returns the addresses to which secrets are sent, with their keys.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("authorizeUrl", self.authorize_url.as_deref()),
            ("tokenUrl", Some(self.token_url.as_str())),
            ("deviceUrl", self.device_url.as_deref()),
        ];
        all.into_iter().filter_map(|(key, url)| Some((key, url?)))
    }
}

fn one_line(value: &Value) -> Result<String, &'static str> {
    match value {
        Value::Text(text)
            if (1..=500).contains(&text.len()) && !text.chars().any(char::is_control) =>
        {
            Ok(text.clone())
        }
        Value::Integer(number) => Ok(number.to_string()),
        _ => Err("a text of one line"),
    }
}

/// Checks a URL. It is shown in messages and therefore must not contain a password.
fn address(value: &Value) -> Result<String, &'static str> {
    const EXPECTED: &str =
        "a URL that begins with http:// or https:// and a host, without a user or a password";
    let Value::Text(text) = value else { return Err(EXPECTED) };
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let spoiled = |letter: char| letter.is_control() || letter.is_whitespace() || letter == '\\';
    let fine = !host.is_empty()
        && !host.starts_with(':')
        && !host.contains('@')
        && text.len() <= 2_000
        && !text.chars().any(spoiled);
    if fine { Ok(text.clone()) } else { Err(EXPECTED) }
}

/// Checks the address to which the browser goes at the end.
fn redirect(value: &Value) -> Result<String, &'static str> {
    const EXPECTED: &str = "a URL of this machine: http:// and 127.0.0.1, [::1] or localhost";
    let text = address(value).map_err(|_other| EXPECTED)?;
    let here = ["http://127.0.0.1", "http://[::1]", "http://localhost"];
    let rest = here.iter().find_map(|start| text.strip_prefix(start));
    let ends = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']));
    if ends && !text.contains(['?', '#']) { Ok(text) } else { Err(EXPECTED) }
}

fn scopes(value: &Value) -> Result<Vec<String>, &'static str> {
    const EXPECTED: &str = "a list of words, or a text with words between spaces";
    let word = |text: &str| {
        let fine = (1..=200).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_graphic());
        fine.then(|| text.to_owned()).ok_or(EXPECTED)
    };
    let scopes: Vec<String> = match value {
        Value::Text(text) => text.split_whitespace().map(word).collect::<Result<_, _>>()?,
        Value::List(list) => list
            .iter()
            .map(|node| match &node.value {
                Value::Text(text) => word(text),
                _ => Err(EXPECTED),
            })
            .collect::<Result<_, _>>()?,
        _ => return Err(EXPECTED),
    };
    if scopes.len() <= MOST_SCOPES { Ok(scopes) } else { Err("at most 100 scopes") }
}
