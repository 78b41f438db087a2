//! How each file is merged: the `merge` attribute of the repository, and the globs of files to be
//! joined.

use git2::{AttrCheckFlags, AttrValue, Repository};
use protocol::RepoPath;

use crate::carry::CarryGlobs;
use crate::error::{OrCannot, Result, cannot};
use crate::merge::MergeRule;
use crate::repository::Repo;

/// The rules of one repository and one run.
pub(crate) struct MergeRules {
    git: Repository,
    union: CarryGlobs,
    /// The setting `merge.default`, for files without the attribute.
    default: Option<String>,
    /// Whether lines of both sides may be kept where both changed the same lines.
    joins: bool,
}

impl MergeRules {
    /// Returns the rules of a repository. Files that match a glob of `union` are joined, whatever
    /// their attributes.
    pub(crate) fn of(repo: &Repo, union: &[String]) -> Result<Self> {
        let git = repo.git()?;
        let union = CarryGlobs::parse(union)
            .map_err(|error| cannot("read the globs of files to be joined", error.to_string()))?;
        let default = git.config().and_then(|config| config.get_string("merge.default")).ok();
        Ok(Self { git, union, default, joins: true })
    }

    /// Returns the same rules, but for files that would be joined: they are merged line by line. What
    /// is taken back must not stay because both sides' lines are kept.
    pub(crate) fn without_joining(self) -> Self {
        Self { joins: false, ..self }
    }

    /// Returns the user's repository.
    pub(crate) fn git(&self) -> &Repository {
        &self.git
    }

    /// Returns the rule for a file.
    pub(crate) fn of_path(&self, path: &RepoPath) -> Result<MergeRule> {
        Ok(match self.rule(path)? {
            MergeRule::Union if !self.joins => MergeRule::Text,
            rule => rule,
        })
    }

    fn rule(&self, path: &RepoPath) -> Result<MergeRule> {
        if self.union.matches_from_root(path.as_bytes()) {
            return Ok(MergeRule::Union);
        }
        let flags = AttrCheckFlags::FILE_THEN_INDEX;
        let value = self
            .git
            .get_attr_bytes(path.as_path(), "merge", flags)
            .or_cannot(|| format!("read the attributes of {path}"))?;
        Ok(match AttrValue::always_bytes(value) {
            AttrValue::True => MergeRule::Text,
            AttrValue::False => MergeRule::Binary,
            AttrValue::Unspecified => named(self.default.as_deref().unwrap_or_default().as_bytes()),
            AttrValue::String(name) => named(name.as_bytes()),
            AttrValue::Bytes(name) => named(name),
        })
    }
}

/// Returns the rule with a name. A driver of another name is a program, which is never run: its
/// files are merged as text, as git does where the driver is not configured.
fn named(name: &[u8]) -> MergeRule {
    match name {
        b"union" => MergeRule::Union,
        b"binary" => MergeRule::Binary,
        _ => MergeRule::Text,
    }
}
