//! A browser, as far as a login needs one.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// What a server has answered.
#[derive(Clone, Debug)]
pub struct Page {
    /// The status.
    pub status: u16,
    /// Where it sends the browser.
    pub location: Option<String>,
    /// The text.
    pub body: String,
}

/// Gets a page of a server on the loopback, without following a redirect.
///
/// # Panics
/// When there is no such server.
#[must_use]
pub fn get(url: &str) -> Page {
    let rest = url.strip_prefix("http://").expect("it is plain http");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = host.replace("localhost", "127.0.0.1");
    let mut stream = TcpStream::connect(address).expect("somebody listens there");
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it can be asked");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("it answers");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").expect("it is an answer of HTTP");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let location = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    Page { status: status.expect("it has a status"), location, body: body.to_owned() }
}
