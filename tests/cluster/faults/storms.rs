//! Storms of one kind of fault each, while parents come, change and go.
//!
//! In: the work of a plot. Out: the same state as that of an undisturbed run, after not many more requests, and then silence.

use super::plot::{LEFT, Plot, State, work};
use crate::proxy::{Asked, Fault, Proxy};
use crate::world::{PATIENCE, world};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;
use tokio::time::{sleep, timeout};

/// In a storm a request may be sent so often for each that an undisturbed run sends.
const RATIO: usize = 4;

/// So many faults come before the work goes on, as long as they come in time.
const EACH: usize = 12;

/// So many there are in every storm.
const LEAST: usize = 6;

/// How long the work waits for them.
const GOES_ON: Duration = Duration::from_secs(4);

/// How long nothing is asked when nothing is to be done.
const QUIET: Duration = Duration::from_secs(5);

/// What an undisturbed run leaves behind.
pub(crate) struct Calm {
    pub(crate) state: State,
    requests: usize,
    /// How often each object was created.
    pub(crate) created: BTreeMap<String, usize>,
}

static CALM: OnceCell<Calm> = OnceCell::const_new();

/// An undisturbed run, through a proxy that does nothing.
pub(crate) async fn calm() -> &'static Calm {
    CALM.get_or_init(|| async {
        let plot = Plot::new(world().client("faults-calm"), "faults-calm").await;
        let proxy = Proxy::start(world().client("kubewright-faults-calm")).await;
        let running = plot.start(proxy.client());
        work(&plot, async || running.controller.settled().await).await;
        running.controller.settled().await;
        let state = rests(&plot, &proxy, |_| Ok(())).await;
        running.stop().await;
        let parents = state.keys().filter(|key| key.starts_with("WebApp")).count();
        assert_eq!((parents, state.len()), LEFT, "{:#?}", state.keys());
        let seen = proxy.seen();
        Calm { state, requests: requests(&seen), created: created(&seen, &plot.name) }
    })
    .await
}

/// Requests that cost the API server something now: watches stay, and Events are limited for themselves.
fn requests(seen: &[Asked]) -> usize {
    seen.iter().filter(|asked| !asked.is_watch() && !asked.is_about_events()).count()
}

/// How often each child was created, without the plot's own name.
pub(crate) fn created(seen: &[Asked], plot: &str) -> BTreeMap<String, usize> {
    let mut created = BTreeMap::new();
    for asked in seen.iter().filter(|asked| asked.is_write() && asked.code == Some(201)) {
        let path = asked.path.split('?').next().unwrap_or_default().replace(plot, "PLOT");
        *created.entry(path).or_default() += 1;
    }
    created
}

/// No child was created more often than in an undisturbed run, unless its parent went.
pub(crate) fn nothing_twice(calm: &Calm, seen: &[Asked], plot: &str) {
    for (path, times) in created(seen, plot) {
        let expected = calm.created.get(&path).copied().unwrap_or(1);
        let parent = path.rsplit('/').next().map_or("", |name| name.get(..6).unwrap_or(name));
        let about: Vec<_> = seen
            .iter()
            .filter(|asked| !asked.is_watch() && asked.path.contains(parent))
            .map(|a| {
                format!(
                    "{} {} {:?}",
                    a.method,
                    a.path.split('?').next().unwrap_or_default(),
                    a.code
                )
            })
            .collect();
        // Of a parent that went while neither the watch nor an answer could tell us, what is made is collected at once, and made
        // again with the next try: a few times, since the first answer about the parent ends it.
        let goes = seen.iter().any(|asked| asked.path.contains(parent) && asked.code == Some(404));
        let most = if goes { expected + 5 } else { expected };
        assert!(times <= most, "{path} was created {times} times, not {expected}: {about:#?}");
    }
}

/// What two states do not have in common, in short.
pub(crate) fn difference(found: &State, expected: &State) -> Result<(), String> {
    let lines: Vec<String> = expected
        .keys()
        .chain(found.keys().filter(|key| !expected.contains_key(*key)))
        .filter(|key| found.get(*key) != expected.get(*key))
        .map(|key| match (found.get(key), expected.get(key)) {
            (Some(found), Some(expected)) => format!("{key} is {found}\n  and not {expected}"),
            (Some(_), None) => format!("{key} is left over"),
            _ => format!("{key} is missing"),
        })
        .collect();
    let count = lines.len();
    let some = lines.into_iter().take(3).collect::<Vec<_>>().join("\n");
    if count == 0 { Ok(()) } else { Err(format!("{count} differ: {some}")) }
}

/// Waits until the state is as it should be, and then until nothing is asked for a while.
pub(crate) async fn rests(
    plot: &Plot,
    proxy: &Proxy,
    is_right: impl Fn(&State) -> Result<(), String>,
) -> State {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let state = plot.state().await;
        let wrong = match is_right(&state) {
            Ok(()) => {
                let asked = |seen: &[Asked]| seen.iter().filter(|asked| !asked.is_watch()).count();
                let before = proxy.seen().len();
                // The claim is about a time in which nothing is asked.
                sleep(QUIET).await;
                let after = proxy.seen().split_off(before);
                if asked(&after) == 0 {
                    return state;
                }
                format!("it is not quiet: {after:#?}")
            }
            Err(wrong) => wrong,
        };
        assert!(Instant::now() < deadline, "{}: not after {PATIENCE:?}: {wrong}", plot.name);
        sleep(Duration::from_millis(500)).await;
    }
}

/// A number below another that is the same in each run.
pub(crate) fn chance_below(number: usize, limit: u64) -> usize {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    usize::try_from(hasher.finish() % limit).expect("it is small")
}

fn chance(number: usize, percent: usize) -> bool {
    chance_below(number, 100) < percent
}

async fn storm(name: &str, plan: impl Fn(&Asked, usize) -> Option<Fault> + Send + Sync + 'static) {
    let calm = calm().await;
    let plot = Plot::new(world().client(name), name).await;
    let proxy = Proxy::start(world().client(&format!("kubewright-{name}"))).await;
    let number = AtomicUsize::new(0);
    proxy.does(move |asked| plan(asked, number.fetch_add(1, Ordering::SeqCst)));
    let running = plot.start(proxy.client());
    let pause = async || {
        let until = proxy.faults() + EACH;
        let more = async {
            while proxy.faults() < until {
                sleep(Duration::from_millis(20)).await;
            }
        };
        // Pace only: what is there in the end does not depend on it.
        drop(timeout(GOES_ON, more).await);
    };
    timeout(PATIENCE, work(&plot, pause)).await.expect("parents that are deleted go");
    let enough = async {
        while proxy.faults() < LEAST {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, enough).await.expect("the storm hits");
    let (faults, begun) = (proxy.faults(), Instant::now());
    proxy.is_calm();
    rests(&plot, &proxy, |state| difference(state, &calm.state)).await;
    let seen = proxy.seen();
    let (sent, recovered) = (requests(&seen), begun.elapsed().saturating_sub(QUIET));
    let events = seen.iter().filter(|asked| asked.is_about_events()).count();
    eprintln!(
        "{name}: {faults} faults, {sent} requests (undisturbed {}), {events} for Events, all right {recovered:.1?} after",
        calm.requests
    );
    assert!(sent <= RATIO * calm.requests, "{sent} requests, and {} undisturbed", calm.requests);
    nothing_twice(calm, &seen, name);
    running.stop().await;
    // Nothing is remembered that the cluster does not say too: who comes after has nothing to write.
    let before = proxy.seen().len();
    let again = plot.start(proxy.client());
    timeout(PATIENCE, again.controller.settled()).await.expect("it comes to rest");
    let after = proxy.seen().split_off(before);
    assert!(requests(&after) >= 3, "it did start");
    let writes: Vec<_> = after.iter().filter(|asked| asked.is_write()).collect();
    assert!(writes.is_empty(), "{writes:#?}");
    again.stop().await;
}

pub(crate) async fn a_slow_server_costs_nothing_but_time() {
    storm("faults-late", |_, number| {
        let time = Duration::from_millis(10 + (number as u64 * 37) % 250);
        chance(number, 50).then_some(Fault::Late(time))
    })
    .await;
}

pub(crate) async fn a_server_that_asks_to_wait_is_not_pressed() {
    storm("faults-wait", |asked, number| {
        let refused = !asked.is_watch() && chance(number, 40);
        refused.then_some(Fault::Refused(429, Some(1)))
    })
    .await;
}

pub(crate) async fn bursts_of_server_errors_are_survived() {
    storm("faults-errors", |_, number| {
        let code = if chance(number, 50) { 500 } else { 503 };
        (number % 80 >= 40).then_some(Fault::Refused(code, None))
    })
    .await;
}

pub(crate) async fn requests_that_are_cut_are_sent_again() {
    storm("faults-request-cut", |_, number| chance(number, 30).then_some(Fault::RequestCut)).await;
}

pub(crate) async fn answers_that_are_lost_or_cut_are_made_up_for() {
    storm("faults-answer-cut", |_, number| {
        let fault = if number.is_multiple_of(2) { Fault::AnswerCut } else { Fault::AnswerLost };
        chance(number, 30).then_some(fault)
    })
    .await;
}

pub(crate) async fn answers_that_are_half_there_are_no_answers() {
    storm("faults-half-body", |asked, number| {
        (!asked.is_watch() && chance(number, 30)).then_some(Fault::HalfBody)
    })
    .await;
}

pub(crate) async fn requests_that_are_never_answered_are_given_up() {
    let hung = AtomicUsize::new(0);
    storm("faults-unanswered", move |asked, number| {
        let some = asked.is_write()
            && chance(number, 10)
            && hung.fetch_add(1, Ordering::SeqCst) < EACH + 4;
        some.then_some(Fault::Unanswered)
    })
    .await;
}

pub(crate) async fn watches_that_end_are_begun_again() {
    storm("faults-ended", |asked, number| {
        asked.is_watch().then_some(Fault::Ended(Duration::from_millis(50 + number as u64 % 400)))
    })
    .await;
}

pub(crate) async fn watches_that_are_too_old_or_garbled_lose_nothing() {
    storm("faults-too-old", |asked, number| {
        let fault = if number.is_multiple_of(2) { Fault::TooOld } else { Fault::HalfEvent };
        let else_ended = Fault::Ended(Duration::from_millis(500));
        asked.is_watch().then_some(if chance(number, 70) { fault } else { else_ended })
    })
    .await;
}

pub(crate) async fn everything_at_once_is_survived() {
    const ALL: [Fault; 8] = [
        Fault::Late(Duration::from_millis(100)),
        Fault::Refused(429, Some(1)),
        Fault::Refused(503, None),
        Fault::RequestCut,
        Fault::AnswerLost,
        Fault::AnswerCut,
        Fault::HalfBody,
        Fault::TooOld,
    ];
    storm("faults-all", |asked, number| {
        let fault = ALL[number / 3 % ALL.len()];
        let fits = asked.is_watch() || fault != Fault::TooOld;
        (fits && chance(number, 35)).then_some(fault)
    })
    .await;
}
