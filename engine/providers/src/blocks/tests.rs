use super::*;

#[test]
fn parts_stand_in_the_order_of_their_blocks_with_their_signatures() {
    let (mut blocks, mut events) = (Blocks::default(), Events::new());
    let thinking = blocks.open_thinking().unwrap();
    let text = blocks.open_text().unwrap();
    let call = blocks.open_call("c", "read", &mut events).unwrap();
    blocks.push_redacted("data", &mut events).unwrap();
    blocks.push_arguments(call, "{\"a\":", &mut events).unwrap();
    blocks.push_text(text, "ä", &mut events).unwrap();
    blocks.push_arguments(call, "1}", &mut events).unwrap();
    blocks.sign(thinking, "s1").unwrap();
    blocks.sign(thinking, "s2").unwrap();
    let answer = blocks.into_answer(Stop::Finished);
    let signature = Some("s1s2".to_owned());
    let arguments = serde_json::json!({ "a": 1 }).as_object().unwrap().clone();
    let call = ToolCall {
        id: "c".to_owned(),
        name: "read".to_owned(),
        arguments,
        malformed: None,
        thought_signature: None,
    };
    let expected = [
        Part::Thinking { thinking: String::new(), signature },
        Part::text("ä"),
        Part::ToolCall(call),
        Part::RedactedThinking { data: "data".to_owned() },
    ];
    assert_eq!(
        (answer.content.as_slice(), answer.stop_reason),
        (&expected[..], StopReason::ToolUse)
    );
    let json = |json: &str| ModelEvent::Arguments { block: 2, json: json.to_owned() };
    let expected = [
        ModelEvent::Calling { block: 2, id: "c".to_owned(), tool: "read".to_owned() },
        ModelEvent::Received(4),
        json("{\"a\":"),
        ModelEvent::Text { block: 1, text: "ä".to_owned() },
        json("1}"),
    ];
    assert_eq!(events, expected);
}

#[test]
fn what_stays_empty_is_no_part() {
    let mut blocks = Blocks::default();
    blocks.open_text().unwrap();
    blocks.open_thinking().unwrap();
    let answer = blocks.into_answer(Stop::Finished);
    assert_eq!((answer.content.len(), answer.stop_reason), (0, StopReason::Stop));
}

#[test]
fn an_answer_is_bounded_in_its_bytes_calls_blocks_and_signatures() {
    let (mut blocks, mut events) = (Blocks::default(), Events::new());
    let text = blocks.open_text().unwrap();
    let most = "x".repeat(MAX_ANSWER_BYTES - 1);
    assert_eq!(blocks.push_text(text, &most, &mut events), Ok(()));
    assert_eq!(blocks.push_text(text, "ä", &mut events), Err(Full));
    assert_eq!(blocks.text(text).len(), MAX_ANSWER_BYTES - 1);
    assert_eq!(blocks.sign(text, "xx"), Err(Full));

    let mut blocks = Blocks::default();
    let calls = (0..=MAX_CALLS).map(|_| blocks.open_call("", "x", &mut events).is_ok());
    assert_eq!(calls.filter(|opened| *opened).count(), MAX_CALLS);

    let mut blocks = Blocks::default();
    let opened = (0..=MAX_BLOCKS).map(|_| blocks.open_text().is_ok());
    assert_eq!(opened.filter(|opened| *opened).count(), MAX_BLOCKS);

    let mut blocks = Blocks::default();
    let block = blocks.open_thinking().unwrap();
    blocks.push_thinking(block, "hm", &mut events).unwrap();
    blocks.sign(block, &"s".repeat(MAX_SIGNATURE)).unwrap();
    blocks.sign(block, "s").unwrap();
    assert_eq!(blocks.into_answer(Stop::Finished).content, [Part::thinking("hm")]);
    assert_eq!(
        Blocks::default().push_redacted(&"x".repeat(MAX_SIGNATURE + 1), &mut events),
        Err(Full)
    );
}

#[test]
fn arguments_that_nobody_could_read_again_are_none() {
    let nested = |deep: usize| format!("{{\"a\":{}{}}}", "[".repeat(deep), "]".repeat(deep));
    assert_eq!(arguments(&nested(MAX_DEPTH)).1, None);
    for deep in [MAX_DEPTH + 1, 126, 10_000] {
        assert_eq!(arguments(&nested(deep)), (Map::new(), Some(nested(deep))), "{deep}");
    }
}

#[test]
fn arguments_that_are_no_object_are_kept_as_they_came() {
    for text in ["{bad", "[1]", "\"text\"", "null", "{} {}"] {
        assert_eq!(arguments(text), (Map::new(), Some(text.to_owned())));
    }
    assert_eq!(arguments(" \n"), (Map::new(), None));
    let long = format!("{{{}", "ä".repeat(MAX_MALFORMED));
    let kept = arguments(&long).1.unwrap();
    assert!(kept.len() <= MAX_MALFORMED && long.starts_with(&kept));
}
