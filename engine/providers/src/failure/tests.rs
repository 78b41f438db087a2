use super::*;
use crate::api::Api;
use crate::endpoint::ApiKey;
use crate::test_support::{self, noon};

fn endpoint() -> Endpoint {
    let key = ApiKey::new("sk-sekret-0123456789");
    Endpoint { key, ..test_support::endpoint(Api::OpenAiCompletions) }
}

fn judged(status: u16, body: &str) -> FailureClass {
    let status = StatusCode::from_u16(status).unwrap();
    let refusal = ErrorResponse { status, wait: None, body, request_bytes: 10 };
    refused(&endpoint(), &refusal, noon()).failure.class
}

#[test]
fn a_conversation_that_does_not_fit_is_known_by_its_words() {
    for words in [
        "prompt is too long: 9 tokens",
        "Input is too long for requested model.",
        "Your input exceeds the context window of this model",
        "The input token count (9) exceeds the maximum number of tokens allowed",
        "This model's maximum prompt length is 9",
        "Please reduce the length of the messages",
        "This model's maximum context length is 9 tokens",
        "the request exceeds the limit of 9",
        "the request exceeds the available context size (4096)",
        "tokens to keep is greater than the context length",
        "context window exceeds limit",
        "exceeded model token limit",
        "{\"error\":{\"code\":\"context_length_exceeded\"}}",
        "too many tokens",
        "token limit exceeded",
        "request_too_large",
        "request exceeds the maximum size",
        "Payload Too Large",
        "model_context_window_exceeded",
    ] {
        assert_eq!(judged(400, words), FailureClass::Overflow, "{words}");
        // A limit of how much at a time is another thing.
        assert_eq!(judged(429, words), FailureClass::Transient, "{words}");
    }
    assert_eq!(judged(400, "this exceeds the limit of good taste"), FailureClass::Invalid);
}

#[test]
fn the_status_decides_before_the_words() {
    let cases = [
        (400, FailureClass::Invalid),
        (401, FailureClass::Auth),
        (402, FailureClass::Quota),
        (403, FailureClass::Auth),
        (404, FailureClass::Invalid),
        (405, FailureClass::Invalid),
        (408, FailureClass::Transient),
        (413, FailureClass::Overflow),
        (422, FailureClass::Invalid),
        (429, FailureClass::Transient),
        (500, FailureClass::Transient),
        (503, FailureClass::Transient),
        (529, FailureClass::Transient),
    ];
    for (status, class) in cases {
        assert_eq!(judged(status, "overloaded, timeout, invalid key"), class, "{status}");
        assert_eq!(judged(status, ""), class, "{status}");
    }
}

#[test]
fn without_a_key_it_says_which_one_to_set_or_where_none_is_asked_for() {
    let said = |variable: &str| {
        let endpoint = test_support::endpoint(Api::OpenAiCompletions);
        let endpoint = Endpoint { key: None, variable: variable.to_owned(), ..endpoint };
        let (status, wait) = (StatusCode::UNAUTHORIZED, None);
        let refusal = ErrorResponse { status, wait, body: "", request_bytes: 10 };
        let failure = refused(&endpoint, &refusal, noon()).failure;
        (failure.cause(), failure.advice.map(String::from))
    };
    let needed = "acme answers 401 Unauthorized: it needs an API key";
    let export = Some("try: export ACME_API_KEY=…".to_owned());
    assert_eq!(said("ACME_API_KEY"), (needed.to_owned(), export));
    let nowhere = "`providers.acme.auth: none` in /home/ada/models.yml";
    assert_eq!(said(nowhere), (format!("{needed}, and {nowhere} says to send none"), None));
}

#[test]
fn only_a_limit_of_how_much_at_a_time_is_a_rate_limit() {
    let judged = |status: u16, body: &str| {
        let status = StatusCode::from_u16(status).unwrap();
        let wait = Some(Duration::from_secs(7));
        let failed =
            refused(&endpoint(), &ErrorResponse { status, wait, body, request_bytes: 10 }, noon());
        assert_eq!(failed.wait, wait);
        (failed.cause, failed.failure.detail.is_some())
    };
    assert_eq!(judged(429, "slow down"), (FailureCause::RateLimit, false));
    assert_eq!(judged(429, "insufficient_quota"), (FailureCause::Other, true));
    assert_eq!(judged(503, "overloaded"), (FailureCause::Other, false));
    let told = serde_json::json!({ "code": 429, "message": "x" });
    assert_eq!(in_stream(&endpoint(), &told, noon()).cause, FailureCause::RateLimit);
}

#[test]
fn a_large_request_refused_without_a_word_was_too_large() {
    let status = StatusCode::BAD_REQUEST;
    let refusal = ErrorResponse { status, wait: None, body: "", request_bytes: 200 << 10 };
    let failed = refused(&endpoint(), &refusal, noon());
    assert_eq!(failed.failure.class, FailureClass::Overflow);
}

#[test]
fn errors_come_in_many_shapes_and_are_shown_on_one_line() {
    let cases = [
        ("{\"error\":{\"message\":\"a\\nb\"}}", "a b"),
        ("{\"error\":\"a\"}", "a"),
        ("[{\"error\":{\"message\":\"a\"}}]", "a"),
        ("{\"detail\":\"a\"}", "a"),
        ("{\"detail\":[{\"loc\":1}]}", "{\"detail\":[{\"loc\":1}]}"),
        ("{\"error\":{\"message\":\"a\",\"metadata\":{\"raw\":\"b\"}}}", "a (b)"),
        ("<HTML><title>a\u{1b}b</title>", "ab"),
        ("<html><body>x", "a page of HTML"),
        ("\u{130}<html><title>a</title>", "a"),
        ("plain", "plain"),
        ("", ""),
    ];
    for (body, expected) in cases {
        let status = StatusCode::BAD_GATEWAY;
        let refusal = ErrorResponse { status, wait: None, body, request_bytes: 0 };
        let failed = refused(&endpoint(), &refusal, noon());
        let message = failed.failure.message;
        let told = message.strip_prefix("acme answers 502 Bad Gateway").unwrap();
        assert_eq!(told.trim_start_matches(": "), expected, "{body}");
    }
    let long = "x".repeat(100_000);
    let status = StatusCode::BAD_GATEWAY;
    let refusal = ErrorResponse { status, wait: None, body: &long, request_bytes: 0 };
    let failed = refused(&endpoint(), &refusal, noon());
    assert!(failed.failure.message.len() < 500);
}

#[test]
fn a_model_without_tools_is_known_by_its_words() {
    for (status, words) in [
        (400, "registry.ollama.ai/library/x:latest does not support tools"),
        (404, "No endpoints found that support tool use"),
        (400, "\"auto\" tool choice requires --enable-auto-tool-choice"),
        (500, "tools param requires --jinja flag"),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let refusal = ErrorResponse { status, wait: None, body: words, request_bytes: 10 };
        let failure = refused(&endpoint(), &refusal, noon()).failure;
        assert_eq!(failure.class, FailureClass::Invalid, "{words}");
        assert!(failure.message.contains("cannot call tools"), "{}", failure.message);
    }
}

#[test]
fn an_error_in_the_stream_is_judged_by_its_code_else_it_may_pass() {
    let judged = |error: Value| in_stream(&endpoint(), &error, noon()).failure.class;
    assert_eq!(judged(serde_json::json!({ "code": 429, "message": "x" })), FailureClass::Transient);
    assert_eq!(judged(serde_json::json!({ "code": "402", "message": "x" })), FailureClass::Quota);
    assert_eq!(judged(serde_json::json!({ "code": 401 })), FailureClass::Auth);
    let overflow = serde_json::json!({ "code": "context_length_exceeded", "message": "x" });
    assert_eq!(judged(overflow), FailureClass::Overflow);
    for odd in [serde_json::json!("x"), serde_json::json!({ "code": 7 }), serde_json::json!([1])] {
        assert_eq!(judged(odd), FailureClass::Transient);
    }
}

#[test]
fn where_one_status_means_many_things_the_words_decide() {
    let cases = [
        (400, "Incorrect API key provided: x", FailureClass::Auth),
        (400, "{\"error\":{\"code\":\"tool_use_failed\"}}", FailureClass::Transient),
        (400, "{\"error\":{\"code\":\"content_filter\"}}", FailureClass::Refused),
        (403, "your input was flagged", FailureClass::Refused),
        (500, "{\"code\":\"content_filter\"}", FailureClass::Refused),
        (403, "insufficient credits", FailureClass::Quota),
        (403, "Key limit exceeded (monthly limit).", FailureClass::Quota),
        (403, "Your newly created team doesn't have any credits", FailureClass::Quota),
        (400, "You have reached your specified API usage limits.", FailureClass::Quota),
        (403, "Content violates usage guidelines.", FailureClass::Refused),
        (403, "unsupported_country_region_territory", FailureClass::Auth),
        (400, "User location is not supported for the API use.", FailureClass::Auth),
        (403, "Your API key does not have permission to use the model", FailureClass::Auth),
        (429, "You exceeded your current quota, please check your plan", FailureClass::Quota),
        (429, "flagged", FailureClass::Transient),
    ];
    for (status, words, class) in cases {
        assert_eq!(judged(status, words), class, "{status} {words}");
    }
}

#[test]
fn the_errors_of_every_api_have_their_class_in_a_stream() {
    let judged = |error: &str| {
        in_stream(&endpoint(), &serde_json::from_str(error).unwrap(), noon()).failure.class
    };
    let cases = [
        (r#"{"type":"overloaded_error","message":"x"}"#, FailureClass::Transient),
        (r#"{"type":"rate_limit_error","message":"x"}"#, FailureClass::Transient),
        (r#"{"type":"authentication_error","message":"x"}"#, FailureClass::Auth),
        (r#"{"type":"permission_error","message":"x"}"#, FailureClass::Auth),
        (r#"{"type":"invalid_request_error","message":"x"}"#, FailureClass::Invalid),
        (r#"{"type":"not_found_error","message":"x"}"#, FailureClass::Invalid),
        (r#"{"type":"request_too_large","message":"x"}"#, FailureClass::Overflow),
        (
            r#"{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8"}"#,
            FailureClass::Overflow,
        ),
        (r#"{"type":"billing_error","message":"x"}"#, FailureClass::Quota),
        (r#"{"type":"api_error","message":"x"}"#, FailureClass::Transient),
        (r#"{"code":"server_error","message":"x"}"#, FailureClass::Transient),
        (r#"{"code":"rate_limit_exceeded","message":"x"}"#, FailureClass::Transient),
        (r#"{"code":"insufficient_quota","message":"x"}"#, FailureClass::Quota),
        (r#"{"code":"invalid_prompt","message":"x"}"#, FailureClass::Invalid),
        (r#"{"code":"context_length_exceeded","message":"x"}"#, FailureClass::Overflow),
        (r#"{"code":503,"status":"UNAVAILABLE","message":"x"}"#, FailureClass::Transient),
        (r#"{"status":"PERMISSION_DENIED","message":"x"}"#, FailureClass::Auth),
        (r#"{"status":"INVALID_ARGUMENT","message":"x"}"#, FailureClass::Invalid),
        ("null", FailureClass::Transient),
    ];
    for (error, class) in cases {
        assert_eq!(judged(error), class, "{error}");
    }
}

#[test]
fn googles_limit_per_minute_passes_and_its_limit_per_day_does_not() {
    let judged = |metric: &str, wait: Option<Duration>| {
        let info = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}"#;
        let quota = format!(r#"{{"violations":[{{"quotaId":"{metric}"}}]}}"#);
        let message = "You exceeded your current quota";
        let body = format!(
            r#"{{"error":{{"code":429,"message":"{message}","details":[{quota},{info}]}}}}"#
        );
        let status = StatusCode::TOO_MANY_REQUESTS;
        let refusal = ErrorResponse { status, wait, body: &body, request_bytes: 10 };
        refused(&endpoint(), &refusal, noon()).failure.class
    };
    let wait = Some(Duration::from_secs(7));
    assert_eq!(judged("GenerateRequestsPerMinutePerProject", wait), FailureClass::Transient);
    assert_eq!(judged("GenerateRequestsPerDayPerProject", wait), FailureClass::Quota);
    assert_eq!(judged("GenerateRequestsPerMinutePerProject", None), FailureClass::Quota);
}

#[test]
fn what_a_proxy_answers_in_place_of_the_server_names_the_proxy() {
    let proxy = UsedProxy::of_file("http://p:1");
    let base = url::Url::parse("http://h/v1").unwrap();
    let endpoint = Endpoint { proxy, base, ..endpoint() };
    let answered = |status: u16| {
        let status = StatusCode::from_u16(status).unwrap();
        let refusal = ErrorResponse { status, wait: None, body: "no", request_bytes: 10 };
        refused(&endpoint, &refusal, noon()).failure.message
    };
    assert!(answered(407).starts_with("the proxy http://p:1 in `proxyUrl` asks for a user"));
    assert!(answered(502).ends_with("no: it came through the proxy http://p:1 in `proxyUrl`"));
    assert!(!answered(500).contains("proxy"));
}
