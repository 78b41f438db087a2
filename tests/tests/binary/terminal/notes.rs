//! What a session on a terminal says of a request that is late or goes elsewhere.

use std::fs;
use std::time::Duration;

use test_limit::by_depth;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Sandbox, Screen};

use super::kit::leave;
use crate::binary::models::directory::write_models;
use crate::binary::sandbox;

/// Starts a session, and waits for its status line.
fn start(place: &Sandbox, words: &str) -> Screen {
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let screen = place.regatta(&folder).words(words).on_a_keyboard(40, 100);
    screen.until("the status line", |text| text.contains("· 0 tokens"));
    screen
}

fn words(model: &LoopbackModel) -> String {
    format!("--model loopback/loop --base-url {}", model.base_url())
}

fn status(code: u16, body: &str) -> Answer {
    Answer::Status { code, headers: Vec::new(), body: body.to_owned() }
}

#[test]
fn a_request_that_waits_for_the_limit_per_minute_is_told_with_the_time_until_then() {
    test_limit::waits("seconds of a minute, which the screen counts down");
    let (place, model) = (sandbox(), LoopbackModel::start());
    write_models(
        &place,
        &format!(
            "providers:\n  gate: {{ baseUrl: \"{}\", api: openai-completions, auth: none, \
             limits: {{ requestsPerMinute: 1 }}, models: [{{ id: loop }}] }}\n",
            model.base_url()
        ),
    );
    model.talk("s", |_: &Asked| Answer::text("At once."));
    let mut screen = start(&place, "--model gate/loop");
    screen.press(&format!("go {}\r", marker("s")));
    screen.until("the answer", |text| text.contains("At once.") && !text.contains("works"));
    screen.press("and now?\r");
    let wait = format!("\nwaits for the limit per minute of gate at {}, in ", model.base_url());
    let mut last = u64::MAX;
    // That the time is counted down is proved without a clock, too: `view::live_part::tests`.
    for _ in 0..by_depth(1, 2) {
        let left = |text: &str| {
            let (_, left) = text.split_once(&wait)?;
            let whole = left.strip_prefix("1m00s ").map(|_| 60);
            let left = whole.or_else(|| left.split_once("s ")?.0.parse().ok());
            left.filter(|left| *left < last)
        };
        let text = screen.until("less time until then", |text| left(text).is_some());
        last = left(&text).expect("it is there");
        assert!(last <= 60, "{text}");
    }
    screen.press("\u{3}");
    screen.until("it is stopped", |text| text.contains("stopped") && !text.contains("waits for"));
    assert_eq!(model.asked("s").len(), 1);
    leave(&mut screen);
}

#[test]
fn a_retry_and_a_model_that_answers_in_place_of_another_are_told_with_their_reasons() {
    test_limit::waits("a delay, which the screen shows");
    let (place, first, second) = (sandbox(), LoopbackModel::start(), LoopbackModel::start());
    let provider = |name: &str, model: &LoopbackModel| {
        format!(
            "  {name}: {{ baseUrl: \"{}\", api: openai-completions, auth: none, \
             models: [{{ id: loop }}] }}\n",
            model.base_url()
        )
    };
    let providers = [provider("first", &first), provider("second", &second)].concat();
    write_models(&place, &format!("providers:\n{providers}"));
    // It is rounded up to a second, and is on the screen long enough to be seen on a busy machine.
    let delay = Duration::from_millis(600).mul_f64(test_limit::slowdown()).as_millis();
    place.home().configure(&format!(
        "modelRoles:\n  default: first/loop\nretry:\n  maxRetries: 1\n  baseDelayMs: {delay}\n  \
         fallbackChains:\n    default: [second/loop]\n"
    ));
    first.talk("s", |_: &Asked| status(503, "{\"error\": {\"message\": \"too busy\"}}"));
    second.talk("s", |_: &Asked| Answer::text("Instead."));
    let mut screen = start(&place, "");
    screen.press(&format!("go {}\r", marker("s")));
    screen.until("the wait", |text| text.contains("waits for the next attempt, in "));
    let text = screen.until("the answer, and the status line of the other one", |text| {
        text.contains("Instead.")
            && text.lines().last().is_some_and(|it| it.starts_with("second/loop"))
    });
    assert!(text.contains("second/loop is asked in place of first/loop: "), "{text}");
    assert_eq!(text.matches("asked again in").count(), 1, "{text}");
    assert!(text.contains("too busy") && !text.contains("waits for"), "{text}");
    leave(&mut screen);
}

#[test]
fn a_conversation_that_is_too_long_is_compacted_and_goes_on_and_that_is_told() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    place.home().configure("compaction: { keepRecentTokens: 500 }\n");
    model.talk("s", |asked: &Asked| {
        let why = "prompt is too long: 12001 tokens > 12000 maximum";
        match (asked.is_summary(), asked.summary(), asked.answers()) {
            (true, ..) => Answer::text(format!("## Progress\nMuch was said. {}", marker("s"))),
            (false, Some(_), _) => Answer::text("It goes on."),
            (false, None, 2..) => Answer::error(400, "invalid_request_error", why),
            (false, None, before) => {
                Answer::text(format!("{}\n\nThat was {before}.", "words ".repeat(400)))
            }
        }
    });
    let mut screen = start(&place, &words(&model));
    let ended = |screen: &Screen, answer: &str| {
        screen.until("the answer", |text| text.contains(answer) && !text.contains("works"))
    };
    for number in 0..2 {
        screen.press(&format!("prompt {number} {}\r", marker("s")));
        ended(&screen, &format!("That was {number}."));
    }
    screen.press(&format!("the last {}\r", marker("s")));
    let text = ended(&screen, "It goes on.");
    let (_, told) = text.split_once("> the last").expect("it is on the screen");
    assert!(told.contains("compacted"), "{text}");
    assert_eq!(model.take_violations(), [""; 0]);
    assert!(model.asked("s").iter().any(Asked::is_summary));
    leave(&mut screen);
}
