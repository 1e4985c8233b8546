//! The API server and etcd crash, and watches that live on without a word: who follows them is right again within seconds
//! of what can be noticed.
//!
//! In: a control plane of its own, since others would notice. Out: the state of an undisturbed run, every object made once.

use super::plot::{PARENTS, Plot, parent, work};
use super::storms::{calm, difference, nothing_twice, rests};
use crate::proxy::Proxy;
use crate::world::{PATIENCE, world};
use kubewright::control_plane::{self, ControlPlane, Options, Program};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// What follows from the end of an outage: a watch looks again after at most 30 seconds, and may be refused once more. How long
/// it takes is printed.
const SOON: Duration = Duration::from_secs(100);

/// A stream is given up when it was silent for 150 seconds.
const NOTICED: Duration = Duration::from_secs(200);

/// Kills servers and starts them again, and waits until the API server answers.
async fn crash(plane: &ControlPlane, programs: &[Program]) {
    for program in programs {
        plane.crash(*program).await.expect("it is killed");
    }
    for program in programs.iter().rev() {
        plane.start_again(*program).await.expect("it starts");
    }
    let client = plane.client("faults-servers-wait").expect("a client");
    let serves = async || {
        // Custom kinds are served a moment after all others.
        let parents = http::Request::get("/apis/demo.kubewright.io/v1/webapps?limit=1");
        let ready = http::Request::get("/readyz");
        for request in [parents, ready] {
            let request = request.body(Vec::new()).expect("a request");
            client.request_text(request).await.map_err(drop)?;
        }
        Ok::<(), ()>(())
    };
    let begun = Instant::now();
    while serves().await.is_err() {
        if plane.check().await.is_err() {
            // Somebody took its port meanwhile, which passes.
            plane.crash(Program::ApiServer).await.expect("nothing");
            plane.start_again(Program::ApiServer).await.expect("it starts");
        }
        assert!(begun.elapsed() < PATIENCE, "the API server does not come back");
        sleep(Duration::from_millis(100)).await;
    }
}

pub(crate) async fn crashes_of_the_api_server_and_its_store_lose_and_double_nothing() {
    const CRASHES: [&[Program]; 4] = [
        &[Program::ApiServer],
        &[Program::Etcd],
        &[Program::ApiServer, Program::Etcd],
        &[Program::ApiServer],
    ];
    let calm = calm().await;
    let shim = Some(PathBuf::from(env!("CARGO_BIN_EXE_kubewright")));
    let options = Options { shim, ..Options::default() };
    let plane = control_plane::start(options, |_| ()).await.expect("a control plane");
    let name = "faults-servers";
    let plot = Plot::new(plane.client(name).expect("a client"), name).await;
    let proxy = Proxy::start(plane.client("kubewright-faults").expect("a client")).await;
    let running = plot.start(proxy.client());
    let (crashes, uids) = (Cell::new(0), RefCell::default());
    let pause = async || {
        // In the middle of what was just asked for.
        let before = proxy.seen().len();
        let is_busy = || {
            let depth = running.controller.snapshot(Vec::new()).depth;
            depth.waiting + depth.running > 0
        };
        while proxy.seen().len() < before + 30 && is_busy() {
            sleep(Duration::from_millis(5)).await;
        }
        crash(&plane, CRASHES[crashes.replace(crashes.get() + 1)]).await;
        if crashes.get() == 2 {
            while plot.objects().await.len() != 6 * PARENTS {
                sleep(Duration::from_millis(200)).await;
            }
            *uids.borrow_mut() = plot.uids().await;
        }
    };
    timeout(3 * PATIENCE, work(&plot, pause)).await.expect("parents that are deleted go");
    let begun = Instant::now();
    let right = |state: &_| difference(state, &calm.state);
    rests(&plot, &proxy, right).await;
    eprintln!("{name}: all right {:.1?} after the last crash and the last edit", begun.elapsed());
    nothing_twice(calm, &proxy.seen(), name);
    let (before, after) = (uids.into_inner(), plot.uids().await);
    let untouched: Vec<_> = (10..PARENTS).map(parent).collect();
    let is_untouched = |key: &&String| {
        untouched.iter().any(|parent| key.contains(&**parent)) && after.contains_key(*key)
    };
    let kept: Vec<_> = before.keys().filter(is_untouched).collect();
    assert!(kept.len() >= 40, "{before:#?}");
    assert!(kept.iter().all(|key| before[*key] == after[*key]), "{before:#?} {after:#?}");

    // With nothing to do: an outage and its end, and nobody writes.
    let mark = proxy.seen().len();
    crash(&plane, &[Program::ApiServer, Program::Etcd]).await;
    let begun = Instant::now();
    plot.is("app-19", "v5", 5, &["a"]).await;
    let follows = |object: &Value| object["data"]["main"] == "v5";
    while !plot.objects().await.iter().any(|o| o["metadata"]["name"] == "app-19-far" && follows(o))
    {
        assert!(begun.elapsed() < SOON, "an edit is not followed after an outage");
        sleep(Duration::from_millis(100)).await;
    }
    eprintln!("{name}: an edit after an outage is followed in {:.1?}", begun.elapsed());
    rests(&plot, &proxy, |_| Ok(())).await;
    let writes = proxy.seen().split_off(mark);
    let others = writes.iter().filter(|asked| asked.is_write() && !asked.path.contains("app-19"));
    assert_eq!(others.count(), 0, "{writes:#?}");
    running.stop().await;
    drop(proxy);
    plane.stop().await.expect("a clean stop");
}

pub(crate) async fn a_half_open_watch_is_noticed_and_what_happened_meanwhile_is_made_up_for() {
    let name = "faults-half-open";
    let plot = Plot::new(world().client(name), name).await;
    let proxy = Proxy::start(world().client("kubewright-faults-half-open")).await;
    let running = plot.start(proxy.client());
    for number in 0..3 {
        plot.is(&parent(number), "v1", 1, &["a"]).await;
    }
    let count = |expected: usize| {
        move |state: &super::plot::State| match state.len() {
            found if found == expected => Ok(()),
            found => Err(format!("{found} objects, and not {expected}")),
        }
    };
    rests(&plot, &proxy, count(15)).await;
    proxy.mute();
    let (begun, mark) = (Instant::now(), proxy.seen().len());
    plot.tamper("app-00-main", json!({"image": "wrong"})).await;
    plot.delete("ConfigMap", "app-00-file-a").await;
    plot.is("app-01", "v2", 2, &["b"]).await;
    plot.delete("WebApp", "app-02").await;
    plot.is("app-03", "v1", 1, &["a"]).await;
    let wrong = |state: &super::plot::State| {
        let data = |name: &str| state.get(&format!("ConfigMap PLOT/{name}")).map(|o| &o["data"]);
        let image = |name: &str, image: &str| data(name).is_some_and(|data| data["image"] == image);
        image("app-00-main", "v1")
            && data("app-00-file-a").is_some()
            && image("app-01-main", "v2")
            && data("app-01-file-a").is_none()
            && image("app-03-main", "v1")
            && !state.contains_key("WebApp PLOT/app-02")
    };
    while !wrong(&plot.state().await) {
        let seen = proxy.seen().split_off(mark);
        assert!(begun.elapsed() < NOTICED, "it is not noticed: {seen:#?}");
        sleep(Duration::from_secs(1)).await;
    }
    eprintln!("{name}: noticed and made up for after {:.1?}", begun.elapsed());
    rests(&plot, &proxy, count(15)).await;
    let seen = proxy.seen().split_off(mark);
    let watches = seen.iter().filter(|asked| asked.is_watch()).count();
    assert!((3..=12).contains(&watches), "each watch once or twice: {seen:#?}");
    running.stop().await;
}
