//! What is asked about kinds, and how often.

use super::server::*;
use crate::object::Gvk;
use crate::watch::{Kind, KindError, Kinds};
use std::sync::Arc;
use tokio::time::{Instant, sleep};

fn served(api_version: &str, kind: &str, plural: &str) -> Reply {
    let resource = serde_json::json!({
        "name": plural, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["list"],
    });
    let list = serde_json::json!({ "groupVersion": api_version, "resources": [resource] });
    Reply::Text(200, list.to_string())
}

#[tokio::test(start_paused = true)]
async fn an_unknown_kind_is_asked_for_again_but_not_more_often_than_every_five_seconds() {
    let begun = Instant::now();
    let (client, asked) = server(move |_, _| {
        if begun.elapsed() < 20 * SECOND {
            Reply::Text(404, "404 page not found\n".into())
        } else {
            served("demo.example/v1", "App", "apps")
        }
    });
    let kinds = Kinds::new(client);
    let gvk = Gvk::parse("demo.example/v1", "App").unwrap();
    let error = kinds.resolve(&gvk).await.unwrap_err();
    assert_eq!(error, KindError::Unknown(gvk.clone()));
    while kinds.resolve(&gvk).await.is_err() {
        sleep(SECOND / 10).await;
    }
    assert_eq!(begun.elapsed().as_secs(), 20);
    assert_eq!(asked.lock().unwrap().len(), 5);
    assert_eq!(asked.lock().unwrap()[0].1, "/apis/demo.example/v1");
    let typo = Gvk { kind: "Ap".into(), ..gvk.clone() };
    assert_eq!(kinds.resolve(&typo).await, Err(KindError::Unknown(typo.clone())));
    kinds.resolve(&gvk).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 5, "what is known is not asked for again");
    kinds.forget(&gvk);
    kinds.resolve(&gvk).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_does_not_answer_holds_up_no_other_and_is_not_an_unknown_kind() {
    let (client, _) = server(|_, uri| match uri {
        "/apis/slow.example/v1" => Reply::Nothing,
        "/apis/down.example/v1" => Reply::Text(503, "service unavailable".into()),
        _ => served("v1", "Pod", "pods"),
    });
    let kinds = Kinds::new(client);
    let begun = Instant::now();
    let [slow, down] =
        ["slow", "down"].map(|g| Gvk::parse(&format!("{g}.example/v1"), "X").unwrap());
    let pod = Gvk::parse("v1", "Pod").unwrap();
    let (slow, (down, pod, at)) = tokio::join!(kinds.resolve(&slow), async {
        (kinds.resolve(&down).await, kinds.resolve(&pod).await, begun.elapsed())
    });
    assert!(pod.is_ok() && at < SECOND);
    let text = |error: Result<Arc<Kind>, KindError>| error.unwrap_err().to_string();
    assert_eq!(
        text(down),
        "the kinds of down.example/v1 cannot be listed: the API server answers 503: service unavailable"
    );
    assert_eq!(text(slow), "the kinds of slow.example/v1 cannot be listed: no answer within 15 s");
}
