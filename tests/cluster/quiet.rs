//! Nothing to do means nothing said.

use crate::sandbox::Sandbox;
use crate::world::Request;
use futures::future::join_all;
use serde_json::json;
use std::time::Duration;

pub(crate) async fn a_restart_writes_nothing() {
    let mut sandbox = Sandbox::webapp("restart").await;
    let names: Vec<String> = (0..5).map(|number| format!("app-{number}")).collect();
    for name in &names {
        let spec = json!({"image": "shop:1", "host": format!("{name}.example.com"),
                          "env": {"EMPTY": ""}, "files": {"a": "b"}});
        sandbox.webapp_is(name, spec).await;
    }
    join_all(names.iter().map(|name| sandbox.until_ready(name))).await;
    sandbox.stop().await;
    let (before, told) = (sandbox.requests().len(), sandbox.events().len());
    assert!(told > 0, "the children were told");
    sandbox.start();
    sandbox.settled().await;
    assert_eq!(sandbox.events().len(), told, "{:#?}", sandbox.events());
    let requests = sandbox.requests().split_off(before);
    assert!(!requests.is_empty(), "it did start");
    let writes: Vec<_> = requests.iter().filter(|request| request.is_write()).collect();
    assert!(writes.is_empty(), "{writes:#?}");
    sandbox.stop().await;
}

pub(crate) async fn fifty_parents_are_quiet_for_a_minute() {
    let mut sandbox = Sandbox::webapp("quiet").await;
    let names: Vec<String> = (0..50).map(|number| format!("app-{number}")).collect();
    for name in &names {
        sandbox.webapp_is(name, json!({"image": "shop:1", "files": {"a": "b"}})).await;
    }
    join_all(names.iter().map(|name| sandbox.until_ready(name))).await;
    sandbox.settled().await;
    let (before, told) = (sandbox.requests().len(), sandbox.events().len());
    // The claim is about a minute, so the test has to be there for one.
    tokio::time::sleep(Duration::from_mins(1)).await;
    let requests = sandbox.requests().split_off(before);
    let others: Vec<&Request> = requests.iter().filter(|request| request.verb != "watch").collect();
    assert!(others.is_empty(), "{others:#?}");
    assert_eq!(sandbox.events().len(), told, "{:#?}", sandbox.events());
    sandbox.stop().await;
}
