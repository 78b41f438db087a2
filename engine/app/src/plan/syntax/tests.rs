use serde_json::json;

use super::*;
use crate::plan::node::NodeValue;

/// Returns what a text says, without places.
fn said(syntax: PlanSyntax, text: &str) -> serde_json::Value {
    let node = syntax.parse(text).unwrap_or_else(|mistake| panic!("{text}: {mistake}"));
    serde::Deserialize::deserialize(node).expect("each tree is a JSON value")
}

/// Returns the line of the mistake in a text, and what is wrong.
fn refused(syntax: PlanSyntax, text: &str) -> (u64, String) {
    let mistake = syntax.parse(text).expect_err("it is refused");
    assert!(mistake.column.is_some(), "{text}: {mistake}");
    (mistake.line, mistake.message)
}

#[test]
fn a_syntax_is_known_by_the_ending_of_a_file_or_by_the_first_line() {
    for (name, text, expected) in [
        ("a.toml", "{", PlanSyntax::Toml),
        ("a.JSON", "version = 1", PlanSyntax::Json),
        ("a.yml", "{}", PlanSyntax::Yaml),
        ("a.yaml", "", PlanSyntax::Yaml),
        ("standard input", "\n# a\nversion = 1", PlanSyntax::Toml),
        ("plan", "\n {\"version\": 1}", PlanSyntax::Json),
        ("plan", "version: 1", PlanSyntax::Yaml),
        ("plan", "task:\n", PlanSyntax::Yaml),
        ("plan", "---\nversion: 1", PlanSyntax::Yaml),
        ("plan", "[[task]]\nexec = 'a: b'", PlanSyntax::Toml),
        ("plan", "", PlanSyntax::Toml),
    ] {
        assert_eq!(PlanSyntax::of(name, text), expected, "{name} {text}");
    }
}

#[test]
fn each_syntax_says_the_same_and_what_json_can_say() {
    let expected = json!({ "a": "x ä", "b": [1, 2.5, true, -3], "c": { "d": {} } });
    let toml = "a = 'x ä'\nb = [1, 2.5, true, -3]\nc = { d = {} }";
    assert_eq!(said(PlanSyntax::Toml, toml), expected);
    let json = r#"{"a": "x \u00e4", "b": [1, 2.5, true, -3], "c": {"d": {}}}"#;
    assert_eq!(said(PlanSyntax::Json, json), expected);
    let yaml = "a: x ä\nb:\n  - 1\n  - 2.5\n  - true\n  - -3\nc: {d: {}}\n";
    assert_eq!(said(PlanSyntax::Yaml, yaml), expected);
    let nothing = json!({ "a": null });
    assert_eq!(said(PlanSyntax::Json, "{\"a\":\tnull}"), nothing);
    assert_eq!(said(PlanSyntax::Yaml, "a:\n"), nothing);
    assert_eq!(said(PlanSyntax::Json, r#"["\ud83d\ude00"]"#), json!(["😀"]));
}

#[test]
fn each_value_and_each_key_has_its_place() {
    for (syntax, text) in [
        (PlanSyntax::Toml, "n = 1 # ä\n[limits]\nwall = 'soon'\n"),
        (PlanSyntax::Json, "{\"n\": 1, \"ä\": 2,\n \"limits\" : { \"wall\" : \"soon\" } }"),
        (PlanSyntax::Yaml, "n: 1 # ä\nlimits:\n  wall: soon\n"),
    ] {
        let node = syntax.parse(text).unwrap();
        let limits = node.entries().iter().find(|(key, _)| key.name == "limits");
        let (key, wall) = &limits.unwrap().1.entries()[0];
        assert_eq!((&key.name[..], wall.value.clone()), ("wall", NodeValue::Text("soon".into())));
        assert!(text[key.span.start..].trim_start_matches('"').starts_with("wall"), "{syntax:?}");
        let value = text[wall.span.start..].trim_start_matches(['"', '\'']);
        assert!(value.starts_with("soon"), "{syntax:?}: {value}");
        let keys = node.keys();
        assert_eq!(keys.get(&wall.span.start).map(String::as_str), Some("wall"), "{syntax:?}");
    }
}

#[test]
fn a_mistake_has_its_place_in_each_syntax() {
    for (syntax, text, at, message) in [
        (PlanSyntax::Toml, "a = 1\nb = 2026-01-02", 10, "dates are not supported; quote the value"),
        (PlanSyntax::Toml, "a = 1\nb = nan", 10, "`nan` and `inf` are not allowed"),
        (PlanSyntax::Toml, "a = 1\na = 2", 6, "duplicate key"),
        (PlanSyntax::Toml, "a = 99999999999999999999", 4, "too large"),
        (PlanSyntax::Json, "{\"a\": 1,\n \"b\": }", 15, "expected value"),
        (PlanSyntax::Json, "{\"a\": 1,\n \"a\": 2}", 10, "duplicate key `a`"),
        (PlanSyntax::Json, "{\"a\": [\n \"\\ud800\"]}", 16, "hex escape"),
        (PlanSyntax::Yaml, "a: 1\na: 2", 5, "duplicate"),
        (PlanSyntax::Yaml, "a: 1\nb:\n\t- x\n", 8, "tabs"),
        (PlanSyntax::Yaml, "a: 1\nb: .nan", 8, "not a finite number"),
        (PlanSyntax::Yaml, "a: 1\n---\nb: 2\n", 5, "a second document begins"),
        (PlanSyntax::Yaml, "a: 1\n2: 1\n", 5, "a key is a text"),
    ] {
        let (line, said) = refused(syntax, text);
        assert!(said.contains(message), "{text}: {said}");
        assert_eq!(line, config::Mistake::at(text, at, "").line, "{text}: {said}");
    }
}

#[test]
fn a_hostile_text_is_refused() {
    for open in ["[", "{\"a\":"] {
        let deep = open.repeat(10_000);
        let closed = format!("{deep}1{}", if open == "[" { "]" } else { "}" }.repeat(10_000));
        for syntax in [PlanSyntax::Json, PlanSyntax::Yaml] {
            assert!(syntax.parse(&deep).is_err() && syntax.parse(&closed).is_err(), "{syntax:?}");
        }
    }
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", "));
    }
    let (_, said) = refused(PlanSyntax::Yaml, &bomb);
    assert_eq!(said, "its aliases expand to too much");
    // Each inline table has as many dotted keys as the parser lets pass.
    let keys = vec!["a"; 79].join(".");
    let tables = format!("{keys} = {{").repeat(79);
    let dotted = format!("{tables}{keys} = 1{}", "}".repeat(79));
    for deep in [dotted.as_str(), &format!("{keys} = 1"), &format!("[{keys}]")] {
        let (_, said) = refused(PlanSyntax::Toml, deep);
        assert_eq!(said, "it is too deeply nested");
    }
}
