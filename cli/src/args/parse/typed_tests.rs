//! Command lines that people type who know other programs: each is refused before anything begins, and
//! its first hint is what does the same here.

use protocol::ExitCode;

use super::tests::read;

/// What is typed after `regatta`, with quotes as in a shell, and the beginning of the first hint.
const TYPED: &str = include_str!("typed_lines.txt");

/// Returns the words of a line. Each other part between quotes is one word.
fn words_of(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.collect()
}

/// Returns the first letter of a line that begins with a command other than `run`.
fn of_command(line: &str) -> Option<char> {
    let is_other = line.starts_with('-') || line.starts_with("run ");
    line.chars().next().filter(|_| !is_other)
}

/// Expects that the lines that `is_meant` chooses, at least this many, are refused, each with its hint.
fn expect_refused(least: usize, is_meant: impl Fn(&str) -> bool) {
    let (mut seen, mut wrong) = (0, Vec::new());
    for line in TYPED.lines().filter(|line| is_meant(line)) {
        let (typed, instead) = line.split_once(" | ").expect("a row has two parts");
        let words = words_of(typed);
        let error = match read(&words) {
            Err(error) => error,
            Ok(read) => {
                wrong.push(format!("{typed}: it is taken as {read:?}"));
                continue;
            }
        };
        assert_eq!(error.exit, ExitCode::NotStarted, "{typed}: {error}");
        let said = error.to_string();
        let hint = said.split("\n  try: ").nth(1).unwrap_or_default();
        if !hint.starts_with(instead) {
            wrong.push(format!("{typed}: {said}"));
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen >= least, "{seen} lines");
}

#[test]
fn options_of_other_programs_are_refused_with_what_does_the_same_here() {
    expect_refused(100, |line| line.starts_with('-'));
}

#[test]
fn options_of_other_programs_behind_run_are_refused_with_what_does_the_same_there() {
    expect_refused(100, |line| line.starts_with("run "));
}

#[test]
fn commands_of_other_programs_are_refused_with_what_does_the_same_here() {
    expect_refused(110, |line| of_command(line).is_some_and(|first| first < 'm'));
}

#[test]
fn commands_of_other_programs_in_the_second_half_of_the_alphabet_are_refused_as_well() {
    expect_refused(110, |line| of_command(line).is_some_and(|first| first >= 'm'));
}

#[test]
fn one_word_is_a_prompt_behind_two_dashes_with_p_with_a_file_or_as_an_item() {
    for words in [
        &["-p", "hello"][..],
        &["--", "hello"],
        &["--", "init"],
        &["-p", "runs"],
        &["-p", "hello", "explain the build"],
        &["-p", "--", "explain", "it"],
        &["-p", "explain", "@file"],
        &["--", "launch"],
        &["--mode", "json", "fix it"],
        &["run", "fix the tests"],
        &["run", "--", "test"],
        &["run", "--", "run"],
        &["run", "docs=fix the docs", "lint the code"],
        &["run", "--exec", "echo {{item}}", "test", "lint"],
        &["run", "--each", "*.rs", "test"],
        &["run", "修复失败的测试"],
        &["init the project"],
        &["@file"],
        &["@file", "explain"],
        &["修复失败的测试"],
    ] {
        assert!(read(words).is_ok(), "{words:?}");
    }
}
