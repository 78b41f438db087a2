//! The tool `todo_write`.

use engine::ports::SessionPurpose;
use protocol::{Todo, TodoStatus};
use serde_json::json;

use super::session::{Session, Setting, ViewKind};

#[test]
async fn each_list_replaces_the_one_before_and_is_in_the_details() {
    let purpose = SessionPurpose::Conversation;
    let setting = Setting { purpose, ..Setting::default() };
    let session = Session::with(ViewKind::Memory, setting).await;
    let item = |content: &str, status| Todo { content: content.to_owned(), status };
    let expected = [
        item("Read", TodoStatus::Completed),
        item("Write", TodoStatus::InProgress),
        item("Test", TodoStatus::Pending),
    ];
    let plain = json!({ "todos": expected });
    let others = [
        plain.clone(),
        json!({ "explanation": "x", "plan": [
            { "step": "Read", "status": "completed" },
            { "step": "Write", "status": "in_progress" },
            { "step": "Test", "status": "pending" },
        ] }),
        json!({ "todos": [
            { "id": "1", "content": "Read", "activeForm": "Reading", "status": "done" },
            { "id": "2", "content": "Write", "priority": "high", "status": "in-progress" },
            "Test",
        ] }),
        json!({ "todos": plain["todos"].to_string() }),
    ];
    for arguments in others {
        let written = session.answer("todo_write", arguments.clone()).await;
        assert_eq!(written.text, "The list is written: 1 of 3 done; now: Write", "{arguments}");
        assert_eq!(Todo::list_of(&written.details.unwrap()).unwrap(), expected, "{arguments}");
    }
    let ended = session.answer("todo_write", json!({ "todos": [] })).await;
    assert_eq!(ended.text, "The list is written: nothing to do");
    assert_eq!(Todo::list_of(&ended.details.unwrap()), Some(Vec::new()));
    let wrong = json!({ "todos": [{ "content": "x", "status": "later" }] });
    let refused = session.failed("todo_write", wrong).await;
    assert!(refused.contains("/todos/0/status"), "{refused}");
}
