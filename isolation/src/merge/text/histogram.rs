//! The histogram diff: splits both sides at the longest run of common lines that contains the
//! rarest line, and continues on both sides of it.

use std::ops::Range;

use super::diff::{Budget, OverBudget};

/// The number of occurrences from which on a line is too frequent to split at.
const MAX_OCCURRENCES: u32 = 64;

/// A pair of regions that are to be compared.
pub(super) struct Regions {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// The lines that a diff marks as changed.
pub(super) struct Marks {
    pub(super) old: Vec<bool>,
    pub(super) new: Vec<bool>,
}

/// Compares two lists of lines. `fall_back` compares regions whose common lines are all too
/// frequent.
pub(super) fn histogram(
    old: &[u32],
    new: &[u32],
    different_lines: usize,
    budget: &mut Budget,
    fall_back: &mut dyn FnMut(&Regions, &mut Marks),
) -> Result<Marks, OverBudget> {
    let mut marks = Marks { old: vec![false; old.len()], new: vec![false; new.len()] };
    let mut index = Index::new(old.len(), different_lines);
    // A list of the regions that are left, because recursion would be as deep as the file is long.
    let mut left = vec![Regions { old: 0..old.len(), new: 0..new.len() }];
    while let Some(regions) = left.pop() {
        if regions.old.is_empty() || regions.new.is_empty() {
            mark_all(&regions, &mut marks);
            continue;
        }
        index.fill(old, &regions.old);
        budget.spend(regions.old.len() + regions.new.len())?;
        match index.split(old, new, &regions, budget)? {
            Split::NothingInCommon => mark_all(&regions, &mut marks),
            Split::TooFrequent => {
                budget.spend_on_fallback(&regions)?;
                fall_back(&regions, &mut marks);
            }
            Split::At(run) => {
                left.push(Regions {
                    old: run.old.end..regions.old.end,
                    new: run.new.end..regions.new.end,
                });
                left.push(Regions {
                    old: regions.old.start..run.old.start,
                    new: regions.new.start..run.new.start,
                });
            }
        }
    }
    Ok(marks)
}

fn mark_all(regions: &Regions, marks: &mut Marks) {
    marks.old[regions.old.clone()].fill(true);
    marks.new[regions.new.clone()].fill(true);
}

/// Where to split two regions.
enum Split {
    At(Regions),
    NothingInCommon,
    TooFrequent,
}

/// The occurrences of each line in the old region.
struct Index {
    /// The occurrences per line, valid if the generation is the current one.
    records: Vec<Record>,
    /// The next occurrence of the same line.
    next: Vec<u32>,
    generation: u32,
}

#[derive(Clone, Copy, Default)]
struct Record {
    generation: u32,
    first: u32,
    count: u32,
}

/// Marks the end of a list of occurrences.
const NONE: u32 = u32::MAX;

impl Index {
    fn new(old_lines: usize, different_lines: usize) -> Self {
        let records = vec![Record::default(); different_lines];
        Self { records, next: vec![NONE; old_lines], generation: 0 }
    }

    fn fill(&mut self, old: &[u32], region: &Range<usize>) {
        self.generation += 1;
        for at in region.clone().rev() {
            let record = &mut self.records[old[at] as usize];
            if record.generation != self.generation {
                *record = Record { generation: self.generation, first: NONE, count: 0 };
            }
            self.next[at] = record.first;
            record.first = u32::try_from(at).expect("a text has fewer than 2^32 lines");
            record.count += 1;
        }
    }

    fn record(&self, line: u32) -> Option<Record> {
        let record = self.records[line as usize];
        (record.generation == self.generation).then_some(record)
    }

    /// Finds the run of common lines at which to split.
    fn split(
        &self,
        old: &[u32],
        new: &[u32],
        regions: &Regions,
        budget: &mut Budget,
    ) -> Result<Split, OverBudget> {
        let mut best = Best { run: None, count: MAX_OCCURRENCES + 1 };
        let mut any_common = false;
        let mut at = regions.new.start;
        while at < regions.new.end {
            let Some(record) = self.record(new[at]) else {
                at += 1;
                continue;
            };
            any_common = true;
            at = if record.count > best.count {
                at + 1
            } else {
                self.try_line(old, new, regions, (at, record), &mut best, budget)?
            };
        }
        Ok(match best.run {
            _ if !any_common => Split::NothingInCommon,
            Some(run) if best.count <= MAX_OCCURRENCES => Split::At(run),
            _ => Split::TooFrequent,
        })
    }

    /// Extends each occurrence of a line to a run of common lines, and keeps the best one. Returns
    /// the new line at which to continue.
    fn try_line(
        &self,
        old: &[u32],
        new: &[u32],
        regions: &Regions,
        (at, record): (usize, Record),
        best: &mut Best,
        budget: &mut Budget,
    ) -> Result<usize, OverBudget> {
        let mut continue_at = at + 1;
        let mut occurrence = record.first;
        while occurrence != NONE {
            let found = occurrence as usize;
            let mut count = record.count;
            let (mut first, mut new_first) = (found, at);
            while first > regions.old.start
                && new_first > regions.new.start
                && old[first - 1] == new[new_first - 1]
            {
                first -= 1;
                new_first -= 1;
                count = count.min(self.records[old[first] as usize].count);
            }
            let (mut end, mut new_end) = (found + 1, at + 1);
            while end < regions.old.end && new_end < regions.new.end && old[end] == new[new_end] {
                count = count.min(self.records[old[end] as usize].count);
                end += 1;
                new_end += 1;
            }
            budget.spend(end - first)?;
            continue_at = continue_at.max(new_end);
            let longest = best.run.as_ref().map_or(1, |run| run.old.len());
            if longest < end - first || count < best.count {
                best.run = Some(Regions { old: first..end, new: new_first..new_end });
                best.count = count;
            }
            occurrence = self.next[found];
            while occurrence != NONE && (occurrence as usize) < end {
                occurrence = self.next[occurrence as usize];
            }
        }
        Ok(continue_at)
    }
}

/// The best run of common lines so far, and how often its rarest line occurs.
struct Best {
    run: Option<Regions>,
    count: u32,
}
