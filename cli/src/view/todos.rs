//! The list of what the model has to do, which is displayed above the input until all of it is done.

use protocol::{Message, SessionEntry, TODO_TOOL, Todo, TodoStatus};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::markdown::DIM;
use crate::render::{cut, one_line};

/// The most items that are displayed.
const ITEMS: usize = 5;

/// Returns the list of the last result on a branch.
pub(super) fn last_todos(entries: &[SessionEntry]) -> Vec<Todo> {
    let lists = entries.iter().rev().filter_map(|entry| match entry.model_message()? {
        Message::ToolResult(result) if result.tool_name == TODO_TOOL && !result.is_error => {
            Todo::list_of(result.details.as_ref()?)
        }
        Message::ToolResult(_) | Message::User(_) | Message::Assistant(_) => None,
    });
    lists.into_iter().next().unwrap_or_default()
}

/// Returns the lines of a list: how far it is, and the items around the first that is not done.
pub(super) fn todo_lines(todos: &[Todo], columns: usize) -> Vec<Line<'static>> {
    let is_done = |todo: &Todo| todo.status == TodoStatus::Completed;
    let Some(next) = todos.iter().position(|todo| !is_done(todo)) else { return Vec::new() };
    let done = todos.iter().filter(|todo| is_done(todo)).count();
    let from = next.saturating_sub(1).min(todos.len().saturating_sub(ITEMS));
    let header = format!("to do: {done} of {} done", todos.len());
    let items = todos.iter().skip(from).take(ITEMS).map(|todo| {
        let (mark, style) = match todo.status {
            TodoStatus::Completed => ("✓ ", DIM.add_modifier(Modifier::CROSSED_OUT)),
            TodoStatus::InProgress => ("▸ ", Style::new().add_modifier(Modifier::BOLD)),
            TodoStatus::Pending => ("· ", Style::new()),
        };
        let text = cut(&one_line(&todo.content), columns.saturating_sub(4));
        Line::from(vec![Span::raw(format!("  {mark}")), Span::styled(text, style)])
    });
    let header = Line::from(Span::styled(cut(&header, columns), DIM));
    std::iter::once(header).chain(items).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn todos(done: usize, all: usize) -> Vec<Todo> {
        let status = |at| match at {
            at if at < done => TodoStatus::Completed,
            at if at == done => TodoStatus::InProgress,
            _ => TodoStatus::Pending,
        };
        let todo = |at| Todo { content: format!("step {at}\u{1b}[2J"), status: status(at) };
        (0..all).map(todo).collect()
    }

    fn shown(todos: &[Todo]) -> Vec<String> {
        todo_lines(todos, 20).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_items_around_the_next_one_are_displayed_until_all_are_done() {
        let lines = shown(&todos(1, 3));
        assert_eq!(lines[0], "to do: 1 of 3 done");
        let begins = ["  ✓ step 0", "  ▸ step 1", "  · step 2"];
        for (line, begin) in lines[1..].iter().zip(begins) {
            assert!(line.starts_with(begin) && !line.contains('\u{1b}'), "{line:?}");
        }
        assert_eq!(lines.len(), 4);
        let middle = shown(&todos(6, 20));
        assert_eq!((middle[0].as_str(), middle.len()), ("to do: 6 of 20 done", 6));
        assert!(middle[1].contains("step 5") && middle[2].contains("step 6"), "{middle:?}");
        let end = shown(&todos(19, 20));
        assert!(end[1].contains("step 15") && end[5].contains("▸ step 19"), "{end:?}");
        assert_eq!(shown(&todos(3, 3)), [""; 0]);
        assert_eq!(shown(&[]), [""; 0]);
    }

    #[test]
    fn a_continued_session_has_the_list_of_its_last_result() {
        let result = |list: serde_json::Value, is_error: bool| {
            let entry = json!({ "type": "message", "message": {
                "role": "toolResult", "toolCallId": "c", "toolName": "todo_write", "content": [],
                "details": { "todos": list }, "isError": is_error, "timestamp": 1 } });
            serde_json::from_value::<SessionEntry>(entry).unwrap()
        };
        let list = |content: &str| json!([{ "content": content, "status": "pending" }]);
        let entries = [
            result(list("old"), false),
            result(list("new"), false),
            result(list("failed"), true),
            result(json!("damaged"), false),
        ];
        assert_eq!(last_todos(&entries)[0].content, "new");
        assert_eq!(last_todos(&[]), []);
    }
}
