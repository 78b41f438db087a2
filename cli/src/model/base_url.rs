//! Where a provider is, as it is typed.

use std::fmt;
use std::str::FromStr;

/// The address that a provider's paths begin with: http or https, a host, and a path if it has
/// one. It holds no name and no password, so that it can be shown and logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(String);

/// How long an address may be.
const LONGEST: usize = 2_000;

impl BaseUrl {
    /// Returns the address, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |why: &str| Err(why.to_owned());
        let Some((scheme, rest)) = text.split_once("://") else {
            return refused("it begins with http:// or https://");
        };
        if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
            return refused("it begins with http:// or https://");
        }
        if text.len() > LONGEST || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return refused("an address has no spaces in it, and is not that long");
        }
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return refused("it must hold no name and no password; a key is taken from a variable");
        }
        if path.contains(['?', '#', '\\']) {
            return refused("it ends with a path: the provider's own paths are put behind it");
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        if host.is_empty() {
            return refused("it names no host");
        }
        if port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return refused("its port is no number up to 65535");
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_without_the_slash_at_its_end() {
        for (text, address) in [
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
            ("HTTPS://models.example", "HTTPS://models.example"),
            ("http://[::1]:11434", "http://[::1]:11434"),
            ("http://[::1]/v1", "http://[::1]/v1"),
        ] {
            assert_eq!(text.parse::<BaseUrl>().unwrap().as_str(), address);
        }
    }

    #[test]
    fn what_is_no_address_or_holds_a_secret_is_refused() {
        for (text, why) in [
            ("localhost:8080", "begins with http://"),
            ("ftp://a", "begins with http://"),
            ("", "begins with http://"),
            ("http://", "no host"),
            ("http:///v1", "no host"),
            ("http://:80", "no host"),
            ("http://a:port", "port"),
            ("http://a:99999", "port"),
            ("http://a:", "port"),
            ("http://me:secret@a/v1", "no password"),
            ("http://a b", "no spaces"),
            ("http://a/\n", "no spaces"),
            ("http://a/v1?key=secret", "ends with a path"),
            ("http://a#b", "ends with a path"),
        ] {
            let said = text.parse::<BaseUrl>().unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
            assert!(!said.contains("secret"), "{said}");
        }
        assert!(format!("http://{}", "a".repeat(3_000)).parse::<BaseUrl>().is_err());
    }
}
