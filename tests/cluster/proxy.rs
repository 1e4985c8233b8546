//! A plain HTTP server between a controller and the API server that does what networks and servers do on bad days.
//!
//! In: a client that reaches the API server, and a plan that says of each request what is to happen to it. Out: answers and
//! faults, and what came by. Never here: what is expected of whoever asks.

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::{Client, Config};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is passed on after this time.
    Late(Duration),
    /// It is answered with this code, and perhaps with how many seconds to wait; the API server never sees it.
    Refused(u16, Option<u32>),
    /// The connection is reset when half of the request has come; the API server never sees it.
    RequestCut,
    /// The API server does what was asked, and the connection is reset instead of an answer.
    AnswerLost,
    /// The API server does what was asked, and the connection is reset in the middle of the answer.
    AnswerCut,
    /// The API server does what was asked, and only the first half of the answer's body comes, as if it were the whole.
    HalfBody,
    /// Nothing is ever answered; the API server never sees it.
    Unanswered,
    /// A watch ends after this time, in order.
    Ended(Duration),
    /// A watch is told that its version is too old, by an event after the answer has begun.
    TooOld,
    /// A watch begins with half an event.
    HalfEvent,
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    /// What the API server answered, as far as it was asked: nobody may have heard it.
    pub(crate) code: Option<u16>,
}

impl Asked {
    /// Whether it asks for a stream of events.
    pub(crate) fn is_watch(&self) -> bool {
        self.path.contains("watch=true")
    }

    /// Whether it asks for a change of an object; Events of the API are not meant.
    pub(crate) fn is_write(&self) -> bool {
        self.method != "GET" && !self.is_about_events() && !self.path.contains("/authorization.")
    }

    /// Whether it tells an Event of the API.
    pub(crate) fn is_about_events(&self) -> bool {
        self.path.starts_with("/apis/events.k8s.io/")
    }
}

/// Says what is to happen to a request.
pub(crate) type Plan = dyn Fn(&Asked) -> Option<Fault> + Send + Sync;

/// The running proxy; it ends when it is dropped, and every connection with it.
pub(crate) struct Proxy {
    address: String,
    behind: Arc<Behind>,
    _connections: JoinSet<()>,
}

struct Behind {
    client: Client,
    plan: RwLock<Option<Arc<Plan>>>,
    seen: Mutex<Vec<Asked>>,
    faults: AtomicUsize,
    /// Streams that began before this number changed are silent for ever.
    muted: watch::Sender<usize>,
}

impl Proxy {
    /// Passes everything on through this client.
    pub(crate) async fn start(client: Client) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let behind = Arc::new(Behind {
            client,
            plan: RwLock::default(),
            seen: Mutex::default(),
            faults: AtomicUsize::new(0),
            muted: watch::channel(0).0,
        });
        let mut accepting = JoinSet::new();
        let serving = Arc::clone(&behind);
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let behind = Arc::clone(&serving);
                // What goes wrong on one connection shows to whoever holds its other end.
                connections.spawn(async move { behind.serve(stream).await.ok() });
                while connections.try_join_next().is_some() {}
            }
        });
        Self { address, behind, _connections: accepting }
    }

    /// A client whose requests go through here.
    pub(crate) fn client(&self) -> Client {
        let mut config = Config::new(format!("http://{}", self.address).parse().expect("a URL"));
        config.default_retry = false;
        config.read_timeout = None;
        Client::try_from(config).expect("a client")
    }

    /// The same for programs that are told of a cluster as people tell them.
    pub(crate) fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
             clusters: [{{name: a, cluster: {{server: \"http://{}\"}}}}]\n\
             contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a, user: {{}}}}]\n",
            self.address
        )
    }

    /// From now on this happens to requests.
    pub(crate) fn does(&self, plan: impl Fn(&Asked) -> Option<Fault> + Send + Sync + 'static) {
        *self.behind.plan.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(plan));
    }

    /// From now on nothing happens to them.
    pub(crate) fn is_calm(&self) {
        *self.behind.plan.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Every watch that runs now stays open, and not one byte more comes from it.
    pub(crate) fn mute(&self) {
        self.behind.muted.send_modify(|number| *number += 1);
    }

    /// How often something happened so far.
    pub(crate) fn faults(&self) -> usize {
        self.behind.faults.load(Ordering::SeqCst)
    }

    /// Every request that came so far, in the order of their ends; a watch counts when it begins.
    pub(crate) fn seen(&self) -> Vec<Asked> {
        lock(&self.behind.seen).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One connection of whoever asks.
struct Connection {
    from: BufReader<OwnedReadHalf>,
    to: OwnedWriteHalf,
}

/// Whether a connection can go on with another request.
type Goes = io::Result<bool>;

impl Behind {
    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let (from, to) = stream.into_split();
        let mut connection = Connection { from: BufReader::new(from), to };
        while let Some((mut asked, request)) = connection.head().await? {
            let plan = self.plan.read().unwrap_or_else(PoisonError::into_inner).clone();
            let fault = plan.and_then(|plan| plan(&asked));
            self.faults.fetch_add(usize::from(fault.is_some()), Ordering::SeqCst);
            if !self.answer(&mut connection, &mut asked, request, fault).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Answers one request, or does not.
    async fn answer(
        &self,
        connection: &mut Connection,
        asked: &mut Asked,
        (request, length): (http::request::Builder, usize),
        fault: Option<Fault>,
    ) -> Goes {
        if fault == Some(Fault::RequestCut) {
            connection.body(length / 2).await?;
            self.saw(asked, None);
            return connection.reset();
        }
        let body = connection.body(length).await?;
        match fault {
            Some(Fault::Late(time)) => tokio::time::sleep(time).await,
            Some(Fault::Refused(code, wait)) => {
                self.saw(asked, None);
                return connection.refuse(code, wait).await;
            }
            Some(Fault::Unanswered) => {
                self.saw(asked, None);
                return connection.hangs_up().await;
            }
            Some(Fault::TooOld | Fault::HalfEvent) => {
                self.saw(asked, None);
                return connection.says(fault == Some(Fault::TooOld)).await;
            }
            _ => {}
        }
        let request: Request<Body> = request.body(body.into()).map_err(io::Error::other)?;
        let muted = self.muted.subscribe();
        let answer = self.client.send(request).await.map_err(io::Error::other);
        self.saw(asked, answer.as_ref().ok().map(|answer| answer.status().as_u16()));
        let answer = answer?;
        if fault == Some(Fault::AnswerLost) {
            return connection.reset();
        }
        if asked.is_watch() && answer.status().is_success() {
            connection.stream(answer, muted, fault).await
        } else {
            connection.whole(answer, fault).await
        }
    }

    fn saw(&self, asked: &mut Asked, code: Option<u16>) {
        asked.code = code;
        lock(&self.seen).push(asked.clone());
    }
}

impl Connection {
    /// The head of the next request and the length of its body; nothing at the end of the connection.
    async fn head(&mut self) -> io::Result<Option<(Asked, (http::request::Builder, usize))>> {
        let mut first = String::new();
        if self.from.read_line(&mut first).await? == 0 {
            return Ok(None);
        }
        let mut words = first.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut request = Request::builder().method(method.as_str()).uri(path.as_str());
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.from.read_line(&mut line).await?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            match name.to_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap_or(0),
                "content-type" | "accept" => request = request.header(name, value),
                _ => {}
            }
        }
        Ok(Some((Asked { method, path, code: None }, (request, length))))
    }

    async fn body(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut body = vec![0; length];
        self.from.read_exact(&mut body).await.map(|_| body)
    }

    /// Whoever asks gets a reset, not an end.
    fn reset(&self) -> Goes {
        self.to.as_ref().set_zero_linger().map(|()| false)
    }

    /// Waits until whoever asks has given up.
    async fn hangs_up(&mut self) -> Goes {
        while !self.from.fill_buf().await?.is_empty() {
            let size = self.from.buffer().len();
            self.from.consume(size);
        }
        Ok(false)
    }

    /// As the API server and what stands before it refuse: flow control in plain text, all else as a Status.
    async fn refuse(&mut self, code: u16, wait: Option<u32>) -> Goes {
        let body = match code {
            429 => "Too many requests, please try again later.".to_owned(),
            _ => format!(
                r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","code":{code},"reason":"InternalError","message":"a fault"}}"#
            ),
        };
        let wait = wait.map_or_else(String::new, |wait| format!("retry-after: {wait}\r\n"));
        let length = body.len();
        let text = format!("HTTP/1.1 {code} No\r\n{wait}content-length: {length}\r\n\r\n{body}");
        self.to.write_all(text.as_bytes()).await.map(|()| true)
    }

    /// A stream that begins well and says that its version is too old, or something that is no event.
    async fn says(&mut self, too_old: bool) -> Goes {
        let gone = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}"#;
        let line = if too_old { gone } else { &gone[..gone.len() / 2] };
        self.begins(StatusCode::OK).await?;
        self.chunk(format!("{line}\n").as_bytes()).await?;
        self.chunk(&[]).await.map(|()| true)
    }

    async fn begins(&mut self, code: StatusCode) -> io::Result<()> {
        let head = format!(
            "HTTP/1.1 {} X\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
            code.as_u16()
        );
        self.to.write_all(head.as_bytes()).await
    }

    async fn chunk(&mut self, part: &[u8]) -> io::Result<()> {
        let text = [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
        self.to.write_all(&text).await
    }

    /// Passes a stream on until it ends, somebody has enough, it is muted, or the fault wants it.
    async fn stream(
        &mut self,
        answer: Response<Body>,
        mut muted: watch::Receiver<usize>,
        fault: Option<Fault>,
    ) -> Goes {
        self.begins(answer.status()).await?;
        let mut body = answer.into_body();
        let until = match fault {
            Some(Fault::Ended(time)) => time,
            _ => Duration::from_hours(1),
        };
        let mut end = Box::pin(tokio::time::sleep(until));
        loop {
            tokio::select! {
                biased;
                _ = muted.changed() => return self.hangs_up().await,
                () = &mut end => return self.chunk(&[]).await.map(|()| true),
                // Nothing is asked while a stream runs: whatever can be read is the end of the connection.
                () = async { drop(self.from.fill_buf().await) } => return Ok(false),
                frame = body.frame() => {
                    let part = match frame {
                        Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                        Some(Err(_)) => return self.reset(),
                        None => return self.chunk(&[]).await.map(|()| true),
                    };
                    if fault == Some(Fault::AnswerCut) {
                        self.chunk(&part[..part.len() / 2]).await?;
                        return self.reset();
                    }
                    if !part.is_empty() {
                        self.chunk(&part).await?;
                    }
                }
            }
        }
    }

    /// Passes an answer on in one piece.
    async fn whole(&mut self, answer: Response<Body>, fault: Option<Fault>) -> Goes {
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let half = &body[..body.len() / 2];
        let shown = if fault == Some(Fault::HalfBody) { half } else { &body };
        let header = |name: &str| {
            let value = head.headers.get(name).and_then(|value| value.to_str().ok());
            value.map_or_else(String::new, |value| format!("{name}: {value}\r\n"))
        };
        let head = format!(
            "HTTP/1.1 {} X\r\n{}{}content-length: {}\r\n\r\n",
            head.status.as_u16(),
            header("content-type"),
            header("retry-after"),
            shown.len()
        );
        self.to.write_all(head.as_bytes()).await?;
        if fault == Some(Fault::AnswerCut) {
            self.to.write_all(half).await?;
            return self.reset();
        }
        self.to.write_all(shown).await.map(|()| true)
    }
}
