//! HTTPS in front of a server on the loopback, for the name `models.invalid`, and proxies on the way
//! there. What they see is written down.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The authority that has signed the certificate, the certificate, and its key. They are good for
/// nothing else.
const AUTHORITY: &[u8] = include_bytes!("tls/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("tls/server.pem");
const KEY: &[u8] = include_bytes!("tls/server.key");

/// The name that the certificate is for. Only a proxy finds it.
pub const NAME: &str = "models.invalid";

/// Writes down the authority for who is to trust the certificate.
///
/// # Panics
/// When the file cannot be written.
pub fn write_authority(file: &Path) {
    std::fs::write(file, AUTHORITY).expect("a file can be written");
}

/// What a listener on the loopback was sent, one connection after the other.
#[derive(Clone, Debug)]
pub struct Overheard {
    address: SocketAddr,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Overheard {
    /// Listens, and leaves each connection to `serve`, with what it is to write down.
    fn listen(serve: impl Fn(TcpStream, &Self) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port can be had");
        let address = listener.local_addr().expect("it is bound");
        let overheard = Self { address, bytes: Arc::default() };
        let (told, serve) = (overheard.clone(), Arc::new(serve));
        // The thread ends with the process of the tests.
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (told, serve) = (told.clone(), Arc::clone(&serve));
                thread::spawn(move || {
                    let _lost = serve(connection, &told); // who asked notices it
                });
            }
        });
        overheard
    }

    /// Listens, writes everything down and answers nothing.
    #[must_use]
    pub fn only() -> Self {
        Self::listen(|mut connection, told| {
            let mut bytes = [0; 4096];
            loop {
                match connection.read(&mut bytes)? {
                    0 => return Ok(()),
                    read => told.write_down(&bytes[..read]),
                }
            }
        })
    }

    /// Returns where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns everything that was sent so far.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock()).into_owned()
    }

    fn write_down(&self, bytes: &[u8]) {
        self.lock().extend_from_slice(bytes);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns an HTTPS server that passes requests on to `server`, and writes them down as they were
/// before they were encrypted.
///
/// # Panics
/// When the certificate cannot be used.
#[must_use]
pub fn https_to(server: SocketAddr) -> Overheard {
    let _installed = rustls::crypto::ring::default_provider().install_default(); // or there already
    let chain: Vec<_> = CertificateDer::pem_slice_iter(CERTIFICATE).flatten().collect();
    let key = PrivateKeyDer::from_pem_slice(KEY).expect("it is a key");
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key);
    let config = Arc::new(config.expect("the key is that of the certificate"));
    Overheard::listen(move |connection, told| {
        let session = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
        let mut connection = StreamOwned::new(session, connection);
        let request = read_request(&mut connection)?;
        told.write_down(&request);
        let mut server = TcpStream::connect(server)?;
        server.write_all(&only_one(&request))?;
        io::copy(&mut server, &mut connection)?;
        connection.conn.send_close_notify();
        connection.flush()
    })
}

/// Returns a proxy that opens tunnels to `server`, whatever name it is asked for, and writes down what
/// it is sent. It wants these words as its `Proxy-Authorization`, if any.
#[must_use]
pub fn tunnel_to(server: SocketAddr, credentials: Option<&'static str>) -> Overheard {
    Overheard::listen(move |mut connection, told| {
        let head = read_head(&mut connection)?;
        told.write_down(&head);
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let wanted = credentials.map(|words| format!("proxy-authorization: {words}"));
        if wanted.is_some_and(|wanted| !head.contains(&wanted.to_ascii_lowercase())) {
            // It repeats what it was told, as some do.
            let body = head.replace("\r\n", " ");
            let length = body.len();
            let refusal = format!(
                "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
            return connection.write_all(refusal.as_bytes());
        }
        let mut server = TcpStream::connect(server)?;
        connection.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        let (mut back, mut asker) = (server.try_clone()?, connection.try_clone()?);
        thread::spawn(move || {
            let _lost = io::copy(&mut back, &mut asker); // who asked notices it
            let _gone = asker.shutdown(Shutdown::Write);
        });
        let mut bytes = [0; 4096];
        loop {
            match connection.read(&mut bytes)? {
                0 => return server.shutdown(Shutdown::Write),
                read => {
                    told.write_down(&bytes[..read]);
                    server.write_all(&bytes[..read])?;
                }
            }
        }
    })
}

fn read_head(connection: &mut impl Read) -> io::Result<Vec<u8>> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut byte)?;
        head.extend_from_slice(&byte);
    }
    Ok(head)
}

fn read_request(connection: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut request = read_head(connection)?;
    let head = String::from_utf8_lossy(&request).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
    connection.take(length).read_to_end(&mut request)?;
    Ok(request)
}

/// Returns a request that asks for the end of the connection after its answer.
fn only_one(request: &[u8]) -> Vec<u8> {
    let line = request.windows(2).position(|two| two == b"\r\n").map_or(0, |at| at + 2);
    [&request[..line], b"connection: close\r\n", &request[line..]].concat()
}
