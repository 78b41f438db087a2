//! The files that a prompt names with `@` on a terminal.

use std::fs;

use serde_json::Value;

use super::kit::{PacedModel, leave};
use crate::binary::sandbox;

#[test]
fn a_named_file_goes_with_the_prompt_and_is_in_the_log_and_one_that_is_missing_is_told_first() {
    let (place, model) = (sandbox(), PacedModel::start());
    let work = place.folder().join("work");
    fs::create_dir_all(&work).unwrap();
    fs::write(work.join("note.txt"), "the answer is 42\nor so\n").unwrap();
    fs::write(work.join("binary"), b"a\0b").unwrap();
    let mut screen = model.session(&place).on_a_keyboard(40, 80);
    screen.until("the status line", |text| text.contains("loopback/loop ·"));
    screen.press("read @note.txt and @binary, @alice\r");
    let exchange = model.next();
    let said = exchange.prompts();
    assert_eq!(said[0], "read @note.txt and @binary, @alice");
    assert!(said[1].contains("<file path=\"note.txt\">\nthe answer is 42\nor so\n"), "{said:?}");
    assert!(!said[1].contains("binary"), "{said:?}");
    exchange.answer("42.");
    screen.until("the answer", |text| {
        text.contains("`binary` is not sent: not a text, 3 B")
            && text.contains("> read @note.txt and @binary, @alice\n@note.txt (2 lines)\n\n42.\n")
            && !text.contains("works")
    });

    screen.press("and @src/nope.rs?\r");
    screen.until("it is told", |text| {
        text.contains("no file `src/nope.rs`: Enter sends it as it is")
            && text.contains("\n> and @src/nope.rs?\n")
    });
    screen.press("\r");
    let mut exchange = model.next();
    assert_eq!(exchange.prompts()[2..], ["and @src/nope.rs?"]);
    exchange.say("Well, ");
    screen.until("it works", |text| text.contains("Well,"));
    screen.press("look at @note.txt again\r");
    screen.until("it waits", |text| text.contains("next: look at @note.txt again"));
    exchange.answer("no.");
    let exchange = model.next();
    assert!(exchange.prompts()[4].contains("the answer is 42"), "{:?}", exchange.prompts());
    exchange.answer("Still 42.");
    screen.until("the end", |text| text.contains("Still 42.") && !text.contains("works"));
    let id = leave(&mut screen);

    let text = fs::read_to_string(&place.home().session_files()[0]).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut mentions = entries.filter(|entry| entry["message"]["role"] == "fileMention");
    let file = mentions.next().expect("it is in the log")["message"]["files"][0].clone();
    assert_eq!((&file["path"], &file["lineCount"]), (&"note.txt".into(), &2.into()));
    assert_eq!(file["content"], "the answer is 42\nor so\n");
    assert_eq!(mentions.count(), 1);

    fs::write(work.join("note.txt"), "changed").unwrap();
    let mut again = model.session(&place).words(&format!("-r {id}")).on_a_keyboard(40, 80);
    again.until("the file again", |text| text.contains("@note.txt (2 lines)\n\n42.\n"));
    again.press("more?\r");
    let exchange = model.next();
    assert!(exchange.prompts()[1].contains("the answer is 42"), "{:?}", exchange.prompts());
    exchange.answer("No.");
    again.until("the end", |text| text.contains("No.") && !text.contains("works"));
    leave(&mut again);
}
