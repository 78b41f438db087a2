//! How soon a word is on the screen after the model has sent it.

use std::time::{Duration, Instant};

use super::sandbox;
use super::view_kit::PacedModel;

const WORDS: usize = 200;

/// How often it is measured. The machine may be busy with other tests, which has nothing to do with
/// the view: one undisturbed measurement counts.
const TRIES: usize = 4;

#[test]
fn a_word_is_on_the_screen_soon_after_it_was_sent() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = model.session(&place).on_a_keyboard(40, 100);
    screen.until("the status line", |text| text.contains("loopback/loop"));
    let mut measured = Vec::new();
    for attempt in 0..TRIES {
        screen.press("go\r");
        let mut exchange = model.next();
        let mut took: Vec<Duration> = (0..WORDS)
            .map(|number| {
                let word = format!("w{attempt}x{number}y");
                let end = if number % 20 == 19 { "\n\n" } else { " " };
                let sent = exchange.say(&format!("{word}{end}"));
                screen.until(&word, |text| text.contains(&word));
                Instant::now() - sent
            })
            .collect();
        exchange.end();
        screen.until("the end", |text| !text.contains("works"));
        took.sort_unstable();
        let (median, late) = (took[WORDS / 2], took[WORDS * 95 / 100]);
        measured.push((median, late));
        if median <= Duration::from_millis(100) && late <= Duration::from_millis(300) {
            break;
        }
    }
    let (median, late) = measured.last().copied().expect("it was measured");
    let is_soon = median <= Duration::from_millis(100) && late <= Duration::from_millis(300);
    assert!(is_soon, "{measured:?}");
    screen.press("\u{4}");
    assert_eq!(screen.wait().code(), Some(0));
}
