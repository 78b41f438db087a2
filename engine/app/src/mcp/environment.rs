//! The variables of our environment that the program of a server gets.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// The variables, besides those that begin with one of the beginnings.
const VARIABLES: [&str; 24] = [
    "ALL_PROXY",
    "CURL_CA_BUNDLE",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "PATH",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "GIT_SSL_CAINFO",
];

/// The beginnings of names.
const BEGINNINGS: [&str; 2] = ["LC_", "XDG_"];

/// Returns the variables that every program gets, without those of `removed`.
pub(super) fn base_environment(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    removed: &[String],
) -> BTreeMap<OsString, OsString> {
    let is_passed = |name: &OsString| {
        let Some(name) = name.to_str() else { return false };
        let is_listed = VARIABLES.contains(&name)
            || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
        is_listed && !removed.iter().any(|removed| removed == name)
    };
    all.into_iter().filter(|(name, _)| is_passed(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_what_every_program_needs_and_nothing_else() {
        let names = [
            "HOME",
            "PATH",
            "LC_ALL",
            "XDG_RUNTIME_DIR",
            "https_proxy",
            "SSL_CERT_FILE",
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "REGATTA_HOME",
            "GIT_DIR",
            "LD_PRELOAD",
            "TERM",
        ];
        let all = names.map(|name| (OsString::from(name), OsString::from("1")));
        let kept: Vec<_> = base_environment(all, &["TERM".to_owned()]).into_keys().collect();
        let expected =
            ["HOME", "LC_ALL", "PATH", "SSL_CERT_FILE", "XDG_RUNTIME_DIR", "https_proxy"];
        assert_eq!(kept, expected);
    }
}
