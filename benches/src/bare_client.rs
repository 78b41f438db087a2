//! A client that has conversations with a model and does what the model calls for, and nothing else:
//! no ledger, no log, no events, no limits. What an engine is measured against.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use tokio::task::{JoinSet, spawn_blocking};

/// The word that makes a bench be the client instead of measuring.
const WORD: &str = "--bare-client";

/// What the client does: all conversations at once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BareWork {
    /// Where requests are sent.
    pub url: String,
    /// The conversations, each a list of requests.
    pub conversations: Vec<Vec<BareTurn>>,
}

/// A request, and what its answer calls for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BareTurn {
    /// The body of the request.
    pub body: String,
    /// What is done before the next request.
    pub then: BareCall,
}

/// What a tool does, by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum BareCall {
    /// Reads a file.
    Read(String),
    /// Runs a command in a shell, and reads what it writes.
    Run(String),
    /// Writes a file.
    Write(String, String),
    /// Nothing: the conversation is over.
    Nothing,
}

/// Returns the command that does this work in `folder`.
///
/// # Panics
/// When the work cannot be written down at `file`.
#[must_use]
pub fn bare_client(work: &BareWork, file: &Path, folder: &Path) -> Command {
    let text = serde_json::to_vec(work).expect("texts are JSON");
    std::fs::write(file, text).expect("a file can be written");
    let mut command = Command::new(std::env::current_exe().expect("a bench knows where it is"));
    command.arg(WORD).arg(file).current_dir(folder);
    command
}

/// Is the client, if this process was started to be it. To be asked first.
///
/// # Panics
/// When an answer is none, or a command fails.
#[must_use]
pub fn was_bare_client() -> bool {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let [word, file] = words.as_slice() else { return false };
    if word != WORD {
        return false;
    }
    let text = std::fs::read(file).expect("the work was written down");
    let work: BareWork = serde_json::from_slice(&text).expect("the work can be read");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be had");
    runtime.block_on(all(work));
    true
}

async fn all(work: BareWork) {
    // The client of the web wants to know how it would encrypt, although it does not.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build();
    let client = client.expect("a client can be made");
    let mut all = JoinSet::new();
    for conversation in work.conversations {
        all.spawn(converse(client.clone(), work.url.clone(), conversation));
    }
    all.join_all().await;
}

async fn converse(client: reqwest::Client, url: String, conversation: Vec<BareTurn>) {
    for BareTurn { body, then } in conversation {
        let request = client.post(&url).header("content-type", "application/json").body(body);
        let answer = request.send().await.expect("the model listens");
        assert!(answer.status().is_success(), "{}", answer.status());
        let _answer = answer.bytes().await.expect("an answer has an end");
        let done = spawn_blocking(move || call(&then)).await;
        done.expect("a call does not panic").expect("a call can be done");
    }
}

fn call(call: &BareCall) -> std::io::Result<()> {
    match call {
        BareCall::Read(path) => std::fs::read(path).map(drop),
        BareCall::Run(script) => {
            // Without anything to be done in the child, this is a `posix_spawn`.
            let mut shell = Command::new("/bin/sh");
            let output = shell.args(["-c", script]).stdin(Stdio::null()).output()?;
            assert!(output.status.success(), "{script}: {output:?}");
            Ok(())
        }
        BareCall::Write(path, text) => {
            if let Some(folder) = Path::new(path).parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(path, text)
        }
        BareCall::Nothing => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_read_run_and_write() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name).display().to_string();
        call(&BareCall::Write(path("a/b"), "text".into())).unwrap();
        call(&BareCall::Run(format!("cp '{}' '{}'", path("a/b"), path("c")))).unwrap();
        call(&BareCall::Read(path("c"))).unwrap();
        call(&BareCall::Nothing).unwrap();
        assert!(call(&BareCall::Read(path("d"))).is_err());
        assert!(!was_bare_client());
    }
}
