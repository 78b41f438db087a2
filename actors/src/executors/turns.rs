//! The order of calls that are judged at the same time.

use std::collections::BTreeSet;

use tokio::sync::watch;

/// Gives calls their turns, in the order in which they come.
#[derive(Default)]
pub(super) struct Turns(watch::Sender<Open>);

/// The turns that have not ended.
#[derive(Default)]
struct Open {
    turns: BTreeSet<u64>,
    next: u64,
}

/// The turn of a call: it begins when those of all earlier calls have ended, and ends when it is dropped.
pub(super) struct Turn {
    open: watch::Sender<Open>,
    number: u64,
}

impl Turns {
    pub(super) fn next(&self) -> Turn {
        let mut number = 0;
        self.0.send_modify(|open| {
            number = open.next;
            open.next += 1;
            open.turns.insert(number);
        });
        Turn { open: self.0.clone(), number }
    }
}

impl Turn {
    /// Waits until the turn begins.
    pub(super) async fn begins(&self) {
        let is_first = |open: &Open| open.turns.first() == Some(&self.number);
        let mut open = self.open.subscribe();
        let _closed = open.wait_for(is_first).await;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.open.send_modify(|open| {
            open.turns.remove(&self.number);
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use test_limit::test;

    use super::*;

    #[test]
    fn a_turn_begins_when_those_of_all_earlier_calls_have_ended_in_any_order() {
        let turns = Turns::default();
        let [first, second, third] = [turns.next(), turns.next(), turns.next()];
        let has_begun = |turn: &Turn| turn.begins().now_or_never().is_some();
        assert!(has_begun(&first) && !has_begun(&second) && !has_begun(&third));
        drop(second);
        assert!(!has_begun(&third), "the first one goes on");
        drop(first);
        assert!(has_begun(&third));
        let fourth = turns.next();
        assert!(!has_begun(&fourth));
        drop(third);
        assert!(has_begun(&fourth));
    }
}
