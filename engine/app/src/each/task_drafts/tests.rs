//! Tasks of items.

use super::*;

fn of(
    script: &str,
    items: &[&str],
    naming: ItemKind,
    chunk: usize,
) -> Result<Vec<TaskDraft>, Error> {
    let items = items.iter().map(|item| (*item).to_owned()).collect();
    let pattern = &WorkTemplate::Command(script.to_owned());
    drafts(FanOut { pattern, items, naming, chunk: NonZeroUsize::new(chunk) })
}

fn command(draft: &TaskDraft) -> &Command {
    let DraftWork::Command(command) = &draft.work else { panic!("a command was asked for") };
    command
}

fn names(drafts: &[TaskDraft]) -> Vec<&str> {
    drafts.iter().map(|draft| draft.name.as_str()).collect()
}

#[test]
fn each_item_is_a_task_with_a_slug_for_a_name() {
    let drafts = of("make {{item}} {{index}}", &["src/a.c", "b c"], ItemKind::Path, 0).unwrap();
    assert_eq!(names(&drafts), ["src-a-c", "b-c"]);
    assert_eq!(drafts[0].title, "src/a.c");
    assert_eq!(command(&drafts[0]).script, "make src/a.c 1");
    assert_eq!(command(&drafts[1]).script, "make \"${REGATTA_ITEM}\" 2");
    assert_eq!(command(&drafts[1]).item.as_ref().map(|item| item.item.as_str()), Some("b c"));
    assert!(command(&drafts[1]).arguments.is_empty());
}

#[test]
fn each_word_is_a_task_that_is_named_by_its_first_words() {
    let drafts = of("ask {{item}}", &["fix the tests", "-v"], ItemKind::Word, 0).unwrap();
    assert_eq!(names(&drafts), ["fix-the-tests", "v"]);
    assert_eq!(command(&drafts[1]).item.as_ref().map(|item| item.item.as_str()), Some("-v"));
}

#[test]
fn a_chunk_has_its_items_as_parameters() {
    let drafts = of("ls {{items}} {{index}}", &["a", "b b", "-c"], ItemKind::Path, 2).unwrap();
    assert_eq!(names(&drafts), ["t1", "t2"]);
    assert_eq!(command(&drafts[0]).script, "ls \"$@\" 1");
    assert_eq!(command(&drafts[0]).arguments, ["a", "b b"]);
    assert_eq!(drafts[0].title, "a and 1 more");
    assert_eq!(command(&drafts[1]).arguments, ["./-c"]);
    assert_eq!(drafts[1].title, "-c");
}

#[test]
fn a_chunk_that_no_process_can_take_is_refused() {
    let long = "x".repeat(60_000);
    let items = vec![long.as_str(); 20];
    let error = of("ls {{items}}", &items, ItemKind::Path, 20).unwrap_err().to_string();
    assert!(error.ends_with("try: a smaller --chunk"), "{error}");
    assert_eq!(of("ls {{items}}", &items, ItemKind::Path, 10).unwrap().len(), 2);
}

#[test]
fn a_hundred_thousand_items_are_tasks_at_once() {
    let items = (0..100_000).map(|n| format!("src/some/folder/file {}.rs", n % 50_000)).collect();
    let pattern = &WorkTemplate::Command("cat {{item}}".to_owned());
    let fanout = FanOut { pattern, items, naming: ItemKind::Path, chunk: None };
    let drafts = drafts(fanout).unwrap();
    let distinct: std::collections::BTreeSet<_> =
        drafts.iter().map(|draft| draft.name.folded()).collect();
    assert_eq!(distinct.len(), 100_000);
}

#[test]
fn each_item_is_a_prompt_whose_first_line_is_the_title() {
    let pattern = &WorkTemplate::Prompt("Port {{item}}.\nKeep {{item.stem}}.".to_owned());
    let items = || vec!["src/a b.c".to_owned(), "-d.c".to_owned()];
    let fanout = |chunk| FanOut { pattern, items: items(), naming: ItemKind::Path, chunk };
    let prompts = drafts(fanout(None)).unwrap();
    assert_eq!(names(&prompts), ["src-a-b-c", "d-c"]);
    assert_eq!(prompts[0].title, "Port src/a b.c.");
    assert_eq!(prompts[0].work, DraftWork::Prompt("Port src/a b.c.\nKeep a b.".to_owned()));
    assert_eq!(prompts[1].title, "Port ./-d.c.");
    let pattern = &WorkTemplate::Prompt("Port these.\n{{items}}".to_owned());
    let chunk = NonZeroUsize::new(2);
    let chunked = drafts(FanOut { pattern, chunk, ..fanout(None) }).unwrap();
    assert_eq!((names(&chunked), chunked[0].title.as_str()), (vec!["t1"], "Port these."));
    assert_eq!(chunked[0].work, DraftWork::Prompt("Port these.\nsrc/a b.c\n./-d.c".to_owned()));
}

#[test]
fn a_command_gets_another_script_for_the_same_items() {
    let of_items = of("make {{item}}", &["src/a.c", "b c"], ItemKind::Path, 0).unwrap();
    let again = |draft: &TaskDraft, script: &str| with_script(command(draft), script, 7);
    let one = again(&of_items[1], "cc -O {{item}} {{index}} {{item.stem}}").unwrap();
    assert!(one.script.contains("REGATTA_ITEM") && one.script.contains(" 7 "), "{}", one.script);
    assert_eq!(one.item, command(&of_items[1]).item);
    assert!(again(&of_items[0], "cc {{itme}}").is_err());
    let of_chunks = of("ls {{items}}", &["a", "b b", "-c"], ItemKind::Path, 2).unwrap();
    let chunk = again(&of_chunks[0], "cat {{items}}").unwrap();
    assert_eq!(
        (chunk.script.as_str(), chunk.arguments),
        ("cat \"$@\"", vec!["a".to_owned(), "b b".to_owned()])
    );
    let plain = Command { script: "a".to_owned(), item: None, arguments: Vec::new() };
    assert_eq!(with_script(&plain, "b", 1).unwrap().script, "b");
    assert!(with_script(&plain, "b {{item}}", 1).is_err());
}
