//! Keys, which are sent and never shown.

use std::fmt;
use std::sync::Arc;

use reqwest::header::HeaderValue;

/// A key of a provider.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Arc<str>);

impl Secret {
    /// Returns the key in `text`, if there is one.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let key = text.trim();
        (!key.is_empty()).then(|| Self(key.into()))
    }

    /// Returns what the header of a request says; nothing if no header can say it.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut header = HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        header.set_sensitive(true);
        Some(header)
    }

    /// Returns `text` without the key, which a provider may have quoted.
    pub(crate) fn hidden_in(&self, text: &str) -> String {
        // A key of a few letters is a stand-in; striking it out would only spoil words.
        if self.0.len() < 8 { text.to_owned() } else { text.replace(&*self.0, "[key]") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_trimmed_sent_and_never_shown() {
        let key = Secret::new(" sk-0123456789\n").unwrap();
        let header = key.header().unwrap();
        assert_eq!(header.as_bytes(), b"Bearer sk-0123456789");
        let shown = format!("{key:?} {header:?} {}", key.hidden_in("no such key: sk-0123456789!"));
        assert_eq!(shown, "Secret(…) Sensitive no such key: [key]!");
        assert_eq!(Secret::new("  "), None);
        assert_eq!(Secret::new("a\u{7}b").unwrap().header(), None);
    }
}
