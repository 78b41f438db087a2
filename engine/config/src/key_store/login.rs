//! Stored logins: tokens that expire, and are renewed by one process for all.

use std::fs::File;

use std::time::Duration;

use serde_json::{Value, json};

use super::{KeyStore, KeyStoreError};
use crate::secret::{Secret, api_key};

/// How long a process waits for another one that renews a token.
const RENEWAL: Duration = Duration::from_secs(60);

/// What a login has brought besides the token that is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginTokens {
    /// The token with which a new one can be had.
    pub refresh: Option<Secret>,
    /// When the token that is sent expires, in milliseconds since 1970, if it is known.
    pub expires: Option<u64>,
}

/// The right to renew the tokens of one login.
#[derive(Debug)]
pub struct LoginLock(#[expect(dead_code, reason = "it is held")] File);

impl LoginTokens {
    /// Returns what an entry of the file says about a login; `None` if it is a key.
    pub(super) fn of_entry(entry: &Value) -> Result<Option<Self>, &'static str> {
        if entry.get("access").is_none() {
            return Ok(None);
        }
        let refresh = match entry.get("refresh") {
            None | Some(Value::Null) => None,
            Some(Value::String(token)) => {
                let token = api_key(token).map_err(|_why| "`refresh` is not a token")?;
                Some(token)
            }
            Some(_other) => return Err("`refresh` must be a text"),
        };
        let expires = match entry.get("expires") {
            None | Some(Value::Null) => None,
            Some(at) => Some(at.as_u64().ok_or("`expires` must be a number of milliseconds")?),
        };
        Ok(Some(Self { refresh, expires }))
    }
}

impl KeyStore {
    /// Stores what a login has brought. A key or login of the same provider and name is replaced.
    /// What is stored is durable.
    ///
    /// # Errors
    /// A token is not one, or the file cannot be changed. It is then as it was.
    pub fn store_login(
        &self,
        provider: &str,
        name: &str,
        access: &str,
        tokens: &LoginTokens,
    ) -> Result<(), KeyStoreError> {
        let access = api_key(access)?;
        let refresh = tokens.refresh.as_ref().map(|token| api_key(token.expose())).transpose()?;
        let entry = json!({
            "provider": provider,
            "name": name,
            "type": "oauth",
            "access": access.expose(),
            "refresh": refresh.as_ref().map(Secret::expose),
            "expires": tokens.expires,
        });
        self.put(provider, name, entry)
    }

    /// Takes the right to renew the tokens of a login, for which other processes may have to be
    /// waited, and checks that new ones could be stored.
    ///
    /// # Errors
    /// Another process has it for too long, or the file cannot be changed.
    pub fn lock_login(&self, provider: &str) -> Result<LoginLock, KeyStoreError> {
        self.make_folder()?;
        let letter = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
        let provider: String = provider.chars().take(60).map(letter).collect();
        let lock = self.lock(&format!("json.{provider}.lock"), RENEWAL)?;
        self.check_writable()?;
        Ok(LoginLock(lock))
    }
}
