//! How each file is merged: the `merge` attribute of the repository, and the globs of files to be
//! joined.

use git2::{AttrCheckFlags, AttrValue, Repository};
use protocol::RepoPath;

use crate::baseline::{Conversion, conversion};
use crate::carry::CarryGlobs;
use crate::encoding::Encoding;
use crate::error::{OrCannot, Result, cannot};
use crate::merge::{MARKER_LENGTH, MarkerStyle, MergeRule};
use crate::repository::Repo;

/// What the markers of a conflict look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarkerForm {
    /// What stands between them.
    pub(crate) style: MarkerStyle,
    /// How many signs each has.
    pub(crate) length: usize,
}

impl Default for MarkerForm {
    fn default() -> Self {
        Self { style: MarkerStyle::default(), length: MARKER_LENGTH }
    }
}

/// The longest marker. git has no limit.
const LONGEST_MARKER: usize = 1_000;

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

    /// Returns what the markers of conflicts in a file look like: `merge.conflictStyle` of git's
    /// configuration, that of the repository included, and the attribute `conflict-marker-size`.
    /// Both are data, which cannot make anything run.
    ///
    /// # Errors
    /// git knows no such style.
    pub(crate) fn markers(&self, path: &RepoPath) -> Result<MarkerForm> {
        let config = self.git.config().and_then(|mut config| config.snapshot());
        let name = config.and_then(|config| config.get_string("merge.conflictStyle")).ok();
        let style = match name.as_deref() {
            None => MarkerStyle::default(),
            Some(name) => MarkerStyle::named(name).ok_or_else(|| {
                let name: String = name.chars().take(40).collect();
                cannot(
                    format!("write conflict markers into {path}"),
                    format!("merge.conflictStyle of your git configuration is {name:?}, not merge, diff3 or zdiff3"),
                )
            })?,
        };
        let value = AttrValue::always_bytes(self.attribute(path, "conflict-marker-size")?);
        let length = match value {
            AttrValue::String(text) => leading_number(text.as_bytes()),
            AttrValue::Bytes(text) => leading_number(text),
            AttrValue::True | AttrValue::False | AttrValue::Unspecified => 0,
        };
        let length = if length == 0 { MARKER_LENGTH } else { length.min(LONGEST_MARKER) };
        Ok(MarkerForm { style, length })
    }

    /// Returns the encoding of a file in the working tree, if it is not that of git's blobs.
    pub(super) fn encoding(&self, path: &RepoPath) -> Result<Option<Encoding>> {
        let found = conversion(&self.git, path);
        match found.or_cannot(|| format!("read the attributes of {path}"))? {
            Conversion::Encoding(encoding) => Ok(Some(encoding)),
            Conversion::None
            | Conversion::BuiltIn
            | Conversion::OtherEncoding(_)
            | Conversion::Program(_) => Ok(None),
        }
    }

    fn attribute(&self, path: &RepoPath, name: &str) -> Result<Option<&[u8]>> {
        let flags = AttrCheckFlags::FILE_THEN_INDEX;
        let value = self.git.get_attr_bytes(path.as_path(), name, flags);
        value.or_cannot(|| format!("read the attributes of {path}"))
    }

    fn rule(&self, path: &RepoPath) -> Result<MergeRule> {
        if self.union.matches_from_root(path.as_bytes()) {
            return Ok(MergeRule::Union);
        }
        Ok(match AttrValue::always_bytes(self.attribute(path, "merge")?) {
            AttrValue::True => MergeRule::Text,
            AttrValue::False => MergeRule::Binary,
            AttrValue::Unspecified => named(self.default.as_deref().unwrap_or_default().as_bytes()),
            AttrValue::String(name) => named(name.as_bytes()),
            AttrValue::Bytes(name) => named(name),
        })
    }
}

/// Returns the number with which a text begins, as C's `atoi` does; 0 if there is none, or one below.
fn leading_number(text: &[u8]) -> usize {
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: usize, digit| {
        number.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
    })
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
