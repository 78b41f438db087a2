//! Filled scripts.

use super::super::items::{ItemKind, item_with_parts};
use super::*;

fn filled(script: &str, item: &str) -> String {
    let item = item_with_parts(item.to_owned(), ItemKind::Path);
    ScriptTemplate::read(script, ItemsPerTask::One).unwrap().fill(7, Some(&item)).unwrap()
}

fn refused(script: &str) -> String {
    ScriptTemplate::read(script, ItemsPerTask::One).unwrap_err().to_string()
}

#[test]
fn a_plain_item_goes_in_as_it_stands() {
    let script = "cc {{item}} -o '{{item.dir}}/{{ item.stem }}.o' # {{index}}";
    assert_eq!(filled(script, "src/a.c"), "cc src/a.c -o 'src/a.o' # 7");
}

#[test]
fn any_other_becomes_a_variable_that_is_whole_in_the_quotes_around_it() {
    for (script, expected) in [
        ("cat {{item}}", "cat \"${REGATTA_ITEM}\""),
        ("cat \"{{item}}\"", "cat \"${REGATTA_ITEM}\""),
        ("cat \"x {{item.dir}}/y\"", "cat \"x ${REGATTA_ITEM_DIR}/y\""),
        ("cat '{{item}}'", "cat ''\"${REGATTA_ITEM}\"''"),
        ("cat 'x {{item.stem}}'", "cat 'x '\"${REGATTA_ITEM_STEM}\"''"),
        ("cat \"$(ls {{item}})\"", "cat \"$(ls \"${REGATTA_ITEM}\")\""),
        ("cat \"$(ls '{{item}}')\"", "cat \"$(ls ''\"${REGATTA_ITEM}\"'')\""),
        ("cat `ls {{item}}` {{item}}", "cat `ls \"${REGATTA_ITEM}\"` \"${REGATTA_ITEM}\""),
        ("# it's\ncat {{item}}", "# it's\ncat \"${REGATTA_ITEM}\""),
        ("echo a#'b' \\' {{item}}", "echo a#'b' \\' \"${REGATTA_ITEM}\""),
        ("cat {{items}} '{{items}}' \"{{items}}\"", "cat \"$@\" ''\"$@\"'' \"$@\""),
    ] {
        assert_eq!(filled(script, "a b/c d.e"), expected);
    }
}

#[test]
fn a_script_for_another_shell_gets_the_variable_and_not_its_value() {
    for (script, expected) in [
        ("sh -c 'cat {{item}}'", "sh -c 'cat \"${REGATTA_ITEM}\"'"),
        ("bash -ec \"cat {{item}}\"", "bash -ec \"cat \\\"\\${REGATTA_ITEM}\\\"\""),
        ("env x=1 /bin/sh -c {{item}}", "env x=1 /bin/sh -c \\\"\\$\\{REGATTA\\_ITEM\\}\\\""),
        ("sh -c 'cat \"{{item}}\"'", "sh -c 'cat \"${REGATTA_ITEM}\"'"),
        ("sh -c 'cat x' {{item}}", "sh -c 'cat x' \"${REGATTA_ITEM}\""),
        ("sh -c 'a'; wc -c {{item}}", "sh -c 'a'; wc -c \"${REGATTA_ITEM}\""),
        ("eval cat '{{item}}'", "eval cat '\"${REGATTA_ITEM}\"'"),
        ("gcc -c {{item}}", "gcc -c \"${REGATTA_ITEM}\""),
    ] {
        assert_eq!(filled(script, "a b"), expected);
    }
}

#[test]
fn where_no_name_is_safe_it_is_refused() {
    let odd = item_with_parts("a[$(x)]".to_owned(), ItemKind::Path);
    let plain = item_with_parts("12".to_owned(), ItemKind::Path);
    for script in ["echo $(( {{item}} + 1 ))", "echo \\{{item}}"] {
        let template = ScriptTemplate::read(script, ItemsPerTask::One).unwrap();
        assert!(template.fill(1, Some(&plain)).unwrap().contains("12"));
        let error = template.fill(1, Some(&odd)).unwrap_err().to_string();
        assert!(error.contains("cannot be put in safely") && error.contains("a[$(x)]"), "{error}");
    }
    assert!(refused("sh -c 'ls {{items}}'").contains("script for another shell"));
}

#[test]
fn an_unknown_placeholder_is_named_and_other_braces_are_left_alone() {
    assert!(refused("cat {{itme}}").contains("`{{itme}}` is not a placeholder"));
    assert!(refused("cat {{itme}}").ends_with("\n  try: {{item}}"));
    assert!(refused("cat {{whatever}}").contains("{''{"));
    for own in ["awk '{{ print $1 }}'", "x '{{.State}}'", "{{", "{{}}", "{ {item} }", "${{1}}"] {
        assert_eq!(filled(own, "a"), own);
    }
    assert_eq!(filled("{{{item}}}", "a"), "{a}");
}

#[test]
fn a_chunk_has_no_single_item() {
    let error = ScriptTemplate::read("cat {{item}}", ItemsPerTask::Chunk).unwrap_err().to_string();
    assert!(
        error.contains("has no meaning with --chunk") && error.ends_with("{{items}}"),
        "{error}"
    );
}

#[test]
fn without_items_a_placeholder_has_nothing_to_stand_for() {
    let error = refuse_placeholders("cat {{item.stem}}", "--each").unwrap_err().to_string();
    assert!(error.starts_with("error: `{{item.stem}}` has no value"), "{error}");
    let error = refuse_placeholders("just {{recipe}}", "--each").unwrap_err().to_string();
    assert!(error.starts_with("error: `{{recipe}}` is not a placeholder"), "{error}");
    assert!(refuse_placeholders("docker inspect -f '{{json .}} {{.Id}} {''{id}}'", "").is_ok());
}
