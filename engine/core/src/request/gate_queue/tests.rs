use std::num::{NonZeroU32, NonZeroUsize};

use proptest::prelude::*;

use super::*;
use crate::ports::{GateWait, MinuteLimits};

mod many_sessions;
mod shared;

const SECOND: Duration = Duration::from_secs(1);

fn policy(concurrency: Option<usize>) -> GatePolicy {
    GatePolicy {
        account: None,
        concurrency: concurrency.and_then(NonZeroUsize::new),
        per_minute: MinuteLimits::default(),
        backoff: SECOND,
        outage: Some(SECOND * 45),
    }
}

fn queue(concurrency: Option<usize>) -> GateQueue {
    GateQueue::new(policy(concurrency))
}

fn arrived(ticket: u64) -> GateInput {
    arrived_of("raaaa", ticket)
}

fn arrived_of(run: &str, ticket: u64) -> GateInput {
    let requester = Requester::Run(run.parse().unwrap());
    GateInput::Arrived { ticket: Ticket(ticket), requester, retries: 0, tokens: 0 }
}

fn answered(ticket: u64) -> GateInput {
    GateInput::Ended(Ticket(ticket), GateEnd::Answered { tokens: 0 })
}

fn rejected(ticket: u64, seconds: Option<u64>) -> GateInput {
    let wait = seconds.map(Duration::from_secs);
    GateInput::Ended(Ticket(ticket), GateEnd::Rejected { wait, reason: "slow".into() })
}

fn failed(ticket: u64) -> GateInput {
    GateInput::Ended(Ticket(ticket), GateEnd::Failed { wait: None, reason: "down".into() })
}

fn overloaded(ticket: u64, seconds: Option<u64>) -> GateInput {
    let wait = seconds.map(Duration::from_secs);
    GateInput::Ended(Ticket(ticket), GateEnd::Overloaded { wait, reason: "full".into() })
}

fn admitted(effects: &[GateEffect]) -> Vec<u64> {
    let tickets = effects.iter().filter_map(|effect| match effect {
        GateEffect::Admit(Ticket(ticket)) => Some(*ticket),
        _ => None,
    });
    tickets.collect()
}

fn refused(effects: &[GateEffect]) -> Vec<(u64, &str)> {
    let refused = effects.iter().filter_map(|effect| match effect {
        GateEffect::Refuse(Ticket(ticket), failure) => Some((*ticket, failure.message.as_str())),
        _ => None,
    });
    refused.collect()
}

/// Returns how long each of the requests is notified that it waits for the end of a pause.
fn notified(effects: &[GateEffect]) -> Vec<(u64, Duration)> {
    let notified = effects.iter().filter_map(|effect| match effect {
        GateEffect::Notify(Ticket(ticket), GateWait::Paused { wait, .. }) => Some((*ticket, *wait)),
        _ => None,
    });
    notified.collect()
}

fn wake(effects: &[GateEffect]) -> Option<Duration> {
    effects.iter().find_map(|effect| match effect {
        GateEffect::WakeAt(at) => Some(*at),
        _ => None,
    })
}

#[test]
fn without_a_limit_each_request_is_admitted_when_it_arrives() {
    let mut queue = queue(None);
    for ticket in 0..100 {
        let effects = queue.step(arrived(ticket), Duration::ZERO);
        assert_eq!(effects, [GateEffect::Admit(Ticket(ticket))]);
    }
}

#[test]
fn with_a_limit_they_are_admitted_in_their_order_as_others_end() {
    let mut queue = queue(Some(2));
    let now = Duration::ZERO;
    assert_eq!(admitted(&queue.step(arrived(1), now)), [1]);
    assert_eq!(admitted(&queue.step(arrived(2), now)), [2]);
    let limit = NonZeroUsize::new(2).unwrap();
    let busy = |ticket| vec![GateEffect::Notify(Ticket(ticket), GateWait::Busy { limit })];
    assert_eq!(queue.step(arrived(3), now), busy(3));
    assert_eq!(queue.step(arrived(4), now), busy(4));
    assert_eq!(queue.step(answered(1), now), [GateEffect::Admit(Ticket(3))]);
    assert_eq!(queue.step(GateInput::NotSent(Ticket(3)), now), [GateEffect::Admit(Ticket(4))]);
    assert_eq!(queue.step(answered(2), now), []);
}

#[test]
fn a_pause_holds_for_all_that_wait_and_all_that_arrive_and_each_is_told_once() {
    let mut queue = queue(Some(1));
    assert_eq!(admitted(&queue.step(arrived(1), Duration::ZERO)), [1]);
    for ticket in 2..50 {
        assert!(admitted(&queue.step(arrived(ticket), Duration::ZERO)).is_empty());
    }
    let effects = queue.step(rejected(1, Some(10)), SECOND);
    let waits = notified(&effects);
    assert_eq!((waits.len(), admitted(&effects)), (48, vec![]));
    assert!(waits.iter().all(|(_, wait)| *wait == SECOND * 10), "{waits:?}");
    assert_eq!(wake(&effects), Some(SECOND * 11));
    let late = queue.step(arrived(50), SECOND * 2);
    assert_eq!(notified(&late), [(50, SECOND * 9)]);
    let known = queue.step(rejected(1, Some(9)), SECOND * 2);
    assert_eq!(notified(&known), [], "it has ended before");
    let before = SECOND * 11 - Duration::from_millis(1);
    assert!(admitted(&queue.step(GateInput::Woken(Duration::ZERO), before)).is_empty());
    assert_eq!(admitted(&queue.step(GateInput::Woken(Duration::ZERO), SECOND * 11)), [2]);
}

#[test]
fn after_a_pause_one_request_finds_out_and_then_more_and_more_follow() {
    let mut queue = queue(None);
    for ticket in 0..64 {
        queue.step(arrived(ticket), Duration::ZERO);
    }
    queue.step(rejected(0, Some(10)), Duration::ZERO);
    for ticket in 100..200 {
        assert!(admitted(&queue.step(arrived(ticket), SECOND)).is_empty());
    }
    (1..64).for_each(|ticket| drop(queue.step(answered(ticket), SECOND * 2)));
    let now = SECOND * 10;
    assert_eq!(admitted(&queue.step(GateInput::Woken(Duration::ZERO), now)), [100]);
    assert_eq!(admitted(&queue.step(GateInput::Accepted(Ticket(100), None), now)), [101]);
    assert_eq!(admitted(&queue.step(answered(100), now)), [102]);
    for accepted in 101..131 {
        let next = admitted(&queue.step(GateInput::Accepted(Ticket(accepted), None), now));
        assert_eq!(next, [accepted + 2]);
    }
    let next = admitted(&queue.step(GateInput::Accepted(Ticket(131), None), now));
    assert_eq!(next, Vec::<u64>::new(), "from half of what was too much on, it grows slowly");
}

#[test]
fn a_rejection_until_a_time_that_is_over_pauses_as_one_without_a_time() {
    let mut queue = queue(None);
    queue.step(arrived(1), Duration::ZERO);
    queue.step(rejected(1, Some(0)), Duration::ZERO);
    assert_eq!(notified(&queue.step(arrived(2), Duration::ZERO)), [(2, SECOND)]);
}

#[test]
fn a_rejection_without_a_time_pauses_longer_each_time_until_one_is_accepted() {
    let mut queue = queue(None);
    let (mut now, mut waits) = (Duration::ZERO, Vec::new());
    for ticket in 0..8 {
        assert_eq!(admitted(&queue.step(arrived(ticket), now)), [ticket]);
        queue.step(rejected(ticket, None), now);
        let until = notified(&queue.step(arrived(100 + ticket), now))[0].1;
        queue.step(GateInput::Woken(Duration::ZERO), now + until);
        queue.step(GateInput::NotSent(Ticket(100 + ticket)), now + until);
        waits.push(until.as_secs());
        now += until;
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
    queue.step(arrived(50), now);
    queue.step(GateInput::Accepted(Ticket(50), None), now);
    queue.step(arrived(51), now);
    queue.step(rejected(51, None), now);
    assert_eq!(notified(&queue.step(arrived(52), now)), [(52, SECOND)]);
}

#[test]
fn an_overload_halves_the_window_once_and_what_is_accepted_widens_it() {
    let mut queue = queue(None);
    let now = Duration::ZERO;
    (0..8).for_each(|ticket| assert_eq!(admitted(&queue.step(arrived(ticket), now)), [ticket]));
    assert_eq!(queue.step(overloaded(0, None), now), []);
    let limit = NonZeroUsize::new(4).unwrap();
    let busy = |ticket| [GateEffect::Notify(Ticket(ticket), GateWait::Busy { limit })];
    assert_eq!(queue.step(arrived(8), now), busy(8));
    // It was sent when nobody knew.
    assert_eq!(queue.step(overloaded(1, None), now), []);
    assert_eq!(queue.step(arrived(9), now), busy(9));
    assert_eq!(queue.step(answered(2), now), []);
    assert_eq!(queue.step(answered(3), now), []);
    assert_eq!(admitted(&queue.step(answered(4), now)), [8]);
    let accepted = |ticket| GateInput::Accepted(Ticket(ticket), None);
    (5..8).for_each(|ticket| assert_eq!(queue.step(accepted(ticket), now), []));
    assert_eq!(admitted(&queue.step(accepted(8), now)), [9]);
    // With a time, the account pauses, and begins with one after that.
    queue.step(overloaded(9, Some(10)), now);
    assert_eq!(notified(&queue.step(arrived(10), now)), [(10, SECOND * 10)]);
    queue.step(arrived(11), now);
    (5..9).for_each(|ticket| drop(queue.step(answered(ticket), now)));
    assert_eq!(admitted(&queue.step(GateInput::Woken(Duration::ZERO), SECOND * 10)), [10]);
}

#[test]
fn overloads_in_a_row_are_an_outage() {
    let mut queue = queue(None);
    (0..3).for_each(|ticket| drop(queue.step(arrived(ticket), Duration::ZERO)));
    (0..3).for_each(|ticket| drop(queue.step(overloaded(ticket, None), Duration::ZERO)));
    let reason = "full".to_owned();
    let told = GateEffect::Notify(Ticket(3), GateWait::Outage { reason });
    assert_eq!(queue.step(arrived(3), Duration::ZERO), [told, GateEffect::WakeAt(SECOND)]);
}

#[test]
fn in_an_outage_one_at_a_time_asks_and_after_a_while_all_fail() {
    let mut queue = queue(None);
    for ticket in 0..32 {
        assert_eq!(admitted(&queue.step(arrived(ticket), Duration::ZERO)), [ticket]);
    }
    (0..32).for_each(|ticket| drop(queue.step(failed(ticket), Duration::ZERO)));
    let (mut now, mut probes, mut alarm) = (Duration::ZERO, Vec::new(), None);
    for ticket in 100..131 {
        let effects = queue.step(arrived(ticket), now);
        alarm = wake(&effects).or(alarm);
        let told = effects.iter().any(|effect| {
            matches!(effect, GateEffect::Notify(_, GateWait::Outage { reason }) if reason == "down")
        });
        assert!(told && admitted(&effects).is_empty(), "{effects:?}");
    }
    let refused_at = loop {
        now = alarm.expect("it wakes up");
        let mut effects = queue.step(GateInput::Woken(Duration::ZERO), now);
        let probe = admitted(&effects);
        assert!(probe.len() <= 1, "{probe:?}");
        for probe in probe {
            probes.push(now.as_secs());
            effects.extend(queue.step(failed(probe), now));
        }
        alarm = effects.iter().rev().find_map(|it| wake(std::slice::from_ref(it)));
        let refused = refused(&effects);
        if !refused.is_empty() {
            assert_eq!(refused.len(), 31 - probes.len());
            assert!(refused.iter().all(|(_, why)| *why == "nothing was answered for 45 s: down"));
            break now;
        }
    };
    assert_eq!((refused_at, probes), (SECOND * 45, vec![1, 3, 7, 15, 23, 31, 39]));
    // What the same run asks fails at once, but for a probe that is due. Another run finds out anew
    // whether the outage goes on, and what comes meanwhile waits with it.
    let later = queue.step(arrived(200), SECOND * 46);
    assert_eq!((refused(&later).len(), admitted(&later).len()), (1, 0));
    assert_eq!(admitted(&queue.step(arrived_of("rbbbb", 201), SECOND * 46)), [201]);
    assert_eq!(queue.step(arrived(202), SECOND * 50).len(), 2, "it is told, and woken later");
    assert_eq!(admitted(&queue.step(answered(201), SECOND * 51)), [202]);
}

#[test]
fn what_pauses_before_another_attempt_ends_with_the_outage_too() {
    let mut queue = queue(None);
    let requester = Requester::Run("raaaa".parse().unwrap());
    (0..3).for_each(|ticket| drop(queue.step(arrived(ticket), Duration::ZERO)));
    (0..3).for_each(|ticket| drop(queue.step(failed(ticket), Duration::ZERO)));
    let paused =
        |ticket| GateInput::Paused { ticket: Ticket(ticket), requester: requester.clone() };
    let effects = queue.step(paused(10), SECOND * 40);
    assert_eq!((wake(&effects), effects.len()), (Some(SECOND * 45), 1), "{effects:?}");
    assert_eq!(queue.step(paused(11), SECOND * 41), []);
    assert_eq!(queue.step(GateInput::Withdrawn(Ticket(11)), SECOND * 44), []);
    let effects = queue.step(GateInput::Woken(SECOND * 45), SECOND * 45);
    assert_eq!(refused(&effects), [(10, "nothing was answered for 45 s: down")]);
    // The run has been refused: what it asks now does not begin the outage anew.
    assert_eq!(refused(&queue.step(arrived(12), SECOND * 46)).len(), 1);
}

#[test]
fn failures_of_the_request_itself_are_no_outage() {
    let mut queue = queue(None);
    for ticket in 0..100 {
        assert_eq!(admitted(&queue.step(arrived(ticket), Duration::ZERO)), [ticket]);
        queue.step(GateInput::Ended(Ticket(ticket), GateEnd::Unrelated), Duration::ZERO);
    }
}

#[test]
fn the_limits_per_minute_hold_and_what_was_not_sent_does_not_count() {
    let per_minute = MinuteLimits { requests: NonZeroU32::new(2), tokens: None };
    let mut queue = GateQueue::new(GatePolicy { per_minute, ..policy(None) });
    queue.step(arrived(1), Duration::ZERO);
    queue.step(GateInput::NotSent(Ticket(1)), Duration::ZERO);
    assert_eq!(admitted(&queue.step(arrived(2), Duration::ZERO)), [2]);
    assert_eq!(admitted(&queue.step(arrived(3), Duration::ZERO)), [3]);
    let waits = queue.step(arrived(4), Duration::ZERO);
    let wait = GateWait::Rate { wait: SECOND * 61 };
    assert_eq!(waits, [GateEffect::Notify(Ticket(4), wait), GateEffect::WakeAt(SECOND * 61)]);
    assert_eq!(admitted(&queue.step(GateInput::Woken(Duration::ZERO), SECOND * 61)), [4]);
}

/// What happens next in a queue.
#[derive(Clone, Debug)]
enum Next {
    Arrives,
    Ends(usize),
    Fails(usize),
    IsRejected(usize, Option<u64>),
    Passes(u64),
}

proptest! {
    #[test]
    fn whatever_happens_no_limit_is_broken_and_nobody_waits_for_nothing(
        limit in 1_usize..5,
        course in proptest::collection::vec(
            prop_oneof![
                4 => Just(Next::Arrives),
                4 => any::<usize>().prop_map(Next::Ends),
                1 => any::<usize>().prop_map(Next::Fails),
                1 => (any::<usize>(), proptest::option::of(0_u64..20))
                    .prop_map(|(at, wait)| Next::IsRejected(at, wait)),
                3 => (0_u64..9_000).prop_map(Next::Passes),
            ],
            0..150,
        ),
    ) {
        let mut queue = queue(Some(limit));
        let (mut now, mut pause) = (Duration::ZERO, Duration::ZERO);
        let mut alarm: Option<Duration> = None;
        let (mut tickets, mut waiting) = (0, 0);
        let mut under_way: Vec<u64> = Vec::new();
        for next in course {
            let mut inputs = Vec::new();
            match next {
                Next::Arrives => {
                    tickets += 1;
                    waiting += 1;
                    inputs.push(arrived(tickets));
                }
                Next::Ends(at) | Next::Fails(at) | Next::IsRejected(at, _)
                    if !under_way.is_empty() =>
                {
                    let ticket = under_way.remove(at % under_way.len());
                    inputs.push(match next {
                        Next::Ends(_) => answered(ticket),
                        Next::Fails(_) => failed(ticket),
                        Next::IsRejected(_, wait) => {
                            let asked = SECOND * u32::try_from(wait.unwrap_or(0)).unwrap();
                            pause = pause.max(now + asked);
                            rejected(ticket, wait)
                        }
                        Next::Arrives | Next::Passes(_) => unreachable!(),
                    });
                }
                Next::Ends(_) | Next::Fails(_) | Next::IsRejected(..) => {}
                Next::Passes(millis) => {
                    now += Duration::from_millis(millis);
                    if alarm.is_some_and(|at| at <= now) {
                        alarm = None;
                        inputs.push(GateInput::Woken(Duration::ZERO));
                    }
                }
            }
            for input in inputs {
                let effects = queue.step(input, now);
                let began = admitted(&effects);
                prop_assert!(began.is_empty() || now >= pause, "{now:?} {pause:?}");
                waiting -= began.len() + refused(&effects).len();
                under_way.extend(began);
                prop_assert!(under_way.len() <= limit + 1, "a probe passes those that hang");
                if let Some(at) = wake(&effects) {
                    prop_assert!(at > now && alarm.is_none_or(|alarm| at < alarm));
                    alarm = Some(at);
                }
            }
            prop_assert!(waiting == 0 || !under_way.is_empty() || alarm.is_some(), "all wait");
        }
    }
}
