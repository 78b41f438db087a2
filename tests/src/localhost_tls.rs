//! A server with a certificate in front of one without: what is sent to it is passed on.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The certificate of the authority that the server's is from.
pub const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tls/authority.pem");

const CERTIFICATE: &[u8] = include_bytes!("../fixtures/tls/server.pem");
const KEY: &[u8] = include_bytes!("../fixtures/tls/server-key.pem");

/// Listens with the certificate of `localhost`, and passes each request on to `target`. It does so until
/// the process ends. Returns its port.
///
/// # Panics
/// When the loopback cannot be listened on.
#[must_use]
pub fn tls_in_front_of(target: SocketAddr) -> u16 {
    let chain = CertificateDer::pem_slice_iter(CERTIFICATE).collect::<Result<Vec<_>, _>>();
    let key = PrivateKeyDer::from_pem_slice(KEY).expect("it is a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_no_client_auth()
        .with_single_cert(chain.expect("they are certificates"), key)
        .expect("the key is that of the certificate");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
    let port = listener.local_addr().expect("it has one").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            // A client that does not trust the certificate ends the connection.
            std::thread::spawn(move || drop(pass_on(stream, config, target)));
        }
    });
    port
}

/// Passes one request on, and its response back.
fn pass_on(stream: TcpStream, config: Arc<ServerConfig>, target: SocketAddr) -> io::Result<()> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut client = StreamOwned::new(connection, stream);
    let mut server = TcpStream::connect(target)?;
    let (head, body) = request(&mut client)?;
    server.write_all(head.replacen("\r\n", "\r\nconnection: close\r\n", 1).as_bytes())?;
    server.write_all(&body)?;
    io::copy(&mut server, &mut client)?;
    client.conn.send_close_notify();
    client.flush()
}

/// Reads a request: its head with the empty line, and its body.
fn request(client: &mut impl Read) -> io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            let begin = head.len() + 4;
            if bytes.len() >= begin + length.unwrap_or(0) {
                return Ok((format!("{head}\r\n\r\n"), bytes.split_off(begin)));
            }
        }
        match client.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => bytes.extend_from_slice(&piece[..read]),
        }
    }
}
