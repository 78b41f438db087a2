//! Compares the rules with `git check-ignore` on random patterns and paths.

use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Stdio};

use crate::ignore::{PathKind, Rules};
use crate::repository::Repo;
use crate::testing::Sample;
use crate::tree::Tree;

/// How many patterns each test tries, in quick and in full depth.
const PATTERNS: (usize, usize) = (60, 250);

/// A generator of numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn pick<'a>(&mut self, choices: &[&'a [u8]]) -> &'a [u8] {
        choices[self.below(choices.len())]
    }

    /// Returns up to `most` of the choices, one after the other.
    fn some(&mut self, most: usize, choices: &[&[u8]]) -> Vec<u8> {
        let count = 1 + self.below(most);
        (0..count).flat_map(|_| self.pick(choices).to_vec()).collect()
    }
}

const LITERALS: [&[u8]; 18] = [
    b"a", b"b", b"c", b"A", b"B", b"z", b"-", b"]", b"[", b"!", b"#", b" ", b"7", b"\x01", b"\xc3",
    b"^", b":", b".",
];

const CLASS_PARTS: [&[u8]; 24] = [
    b"a",
    b"b",
    b"-",
    b"\\]",
    b"\\-",
    b"\\\\",
    b"a-c",
    b"A-C",
    b"a-\\]",
    b"A-\\]",
    b"\\[-\\]",
    b"!",
    b"^",
    b"[",
    b"]",
    b"[:digit:]",
    b"[:upper:]",
    b"[:alpha:]",
    b"[:space:]",
    b"[:punct:]",
    b"[:x:]",
    b"[:",
    b":]",
    b"/",
];

fn pattern(random: &mut Random) -> Vec<u8> {
    let mut pattern = Vec::new();
    if random.below(6) == 0 {
        pattern.push(b'!');
    }
    for _ in 0..=random.below(6) {
        let part = match random.below(14) {
            0..=4 => random.pick(&LITERALS).to_vec(),
            5 => b"*".to_vec(),
            6 => b"?".to_vec(),
            7 => {
                random.pick(&[b"**", b"**/", b"/**", b"/**/", b"***", b"/***/", b"**\\/"]).to_vec()
            }
            8 | 9 => b"/".to_vec(),
            10 => [b"\\", random.pick(&LITERALS)].concat(),
            11 | 12 => {
                let negation = random.pick(&[b"", b"", b"!", b"^"]);
                [b"[", negation, &random.some(3, &CLASS_PARTS), b"]"].concat()
            }
            _ => random.pick(&[b" ", b"\\", b"[", b"\\ ", b"/ ", b"\r", b"\t", b"\0"]).to_vec(),
        };
        pattern.extend(part);
    }
    pattern
}

/// Returns a path that a pattern may match: the pattern with something for each wildcard.
fn path_for(pattern: &[u8], random: &mut Random) -> Vec<u8> {
    let mut path = Vec::new();
    let mut rest = pattern.strip_prefix(b"!").unwrap_or(pattern);
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'*' => path.extend(random.pick(&[b"", b"a", b"bc", b"a/b", b"/", b"x/"])),
            b'?' => path.extend(random.pick(&LITERALS)),
            b'[' => {
                let end = after.iter().rposition(|byte| *byte == b']');
                rest = end.map_or(after, |end| &after[end + 1..]);
                path.extend(random.pick(&LITERALS));
            }
            b'\\' => {}
            byte if random.below(20) == 0 => path.push(byte.to_ascii_uppercase()),
            byte => path.push(*byte),
        }
    }
    if random.below(3) == 0 {
        path.extend(random.some(2, &LITERALS));
    }
    if random.below(4) == 0 {
        path.push(b'/');
        path.extend(random.some(2, &LITERALS));
    }
    path
}

/// Returns the path without components that no repository has.
fn valid(path: &[u8]) -> Option<Vec<u8>> {
    let components = path
        .split(|byte| *byte == b'/')
        .map(|component| component.iter().copied().filter(|byte| *byte != 0).collect::<Vec<u8>>());
    let components: Vec<_> =
        components.filter(|component| !matches!(&component[..], b"" | b"." | b"..")).collect();
    (!components.is_empty()).then(|| components.join(&b'/'))
}

/// Returns for each path whether git ignores it.
fn git_ignores(sample: &Sample, paths: &[Vec<u8>]) -> Vec<bool> {
    let mut git = Command::new("git")
        .args(["check-ignore", "--stdin", "-z", "-v", "-n"])
        .current_dir(&sample.root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = git.stdin.take().unwrap();
    let input = paths.iter().flat_map(|path| [path, &b"\0"[..]].concat()).collect::<Vec<u8>>();
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let answer = git.wait_with_output().unwrap().stdout;
    feeder.join().unwrap().unwrap();
    // Four fields each: the file, the line, the pattern, the path.
    let fields: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
    let judged = fields.chunks_exact(4).map(|fields| {
        let pattern = fields[2];
        !pattern.is_empty() && !pattern.starts_with(b"!")
    });
    let judged: Vec<bool> = judged.collect();
    assert_eq!(judged.len(), paths.len());
    judged
}

fn compare_with_git(ignore_case: &str, seed: u64) {
    let sample = Sample::empty();
    sample.git(&["config", "core.ignorecase", ignore_case]);
    let mut random = Random(seed);
    let (mut paths, mut patterns) = (Vec::new(), Vec::new());
    for number in 0..test_limit::by_depth(PATTERNS.0, PATTERNS.1) {
        let folder = format!("{number}");
        fs::create_dir(sample.root.join(&folder)).unwrap();
        let lines: Vec<_> = (0..=random.below(3)).map(|_| pattern(&mut random)).collect();
        fs::write(sample.root.join(&folder).join(".gitignore"), lines.join(&b'\n')).unwrap();
        for line in lines.iter().cycle().take(8) {
            let Some(path) = valid(&path_for(line, &mut random)) else { continue };
            let path = [folder.as_bytes(), b"/", &path].concat();
            if random.below(3) == 0 {
                let place = std::ffi::OsStr::from_bytes(&path);
                // A file that stands in the way leaves the path without a folder.
                let _stays = fs::create_dir_all(sample.root.join(place));
            }
            paths.push(path);
            patterns.push(lines.clone());
        }
    }
    let expected = git_ignores(&sample, &paths);
    let repo = Repo::open(&sample.root).unwrap();
    let tree = Tree::open_at(&sample.root).unwrap();
    let rules = Rules::of(&repo.git().unwrap(), &tree);
    let mut wrong = Vec::new();
    for ((path, lines), expected) in paths.iter().zip(&patterns).zip(expected) {
        let is_folder = sample.root.join(std::ffi::OsStr::from_bytes(path)).is_dir();
        let kind = if is_folder { PathKind::Folder } else { PathKind::File };
        if rules.ignores(path, kind).unwrap() != expected {
            let lines: Vec<_> = lines.iter().map(|line| line.escape_ascii().to_string()).collect();
            wrong.push(format!("{lines:?} {} git: {expected}", path.escape_ascii()));
        }
    }
    let total = wrong.len();
    wrong.truncate(40);
    assert!(total == 0, "{total} of {}:\n{}", paths.len(), wrong.join("\n"));
}

#[test]
fn random_patterns_match_as_gits_do() {
    compare_with_git("false", 0x9e37_79b9_7f4a_7c15);
}

#[test]
fn random_patterns_match_as_gits_do_where_case_does_not_matter() {
    compare_with_git("true", 0xd1b5_4a32_d192_ed03);
}
