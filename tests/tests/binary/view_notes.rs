//! What a session on a terminal says of a request that is late, and of what a model thinks.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::{Sandbox, Screen};

use super::models::write_models;
use super::sandbox;
use super::view_kit::{PacedModel, leave};

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
fn a_request_that_is_sent_again_is_told_with_its_reason_and_the_time_until_then() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    place.home().configure("retry:\n  baseDelayMs: 2500\n");
    let times = AtomicUsize::new(0);
    model.talk("s", move |_: &Asked| match times.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => status(503, "{\"error\": {\"message\": \"too busy\"}}"),
        _ => Answer::text("At last."),
    });
    let mut screen = start(&place, &words(&model));
    screen.press(&format!("go {}\r", marker("s")));
    screen.until("the first wait", |text| text.contains("waits for the next attempt, in 2s"));
    screen.until("the answer", |text| text.contains("At last.") && !text.contains("works"));
    let text = screen.text();
    assert_eq!(text.matches("asked again in").count(), 2, "{text}");
    assert!(text.contains("too busy") && !text.contains("waits for"), "{text}");
    leave(&mut screen);
}

#[test]
fn a_request_that_its_account_holds_back_is_told_in_each_session_with_the_time_until_then() {
    let (place, model) = (sandbox(), LoopbackModel::start());
    let times = AtomicUsize::new(0);
    model.talk("first", move |_: &Asked| match times.fetch_add(1, Ordering::Relaxed) {
        0 => {
            status(429, "{\"error\": {\"message\": \"too many\"}}").with_header("retry-after", "6")
        }
        _ => Answer::text("At last."),
    });
    model.talk("second", |_: &Asked| Answer::text("At last."));
    let mut screens = [(); 2].map(|()| start(&place, &words(&model)));
    let wait = format!("waits for loopback at {}, in ", model.base_url());
    for (screen, talk) in screens.iter().zip(["first", "second"]) {
        screen.press(&format!("go {}\r", marker(talk)));
        screen.until("the wait", |text| text.contains(&wait));
    }
    assert_eq!(model.asked("second").len(), 0, "it is held back");
    for seconds in [2, 1] {
        let left = format!("{wait}{seconds}s · ");
        screens[1].until("the time until then", |text| text.contains(&left));
    }
    for screen in &mut screens {
        screen.until("the answer", |text| text.contains("At last.") && !text.contains("works"));
        let text = screen.text();
        assert_eq!(text.matches("too many").count(), 1, "{text}");
        assert!(!text.contains("waits for"), "{text}");
        leave(screen);
    }
}

#[test]
fn a_request_that_waits_for_the_limit_per_minute_is_told_with_the_time_until_then() {
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
    for tens in [5, 4] {
        let left = format!("{wait}{tens}");
        screen.until("the time until then", |text| text.contains(&left));
    }
    screen.press("\u{3}");
    screen.until("it is stopped", |text| text.contains("stopped") && !text.contains("waits for"));
    assert_eq!(model.asked("s").len(), 1);
    leave(&mut screen);
}

#[test]
fn a_model_that_answers_in_place_of_another_is_told_with_the_reason() {
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
    place.home().configure(
        "modelRoles:\n  default: first/loop\nretry:\n  maxRetries: 1\n  baseDelayMs: 10\n  \
         fallbackChains:\n    default: [second/loop]\n",
    );
    first.talk("s", |_: &Asked| status(503, "{\"error\": {\"message\": \"too busy\"}}"));
    second.talk("s", |_: &Asked| Answer::text("Instead."));
    let mut screen = start(&place, "");
    screen.press(&format!("go {}\r", marker("s")));
    let text = screen.until("the answer, and the status line of the other one", |text| {
        text.contains("Instead.")
            && text.lines().last().is_some_and(|it| it.starts_with("second/loop"))
    });
    assert!(text.contains("second/loop is asked in place of first/loop: "), "{text}");
    leave(&mut screen);
}

#[test]
fn what_a_model_thinks_is_one_line_until_it_is_asked_for() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = model.session(&place).on_a_keyboard(40, 80);
    screen.until("the status line", |text| text.contains("loopback/loop ·"));
    screen.press("why?\r");
    let mut answer = model.next();
    answer.think("It may be this.\nOr that\u{1b}[2J.");
    screen.until("the thought", |text| text.contains("thinks: Or that."));
    answer.answer("It is that.");
    screen.until("the answer", |text| {
        text.contains("\nthought: It may be this. …\n\nIt is that.\n") && !text.contains("works")
    });
    screen.press("\u{14}");
    screen.until("the whole thought", |text| {
        text.contains("\nthought:\n  It may be this.\n  Or that.\n")
    });
    screen.press("and?\r");
    let mut answer = model.next();
    answer.think("One.\nTwo.");
    answer.answer("So.");
    screen.until("the next one, whole", |text| {
        text.contains("\nthought:\n  One.\n  Two.\n\nSo.\n") && !text.contains("works")
    });
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
