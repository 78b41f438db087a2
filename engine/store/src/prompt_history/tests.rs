//! Prompts are found by words that begin alike and by what they contain, and none is there twice in
//! a row.

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_000 * second)
}

fn history(prompts: &[&str]) -> (tempfile::TempDir, PromptHistory) {
    let folder = tempfile::tempdir().unwrap();
    let history = PromptHistory::open(&folder.path().join("new/history.db")).unwrap();
    history.add(prompts.iter().copied(), Path::new("/app"), at(5)).unwrap();
    (folder, history)
}

fn texts(prompts: &[Prompt]) -> Vec<&str> {
    prompts.iter().map(|prompt| prompt.text.as_str()).collect()
}

#[test]
fn prompts_are_there_newest_first_and_not_twice_in_a_row() {
    let (folder, history) = history(&["one", "one", "  one\n", "", "two", "one"]);
    assert_eq!(texts(&history.recent(10).unwrap()), ["one", "two", "one"]);
    assert_eq!(texts(&history.recent(2).unwrap()), ["one", "two"]);
    history.add(["one"], Path::new("/b"), at(9)).unwrap();
    history.add(["three"], Path::new("/b"), at(9)).unwrap();
    let recent = history.recent(u32::MAX).unwrap();
    assert_eq!(texts(&recent), ["three", "one", "two", "one"]);
    assert_eq!((recent[0].at, recent[0].cwd.as_deref()), (at(9), Some("/b")));
    drop(history);
    let again = PromptHistory::open(&folder.path().join("new/history.db")).unwrap();
    assert_eq!(texts(&again.recent(1).unwrap()), ["three"]);
    use std::os::unix::fs::PermissionsExt as _;
    let file = std::fs::metadata(folder.path().join("new/history.db")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
}

#[test]
fn prompts_are_found_by_the_beginnings_of_words_and_by_what_they_contain() {
    let (_folder, history) =
        history(&["Fix the parser", "rename parse_config", "50% done", "über alles", "it's \"x\""]);
    let found = |query: &str| {
        let found = history.search(query, 10).unwrap();
        texts(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("pars"), ["rename parse_config", "Fix the parser"]);
    assert_eq!(found("PARS fix"), ["Fix the parser"]);
    assert_eq!(found("arser"), ["Fix the parser"]);
    assert_eq!(found("e_c"), ["rename parse_config"]);
    assert_eq!(found("50%"), ["50% done"]);
    assert_eq!(found("Üb"), ["über alles"]);
    assert_eq!(found("\"x\" OR ("), ["it's \"x\""; 0]);
    assert_eq!(found("\"x\""), ["it's \"x\""]);
    assert_eq!(found("%"), ["50% done"]);
    assert_eq!(found("nothing"), [""; 0]);
    assert_eq!(history.search("pars", 1).unwrap().len(), 1);
}

#[test]
fn an_index_that_is_missing_is_made_again() {
    let (folder, history) = history(&["Fix the parser"]);
    history.connection().execute_batch("DROP TABLE history_fts").unwrap();
    drop(history);
    let again = PromptHistory::open(&folder.path().join("new/history.db")).unwrap();
    assert_eq!(texts(&again.search("par fi", 10).unwrap()), ["Fix the parser"]);
    again.add(["fix parts"], Path::new("/"), at(1)).unwrap();
    assert_eq!(again.search("par fi", 10).unwrap().len(), 2);
}

#[test]
fn two_processes_may_add_at_the_same_time() {
    let (folder, _first) = history(&[]);
    let path = folder.path().join("new/history.db");
    std::thread::scope(|scope| {
        for name in ["a", "b"] {
            let path = &path;
            scope.spawn(move || {
                let history = PromptHistory::open(path).unwrap();
                for number in 0..50 {
                    history.add([&*format!("{name}{number}")], Path::new("/"), at(1)).unwrap();
                }
            });
        }
    });
    assert_eq!(PromptHistory::open(&path).unwrap().recent(1_000).unwrap().len(), 100);
}
