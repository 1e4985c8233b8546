//! A plain HTTP server in front of the API server that loses every other answer to some requests: it passes the request on,
//! waits until the server has answered, and closes the connection.

use futures::AsyncReadExt;
use http::Request;
use kube::{Client, Config};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncBufReadExt, AsyncReadExt as _, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// The running proxy; it ends when it is dropped.
pub(crate) struct Proxy {
    address: String,
    lost: Arc<AtomicUsize>,
    task: AbortHandle,
}

struct Behind {
    client: Client,
    concerns: fn(&str, &str) -> bool,
    seen: AtomicUsize,
    lost: Arc<AtomicUsize>,
}

impl Proxy {
    /// Passes everything on through this client. `concerns` says of a method and a path whether answers may be lost.
    pub(crate) async fn start(client: Client, concerns: fn(&str, &str) -> bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let lost = Arc::new(AtomicUsize::new(0));
        let behind =
            Behind { client, concerns, seen: AtomicUsize::new(0), lost: Arc::clone(&lost) };
        let behind = Arc::new(behind);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let behind = Arc::clone(&behind);
                // What goes wrong on one connection shows to whoever holds its other end.
                tokio::spawn(async move { behind.serve(stream).await.ok() });
            }
        });
        Self { address, lost, task: task.abort_handle() }
    }

    /// A client whose requests go through here.
    pub(crate) fn client(&self) -> Client {
        let mut config = Config::new(format!("http://{}", self.address).parse().expect("a URL"));
        config.default_retry = false;
        config.read_timeout = None;
        Client::try_from(config).expect("a client")
    }

    /// How many answers were lost so far.
    pub(crate) fn lost(&self) -> usize {
        self.lost.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Behind {
    async fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        while let Some((head, request)) = read(&mut stream).await? {
            let loses = (self.concerns)(&head.0, &head.1)
                && self.seen.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
            let answer = self.client.request_stream(request).await;
            if loses {
                self.lost.fetch_add(1, Ordering::SeqCst);
                return Ok(());
            }
            match answer {
                Ok(body) => {
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
                    stream.write_all(head.as_bytes()).await?;
                    let mut body = Box::pin(body);
                    let mut part = vec![0; 64 << 10];
                    loop {
                        let size = body.read(&mut part).await?;
                        stream.write_all(format!("{size:x}\r\n").as_bytes()).await?;
                        stream.write_all(&part[..size]).await?;
                        stream.write_all(b"\r\n").await?;
                        stream.flush().await?;
                        if size == 0 {
                            break;
                        }
                    }
                }
                Err(kube::Error::Api(status)) => {
                    let body = serde_json::to_string(&*status).expect("JSON");
                    let mut text = String::new();
                    let length = body.len();
                    write!(text, "HTTP/1.1 {} No\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}", status.code)
                        .expect("a text");
                    stream.write_all(text.as_bytes()).await?;
                    stream.flush().await?;
                }
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }
}

/// One request, with its method and path; nothing at the end of the connection.
async fn read(
    stream: &mut BufReader<TcpStream>,
) -> std::io::Result<Option<((String, String), Request<Vec<u8>>)>> {
    let mut first = String::new();
    if stream.read_line(&mut first).await? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace().map(str::to_owned);
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default();
    let mut request = Request::builder().method(method.as_str()).uri(path.as_str());
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "content-type" | "accept" => request = request.header(name, value),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let request = request.body(body).map_err(std::io::Error::other)?;
    Ok(Some(((method, path), request)))
}
