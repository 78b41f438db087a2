//! Random contents of files: text with few different lines and every kind of line end, and bytes
//! that are no text.

use crate::fuzz::Random;

/// Lines that occur again and again: a difference can then be described in several ways.
const COMMON: &[&str] = &["", "{", "}", "    return;", "a", "b", "b", "the same line"];

/// How the lines of a file end.
#[derive(Clone, Copy)]
enum LineEnds {
    Unix,
    Windows,
    Mixed,
}

/// Returns the content of a new file.
pub(super) fn fresh(random: &mut Random) -> Vec<u8> {
    match random.below(10) {
        0 => binary(random),
        1 => Vec::new(),
        _ => text(random),
    }
}

fn binary(random: &mut Random) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        (0..random.between(1, 60)).map(|_| random.bits().to_le_bytes()[0]).collect();
    let at = random.below(bytes.len());
    bytes[at] = 0;
    // What makes a file binary may stand far behind its beginning.
    if random.chance(10) { [vec![b'\n'; 9_000], bytes].concat() } else { bytes }
}

fn text(random: &mut Random) -> Vec<u8> {
    let ends = *random.pick(&[LineEnds::Unix, LineEnds::Unix, LineEnds::Windows, LineEnds::Mixed]);
    let length = if random.chance(5) { random.between(100, 400) } else { random.between(1, 30) };
    let mut bytes: Vec<u8> = (0..length).flat_map(|_| line(random, ends)).collect();
    if random.chance(20) {
        bytes.pop();
    }
    bytes
}

fn line(random: &mut Random, ends: LineEnds) -> Vec<u8> {
    let mut line = if random.chance(40) {
        (*random.pick(COMMON)).as_bytes().to_vec()
    } else {
        format!("line {}", random.below(40)).into_bytes()
    };
    if random.chance(3) {
        line.extend_from_slice(b" not \xff utf-8");
    }
    line.extend_from_slice(match ends {
        LineEnds::Unix => b"\n",
        LineEnds::Windows => b"\r\n",
        LineEnds::Mixed if random.chance(50) => b"\r\n",
        LineEnds::Mixed => b"\n",
    });
    line
}

/// Returns `bytes` with a few changes in them.
pub(super) fn edited(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    if bytes.contains(&0) {
        let mut bytes = bytes.to_vec();
        let at = random.below(bytes.len());
        bytes[at] = random.bits().to_le_bytes()[0];
        return bytes;
    }
    let mut lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..random.between(1, 2) {
        edit_lines(random, &mut lines);
    }
    lines.concat()
}

fn edit_lines(random: &mut Random, lines: &mut Vec<Vec<u8>>) {
    let windows = lines.first().is_some_and(|line| line.ends_with(b"\r\n"));
    let ends = if windows { LineEnds::Windows } else { LineEnds::Unix };
    let first = random.below(lines.len() + 1);
    let last = lines.len().min(first + random.between(1, 3));
    match random.below(8) {
        0..=2 => {
            let new: Vec<_> = (0..random.between(1, 3)).map(|_| line(random, ends)).collect();
            lines.splice(first..first, new);
        }
        3 => drop(lines.drain(first..last)),
        4 => {
            let new: Vec<_> = (first..last).map(|_| line(random, ends)).collect();
            lines.splice(first..last, new);
        }
        5 => {
            let block: Vec<_> = lines.drain(first..last).collect();
            let at = random.below(lines.len() + 1);
            lines.splice(at..at, block);
        }
        6 => {
            // The end of the file gains or loses its line end.
            if let Some(last) = lines.last_mut()
                && last.pop() != Some(b'\n')
            {
                last.extend_from_slice(b"?\n");
            }
        }
        _ => {
            let block = lines[first..last].to_vec();
            lines.splice(first..first, block);
        }
    }
}
