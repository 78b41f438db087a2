//! The address of one model and how to authenticate there: base URL, model name and API key.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

use engine::ports::ModelRequest;
use protocol::{Failure, FailureClass, ThinkingLevel};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::api::Api;
use crate::history::{Images, Reader};
use crate::known_model::KnownModel;
use crate::printable::printable;
use crate::proxy::UsedProxy;
use crate::thinking_refusals::ThinkingRefusals;

/// One model at one address.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// The provider's name.
    pub(crate) provider: String,
    /// The id of the model at its provider.
    pub(crate) model: String,
    /// The base URL; the paths of the API are below it.
    pub(crate) base: Url,
    /// The API that is spoken there.
    pub(crate) api: Api,
    /// How much the model is to think, if the user says so.
    pub(crate) level: Option<ThinkingLevel>,
    /// What is known about the model, beside its name.
    pub(crate) known: KnownModel,
    /// What the user says about how the server departs from the API.
    pub(crate) compat: Arc<BTreeMap<String, Value>>,
    /// The models that have refused what they thought.
    pub(crate) thinking_refusals: ThinkingRefusals,
    pub(crate) key: Option<ApiKey>,
    /// The environment variable that the key is read from.
    pub(crate) variable: String,
    /// The proxy that its requests go through.
    pub(crate) proxy: Option<UsedProxy>,
    /// Other secrets that may be sent with requests, and are never shown either.
    pub(crate) hidden: Vec<ApiKey>,
}

/// A key has characters no header can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyNotHeader;

impl Endpoint {
    /// Returns the URL of `path` below the base URL.
    pub(crate) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// Returns the address of the list of models.
    pub(crate) fn models_url(&self) -> Url {
        let path = self.base.path().trim_end_matches('/');
        match self.api {
            Api::AnthropicMessages if !path.ends_with("/v1") => self.url(&["v1", "models"]),
            Api::GoogleGenerativeAi if path.is_empty() => self.url(&["v1beta", "models"]),
            Api::OpenAiCompletions
            | Api::OpenAiResponses
            | Api::AnthropicMessages
            | Api::GoogleGenerativeAi => self.url(&["models"]),
        }
    }

    /// Returns the header with the key, if there is one.
    ///
    /// # Errors
    /// The key has characters no header can hold.
    pub(crate) fn key_header(&self) -> Result<Option<(HeaderName, HeaderValue)>, KeyNotHeader> {
        let Some(key) = &self.key else { return Ok(None) };
        let (name, prefix) = match self.api {
            Api::OpenAiCompletions | Api::OpenAiResponses => (AUTHORIZATION, "Bearer "),
            // The token of a login is not a key.
            Api::AnthropicMessages if key.0.starts_with("sk-ant-oat") => (AUTHORIZATION, "Bearer "),
            Api::AnthropicMessages => (HeaderName::from_static("x-api-key"), ""),
            Api::GoogleGenerativeAi => (HeaderName::from_static("x-goog-api-key"), ""),
        };
        key.header(prefix).map(|value| Some((name, value))).ok_or(KeyNotHeader)
    }

    /// Returns the key, to tell its account from others.
    pub(crate) fn secret(&self) -> &str {
        self.key.as_ref().map_or("", |key| &*key.0)
    }

    /// Returns what stands for the address and a key and shows neither: a part of their hash, which is
    /// the same in every process.
    pub(crate) fn identity(&self, key: &str) -> String {
        let hash = Sha256::new().chain_update(self.base.origin().ascii_serialization());
        let hash = hash.chain_update([0]).chain_update(key).finalize();
        hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns how much the model is to think for a request; as much as its provider lets it if
    /// absent.
    pub(crate) fn thinking(&self, request: &ModelRequest) -> Option<ThinkingLevel> {
        let level = request.options.thinking.or(self.level)?;
        // A model that never thinks is not told so.
        (self.known.thinks != Some(false)).then(|| level.of_model(&self.known.levels))
    }

    /// Returns how many tokens the answer to a request may have, if the request says so.
    pub(crate) fn output_limit(&self, request: &ModelRequest) -> Option<NonZeroU32> {
        let limit = request.options.output_limit?;
        Some(self.known.output.map_or(limit, |most| limit.min(most)))
    }

    /// Returns the model as the reader of a conversation. If it is not known whether it sees images,
    /// `images` says so.
    pub(crate) fn reader(&self, images: Images) -> Reader<'_> {
        let images = self.known.images.unwrap_or(images);
        let (provider, model) = (self.provider.as_str(), self.model.as_str());
        Reader { api: self.api.name(), provider, model, images }
    }

    /// Returns the base URL for messages: without its query, which may hold secrets.
    pub(crate) fn display_url(&self) -> String {
        let mut url = self.base.clone();
        url.set_query(None);
        printable(url.as_str().trim_end_matches('/'), 200)
    }

    /// Returns a text of the provider for messages: printable, shortened and without the API key and
    /// other secrets.
    pub(crate) fn redact(&self, text: &str, most: usize) -> String {
        let secrets = self.key.iter().chain(&self.hidden);
        let redacted = secrets.fold(text.to_owned(), |text, secret| secret.redact(&text));
        printable(&redacted, most)
    }
}

/// Parses a base URL.
pub(crate) fn base_url(text: &str) -> Result<Url, Failure> {
    let refused = |why: &str| {
        let what = format!("`{}` is not a base URL: {why}", printable(text, 100));
        Failure::new(FailureClass::Invalid, what)
    };
    let mut url = Url::parse(text.trim()).map_err(|error| refused(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(refused("it has to begin with http:// or https:// and a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // The message does not quote the URL, because the URL may contain a password.
        let what = "a base URL holds no user and no password; keys come from the environment";
        return Err(Failure::new(FailureClass::Invalid, what));
    }
    url.set_fragment(None);
    // A user may give the whole URL of the endpoint instead of the base URL.
    let path = url.path().trim_end_matches('/');
    let ends = Api::ENDS.iter().find_map(|end| path.strip_suffix(end));
    let path = ends.unwrap_or(path).to_owned();
    url.set_path(&path);
    Ok(url)
}

/// An API key, which is sent and never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ApiKey(Arc<str>);

impl ApiKey {
    /// Returns the key in `text`; `None` if there is only white space.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let key = text.trim();
        (!key.is_empty()).then(|| Self(key.into()))
    }

    /// Returns the key, to be sent and never shown.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Returns a header with the key after `prefix`; `None` if the key has characters no header can
    /// hold.
    pub(crate) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut header = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        header.set_sensitive(true);
        Some(header)
    }

    /// Returns `text` without the key, which a provider may have quoted.
    pub(crate) fn redact(&self, text: &str) -> String {
        // A key of a few letters is a placeholder. It is kept, because it may be part of a word.
        if self.0.len() < 8 { text.to_owned() } else { text.replace(&*self.0, "[key]") }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str) -> Endpoint {
        Endpoint {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            base: base_url(text).unwrap(),
            api: Api::OpenAiCompletions,
            level: None,
            known: KnownModel::default(),
            compat: Arc::default(),
            thinking_refusals: ThinkingRefusals::default(),
            key: None,
            variable: "P_API_KEY".to_owned(),
            proxy: None,
            hidden: Vec::new(),
        }
    }

    #[test]
    fn paths_go_below_the_base_however_it_is_written() {
        let cases = [
            ("http://h:1/v1", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
            ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
            (" http://h ", "http://h/chat/completions"),
            ("https://h/d/x?api-version=2#y", "https://h/d/x/chat/completions?api-version=2"),
        ];
        for (base, url) in cases {
            assert_eq!(endpoint(base).url(&["chat", "completions"]).as_str(), url);
        }
        assert_eq!(endpoint("https://h/v1/?key=secret").display_url(), "https://h/v1");
    }

    #[test]
    fn what_is_no_base_url_is_refused_and_passwords_are_not_repeated() {
        for text in ["", "localhost:11434", "127.0.0.1:8080/v1", "file:///etc/passwd", "http://"] {
            assert_eq!(base_url(text).unwrap_err().class, FailureClass::Invalid, "{text}");
        }
        let failure = base_url("http://ada:sekret@h/v1").unwrap_err();
        assert!(!failure.message.contains("sekret"), "{}", failure.message);
    }

    #[test]
    fn a_key_is_in_the_header_of_its_api_and_the_token_of_a_login_is_a_bearer() {
        let header = |api: Api, key: &str| {
            let endpoint = Endpoint { api, key: ApiKey::new(key), ..endpoint("https://h") };
            let (name, value) = endpoint.key_header().unwrap().unwrap();
            format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))
        };
        assert_eq!(header(Api::AnthropicMessages, "sk-ant-api03-x"), "x-api-key: sk-ant-api03-x");
        let token = "sk-ant-oat01-x";
        assert_eq!(header(Api::AnthropicMessages, token), format!("authorization: Bearer {token}"));
        assert_eq!(header(Api::GoogleGenerativeAi, token), format!("x-goog-api-key: {token}"));
    }

    #[test]
    fn a_key_is_trimmed_sent_and_never_shown() {
        let key = ApiKey::new(" sk-0123456789\n").unwrap();
        let header = key.header("Bearer ").unwrap();
        assert_eq!(header.as_bytes(), b"Bearer sk-0123456789");
        let shown = format!("{key:?} {header:?} {}", key.redact("no such key: sk-0123456789!"));
        assert_eq!(shown, "ApiKey(…) Sensitive no such key: [key]!");
        assert_eq!(ApiKey::new("  "), None);
        assert_eq!(ApiKey::new("a\u{7}b").unwrap().header(""), None);
    }
}
