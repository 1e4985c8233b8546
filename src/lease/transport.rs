//! A client whose connections live in one term.
//!
//! In: where the API server is, and the gate. Out: a client that writes not a byte without a lease. Each connection is made in
//! a term and belongs to it: before every write to its socket the gate is asked, by the boot clock, and it is closed as
//! soon as the term is over, whatever is under way. So a process that was stopped and wakes past its lease does no harm,
//! wherever it was stopped. Never here: retries.
//!
//! It stands below TLS, since a request may wait for a connection, a handshake or a full socket after anybody above has
//! looked at the clock.

use super::gate::{Gate, Term};
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpStream;
use tower::{BoxError, Layer, Service, ServiceExt};

/// A client for what only a leader may send. Without a term its requests fail at once.
///
/// # Errors
/// The configuration has certificates or headers that cannot be used.
pub fn guarded(config: &Config, gate: &Arc<Gate>) -> Result<Client, kube::Error> {
    let mut tcp = HttpConnector::new();
    // It is below TLS and sees `https` addresses.
    tcp.enforce_http(false);
    tcp.set_connect_timeout(config.connect_timeout);
    tcp.set_nodelay(true);
    let connector = Connector { tcp, gate: Arc::clone(gate) };
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let client: legacy::Client<_, Body> =
        legacy::Builder::new(TokioExecutor::new()).build(connector);
    let service = config.extra_headers_layer()?.layer(client.map_err(BoxError::from));
    let service = tower::util::option_layer(config.auth_layer()?).layer(service);
    let service = config.base_uri_layer().layer(service);
    Ok(Client::new(service, config.default_namespace.clone()))
}

/// Makes connections, each in the term that runs.
#[derive(Clone)]
struct Connector {
    tcp: HttpConnector,
    gate: Arc<Gate>,
}

impl Service<Uri> for Connector {
    type Response = Guarded;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Guarded, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (tcp, gate) = (self.tcp.clone(), Arc::clone(&self.gate));
        Box::pin(async move {
            let term = gate.term().ok_or_else(over)?;
            let stream = tcp.oneshot(uri).await?;
            let ended = Box::pin(gate.ended(term));
            Ok(Guarded { stream, gate, term, ended })
        })
    }
}

/// A connection of one term.
struct Guarded {
    stream: TokioIo<TcpStream>,
    gate: Arc<Gate>,
    term: Term,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Guarded {
    fn check(&self) -> io::Result<()> {
        if self.gate.permits(self.term) { Ok(()) } else { Err(over()) }
    }
}

fn over() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "this process does not hold the lease")
}

impl Connection for Guarded {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

impl Read for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        // Asked on every call until then, so that it wakes whoever reads now; an idle connection reads too.
        if self.ended.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(over()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}

#[cfg(test)]
mod tests;
