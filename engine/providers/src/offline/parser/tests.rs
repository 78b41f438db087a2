use super::*;

/// The document for users, whose examples have to work.
const DOCUMENT: &str = include_str!("../../../../../docs/scenarios.md");

fn wrong(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn each_example_in_the_document_can_be_played() {
    let blocks = DOCUMENT.split("```toml\n").skip(1);
    let blocks: Vec<_> = blocks.map(|rest| rest.split("```").next().unwrap()).collect();
    let whole: Vec<_> = blocks.iter().filter(|block| block.contains("version")).collect();
    assert!(whole.len() >= 2, "{} whole examples", whole.len());
    for block in &blocks {
        let text = if block.contains("version") {
            (*block).to_owned()
        } else {
            format!("version = 1\n{block}")
        };
        assert!(parse(&text).is_ok(), "{:?} in\n{text}", parse(&text));
    }
    for word in
        ["crash", "silence", "cut", "endless", "refused", "quota", "transient", "auth", "panic"]
    {
        assert!(DOCUMENT.contains(&format!("`{word}`")), "{word} is not in the document");
    }
}

#[test]
fn everything_wrong_is_said_with_its_line() {
    let turn = |lines: &str| format!("version = 1\n[[turn]]\n{lines}\n");
    let cases = [
        (String::new(), "1:1: missing field `version`"),
        ("version = 2".to_owned(), "1:11: this is read as version = 1 only"),
        ("version = 1".to_owned(), "1:1: there is no [[scenario]] and no [[turn]]"),
        (
            "version = 1\n[[scenario]]\nwhen = 'a'".to_owned(),
            "2:1: a scenario needs a [[scenario.turn]]",
        ),
        ("version = 1\n[[scenario.turn]]".to_owned(), "2:3: "),
        (
            "version = 1\n[[turn]]\n[[scenario]]\n[[scenario.turn]]".to_owned(),
            "2:1: a file has either [[turn]] or [[scenario]], with [[scenario.turn]]",
        ),
        (turn("txt = 'a'"), "3:1: unknown field `txt`, expected one of "),
        (
            turn("usage = { input = 'x' }"),
            "3:19: invalid type: string \"x\", expected a whole number",
        ),
        (turn("calls = 3"), "3:9: invalid type: integer `3`, expected a list"),
        (turn("fault = 'boom'"), "3:9: unknown variant `boom`, expected one of "),
        (turn("times = 1"), "3:9: `times` says how often a `fault` strikes"),
        (turn("delay = '5'"), "3:9: this is not a duration; write it as 200ms, 5s or 2m"),
        (
            turn("delay = '99999999999s'"),
            "3:9: this is not a duration; write it as 200ms, 5s or 2m",
        ),
        (
            turn("text = 'a {{b}}'"),
            "3:8: nothing is remembered as `b` in this turn or an earlier one",
        ),
        (turn("text = 'a {{b'"), "3:8: a placeholder has no end: "),
        (turn("remember = { a = 'x' }"), "3:18: a group has to say what is remembered"),
        (turn("remember = { a = '(' }"), "3:18: this is not a regular expression: unclosed group"),
        (turn("remember = { 'a b' = '(x)' }"), "3:14: a name of what is remembered "),
        (turn("remember = { a = '(x{9999}{9999})' }"), "3:18: this is not a regular expression: "),
        (turn("calls = [{ arguments = {} }]"), "3:10: missing field `tool`"),
        (
            turn("calls = [\n{ tool = 'x', arguments = { a = ['{{b}}'] } }]"),
            "4:1: nothing is remembered as `b`",
        ),
        (
            turn("calls = [{ tool = 'x', arguments = {}, arguments_text = '' }]"),
            "3:57: a call has `arguments` or `arguments_text`, not both",
        ),
        (
            turn("text = 'a'\nrepeat = true\n[[turn]]\ntext = 'b'"),
            "4:10: only the last turn can be repeated",
        ),
        (turn("thinking = 'a'"), "2:1: a turn that thinks has to say or call something"),
        (turn("usage = { input = -1, output = 0 }"), "3:19: "),
        ("version = 1\n\n[[turn]\n".to_owned(), "3:8: unclosed"),
    ];
    for (text, expected) in cases {
        let told = wrong(&text);
        assert!(told.starts_with(expected), "{told:?} is not {expected:?} for\n{text}");
        assert!(!told.contains('\n'), "{told:?}");
    }
}

#[test]
fn what_is_remembered_is_known_in_its_turn_and_later_in_its_scenario_only() {
    let text = "version = 1\n[[scenario]]\n[[scenario.turn]]\nremember = { a = '(x)' }\ntext = '{{a}}'\n\
        [[scenario.turn]]\ntext = '{{a}}'\n[[scenario]]\n[[scenario.turn]]\ntext = '{{a}}'\n";
    assert_eq!(wrong(text), "10:8: nothing is remembered as `a` in this turn or an earlier one");
}

#[test]
fn letters_of_many_bytes_count_as_one() {
    assert_eq!(
        wrong("version = 1\n[[turn]]\ntext = 'äö{{b}}' # ä\n").split(' ').next(),
        Some("3:8:")
    );
}
