//! The sender against a server that answers what a real one does not on demand.

use super::*;
use crate::event::{Draft, Reason};
use crate::marks::parse_id;
use http::{Request, Response};
use kube::client::Body;
use std::convert::Infallible;

type Asked = Arc<Mutex<Vec<(Instant, String)>>>;

/// A server that answers as told, or not at all, and writes down what it was asked.
fn server(
    answer: impl Fn(usize, &str) -> Option<(u16, Value)> + Send + Sync + 'static,
) -> (Client, Asked) {
    let asked = Asked::default();
    let (log, answer) = (Arc::clone(&asked), Arc::new(answer));
    let service = tower::service_fn(move |request: Request<Body>| {
        let asked = format!("{} {}", request.method(), request.uri().path());
        let mut log = log.lock().unwrap();
        log.push((Instant::now(), asked.clone()));
        let answer = answer(log.len() - 1, &asked);
        async move {
            let (code, text) = match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            };
            let body = Body::from(text.to_string().into_bytes());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    (Client::new(service, "default"), asked)
}

fn status(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {},
        "message": "no", "reason": reason, "code": code});
    (code, status)
}

fn event(parent: &str, note: &str) -> Event {
    Event {
        parent: parse_id(parent).unwrap(),
        uid: "u".into(),
        api_version: "demo.kubewright.io/v1".into(),
        rule: "webapp".into(),
        draft: Draft { reason: Reason::Created, note: note.into() },
        at: "2026-01-02T03:04:05.678901Z".parse().unwrap(),
    }
}

const PARENT: &str = "WebApp.demo.kubewright.io shop/web";

/// Sends these and ends; gives what was asked, and how many were dropped.
async fn send(client: Client, asked: &Asked, events: Vec<Event>) -> (Vec<String>, u64) {
    let teller = Teller::new(client, "", &Arc::default());
    teller.tell(events);
    teller.end();
    Arc::clone(&teller).run().await;
    assert_eq!(teller.pending(), 0);
    let asked = asked.lock().unwrap().iter().map(|(_, asked)| asked.clone()).collect();
    (asked, teller.dropped())
}

const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/shop/events";

#[tokio::test(start_paused = true)]
async fn what_is_there_already_is_counted_up() {
    let (client, asked) = server(|number, _| match number {
        0 => Some(status(409, "AlreadyExists")),
        1 => Some((200, json!({"eventTime": "2026-01-01T00:00:00.000000Z"}))),
        _ => Some((200, json!({}))),
    });
    let one = event(PARENT, "a");
    let path = format!("{EVENTS}/{}", one.name());
    let (asked, dropped) = send(client, &asked, vec![one]).await;
    let expected = [format!("POST {EVENTS}"), format!("GET {path}"), format!("PATCH {path}")];
    assert_eq!((asked, dropped), (expected.to_vec(), 0));
    let moment = "2026-01-02T03:04:05.678901Z";
    let there = json!({"eventTime": "2026-01-01T00:00:00.000000Z"});
    let two = json!({"series": {"count": 2, "lastObservedTime": moment}});
    assert_eq!(series(&there, moment), Some(two.clone()));
    assert_eq!(series(&two, moment), None, "the answer was lost");
    assert_eq!(series(&json!({"eventTime": moment}), moment), None);
    assert_eq!(series(&two, "later").unwrap()["series"]["count"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_server_in_trouble_is_asked_three_times_and_a_mistake_once() {
    let (client, asked) = server(|_, _| Some(status(503, "ServiceUnavailable")));
    let (asked, dropped) = send(client, &asked, vec![event(PARENT, "a")]).await;
    assert_eq!((asked.len(), dropped), (3, 1));
    let (client, asked) = server(|_, _| Some(status(422, "Invalid")));
    let (asked, dropped) = send(client, &asked, vec![event(PARENT, "a")]).await;
    assert_eq!((asked.len(), dropped), (1, 1));
    let (client, asked) = server(|number, _| match number {
        0 => Some(status(500, "InternalError")),
        _ => Some((201, json!({}))),
    });
    let (asked, dropped) = send(client, &asked, vec![event(PARENT, "a")]).await;
    assert_eq!((asked.len(), dropped), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn without_rights_nothing_more_is_sent_to_that_namespace_for_a_while() {
    let (client, asked) = server(|_, asked| {
        let forbidden = asked.contains("/shop/");
        Some(if forbidden { status(403, "Forbidden") } else { (201, json!({})) })
    });
    let teller = Teller::new(client, "x", &Arc::default());
    let running = tokio::spawn(Arc::clone(&teller).run());
    let tell = async |parent: &str, note: &str| {
        teller.tell(vec![event(parent, note)]);
        while teller.pending() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
        asked.lock().unwrap().len()
    };
    assert_eq!(tell(PARENT, "a").await, 1);
    assert_eq!(tell(PARENT, "b").await, 1, "in silence");
    assert_eq!(tell("Namespace other", "b").await, 2, "another namespace");
    assert_eq!(teller.dropped(), 2);
    sleep(SILENCE).await;
    assert_eq!(tell(PARENT, "c").await, 3);
    assert_eq!(teller.complained.load(Ordering::SeqCst), 2);
    running.abort();
}

/// Telling never waits, whatever the server does.
#[tokio::test(start_paused = true)]
async fn what_a_dead_server_leaves_no_room_for_is_dropped() {
    let (client, asked) = server(|_, _| None);
    let teller = Teller::new(client, "x", &Arc::default());
    let running = tokio::spawn(Arc::clone(&teller).run());
    let begun = Instant::now();
    for number in 0..3 * ROOM {
        teller.tell(vec![event(PARENT, &number.to_string())]);
        tokio::task::yield_now().await;
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert!(teller.dropped() >= (2 * ROOM - AT_ONCE - 1) as u64, "{}", teller.dropped());
    assert_eq!(asked.lock().unwrap().len(), AT_ONCE);
    sleep(4 * PATIENCE).await;
    assert!(asked.lock().unwrap().len() > AT_ONCE, "each is given up after a while");
    running.abort();
}

/// Passes go first while there is room for what waits; beyond, and at the end, Events take their turns.
#[tokio::test(start_paused = true)]
async fn events_wait_for_passes_as_long_as_there_is_room() {
    let (client, asked) = server(|_, _| Some((201, json!({}))));
    let teller = Teller::new(client, "x", &Arc::default());
    assert_eq!(teller.turn().lane, Lane::Bulk);
    for number in 0..PATIENT {
        teller.tell(vec![event(PARENT, &number.to_string())]);
    }
    assert_eq!(teller.turn().lane, Lane::Bulk);
    teller.tell(vec![event(PARENT, "one more")]);
    assert_eq!(teller.turn().lane, Lane::Edit);
    let running = tokio::spawn(Arc::clone(&teller).run());
    while teller.pending() > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!((asked.lock().unwrap().len(), teller.dropped()), (PATIENT + 1, 0));
    assert_eq!(teller.turn().lane, Lane::Bulk);
    teller.end();
    assert_eq!(teller.turn().lane, Lane::Edit);
    running.await.unwrap();
}
