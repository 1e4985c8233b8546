//! Who gets a permit, on a clock that the tests move.

use super::*;
use crate::cluster::Cluster;
use crate::refusal::Class;
use futures::FutureExt;
use futures::future::join_all;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use std::convert::Infallible;
use std::time::Duration;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

const SECOND: Duration = Duration::from_secs(1);

fn kind(kind: &str) -> GroupKind {
    GroupKind { group: String::new(), kind: kind.into() }
}

fn turn(rule: &str, lane: Lane) -> Turn {
    Turn { rule: rule.into(), lane }
}

/// A permit that can be had at once.
fn now(limiter: &Arc<Limiter>, turn: &Turn, of: &str) -> Option<Permit> {
    limiter.permit(turn, kind(of)).now_or_never()
}

/// All that can be had at once.
fn all(limiter: &Arc<Limiter>, turn: &Turn, of: &str) -> Vec<Permit> {
    std::iter::from_fn(|| now(limiter, turn, of)).collect()
}

fn waits(limiter: &Arc<Limiter>, turn: Turn, of: &str) -> JoinHandle<Permit> {
    let (limiter, kind) = (Arc::clone(limiter), kind(of));
    tokio::spawn(async move { limiter.permit(&turn, kind).await })
}

#[tokio::test(start_paused = true)]
async fn requests_of_one_kind_that_hang_leave_room_for_others() {
    let limiter = Arc::new(Limiter::default());
    let any = Turn::default();
    let hanging = all(&limiter, &any, "Slow");
    assert_eq!(hanging.len(), 11);
    let others = all(&limiter, &any, "Slower");
    assert_eq!((others.len(), limiter.in_flight()), (4, (15, 16)));
    assert!(now(&limiter, &any, "ConfigMap").is_some(), "whoever comes finds one");
    drop(hanging);
    assert_eq!(all(&limiter, &any, "ConfigMap").len(), 8);
    assert_eq!(limiter.in_flight().0, 4, "permits that are dropped are free");
}

#[tokio::test(start_paused = true)]
async fn an_edit_goes_before_bulk_and_rules_take_turns() {
    let limiter = Arc::new(Limiter::default());
    let held = all(&limiter, &Turn::default(), "ConfigMap");
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut all = Vec::new();
    for (name, rule, lane) in [
        ("bulk 1", "a", Lane::Bulk),
        ("edit a1", "a", Lane::Edit),
        ("edit a2", "a", Lane::Edit),
        ("edit a3", "a", Lane::Edit),
        ("edit b", "b", Lane::Edit),
    ] {
        let (limiter, order) = (Arc::clone(&limiter), Arc::clone(&order));
        let turn = turn(rule, lane);
        all.push(tokio::spawn(async move {
            let permit = limiter.permit(&turn, kind("ConfigMap")).await;
            order.lock().unwrap().push(name);
            drop(permit);
        }));
        yield_now().await;
    }
    assert!(order.lock().unwrap().is_empty());
    // One comes free, and is handed on by each who had it.
    let mut held = held;
    held.truncate(10);
    for one in all {
        timeout(SECOND, one).await.unwrap().unwrap();
    }
    assert_eq!(*order.lock().unwrap(), ["edit a1", "edit b", "edit a2", "edit a3", "bulk 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_left_alone_by_everybody_and_then_asked_by_half() {
    let limiter = Arc::new(Limiter::default());
    let any = Turn::default();
    let first = now(&limiter, &any, "ConfigMap").unwrap();
    let held = all(&limiter, &any, "ConfigMap");
    let waiting: Vec<_> =
        (0..20).map(|number| waits(&limiter, any.clone(), &format!("Kind{number}"))).collect();
    yield_now().await;
    let before = limiter.in_flight();
    assert_eq!(before, (16, 16), "one of each other kind until all are taken");
    let begun = Instant::now();
    first.answered(Load::Busy(Some(3 * SECOND)));
    drop((first, held));
    assert!(now(&limiter, &any, "Other").is_none(), "of every kind");
    let mut permits = Vec::new();
    for permit in waiting {
        permits.push(timeout(60 * SECOND, permit).await.expect("after the pause").unwrap());
        if limiter.in_flight().0 > 5 && begun.elapsed() >= 3 * SECOND {
            assert!(limiter.in_flight().0 <= 8, "{:?}", limiter.in_flight());
            permits.clear();
        }
    }
    assert!(begun.elapsed() >= 3 * SECOND);
    assert_eq!(limiter.in_flight().1, 8);
    drop(permits);
    assert_eq!(limiter.in_flight().0, 0);
}

#[tokio::test(start_paused = true)]
async fn who_leaves_the_line_takes_nothing_along() {
    let limiter = Arc::new(Limiter::default());
    let any = Turn::default();
    let held = all(&limiter, &any, "ConfigMap");
    let waiting: Vec<_> = (0..5).map(|_| waits(&limiter, any.clone(), "ConfigMap")).collect();
    yield_now().await;
    waiting.iter().for_each(JoinHandle::abort);
    drop(held);
    for one in waiting {
        assert!(one.await.is_err(), "it was aborted, with a permit or without");
    }
    assert_eq!(limiter.in_flight().0, 0);
    let state = limiter.state();
    assert_eq!((state.waiting.len(), state.lanes.len(), state.by_kind.len()), (0, 0, 0));
}

/// Answers come, and a server that has had enough for a while is asked more and more again.
#[tokio::test(start_paused = true)]
async fn it_recovers_while_there_is_something_to_send() {
    let limiter = Arc::new(Limiter::default());
    let any = Turn::default();
    now(&limiter, &any, "A").unwrap().answered(Load::Busy(None));
    now(&limiter, &any, "A").unwrap().answered(Load::Busy(None));
    assert_eq!(limiter.in_flight(), (0, 4));
    let senders: Vec<_> = (0..40)
        .map(|number| {
            let limiter = Arc::clone(&limiter);
            tokio::spawn(async move {
                for _ in 0..40 {
                    let kind = kind(&format!("Kind{}", number % 5));
                    let permit = limiter.permit(&Turn::default(), kind).await;
                    tokio::time::sleep(SECOND / 100).await;
                    permit.answered(Load::Taken);
                }
            })
        })
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }
    assert_eq!(limiter.in_flight(), (0, 32));
}

/// A server that answers one request as flow control does, and then takes everything.
#[tokio::test(start_paused = true)]
async fn what_flow_control_asks_for_is_kept_by_every_request() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let service = tower::service_fn(move |_: Request<Body>| {
        let mut log = log.lock().unwrap();
        log.push(Instant::now());
        let answer = match log.len() {
            1 => {
                Response::builder().status(429).header("Retry-After", "3").body("Too many requests")
            }
            _ => Response::builder().body("{}"),
        };
        let answer = answer.unwrap().map(|text| Body::from(text.as_bytes().to_vec()));
        async move { Ok::<_, Infallible>(answer) }
    });
    let cluster = Cluster::of(&Client::new(service, "default"));
    let begun = Instant::now();
    let refused = cluster.document("/first").await.unwrap_err();
    assert_eq!(refused.class, Class::Transient(Some(3 * SECOND)));
    assert_eq!(cluster.in_flight(), (0, 8), "halved");
    let through = cluster.for_pass(&"rule".into(), Lane::Finish);
    through.document("/second").await.unwrap();
    let times: Vec<_> = asked.lock().unwrap().iter().map(|at| *at - begun).collect();
    assert!(times.len() == 2 && times[1] >= 3 * SECOND, "{times:?}");
    let many = (0..400).map(|_| cluster.document("/more"));
    assert!(join_all(many).await.iter().all(Result::is_ok));
    let (in_flight, limit) = cluster.in_flight();
    assert!(in_flight == 0 && limit > 16, "it recovers: {limit}");
}
