use std::collections::BTreeSet;
use std::str::FromStr as _;

use engine::ports::Models;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use protocol::{
    CacheSaving, Cost, CostSource, FailureClass, FailureDetail, Message, ModelRoute, StopReason,
    Usage,
};
use serde_json::{Value, json};

use protocol::Part;

use super::*;
use crate::api::Api;
use crate::catalogue::{Catalogue, CatalogueConfig};
use crate::test_support::{
    Loopback, Observed, Reply, ReplyEnd, ask, assistant, call, clock, closed, delta, end, finish,
    noon, request, result, retries, text, thinking_in, user,
};

const KEY: &str = "sk-sekret-0123456789";

/// Asks the model `acme/m` at `url`.
async fn asked_for(url: &str, model: &str, request: ModelRequest) -> Vec<Observed> {
    let price = |text: &str| serde_json::from_str(text).unwrap();
    let catalogue = Catalogue::new(CatalogueConfig {
        user: Arc::new(crate::user_provider::NoUserProviders),
        keys: Arc::new(|name| (name == "ACME_API_KEY").then(|| KEY.to_owned())),
        prices: [("acme/priced".to_owned(), price(r#"{ "input": 2, "output": 10 }"#))].into(),
        clock: clock(),
    });
    let mut route: ModelRoute = model.parse().unwrap();
    route.base_url = Some(url.to_owned());
    ask(catalogue.open(&route).unwrap(), request).await
}

async fn asked(server: &Loopback) -> Vec<Observed> {
    asked_for(&server.url, "acme/m", request(vec![user("Do it.")])).await
}

fn hello() -> Vec<Value> {
    vec![delta(&json!({ "role": "assistant", "content": "hello" })), finish("stop")]
}

#[test]
async fn an_answer_is_put_together_however_the_stream_is_cut() {
    let usage = json!({ "prompt_tokens": 50, "completion_tokens": 9, "prompt_tokens_details": { "cached_tokens": 20 } });
    let events = [
        delta(&json!({ "role": "assistant", "content": null })),
        delta(&json!({ "reasoning_content": "hm " })),
        delta(&json!({ "reasoning": "hm" })),
        delta(&json!({ "content": "Grüße 😀" })),
        delta(&json!({ "content": "!" })),
        delta(
            &json!({ "tool_calls": [{ "index": 0, "id": "c1", "type": "function", "function": { "name": "read", "arguments": "" } }] }),
        ),
        delta(
            &json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{\"path\":" } }] }),
        ),
        delta(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "\"ä\"}" } }] })),
        delta(
            &json!({ "tool_calls": [{ "index": 1, "id": "c2", "function": { "name": "x y", "arguments": "{bad" } }] }),
        ),
        finish("tool_calls"),
        json!({ "choices": [], "usage": usage }),
    ];
    for size in [1, 7, 100_000] {
        let server = Loopback::start(vec![Reply::events(&events, size)]).await;
        let events = asked_for(&server.url, "acme/priced", request(vec![user("Do it.")])).await;
        let message = end(&events).unwrap();
        let Part::ToolCall(mut bad) = call("c2", "x y", &json!({})) else { panic!() };
        bad.malformed = Some("{bad".to_owned());
        let content = [
            thinking_in("reasoning_content", "hm hm"),
            text("Grüße 😀!"),
            call("c1", "read", &json!({ "path": "ä" })),
            Part::ToolCall(bad),
        ];
        assert_eq!(message.content, content);
        assert_eq!(message.stop_reason, StopReason::ToolUse);
        // 30 × 2 + 20 × 2 + 9 × 10 dollars per million.
        let cost = Some(Cost::from_nanodollars(190_000));
        let cache_saving = Some(CacheSaving::default()); // the price is the same
        let cost_source = CostSource::Priced;
        let counts = Usage { input: 30, output: 9, cache_read: 20, ..Usage::ZERO };
        let usage = Usage { cost, cost_source, cache_saving, ..counts };
        assert_eq!(message.usage, usage);
        assert_eq!(
            (message.api.as_str(), message.provider.as_str()),
            ("openai-completions", "acme")
        );
        assert_eq!((message.model.as_str(), message.timestamp), ("priced", noon()));
        let live: Vec<_> = events[..events.len() - 1].to_vec();
        let expected = [
            Observed::Thinking("hm ".to_owned()),
            Observed::Thinking("hm".to_owned()),
            Observed::Text("Grüße 😀".to_owned()),
            Observed::Text("!".to_owned()),
            Observed::Calling("read".to_owned()),
            Observed::Calling("x y".to_owned()),
        ];
        assert_eq!(live, expected);
    }
}

#[test]
async fn the_request_says_who_asks_and_holds_the_whole_conversation() {
    let server = Loopback::start(vec![Reply::events(&hello(), 10)]).await;
    let asks = request(vec![
        user("Do it."),
        assistant(vec![call("c1", "read", &json!({}))]),
        result("c1", "read", "x"),
    ]);
    asked_for(&server.url, "acme/m", asks).await;
    let seen = &server.seen()[0];
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.headers["authorization"], format!("Bearer {KEY}").as_str());
    assert_eq!(seen.headers["content-type"], "application/json");
    assert!(seen.headers["user-agent"].to_str().unwrap().starts_with("regatta/"));
    assert_eq!(seen.body["model"], "m");
    assert_eq!(seen.body["messages"].as_array().unwrap().len(), 4);
}

#[test]
async fn thinking_that_a_server_refuses_is_left_out_from_then_on_and_reported() {
    let refusal = Reply::new(400, "application/json", r#"{"error":"no extra property"}"#);
    let replies = vec![refusal.clone(), Reply::events(&hello(), 99), Reply::events(&hello(), 99)];
    let server = Loopback::start(replies).await;
    let refusing = Loopback::start(vec![refusal]).await;
    let catalogue = crate::test_support::catalogue();
    let asks = || {
        let thought = thinking_in("reasoning", "hm");
        let mut answer = assistant(vec![thought, call("c1", "read", &json!({}))]);
        let Message::Assistant(message) = &mut answer else { panic!() };
        (message.provider, message.model) = ("acme".to_owned(), "m".to_owned());
        request(vec![user("Do it."), answer, result("c1", "read", "x")])
    };
    let open = |url: &str| {
        let route = ModelRoute { base_url: Some(url.to_owned()), .."acme/m".parse().unwrap() };
        catalogue.open(&route).unwrap()
    };
    let first = ask(open(&server.url), asks()).await;
    let second = ask(open(&server.url), asks()).await;
    let what = "acme refuses requests with what m thought before; it is no longer sent back";
    let notices = |events: &[Observed]| {
        events.iter().filter(|event| matches!(event, Observed::Notice(_))).count()
    };
    assert_eq!(first[0], Observed::Notice(what.to_owned()));
    assert_eq!((notices(&first), notices(&second)), (1, 0));
    assert_eq!(end(&second).unwrap().text(), "hello");
    let sent: Vec<_> =
        server.seen().iter().map(|it| it.body["messages"][2].get("reasoning").is_some()).collect();
    assert_eq!(sent, [true, false, false]);
    // Where it is refused without thinking, too, thinking was not the reason. Once is enough to know.
    for _time in 0..2 {
        let events = ask(open(&refusing.url), asks()).await;
        assert_eq!(end(&events).unwrap_err().class, FailureClass::Invalid);
    }
    let sent: Vec<_> = refusing
        .seen()
        .iter()
        .map(|it| it.body["messages"][2].get("reasoning").is_some())
        .collect();
    assert_eq!(sent, [true, false, true]);
}

#[test]
async fn what_no_server_counts_is_estimated_and_costs_what_the_estimate_does() {
    let arguments = json!({ "path": "a".repeat(89) }).to_string();
    let call = json!({ "index": 0, "function": { "name": "read", "arguments": arguments } });
    let said = [
        delta(&json!({ "content": "b".repeat(50) })),
        delta(&json!({ "reasoning": "c".repeat(46) })),
        delta(&json!({ "tool_calls": [call] })),
    ];
    let whole: Vec<_> = said.iter().cloned().chain([finish("tool_calls")]).collect();
    let zeros = json!({ "choices": [], "usage": { "prompt_tokens": 0, "completion_tokens": 0 } });
    let zeros: Vec<_> = whole.iter().cloned().chain([zeros]).collect();
    let refused: Vec<_> = said.iter().cloned().chain([finish("refusal")]).collect();
    for chunks in [whole, zeros, refused] {
        let server = Loopback::start(vec![Reply::events(&chunks, 99)]).await;
        let events = asked_for(&server.url, "acme/priced", request(vec![user("Do it.")])).await;
        let usage = match events.last() {
            Some(Observed::Ended(message)) => message.usage,
            Some(Observed::Failed { partial, .. }) => partial.usage,
            other => panic!("{other:?}"),
        };
        let read = server.seen()[0].headers["content-length"].to_str().unwrap().to_owned();
        let input = read.parse::<u64>().unwrap().div_ceil(4);
        // 50 and 46 bytes, 4 of a name and 100 of arguments.
        let cost = Some(Cost::from_nanodollars(input * 2_000 + 50 * 10_000));
        let cost_source = CostSource::Priced;
        let expected = Usage { input, output: 50, cost, cost_source, ..Usage::ZERO };
        assert_eq!((arguments.len(), usage), (100, expected));
    }
}

#[test]
async fn an_answer_that_comes_whole_is_an_answer() {
    let whole = json!({
        "choices": [{ "message": { "role": "assistant", "content": "hello", "tool_calls": null }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1 },
    });
    for kind in ["application/json", "text/plain", "text/event-stream"] {
        let server = Loopback::start(vec![Reply::new(200, kind, &whole.to_string())]).await;
        let events = asked(&server).await;
        let message = end(&events).unwrap();
        assert_eq!((message.text(), message.usage.tokens()), ("hello".to_owned(), 2));
        assert_eq!(message.usage.cost, None);
    }
}

#[test]
async fn a_stream_that_is_cut_is_asked_for_again() {
    let whole = Reply::events(&hello(), 100);
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"Gr\u{fc}\u{df}e\"}}]}\n\n";
    // In the middle of a character, of an event, and with an error of the connection.
    let inside = stream.find('\u{fc}').unwrap() + 1;
    let cut = |at: usize| Reply::bytes(&stream.as_bytes()[..at], 5);
    let replies = vec![cut(inside), cut(stream.len()), cut(20).then(ReplyEnd::Lost), whole];
    let server = Loopback::start(replies).await;
    let events = asked(&server).await;
    assert_eq!(end(&events).unwrap().text(), "hello");
    let retries = retries(&events);
    assert_eq!(retries.len(), 3);
    assert_eq!(retries[0], "the answer of acme ended in the middle");
    assert!(retries[2].starts_with("the connection to acme was lost: "), "{retries:?}");
}

#[test]
async fn an_answer_with_a_part_missing_is_no_answer_and_other_words_are_skipped() {
    let whole = format!("data: ping\n\ndata: {}\n\ndata: {}\n\n", hello()[0], hello()[1]);
    let broken = whole.replace("ping", "{\"choices\":[{\"delta\":{\"conte");
    let replies = vec![Reply::bytes(broken.as_bytes(), 50), Reply::bytes(whole.as_bytes(), 50)];
    let server = Loopback::start(replies).await;
    let events = asked(&server).await;
    assert_eq!(retries(&events), ["the answer of acme ended in the middle"]);
    assert_eq!(end(&events).unwrap().text(), "hello");
}

#[test]
async fn busy_servers_are_asked_again_and_their_wish_is_heard() {
    let replies = vec![
        Reply::new(429, "application/json", r#"{"error":{"message":"Rate limit reached"}}"#)
            .header("retry-after-ms", "30"),
        Reply::new(503, "text/html", "<html><head><title>503 Busy</title></head></html>"),
        Reply::events(&[json!({ "error": { "code": 502, "message": "upstream" } })], 100),
        Reply::events(&hello(), 100),
    ];
    let server = Loopback::start(replies).await;
    let events = asked(&server).await;
    assert_eq!(end(&events).unwrap().text(), "hello");
    let expected = [
        "acme answers 429 Too Many Requests: Rate limit reached",
        "acme answers 503 Service Unavailable: 503 Busy",
        "acme answers 502 Bad Gateway: upstream",
    ];
    assert_eq!(retries(&events), expected);
    let waits = events.iter().filter_map(|event| match event {
        Observed::Retrying { delay, .. } => Some(delay.as_millis()),
        _ => None,
    });
    let waits: Vec<_> = waits.collect();
    // Each is up to half as long again; what is asked for is a pause of the whole account.
    for (wait, range) in waits.iter().zip([0..=0, 10..=15, 20..=30]) {
        assert!(range.contains(wait), "{waits:?}");
    }
    assert!(events.contains(&Observed::Pause(Duration::from_millis(30))), "{events:?}");
}

#[test]
async fn a_far_reset_is_a_quota_with_its_time() {
    let limited = Reply::new(429, "application/json", r#"{"error":"slow down"}"#);
    let server = Loopback::start(vec![limited.header("retry-after", "3600")]).await;
    let events = asked(&server).await;
    let failure = end(&events).unwrap_err();
    assert_eq!((failure.class, events.len()), (FailureClass::Quota, 1));
    let message = "acme answers 429 Too Many Requests: slow down (it asks to wait 3600 s)";
    assert_eq!(failure.message, message);
    let at = protocol::Timestamp::from_millisecond(noon().as_millisecond() + 3_600_000);
    assert_eq!(failure.detail, Some(FailureDetail::Until { at }));
}

#[test]
async fn each_refusal_has_its_class_and_says_what_to_do() {
    let json = |status: u16, body: &str| Reply::new(status, "application/json", body);
    let cases = [
        (
            json(401, &format!(r#"{{"error":{{"message":"no key {KEY}"}}}}"#)),
            FailureClass::Auth,
            "acme answers 401 Unauthorized: no key [key]: the key in ACME_API_KEY is not accepted",
        ),
        (
            json(404, r#"{"message":"nope"}"#),
            FailureClass::Invalid,
            "acme answers 404 Not Found: nope: it has no model `m`, or the base URL URL is wrong",
        ),
        (
            json(400, r#"{"error":{"message":"m does not support tools"}}"#),
            FailureClass::Invalid,
            "acme answers 400 Bad Request: m does not support tools: m cannot call tools, which agents need",
        ),
        (
            json(400, r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#),
            FailureClass::Overflow,
            "acme answers 400 Bad Request: too long",
        ),
        (json(413, ""), FailureClass::Overflow, "acme answers 413 Payload Too Large"),
        (
            json(400, r#"{"error":{"code":"content_filter","message":"no"}}"#),
            FailureClass::Refused,
            "acme answers 400 Bad Request: no",
        ),
        (json(402, "pay"), FailureClass::Quota, "acme answers 402 Payment Required: pay"),
        (
            json(429, r#"{"error":{"code":"insufficient_quota","message":"gone"}}"#),
            FailureClass::Quota,
            "acme answers 429 Too Many Requests: gone",
        ),
        (
            json(422, r#"{"detail":"bad\u0007 field"}"#),
            FailureClass::Invalid,
            "acme answers 422 Unprocessable Entity: bad field",
        ),
        (
            json(308, "").header("location", "http://elsewhere/"),
            FailureClass::Invalid,
            "acme answers 308 Permanent Redirect: the base URL URL leads elsewhere",
        ),
        (
            Reply::events(&[finish("content_filter")], 99),
            FailureClass::Refused,
            "the provider's content filter stopped the answer",
        ),
        (
            Reply::new(200, "text/html", "<!doctype html>\n<title>Hi\u{1b}[2J</title>"),
            FailureClass::Invalid,
            "acme answers with text/html instead of a stream of events: `<!doctype html> <title>Hi[2J</title>`; is the base URL URL right?",
        ),
        (
            json(200, r#"{"object":"list"}"#),
            FailureClass::Invalid,
            "acme answers with json instead of a stream of events: `{\"object\":\"list\"}`; is the base URL URL right?",
        ),
    ];
    for (reply, class, message) in cases {
        let server = Loopback::start(vec![reply]).await;
        let events = asked(&server).await;
        let failure = end(&events).unwrap_err();
        let told = failure.message.replace(&server.url, "URL");
        assert_eq!((failure.class, told.as_str(), events.len()), (class, message, 1));
    }
}

#[test]
async fn an_answer_without_end_is_cut() {
    let word = delta(&json!({ "content": "x".repeat(1000) }));
    let server = Loopback::start(vec![Reply::events(&vec![word; 3000], 60_000)]).await;
    let events = asked(&server).await;
    let message = end(&events).unwrap();
    assert_eq!((message.text().len(), message.stop_reason), (2 << 20, StopReason::Length));
    assert_eq!((message.usage.output, message.usage.cost), (1 << 19, None));
    let call =
        |at: usize| delta(&json!({ "tool_calls": [{ "index": at, "function": { "name": "x" } }] }));
    let calls: Vec<_> = (0..200).map(call).collect();
    let server = Loopback::start(vec![Reply::events(&calls, 60_000)]).await;
    let events = asked(&server).await;
    let message = end(&events).unwrap();
    assert_eq!((message.calls().count(), message.stop_reason), (128, StopReason::Length));
}

#[test]
async fn an_answer_that_comes_whole_has_an_end_or_is_none() {
    let long = format!("{{\"choices\":[{}", " ".repeat(9 << 20));
    let server = Loopback::start(vec![Reply::new(200, "application/json", &long)]).await;
    let events = asked(&server).await;
    let failure = end(&events).unwrap_err();
    assert_eq!(failure.class, FailureClass::Invalid);
    assert!(failure.message.contains("longer than"), "{}", failure.message);
}

#[test]
async fn a_server_that_does_not_hang_up_has_still_answered() {
    test_limit::waits("the usage may follow for two seconds");
    let stream = format!("data: {}\n\ndata: {}\n\n", hello()[0], hello()[1]);
    let reply = Reply::bytes(stream.as_bytes(), 99).then(ReplyEnd::Silent);
    let server = Loopback::start(vec![reply]).await;
    let events = asked(&server).await;
    assert_eq!(end(&events).unwrap().text(), "hello");
}

#[test]
async fn what_a_server_sends_on_after_a_whole_answer_is_read_for_a_limited_time_only() {
    let chunk = async |deadline| {
        let body = ResponseBody::new(axum::http::Response::new("data: more").into());
        let parser = BodyParser::new("text/event-stream", Api::OpenAiCompletions.parser());
        Reading { body, parser, deadline }.chunk().await.unwrap()
    };
    let more = Some(Bytes::from_static(b"data: more"));
    assert_eq!(chunk(None).await, more);
    assert_eq!(chunk(Some(Instant::now() + Duration::from_secs(99))).await, more);
    assert_eq!(chunk(Some(Instant::now())).await, None, "though there is more to read");
}

#[test]
async fn nobody_there_is_tried_again_and_then_said() {
    let (_closed, url) = closed();
    let events = asked_for(&url, "acme/m", request(vec![user("Do it.")])).await;
    assert_eq!(retries(&events).len(), 3);
    let failure = end(&events).unwrap_err();
    assert_eq!(failure.class, FailureClass::Transient);
    let message = format!("acme at {url} cannot be reached: Connection refused");
    assert_eq!(failure.message, format!("{message}; it was asked 4 times"));
}

#[test]
async fn one_connection_serves_one_turn_after_another() {
    let server = Loopback::start(vec![Reply::events(&hello(), 20).then(ReplyEnd::Late)]).await;
    let catalogue = crate::test_support::catalogue();
    let route = ModelRoute {
        base_url: Some(server.url.clone()),
        ..ModelRoute::from_str("acme/m").unwrap()
    };
    // On a busy machine a server may be slow to end what it has said, and the turn after it needs
    // a connection of its own. Who never waits for the end needs one each time.
    let (mut turns, mut again) = (0, 0);
    while again < 5 {
        assert!(turns < 500, "{turns} turns, {again} of them on a connection that was there");
        let model = catalogue.open(&route).unwrap();
        assert!(end(&ask(model, request(vec![user("x")])).await).is_ok());
        let ports: BTreeSet<_> = server.seen().iter().map(|seen| seen.port).collect();
        turns += 1;
        again = server.seen().len() - ports.len();
    }
    assert_eq!(server.seen().len(), turns);
}

#[test]
async fn whatever_a_server_sends_there_is_one_end() {
    let bit = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(format!("data: {}\n\n", hello()[0]).into_bytes()),
        Just(format!("data: {}\n\n", hello()[1]).into_bytes()),
        Just(b"data: [DONE]\n\n".to_vec()),
        Just(b"{\"choices\":[{\"message\":".to_vec()),
        Just(b"event: error\ndata: {\"message\":\"x\"}\n\n".to_vec()),
        Just(b"<html>".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    let kind = prop_oneof![Just("text/event-stream"), Just("application/json"), Just("a\u{e4}")];
    let status = prop_oneof![6 => Just(200_u16), 1 => 200_u16..=599];
    let reply = (status, kind, proptest::collection::vec(bit, 0..8), 1_usize..30);
    let mut runner = TestRunner::deterministic();
    for _case in 0..test_limit::by_depth(15, 60) {
        let (status, kind, bits, size) = reply.new_tree(&mut runner).unwrap().current();
        let bytes = bits.concat();
        let chunks = bytes.chunks(size).map(<[u8]>::to_vec).collect();
        let reply = Reply { chunks, ..Reply::new(status, kind, "") };
        let server = Loopback::start(vec![reply]).await;
        let events = asked(&server).await;
        let ends = events
            .iter()
            .filter(|event| matches!(event, Observed::Ended(_) | Observed::Failed { .. }));
        assert_eq!(ends.count(), 1, "{:?}", String::from_utf8_lossy(&bytes));
        let _last = end(&events);
    }
}
