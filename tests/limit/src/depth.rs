//! How often tests repeat something, and with which random numbers.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// The seed where neither `REGATTA_SEED` nor a commit gives one.
const SEED: u64 = 0x5eed;

/// How often tests repeat something: the value of `REGATTA_DEPTH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// `quick`, the default: at least one of every kind.
    Quick,
    /// `full`: as often as the figures of safety require.
    Full,
    /// A number of seconds: [`Rounds`](crate::Rounds) go on that long, everything else is quick.
    TimeBox(Duration),
}

impl Depth {
    /// Parses a value of `REGATTA_DEPTH`.
    fn parse(value: &str) -> Option<Self> {
        match value {
            "" | "quick" => Some(Self::Quick),
            "full" => Some(Self::Full),
            seconds => {
                seconds.parse().ok().map(|seconds| Self::TimeBox(Duration::from_secs(seconds)))
            }
        }
    }
}

/// Returns how often the tests of this process repeat something.
///
/// # Panics
/// If `REGATTA_DEPTH` has another value than `quick`, `full` or a number of seconds.
#[must_use]
pub fn depth() -> Depth {
    static DEPTH: OnceLock<Depth> = OnceLock::new();
    *DEPTH.get_or_init(|| {
        let value = std::env::var("REGATTA_DEPTH").unwrap_or_default();
        let depth = Depth::parse(&value);
        depth.unwrap_or_else(|| panic!("REGATTA_DEPTH is quick, full or seconds, not `{value}`"))
    })
}

/// Returns `full` in full depth, else `quick`.
#[must_use]
pub fn by_depth<T>(quick: T, full: T) -> T {
    match depth() {
        Depth::Full => full,
        Depth::Quick | Depth::TimeBox(_) => quick,
    }
}

/// Returns all values in full depth, else at most `quick` of them: evenly distributed, beginning
/// at an offset that [`seed`] decides.
#[must_use]
pub fn sample<T>(all: impl IntoIterator<Item = T>, quick: usize) -> Vec<T> {
    let all: Vec<T> = all.into_iter().collect();
    let wanted = by_depth(quick.min(all.len()), all.len());
    let places = places(all.len(), wanted, seed());
    let chosen = |(place, value): (usize, T)| places.contains(&place).then_some(value);
    all.into_iter().enumerate().filter_map(chosen).collect()
}

/// Returns `wanted` of the first `count` numbers, evenly distributed.
fn places(count: usize, wanted: usize, seed: u64) -> Vec<usize> {
    let Some(bound) = u64::try_from(count).ok().filter(|count| *count > 0) else { return vec![] };
    let offset = usize::try_from(seed % bound).unwrap_or(0);
    (0..wanted).map(|number| (offset + number * count / wanted) % count).collect()
}

/// Returns the seed of the first round of tests with random numbers: `REGATTA_SEED`, else a number
/// from the hash of the commit that is checked out, so that each commit tries other cases.
///
/// # Panics
/// If `REGATTA_SEED` is not a number.
#[must_use]
pub fn seed() -> u64 {
    static SEEDS: OnceLock<u64> = OnceLock::new();
    *SEEDS.get_or_init(|| given_seed().or_else(seed_of_commit).unwrap_or(SEED))
}

/// Returns `REGATTA_SEED`, else the same number for every commit.
pub(crate) fn fixed_seed() -> u64 {
    given_seed().unwrap_or(SEED)
}

/// Returns the value of `REGATTA_SEED`.
pub(crate) fn given_seed() -> Option<u64> {
    let text = std::env::var("REGATTA_SEED").ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("REGATTA_SEED is a number, not `{text}`")))
}

fn seed_of_commit() -> Option<u64> {
    let mut git = Command::new("git");
    let output = git.args(["rev-parse", "HEAD"]).current_dir(root()).output().ok()?;
    let hash = String::from_utf8(output.stdout).ok()?;
    u64::from_str_radix(hash.get(..8)?, 16).ok()
}

/// Returns the folder with the sources of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_depth_is_quick_full_or_a_number_of_seconds() {
        let minute = Depth::TimeBox(Duration::from_secs(60));
        for (value, depth) in [
            ("", Some(Depth::Quick)),
            ("quick", Some(Depth::Quick)),
            ("full", Some(Depth::Full)),
            ("60", Some(minute)),
            ("deep", None),
            ("-1", None),
        ] {
            assert_eq!(Depth::parse(value), depth, "{value}");
        }
    }

    #[test]
    fn a_sample_is_evenly_distributed_and_begins_where_the_seed_says() {
        assert_eq!(places(10, 5, 0), [0, 2, 4, 6, 8]);
        assert_eq!(places(10, 5, 23), [3, 5, 7, 9, 1]);
        assert_eq!(places(3, 3, 1), [1, 2, 0]);
        assert_eq!(places(0, 0, 7), Vec::<usize>::new());
    }
}
