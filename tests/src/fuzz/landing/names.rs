//! Random paths, odd ones among them, and which of them the rounds' repositories ignore.

use crate::fuzz::Random;
use crate::fuzz::files::Name;

/// What paths are made of. Every name here can be committed.
const COMPONENTS: &[&[u8]] = &[
    b"a",
    b"b",
    b"src",
    b"lib.rs",
    b"notes.txt",
    b"data.bin",
    b"a",
    b"b",
    b"src",
    b"lib.rs",
    b"two words",
    b"new\nline",
    b"\xff\xfe",
    b"not \xff utf-8.txt",
    b"-dash",
    b"tab\there",
    b"quote\"'",
    "\u{fc}n\u{ef}".as_bytes(),
    "u\u{308}n".as_bytes(),
    b"*glob[",
    b"back\\slash",
    b".hidden",
    b"trailing ",
    b"UPPER",
    b"upper",
    b"$(touch oops)",
    b"#hash",
    b"!bang",
    b"name:stream",
    b"\x01control",
    b"~",
];

/// The rules that every round's repository has in its `.gitignore`.
pub(super) const RULES: &[u8] = b"*.log\n!keep.log\n/build/\n";

/// What each round's repository has in `.git/info/exclude`.
pub(super) const EXCLUDES: &[u8] = b"*.cache\n";

/// Returns whether the rules say that git ignores `path`, if it does not track it.
pub(super) fn is_ignored(path: &[u8]) -> bool {
    let by_rule =
        |part: &[u8]| (part.ends_with(b".log") && part != b"keep.log") || part.ends_with(b".cache");
    path.starts_with(b"build/") || path.split(|byte| *byte == b'/').any(by_rule)
}

/// Returns a path that is not ignored.
pub(super) fn path(random: &mut Random) -> Name {
    if random.chance(3) {
        return vec![b'x'; 240];
    }
    if random.chance(3) {
        // Only a folder of this name is ignored.
        return b"build".to_vec();
    }
    let depth = *random.pick(&[1, 1, 2, 2, 3]);
    let parts: Vec<&[u8]> = (0..depth).map(|_| *random.pick(COMPONENTS)).collect();
    parts.join(&b'/')
}

/// Returns a path that is ignored.
pub(super) fn ignored(random: &mut Random) -> Name {
    let folder = path(random);
    match random.below(4) {
        0 => b"build/out.o".to_vec(),
        1 => b"build/deep/out.o".to_vec(),
        2 if folder.len() < 100 => [&folder[..], b"/trace.log"].concat(),
        2 => b"of.cache/file".to_vec(),
        _ => b"trace.log".to_vec(),
    }
}
