//! Compares two versions line by line, within a budget.

use git2::{DiffOptions, Patch};

use super::compact::{Side, compact};
use super::histogram::{Marks, Regions, histogram};

/// A changed region: lines of the old version and the lines of the new version that replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old: std::ops::Range<usize>,
    pub(super) new: std::ops::Range<usize>,
}

/// The steps that a merge may still take. Files can be made so that comparing them takes the square
/// of their length.
pub(crate) struct Budget(pub(super) u64);

/// The budget is used up.
#[derive(Debug)]
pub(super) struct OverBudget;

impl Budget {
    /// The budget of a merge: a few seconds.
    pub(crate) fn of_a_merge() -> Self {
        Self(1 << 30)
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), OverBudget> {
        self.0 = self.0.checked_sub(steps as u64).ok_or(OverBudget)?;
        Ok(())
    }

    /// Spends what the fallback takes at most: lines times the square root of their number.
    pub(super) fn spend_on_fallback(&mut self, regions: &Regions) -> Result<(), OverBudget> {
        let lines = regions.old.len() + regions.new.len();
        self.spend(lines.saturating_mul(lines.isqrt().max(256)) / 16)
    }
}

/// The lines of a version: their numbers and texts.
#[derive(Clone, Copy)]
pub(super) struct Slice<'a> {
    pub(super) numbers: &'a [u32],
    pub(super) texts: &'a [&'a [u8]],
}

/// Returns the changed regions between two versions, in order.
pub(super) fn diff(
    old: Slice<'_>,
    new: Slice<'_>,
    different_lines: usize,
    budget: &mut Budget,
) -> Result<Vec<Hunk>, OverBudget> {
    let mut fall_back = |regions: &Regions, marks: &mut Marks| classic(old, new, regions, marks);
    let found = histogram(old.numbers, new.numbers, different_lines, budget, &mut fall_back)?;
    let Marks { old: mut removed, new: mut added } = found;
    compact(
        &mut Side { lines: old.numbers, changed: &mut removed },
        &Side { lines: new.numbers, changed: &mut added },
    );
    compact(
        &mut Side { lines: new.numbers, changed: &mut added },
        &Side { lines: old.numbers, changed: &mut removed },
    );
    Ok(hunks(&removed, &added))
}

fn hunks(removed: &[bool], added: &[bool]) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let (mut old, mut new) = (0, 0);
    while old < removed.len() || new < added.len() {
        let end = |marks: &[bool], from: usize| {
            from + marks[from..].iter().take_while(|changed| **changed).count()
        };
        let (old_end, new_end) = (end(removed, old), end(added, new));
        if old_end > old || new_end > new {
            hunks.push(Hunk { old: old..old_end, new: new..new_end });
        }
        (old, new) = (old_end + 1, new_end + 1);
    }
    hunks
}

/// Compares regions with the classic algorithm, which libgit2 has from git.
fn classic(old: Slice<'_>, new: Slice<'_>, regions: &Regions, marks: &mut Marks) {
    marks.old[regions.old.clone()].fill(true);
    marks.new[regions.new.clone()].fill(true);
    let text =
        |slice: Slice<'_>, region: &std::ops::Range<usize>| slice.texts[region.clone()].concat();
    let (before, after) = (text(old, &regions.old), text(new, &regions.new));
    let mut options = DiffOptions::new();
    options.context_lines(0).interhunk_lines(0).force_text(true);
    let patch = Patch::from_buffers(&before, None, &after, None, Some(&mut options));
    // Without a result, the regions count as changed whole, which is a correct diff as well.
    let Ok(patch) = patch else { return };
    let mut unchanged = Unchanged { old: regions.old.start, new: regions.new.start };
    for hunk in 0..patch.num_hunks() {
        let Ok((hunk, _)) = patch.hunk(hunk) else { return };
        let start = |line: u32, count: u32| {
            // Of an empty range, the number of the line before it is given.
            if count == 0 { line as usize } else { (line as usize).saturating_sub(1) }
        };
        let old_start = regions.old.start + start(hunk.old_start(), hunk.old_lines());
        let new_start = regions.new.start + start(hunk.new_start(), hunk.new_lines());
        unchanged.until(old_start, new_start, marks);
        unchanged = Unchanged {
            old: old_start + hunk.old_lines() as usize,
            new: new_start + hunk.new_lines() as usize,
        };
    }
    unchanged.until(regions.old.end, regions.new.end, marks);
}

/// The beginning of a region that both versions have in common.
struct Unchanged {
    old: usize,
    new: usize,
}

impl Unchanged {
    fn until(&self, old: usize, new: usize, marks: &mut Marks) {
        debug_assert_eq!(old - self.old, new - self.new, "what is common has one length");
        marks.old[self.old..old].fill(false);
        marks.new[self.new..new].fill(false);
    }
}
