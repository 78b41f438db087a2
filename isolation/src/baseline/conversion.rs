//! Line end, `$Id$` and filter conversions of git. Finds clean files that may differ from their
//! blobs, and restores the bytes of files that the user has changed since the snapshot.

use std::path::PathBuf;

use git2::{AttrCheckFlags, AttrValue, Config, Odb, Oid, Repository};
use protocol::{ConflictReason, RepoPath};

use crate::baseline::index::Index;
use crate::baseline::{ContentLocation, FrozenEntry};
use crate::encoding::Encoding;
use crate::error::{OrCannot, Result, cannot};
use crate::file_entry::Mode;
use crate::tree::{ListedEntry, Tree, TreeEntry, join};
use crate::user_git_files;

/// The conversion that git applies to a blob on checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// No conversion.
    None,
    /// A conversion that libgit2 does itself.
    BuiltIn,
    /// A conversion from UTF-8, after those that libgit2 does itself.
    Encoding(Encoding),
    /// A conversion from UTF-8 to the encoding of this name, which is not one of ours.
    OtherEncoding(String),
    /// A conversion by a program; the value is the attribute that names it.
    Program(String),
}

impl Conversion {
    /// Returns why no file can be converted here; `None` if it can.
    pub(crate) fn obstacle(&self) -> Option<ConflictReason> {
        match self {
            Self::None | Self::BuiltIn | Self::Encoding(_) => None,
            Self::OtherEncoding(_) | Self::Program(_) => Some(self.failure()),
        }
    }

    /// Returns why a file could not be converted.
    pub(crate) fn failure(&self) -> ConflictReason {
        match self {
            Self::Encoding(_) | Self::OtherEncoding(_) => ConflictReason::Encoding,
            Self::None | Self::BuiltIn | Self::Program(_) => ConflictReason::Filter,
        }
    }
}

/// Returns why a file cannot be converted from its encoding in the working tree; `None` if it has none.
pub(crate) fn encoding_fault(git: &Repository, path: &RepoPath) -> Option<String> {
    let value = git.get_attr_bytes(path.as_path(), ENCODING_NAME, AttrCheckFlags::FILE_THEN_INDEX);
    let name = match AttrValue::from_bytes(value.ok()?) {
        AttrValue::String(text) => text.to_owned(),
        AttrValue::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        AttrValue::True | AttrValue::False | AttrValue::Unspecified => return None,
    };
    Some(match Encoding::named(&name) {
        None => format!("git converts it from {name} when it adds it, and this program does not"),
        Some(encoding) if encoding.wants_mark() => format!(
            "it is not in {name}, which begins with a byte-order mark, and git would refuse it, too"
        ),
        Some(_) => format!("it is not in {name}, and git would refuse it, too"),
    })
}

/// Restores, from its blob, the bytes of a file that was clean in the snapshot and changed since.
pub(super) fn restored(
    git: &Repository,
    path: &RepoPath,
    blob: Oid,
    frozen: &FrozenEntry,
) -> Result<Vec<u8>> {
    let what = || format!("restore {path} as it was");
    let found = git.find_blob(blob).or_cannot(what)?;
    if let ContentLocation::Crlf(_) = frozen.source {
        return Ok(with_crlf(found.content()));
    }
    let conversion = match frozen.mode {
        Mode::Link => Conversion::None,
        Mode::File | Mode::Executable => conversion(git, path).or_cannot(what)?,
    };
    match conversion {
        // The file had the bytes of its blob; otherwise the snapshot would have pinned it.
        Conversion::None | Conversion::BuiltIn | Conversion::Encoding(_) => {
            Ok(found.content().to_vec())
        }
        Conversion::OtherEncoding(name) => Err(cannot(
            what(),
            format!(
                "it has changed since the run began, and only git converts its encoding, {name}"
            ),
        )),
        Conversion::Program(attribute) => Err(cannot(
            what(),
            format!("it has changed since the run began, and {attribute} names a program"),
        )),
    }
}

/// Returns the conversion of the file at `path`.
pub(crate) fn conversion(
    git: &Repository,
    path: &RepoPath,
) -> std::result::Result<Conversion, git2::Error> {
    let value = |name: &str| -> std::result::Result<Option<String>, git2::Error> {
        let bytes = git.get_attr_bytes(path.as_path(), name, AttrCheckFlags::FILE_THEN_INDEX)?;
        Ok(match AttrValue::from_bytes(bytes) {
            AttrValue::True => Some("true".to_owned()),
            AttrValue::String(text) => Some(text.to_owned()),
            AttrValue::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            AttrValue::False | AttrValue::Unspecified => None,
        })
    };
    if let Some(value) = value("filter")? {
        return Ok(Conversion::Program(format!("filter={value}")));
    }
    if let Some(value) = value(ENCODING_NAME)?.filter(|it| !Encoding::is_of_git(it)) {
        return Ok(match Encoding::named(&value) {
            Some(encoding) => Conversion::Encoding(encoding),
            None => Conversion::OtherEncoding(value),
        });
    }
    for name in ["text", "eol", "crlf", "ident"] {
        if value(name)?.is_some() {
            return Ok(Conversion::BuiltIn);
        }
    }
    let automatic = is_automatic(&git.config()?.snapshot()?);
    Ok(if automatic { Conversion::BuiltIn } else { Conversion::None })
}

/// Returns whether `core.autocrlf` converts line ends without attributes. Both `true` and `input`
/// do; `input` converts only when files are added.
pub(super) fn is_automatic(config: &Config) -> bool {
    config.get_str("core.autocrlf").is_ok_and(|value| value != "false")
}

/// Replaces each CRLF with LF. Returns `None` unless every line ends with CRLF.
pub(super) fn without_crlf(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut unix = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => {
                unix.extend_from_slice(line.strip_suffix(b"\r")?);
                unix.push(b'\n');
            }
            None => unix.extend_from_slice(line),
        }
    }
    Some(unix)
}

/// Replaces each LF with CRLF, as the reverse of [`without_crlf`].
fn with_crlf(unix: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(unix.len() + unix.len() / 16);
    for byte in unix.iter().copied() {
        if byte == b'\n' {
            bytes.push(b'\r');
        }
        bytes.push(byte);
    }
    bytes
}

/// The name of the attributes file of a folder.
const NAME: &str = ".gitattributes";

/// The attributes file of the system.
const SYSTEM: &str = "/etc/gitattributes";

/// The attributes of conversions that libgit2 does itself.
const BUILT_IN: [&[u8]; 4] = [b"text", b"crlf", b"eol", b"ident"];

/// The attribute of encodings, not all of which are converted here.
const ENCODING_NAME: &str = "working-tree-encoding";
const ENCODING: &[u8] = ENCODING_NAME.as_bytes();

/// The attributes of conversions by programs.
const PROGRAMS: [&[u8]; 2] = [b"filter", ENCODING];

/// Determines which clean files of a working tree may differ from their blobs. Reads no blob if the
/// repository uses no conversions. The caller must call `enter` for a folder before it asks about
/// files in it.
pub(super) struct ConversionCheck<'a> {
    git: &'a Repository,
    objects: Odb<'a>,
    /// The conversions in the attributes and settings that were read so far.
    possible: ConversionsInUse,
}

/// The conversions that attributes and settings name somewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ConversionsInUse {
    /// Line ends or `$Id$`, converted by libgit2.
    built_in: bool,
    /// Other encodings than that of the blobs.
    encodings: bool,
    /// Conversions by programs.
    programs: bool,
}

impl<'a> ConversionCheck<'a> {
    /// Reads the settings and the attributes that hold for the whole repository.
    pub(super) fn of(git: &'a Repository) -> Result<Self> {
        let what = || format!("read the settings of {}", git.path().display());
        let objects = git.odb().or_cannot(what)?;
        let config = git.config().and_then(|mut config| config.snapshot()).or_cannot(what)?;
        let files = [
            Some(git.commondir().join("info/attributes")),
            user_git_files::of_the_user(&config, "core.attributesfile", "attributes"),
            Some(PathBuf::from(SYSTEM)),
        ];
        let mut possible =
            ConversionsInUse { built_in: is_automatic(&config), ..ConversionsInUse::default() };
        for file in files.into_iter().flatten() {
            possible.read(&user_git_files::content(&file));
        }
        Ok(Self { git, objects, possible })
    }

    /// Reads the attributes file of a folder. If the file is missing, reads its version in the
    /// index, as git does.
    pub(super) fn enter(
        &mut self,
        folder: &[u8],
        entries: &[ListedEntry],
        tree: &Tree,
        index: &Index,
    ) {
        let path = join(folder, NAME.as_ref());
        if entries.iter().any(|entry| entry.name == NAME) {
            match RepoPath::new(path).map(|path| tree.read_entry(&path)) {
                Some(Ok(TreeEntry::File { bytes, .. })) => self.possible.read(&bytes),
                // A file that cannot be read may name any conversion.
                Some(_) | None => self.possible = ConversionsInUse::ANYTHING,
            }
        } else if let Some(entry) = index.get(&path) {
            match self.git.find_blob(entry.id) {
                Ok(blob) => self.possible.read(blob.content()),
                Err(_) => self.possible = ConversionsInUse::ANYTHING,
            }
        }
    }

    /// Returns whether a clean file of `size` bytes may differ from its blob. Conversion makes a
    /// file shorter when it is added, so a file that is as long as its blob is equal to it. A file
    /// that a program has converted counts as equal: only that program could convert it back.
    pub(super) fn may_differ_from_blob(&self, path: &[u8], blob: Oid, size: u64) -> bool {
        let is_longer = || {
            let stored = self.objects.read_header(blob);
            stored.is_ok_and(|(stored, _)| u64::try_from(stored) != Ok(size))
        };
        let conversion = || RepoPath::new(path).and_then(|it| conversion(self.git, &it).ok());
        let ConversionsInUse { built_in, encodings, programs } = self.possible;
        // Another encoding may need as many bytes.
        if encodings && matches!(conversion(), Some(Conversion::Encoding(_))) {
            return true;
        }
        let by_program =
            || matches!(conversion(), Some(Conversion::Program(_) | Conversion::OtherEncoding(_)));
        built_in && is_longer() && !(programs && by_program())
    }
}

impl ConversionsInUse {
    const ANYTHING: Self = Self { built_in: true, encodings: true, programs: true };

    /// Adds the conversions that an attributes file names.
    fn read(&mut self, attributes: &[u8]) {
        let lines = attributes.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.starts_with(b"#")) {
            let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            for word in words.skip(1) {
                let name = word.split(|byte| *byte == b'=').next().unwrap_or_default();
                self.built_in |= BUILT_IN.contains(&name);
                self.encodings |= name == ENCODING;
                self.programs |= PROGRAMS.contains(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests;
