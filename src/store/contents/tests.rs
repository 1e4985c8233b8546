//! The rules of the cache, over every interleaving of events, answers and lists.

use super::*;
use crate::object::Gvk;
use crate::store::Format;
use std::collections::VecDeque;

fn object(name: &str, version: u64) -> Stored {
    object_of(name, version, "u")
}

fn object_of(name: &str, version: u64, uid: &str) -> Stored {
    let metadata = format!(r#"{{"name":"{name}","uid":"{uid}","resourceVersion":"{version}"}}"#);
    format().read(&format!(r#"{{"metadata":{metadata}}}"#)).unwrap()
}

fn format() -> Format {
    Format::new(&Gvk::parse("v1", "ConfigMap").unwrap(), false)
}

fn name(name: &str) -> Name {
    ("".into(), name.into())
}

/// What is shown, as `a@3 b@5`.
fn shown(contents: &Contents) -> String {
    let one = |stored: &Arc<Stored>| format!("{}@{}", stored.id.name, stored.resource_version);
    contents.objects.values().map(one).collect::<Vec<_>>().join(" ")
}

fn synced_at(version: u64) -> Contents {
    let mut contents = Contents::new(None);
    contents.listed(version, &HashSet::new());
    contents
}

#[test]
fn an_answer_is_shown_at_once_and_its_own_event_is_no_news() {
    let mut contents = synced_at(10);
    let change = contents.observe(object("a", 12)).unwrap();
    assert!(change.own && change.before.is_none());
    assert_eq!(shown(&contents), "a@12");
    assert!(contents.applied(object("a", 12)).is_none());
    assert_eq!(contents.delivered, 12);
}

#[test]
fn an_answer_that_the_deletion_overtook_brings_nothing_back() {
    let mut contents = synced_at(10);
    assert!(contents.applied(object("a", 11)).is_some());
    assert!(contents.deleted(&name("a"), 12).is_some());
    assert!(contents.observe(object("a", 11)).is_none());
    assert_eq!(shown(&contents), "");
}

#[test]
fn a_bookmark_is_as_good_as_an_event() {
    let mut contents = synced_at(10);
    contents.bookmark(12);
    contents.bookmark(11);
    assert!(contents.observe(object("a", 12)).is_none());
    assert!(contents.observe(object("a", 13)).is_some());
}

#[test]
fn events_older_than_an_answer_change_nothing() {
    let mut contents = synced_at(10);
    contents.applied(object("a", 11));
    contents.observe(object("a", 15));
    assert!(contents.applied(object("a", 13)).is_none());
    assert!(contents.deleted(&name("a"), 14).is_none(), "it was made anew since");
    assert_eq!(shown(&contents), "a@15");
    assert!(contents.observe(object("a", 15)).is_none(), "the same answer twice");
    assert!(contents.deleted(&name("a"), 16).is_some());
}

#[test]
fn a_deletion_at_the_version_that_was_answered_counts() {
    // Our write took off the label that the watch selects: the event says deleted, at the version of the answer.
    let mut contents = synced_at(10);
    contents.observe(object("a", 15));
    assert!(contents.deleted(&name("a"), 15).is_some());
}

#[test]
fn an_answer_that_took_the_object_out_of_the_watch_does_not_bring_it_back() {
    let mut contents = synced_at(10);
    contents.page(10, vec![object("a", 9)]);
    assert!(contents.deleted(&name("a"), 15).is_some());
    assert!(contents.observe(object("a", 15)).is_none());
    assert_eq!((shown(&contents).as_str(), contents.delivered), ("", 15));
}

#[test]
fn what_we_deleted_is_not_shown_again_while_the_stream_is_behind() {
    let mut contents = synced_at(10);
    contents.applied(object_of("a", 11, "first"));
    let change = contents.gone(&name("a"), "first").unwrap();
    assert!(change.after.is_none() && !change.own, "others may wait for the name");
    assert!(contents.gone(&name("a"), "first").is_none(), "told once");
    assert!(contents.observe(object_of("a", 12, "first")).is_none(), "a late answer");
    assert!(contents.applied(object_of("a", 12, "first")).is_none(), "a late event");
    assert!(contents.page(12, vec![object_of("a", 12, "first")]).is_empty(), "a late list");
    assert!(contents.listed(12, &HashSet::from([name("a")])).is_empty());
    assert_eq!(shown(&contents), "");
    // It is made anew, deleted and made anew once more before the stream tells of anything.
    assert!(contents.observe(object_of("a", 14, "second")).is_some());
    assert!(contents.gone(&name("a"), "second").is_some());
    assert!(contents.observe(object_of("a", 16, "third")).is_some());
    assert!(contents.deleted(&name("a"), 13).is_none());
    assert!(contents.applied(object_of("a", 14, "second")).is_none());
    assert!(contents.deleted(&name("a"), 15).is_none());
    assert!(contents.applied(object_of("a", 16, "third")).is_none());
    assert_eq!(shown(&contents), "a@16");
    assert!(contents.gone.is_empty(), "nothing is remembered once the stream has passed it");
}

#[test]
fn a_deletion_that_is_not_ours_to_know_is_not_remembered() {
    let mut contents = synced_at(10);
    contents.applied(object_of("a", 11, "other"));
    assert!(contents.gone(&name("a"), "first").is_none(), "another object of that name");
    assert!(contents.gone(&name("b"), "first").is_none());
    assert_eq!(shown(&contents), "a@11");
    assert!(contents.gone.is_empty());
    // A list that does not name it ends the wait for its event, and so does a restored backup.
    for version in [12, 5] {
        contents.delivered = 10;
        contents.observe(object_of("a", 11, "other"));
        contents.gone(&name("a"), "other");
        assert!(contents.page(version, vec![]).is_empty());
        contents.listed(version, &HashSet::new());
        assert!(contents.gone.is_empty(), "{version}");
    }
}

#[test]
fn a_list_removes_what_it_does_not_name_unless_that_is_newer() {
    let mut contents = synced_at(10);
    contents.applied(object("old", 11));
    contents.observe(object("new", 21));
    contents.observe(object("gone", 20));
    let changes = contents.page(20, vec![object("listed", 5)]);
    assert_eq!(changes.len(), 1);
    let gone = contents.listed(20, &HashSet::from([name("listed")]));
    let gone: Vec<_> = gone.iter().map(|change| change.id.name.to_string()).collect();
    assert_eq!(gone, ["gone", "old"]);
    assert_eq!(shown(&contents), "listed@5 new@21");
}

#[test]
fn a_listed_item_that_is_older_than_the_answer_is_ignored() {
    let mut contents = synced_at(10);
    contents.observe(object("a", 25));
    assert!(contents.page(20, vec![object("a", 9)]).is_empty());
    assert!(contents.listed(20, &HashSet::from([name("a")])).is_empty());
    assert_eq!(shown(&contents), "a@25");
}

#[test]
fn listing_the_same_again_is_no_news_but_a_new_default_is() {
    let mut contents = synced_at(10);
    contents.page(11, vec![object("a", 5)]);
    assert!(contents.page(12, vec![object("a", 5)]).is_empty());
    let text = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"5"},"defaulted":true}"#;
    let changes = contents.page(13, vec![format().read(text).unwrap()]);
    assert_eq!(changes.len(), 1);
    assert!(changes[0].before.is_some());
}

#[test]
fn after_a_restored_backup_only_the_list_counts() {
    let mut contents = synced_at(1000);
    contents.applied(object("a", 1001));
    contents.observe(object("b", 1005));
    contents.observe(object("c", 1006));
    let changes = contents.page(500, vec![object("a", 400), object("b", 450)]);
    assert_eq!(changes.len(), 2);
    contents.listed(500, &HashSet::from([name("a"), name("b")]));
    assert_eq!((shown(&contents).as_str(), contents.delivered), ("a@400 b@450", 500));
    assert!(contents.observe(object("a", 501)).is_some());
}

#[test]
fn the_index_follows_every_change() {
    let index: Index = Arc::new(|stored: &Stored| stored.label("owner"));
    let owned = |object: &str, version: u64, owner: &str| {
        let labels = if owner.is_empty() { String::new() } else { format!(r#""owner":"{owner}""#) };
        let metadata = format!(
            r#"{{"name":"{object}","uid":"u","resourceVersion":"{version}","labels":{{{labels}}}}}"#
        );
        format().read(&format!(r#"{{"metadata":{metadata}}}"#)).unwrap()
    };
    let mut contents = Contents::new(Some(index));
    contents.page(
        9,
        vec![owned("b", 1, "x"), owned("a", 2, "x"), owned("c", 3, "xy"), owned("d", 4, "")],
    );
    let found = |contents: &Contents, key: &str| {
        let names = contents.indexed(key);
        names.iter().map(|stored| stored.id.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found(&contents, "x"), ["a", "b"]);
    assert_eq!(found(&contents, "xy"), ["c"]);
    assert_eq!(found(&contents, ""), Vec::<String>::new());
    contents.applied(owned("b", 10, "xy"));
    contents.applied(owned("a", 11, ""));
    contents.applied(owned("d", 12, "x"));
    contents.deleted(&name("c"), 13);
    assert_eq!(
        (found(&contents, "x"), found(&contents, "xy")),
        (vec!["d".into()], vec!["b".into()])
    );
    contents.deleted(&name("b"), 14);
    contents.deleted(&name("d"), 15);
    assert!(contents.indexed.is_empty());
}

#[test]
fn an_object_keeps_its_one_name_however_often_it_changes() {
    let mut contents = synced_at(1);
    contents.applied(object("a", 2));
    contents.applied(object("a", 3));
    let (key, stored) = contents.objects.first_key_value().unwrap();
    assert!(Arc::ptr_eq(&key.1, &stored.id.name));
}

/// A server with the objects `a` and `b`, one watch on it, and a writer that hears the answers to its writes and deletions
/// late or never, and deletes only what is shown. Every interleaving is walked through.
#[derive(Clone)]
struct World {
    contents: Contents,
    /// What happens on the server, one a version, beginning with version 1.
    history: Vec<Op>,
    /// The version of the server.
    now: u64,
    /// The versions whose answers have come.
    answered: Vec<u64>,
    /// The version of a list whose first page has come.
    listing: Option<u64>,
    lists: u8,
    /// What subscribers believe.
    told: BTreeMap<String, u64>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Op {
    Write(&'static str),
    Delete(&'static str),
}

impl World {
    fn happened(&self, version: u64) -> Op {
        self.history[usize::try_from(version).unwrap() - 1]
    }

    /// The object as it is at a version, with a uid of its own since it was last made.
    fn object(&self, name: &str, version: u64) -> Stored {
        let deleted = |v: &u64| self.happened(*v) == Op::Delete(object_name(name));
        let made_after = (1..=version).rev().find(deleted).unwrap_or(0);
        object_of(name, version, &format!("{name}-{made_after}"))
    }

    /// The version of an object at a version of the server.
    fn at(&self, object: &str, version: u64) -> Option<u64> {
        let op = |v: &u64| {
            [Op::Write(object_name(object)), Op::Delete(object_name(object))]
                .contains(&self.happened(*v))
        };
        let last = (1..=version).rev().find(op)?;
        matches!(self.happened(last), Op::Write(_)).then_some(last)
    }

    fn tell(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            let version =
                |stored: &Option<Arc<Stored>>| stored.as_ref().map(|s| s.resource_version);
            let object = change.id.name.to_string();
            assert_eq!(
                version(&change.before),
                self.told.get(&object).copied(),
                "{:?}",
                self.history
            );
            match version(&change.after) {
                Some(after) => self.told.insert(object, after),
                None => self.told.remove(&object),
            };
        }
    }

    /// The world after each thing that can happen next.
    fn next(&self) -> Vec<Self> {
        let mut worlds = Vec::new();
        let mut when = |possible: bool, act: &dyn Fn(&mut World)| {
            if possible {
                let mut world = self.clone();
                act(&mut world);
                worlds.push(world);
            }
        };
        let delivered = self.contents.delivered;
        when(self.now < self.history.len() as u64, &|world| {
            world.now += 1;
        });
        when(self.listing.is_none() && delivered < self.now, &|world| {
            let version = delivered + 1;
            let change = match world.happened(version) {
                Op::Write(object_name) => {
                    world.contents.applied(world.object(object_name, version))
                }
                Op::Delete(object_name) => world.contents.deleted(&name(object_name), version),
            };
            world.tell(change);
        });
        for version in 1..=self.now {
            let op = self.happened(version);
            let possible = match op {
                Op::Write(_) => true,
                Op::Delete(deleted) => {
                    let uid = self.object(deleted, version - 1).uid;
                    let shown = self.contents.objects.get(&name(deleted));
                    shown.is_some_and(|shown| shown.uid == uid)
                }
            };
            when(possible && !self.answered.contains(&version), &|world| {
                let change = match op {
                    Op::Write(written) => world.contents.observe(world.object(written, version)),
                    Op::Delete(deleted) => {
                        let uid = world.object(deleted, version - 1).uid;
                        world.contents.gone(&name(deleted), &uid)
                    }
                };
                world.tell(change);
                world.answered.push(version);
                world.answered.sort_unstable();
            });
        }
        when(self.listing.is_none() && self.lists < 2, &|world| {
            world.listing = Some(world.now);
            world.lists += 1;
            let items =
                ["a", "b"].iter().filter_map(|o| Some(world.object(o, world.at(o, world.now)?)));
            let changes = world.contents.page(world.now, items.collect());
            world.tell(changes);
        });
        when(self.listing.is_some(), &|world| {
            let version = world.listing.take().unwrap();
            let listed = ["a", "b"].iter().filter(|o| world.at(o, version).is_some());
            let changes = world.contents.listed(version, &listed.map(|o| name(o)).collect());
            world.tell(changes);
        });
        worlds
    }

    fn check(&self) {
        let answered = |o: &str| {
            let object = object_name(o);
            let of =
                |v: &&u64| [Op::Write(object), Op::Delete(object)].contains(&self.happened(**v));
            self.answered.iter().filter(of).max().copied().unwrap_or(0)
        };
        for object in ["a", "b"] {
            let shown = self.contents.objects.get(&name(object)).map(|s| s.resource_version);
            let oldest = self.contents.delivered.max(answered(object));
            let real = (oldest..=self.now).any(|version| self.at(object, version) == shown);
            assert!(
                real,
                "{object}@{shown:?} after {:?}: now {}, delivered {}, answered {:?}",
                self.history, self.now, self.contents.delivered, self.answered
            );
            assert_eq!(self.told.get(object).copied(), shown);
        }
    }

    fn key(&self) -> (u64, u64, Vec<u64>, Option<u64>, u8, String, String) {
        let delivered = self.contents.delivered;
        (
            self.now,
            delivered,
            self.answered.clone(),
            self.listing,
            self.lists,
            shown(&self.contents),
            self.contents
                .gone
                .values()
                .flatten()
                .map(|gone| &*gone.uid)
                .collect::<Vec<_>>()
                .join(" "),
        )
    }
}

fn object_name(name: &str) -> &'static str {
    if name == "a" { "a" } else { "b" }
}

#[test]
fn in_every_interleaving_what_is_shown_is_real_and_never_older_than_what_we_know() {
    let mut histories: Vec<Vec<Op>> = vec![vec![]];
    for _ in 0..4 {
        let longer = histories.iter().flat_map(|history| {
            [Op::Write("a"), Op::Delete("a"), Op::Write("b")]
                .map(|op| [history.clone(), vec![op]].concat())
        });
        histories = longer.collect();
    }
    // Nothing is deleted that is not there.
    histories.retain(|history| {
        let mut there = false;
        history.iter().all(|op| match op {
            Op::Write("a") => {
                there = true;
                true
            }
            Op::Delete(_) => std::mem::replace(&mut there, false),
            Op::Write(_) => true,
        })
    });
    let mut states = 0;
    for history in histories {
        let world = World {
            contents: synced_at(0),
            history,
            now: 0,
            answered: vec![],
            listing: None,
            lists: 0,
            told: BTreeMap::new(),
        };
        let mut seen = HashSet::from([world.key()]);
        let mut open = VecDeque::from([world]);
        while let Some(world) = open.pop_front() {
            for next in world.next() {
                next.check();
                if seen.insert(next.key()) {
                    open.push_back(next);
                }
            }
        }
        states += seen.len();
    }
    assert!(states > 20_000, "the walk covered only {states} states");
}
