//! Many sessions at a server with a limit, in simulated time.

use std::collections::BTreeMap;

use super::*;

/// A server that accepts so many requests in each span of time.
struct Server {
    most: usize,
    span: Duration,
    /// How long an answer takes.
    answer: Duration,
    /// Whether it says when to come back.
    says_when: bool,
    accepted: BTreeMap<u32, usize>,
    /// From when to when nobody may come, because one was told so.
    pause: Option<(Duration, Duration)>,
    early: usize,
}

/// What the simulation came to.
#[derive(Debug)]
struct Course {
    took: Duration,
    /// The most tries that any request has needed.
    tries: u32,
    /// How many requests came before the time that the server had named.
    early: usize,
}

#[derive(Clone, Copy)]
enum Event {
    Asks { session: u64, turn: u32, tries: u32 },
    Wakes,
    Accepts(u64),
    Answers(u64),
    Rejects(u64, Option<Duration>),
}

fn simulate(sessions: u64, turns: u32, mut server: Server) -> Course {
    let mut queue = queue(None);
    let mut events: BTreeMap<(Duration, u64), Event> = BTreeMap::new();
    let mut count = 0;
    let mut plan = |events: &mut BTreeMap<_, _>, at: Duration, event| {
        count += 1;
        events.insert((at, count), event);
    };
    for session in 0..sessions {
        plan(&mut events, Duration::ZERO, Event::Asks { session, turn: 1, tries: 1 });
    }
    let mut tickets = BTreeMap::new();
    let mut course = Course { took: Duration::ZERO, tries: 0, early: 0 };
    while let Some(((now, _), event)) = events.pop_first() {
        let input = match event {
            Event::Asks { session, turn, tries } => {
                let ticket = tickets.len() as u64;
                tickets.insert(ticket, (session, turn, tries));
                course.tries = course.tries.max(tries);
                let requester = Requester::Run("raaaa".parse().unwrap());
                let ticket = Ticket(ticket);
                GateInput::Arrived { ticket, requester, retries: tries - 1, tokens: 0 }
            }
            Event::Wakes => GateInput::Woken(Duration::ZERO),
            Event::Accepts(ticket) => {
                plan(&mut events, now + server.answer, Event::Answers(ticket));
                GateInput::Accepted(Ticket(ticket), None)
            }
            Event::Answers(ticket) => {
                let (session, turn, _) = tickets[&ticket];
                course.took = now;
                if turn < turns {
                    plan(&mut events, now, Event::Asks { session, turn: turn + 1, tries: 1 });
                }
                answered(ticket)
            }
            Event::Rejects(ticket, wait) => {
                let (session, turn, tries) = tickets[&ticket];
                plan(&mut events, now, Event::Asks { session, turn, tries: tries + 1 });
                GateInput::Ended(Ticket(ticket), GateEnd::Rejected { wait, reason: "slow".into() })
            }
        };
        for effect in queue.step(input, now) {
            match effect {
                GateEffect::Admit(Ticket(ticket)) => {
                    let answer = server.ask(ticket, now);
                    plan(&mut events, now + Duration::from_millis(20), answer);
                }
                GateEffect::WakeAt(at) => plan(&mut events, at, Event::Wakes),
                GateEffect::Notify(..) => {}
                GateEffect::Refuse(..) => panic!("there is no outage"),
            }
        }
    }
    course.early = server.early;
    course
}

impl Server {
    fn ask(&mut self, ticket: u64, now: Duration) -> Event {
        let early = self.pause.is_some_and(|(from, until)| from <= now && now < until);
        self.early += usize::from(early);
        let span = u32::try_from(now.as_millis() / self.span.as_millis()).unwrap();
        let accepted = self.accepted.entry(span).or_default();
        if *accepted < self.most {
            *accepted += 1;
            return Event::Accepts(ticket);
        }
        let until = self.span * (span + 1);
        if self.says_when {
            // What is on its way at that moment cannot know it.
            self.pause = Some((now + Duration::from_millis(50), until));
        }
        Event::Rejects(ticket, self.says_when.then(|| until - now))
    }
}

#[test]
fn many_sessions_share_a_limit_in_hardly_more_time_than_it_needs() {
    let server = Server {
        most: 60,
        span: SECOND * 3,
        answer: Duration::from_millis(200),
        says_when: true,
        accepted: BTreeMap::new(),
        pause: None,
        early: 0,
    };
    let course = simulate(64, 3, server);
    // 192 requests are four spans, the last of which needs no wait.
    let ideal = SECOND * 9 + Duration::from_millis(220);
    assert!(course.took <= ideal.mul_f64(1.3), "{course:?}");
    assert!(course.tries <= 5 && course.early == 0, "{course:?}");
}

#[test]
fn many_sessions_share_a_limit_of_which_nobody_tells_them() {
    for (most, span, turns) in [(1, SECOND, 1), (60, SECOND * 3, 3), (5, SECOND, 2)] {
        let server = Server {
            most,
            span,
            answer: Duration::from_millis(200),
            says_when: false,
            accepted: BTreeMap::new(),
            pause: None,
            early: 0,
        };
        let course = simulate(64, turns, server);
        assert!(course.tries <= 5, "{most} in {span:?}: {course:?}");
        let spans = 64 * turns / u32::try_from(most).unwrap();
        assert!(course.took < span * spans * 6 + SECOND * 30, "{most} in {span:?}: {course:?}");
    }
}
