//! An API server that answers as a test tells it to.

use http::{Request, Response};
use http_body::Frame;
use kube::Client;
use kube::client::Body;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// A body that gives what is sent to it, and ends when the sender is dropped.
pub(super) struct Feed(UnboundedReceiver<String>);

impl http_body::Body for Feed {
    type Data = <Body as http_body::Body>::Data;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Infallible>>> {
        let text = self.0.poll_recv(context);
        text.map(|text| text.map(|text| Ok(Frame::data(text.into_bytes().into()))))
    }
}

/// An answer of the server.
pub(super) enum Reply {
    Text(u16, String),
    /// A refusal with a `Retry-After` header.
    Later(u16, u32),
    Stream(Feed),
    /// The request hangs.
    Nothing,
}

pub(super) type Asked = Arc<Mutex<Vec<(Instant, String)>>>;

/// A server that answers as told, and writes down when it was asked what.
pub(super) fn server(
    answer: impl Fn(usize, &str) -> Reply + Send + Sync + 'static,
) -> (Client, Asked) {
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    let answer = Arc::new(answer);
    let service = tower::service_fn(move |request: Request<Body>| {
        let uri = request.uri().to_string();
        let number = {
            let mut log = log.lock().unwrap();
            log.push((Instant::now(), uri.clone()));
            log.len() - 1
        };
        let answer = Arc::clone(&answer);
        async move {
            let (response, feed) = match answer(number, &uri) {
                Reply::Nothing => std::future::pending().await,
                Reply::Stream(feed) => (Response::builder(), feed),
                Reply::Text(code, text) => (Response::builder().status(code), feed(&[&text])),
                Reply::Later(code, seconds) => {
                    let response = Response::builder().status(code).header("Retry-After", seconds);
                    (response, feed(&["Too many requests, please try again later."]))
                }
            };
            Ok::<_, Infallible>(response.body(feed).unwrap())
        }
    });
    (Client::new(service, "default"), asked)
}

/// The same, told apart by what is asked for.
pub(super) fn reflected(
    list: impl Fn(usize) -> Reply + Send + Sync + 'static,
    stream: impl Fn(usize) -> Reply + Send + Sync + 'static,
) -> (Client, Asked) {
    server(move |number, uri| if is_watch(uri) { stream(number) } else { list(number) })
}

pub(super) type Senders = Arc<Mutex<Vec<UnboundedSender<String>>>>;

/// Streams that say what is sent to them, and end when the sender is dropped.
pub(super) fn live() -> (Senders, impl Fn(usize) -> Reply + Send + Sync) {
    let senders = Senders::default();
    let kept = Arc::clone(&senders);
    let stream = move |_| {
        let (feed, sender) = open(&[]);
        kept.lock().unwrap().push(sender);
        Reply::Stream(feed)
    };
    (senders, stream)
}

/// Says this and ends.
pub(super) fn feed(lines: &[&str]) -> Feed {
    open(lines).0
}

/// Says this, and then what is sent.
pub(super) fn open(lines: &[&str]) -> (Feed, UnboundedSender<String>) {
    let (sender, receiver) = unbounded_channel();
    for line in lines {
        sender.send((*line).to_owned()).unwrap();
    }
    (Feed(receiver), sender)
}

/// Says this and then nothing, for ever.
pub(super) fn stuck(lines: &[&str]) -> Reply {
    let (feed, sender) = open(lines);
    std::mem::forget(sender);
    Reply::Stream(feed)
}

pub(super) fn object(name: &str, version: u64) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"u","resourceVersion":"{version}"}}}}"#
    )
}

pub(super) fn list(version: u64, next: &str, items: &[String]) -> Reply {
    let items = items.join(",");
    let metadata = format!(r#"{{"resourceVersion":"{version}","continue":"{next}"}}"#);
    Reply::Text(
        200,
        format!(r#"{{"kind":"ConfigMapList","metadata":{metadata},"items":[{items}]}}"#),
    )
}

pub(super) fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

pub(super) fn bookmark(version: u64) -> String {
    event("BOOKMARK", &object("", version))
}

pub(super) fn refusal(code: u16, message: &str, seconds: u32) -> Reply {
    let details = format!(r#"{{"retryAfterSeconds":{seconds}}}"#);
    let status = format!(r#""kind":"Status","code":{code},"message":"{message}""#);
    Reply::Text(code, format!(r#"{{{status},"details":{details}}}"#))
}

pub(super) fn is_watch(uri: &str) -> bool {
    uri.contains("watch=true")
}
