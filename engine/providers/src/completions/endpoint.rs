//! Where a provider is, and who asks there.

use protocol::{Failure, FailureClass};
use url::Url;

use crate::known::Dialect;
use crate::printable::printable;
use crate::secret::Secret;

/// One model behind one address.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// The provider's name.
    pub(crate) provider: String,
    /// The provider's name of the model.
    pub(crate) model: String,
    /// Where it is; the paths of the interface are below it.
    pub(crate) base: Url,
    pub(crate) dialect: Dialect,
    pub(crate) key: Option<Secret>,
    /// The environment variable that holds the key, or would.
    pub(crate) variable: String,
}

impl Endpoint {
    /// Returns where `path` is below the base.
    pub(crate) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// Returns the base as it may be shown.
    pub(crate) fn shown(&self) -> String {
        let mut url = self.base.clone();
        url.set_query(None);
        printable(url.as_str().trim_end_matches('/'), 200)
    }

    /// Returns words of the provider as they may be shown.
    pub(crate) fn words(&self, text: &str, most: usize) -> String {
        let hidden = self.key.as_ref().map(|key| key.hidden_in(text));
        printable(hidden.as_deref().unwrap_or(text), most)
    }
}

/// Reads a base URL.
pub(crate) fn base(text: &str) -> Result<Url, Failure> {
    let refused = |why: &str| {
        let what = format!("`{}` is no base URL: {why}", printable(text, 100));
        Failure::new(FailureClass::Invalid, what)
    };
    let mut url = Url::parse(text.trim()).map_err(|error| refused(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(refused("it has to begin with http:// or https:// and a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // Without the text: it holds a password.
        let what = "a base URL holds no user and no password; keys come from the environment";
        return Err(Failure::new(FailureClass::Invalid, what));
    }
    url.set_fragment(None);
    // People copy the whole address of the interface.
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path).to_owned();
    url.set_path(&path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::PLAIN;

    fn endpoint(text: &str) -> Endpoint {
        Endpoint {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            base: base(text).unwrap(),
            dialect: PLAIN,
            key: None,
            variable: "P_API_KEY".to_owned(),
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
        assert_eq!(endpoint("https://h/v1/?key=secret").shown(), "https://h/v1");
    }

    #[test]
    fn what_is_no_base_url_is_refused_and_passwords_are_not_repeated() {
        for text in ["", "localhost:11434", "127.0.0.1:8080/v1", "file:///etc/passwd", "http://"] {
            assert_eq!(base(text).unwrap_err().class, FailureClass::Invalid, "{text}");
        }
        let failure = base("http://ada:sekret@h/v1").unwrap_err();
        assert!(!failure.message.contains("sekret"), "{}", failure.message);
    }
}
