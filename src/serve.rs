//! The pages for machines: `/metrics`, `/healthz` and `/readyz`.
//!
//! In: an address, and whoever knows what is on the pages. Out: answers to GET. At most [`CONNECTIONS`] at once, each for at most
//! [`PATIENCE`]. Never here: anything that changes something; what is on a page.

use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Connections at once: a scraper and the probes need few.
const CONNECTIONS: usize = 32;

/// How long a connection lives, however busy it is.
const PATIENCE: Duration = Duration::from_secs(30);

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// For example 200.
    pub status: StatusCode,
    /// The content type.
    pub kind: &'static str,
    /// What is on it.
    pub text: String,
}

impl Answer {
    /// A text for people.
    pub fn plain(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", text: text.into() }
    }
}

/// Whoever knows what is on the pages, by path and query; nothing for an unknown path.
pub type Pages = Arc<dyn Fn(&str, Option<&str>) -> Option<Answer> + Send + Sync>;

/// Opens the address, and gives what was opened (a port of 0 becomes a free one).
///
/// # Errors
/// The address cannot be had.
pub async fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Serves until it is dropped.
pub async fn serve(listener: TcpListener, pages: Pages) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let pages = Arc::clone(&pages);
                tokio::spawn(async move {
                    drop(timeout(PATIENCE, connection(stream, pages)).await);
                    drop(place);
                });
            }
            Err(error) => {
                // Of this process as a whole, for example too many open files: it may pass.
                tracing::warn!(%error, "a connection for metrics or probes cannot be accepted");
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, pages: Pages) {
    let service = service_fn(move |request: Request<Incoming>| {
        let uri = request.uri();
        let answer = answer(&pages, request.method(), uri.path(), uri.query());
        async move { Ok::<_, Infallible>(answer) }
    });
    // Whoever asked went away.
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}

fn answer(
    pages: &Pages,
    method: &Method,
    path: &str,
    query: Option<&str>,
) -> Response<Full<Bytes>> {
    let answer = match pages(path, query) {
        None => Answer::plain(StatusCode::NOT_FOUND, "there are /metrics, /healthz and /readyz\n"),
        Some(_) if !matches!(*method, Method::GET | Method::HEAD) => {
            Answer::plain(StatusCode::METHOD_NOT_ALLOWED, "this can only be read\n")
        }
        Some(answer) => answer,
    };
    let mut response = Response::new(Full::from(answer.text));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(answer.kind));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    async fn ask(address: SocketAddr, head: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(format!("{head}\r\nhost: a\r\nconnection: close\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn pages_are_read_and_nothing_else_is_done_with_them() {
        let pages: Pages = Arc::new(|path, query| {
            (path == "/a").then(|| Answer::plain(StatusCode::OK, format!("{query:?}")))
        });
        let (listener, address) = listen(([127, 0, 0, 1], 0).into()).await.unwrap();
        let server = tokio::spawn(serve(listener, pages));
        let text = ask(address, "GET /a?verbose HTTP/1.1").await;
        assert!(text.starts_with("HTTP/1.1 200 ") && text.ends_with("Some(\"verbose\")"), "{text}");
        assert!(text.contains("content-type: text/plain"), "{text}");
        assert!(ask(address, "HEAD /a HTTP/1.1").await.ends_with("\r\n\r\n"), "no body");
        assert!(ask(address, "POST /a HTTP/1.1").await.starts_with("HTTP/1.1 405 "));
        assert!(ask(address, "GET /b HTTP/1.1").await.starts_with("HTTP/1.1 404 "));
        server.abort();
    }

    #[tokio::test]
    async fn more_connections_than_there_are_places_wait() {
        let pages: Pages = Arc::new(|_, _| Some(Answer::plain(StatusCode::OK, "yes")));
        let (listener, address) = listen(([127, 0, 0, 1], 0).into()).await.unwrap();
        let server = tokio::spawn(serve(listener, pages));
        let mut idle = Vec::new();
        for _ in 0..CONNECTIONS {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        let waiting = tokio::spawn(async move { ask(address, "GET / HTTP/1.1").await });
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!waiting.is_finished());
        idle.pop();
        assert!(timeout(Duration::from_secs(5), waiting).await.unwrap().unwrap().ends_with("yes"));
        server.abort();
    }
}
