//! The order in which waiting requests are served: those of a person first, then the runs by turns.
//! Of one run, those that have failed more often come first, and else those that came first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Ticket;
use crate::ports::Requester;

/// The position of a request among those of its run.
type Position = (Reverse<u32>, Ticket);

/// Why a request no longer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Departure {
    /// It had its turn.
    Served,
    /// It had none, and will have none.
    GivenUp,
}

/// The waiting requests of one account.
#[derive(Debug, Default)]
pub(super) struct Turns {
    waiting: BTreeMap<Requester, BTreeSet<Position>>,
    /// When each of those that wait, or waited a moment ago, was served last.
    served: BTreeMap<Requester, u64>,
    count: u64,
}

impl Turns {
    pub(super) fn add(&mut self, requester: Requester, retries: u32, ticket: Ticket) {
        self.waiting.entry(requester).or_default().insert((Reverse(retries), ticket));
    }

    /// Returns the request whose turn it is.
    pub(super) fn next(&self) -> Option<Ticket> {
        let turn = |requester: &Requester| match requester {
            Requester::Person => (0, 0),
            Requester::Run(_) => (1, self.served.get(requester).copied().unwrap_or(0)),
        };
        let first = |positions: &BTreeSet<Position>| positions.first().map(|(_, ticket)| *ticket);
        let next = self.waiting.iter().min_by_key(|(who, positions)| (turn(who), first(positions)));
        next.and_then(|(_, positions)| first(positions))
    }

    /// Removes a request.
    pub(super) fn remove(
        &mut self,
        requester: &Requester,
        retries: u32,
        ticket: Ticket,
        departure: Departure,
    ) {
        if let Some(positions) = self.waiting.get_mut(requester) {
            positions.remove(&(Reverse(retries), ticket));
            if positions.is_empty() {
                self.waiting.remove(requester);
            }
        }
        if departure == Departure::Served {
            self.count += 1;
            self.served.insert(requester.clone(), self.count);
        }
        if self.waiting.is_empty() {
            self.served.clear();
        }
    }

    /// Returns every waiting request.
    pub(super) fn all(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.waiting.values().flatten().map(|(_, ticket)| *ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> Requester {
        Requester::Run(name.parse().unwrap())
    }

    #[test]
    fn runs_are_served_by_turns_and_a_person_before_them() {
        let mut turns = Turns::default();
        let of = |ticket: u64| match ticket {
            0..10 => run("raaaa"),
            10..13 => run("rbbbb"),
            _ => Requester::Person,
        };
        let retries = |ticket| if ticket == 9 { 2 } else { 0 };
        (0..15).for_each(|ticket| turns.add(of(ticket), retries(ticket), Ticket(ticket)));
        let mut order = Vec::new();
        while let Some(ticket) = turns.next() {
            turns.remove(&of(ticket.0), retries(ticket.0), ticket, Departure::Served);
            order.push(ticket.0);
        }
        assert_eq!(order, [13, 14, 9, 10, 0, 11, 1, 12, 2, 3, 4, 5, 6, 7, 8]);
        assert!(turns.served.is_empty());
    }
}
