//! Against a socket of our own that says what arrives.

use super::*;
use crate::lease::Moment;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

const LONG: Duration = Duration::from_mins(1);
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// Tells the first bytes of each request, and nothing when a connection ends. Paths with `slow` are not answered.
async fn server() -> (Config, mpsc::UnboundedReceiver<Option<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let tell = tell.clone();
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                loop {
                    let read = stream.read(&mut buffer).await.unwrap_or(0);
                    if read == 0 {
                        let _ = tell.send(None);
                        return;
                    }
                    let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
                    let slow = text.contains("/slow");
                    let _ = tell.send(text.lines().next().map(str::to_owned));
                    if !slow {
                        stream.write_all(ANSWER).await.unwrap();
                    }
                }
            });
        }
    });
    (Config::new(format!("http://{address}").parse().unwrap()), told)
}

async fn ask(client: &Client, path: &str) -> Result<serde_json::Value, kube::Error> {
    client.request(http::Request::get(path).body(Vec::new()).unwrap()).await
}

async fn next(told: &mut mpsc::UnboundedReceiver<Option<String>>) -> Option<String> {
    timeout(Duration::from_secs(5), told.recv()).await.expect("in time").expect("it runs")
}

#[tokio::test]
async fn without_a_term_nothing_is_sent_and_not_even_connected() {
    let (config, mut told) = server().await;
    let gate = Gate::closed();
    let client = guarded(&config, &gate).unwrap();
    let error = ask(&client, "/a").await.expect_err("no term");
    let mut text = String::new();
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(one) = cause {
        text.push_str(&one.to_string());
        cause = one.source();
    }
    assert!(text.contains("does not hold the lease"), "{text}");
    gate.open(Moment::now().after(LONG));
    ask(&client, "/b").await.expect("it may");
    assert_eq!(next(&mut told).await.as_deref(), Some("GET /b HTTP/1.1"), "the first that arrives");
}

#[tokio::test]
async fn the_end_of_a_term_closes_what_is_idle_and_what_is_under_way() {
    let (config, mut told) = server().await;
    let gate = Gate::closed();
    gate.open(Moment::now().after(LONG));
    let client = guarded(&config, &gate).unwrap();
    let slow = tokio::spawn({
        let client = client.clone();
        async move { ask(&client, "/slow").await }
    });
    assert_eq!(next(&mut told).await.as_deref(), Some("GET /slow HTTP/1.1"));
    ask(&client, "/a").await.expect("it may");
    assert_eq!(next(&mut told).await.as_deref(), Some("GET /a HTTP/1.1"));
    gate.close();
    assert_eq!((next(&mut told).await, next(&mut told).await), (None, None), "both are closed");
    timeout(Duration::from_secs(5), slow).await.expect("in time").unwrap().expect_err("cut off");
    gate.open(Moment::now().after(LONG));
    ask(&client, "/b").await.expect("a new connection");
}

/// As after a stop: time has passed, and nobody has said so yet.
#[tokio::test]
async fn a_term_that_ran_out_sends_nothing_on_the_connections_that_it_has() {
    let (config, mut told) = server().await;
    let gate = Gate::closed();
    gate.open(Moment::now().after(Duration::from_millis(300)));
    let client = guarded(&config, &gate).unwrap();
    ask(&client, "/a").await.expect("it may");
    assert_eq!(next(&mut told).await.as_deref(), Some("GET /a HTTP/1.1"));
    tokio::time::sleep(Duration::from_millis(350)).await;
    ask(&client, "/b").await.expect_err("too late");
    assert_eq!(next(&mut told).await, None, "nothing but the end of the connection");
}
