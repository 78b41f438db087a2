//! The connections of the server, each of which can be reset.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Has the connection of a request reset where it would be closed.
#[derive(Clone, Debug, Default)]
pub(super) struct ResetSwitch(Arc<AtomicBool>);

impl ResetSwitch {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Connected<IncomingStream<'_, Connections>> for ResetSwitch {
    fn connect_info(stream: IncomingStream<'_, Connections>) -> Self {
        stream.io().reset.clone()
    }
}

/// Where the server listens.
pub(super) struct Connections(TcpListener);

impl Connections {
    /// Listens at a free port of the loopback.
    pub(super) fn listen() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket can be had");
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a port can be had");
        // Hundreds may come at once; whom the queue has no room for comes again a second later.
        Self(socket.listen(4096).expect("a port can be listened on"))
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("a bound socket has an address")
    }
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // A piece must not wait for the acknowledgement of the one before.
        let _slower = stream.set_nodelay(true); // and nothing worse
        (Connection { stream, reset: ResetSwitch::default() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// One connection.
pub(super) struct Connection {
    stream: TcpStream,
    reset: ResetSwitch,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.reset.0.load(Ordering::Relaxed) {
            // A socket that does not linger is closed by a reset.
            self.stream.set_zero_linger().expect("a socket can be told how it is closed");
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
