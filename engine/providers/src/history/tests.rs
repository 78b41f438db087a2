use protocol::{Message, Timestamp};
use serde_json::json;

use super::*;
use crate::test_support::{answer_of, call, image, result, text, thinking, user};

const OWN: (&str, &str, &str) = ("a", "p", "m");

fn reader() -> Reader<'static> {
    Reader { api: OWN.0, provider: OWN.1, model: OWN.2, images: Images::Seen }
}

fn signed() -> Vec<Part> {
    let signature = || Some("sig".to_owned());
    let mut called = call("c", "read", &json!({}));
    if let Part::ToolCall(call) = &mut called {
        call.thought_signature = signature();
    }
    vec![
        Part::Thinking { thinking: "hm".to_owned(), signature: signature() },
        Part::Thinking { thinking: String::new(), signature: signature() },
        thinking(""),
        Part::RedactedThinking { data: "data".to_owned() },
        Part::Text { text: "a".to_owned(), signature: signature() },
        text(" "),
        called,
    ]
}

#[test]
fn a_model_gets_its_own_answer_as_it_came() {
    let messages = [answer_of(OWN, signed()), result("c", "read", "x")];
    let turns = turns(&messages, &reader());
    let signature = Some("sig");
    let Message::Assistant(answer) = &messages[0] else { panic!() };
    let call = answer.calls().next().unwrap();
    let expected = [
        Block::Thinking { thinking: "hm", signature },
        Block::Thinking { thinking: "", signature },
        Block::Redacted("data"),
        Block::Text { text: "a", signature },
        Block::Call { call, signature },
    ];
    assert_eq!(turns[1], Turn::Answer(expected.into()));
}

#[test]
fn another_model_gets_thinking_as_text_and_no_signature() {
    for other in [("b", "p", "m"), ("a", "q", "m"), ("a", "p", "n")] {
        let messages = [answer_of(other, signed()), result("c", "read", "x")];
        let turns = turns(&messages, &reader());
        let Message::Assistant(answer) = &messages[0] else { panic!() };
        let call = answer.calls().next().unwrap();
        let expected = [
            Block::Text { text: "hm", signature: None },
            Block::Text { text: "a", signature: None },
            Block::Call { call, signature: None },
        ];
        assert_eq!(turns[1], Turn::Answer(expected.into()), "{other:?}");
    }
}

#[test]
fn an_answer_that_was_cut_off_loses_its_signatures() {
    let mut cut = answer_of(OWN, signed());
    if let Message::Assistant(answer) = &mut cut {
        answer.stop_reason = StopReason::Aborted;
    }
    let messages = [cut];
    let turns = turns(&messages, &reader());
    let Turn::Answer(blocks) = &turns[1] else { panic!() };
    assert_eq!(blocks[0], Block::Text { text: "hm", signature: None });
    let Turn::Results(results) = &turns[2] else { panic!() };
    assert_eq!(results[0].content, [ContentItem::Text("aborted")]);
    let note = || ContentItem::Text(TURN_ABORTED);
    assert_eq!(turns[3..], [Turn::User(vec![note()])]);
    // It is said once, before what the user says next.
    let [cut] = messages;
    let messages = [cut, user("And now?"), answer_of(OWN, vec![text("b")]), user("c")];
    let turns = self::turns(&messages, &reader());
    assert_eq!(turns[3], Turn::User(vec![note(), ContentItem::Text("And now?")]));
    assert_eq!(turns[5], Turn::User(vec![ContentItem::Text("c")]));
}

#[test]
fn every_call_has_one_result_in_the_order_of_the_calls() {
    let calls = ["c1", "c2", "c3"].map(|id| call(id, "read", &json!({})));
    let messages = [
        user("a"),
        result("c0", "read", "of nothing"),
        answer_of(OWN, calls.into()),
        result("c3", "read", "three"),
        result("c1", "read", ""),
        result("c3", "read", "again"),
        user("b"),
        result("c2", "read", "too late"),
    ];
    let turns = turns(&messages, &reader());
    assert_eq!(turns.len(), 4);
    let Turn::Results(results) = &turns[2] else { panic!("{turns:?}") };
    let told: Vec<_> = results
        .iter()
        .map(|result| (result.call.id.as_str(), result.content.clone(), result.is_error))
        .collect();
    let expected = [
        ("c1", vec![ContentItem::Text("(no output)")], false),
        ("c2", vec![ContentItem::Text("No result provided")], true),
        ("c3", vec![ContentItem::Text("three")], false),
    ];
    assert_eq!(told, expected);
}

#[test]
fn an_image_is_shown_if_it_is_whole_and_can_be_seen() {
    let at = Timestamp::from_millisecond(0);
    let said = |content| Message::User(protocol::UserMessage::new(content, at));
    let cut = Content::Image { data: "aGk=\n[cut]".to_owned(), mime_type: "image/png".to_owned() };
    let messages = [said(vec![image(), cut, Content::text("")])];
    let Turn::User(pieces) = &turns(&messages, &reader())[0] else { panic!() };
    let seen = ContentItem::Image { data: "aGk=", mime_type: "image/png" };
    assert_eq!(pieces.as_slice(), [seen, ContentItem::Text(NO_IMAGE)]);
    let blind = Reader { images: Images::Replaced, ..reader() };
    let Turn::User(pieces) = &turns(&messages, &blind)[0] else { panic!() };
    assert_eq!(pieces.as_slice(), [ContentItem::Text(NO_IMAGE), ContentItem::Text(NO_IMAGE)]);
}

#[test]
fn what_says_nothing_is_no_turn() {
    let messages = [user(""), answer_of(OWN, vec![thinking(""), text("\n")]), user("a")];
    assert_eq!(turns(&messages, &reader()), [Turn::User(vec![ContentItem::Text("a")])]);
}

#[test]
fn a_conversation_whose_beginning_is_lost_begins_with_the_user() {
    let messages = [result("c", "read", "x"), answer_of(OWN, vec![text("a")]), user("b")];
    let said = |text| Turn::User(vec![ContentItem::Text(text)]);
    let answer = Turn::Answer(vec![Block::Text { text: "a", signature: None }]);
    assert_eq!(turns(&messages, &reader()), [said(NO_BEGINNING), answer, said("b")]);
}
