//! Queues of several engines that share an account.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::request::GateReport;

/// Engines that share one account.
struct Engines {
    policy: GatePolicy,
    bytes: Vec<u8>,
    gone: BTreeSet<&'static str>,
    queues: BTreeMap<&'static str, GateQueue>,
}

impl Engines {
    fn new(policy: GatePolicy) -> Self {
        let account = Some(crate::ports::AccountId::of_provider("acme"));
        let policy = GatePolicy { account, ..policy };
        Self { policy, bytes: Vec::new(), gone: BTreeSet::new(), queues: BTreeMap::new() }
    }

    fn step(&mut self, name: &'static str, input: GateInput, now: Duration) -> Vec<GateEffect> {
        let queue = self.queues.entry(name).or_insert_with(|| GateQueue::new(self.policy.clone()));
        let is_there = |name: &str| !self.gone.contains(name);
        let shared = (&self.bytes[..], &is_there as &dyn Fn(&str) -> bool);
        let (effects, bytes) = queue.step_shared(vec![input], name, shared, now);
        self.bytes = bytes;
        effects
    }

    /// An engine is killed, with all that it has under way.
    fn kill(&mut self, name: &'static str) {
        self.queues.remove(name);
        self.gone.insert(name);
    }

    fn report(&self, now: Duration) -> GateReport {
        let is_there = |name: &str| !self.gone.contains(name);
        GateReport::read(&self.bytes, &is_there, now).unwrap()
    }
}

#[test]
fn engines_share_the_window_and_a_killed_one_leaves_its_share() {
    let mut engines = Engines::new(policy(Some(2)));
    let now = Duration::ZERO;
    assert_eq!(admitted(&engines.step("a", arrived(1), now)), [1]);
    assert_eq!(admitted(&engines.step("b", arrived(1), now)), [1]);
    let waits = engines.step("b", arrived(2), now);
    assert_eq!((admitted(&waits), wake(&waits)), (vec![], Some(LOOK_AGAIN)));
    let report = engines.report(now);
    assert_eq!(
        (report.engines, report.under_way, report.limit, report.waiting, report.hold),
        (2, 2, Some(2), 1, None)
    );
    engines.kill("a");
    assert_eq!(admitted(&engines.step("b", GateInput::Woken(Duration::ZERO), LOOK_AGAIN)), [2]);
    assert_eq!(engines.report(LOOK_AGAIN).under_way, 2);
}

#[test]
fn an_engine_that_can_share_nothing_any_more_goes_on_alone() {
    let mut engines = Engines::new(policy(Some(1)));
    engines.step("a", arrived(1), Duration::ZERO);
    engines.step("b", arrived(1), Duration::ZERO);
    let queue = engines.queues.get_mut("b").unwrap();
    queue.forget_others(LOOK_AGAIN);
    assert_eq!(admitted(&queue.step(GateInput::Woken(LOOK_AGAIN), LOOK_AGAIN)), [1]);
}

#[test]
fn only_where_nothing_limits_an_account_a_step_need_not_be_shared() {
    let harmless = [arrived(2), answered(1), GateInput::Accepted(Ticket(1), None)];
    let mut free = queue(None);
    assert!(free.is_unlimited_for(&harmless, SECOND));
    for told in [rejected(1, None), failed(1), GateInput::Woken(SECOND)] {
        assert!(!free.is_unlimited_for(&[told], SECOND));
    }
    assert!(!free.is_unlimited_for(&[GateInput::Accepted(Ticket(1), Some(SECOND))], SECOND));
    assert!(!queue(Some(9)).is_unlimited_for(&harmless, SECOND), "it has a limit");
    free.step(arrived(1), SECOND);
    free.step(failed(1), SECOND);
    assert!(!free.is_unlimited_for(&harmless, SECOND), "one has failed");
    free.step(arrived(2), SECOND);
    free.step(answered(2), SECOND);
    assert!(free.is_unlimited_for(&harmless, SECOND));
    free.step(arrived(3), SECOND);
    free.step(GateInput::Accepted(Ticket(3), Some(SECOND)), SECOND);
    assert!(!free.is_unlimited_for(&harmless, SECOND), "it pauses");
    assert!(free.is_unlimited_for(&harmless, SECOND * 3));
    free.step(rejected(3, Some(1)), SECOND * 3);
    assert!(!free.is_unlimited_for(&harmless, SECOND * 9), "it has learned a limit");
}

#[test]
fn what_one_engine_is_told_holds_for_all() {
    let mut engines = Engines::new(policy(None));
    assert_eq!(admitted(&engines.step("a", arrived(1), Duration::ZERO)), [1]);
    engines.step("a", rejected(1, Some(10)), Duration::ZERO);
    let waits = engines.step("b", arrived(1), SECOND);
    assert_eq!(notified(&waits), [(1, SECOND * 9)]);
    assert_eq!(engines.report(SECOND).hold.unwrap().wait, Some(SECOND * 9));
    engines.step("a", arrived(2), SECOND);
    assert_eq!(admitted(&engines.step("b", GateInput::Woken(Duration::ZERO), SECOND * 10)), [1]);
    assert_eq!(
        admitted(&engines.step("a", GateInput::Woken(Duration::ZERO), SECOND * 10)),
        [0; 0],
        "one finds out"
    );
    engines.step("b", GateInput::Accepted(Ticket(1), None), SECOND * 11);
    assert_eq!(admitted(&engines.step("a", GateInput::Woken(Duration::ZERO), SECOND * 11)), [2]);
}

#[test]
fn engines_take_turns_however_much_one_asks_and_a_person_goes_first() {
    let mut engines = Engines::new(policy(Some(1)));
    let now = Duration::ZERO;
    (0..50).for_each(|ticket| drop(engines.step("a", arrived(ticket), now)));
    (0..2).for_each(|ticket| drop(engines.step("b", arrived(ticket), now)));
    let requester = Requester::Person;
    let person = GateInput::Arrived { ticket: Ticket(0), requester, retries: 0, tokens: 0 };
    engines.step("c", person, now);
    let (mut under_way, mut order) = (vec![("a", 0)], Vec::new());
    while let Some((name, ticket)) = under_way.pop() {
        order.push(name);
        let mut began = vec![(name, engines.step(name, answered(ticket), now))];
        for other in ["a", "b", "c"] {
            began.push((other, engines.step(other, GateInput::Woken(Duration::ZERO), now)));
        }
        for (name, effects) in began {
            under_way.extend(admitted(&effects).into_iter().map(|ticket| (name, ticket)));
        }
        assert!(under_way.len() <= 1, "{under_way:?}");
    }
    assert_eq!(order[..6], ["a", "c", "b", "a", "b", "a"]);
    assert_eq!(order.len(), 53);
}

#[test]
fn an_engine_that_waits_and_shows_nothing_holds_up_nobody() {
    let mut engines = Engines::new(policy(Some(1)));
    engines.step("a", arrived(1), Duration::ZERO);
    engines.step("b", arrived(1), Duration::ZERO);
    engines.step("a", arrived(2), SECOND);
    assert_eq!(admitted(&engines.step("a", answered(1), SECOND)), [2], "b is stopped");
}

#[test]
fn one_engine_probes_and_its_end_lets_another_one_do_so() {
    let mut engines = Engines::new(policy(None));
    for ticket in 0..3 {
        engines.step("a", arrived(ticket), Duration::ZERO);
    }
    (0..3).for_each(|ticket| drop(engines.step("a", failed(ticket), Duration::ZERO)));
    engines.step("b", arrived(1), Duration::ZERO);
    assert_eq!(admitted(&engines.step("a", arrived(4), SECOND)), [4]);
    assert_eq!(admitted(&engines.step("b", GateInput::Woken(Duration::ZERO), SECOND)), [0; 0]);
    engines.kill("a");
    assert_eq!(
        admitted(&engines.step("b", GateInput::Woken(Duration::ZERO), SECOND + LOOK_AGAIN)),
        [1]
    );
    assert!(engines.report(SECOND * 2).hold.unwrap().reason.contains("down"));
}

#[test]
fn the_limits_per_minute_are_those_of_all_engines() {
    let per_minute = MinuteLimits { requests: NonZeroU32::new(2), tokens: None };
    let mut engines = Engines::new(GatePolicy { per_minute, ..policy(None) });
    assert_eq!(admitted(&engines.step("a", arrived(1), Duration::ZERO)), [1]);
    assert_eq!(admitted(&engines.step("b", arrived(1), Duration::ZERO)), [1]);
    assert_eq!(wake(&engines.step("a", arrived(2), Duration::ZERO)), Some(SECOND * 61));
}

proptest! {
    #[test]
    fn whatever_stands_in_the_shared_bytes_is_survived(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        at in any::<usize>(),
        with in any::<u8>(),
    ) {
        let mut engines = Engines::new(policy(Some(2)));
        engines.bytes = bytes;
        engines.step("a", arrived(1), SECOND);
        let sound = engines.bytes.clone();
        let at = at % sound.len();
        engines.bytes[at] = with;
        engines.step("b", arrived(1), SECOND);
        engines.step("b", GateInput::Woken(Duration::ZERO), SECOND * 2);
        let far = String::from_utf8(sound).unwrap().replace("\"secs\":1", "\"secs\":18446744073709551615");
        engines.bytes = far.into_bytes();
        engines.step("b", arrived(2), SECOND * 2);
        let times = String::from_utf8(engines.bytes.clone()).unwrap();
        prop_assert!(!times.contains("18446744073709551615"), "{times}");
    }
}
