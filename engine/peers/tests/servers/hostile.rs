//! Hostile servers: each ends with a clear error or works, in bounded time.

use std::time::Duration;

use tests::mcp::{HttpBehaviour, HttpMcpServer, StdioBehaviour};
use tokio::task::JoinSet;

use crate::harness::{PATIENCE, drive, over_http, program};

/// What each well-behaved server does with [`drive`], but for its revision.
const WORKS: &str = ": die echo fail steps wait: hi";

/// How long a server that is silent is waited for.
const SHORT: Duration = Duration::from_millis(300);

#[test]
async fn a_program_that_is_odd_works() {
    use StdioBehaviour as Is;
    let old = format!("2025-06-18{WORKS}");
    let new = format!("2026-07-28{WORKS}");
    let mut driven = JoinSet::new();
    for (behaviour, expected) in [
        (Is::Well, &old[..]),
        (Is::Newest, &new),
        (Is::NewestExits, &new),
        (Is::NewestEmpty, &new),
        (Is::StderrFlood, &old),
        (Is::DoubleIds, &old),
        (Is::Noise, &old),
        (Is::Deaf, &old),
        (Is::Grandchild, &old),
        (Is::AnsiNames, "2025-06-18: die echo steps wait: hi"),
        (Is::DeepSchema, "2025-06-18: die echo steps wait: hi"),
    ] {
        let (definition, expected) = (program(behaviour), expected.to_owned());
        driven.spawn(async move {
            (format!("{behaviour:?}"), drive(definition, PATIENCE).await, expected)
        });
    }
    check(driven).await;
}

#[test]
async fn a_program_that_is_hostile_ends_with_a_clear_error() {
    use StdioBehaviour as Is;
    let mut driven = JoinSet::new();
    for (behaviour, kind, expected) in [
        (
            Is::WrongRevision,
            "NoAnswer",
            "speaks revision 1999-01-01 of MCP, which is not supported",
        ),
        (Is::Silent, "NoAnswer", "did not answer the first request within 300ms"),
        (
            Is::Exits,
            "NoAnswer",
            "ended with exit code 3; its standard error ends with:\ncannot find API_KEY\nit got only the environment variables that every server gets and those in `env` of its entry in mcp.json:3",
        ),
        (
            Is::ExitsInCall,
            "NoAnswer",
            "ended with exit code 7; its standard error ends with:\nit is all over",
        ),
        (Is::Flood, "NoAnswer", "sent a message of more than 16 MB"),
        (Is::WrongIds, "NoAnswer", "answered the first request under a wrong id"),
        (Is::EndlessPages, "NoAnswer", "has endless pages in its list of tools"),
        (Is::RepeatedPage, "NoAnswer", "repeats a page of its list of tools"),
        (Is::ManyTools, "NoAnswer", "has more than 10,000 entries in its list of tools"),
        (Is::DeepJson, "NoAnswer", "sent JSON that is nested too deeply"),
        (Is::AsksAndAsks, "NoAnswer", "does not read what it is sent"),
        (Is::AnsiError, "Answered(7)", "answered with error 7: no way"),
    ] {
        let mut definition = program(behaviour);
        if behaviour == Is::Silent {
            definition.timeout = SHORT;
        }
        let expected = format!("{kind}: MCP server `box` {expected}");
        driven.spawn(async move {
            (format!("{behaviour:?}"), drive(definition, PATIENCE).await, expected)
        });
    }
    check(driven).await;
}

#[test]
async fn a_server_over_http_that_behaves_badly_ends_with_a_clear_error_or_works() {
    use HttpBehaviour as Is;
    let elsewhere = HttpMcpServer::start(Is::Newest).await.unwrap();
    let to = elsewhere.url.clone();
    let origin = to.trim_end_matches("/mcp").to_owned();
    let (old, new) = (format!("2025-06-18{WORKS}"), format!("2026-07-28{WORKS}"));
    let oldest = format!("2024-11-05{WORKS}");
    let redirected =
        format!("NoAnswer: MCP server `box` redirects to {origin}: set `url` to where it is now");
    let wanted = format!(
        "NoAnswer: MCP server `box` wants messages at {origin}, which is another origin than that of its `url`"
    );
    let mut driven = JoinSet::new();
    for (behaviour, expected) in [
        (Is::Newest, &new[..]),
        (Is::Session, &old),
        (Is::Events, &old),
        (Is::SilentDiscover, &old),
        (Is::RedirectWithin, &old),
        (Is::SessionEnds, &old),
        (Is::LegacyStream, &oldest),
        (Is::LegacyElsewhere(to.clone()), &wanted),
        (Is::Silent, "NoAnswer: MCP server `box` did not answer the first request within 300ms"),
        (Is::Status(401), "Unauthorized: MCP server `box` wants a login (HTTP 401)"),
        (Is::Challenge, "Unauthorized: MCP server `box` wants a login (HTTP 401)"),
        (
            Is::Status(403),
            "Unauthorized: MCP server `box` does not allow it with this login (HTTP 403)",
        ),
        (Is::Status(404), "NoAnswer: MCP server `box` answered with HTTP 404: no"),
        (Is::Status(503), "NoAnswer: MCP server `box` answered with HTTP 503"),
        (Is::Html, "NoAnswer: MCP server `box` answered with text/html instead of JSON"),
        (
            Is::NoMessage,
            "NoAnswer: MCP server `box` answered with something that is not a message of MCP",
        ),
        (Is::Redirect(to), &redirected),
        (Is::CutCall, "NoAnswer: MCP server `box` cannot be reached: "),
        (Is::EndlessEvents, "NoAnswer: MCP server `box` did not answer within 300ms"),
        (Is::LongAnswer, "NoAnswer: MCP server `box` sent a message of more than 16 MB"),
    ] {
        let server = HttpMcpServer::start(behaviour.clone()).await.unwrap();
        let mut definition = over_http(&server.url);
        match behaviour {
            Is::Silent => definition.timeout = SHORT,
            Is::SilentDiscover => {
                (definition.timeout, definition.startup_timeout) = (SHORT, PATIENCE);
            }
            _ => {}
        }
        let timeout = if behaviour == Is::EndlessEvents { SHORT } else { PATIENCE };
        let expected = expected.to_owned();
        driven.spawn(async move {
            let came = drive(definition, timeout).await;
            drop(server);
            (format!("{behaviour:?}"), came, expected)
        });
    }
    check(driven).await;
    assert_eq!(elsewhere.asked(), []);
}

/// Checks that each begins with what is expected.
async fn check(mut driven: JoinSet<(String, String, String)>) {
    let mut wrong = Vec::new();
    while let Some(done) = driven.join_next().await {
        let (behaviour, came, expected) = done.unwrap();
        if !came.starts_with(&expected) {
            wrong.push(format!("{behaviour}: {came}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
