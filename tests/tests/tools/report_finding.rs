//! The tool `report_finding`.

use serde_json::json;

use super::session::{Session, ViewKind};

#[test]
async fn a_finding_is_in_the_details_with_its_file_as_it_is_in_the_tree() {
    let session = Session::new(ViewKind::Memory).await;
    session.put("src/a.rs", "fn a() {}\n");
    let finding = json!({
        "title": "A name of one letter", "body": "Say what it does.", "priority": "P3",
        "confidence": 0.5, "file_path": "src/a.rs", "line_start": 1, "line_end": 1,
    });
    let other = json!({
        "title": "A name of one letter", "description": "Say what it does.", "priority": 3,
        "confidence": 50, "path": "./src/../src/a.rs", "line": "1",
    });
    for arguments in [finding.clone(), other] {
        let answer = session.answer("report_finding", arguments.clone()).await;
        let text =
            "Finding recorded: P3 A name of one letter\nLocation: src/a.rs:1\nConfidence: 50%";
        assert_eq!(answer.text, text, "{arguments}");
        let mut details = answer.details.unwrap();
        details.as_object_mut().unwrap().remove("repairs");
        assert_eq!(details, finding, "{arguments}");
    }
    for (member, value, why) in [
        ("priority", json!("high"), "/priority"),
        ("title", json!(""), "/title"),
        ("file_path", json!("../../x"), "outside of the working tree"),
        ("line_end", json!(0), "before line_start"),
    ] {
        let mut wrong = finding.clone();
        wrong[member] = value;
        if member == "line_end" {
            (wrong["line_start"], wrong["line_end"]) = (json!(9), json!(8));
        }
        let refused = session.failed("report_finding", wrong).await;
        assert!(refused.contains(why), "{refused}");
    }
}
