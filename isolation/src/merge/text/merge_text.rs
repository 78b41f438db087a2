//! Merges two changed versions of a text with their common base.

use std::ops::Range;

use super::diff::{Budget, Hunk, OverBudget, Slice, diff};
use super::lines::{LineNumbers, Lines};
use super::markers::{self, Labels};

/// What happens to lines that both sides changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Favor {
    /// They are a conflict.
    Conflicts,
    /// The lines of both sides are kept, ours first.
    Union,
}

/// How far conflicts are refined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refinement {
    /// Conflicts stay whole, each with its part of the base, as in git's style `diff3`.
    Whole,
    /// Conflicts lose the lines that begin or end both of their sides, as in git's style `zdiff3`.
    Ends,
    /// Conflicts at most three lines apart are joined, as in a merge of branches.
    Zealous,
    /// Conflicts without a letter or digit between them are joined too, as in `git merge-file`.
    ZealousAlnum,
}

/// The result of merging a text.
pub(crate) enum TextMerge<'a> {
    /// The merged text.
    Clean(Vec<u8>),
    /// Both sides changed the same lines.
    Conflicts(ConflictedText<'a>),
    /// Comparing the versions would take too long.
    TooLarge,
}

/// A text with conflicts.
pub(crate) struct ConflictedText<'a> {
    pub(super) versions: Versions<'a>,
    pub(super) hunks: Vec<Merged>,
}

/// The lines of the three versions.
pub(super) struct Versions<'a> {
    pub(super) base: Lines<'a>,
    pub(super) ours: Lines<'a>,
    pub(super) theirs: Lines<'a>,
    different_lines: usize,
}

/// A region that at least one side changed, as lines of each version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    pub(super) take: Take,
    /// The lines of the base. For a refined conflict, of the whole conflict.
    pub(crate) base: Range<usize>,
    pub(crate) ours: Range<usize>,
    pub(crate) theirs: Range<usize>,
}

/// Which side a region is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Take {
    Ours,
    Theirs,
    /// Both sides are the same.
    Either,
    Conflict,
    /// Ours, then theirs.
    Both,
}

/// Merges `ours` and `theirs`, both made from `base`. Line endings are part of a line.
pub(crate) fn merge_text<'a>(
    [base, ours, theirs]: [&'a [u8]; 3],
    favor: Favor,
    refinement: Refinement,
    budget: &mut Budget,
) -> TextMerge<'a> {
    let mut numbers = LineNumbers::default();
    let [base_lines, our_lines, their_lines] = [base, ours, theirs].map(|text| numbers.lines(text));
    let versions = Versions {
        base: base_lines,
        ours: our_lines,
        theirs: their_lines,
        different_lines: numbers.count(),
    };
    match merge_hunks(&versions, refinement, budget) {
        Err(OverBudget) => TextMerge::TooLarge,
        Ok(HunkMerge::Ours) => TextMerge::Clean(ours.to_vec()),
        Ok(HunkMerge::Theirs) => TextMerge::Clean(theirs.to_vec()),
        Ok(HunkMerge::Hunks(mut hunks)) => {
            if favor == Favor::Union {
                let conflicts = hunks.iter_mut().filter(|hunk| hunk.take == Take::Conflict);
                conflicts.for_each(|hunk| hunk.take = Take::Both);
            }
            if hunks.iter().any(|hunk| hunk.take == Take::Conflict) {
                TextMerge::Conflicts(ConflictedText { versions, hunks })
            } else {
                TextMerge::Clean(markers::write(&versions, &hunks, None))
            }
        }
    }
}

impl ConflictedText<'_> {
    /// Returns the text with git's markers around each conflict.
    pub(crate) fn with_markers(&self, labels: &Labels<'_>) -> Vec<u8> {
        markers::write(&self.versions, &self.hunks, Some(labels))
    }
}

enum HunkMerge {
    Ours,
    Theirs,
    Hunks(Vec<Merged>),
}

fn merge_hunks(
    versions: &Versions<'_>,
    refinement: Refinement,
    budget: &mut Budget,
) -> Result<HunkMerge, OverBudget> {
    let Versions { base, ours, theirs, different_lines } = versions;
    let our_hunks = diff(whole(base), whole(ours), *different_lines, budget)?;
    let their_hunks = diff(whole(base), whole(theirs), *different_lines, budget)?;
    if our_hunks.is_empty() {
        return Ok(HunkMerge::Theirs);
    }
    if their_hunks.is_empty() {
        return Ok(HunkMerge::Ours);
    }
    let joined = join(versions, &our_hunks, &their_hunks);
    Ok(HunkMerge::Hunks(match refinement {
        Refinement::Whole => joined,
        Refinement::Ends => {
            joined.into_iter().map(|hunk| without_equal_ends(versions, hunk)).collect()
        }
        Refinement::Zealous | Refinement::ZealousAlnum => {
            let refined = refine(versions, joined, budget)?;
            join_near_conflicts(&versions.ours, refined, refinement)
        }
    }))
}

fn whole<'a>(lines: &'a Lines<'_>) -> Slice<'a> {
    part(lines, &(0..lines.len()))
}

fn part<'a>(lines: &'a Lines<'_>, range: &Range<usize>) -> Slice<'a> {
    Slice { numbers: &lines.numbers[range.clone()], texts: &lines.texts[range.clone()] }
}

/// Joins the changes of both sides into one list. Changes that overlap or touch are a conflict,
/// unless they are the same.
fn join(versions: &Versions<'_>, ours: &[Hunk], theirs: &[Hunk]) -> Vec<Merged> {
    let mut joined = Vec::new();
    let (mut one, mut two) = (ours.iter().peekable(), theirs.iter().peekable());
    // How many lines longer each side has become so far.
    let (mut our_shift, mut their_shift) = (0_isize, 0_isize);
    // A start that is part of an earlier conflict may be before the text; the conflict's counts.
    let shifted = |lines: &Range<usize>, by: isize| {
        lines.start.saturating_add_signed(by)..lines.end.saturating_add_signed(by)
    };
    let grown = |hunk: &Hunk| hunk.new.end.cast_signed() - hunk.old.end.cast_signed();
    loop {
        match (one.peek(), two.peek()) {
            (None, None) => return joined,
            (Some(our), their) if their.is_none_or(|their| our.old.end < their.old.start) => {
                let theirs = shifted(&our.old, their_shift);
                append(&mut joined, Take::Ours, our.old.clone(), our.new.clone(), theirs);
                our_shift = grown(our);
                one.next();
            }
            (our, Some(their)) if our.is_none_or(|our| their.old.end < our.old.start) => {
                let ours = shifted(&their.old, our_shift);
                append(&mut joined, Take::Theirs, their.old.clone(), ours, their.new.clone());
                their_shift = grown(their);
                two.next();
            }
            (Some(our), Some(their)) => {
                if !is_same_change(versions, our, their) {
                    let base = our.old.start.min(their.old.start)..our.old.end.max(their.old.end);
                    let of_side = |hunk: &Hunk| {
                        // Where an earlier change is part of the conflict, its start counts.
                        let start = hunk.new.start.saturating_sub(hunk.old.start - base.start);
                        start..hunk.new.end + (base.end - hunk.old.end)
                    };
                    let (ours, theirs) = (of_side(our), of_side(their));
                    append(&mut joined, Take::Conflict, base, ours, theirs);
                }
                let ends = our.old.end.cmp(&their.old.end);
                if ends.is_ge() {
                    their_shift = grown(their);
                    two.next();
                }
                if ends.is_le() {
                    our_shift = grown(our);
                    one.next();
                }
            }
            (Some(_), None) | (None, Some(_)) => unreachable!("a single list is taken above"),
        }
    }
}

fn is_same_change(versions: &Versions<'_>, our: &Hunk, their: &Hunk) -> bool {
    our.old == their.old
        && versions.ours.numbers[our.new.clone()] == versions.theirs.numbers[their.new.clone()]
}

/// Appends a region. A region that touches the last one is joined with it.
fn append(
    joined: &mut Vec<Merged>,
    take: Take,
    base: Range<usize>,
    ours: Range<usize>,
    theirs: Range<usize>,
) {
    if let Some(last) = joined.last_mut()
        && (ours.start <= last.ours.end || theirs.start <= last.theirs.end)
    {
        if take != last.take {
            last.take = Take::Conflict;
        }
        last.base.end = base.end;
        last.ours.end = ours.end;
        last.theirs.end = theirs.end;
        return;
    }
    joined.push(Merged { take, base, ours, theirs });
}

/// Compares the two sides of each conflict, and leaves only the lines in which they differ.
fn refine(
    versions: &Versions<'_>,
    joined: Vec<Merged>,
    budget: &mut Budget,
) -> Result<Vec<Merged>, OverBudget> {
    let mut refined = Vec::with_capacity(joined.len());
    for hunk in joined {
        if hunk.take != Take::Conflict || hunk.ours.is_empty() || hunk.theirs.is_empty() {
            refined.push(hunk);
            continue;
        }
        let (ours, theirs) =
            (part(&versions.ours, &hunk.ours), part(&versions.theirs, &hunk.theirs));
        let different = diff(ours, theirs, versions.different_lines, budget)?;
        if different.is_empty() {
            refined.push(Merged { take: Take::Either, ..hunk });
            continue;
        }
        let moved = |range: &Range<usize>, by: usize| range.start + by..range.end + by;
        refined.extend(different.into_iter().map(|part| Merged {
            take: Take::Conflict,
            base: hunk.base.clone(),
            ours: moved(&part.old, hunk.ours.start),
            theirs: moved(&part.new, hunk.theirs.start),
        }));
    }
    Ok(refined)
}

/// Leaves out the lines with which both sides of a conflict begin or end.
fn without_equal_ends(versions: &Versions<'_>, mut hunk: Merged) -> Merged {
    if hunk.take != Take::Conflict {
        return hunk;
    }
    let Versions { ours, theirs, .. } = versions;
    let (our, their) = (&ours.numbers[hunk.ours.clone()], &theirs.numbers[hunk.theirs.clone()]);
    let same = |(one, other): &(&_, &_)| one == other;
    let first = our.iter().zip(their).take_while(same).count();
    let (our, their) = (&our[first..], &their[first..]);
    let last = our.iter().rev().zip(their.iter().rev()).take_while(same).count();
    for side in [&mut hunk.ours, &mut hunk.theirs] {
        *side = side.start + first..side.end - last;
    }
    hunk
}

/// The number of lines between two conflicts up to which they are joined.
const NEAR: usize = 3;

fn join_near_conflicts(
    ours: &Lines<'_>,
    hunks: Vec<Merged>,
    refinement: Refinement,
) -> Vec<Merged> {
    let mut joined: Vec<Merged> = Vec::with_capacity(hunks.len());
    for hunk in hunks {
        if let Some(last) = joined.last_mut()
            && last.take == Take::Conflict
            && hunk.take == Take::Conflict
        {
            let between = &ours.texts[last.ours.end..hunk.ours.start];
            let is_near = between.len() <= NEAR
                || refinement == Refinement::ZealousAlnum
                    && !between.iter().any(|line| line.iter().any(u8::is_ascii_alphanumeric));
            if is_near {
                last.base.end = hunk.base.end;
                last.ours.end = hunk.ours.end;
                last.theirs.end = hunk.theirs.end;
                continue;
            }
        }
        joined.push(hunk);
    }
    joined
}
