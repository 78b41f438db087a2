//! The rules that the user has given as answers, in the file of what is trusted.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use config::DataPaths;
use engine::ports::TrustedRules;
use isolation::git_state_at;
use protocol::ApprovalRule;
use store::{TrustError, TrustFile};
use tokio::task::spawn_blocking;

/// The rules of the user in each repository.
pub(crate) struct UserRules(TrustFile);

impl UserRules {
    pub(crate) fn new(places: &DataPaths) -> Self {
        Self(TrustFile::new(places.trust_file()))
    }

    async fn with<T: Send + 'static>(
        &self,
        folder: &Path,
        work: impl FnOnce(&TrustFile, &Path) -> Result<T, TrustError> + Send + 'static,
    ) -> Result<T, String> {
        let (file, folder) = (self.0.clone(), folder.to_owned());
        let done = spawn_blocking(move || work(&file, &repository_of(&folder))).await;
        done.map_err(|panicked| panicked.to_string())?.map_err(|error| match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        })
    }
}

#[async_trait]
impl TrustedRules for UserRules {
    async fn rules(&self, folder: &Path) -> Result<Vec<ApprovalRule>, String> {
        self.with(folder, |file, repository| Ok(file.of(repository)?.rules)).await
    }

    async fn add(&self, folder: &Path, rules: Vec<ApprovalRule>) -> Result<(), String> {
        let add = |file: &TrustFile, repository: &Path| {
            file.change(repository, |trust| rules.into_iter().for_each(|rule| trust.add_rule(rule)))
        };
        self.with(folder, add).await
    }
}

/// Returns the canonical root of the repository of a folder; the folder itself if it is in none.
fn repository_of(folder: &Path) -> PathBuf {
    let canonical = fs::canonicalize(folder).unwrap_or_else(|_gone| folder.to_owned());
    git_state_at(&canonical).map_or(canonical, |(root, _)| root)
}
