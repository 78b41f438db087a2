//! The port to the rules that the user has given as answers.

use std::path::Path;

use async_trait::async_trait;
use protocol::ApprovalRule;

/// The rules by which the user always allows calls in a repository.
#[async_trait]
pub trait TrustedRules: Send + Sync {
    /// Returns the rules of the repository of a folder. An error is a text for the user.
    async fn rules(&self, folder: &Path) -> Result<Vec<ApprovalRule>, String>;

    /// Adds rules to the repository of a folder, durably. An error is a text for the user.
    async fn add(&self, folder: &Path, rules: Vec<ApprovalRule>) -> Result<(), String>;
}

/// No rules, and no place for any.
#[derive(Clone, Copy, Debug)]
pub struct NoTrustedRules;

#[async_trait]
impl TrustedRules for NoTrustedRules {
    async fn rules(&self, _folder: &Path) -> Result<Vec<ApprovalRule>, String> {
        Err("there is no file for rules".to_owned())
    }

    async fn add(&self, _folder: &Path, _rules: Vec<ApprovalRule>) -> Result<(), String> {
        Err("there is no file for rules".to_owned())
    }
}
