//! What models read of each kind of message.

use serde_json::{Value, json};

use super::*;

/// Returns the text that models read of a message.
fn read(message: Value) -> Option<String> {
    let message: SessionMessage = serde_json::from_value(message).unwrap();
    match for_model(&message)? {
        Message::User(said) => Some(said.text()),
        Message::Assistant(answer) => Some(answer.text()),
        Message::ToolResult(result) => Some(result.text()),
    }
}

fn ran(more: Value) -> Option<String> {
    let mut ran = json!({ "role": "bashExecution", "command": "ls", "output": "a\n",
        "cancelled": false, "truncated": false, "timestamp": 1 });
    ran.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    read(ran)
}

#[test]
fn a_command_of_the_user_is_told_with_its_output_and_its_end() {
    assert_eq!(ran(json!({})).unwrap(), "Ran `ls`\n```\na\n```");
    assert_eq!(ran(json!({ "output": " \n", "exitCode": 0 })).unwrap(), "Ran `ls`\n(no output)");
    assert_eq!(
        ran(json!({ "exitCode": 2 })).unwrap(),
        "Ran `ls`\n```\na\n```\n\nCommand exited with code 2"
    );
    assert_eq!(
        ran(json!({ "cancelled": true, "exitCode": 2 })).unwrap(),
        "Ran `ls`\n```\na\n```\n\n(command cancelled)"
    );
    assert_eq!(
        ran(json!({ "truncated": true, "fullOutputPath": "/x/3.bash.log" })).unwrap(),
        "Ran `ls`\n```\na\n```\n\n[Output truncated. Full output: artifact://3]"
    );
    assert_eq!(
        ran(json!({ "truncated": true, "fullOutputPath": "/tmp/pi-bash-12.log" })).unwrap(),
        "Ran `ls`\n```\na\n```\n\n[Output truncated]"
    );
    assert_eq!(ran(json!({ "output": "````" })).unwrap(), "Ran `ls`\n`````\n````\n`````");
    assert_eq!(ran(json!({ "excludeFromContext": true })), None);
    let python = json!({ "role": "pythonExecution", "code": "1", "output": "1", "timestamp": 1 });
    assert_eq!(read(python).unwrap(), "Ran `1`\n```\n1\n```");
}

#[test]
fn summaries_and_messages_of_extensions_and_the_system_are_read_as_of_the_user() {
    let custom = json!({ "role": "custom", "customType": "c", "content": "x", "timestamp": 1 });
    assert_eq!(read(custom).unwrap(), "x");
    let developer = json!({ "role": "developer", "content": "x", "timestamp": 1 });
    assert_eq!(read(developer).unwrap(), "x");
    for role in ["branchSummary", "compactionSummary"] {
        let summary = json!({ "role": role, "summary": "S", "fromId": "a", "tokensBefore": 1,
            "timestamp": 1 });
        let text = read(summary).unwrap();
        assert!(text.ends_with(":\n\n<summary>\nS\n</summary>"), "{text}");
    }
    assert_eq!(read(json!({ "role": "hologram" })), None);
}

#[test]
fn an_answer_that_was_not_had_whole_is_not_read() {
    let answer = |end: &str| {
        read(json!({ "role": "assistant", "content": "ok", "api": "x", "provider": "p",
            "model": "m", "usage": {}, "stopReason": end, "timestamp": 5 }))
    };
    let ends = ["stop", "length", "toolUse", "error", "aborted"].map(answer);
    let ok = || Some("ok".to_owned());
    assert_eq!(ends, [ok(), ok(), ok(), None, None]);
}

#[test]
fn attachments_and_named_files_become_text_and_images() {
    let file = |kind: &str, text: Value| {
        json!({ "id": "1", "type": kind, "fileName": "a", "mimeType": "image/png", "size": 1,
            "content": "AA==", "extractedText": text })
    };
    let said = json!({ "role": "user", "content": "see", "timestamp": 1, "attachments":
        [file("image", Value::Null), file("document", json!("words")), file("document", Value::Null)] });
    let image = Content::Image { data: "AA==".to_owned(), mime_type: "image/png".to_owned() };
    let Some(Message::User(said)) = for_model(&serde_json::from_value(said).unwrap()) else {
        panic!()
    };
    let document = Content::text("[Document: a]\nwords");
    assert_eq!(said.content, [Content::text("see"), image.clone(), document]);
    assert_eq!(said.attachments, []);
    let mention = json!({ "role": "fileMention", "timestamp": 1, "files": [
        { "path": "a\"b", "content": "A" },
        { "path": "c", "skippedReason": "tooLarge" },
        { "path": "d", "image": image },
    ] });
    let Some(Message::User(said)) = for_model(&serde_json::from_value(mention).unwrap()) else {
        panic!()
    };
    assert_eq!(
        said.text(),
        "<system-reminder>\n<file path=\"a&quot;b\">\nA\n</file>\n<file path=\"c\">\n(too large to \
         be shown)\n</file>\n<file path=\"d\">\n(an image, below)\n</file>\n</system-reminder>"
    );
    assert_eq!(said.content[1], image);
}
