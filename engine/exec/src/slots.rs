//! The slots of an engine: small numbers that tell the owners apart whose processes run now.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The slots that are taken.
#[derive(Debug, Default)]
pub(crate) struct Slots(Mutex<BTreeSet<usize>>);

impl Slots {
    /// Takes the smallest free slot, from 0.
    pub(crate) fn take(&self) -> usize {
        let mut taken = self.taken();
        let gap = taken.iter().zip(0..).find(|(slot, number)| *slot != number);
        let free = gap.map_or(taken.len(), |(_, number)| number);
        taken.insert(free);
        free
    }

    /// Makes a slot free again.
    pub(crate) fn release(&self, slot: usize) {
        self.taken().remove(&slot);
    }

    fn taken(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        // No step leaves the set half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_free_slot_is_taken() {
        let slots = Slots::default();
        assert_eq!([slots.take(), slots.take(), slots.take()], [0, 1, 2]);
        slots.release(1);
        slots.release(0);
        assert_eq!([slots.take(), slots.take(), slots.take()], [0, 1, 3]);
    }
}
