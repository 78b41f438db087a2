use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn queue(concurrency: Option<usize>) -> GateQueue {
    let concurrency = concurrency.and_then(NonZeroUsize::new);
    GateQueue::new(GatePolicy { concurrency, jitter_span: SECOND })
}

fn arrived(ticket: u64) -> GateInput {
    GateInput::Arrived(Ticket(ticket), SessionId::generate())
}

fn paused(seconds: u64) -> GateInput {
    GateInput::Paused { wait: SECOND * u32::try_from(seconds).unwrap(), reason: "slow".into() }
}

fn admitted(effects: &[GateEffect]) -> Vec<u64> {
    let tickets = effects.iter().filter_map(|effect| match effect {
        GateEffect::Admit(Ticket(ticket)) => Some(*ticket),
        GateEffect::Notify(..) | GateEffect::WakeAt(_) => None,
    });
    tickets.collect()
}

/// Returns how long each of the requests is notified that it waits.
fn notified(effects: &[GateEffect]) -> Vec<(u64, Duration)> {
    let notified = effects.iter().filter_map(|effect| match effect {
        GateEffect::Notify(Ticket(ticket), GateWait::Paused { wait, .. }) => Some((*ticket, *wait)),
        GateEffect::Notify(_, GateWait::Busy { .. })
        | GateEffect::Admit(_)
        | GateEffect::WakeAt(_) => None,
    });
    notified.collect()
}

fn wake(effects: &[GateEffect]) -> Option<Duration> {
    effects.iter().find_map(|effect| match effect {
        GateEffect::WakeAt(at) => Some(*at),
        GateEffect::Admit(_) | GateEffect::Notify(..) => None,
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
    assert_eq!(queue.step(GateInput::Ended, now), [GateEffect::Admit(Ticket(3))]);
    assert_eq!(queue.step(GateInput::Ended, now), [GateEffect::Admit(Ticket(4))]);
    assert_eq!(queue.step(GateInput::Ended, now), []);
}

#[test]
fn a_pause_holds_for_all_that_wait_and_all_that_arrive_and_each_is_told_once() {
    let mut queue = queue(Some(1));
    assert_eq!(admitted(&queue.step(arrived(1), Duration::ZERO)), [1]);
    for ticket in 2..50 {
        assert!(admitted(&queue.step(arrived(ticket), Duration::ZERO)).is_empty());
    }
    let effects = queue.step(paused(10), SECOND);
    let waits = notified(&effects);
    assert_eq!((waits.len(), admitted(&effects)), (48, vec![]));
    let late = queue.step(arrived(50), SECOND * 2);
    assert_eq!(notified(&late).len(), 1);
    let known = queue.step(paused(9), SECOND * 2);
    assert_eq!(notified(&known), [], "the same pause is notified once");
    // Nobody goes before the end of the pause, and not all at once at its end.
    assert!(waits.iter().all(|(_, wait)| (SECOND * 10..=SECOND * 11).contains(wait)), "{waits:?}");
    let different: BTreeSet<_> = waits.iter().map(|(_, wait)| *wait).collect();
    assert!(different.len() > 40, "{different:?}");
    let first = wake(&effects).unwrap();
    assert_eq!(first, SECOND + waits.iter().map(|(_, wait)| *wait).min().unwrap());
    // The one that arrived late may be the first.
    let first = first.min(SECOND * 2 + notified(&late)[0].1);
    let before = first - Duration::from_millis(1);
    assert!(admitted(&queue.step(GateInput::Woken, before)).is_empty());
    assert_eq!(admitted(&queue.step(GateInput::Woken, first)).len(), 1);
}

#[test]
fn after_a_pause_a_request_is_admitted_as_before() {
    let mut queue = queue(None);
    queue.step(arrived(1), Duration::ZERO);
    queue.step(paused(10), Duration::ZERO);
    assert_eq!(queue.step(arrived(2), SECOND * 10), [GateEffect::Admit(Ticket(2))]);
    // A pause that ends before the present one is none.
    queue.step(paused(10), SECOND * 20);
    queue.step(paused(2), SECOND * 21);
    assert!(admitted(&queue.step(arrived(3), SECOND * 24)).is_empty());
}

/// What happens next in a queue.
#[derive(Clone, Debug)]
enum Next {
    Arrives,
    Ends,
    Pauses(u64),
    Passes(u64),
}

proptest! {
    #[test]
    fn whatever_happens_no_limit_is_broken_and_nobody_waits_for_nothing(
        limit in 1_usize..5,
        course in proptest::collection::vec(
            prop_oneof![
                4 => Just(Next::Arrives),
                4 => Just(Next::Ends),
                1 => (0_u64..20).prop_map(Next::Pauses),
                3 => (0_u64..9_000).prop_map(Next::Passes),
            ],
            0..120,
        ),
    ) {
        let mut queue = queue(Some(limit));
        let (mut now, mut pause, mut alarm) = (Duration::ZERO, Duration::ZERO, None);
        let (mut tickets, mut waiting, mut under_way) = (0, 0, 0);
        for next in course {
            let mut inputs = Vec::new();
            match next {
                Next::Arrives => {
                    tickets += 1;
                    waiting += 1;
                    inputs.push(arrived(tickets));
                }
                Next::Ends if under_way > 0 => {
                    under_way -= 1;
                    inputs.push(GateInput::Ended);
                }
                Next::Pauses(seconds) if under_way > 0 => {
                    under_way -= 1;
                    pause = pause.max(now + SECOND * u32::try_from(seconds).unwrap());
                    inputs.push(paused(seconds));
                }
                Next::Ends | Next::Pauses(_) => {}
                Next::Passes(millis) => {
                    now += Duration::from_millis(millis);
                    if alarm.is_some_and(|at| at <= now) {
                        alarm = None;
                        inputs.push(GateInput::Woken);
                    }
                }
            }
            for input in inputs {
                let effects = queue.step(input, now);
                alarm = wake(&effects).or(alarm);
                let admitted = admitted(&effects).len();
                prop_assert!(admitted == 0 || now >= pause);
                (waiting, under_way) = (waiting - admitted, under_way + admitted);
                prop_assert!(under_way <= limit);
            }
            // Whoever waits does so for an end or for an alarm.
            prop_assert!(waiting == 0 || under_way == limit || alarm.is_some());
        }
    }
}
