//! What a terminal shows of a question: what is asked, whole or with the number of lines that are left out,
//! and the keys that answer it.

use protocol::Question;

use super::printable::{one_line, width};
use super::terminal::Size;

/// The most lines of what is asked.
const LINES: usize = 8;

/// How many of them are the last ones where there are more: the end of a command matters as its beginning.
const LAST_LINES: usize = 2;

/// What stands before the lines that follow the first one.
const INDENT: &str = "  ";

/// Returns the keys that answer a question.
#[must_use]
pub fn question_keys(question: &Question) -> String {
    let choices = question.choices.iter().map(|choice| format!("{} {}", choice.key, choice.label));
    let keys: Vec<_> = choices.chain(["d details".to_owned()]).collect();
    one_line(&keys.join(" · "))
}

/// Returns the lines of a question on a terminal of this size. `label`, which is printable, says of whom it is,
/// and they end with `end`. The keys stand behind what is asked if there is room, and below it otherwise.
#[must_use]
pub fn question_text(label: &str, question: &Question, end: &str, size: Size) -> Vec<String> {
    let Size { columns, rows } = size;
    let asked: Vec<_> = question.text.lines().map(one_line).collect();
    let indent = if columns > 8 * INDENT.len() { format!("\n{INDENT}") } else { "\n".to_owned() };
    let asked = question.form.question(label, &asked.join(&indent));
    let keys = format!("{}{end}", question_keys(question));
    if asked.lines().count() == 1 && width(&asked) + 1 + width(&keys) <= columns {
        return vec![format!("{asked} {keys}")];
    }
    let keys = broken(&keys, columns);
    let most = (rows / 2).saturating_sub(keys.len()).clamp(1, LINES);
    let mut lines: Vec<_> = asked.lines().flat_map(|line| broken(line, columns)).collect();
    let count = lines.len();
    if count > most {
        let last = LAST_LINES.min(most.saturating_sub(2));
        let first = most.saturating_sub(last + 1);
        let rest = lines.split_off(count - last);
        lines.truncate(first);
        let left_out = format!("{INDENT}… {} more lines: d shows all", count - first - last);
        lines.extend(broken(&left_out, columns).into_iter().take(1));
        lines.extend(rest);
    }
    lines.extend(keys);
    lines
}

/// Breaks a printable text into lines: at a blank in the second half of a line, or anywhere.
fn broken(text: &str, columns: usize) -> Vec<String> {
    let indent = if columns > 8 * INDENT.len() { INDENT } else { "" };
    let (mut lines, mut line) = (Vec::new(), String::new());
    for letter in text.chars() {
        line.push(letter);
        if width(&line) <= columns || line.chars().nth(1).is_none() {
            continue;
        }
        let half = line.char_indices().nth(columns / 2).map_or(0, |(at, _)| at);
        let blank = line.rfind(' ').filter(|at| *at > half && letter != ' ');
        let rest = match blank {
            Some(at) => line.split_off(at + 1),
            None => line.pop().map(String::from).unwrap_or_default(),
        };
        let next = format!("{indent}{}", rest.trim_start());
        lines.push(std::mem::replace(&mut line, next).trim_end().to_owned());
    }
    lines.push(line.trim_end().to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use protocol::{QuestionChoice, QuestionId};

    use super::*;

    fn question(text: &str) -> Question {
        let choice =
            |id: &str, key| QuestionChoice { id: id.to_owned(), key, label: id.to_owned() };
        let choices = [("once", 'y'), ("session", 's'), ("always", 'a'), ("no", 'n')];
        Question {
            id: QuestionId::generate(),
            text: text.to_owned(),
            reason: String::new(),
            choices: choices.map(|(id, key)| choice(id, key)).to_vec(),
            default: "no".to_owned(),
            tool_call_id: None,
            form: protocol::QuestionForm::Call,
            deadline_ms: None,
            diff: None,
        }
    }

    fn lines(text: &str, columns: usize, rows: usize) -> Vec<String> {
        question_text("", &question(text), "", Size { columns, rows })
    }

    const KEYS: &str = "y once · s session · a always · n no · d details";

    #[test]
    fn what_is_approved_is_shown_whole_and_the_keys_stand_below_it_if_there_is_no_room() {
        assert_eq!(lines("bash make", 80, 24), [format!("allow bash make? {KEYS}")]);
        let command = format!("bash echo {}; touch evil", "a".repeat(60));
        let shown = lines(&command, 80, 24);
        let [first, second, keys] = &shown[..] else { panic!("{shown:#?}") };
        assert_eq!(format!("{first} {}", second.trim_start()), format!("allow {command}?"));
        assert_eq!(keys, KEYS);
    }

    #[test]
    fn each_line_of_a_command_of_several_lines_is_a_line() {
        let shown = lines("bash cd sub\nmake \\\n  all", 80, 24);
        assert_eq!(shown, ["allow bash cd sub", "  make \\", "    all?", KEYS]);
        let many = lines(&format!("bash cd sub\n{}touch evil", "make\n".repeat(20)), 80, 24);
        assert_eq!(
            many[4..],
            ["  make", "  … 15 more lines: d shows all", "  make", "  touch evil?", KEYS]
        );
    }

    #[test]
    fn of_a_long_command_the_beginning_and_the_end_are_shown_and_the_lines_between_counted() {
        let shown = lines(&format!("bash echo {}; touch evil", "a b ".repeat(500)), 80, 24);
        assert_eq!(shown.len(), LINES + 1, "{shown:#?}");
        assert!(shown[0].starts_with("allow bash echo a b"), "{shown:#?}");
        assert_eq!(shown[5], "  … 19 more lines: d shows all");
        assert!(shown[7].ends_with("; touch evil?"), "{shown:#?}");
        let shown = lines(&"a b ".repeat(500), 80, 4);
        assert_eq!(shown.len(), 2, "{shown:#?}");
        assert_eq!(
            (shown[0].as_str(), shown[1].as_str()),
            ("  … 26 more lines: d shows all", KEYS)
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_none_has_a_control_character() {
        let hostile = "bash 日本 \u{1b}[2J\u{202e}\r\nx ".repeat(9);
        for columns in 2..90 {
            for line in lines(&hostile, columns, 24) {
                assert!(width(&line) <= columns, "{columns}: {line}");
                assert!(!line.contains(|it: char| it.is_control() || it == '\u{202e}'), "{line:?}");
            }
        }
    }
}
