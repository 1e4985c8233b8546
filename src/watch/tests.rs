//! Faults that a real API server does not produce on demand. The ordinary course is tried against a real one.

mod kinds;
mod server;

use super::*;
use crate::object::Gvk;
use crate::store::{Notice, Stored};
use server::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

const GONE: &str = r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old"}"#;

fn key() -> WatchKey {
    let gvk = Gvk::parse("v1", "ConfigMap").unwrap();
    let resource = Resource { gvk, plural: "configmaps".into(), namespaced: true };
    WatchKey { resource, namespace: None, labels: Some("a=b".into()), managed_fields: false.into() }
}

fn watch(client: Client) -> Watch {
    Watches::new(client, None, Arc::default()).watch(key())
}

/// What is shown, as `a@3 b@5`.
fn shown(watch: &Watch) -> String {
    let one = |stored: &Arc<Stored>| format!("{}@{}", stored.id.name, stored.resource_version);
    watch.store().all().iter().map(one).collect::<Vec<_>>().join(" ")
}

/// What was asked, in short: `list`, or the version that was watched from; and when, in seconds since the first.
fn story(asked: &Asked) -> Vec<(String, u64)> {
    let asked = asked.lock().unwrap();
    let what = |uri: &str| {
        let version = uri.split("resourceVersion=").nth(1);
        if is_watch(uri) { version.unwrap().to_owned() } else { "list".to_owned() }
    };
    asked.iter().map(|(at, uri)| (what(uri), (*at - asked[0].0).as_secs())).collect()
}

fn steps(asked: &Asked) -> Vec<String> {
    story(asked).into_iter().map(|(step, _)| step).collect()
}

#[tokio::test(start_paused = true)]
async fn pages_belong_to_one_list_and_the_stream_goes_on_from_its_version() {
    let (client, asked) = server(|number, _| match number {
        0 => list(50, "next/1", &[object("a", 3)]),
        1 => list(50, "", &[object("b", 4)]),
        2 => stuck(&[
            &event("MODIFIED", &object("a", 51)),
            &event("DELETED", &object("b", 52)),
            &bookmark(60),
        ]),
        _ => stuck(&[]),
    });
    let watch = watch(client);
    watch.synced().await;
    assert!(watch.store().synced());
    sleep(SECOND).await;
    assert_eq!(shown(&watch), "a@51");
    sleep(200 * SECOND).await;
    let uris: Vec<String> = asked.lock().unwrap().iter().map(|(_, uri)| uri.clone()).collect();
    assert_eq!(uris[0], "/api/v1/configmaps?&labelSelector=a%3Db&limit=100");
    assert_eq!(uris[1], "/api/v1/configmaps?&labelSelector=a%3Db&limit=500&continue=next%2F1");
    assert!(uris[2].starts_with("/api/v1/configmaps?&watch=true&timeoutSeconds=2"), "{}", uris[2]);
    assert!(uris[2].ends_with("&labelSelector=a%3Db&allowWatchBookmarks=true&resourceVersion=50"));
    assert!(uris[3].ends_with("&resourceVersion=60"), "from the bookmark: {}", uris[3]);
}

#[tokio::test(start_paused = true)]
async fn pages_shrink_where_objects_are_big() {
    let big = format!(
        r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"1"}},"data":"{}"}}"#,
        "x".repeat(200_000)
    );
    let (client, asked) = server(move |number, _| match number {
        0 => list(50, "1", std::slice::from_ref(&big)),
        1 => list(50, "2", &[]),
        2 => list(50, "", &[]),
        _ => stuck(&[]),
    });
    watch(client).synced().await;
    let asked = asked.lock().unwrap();
    assert!(asked[1].1.contains("limit=41"), "{}", asked[1].1);
    assert!(asked[2].1.contains("limit=500"), "a page may be empty: {}", asked[2].1);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_too_old_means_a_new_list_whether_by_event_or_by_status() {
    for by_status in [false, true] {
        let (client, asked) = server(move |number, _| match number {
            0 => list(10, "", &[object("a", 5), object("b", 6)]),
            1 if by_status => Reply::Text(410, GONE.into()),
            1 => stuck(&[&event("ERROR", GONE)]),
            2 => list(20, "", &[object("b", 15)]),
            _ => stuck(&[&bookmark(20)]),
        });
        let watch = watch(client);
        sleep(SECOND).await;
        assert_eq!(
            story(&asked)[..4],
            [("list", 0), ("10", 0), ("list", 0), ("20", 0)].map(|(s, t)| (s.into(), t))
        );
        assert_eq!(shown(&watch), "b@15");
        let error = watch.state().last_error;
        assert_eq!(error.as_deref(), Some("the API server answers 410: too old"));
        sleep(5 * SECOND).await;
        assert_eq!(watch.state(), State { synced: true, restarts: 1, ..State::default() });
    }
}

#[tokio::test(start_paused = true)]
async fn every_stream_that_lived_earns_a_list_without_a_wait() {
    let (senders, streams) = live();
    let (client, asked) = reflected(|_| list(10, "", &[]), streams);
    let _watch = watch(client);
    for _ in 0..3 {
        sleep(60 * SECOND).await;
        let sender = senders.lock().unwrap().pop().unwrap();
        sender.send(event("ERROR", GONE)).unwrap();
    }
    sleep(SECOND / 10).await;
    let times: Vec<u64> = story(&asked).into_iter().map(|(_, at)| at).collect();
    assert_eq!(times, [0, 0, 60, 60, 120, 120, 180, 180]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_always_says_too_old_is_asked_ever_more_slowly() {
    let (client, asked) = reflected(
        |_| list(10, "", &[]),
        |_| stuck(&[&event("ADDED", &object("a", 11)), &event("ERROR", GONE)]),
    );
    let _watch = watch(client);
    sleep(600 * SECOND).await;
    let asked = asked.lock().unwrap().len();
    assert!((40..100).contains(&asked), "{asked} requests in ten minutes");
}

#[tokio::test(start_paused = true)]
async fn streams_that_end_at_once_are_begun_ever_more_slowly_and_go_on_where_they_were() {
    let (client, asked) = reflected(
        |_| list(10, "", &[object("a", 9)]),
        |number| {
            let version = 10 + number as u64;
            Reply::Stream(feed(&[&event("MODIFIED", &object("a", version))]))
        },
    );
    let watch = watch(client);
    sleep(600 * SECOND).await;
    let steps = steps(&asked);
    assert!((20..60).contains(&steps.len()), "{} requests in ten minutes", steps.len());
    assert_eq!(steps[..4], ["list", "10", "11", "12"]);
    assert_eq!(steps.iter().filter(|step| *step == "list").count(), 1);
    let error = watch.state().last_error;
    assert_eq!(error.as_deref(), Some("the stream ended as soon as it had begun"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_lived_is_followed_by_the_next_at_once() {
    let (senders, streams) = live();
    let (client, asked) = reflected(|_| list(10, "", &[]), streams);
    let watch = watch(client);
    sleep(60 * SECOND).await;
    // Half an event, and the connection breaks.
    let sender = senders.lock().unwrap().pop().unwrap();
    sender.send(event("ADDED", &object("a", 12))).unwrap();
    sender.send(r#"{"type":"ADDED","obj"#.into()).unwrap();
    drop(sender);
    sleep(SECOND / 10).await;
    assert_eq!(story(&asked)[1..], [("10".into(), 0), ("12".into(), 60)]);
    assert_eq!((shown(&watch).as_str(), watch.state().restarts), ("a@12", 0));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_falls_silent_after_bookmarks_is_given_up() {
    let (client, asked) = reflected(|_| list(10, "", &[]), |_| stuck(&[&bookmark(11)]));
    let watch = watch(client);
    sleep(155 * SECOND).await;
    let error = watch.state().last_error;
    assert_eq!(error.as_deref(), Some("the stream fell silent"));
    let again = &story(&asked)[2];
    assert_eq!(again.0, "11", "from where it was");
    assert!((150..=151).contains(&again.1), "{}", again.1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_never_said_a_word_is_given_up_once_and_the_list_makes_up_for_it() {
    // Half-open from its beginning: nothing comes, and nothing ends it.
    let (client, asked) = reflected(
        |number| list(10 + number as u64, "", &[object("a", 5 + number as u64)]),
        |number| if number == 1 { stuck(&[]) } else { stuck(&[&bookmark(20)]) },
    );
    let watch = watch(client);
    sleep(152 * SECOND).await;
    let story = story(&asked);
    assert_eq!(story[2].0, "list");
    assert!((150..=151).contains(&story[2].1), "{}", story[2].1);
    assert_eq!((shown(&watch).as_str(), watch.state().restarts), ("a@7", 0), "no failure");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_no_bookmarks_is_found_out_once() {
    // The first hears an event, so it is no dead one; none ever ends by itself.
    let (client, asked) = reflected(
        |_| list(10, "", &[]),
        |number| stuck(&[&event("MODIFIED", &object("a", 11 + number as u64))]),
    );
    let _watch = watch(client);
    sleep(600 * SECOND).await;
    let story = story(&asked);
    let times: Vec<u64> = story.iter().map(|(_, at)| *at).collect();
    assert!(story.iter().skip(1).all(|(step, _)| step != "list"), "{story:?}");
    assert!((150..=151).contains(&times[2]), "{times:?}");
    assert!((240..=302).contains(&(times[3] - times[2])), "as long as was asked for: {times:?}");
    assert_eq!(times.len(), 4, "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn after_a_stream_that_said_nothing_at_all_comes_a_list() {
    // Restored from a backup in between.
    let (senders, streams) = live();
    let (client, asked) = reflected(
        |number| {
            list(if number == 0 { 1000 } else { 500 }, "", &[object("a", 400 + number as u64)])
        },
        streams,
    );
    let watch = watch(client);
    sleep(60 * SECOND).await;
    senders.lock().unwrap().clear();
    sleep(140 * SECOND).await;
    assert_eq!(steps(&asked), ["list", "1000", "1000"], "a minute of silence means nothing");
    sleep(11 * SECOND).await;
    assert_eq!(steps(&asked)[3..], ["list", "500"]);
    assert_eq!((shown(&watch).as_str(), watch.state().restarts), ("a@403", 0));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_goes_backwards_means_a_new_list() {
    let (client, asked) = server(|number, _| match number {
        0 => list(1000, "", &[object("a", 900)]),
        1 => stuck(&[&bookmark(500)]),
        2 => list(510, "", &[object("a", 505)]),
        _ => stuck(&[]),
    });
    let watch = watch(client);
    sleep(SECOND).await;
    assert_eq!(steps(&asked), ["list", "1000", "list", "510"]);
    assert_eq!(shown(&watch), "a@505");
}

#[tokio::test(start_paused = true)]
async fn a_broken_item_hurts_only_itself() {
    let broken = r#"{"metadata":{"name":"b","namespace":"n","uid":"u","resourceVersion":"x7"}}"#;
    let (client, _) = server(move |number, _| match number {
        0 => list(10, "", &[object("a", 5), object("b", 6), "7".into()]),
        1 => stuck(&[
            &event("MODIFIED", broken),
            &event("ADDED", &object("c", 11)),
            &event("ERROR", GONE),
        ]),
        2 => list(20, "", &[object("a", 15), broken.into(), object("c", 11)]),
        _ => stuck(&[&event("MODIFIED", &object("b", 21))]),
    });
    let watches = Watches::new(client, None, Arc::default());
    let watch = watches.watch(key());
    let first = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&first);
    let deletions = watch.store().subscribe(move |notice| {
        if let Notice::Changed(change) = notice {
            seen.fetch_add(usize::from(change.after.is_none()), Ordering::SeqCst);
        }
    });
    sleep(SECOND).await;
    assert_eq!(shown(&watch), "a@15 b@21 c@11");
    assert_eq!(first.load(Ordering::SeqCst), 0, "an object that cannot be read is not gone");
    drop(deletions);
    let unreadable = watch.state().unreadable.unwrap();
    assert_eq!(
        unreadable,
        "unreadable object ConfigMap n/b: metadata.resourceVersion is not a number"
    );
    assert_eq!(watches.all().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_the_server_asks_for_is_kept() {
    let (client, asked) = server(|number, uri| match number {
        0 => Reply::Later(429, 20),
        1 => refusal(503, "not ready", 30),
        2 => list(10, "", &[]),
        3 => refusal(429, "storage is (re)initializing", 40),
        _ if is_watch(uri) => stuck(&[]),
        _ => Reply::Nothing,
    });
    let watch = watch(client);
    sleep(10 * SECOND).await;
    assert_eq!(
        watch.state().last_error.as_deref(),
        Some("the API server answers 429: Too many requests, please try again later.")
    );
    sleep(110 * SECOND).await;
    let expected = [("list", 0), ("list", 20), ("list", 50), ("10", 50), ("10", 90)];
    assert_eq!(story(&asked), expected.map(|(step, at)| (step.to_owned(), at)));
}

#[tokio::test(start_paused = true)]
async fn a_refused_watch_keeps_what_it_had_says_why_and_comes_back() {
    let allowed = Arc::new(AtomicUsize::new(1));
    let switch = Arc::clone(&allowed);
    let (client, asked) =
        server(move |_, uri| match (switch.load(Ordering::SeqCst), is_watch(uri)) {
            (0, _) => Reply::Text(404, "404 page not found\n".into()),
            (_, false) => list(10, "", &[object("a", 5)]),
            (_, true) => Reply::Stream(feed(&[])),
        });
    let watch = watch(client);
    watch.synced().await;
    allowed.store(0, Ordering::SeqCst);
    sleep(300 * SECOND).await;
    let requests = asked.lock().unwrap().len();
    assert!((10..40).contains(&requests), "{requests} in five minutes");
    let state = watch.state();
    assert_eq!(state.last_error.as_deref(), Some("the API server answers 404: 404 page not found"));
    assert!(state.synced && state.restarts + 2 >= requests as u64);
    assert_eq!(shown(&watch), "a@5", "a failed list is never a removal");
    allowed.store(1, Ordering::SeqCst);
    sleep(31 * SECOND).await;
    let steps = steps(&asked);
    assert!(
        steps[requests..].starts_with(&["list".into(), "10".into()]),
        "{:?}",
        &steps[requests..]
    );
}

#[tokio::test(start_paused = true)]
async fn requests_that_hang_are_given_up() {
    let (client, asked) = server(|number, _| match number {
        0 | 2 => Reply::Nothing,
        1 => list(10, "", &[]),
        3 => list(11, "", &[]),
        _ => stuck(&[]),
    });
    let _watch = watch(client);
    sleep(100 * SECOND).await;
    let steps = story(&asked);
    assert_eq!(steps[0], ("list".into(), 0));
    assert!(steps[1].0 == "list" && (60..62).contains(&steps[1].1), "{steps:?}");
    assert_eq!(
        (steps[2].0.as_str(), steps[3].0.as_str(), steps[4].0.as_str()),
        ("10", "list", "11")
    );
    assert!((90..96).contains(&steps[3].1), "{steps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_expires_between_two_pages_is_asked_for_in_one_piece() {
    let (client, asked) = server(|number, _| match number {
        0 => list(10, "1", &[object("a", 5)]),
        1 => Reply::Text(410, GONE.into()),
        2 => list(20, "", &[object("b", 15)]),
        _ => stuck(&[]),
    });
    let watch = watch(client);
    watch.synced().await;
    assert_eq!(shown(&watch), "b@15");
    let uri = asked.lock().unwrap()[2].1.clone();
    assert!(!uri.contains("limit") && !uri.contains("continue"), "{uri}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_an_index_does_not_leave_a_dead_watch() {
    let (client, _) = reflected(
        |_| list(10, "", &[object("a", 5)]),
        |_| stuck(&[&event("ADDED", &object("b", 11))]),
    );
    let panics = Arc::new(AtomicUsize::new(1));
    let index: Index = Arc::new(move |stored: &Stored| {
        let left = panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        assert!(left.is_err(), "on purpose, at {}", stored.id);
        Vec::new()
    });
    let watch = Watches::new(client, Some(index), Arc::default()).watch(key());
    watch.synced().await;
    sleep(SECOND).await;
    assert_eq!((shown(&watch).as_str(), watch.state().restarts), ("a@5 b@11", 1));
}

#[tokio::test(start_paused = true)]
async fn equal_keys_share_a_stream_that_ends_with_its_last_holder() {
    let (senders, streams) = live();
    let (client, asked) = reflected(|_| list(10, "", &[]), streams);
    let watches = Watches::new(client, None, Arc::default());
    let mut cluster = key();
    cluster.resource.namespaced = false;
    let namespaced =
        WatchKey { namespace: Some("n".into()), labels: Some(String::new()), ..cluster.clone() };
    let everywhere = WatchKey { labels: None, ..cluster };
    let (one, two) = (watches.watch(namespaced), watches.watch(everywhere));
    assert!(
        Arc::ptr_eq(one.store(), two.store()),
        "the namespace of a cluster-scoped kind means nothing"
    );
    let other = watches.watch(WatchKey { managed_fields: true.into(), ..key() });
    assert!(!Arc::ptr_eq(one.store(), other.store()));
    one.synced().await;
    sleep(SECOND).await;
    assert_eq!((asked.lock().unwrap().len(), watches.all().len()), (4, 2));
    let closed = |sender: &&UnboundedSender<String>| sender.is_closed();
    let ended = || senders.lock().unwrap().iter().filter(closed).count();
    let store = Arc::downgrade(one.store());
    drop(one);
    sleep(SECOND).await;
    assert_eq!(ended(), 0);
    drop(two);
    sleep(SECOND).await;
    assert_eq!(ended(), 1);
    assert!(store.upgrade().is_none(), "the store is freed");
    assert_eq!(watches.all().len(), 1);
    assert_eq!(watches.running.lock().unwrap().len(), 1, "and so is its key");
    drop(watches);
    sleep(SECOND).await;
    assert!(other.state().synced, "a watch outlives the collection it came from");
}

#[test]
fn a_key_reads_as_a_sentence() {
    let mut key = key();
    key.namespace = Some("shop".into());
    assert_eq!(key.to_string(), "v1 ConfigMap in shop with a=b");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_nobody_follows_is_tried_again_and_ends() {
    let (client, asked) = server(|number, _| match number {
        0 => refusal(503, "busy", 0),
        1 => list(50, "next", &[object("a", 3)]),
        2 => Reply::Text(410, GONE.to_owned()),
        _ => list(60, "", &[object("b", 4)]),
    });
    let store = list_once(&client, key(), None).await.unwrap();
    let names: Vec<String> = store.all().iter().map(|stored| stored.id.name.to_string()).collect();
    assert_eq!((names, store.synced()), (vec!["b".to_owned()], true));
    sleep(1000 * SECOND).await;
    assert_eq!(steps(&asked), ["list"; 4], "and no stream");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_forbidden_is_asked_for_once() {
    let (client, asked) = server(|_, _| refusal(403, "no", 0));
    let error = list_once(&client, key(), None).await.err().unwrap();
    assert!(error.forbidden);
    assert_eq!(error.to_string(), "the API server answers 403: no");
    assert_eq!(steps(&asked), ["list"]);
    let (client, asked) = server(|_, _| refusal(500, "broken", 0));
    let error = list_once(&client, key(), None).await.err().unwrap();
    assert!(!error.forbidden);
    assert_eq!(steps(&asked), ["list"; 3], "and given up in the end");
}
