//! Bringing one path from what is expected to what is new, whatever was done of it before: the one
//! mechanism by which a landing goes forward, is taken back, and is finished after a kill.

use git2::{ObjectType, Oid};
use protocol::{RepoPath, RunName};

use crate::entry::{Entry, Mode};
use crate::error::{OrCannot, Result};
use crate::landing::close::Close;
use crate::landing::moves::{Moved, Moves, Swap, aside};
use crate::landing::step::{Step, Way};
use crate::landing::writers::Access;
use crate::tree::Found;

/// Takes steps in one tree.
pub(super) struct Roll<'a> {
    pub(super) moves: Moves<'a>,
    pub(super) close: &'a Close<'a>,
    /// The run whose landing it is.
    pub(super) run: &'a RunName,
    pass: Pass,
}

/// Which time the steps are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// The first: whatever is found can still be answered by taking the landing back.
    First,
    /// To finish a landing that was begun before, or to take it back.
    Again,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rolled {
    /// The path is as the step wants it.
    There,
    /// Somebody else has changed the path, and it is as they want it.
    Contested,
}

/// What is at a path now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Missing,
    Entry(Entry, Vec<u8>),
    /// A folder, or something special.
    Other,
}

impl Seen {
    /// Whether it is exactly this version, or nothing where there is none.
    pub(super) fn is(&self, version: Option<Entry>) -> bool {
        match (self, version) {
            (Self::Missing, None) => true,
            (Self::Entry(entry, _), Some(version)) => *entry == version,
            _ => false,
        }
    }
}

impl<'a> Roll<'a> {
    /// Takes the steps of a landing for the first time.
    pub(super) fn live(close: &'a Close<'a>, run: &'a RunName) -> Self {
        let off = close.faults.is_off("exchange");
        let swap = if off { Swap::MoveAside } else { Swap::Exchange };
        let moves = Moves::within(close.tree, swap, close.faults);
        Self { moves, close, run, pass: Pass::First }
    }

    /// Takes the steps of a landing that was begun before, or back again.
    pub(super) fn again(close: &'a Close<'a>, run: &'a RunName) -> Self {
        Self { pass: Pass::Again, ..Self::live(close, run) }
    }

    /// Brings the path of `step` to its new version, if it is still as expected.
    pub(super) fn take(&self, step: &Step) -> Result<Rolled> {
        self.tidy_aside(step)?;
        let target = self.see(&step.path)?;
        if step.way == Way::InPlace {
            return self.write_over(step, &target);
        }
        // What made room for a folder has gone as well where the folder is there already.
        let gave_room = target == Seen::Other && step.new.is_none();
        if target.is(step.new) || gave_room {
            return self.arrived(step);
        }
        // Where a folder is to become a file, its files have been moved away before.
        let makes_room = target == Seen::Other && step.expected.is_none();
        if !target.is(step.expected) && !makes_room {
            return Ok(Rolled::Contested);
        }
        match (step.expected, step.new) {
            (Some(_), Some(new)) => self.replace(step, new),
            (None, Some(new)) => self.create(step, new),
            (Some(_), None) => self.move_away(step),
            (None, None) => Ok(Rolled::There),
        }
    }

    /// Returns what is at `path` now.
    pub(super) fn see(&self, path: &RepoPath) -> Result<Seen> {
        let entry = |mode, bytes: Vec<u8>| {
            let oid = Oid::hash_object(ObjectType::Blob, &bytes);
            let oid = oid.or_cannot(|| format!("hash {path}"))?;
            Ok(Seen::Entry(Entry { mode, oid }, bytes))
        };
        match self.moves.tree.look(path)? {
            Found::Missing | Found::Blocked(_) => Ok(Seen::Missing),
            Found::File { mode, bytes, .. } => entry(mode, bytes),
            Found::Link { target, .. } => entry(Mode::Link, target),
            Found::Folder | Found::Special => Ok(Seen::Other),
        }
    }

    /// Makes sure that the new version waits beside its target, durably.
    fn restage(&self, step: &Step, new: Entry) -> Result<()> {
        if self.see(&step.temp)?.is(Some(new)) {
            return Ok(());
        }
        self.stage(step, new)?;
        self.moves.sync(&step.temp)
    }

    /// Makes the new version wait beside its target. It is durable when it is synced.
    pub(super) fn stage(&self, step: &Step, new: Entry) -> Result<()> {
        let _not_watched = self.drop_version(step, &step.temp)?;
        self.moves.write_fresh(step, new, &self.close.store.read(new.oid)?)
    }

    /// The path is as wanted. Unless what came out of its place was not what was expected: then a
    /// kill came between an exchange and the look at what it brought, and it was somebody's save.
    fn arrived(&self, step: &Step) -> Result<Rolled> {
        match self.see(&step.temp)? {
            Seen::Missing => Ok(Rolled::There),
            came if came.is(step.expected) || came.is(step.new) => Ok(Rolled::There),
            _ if step.expected.is_none() => Ok(Rolled::There),
            _ => self.give_back(step),
        }
    }

    fn replace(&self, step: &Step, new: Entry) -> Result<Rolled> {
        self.restage(step, new)?;
        self.strike()?;
        if self.moves.exchange(&step.temp, &step.path)? == Moved::No {
            return Ok(Rolled::Contested);
        }
        self.look_at_what_came(step)
    }

    fn create(&self, step: &Step, new: Entry) -> Result<Rolled> {
        self.restage(step, new)?;
        self.strike()?;
        if self.see(&step.path)? == Seen::Other
            && self.moves.remove_folders(&step.path)? == Moved::No
        {
            return Ok(Rolled::Contested);
        }
        self.moves.make_folders(&step.path)?;
        match self.moves.shift(&step.temp, &step.path)? {
            Moved::Yes => Ok(Rolled::There),
            Moved::No => Ok(Rolled::Contested),
        }
    }

    fn move_away(&self, step: &Step) -> Result<Rolled> {
        let _not_watched = self.drop_version(step, &step.temp)?;
        self.strike()?;
        if self.moves.shift(&step.path, &step.temp)? == Moved::No {
            return Ok(Rolled::Contested);
        }
        self.look_at_what_came(step)
    }

    fn look_at_what_came(&self, step: &Step) -> Result<Rolled> {
        if self.close.faults.is_off("F277") || self.see(&step.temp)?.is(step.expected) {
            return Ok(Rolled::There);
        }
        self.give_back(step)
    }

    /// Puts somebody's save back to where it was taken from.
    pub(super) fn give_back(&self, step: &Step) -> Result<Rolled> {
        match step.new {
            None => {
                // If they have made another one meanwhile, that is the one they want.
                self.moves.shift(&step.temp, &step.path)?;
            }
            Some(_) => {
                self.moves.exchange(&step.temp, &step.path)?;
                // They may have saved once more, over our version: that save is the one they want.
                let came = self.see(&step.temp)?;
                if !came.is(step.new) && came != Seen::Missing {
                    self.moves.exchange(&step.temp, &step.path)?;
                }
            }
        }
        Ok(Rolled::Contested)
    }

    /// Before a step is taken back: puts what came out of its path back to it, if somebody has
    /// changed it since. To take the step back from the task store would cut them off from it.
    pub(super) fn put_back(&self, step: &Step) -> Result<Rolled> {
        if step.way == Way::InPlace || step.expected.is_none() {
            return Ok(Rolled::There);
        }
        let came = self.see(&step.temp)?;
        let is_edit =
            matches!(came, Seen::Entry(..)) && !came.is(step.expected) && !came.is(step.new);
        if is_edit && self.see(&step.path)?.is(step.new) {
            return self.give_back(step);
        }
        Ok(Rolled::There)
    }

    /// Writes over a file that has other names, if it is as expected or half written by us.
    fn write_over(&self, step: &Step, target: &Seen) -> Result<Rolled> {
        let (Some(old), Some(new), Seen::Entry(now, bytes)) = (step.expected, step.new, target)
        else {
            return Ok(Rolled::Contested);
        };
        if *now == new {
            return Ok(Rolled::There);
        }
        let (before, after) = (self.close.store.read(old.oid)?, self.close.store.read(new.oid)?);
        if *now != old && !is_half(bytes, &before, &after) && !is_half(bytes, &after, &before) {
            return Ok(Rolled::Contested);
        }
        self.strike()?;
        // Later it must not stop us: the file may be half written, by us.
        if self.pass == Pass::First && matches!(self.access(&step.path)?, Access::Written) {
            return Ok(Rolled::Contested);
        }
        Ok(match self.moves.write_over(&step.path, new, bytes, &after)? {
            Moved::Yes => Rolled::There,
            Moved::No => Rolled::Contested,
        })
    }

    /// Finishes an exchange that was made by moving the old version aside, if a kill cut it short.
    fn tidy_aside(&self, step: &Step) -> Result<()> {
        let aside = aside(&step.temp);
        let Seen::Entry(..) = self.see(&aside)? else { return Ok(()) };
        if self.moves.shift(&aside, &step.path)? == Moved::Yes
            || self.moves.shift(&aside, &step.temp)? == Moved::Yes
        {
            return Ok(());
        }
        let _not_watched = self.drop_version(step, &aside)?;
        Ok(())
    }

    fn strike(&self) -> Result<()> {
        let point = match self.pass {
            Pass::First => "landing.exchange",
            Pass::Again => "landing.roll",
        };
        self.close.faults.strike(point).or_cannot(|| "change a file of the working tree")
    }
}

/// Whether `bytes` begin as `after` and go on as `before`: what is there when writing one over the
/// other from the beginning was cut short.
fn is_half(bytes: &[u8], before: &[u8], after: &[u8]) -> bool {
    let same = bytes.iter().zip(after).take_while(|(left, right)| left == right).count();
    let rest = before.get(same..).unwrap_or_default();
    // Once everything is written and cut to length, only the permissions may be missing.
    bytes[same..] == *rest || bytes == after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_written_over_in_part_is_told_from_an_edit() {
        let (before, after) = (b"old old old".as_slice(), b"newer".as_slice());
        for written in 0..=after.len() {
            let half = [&after[..written], &before[written..]].concat();
            assert!(is_half(&half, before, after), "{written}");
        }
        let (before, after) = (b"old".as_slice(), b"newer and longer".as_slice());
        assert!(is_half(b"newer an", before, after));
        assert!(!is_half(b"newer xx", before, after));
        assert!(!is_half(b"old edited", before, after));
        assert!(!is_half(b"n", before, after));
    }
}
