//! Keeps one store equal to what the API server has: a list, then a stream of events from its version on.
//!
//! In: a client and a key. Out: changes to the store, and the state of the watch. Never here: a loop without a pause; an
//! end, except by dropping.
//!
//! Own loop, since the rules of the [store](crate::store) need the version of a list and of bookmarks, which
//! `kube::runtime::watcher` keeps to itself.

use super::failure::Failure;
use super::outage::Outage;
use super::wire::{Event, Page, fetch, stream};
use super::{State, WatchKey};
use crate::metrics::Metrics;
use crate::queue::{Backoff, random};
use crate::store::{Name, Store, Stored, Unreadable, name_of};
use futures::FutureExt;
use kube::Client;
use kube::api::{ListParams, WatchParams};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

const BACKOFF: Backoff =
    Backoff { base: Duration::from_millis(1600), cap: Duration::from_secs(30) };

/// A list that nobody follows is begun so often.
const TRIES: u32 = 3;

/// For one page of a list.
const PAGE_WITHIN: Duration = Duration::from_mins(1);

/// For the beginning of a stream.
const STREAM_WITHIN: Duration = Duration::from_secs(30);

/// We ask for streams that last this long, and for up to a minute less, so that streams begun together do not end
/// together.
const STREAM_LASTS: Duration = Duration::from_secs(290);

/// A stream that ends before this time counts as failed, however it ended: the next one has to wait.
const PROVEN_AFTER: Duration = Duration::from_secs(5);

/// The API server sends each stream a bookmark about once a minute. A stream that had one and then nothing for this long
/// is dead: somebody on the way keeps the connection open and passes nothing on. One that never had any may be of a server
/// that sends none, which is tried once.
const SILENT_AFTER: Duration = Duration::from_secs(150);

/// How long after the time we asked for a stream may end.
const GRACE: Duration = Duration::from_secs(10);

/// Pages have at most this many items…
const PAGE: usize = 500;

/// …and fewer where items are big: a page is held in memory as a whole.
const PAGE_BYTES: usize = 8 << 20;

/// The first page, before we know how big items are.
const FIRST_PAGE: usize = 100;

pub(super) struct Reflector {
    client: Client,
    key: WatchKey,
    path: String,
    store: Arc<Store>,
    told: Told,
    /// The stream can go on from where it was.
    listed: bool,
    /// The server did not keep a list long enough to page through it.
    unpaged: bool,
    failures: u32,
    /// A list was begun without a wait since the last stream proved itself.
    relisted: bool,
    bookmarks: Bookmarks,
    /// The sort of the last failure, until a stream has proven itself.
    failing: Option<(std::mem::Discriminant<Failure>, u16)>,
}

/// Whether a stream without bookmarks is taken for a dead one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bookmarks {
    /// The server sends them, as far as we know.
    Expected,
    /// A stream was given up because it had none, and none has come since: the server may send none.
    Missed,
}

/// Who hears how a watch is doing.
pub(super) struct Told {
    pub(super) state: watch::Sender<State>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) outage: Arc<Outage>,
}

impl Reflector {
    pub(super) fn new(client: Client, key: WatchKey, store: Arc<Store>, told: Told) -> Self {
        let path = key.resource.path(key.namespace.as_deref());
        Self {
            client,
            key,
            path,
            store,
            told,
            listed: false,
            unpaged: false,
            failures: 0,
            relisted: false,
            bookmarks: Bookmarks::Expected,
            failing: None,
        }
    }

    /// Runs for ever: not even a bug in an index function may leave a watch dead and silent.
    pub(super) async fn run(mut self) {
        loop {
            let Err(_) = AssertUnwindSafe(self.reflect()).catch_unwind().await;
            self.failed(&Failure::Panicked).await;
        }
    }

    /// Lists everything, and ends.
    pub(super) async fn once(mut self) -> Result<(), Failure> {
        loop {
            let failure = match self.list().await {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            self.failures += 1;
            if self.failures >= TRIES || !failure.may_pass() {
                return Err(failure);
            }
            sleep(failure.retry_after().max(Duration::from_millis(200))).await;
        }
    }

    async fn reflect(&mut self) -> Infallible {
        loop {
            let step = if self.listed { self.follow().await } else { self.list().await };
            if let Err(failure) = step {
                self.failed(&failure).await;
            }
        }
    }

    /// Lists everything, page by page. Without a resourceVersion this is a consistent read.
    async fn list(&mut self) -> Result<(), Failure> {
        let mut names: HashSet<Name> = HashSet::new();
        let mut params =
            ListParams { label_selector: self.key.labels.clone(), ..ListParams::default() };
        let mut limit = FIRST_PAGE;
        let mut unreadable = None;
        loop {
            params.limit = u32::try_from(limit).ok().filter(|_| !self.unpaged);
            let body = timeout(PAGE_WITHIN, fetch(&self.client, &self.path, &params)).await;
            let body = body.unwrap_or(Err(Failure::Slow(PAGE_WITHIN)));
            if let Err(Failure::Refused { code: 410, .. }) = body {
                self.unpaged = true;
            }
            let body = body?;
            let page = Page::read(body.as_ref())?;
            let version = page.version()?;
            let mut items = Vec::new();
            for item in page.items() {
                match self.store.format().read(item.get()) {
                    Ok(stored) => {
                        names.insert(name_of(&stored.id));
                        items.push(stored);
                    }
                    Err(error) => {
                        // It exists: what is stored of it stays.
                        names.extend(error.id.as_ref().map(name_of));
                        unreadable = Some(error);
                    }
                }
            }
            self.store.page(version, items);
            let Some(next) = page.next() else {
                self.store.listed(version, &names);
                break;
            };
            params.continue_token = Some(next);
            limit = PAGE_BYTES * page.items().len().max(1) / body.as_ref().len();
            limit = limit.clamp(10, PAGE);
        }
        (self.listed, self.unpaged) = (true, false);
        self.told.outage.note(true);
        self.told.state.send_modify(|state| state.synced = true);
        self.unreadable(unreadable);
        Ok(())
    }

    /// Follows one stream until it ends.
    async fn follow(&mut self) -> Result<(), Failure> {
        let lasts = STREAM_LASTS.saturating_sub(Duration::from_mins(1).mul_f64(random()));
        let params = WatchParams {
            label_selector: self.key.labels.clone(),
            timeout: u32::try_from(lasts.as_secs()).ok(),
            ..WatchParams::default()
        };
        let version = self.store.delivered();
        let lines = stream(&self.client, &self.path, &params, version);
        let lines = timeout(STREAM_WITHIN, lines).await;
        let mut lines = lines.unwrap_or(Err(Failure::Slow(STREAM_WITHIN)))?;
        self.told.outage.note(true);
        let begun = Instant::now();
        let (end, proven_at) = (begun + lasts + GRACE, begun + PROVEN_AFTER);
        let (mut proven, mut bookmarks, mut heard) = (false, false, None);
        loop {
            if !proven && Instant::now() >= proven_at {
                proven = true;
                self.proven();
            }
            let silent = heard.unwrap_or(begun) + SILENT_AFTER;
            let silent = if bookmarks || self.bookmarks == Bookmarks::Expected {
                end.min(silent)
            } else {
                end
            };
            match timeout_at(if proven { silent } else { proven_at }, lines.next()).await {
                Ok(line) => match line? {
                    Some(line) => {
                        bookmarks |= self.hear(line)?;
                        if bookmarks {
                            self.bookmarks = Bookmarks::Expected;
                        }
                        heard = Some(Instant::now());
                    }
                    None => return self.ended(begun.elapsed(), heard.is_some()),
                },
                Err(_) if proven && !bookmarks && Instant::now() < end => {
                    self.bookmarks = Bookmarks::Missed;
                    return self.ended(begun.elapsed(), heard.is_some());
                }
                Err(_) if proven => return Err(Failure::Silent),
                Err(_) => {}
            }
        }
    }

    /// A stream ended, however it did; whether that is in order, and how to go on.
    fn ended(&mut self, lived: Duration, heard: bool) -> Result<(), Failure> {
        if lived < PROVEN_AFTER {
            return Err(Failure::Short);
        }
        // A server that was restored from a backup accepts a version it never had, and then says nothing at all, not even
        // bookmarks (seen on 1.37.2). A stream without a word that should have had bookmarks is such a one.
        self.listed = heard || lived < SILENT_AFTER;
        Ok(())
    }

    /// Takes in one line of a stream; tells whether it was a bookmark.
    fn hear(&mut self, line: &[u8]) -> Result<bool, Failure> {
        match Event::read(line)? {
            Event::Applied(object) => {
                if let Some(object) = self.read(object)? {
                    self.store.applied(object);
                }
            }
            Event::Deleted(object) => {
                if let Some(object) = self.read(object)? {
                    self.store.deleted(&object);
                }
            }
            Event::Passed(version) => {
                self.not_before(version)?;
                self.store.bookmark(version);
                return Ok(true);
            }
            Event::Other => {}
        }
        Ok(false)
    }

    fn read(&mut self, object: &RawValue) -> Result<Option<Stored>, Failure> {
        match self.store.format().read(object.get()) {
            Ok(stored) => {
                self.not_before(stored.resource_version)?;
                Ok(Some(stored))
            }
            Err(error) => {
                self.unreadable(Some(error));
                Ok(None)
            }
        }
    }

    /// A stream goes forward. If it does not, the server's etcd was restored from a backup.
    fn not_before(&self, version: u64) -> Result<(), Failure> {
        if version < self.store.delivered() { Err(Failure::Rewound) } else { Ok(()) }
    }

    /// Says what is wrong, once for each sort, and waits.
    async fn failed(&mut self, failure: &Failure) {
        self.listed &= !failure.needs_list();
        self.failures = self.failures.saturating_add(1);
        // After an outage the server often knows our version no more, and a list is overdue. Only one, though.
        let at_once = failure.expired() && !std::mem::replace(&mut self.relisted, true);
        let backoff = if at_once { Duration::ZERO } else { BACKOFF.delay(self.failures, random()) };
        let wait = backoff.max(failure.retry_after());
        if matches!(failure, Failure::Unreachable(_)) {
            self.told.outage.note(false);
        }
        if self.failing != Some(failure.sort()) {
            self.failing = Some(failure.sort());
            let (watch, error) = (&self.key, failure);
            if failure.is_forbidden() {
                tracing::warn!(%watch, %error, "watch fails: `kubewright rbac` prints the rights that the rules need");
            } else {
                tracing::warn!(%watch, %error, "watch fails");
            }
        }
        self.told.metrics.restarted(&self.key.resource.gvk.group_kind());
        self.told.state.send_modify(|state| {
            state.restarts += 1;
            state.last_error = Some(failure.to_string());
        });
        sleep(wait).await;
    }

    fn proven(&mut self) {
        (self.failures, self.relisted) = (0, false);
        if self.failing.take().is_some() {
            tracing::info!(watch = %self.key, "watch works again");
            self.told.state.send_modify(|state| state.last_error = None);
        }
    }

    /// Remembers the last object that could not be read, and says so once.
    fn unreadable(&self, error: Option<Unreadable>) {
        let text = error.map(|error| error.to_string());
        self.told.state.send_if_modified(|state| {
            let news = state.unreadable != text;
            if let Some(error) = text.as_ref().filter(|_| news) {
                tracing::warn!(watch = %self.key, error, "an object cannot be read and is ignored");
            }
            state.unreadable = text;
            news
        });
    }
}
