//! What subscribers hear, and when.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

fn store() -> Arc<Store> {
    Arc::new(Store::new(&Gvk::parse("v1", "ConfigMap").unwrap(), false, None))
}

fn object(store: &Store, namespace: &str, name: &str, version: u64) -> Stored {
    let metadata = format!(
        r#"{{"namespace":"{namespace}","name":"{name}","uid":"u","resourceVersion":"{version}"}}"#
    );
    store.format().read(&format!(r#"{{"metadata":{metadata}}}"#)).unwrap()
}

/// Writes down what it hears: `+a1` new, `~a2` changed, `-a` gone, `!` in front if by our own write.
fn scribe(store: &Arc<Store>) -> (Subscription, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&heard);
    let subscription = store.subscribe(move |notice| {
        let note = match notice {
            Notice::Synced => "synced".to_owned(),
            Notice::Changed(Change { id, before, after, own }) => {
                let own = if *own { "!" } else { "" };
                match (before, after) {
                    (None, Some(after)) => format!("{own}+{}{}", id.name, after.resource_version),
                    (Some(_), Some(after)) => {
                        format!("{own}~{}{}", id.name, after.resource_version)
                    }
                    (_, None) => format!("{own}-{}", id.name),
                }
            }
        };
        notes.lock().unwrap().push(note);
    });
    (subscription, heard)
}

fn taken(heard: &Mutex<Vec<String>>) -> String {
    std::mem::take(&mut *heard.lock().unwrap()).join(" ")
}

#[test]
fn subscribers_hear_every_change_once_in_order() {
    let store = store();
    let (_subscription, heard) = scribe(&store);
    store.page(5, vec![object(&store, "", "a", 3)]);
    assert!(!store.synced());
    store.listed(5, &HashSet::from([("".into(), "a".into())]));
    assert_eq!(taken(&heard), "+a3 synced");
    assert!(store.observe(object(&store, "", "a", 6)));
    store.applied(object(&store, "", "a", 6));
    store.applied(object(&store, "", "b", 7));
    store.deleted(&object(&store, "", "a", 8));
    assert!(!store.observe(object(&store, "", "a", 6)));
    assert_eq!(taken(&heard), "!~a6 +b7 -a");
    store.listed(9, &HashSet::new());
    assert_eq!(taken(&heard), "-b", "synced is heard once");
}

#[test]
fn who_joins_late_hears_first_what_is_stored() {
    let store = store();
    store.page(5, vec![object(&store, "", "a", 3), object(&store, "", "b", 4)]);
    let (_early, early) = scribe(&store);
    assert_eq!(taken(&early), "+a3 +b4", "not synced yet");
    store.listed(5, &HashSet::from([("".into(), "a".into()), ("".into(), "b".into())]));
    let (late, heard) = scribe(&store);
    assert_eq!((taken(&early).as_str(), taken(&heard).as_str()), ("synced", "+a3 +b4 synced"));
    drop(late);
    store.applied(object(&store, "", "a", 6));
    assert_eq!((taken(&early).as_str(), taken(&heard).as_str()), ("~a6", ""));
}

#[test]
fn a_subscriber_may_read_and_sees_its_change() {
    let store = store();
    let calls = Arc::new(AtomicUsize::new(0));
    let (reader, counter) = (Arc::downgrade(&store), Arc::clone(&calls));
    let _subscription = store.subscribe(move |notice| {
        let Notice::Changed(change) = notice else {
            return;
        };
        let found = reader.upgrade().unwrap().get(&change.id).map(|stored| stored.resource_version);
        assert_eq!(found, change.after.as_ref().map(|stored| stored.resource_version));
        counter.fetch_add(1, Ordering::SeqCst);
    });
    store.applied(object(&store, "", "a", 1));
    store.deleted(&object(&store, "", "a", 2));
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[test]
fn a_subscriber_that_panics_hurts_nobody_else() {
    let store = store();
    let _bad = store.subscribe(|_| panic!("on purpose"));
    let (_good, heard) = scribe(&store);
    store.applied(object(&store, "", "a", 1));
    store.applied(object(&store, "", "a", 2));
    assert_eq!(taken(&heard), "+a1 ~a2");
    assert_eq!(store.len(), 1);
}

#[test]
fn objects_are_found_by_name_kind_and_namespace() {
    let store = store();
    for (namespace, name) in [("b", "1"), ("a", "2"), ("a", "1"), ("ab", "3")] {
        store.applied(object(&store, namespace, name, 1));
    }
    let names = |objects: Vec<Arc<Stored>>| {
        objects.iter().map(|o| format!("{}/{}", o.id.namespace, o.id.name)).collect::<Vec<_>>()
    };
    assert_eq!(names(store.all()), ["a/1", "a/2", "ab/3", "b/1"]);
    assert_eq!(names(store.in_namespace("a")), ["a/1", "a/2"]);
    assert_eq!(names(store.in_namespace("")), Vec::<String>::new());
    let id = object(&store, "a", "1", 1).id;
    assert!(store.get(&id).is_some());
    let secret = Arc::new(crate::object::GroupKind { group: String::new(), kind: "Secret".into() });
    assert!(store.get(&ObjectId::new(&secret, "a", "1")).is_none());
}

#[test]
fn changes_made_by_several_threads_are_heard_in_the_order_of_the_store() {
    let store = store();
    let last: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
    let shown = Arc::clone(&last);
    let _subscription = store.subscribe(move |notice| {
        let Notice::Changed(change) = notice else {
            return;
        };
        let version = |stored: &Option<Arc<Stored>>| stored.as_ref().map(|s| s.resource_version);
        let mut shown = shown.lock().unwrap();
        let before = shown.insert(change.id.name.to_string(), version(&change.after).unwrap());
        assert_eq!(before, version(&change.before));
    });
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let store = &store;
            scope.spawn(move || {
                for round in 0..500 {
                    store.observe(object(store, "", "a", 4 * round + thread + 1));
                }
            });
        }
    });
    assert_eq!(last.lock().unwrap().get("a"), Some(&2000));
}
