//! Line end, `$Id$` and filter conversions of git. Finds clean files that may differ from their
//! blobs, and restores the bytes of files that the user has changed since the snapshot.

use std::path::PathBuf;

use git2::{AttrCheckFlags, AttrValue, Config, Odb, Oid, Repository};
use protocol::RepoPath;

use crate::baseline::index::Index;
use crate::baseline::{ContentLocation, FrozenEntry};
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
    /// A conversion by a program; the value is the attribute that names it.
    Program(String),
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
        Conversion::None | Conversion::BuiltIn => Ok(found.content().to_vec()),
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
    for name in ["filter", "working-tree-encoding"] {
        if let Some(value) = value(name)? {
            return Ok(Conversion::Program(format!("{name}={value}")));
        }
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

/// The attributes of conversions by programs.
const PROGRAMS: [&[u8]; 2] = [b"filter", b"working-tree-encoding"];

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
        let by_program = || {
            let path = RepoPath::new(path)?;
            let conversion = conversion(self.git, &path).ok()?;
            Some(matches!(conversion, Conversion::Program(_)))
        };
        let ConversionsInUse { built_in, programs } = self.possible;
        built_in && is_longer() && !(programs && by_program() == Some(true))
    }
}

impl ConversionsInUse {
    const ANYTHING: Self = Self { built_in: true, programs: true };

    /// Adds the conversions that an attributes file names.
    fn read(&mut self, attributes: &[u8]) {
        let lines = attributes.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.starts_with(b"#")) {
            let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            for word in words.skip(1) {
                let name = word.split(|byte| *byte == b'=').next().unwrap_or_default();
                self.built_in |= BUILT_IN.contains(&name);
                self.programs |= PROGRAMS.contains(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::baseline::scan::scan;
    use crate::baseline::{ContentLocation, Snapshot};
    use crate::testing::{Sample, path, prepare, tomorrow_ns};

    #[test]
    fn texts_whose_lines_all_end_with_crlf_can_do_without_it() {
        for (text, unix) in [
            ("a\r\nb\r\n", Some("a\nb\n")),
            ("a\r\n\r\nb", Some("a\n\nb")),
            ("a\rb\r\r\n\0\r", Some("a\rb\r\n\0\r")),
            ("a", Some("a")),
            ("", Some("")),
            ("a\n", None),
            ("a\r\nb\n", None),
        ] {
            assert_eq!(
                without_crlf(text.as_bytes()).as_deref(),
                unix.map(str::as_bytes),
                "{text:?}"
            );
            if let Some(unix) = unix {
                assert_eq!(with_crlf(unix.as_bytes()), text.as_bytes());
            }
        }
    }

    const WINDOWS: &str = "*.txt text eol=crlf\n";
    const UNIX: &str = "*.txt text eol=lf\n";

    /// A repository with these settings and these files committed, all older than the index.
    fn of_age(settings: &[&str], files: &[(&str, &str)]) -> Sample {
        let sample = Sample::empty();
        for setting in settings {
            let (name, value) = setting.split_once('=').unwrap();
            sample.git(&["config", name, value]);
        }
        for (path, text) in files {
            sample.write(path, text);
            sample.of_yesterday(path);
        }
        sample.commit();
        sample
    }

    /// Where the bytes of a file are besides in the tree.
    #[derive(Debug, PartialEq, Eq)]
    enum Kept {
        Blob,
        Crlf,
        Pin,
    }

    fn kept(snapshot: &Snapshot, file: &str) -> Kept {
        match snapshot.table.get(&path(file)).unwrap().source {
            ContentLocation::Blob(_) => Kept::Blob,
            ContentLocation::Crlf(_) => Kept::Crlf,
            ContentLocation::Pin(_) => Kept::Pin,
        }
    }

    /// Expects that a task begins with the file as it was although the user has edited it since.
    fn expect_restored(sample: &Sample, snapshot: &Snapshot, file: &str, text: &str) {
        sample.write(file, "edited\n");
        let workspace = prepare(snapshot, "a");
        assert_eq!(fs::read_to_string(workspace.root.join(file)).unwrap(), text);
    }

    #[test]
    fn a_clean_file_comes_back_whatever_git_would_check_out_and_is_pinned_only_if_it_must_be() {
        for (attributes, text, expected) in [
            (WINDOWS, "one\ntwo\n", Kept::Blob),
            (WINDOWS, "one\r\ntwo\r\n", Kept::Crlf),
            (WINDOWS, "one\r\ntwo\n", Kept::Pin),
            (UNIX, "one\ntwo\n", Kept::Blob),
            (UNIX, "one\r\ntwo\r\n", Kept::Crlf),
            (UNIX, "one\r\ntwo\n", Kept::Pin),
            ("* text=auto\n", "one\ntwo\n", Kept::Blob),
            ("* text=auto\n", "one\r\ntwo\r\n", Kept::Crlf),
            ("* text=auto eol=crlf\n", "one\ntwo\r\n", Kept::Pin),
            ("* -text\n", "one\r\ntwo\n", Kept::Blob),
            ("*.txt ident\n", "$Id$\n", Kept::Blob),
            ("*.txt ident\n", "$Id: of another$\n", Kept::Pin),
            ("*.txt ident text eol=crlf\n", "$Id$\r\n", Kept::Crlf),
        ] {
            let sample = of_age(&[], &[(".gitattributes", attributes), ("a.txt", text)]);
            let snapshot = sample.freeze_tomorrow("raaaa");
            assert_eq!(kept(&snapshot, "a.txt"), expected, "{attributes:?} {text:?}");
            expect_restored(&sample, &snapshot, "a.txt", text);
        }
    }

    #[test]
    fn settings_convert_as_attributes_do() {
        for (setting, text, expected) in [
            ("core.autocrlf=true", "one\r\ntwo\r\n", Kept::Crlf),
            ("core.autocrlf=true", "one\ntwo\n", Kept::Blob),
            ("core.autocrlf=true", "one\r\ntwo\n", Kept::Pin),
            ("core.autocrlf=input", "one\r\ntwo\r\n", Kept::Crlf),
            ("core.autocrlf=false", "one\r\ntwo\n", Kept::Blob),
        ] {
            let sample = of_age(&[setting], &[("a.txt", text)]);
            let snapshot = sample.freeze_tomorrow("raaaa");
            assert_eq!(kept(&snapshot, "a.txt"), expected, "{setting} {text:?}");
            expect_restored(&sample, &snapshot, "a.txt", text);
        }
    }

    #[test]
    fn attributes_are_read_wherever_git_reads_them() {
        let mixed = ("below/a.txt", "one\r\ntwo\n");
        let restored = |sample: &Sample| {
            let snapshot = sample.freeze_tomorrow("raaaa");
            expect_restored(sample, &snapshot, mixed.0, mixed.1);
        };
        restored(&of_age(&[], &[("below/.gitattributes", WINDOWS), mixed]));
        // Gone from the tree, they hold all the same.
        let sample = of_age(&[], &[(".gitattributes", WINDOWS), mixed]);
        fs::remove_file(sample.root.join(".gitattributes")).unwrap();
        restored(&sample);
        let sample = of_age(&[], &[mixed]);
        sample.write(".git/info/attributes", WINDOWS);
        sample.write(mixed.0, "one\n");
        sample.write(mixed.0, mixed.1);
        sample.of_yesterday(mixed.0);
        sample.git(&["add", "--renormalize", "."]);
        restored(&sample);
    }

    #[test]
    fn files_that_git_checks_out_as_they_are_stored_are_not_looked_at() {
        let files: Vec<_> = (0..20).map(|at| format!("{at}.txt")).collect();
        for attributes in ["* text=auto\n*.bat text eol=crlf\n", "*.png binary\n", WINDOWS] {
            let files = files.iter().map(|file| (file.as_str(), "one\ntwo\n"));
            let sample =
                of_age(&[], &files.chain([(".gitattributes", attributes)]).collect::<Vec<_>>());
            let tree = Tree::open_at(&sample.root).unwrap();
            let scan = scan(&sample.repo().git().unwrap(), &tree, &[], tomorrow_ns()).unwrap();
            assert_eq!(scan.dirty_candidates.len(), 0, "{attributes:?}");
        }
    }

    #[test]
    fn what_a_program_has_converted_is_not_looked_at() {
        let program = ["filter.big.clean=echo pointer"];
        let attributes = "* text=auto\n*.txt filter=big\n";
        let files = [(".gitattributes", attributes), ("a.txt", "of many megabytes\n")];
        let sample = of_age(&program, &files);
        assert_eq!(sample.git(&["cat-file", "blob", "HEAD:a.txt"]), "pointer\n");
        assert_eq!(kept(&sample.freeze_tomorrow("raaaa"), "a.txt"), Kept::Blob);
    }

    #[test]
    fn a_file_that_was_touched_comes_back_where_a_program_converts_it_too() {
        let files = [(".gitattributes", "*.txt text eol=crlf filter=big\n"), ("a.txt", "one\r\n")];
        let sample = of_age(&[], &files);
        sample.write("a.txt", "one\r\n");
        let snapshot = sample.freeze_tomorrow("raaaa");
        assert_eq!(kept(&snapshot, "a.txt"), Kept::Crlf);
        expect_restored(&sample, &snapshot, "a.txt", "one\r\n");
    }

    #[test]
    fn attributes_that_convert_nothing_have_no_blob_asked_for() {
        let possible = |attributes: &str| {
            let mut possible = ConversionsInUse::default();
            possible.read(attributes.as_bytes());
            (possible.built_in, possible.programs)
        };
        for (attributes, expected) in [
            ("", (false, false)),
            ("# * text\n", (false, false)),
            ("*.png binary\n*.jpg -text\n", (false, false)),
            ("text diff=rust merge=union\n", (false, false)),
            ("*.psd filter=lfs diff=lfs merge=lfs -text\n*.md !eol\n", (false, true)),
            ("*.txt working-tree-encoding=UTF-16\n", (false, true)),
            ("* text\n", (true, false)),
            ("* text=auto", (true, false)),
            ("*.png binary\n\t*.bat  eol=crlf -diff\r\n", (true, false)),
            ("*.c crlf=input\n", (true, false)),
            ("[attr]windows text eol=crlf\n", (true, false)),
            ("\"a b\" ident\n*.psd filter=lfs\n", (true, true)),
        ] {
            assert_eq!(possible(attributes), expected, "{attributes:?}");
        }
    }
}
