use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use super::*;
use crate::test_support::{Loopback, Reply};

fn texts(token_url: &str) -> OauthTexts<'_> {
    OauthTexts {
        authorize_url: Some("https://h/authorize?tenant=1"),
        token_url,
        device_url: None,
        redirect_url: None,
        proxy: None,
    }
}

fn config(texts: OauthTexts<'_>) -> Result<OauthConfig, LoginError> {
    OauthConfig::new(
        texts,
        ("id", Some("canary-secret")),
        &["a".to_owned(), "b".to_owned()],
        PlainHttp::Refused,
    )
}

fn service() -> LoginService {
    LoginService::Oauth(Box::new(config(texts("https://h/token")).unwrap()))
}

#[test]
fn an_address_that_others_could_read_or_that_is_none_is_refused() {
    assert!(config(texts("http://127.0.0.1:1/token")).is_ok());
    for token in ["http://h/token", "ftp://h/token", "https://ada:canary@h/token", "h/token", ""] {
        let error = config(texts(token)).unwrap_err().to_string();
        assert!(!error.contains("canary"), "{error}");
    }
    let secret = OauthConfig::new(texts("http://h/token"), ("id", None), &[], PlainHttp::Allowed);
    assert!(!format!("{:?}", secret.unwrap()).contains("canary"));
    for redirect in ["https://localhost/", "http://h/", "http://localhost/?a", "localhost"] {
        let texts = OauthTexts { redirect_url: Some(redirect), ..texts("https://h/token") };
        assert!(matches!(config(texts), Err(LoginError::Config(_))), "{redirect}");
    }
}

#[test]
async fn the_page_asks_for_a_code_that_only_this_login_can_exchange() {
    let service = service();
    let listener = RedirectListener::bind(&service).await.unwrap();
    let [one, other] =
        [(); 2].map(|()| BrowserLogin::begin(&service, listener.port()).unwrap().url().to_owned());
    let url = Url::parse(&one).unwrap();
    let find = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value);
        found.unwrap_or_default().into_owned()
    };
    assert_eq!((find("tenant"), find("response_type")), ("1".to_owned(), "code".to_owned()));
    assert_eq!((find("client_id"), find("scope")), ("id".to_owned(), "a b".to_owned()));
    assert_eq!(find("code_challenge_method"), "S256");
    assert!(find("redirect_uri").starts_with("http://127.0.0.1:"), "{one}");
    assert!(find("code_challenge").len() == 43 && find("state").len() >= 22, "{one}");
    assert!(!one.contains("canary") && one != other, "{one}");
}

#[test]
async fn what_is_pasted_is_the_end_of_this_login_or_an_error() {
    let service = service();
    let listener = RedirectListener::bind(&service).await.unwrap();
    let login = BrowserLogin::begin(&service, listener.port()).unwrap();
    let page = Url::parse(login.url()).unwrap();
    let find = |name: &str| page.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    let (redirect, state) = (find("redirect_uri"), find("state"));
    let pasted = |query: &str| login.code_of_pasted(&format!(" {redirect}?{query}\n"));
    assert_eq!(pasted(&format!("code=a%2Fb&state={state}")), Ok("a/b".to_owned()));
    for query in ["code=x&state=other", "error=denied&state=other", "code=x", ""] {
        assert!(matches!(pasted(query), Err(LoginError::State(_))), "{query}");
    }
    let no_code = pasted(&format!("code=&state={state}"));
    assert!(matches!(no_code, Err(LoginError::NotTheAddress(_))));
    let denied = LoginError::Denied("denied: no[31m way".to_owned());
    let text = format!("error=denied&error_description=no%1b[31m%0away&state={state}");
    assert_eq!(pasted(&text), Err(denied.clone()));
    assert_eq!(pasted("error=denied"), Err(LoginError::Denied("denied".to_owned())));
    for text in ["", "code", &"x".repeat(10_000)] {
        assert!(matches!(login.code_of_pasted(text), Err(LoginError::NotTheAddress(_))), "{text}");
    }
}

#[test]
async fn a_connection_that_is_no_browser_ends_no_login() {
    let service = service();
    let listener = RedirectListener::bind(&service).await.unwrap();
    let login = BrowserLogin::begin(&service, listener.port()).unwrap();
    let port = listener.port();
    let state = Url::parse(login.url()).unwrap();
    let state = state.query_pairs().find(|(key, _)| key == "state").unwrap().1.into_owned();
    let ask = async {
        let mut idle = Vec::new();
        for request in [
            String::new(),
            "\r\n\r\n".to_owned(),
            "POST /callback?code=x HTTP/1.1\r\n\r\n".to_owned(),
            "GET http://elsewhere/callback?code=x HTTP/1.1\r\n\r\n".to_owned(),
            "GET //elsewhere/callback?code=x HTTP/1.1\r\n\r\n".to_owned(),
            format!("GET /callback?{} HTTP/1.1\r\n\r\n", "x".repeat(40_000)),
            format!("GET /callback?code=y&state={state} HTTP/1.1\r\n\r\n"),
        ] {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            if request.is_empty() {
                idle.push(stream);
            } else {
                // It may close the connection before it has read everything.
                let _closed = stream.read_to_end(&mut Vec::new()).await;
            }
        }
    };
    let (code, ()) = tokio::join!(listener.code(&login), ask);
    assert_eq!(code, Ok("y".to_owned()));
}

#[test]
async fn a_port_that_is_taken_is_named() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    let redirect = format!("http://localhost:{port}/done");
    let texts = OauthTexts { redirect_url: Some(&redirect), ..texts("https://h/token") };
    let service = LoginService::Oauth(Box::new(config(texts).unwrap()));
    let Err(LoginError::Port { port: named, .. }) = RedirectListener::bind(&service).await else {
        panic!("the port is taken")
    };
    assert_eq!(named, port);
}

#[test]
async fn whatever_a_server_answers_is_one_error_without_a_secret() {
    let json = "application/json";
    let refused =
        r#"{"error":"invalid_client","error_description":"no canary-secret canary-refresh"}"#;
    for (status, kind, body, told) in [
        (400, json, refused.to_owned(), "refused: invalid_client: no [secret] [secret]"),
        (401, "text/html", "<p>canary-refresh".to_owned(), "does not answer as an OAuth server"),
        (200, json, "{\"access_token\":\"canary-refresh\"}".to_owned(), "does not answer as an"),
        (200, "text/plain", "{}".to_owned(), "does not answer as an OAuth server"),
        (200, json, "[".repeat(100_000), "does not answer as an OAuth server"),
        (200, json, " ".repeat(300_000), "answers with more than"),
        (302, json, String::new(), "answers with a redirect"),
        (500, json, String::new(), "does not answer as an OAuth server"),
    ] {
        let server = Loopback::start(vec![Reply::new(status, kind, &body)]).await;
        let error =
            renewed(&config(texts(&server.url)).unwrap(), "canary-refresh").await.unwrap_err();
        let error = error.to_string();
        assert!(error.contains(told) && !error.contains("canary"), "{status} {kind}: {error}");
    }
}

#[test]
async fn a_device_code_with_hostile_numbers_or_pages_is_refused() {
    for (body, told) in [
        (r#""verification_uri":"https://h/","interval":18446744073709551615"#, "once a minute"),
        (r#""verification_uri":"file:///etc/passwd""#, "no page"),
        (r#""verification_uri":"https://h/","verification_uri_complete":"-x""#, "no page"),
    ] {
        let body = format!(r#"{{"device_code":"d","user_code":"u","expires_in":5,{body}}}"#);
        let server = Loopback::start(vec![Reply::new(200, "application/json", &body)]).await;
        let texts = OauthTexts { device_url: Some(&server.url), ..texts(&server.url) };
        let service = LoginService::Oauth(Box::new(config(texts).unwrap()));
        let Err(error) = DeviceLogin::begin(&service).await else { panic!("{told}") };
        assert!(error.to_string().contains(told), "{error}");
    }
    let body = r#"{"device_code":"d","user_code":"u","expires_in":18446744073709551615,
        "verification_uri":"https://h/"}"#;
    let server = Loopback::start(vec![Reply::new(200, "application/json", body)]).await;
    let texts = OauthTexts { device_url: Some(&server.url), ..texts(&server.url) };
    let service = LoginService::Oauth(Box::new(config(texts).unwrap()));
    let login = DeviceLogin::begin(&service).await.unwrap();
    assert!(login.tokens().await.is_err());
}
