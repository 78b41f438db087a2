//! Every message is written as session files have it and read again, and what is not known stays.

use serde_json::json;

use super::*;

/// A message of each role that is not for models only.
fn written() -> Vec<Value> {
    vec![
        json!({ "role": "developer", "content": [{ "type": "text", "text": "a" }],
                "synthetic": true, "attribution": "agent", "timestamp": 1 }),
        json!({ "role": "bashExecution", "command": "ls", "output": "a\n", "exitCode": 2,
                "cancelled": false, "truncated": true, "fullOutputPath": "/a", "meta": {},
                "excludeFromContext": true, "timestamp": 1 }),
        json!({ "role": "pythonExecution", "code": "1", "output": "a\n", "exitCode": 0,
                "cancelled": true, "truncated": false, "timestamp": 1 }),
        json!({ "role": "custom", "customType": "c", "content": [], "display": true,
                "details": 1, "attribution": "user", "timestamp": 1 }),
        json!({ "role": "branchSummary", "summary": "s", "fromId": "root", "timestamp": 1 }),
        json!({ "role": "compactionSummary", "summary": "s", "shortSummary": "t",
                "tokensBefore": 3, "timestamp": 1 }),
        json!({ "role": "fileMention", "timestamp": 1, "files": [
            { "path": "a", "content": "b", "lineCount": 1, "byteSize": 2 },
            { "path": "c", "content": "", "skippedReason": "tooLarge",
              "image": { "type": "image", "data": "AA==", "mimeType": "image/png" } },
        ] }),
    ]
}

#[test]
fn each_role_is_read_and_written_as_it_was() {
    let mut roles: Vec<_> = ROLES.to_vec();
    for value in written() {
        let message: SessionMessage = serde_json::from_value(value.clone()).unwrap();
        assert!(!matches!(message, SessionMessage::Unknown(_)), "{value}");
        assert_eq!(message.as_model(), None);
        roles.retain(|role| value["role"] != *role);
        assert_eq!(serde_json::to_value(message).unwrap(), value);
    }
    assert_eq!(roles, Vec::<&str>::new(), "roles without an example");
}

#[test]
fn a_message_for_models_is_one_of_the_session_in_the_same_form() {
    let user = Message::user("hi", Timestamp::from_millisecond(7));
    let message = SessionMessage::from(user.clone());
    let value = serde_json::to_value(&message).unwrap();
    assert_eq!(value, serde_json::to_value(&user).unwrap());
    assert_eq!(serde_json::from_value::<SessionMessage>(value).unwrap(), message);
    assert_eq!(message.as_model(), Some(&user));
}

#[test]
fn an_unknown_role_keeps_its_fields_and_their_order() {
    let text = r#"{"z":1,"role":"hologram","a":{"y":[null]}}"#;
    let message: SessionMessage = serde_json::from_str(text).unwrap();
    assert!(matches!(message, SessionMessage::Unknown(_)));
    assert_eq!(serde_json::to_string(&message).unwrap(), text);
}

#[test]
fn the_older_name_of_a_custom_message_is_read() {
    let value = json!({ "role": "hookMessage", "customType": "c", "content": "x", "timestamp": 1 });
    let SessionMessage::Custom(custom) = serde_json::from_value(value).unwrap() else { panic!() };
    assert_eq!((custom.content, custom.display), (vec![Content::text("x")], false));
}

#[test]
fn a_damaged_message_is_an_error_that_says_what_is_missing() {
    for (value, error) in [
        (json!({ "role": "bashExecution", "command": "a" }), "missing field `output`"),
        (
            json!({ "role": "user", "content": 1, "timestamp": 1 }),
            "invalid type: integer `1`, expected a text or a list of blocks as the content of a message",
        ),
        (json!({ "content": "a" }), "missing field `role`"),
    ] {
        let found = serde_json::from_value::<SessionMessage>(value).unwrap_err().to_string();
        assert_eq!(found, error);
    }
}
