//! The ignore rules of a working tree: its `.gitignore` files, the repository's `info/exclude`, and
//! the user's own file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use git2::Repository;
use protocol::RepoPath;

use crate::error::{Result, is_denied};
use crate::ignore::glob::{Case, Glob};
use crate::tree::{Tree, TreeEntry, join};
use crate::user_git_files;

/// The rules of a working tree.
pub(crate) struct Rules<'a> {
    tree: &'a Tree,
    case: Case,
    /// The patterns that apply to the whole tree, by file. An earlier file overrides a later one.
    everywhere: Vec<Vec<Pattern>>,
    /// The patterns that apply to the whole of each nested repository, by its folder. Patterns from
    /// outside of it do not apply in it.
    nested: BTreeMap<Vec<u8>, Vec<Vec<Pattern>>>,
    /// The content of some `.gitignore` files, which counts instead of what is in the tree.
    given: BTreeMap<RepoPath, Vec<u8>>,
    /// The patterns of each folder, read when they are first needed.
    folders: RefCell<BTreeMap<Vec<u8>, Rc<FolderRules>>>,
}

/// The kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// A folder.
    Folder,
    /// A file, a symlink or anything else that is not a folder.
    File,
}

struct FolderRules {
    /// Whether the folder itself is ignored. Nothing in an ignored folder can be re-included.
    verdict: Verdict,
    /// The patterns of the folder's own `.gitignore`.
    patterns: Vec<Pattern>,
}

impl<'a> Rules<'a> {
    /// Reads the rules that apply to the whole of `tree`, the working tree of `git`.
    pub(crate) fn of(git: &Repository, tree: &'a Tree) -> Self {
        let config = git.config().ok();
        let folded = config.as_ref().and_then(|config| config.get_bool("core.ignorecase").ok());
        let case = if folded == Some(true) { Case::Folded } else { Case::Exact };
        let own = git.commondir().join("info/exclude");
        let users = |config| user_git_files::of_the_user(config, "core.excludesfile", "ignore");
        let files = [Some(own), config.as_ref().and_then(users)];
        let everywhere = files.into_iter().flatten();
        let everywhere =
            everywhere.map(|file| read_patterns(&user_git_files::content(&file), case)).collect();
        let (nested, given, folders) = (BTreeMap::new(), BTreeMap::new(), RefCell::default());
        Self { tree, case, everywhere, nested, given, folders }
    }

    /// Returns the same rules for a tree with nested repositories, each with its folder and the
    /// content of its `info/exclude`.
    pub(crate) fn with_nested(mut self, nested: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Self {
        for (folder, exclude) in nested {
            let mut everywhere = vec![read_patterns(&exclude, self.case)];
            everywhere.extend(self.everywhere.iter().skip(1).cloned());
            self.nested.insert(folder, everywhere);
        }
        self
    }

    /// Returns the same rules with other contents of some `.gitignore` files.
    pub(crate) fn with_files(self, given: BTreeMap<RepoPath, Vec<u8>>) -> Self {
        Self { given, folders: RefCell::default(), ..self }
    }

    /// Returns whether git ignores `path`, provided that it is untracked.
    pub(crate) fn ignores(&self, path: &[u8], kind: PathKind) -> Result<bool> {
        let chain = self.chain(path)?;
        if chain.iter().any(|(_, rules)| rules.verdict == Verdict::Ignored) {
            return Ok(true);
        }
        Ok(self.judge(path, kind, &chain) == Verdict::Ignored)
    }

    /// Returns the length of the root of the repository that has `path`: the innermost nested folder
    /// above it, or 0.
    fn root_length(&self, path: &[u8]) -> usize {
        if self.nested.is_empty() {
            return 0;
        }
        let slashes = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
        let mut folders = slashes.map(|(place, _)| place);
        folders.find(|end| self.nested.contains_key(&path[..*end])).unwrap_or(0)
    }

    /// Returns every folder above `path` in its repository, the root first, with its rules.
    fn chain<'p>(&self, path: &'p [u8]) -> Result<Vec<(&'p [u8], Rc<FolderRules>)>> {
        let root = self.root_length(path);
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let below = slashes.map(|(place, _)| place).filter(|place| *place > root);
        let ends = std::iter::once(root).chain(below);
        let mut chain: Vec<(&[u8], Rc<FolderRules>)> = Vec::new();
        for end in ends {
            let folder = &path[..end];
            let rules = self.folder(folder, &chain)?;
            chain.push((folder, rules));
        }
        Ok(chain)
    }

    fn folder(&self, folder: &[u8], above: &[(&[u8], Rc<FolderRules>)]) -> Result<Rc<FolderRules>> {
        if let Some(known) = self.folders.borrow().get(folder) {
            return Ok(Rc::clone(known));
        }
        let inherited = above.last().map_or(Verdict::Kept, |(_, rules)| rules.verdict);
        let verdict = match inherited {
            Verdict::Ignored => Verdict::Ignored,
            Verdict::Kept if above.is_empty() => Verdict::Kept,
            Verdict::Kept => self.judge(folder, PathKind::Folder, above),
        };
        let patterns = match verdict {
            Verdict::Ignored => Vec::new(),
            Verdict::Kept => self.read(folder)?,
        };
        let rules = Rc::new(FolderRules { verdict, patterns });
        self.folders.borrow_mut().insert(folder.to_vec(), Rc::clone(&rules));
        Ok(rules)
    }

    /// Returns the verdict of the last matching pattern in the nearest folder that has a matching
    /// pattern. A path without a matching pattern is kept.
    fn judge(&self, path: &[u8], kind: PathKind, chain: &[(&[u8], Rc<FolderRules>)]) -> Verdict {
        let near = chain.iter().rev().map(|(folder, rules)| (*folder, &rules.patterns));
        let root = chain.first().map_or(&b""[..], |(root, _)| *root);
        let everywhere = self.nested.get(root).unwrap_or(&self.everywhere);
        let far = everywhere.iter().map(|patterns| (root, patterns));
        near.chain(far)
            .find_map(|(folder, patterns)| {
                let from = if folder.is_empty() { 0 } else { folder.len() + 1 };
                let path = path.get(from..)?;
                patterns.iter().rev().find_map(|pattern| pattern.judge(path, kind))
            })
            .unwrap_or(Verdict::Kept)
    }

    /// Reads a folder's `.gitignore`. As in git, a `.gitignore` that is a symlink is not read.
    fn read(&self, folder: &[u8]) -> Result<Vec<Pattern>> {
        let path = join(folder, ".gitignore".as_ref());
        let Some(path) = RepoPath::new(path) else { return Ok(Vec::new()) };
        if let Some(content) = self.given.get(&path) {
            return Ok(read_patterns(content, self.case));
        }
        let found = match self.tree.read_entry(&path) {
            // Git warns about an unreadable file and continues.
            Err(error) if is_denied(&error) => return Ok(Vec::new()),
            found => found?,
        };
        Ok(match found {
            TreeEntry::File { bytes, .. } => read_patterns(&bytes, self.case),
            TreeEntry::Missing
            | TreeEntry::Blocked(_)
            | TreeEntry::Link { .. }
            | TreeEntry::Folder
            | TreeEntry::Special => Vec::new(),
        })
    }
}

/// One pattern, which is a line of a file of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    glob: Glob,
    verdict: Verdict,
    /// The part of a path that the pattern is compared with.
    against: Against,
    /// The kinds of paths that the pattern applies to.
    applies: Applies,
    /// Whether a part between slashes is none of a path: `.`, `..` or nothing.
    has_odd_part: bool,
}

/// The verdict of a pattern on the paths that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The path is ignored.
    Ignored,
    /// The path is re-included, whatever earlier patterns say.
    Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Against {
    /// The last component.
    Name,
    /// The path relative to the folder that contains the file of rules.
    Path,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Applies {
    ToFolders,
    ToAll,
}

/// Reads all patterns of a file.
pub(super) fn read_patterns(file: &[u8], case: Case) -> Vec<Pattern> {
    pattern_lines(file, case).map(|(_, pattern)| pattern).collect()
}

/// Returns each line of a file that is a pattern, with it.
pub(super) fn pattern_lines(file: &[u8], case: Case) -> impl Iterator<Item = (&[u8], Pattern)> {
    let text = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(move |line| Some((line, Pattern::read(line, case)?)))
}

impl Pattern {
    /// Reads one line. Returns `None` for an empty line or a comment.
    fn read(line: &[u8], case: Case) -> Option<Self> {
        if line.first() == Some(&b'#') {
            return None;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Git reads a line as a C string, which ends at the first zero byte.
        let line = trimmed(line.split(|byte| *byte == 0).next().unwrap_or(line));
        let (line, verdict) = match line.strip_prefix(b"!") {
            Some(rest) => (rest, Verdict::Kept),
            None => (line, Verdict::Ignored),
        };
        let (line, applies) = match line.strip_suffix(b"/") {
            Some(rest) => (rest, Applies::ToFolders),
            None => (line, Applies::ToAll),
        };
        let against = if line.contains(&b'/') { Against::Path } else { Against::Name };
        let line = line.strip_prefix(b"/").unwrap_or(line);
        if line.is_empty() {
            return None;
        }
        let mut parts = line.split(|byte| *byte == b'/');
        let has_odd_part = parts.any(|part| matches!(part, b"" | b"." | b".."));
        Some(Self { glob: Glob::new(line, case), verdict, against, applies, has_odd_part })
    }

    /// Returns whether the pattern can match a path of a tree.
    pub(super) fn can_match(&self) -> bool {
        !self.glob.is_malformed() && !self.has_odd_part
    }

    /// Returns whether the pattern selects what it matches.
    pub(super) fn selects(&self) -> bool {
        self.verdict == Verdict::Ignored
    }

    /// Returns whether the pattern is compared with whole paths.
    pub(super) fn is_of_paths(&self) -> bool {
        self.against == Against::Path
    }

    /// Returns the pattern's verdict on `path`, which is relative to the file's folder.
    pub(super) fn judge(&self, path: &[u8], kind: PathKind) -> Option<Verdict> {
        if self.applies == Applies::ToFolders && kind != PathKind::Folder {
            return None;
        }
        let text = match self.against {
            Against::Path => path,
            Against::Name => path.rsplit(|byte| *byte == b'/').next().unwrap_or(path),
        };
        self.glob.matches(text).then_some(self.verdict)
    }
}

/// Removes trailing spaces, except for escaped ones.
fn trimmed(line: &[u8]) -> &[u8] {
    let mut keep = 0;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b'\\' => {
                at = (at + 2).min(line.len());
                keep = at;
            }
            b' ' => at += 1,
            _ => {
                at += 1;
                keep = at;
            }
        }
    }
    &line[..keep]
}
