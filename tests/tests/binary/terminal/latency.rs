//! How soon a word is on the screen after the model has sent it, and what a session costs that waits.

use std::fs;
use std::time::{Duration, Instant};

use test_limit::{InTime, Tries, by_depth, within};
use tests::sandbox::Screen;

use super::conversation::start;
use super::kit::PacedModel;
use crate::binary::sandbox;

/// How long half of the words may take, and how long nearly all.
const MEDIAN: Duration = Duration::from_millis(100);
const LATE: Duration = Duration::from_millis(300);

/// How often at most the processor's time is measured. What begins late, such as the end of an idle
/// connection, is not in the best of the times.
const WINDOWS: usize = 12;

/// How long it is measured each time, and how much of that may be used.
const WINDOW: Duration = Duration::from_millis(400);
const USED: u64 = 2_000_000;

/// Sends words one by one, waits until each is on the screen, and returns how long that took.
fn say_words(screen: &Screen, model: &PacedModel, attempt: usize, words: usize) -> Vec<Duration> {
    screen.press("go\r");
    let mut exchange = model.next();
    let mut took = Vec::new();
    for number in 0..words {
        let word = format!("w{attempt}x{number}y");
        let end = if number % 20 == 19 { "\n\n" } else { " " };
        let sent = exchange.say(&format!("{word}{end}"));
        screen
            .until("the word and the input", |text| text.contains(&word) && text.contains("\n>\n"));
        took.push(Instant::now() - sent);
    }
    exchange.end();
    screen.until("the end of the turn", |text| !text.contains("works"));
    let all = screen.all_lines();
    for number in 0..words {
        let word = format!("w{attempt}x{number}y");
        let count = all.iter().flat_map(|line| line.split(' ')).filter(|it| **it == word).count();
        assert_eq!(count, 1, "{word} in {all:#?}");
    }
    took.sort_unstable();
    took
}

/// Returns how many nanoseconds the session has used the processor.
fn used(screen: &Screen) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{}/task", screen.id())).expect("it runs");
    let nanos = tasks.flatten().filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    nanos.sum()
}

#[test]
fn on_a_tiny_terminal_each_word_is_soon_visible_and_a_session_that_waits_uses_no_processor() {
    test_limit::waits("the processor's time of a session that does nothing");
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model, (5, 20));
    let words = by_depth(16, 200);
    let mut tries = Tries::new(1, 1);
    let mut attempt = 0;
    while tries.go_on() {
        let took = say_words(&screen, &model, attempt, words);
        let (median, late) = (took[words / 2], took[words * 95 / 100]);
        let in_time = if median <= MEDIAN && late <= LATE {
            InTime::Yes
        } else if median <= MEDIAN.mul_f64(test_limit::slowdown()) {
            InTime::LateAsEverything
        } else {
            InTime::No
        };
        tries.count(&format!("words after {median:?} and {late:?}"), in_time);
        attempt += 1;
    }
    let measure = |_: usize| {
        let before = used(&screen);
        // What is measured is what this window of time takes while nothing happens.
        let _nothing_happens = within(WINDOW, || false);
        used(&screen) - before
    };
    let measured: Vec<_> = (0..WINDOWS).map(measure).take_while(|used| *used >= USED).collect();
    assert!(measured.len() < WINDOWS, "nanoseconds in {WINDOW:?}: {measured:?}");
    screen.press("\u{4}");
    assert_eq!(screen.wait().code(), Some(0));
}
