//! Several sessions in one conversation: new ones, resumed ones, forks, and other branches of one.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::sandbox::{Sandbox, Screen};

use super::conversation::{expect_screen, start};
use super::kit::{PacedModel, leave};
use crate::binary::sandbox;

const ESC: &str = "\u{1b}";
const UP: &str = "\u{1b}[A";
const STATUS: &str = "loopback/loop · context unknown";

/// Sends a prompt, answers it, and waits for the end of the turn. Returns what the model was sent.
fn talk(screen: &Screen, model: &PacedModel, prompt: &str, answer: &str) -> Vec<String> {
    screen.press(&format!("{prompt}\r"));
    let exchange = model.next();
    let prompts = exchange.prompts();
    exchange.answer(answer);
    screen.until("the end of the turn", |text| text.contains(answer) && !text.contains("works"));
    prompts
}

/// Returns the files of the sessions, the oldest first.
fn files(place: &Sandbox) -> Vec<PathBuf> {
    let mut files = place.home().session_files();
    files.sort();
    files
}

fn entries(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("it can be read");
    text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
}

#[test]
fn a_new_session_is_begun_and_the_one_before_is_gone_on_with_by_its_name() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model, (50, 80));
    screen.press("/new\r");
    screen.until("there is none before", |text| text.contains("this is a new session"));
    talk(&screen, &model, "hello", "Hello.");
    screen.press("/name  the\u{9} first \u{1b}[2~one\r");
    screen.until("the name", |text| text.contains("the first one · loopback/loop"));
    screen.press("/thinking low\r");
    screen.until("the level", |text| text.contains("thinking low ·"));

    // While the model works, the session stays, and the refused command is in the history.
    screen.press("slowly\r");
    let mut exchange = model.next();
    exchange.say("Well");
    screen.press("/new\r");
    screen.until("the refusal", |text| {
        text.contains("the model works: Esc stops it") && !text.contains("> /new")
    });
    exchange.end();
    screen.press("\u{1b}[A");
    screen.until("the end of the turn", |text| text.contains("> /new\nthe first one"));
    let [first] = &files(&place)[..] else { panic!("one session") };
    let before = fs::read(first).unwrap();

    screen.press("\r");
    screen.until("the new session", |text| text.contains("a new session begins\n\n>\nloopback"));
    let text = screen.text();
    let (_, id) = text.rsplit_once("continue with: regatta --resume ").expect("it tells how");
    let id = id.lines().next().unwrap_or_default().to_owned();
    assert!(first.to_string_lossy().contains(&id), "{id}");
    assert_eq!(talk(&screen, &model, "another", "Other."), ["another"]);

    screen.press("/resume THE FIRST one\r");
    screen.until("the first session", |text| {
        text.contains("the first one · loopback/loop · thinking low") && text.contains("> slowly")
    });
    let earlier = "another session:\n\n> hello\n\nHello.\n";
    screen.until("what was said in it", |text| text.contains(earlier));
    assert_eq!(talk(&screen, &model, "again", "Once more."), ["hello", "slowly", "again"]);
    screen.press(&format!("/resume {id}\r"));
    screen.until("no way", |text| text.contains("that is this session"));
    screen.press("/resume nowhere\r");
    screen.until("no session", |text| text.contains("session `nowhere` was not found"));
    assert_eq!(leave(&mut screen), id, "the last session is the one that is continued");
    let all = files(&place);
    assert_eq!(all.len(), 2);
    let after = fs::read(&all[0]).unwrap();
    assert!(after.starts_with(&before), "what was said stays");
    let names = entries(&all[0]).into_iter().filter(|entry| entry["type"] == "session_info");
    assert_eq!(names.map(|it| it["name"].clone()).collect::<Vec<_>>(), ["the first one"]);

    // The terminal knows the session that it used last, which has its name.
    let mut again = model.session(&place).arg("-c").on_a_keyboard(50, 80);
    again.until("the same session", |text| text.contains("the first one · loopback/loop"));
    assert_eq!(leave(&mut again), id);
}

#[test]
fn a_session_goes_on_from_an_earlier_entry_with_a_summary_or_without() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model, (24, 80));
    screen.press("/tree\r");
    screen.until("nothing", |text| text.contains("the conversation is empty"));
    talk(&screen, &model, "hello", "Hello.");
    talk(&screen, &model, "second", "Two.");
    let [file] = &files(&place)[..] else { panic!("one session") };
    let before = fs::read(file).unwrap();
    let status = format!("{STATUS} · 200 tokens · cost unknown");
    let turns = |more: &[&str]| {
        let said = ["> hello", "", "Hello.", "", "#s · 100 tokens · cost unknown", ""];
        let second = ["> second", "", "Two.", "", "#s · 100 tokens · cost unknown", ""];
        let lines = said.iter().chain(&second).chain(more).map(|line| (*line).to_owned());
        lines.chain([status.clone()]).collect::<Vec<_>>()
    };
    let expect = |what: &str, more: &[&str]| {
        let lines = turns(more);
        expect_screen(&screen, what, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    };
    screen.press("/tree\r");
    let here = format!("▸ * Two.{}here", " ".repeat(68));
    let title = "Go on from where?  4/4 · Enter takes, Esc leaves";
    expect("the tree", &[title, "    > hello", "    Hello.", "    > second", &here, ">"]);
    screen.press(&format!("{UP}\r"));
    let title = "Summarize the messages left behind for the model?  1/3 · Enter takes, Esc leaves";
    let question = [title, "▸ no", "  yes", "  yes, with instructions", ">"];
    expect("the question", &question);

    // A summary that is stopped changes nothing.
    screen.press(&format!("{UP}\r"));
    let asked = "What shall the summary heed?  Enter takes the text, Esc leaves";
    expect("the instructions", &[asked, ">"]);
    screen.press("Name the numbers.\r");
    let summary = model.next();
    assert!(summary.prompts().concat().contains("Name the numbers."), "{:?}", summary.request);
    screen.until("it waits", |text| {
        text.contains("waits for the summary of the messages left behind")
    });
    screen.press(ESC);
    let _closed = summary.closed();
    screen.until("it stays", |text| text.contains("cannot go there") && !text.contains("waits"));
    assert_eq!(fs::read(file).unwrap(), before);

    screen.press(&format!("/tree\r{UP}\r"));
    screen.until("the question", |text| text.contains("▸ no"));
    screen.press("\r");
    screen.until("the prompt is given back", |text| {
        text.contains("the session continues from here:\n\n> hello\n\nHello.\n\n> second\nloopback")
    });
    screen.press("\u{15}");
    assert_eq!(talk(&screen, &model, "third", "Three."), ["hello", "third"]);
    screen.press("/tree\r");
    screen.until("both branches", |text| {
        let tree =
            "    > hello\n    Hello.\n    ├─ > second\n    │  Two.\n    └─ > third\n▸ *    Three.";
        text.contains(tree)
    });
    screen.press("Two.\r");
    screen.until("the question", |text| text.contains("▸ no"));
    screen.press("yes\r");
    model.next().answer("They counted to three.");
    screen.until("the other branch", |text| {
        text.contains("another branch was left: They counted to three.\n\n>\n")
    });
    let prompts = talk(&screen, &model, "go on", "Four.");
    assert_eq!((&*prompts[0], &*prompts[1]), ("hello", "second"));
    assert!(prompts[2].contains("They counted to three."), "{prompts:?}");
    assert_eq!(prompts[3], "go on");
    leave(&mut screen);
    assert!(fs::read(file).unwrap().starts_with(&before), "both branches stay in the file");
}

#[test]
fn a_fork_has_what_comes_before_a_prompt_whose_text_is_in_the_input() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut screen = start(&place, &model, (50, 80));
    talk(&screen, &model, "hello", "Hello.");
    talk(&screen, &model, "second", "Two.");
    let [first] = &files(&place)[..] else { panic!("one session") };
    let before = fs::read(first).unwrap();
    screen.press("/fork\r");
    screen.until("the prompts", |text| text.contains("▸ second\n  hello\n>"));
    screen.press("\r");
    screen.until("the fork", |text| {
        text.contains("before the prompt:\n\n> hello\n\nHello.\n\n> second\nloopback")
    });
    assert_eq!(talk(&screen, &model, " thought", "Indeed."), ["hello", "second thought"]);
    let all = files(&place);
    let fork = all.iter().find(|it| *it != first).expect("there is another one");
    let header = &entries(fork)[0];
    assert_eq!(header["parentSession"], json!(first));
    assert_eq!(fs::read(first).unwrap(), before);

    // Before the first prompt there is nothing to keep.
    let prompt = entries(fork).into_iter().find(|it| it["message"]["role"] == "user").unwrap();
    let id = prompt["id"].as_str().unwrap().to_owned();
    screen.press("/fork zzz\r");
    screen.until("no prompt", |text| text.contains("no prompt has the id `zzz`"));
    screen.press(&format!("/fork {}\r", &id[..6]));
    screen.until("an empty fork", |text| text.contains("before the prompt:\n\n> hello\nloopback"));
    screen.press("\r");
    let exchange = model.next();
    assert_eq!(exchange.prompts(), ["hello"]);
    exchange.answer("Hello again.");
    screen.until("the answer", |text| text.contains("Hello again.") && !text.contains("works"));
    leave(&mut screen);
    assert_eq!(files(&place).len(), 3);
}

#[test]
fn a_session_that_another_process_has_open_is_copied_if_the_user_says_so() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut first = start(&place, &model, (24, 80));
    talk(&first, &model, "hello", "Hello.");
    let [file] = &files(&place)[..] else { panic!("one session") };
    let before = fs::read(file).unwrap();

    let mut second = start(&place, &model, (24, 80));
    second.press("/resume\r");
    second.until("the list", |text| text.contains("▸ hello"));
    second.press("\r");
    let title = "Another process has it open.  1/2 · Enter takes, Esc leaves";
    let status = format!("{STATUS} · 0 tokens · $0.00");
    let question = [title, "▸ continue a copy of it here", "  stay in this session", ">", &status];
    expect_screen(&second, "the question", &question);
    second.press(ESC);
    expect_screen(&second, "the same session", &[">", &status]);
    second.press("/resume hello\r");
    second.until("no name", |text| text.contains("session `hello` was not found"));
    second.press("/resume\r");
    second.until("the list", |text| text.contains("▸ hello"));
    second.press("\r");
    second.until("the question", |text| text.contains("▸ continue a copy"));
    second.press("\r");
    second.until("the copy", |text| text.contains("a copy of another session:\n\n> hello"));
    assert_eq!(talk(&second, &model, "in the copy", "Yes."), ["hello", "in the copy"]);
    leave(&mut second);
    let copy = files(&place).into_iter().find(|it| it != file).expect("there is a copy");

    // So does the command line.
    let resume = || {
        let session = model.session(&place).arg("--resume").arg(file);
        session.on_a_keyboard(24, 80)
    };
    let (mut no, mut yes) = (resume(), resume());
    no.until("the question", |text| text.contains("Go on with a copy of it? [y/N]"));
    no.press("n\r");
    assert_eq!(no.wait().code(), Some(1), "{}", no.text());
    yes.until("the question", |text| text.contains("Go on with a copy of it? [y/N]"));
    yes.press("y\r");
    yes.until("the copy", |text| text.contains("> hello") && text.contains(STATUS));
    leave(&mut yes);
    assert_eq!(files(&place).len(), 3);
    assert_eq!(fs::read(file).unwrap(), before);
    assert_eq!(talk(&first, &model, "still here", "Yes, too."), ["hello", "still here"]);
    leave(&mut first);
    assert!(copy.exists());
}

#[test]
fn a_session_of_another_folder_is_copied_and_one_in_memory_has_no_others() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut first = start(&place, &model, (24, 80));
    talk(&first, &model, "hello", "Hello.");
    let id = leave(&mut first);
    let other = place.folder().join("other");
    fs::create_dir_all(&other).unwrap();
    let elsewhere = || model.session(&place).arg("--repo").arg(&other);
    let mut screen = elsewhere().on_a_keyboard(24, 120);
    screen.until("the status line", |text| text.contains(STATUS));
    screen.press("/resume\r");
    screen.until("no other", |text| text.contains("there is no other session in this folder"));
    screen.press(&format!("/resume {id}\r"));
    screen.until("the question", |text| text.contains("It is of another folder, "));
    screen.press("\r");
    screen.until("the copy", |text| text.contains("a copy of another session:\n\n> hello"));
    assert_eq!(talk(&screen, &model, "here", "Yes."), ["hello", "here"]);
    leave(&mut screen);

    let mut memory = model.session(&place).arg("--no-session").on_a_keyboard(24, 80);
    memory.until("the status line", |text| text.contains(STATUS));
    talk(&memory, &model, "secret", "Quiet.");
    for (at, command) in ["/resume", "/tree", "/fork", "/resume x", "/fork x"].iter().enumerate() {
        memory.press(&format!("{command}\r"));
        memory.until("the refusal", |text| {
            text.matches("in memory only (--no-session)").count() == at + 1
        });
    }
    memory.press("/new\r");
    memory.until("the new session", |text| text.contains("a new session begins"));
    assert_eq!(talk(&memory, &model, "other", "Quiet, too."), ["other"]);
    memory.press("\u{4}");
    assert_eq!(memory.wait().code(), Some(0));
    assert_eq!(files(&place).len(), 2, "nothing of the sessions in memory was written");
}

#[test]
fn a_session_that_is_resumed_has_the_model_and_the_level_of_its_file() {
    let (place, model) = (sandbox(), PacedModel::start());
    let mut first = start(&place, &model, (24, 80));
    talk(&first, &model, "hello", "Hello.");
    leave(&mut first);
    let [file] = &files(&place)[..] else { panic!("one session") };
    let last = entries(file).last().unwrap()["id"].clone();
    let more = [
        json!({ "type": "model_change", "id": "aaaaaaa1", "parentId": last, "timestamp":
            "2026-01-02T03:04:05.678Z", "model": "loopback/other" }),
        json!({ "type": "thinking_level_change", "id": "aaaaaaa2", "parentId": "aaaaaaa1",
            "timestamp": "2026-01-02T03:04:05.678Z", "thinkingLevel": "medium" }),
    ];
    let text = fs::read_to_string(file).unwrap();
    let of_other = more.iter().fold(text.clone(), |text, line| format!("{text}{line}\n"));
    fs::write(file, &of_other).unwrap();
    let mut screen = start(&place, &model, (24, 80));
    screen.press("/resume\r");
    screen.until("the list", |text| text.contains("▸ hello"));
    screen.press("\r");
    screen.until("its model", |text| text.contains("\nloopback/other · thinking medium ·"));
    screen.press("which?\r");
    let exchange = model.next();
    assert_eq!(exchange.request["model"], "other");
    exchange.answer("The other one.");
    screen.until("the end", |text| text.contains("The other one.") && !text.contains("works"));
    leave(&mut screen);

    // One that cannot be used is not used.
    fs::write(file, of_other.replace("loopback/other", "anthropic/claude-nothing")).unwrap();
    let mut screen = start(&place, &model, (24, 80));
    screen.press("/resume\r");
    screen.until("the list", |text| text.contains("▸ hello"));
    screen.press("\r");
    screen.until("the present model", |text| {
        text.contains("the model of the session, anthropic/claude-nothing, cannot be used")
            && text.contains("\nloopback/loop ·")
    });
    assert_eq!(talk(&screen, &model, "and now?", "Now it is."), ["hello", "and now?"]);
    leave(&mut screen);
}
