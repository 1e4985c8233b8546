//! One request and its answer.
//!
//! In: a request and the permit to send it. Out: what was answered; the permit learns whether the server as a whole has too
//! much to do. Never here: waiting for a permit; what a refusal means.

use super::limit::Load;
use super::limiter::Permit;
use crate::refusal::{Class, Refusal};
use http::{HeaderMap, StatusCode, header};
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use kube::core::response::StatusDetails;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::time::timeout;

/// Why there is no answer to read.
pub(crate) enum Unanswered {
    /// The server said no, or could not be asked.
    Refused(kube::Error),
    /// It said nothing.
    Late,
}

impl Unanswered {
    /// What it means.
    pub(crate) fn into_refusal(self, read: fn(kube::Error) -> Refusal) -> Refusal {
        match self {
            Self::Refused(error) => read(error),
            Self::Late => Refusal {
                class: Class::Transient(None),
                message: "the API server did not answer in time".into(),
            },
        }
    }
}

impl Permit {
    /// Sends a request and waits for the whole answer, but not longer than `patience`.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        client: &Client,
        request: http::Request<Vec<u8>>,
        patience: Duration,
    ) -> Result<T, Unanswered> {
        let Ok((answer, load)) = timeout(patience, ask(client, request)).await else {
            return Err(Unanswered::Late);
        };
        self.answered(load);
        answer.map_err(Unanswered::Refused)
    }
}

async fn ask<T: DeserializeOwned>(
    client: &Client,
    request: http::Request<Vec<u8>>,
) -> (Result<T, kube::Error>, Load) {
    let answer = async {
        let answer = client.send(request.map(Body::from)).await?;
        let (head, body) = answer.into_parts();
        Ok::<_, kube::Error>((head, body.collect_bytes().await?))
    };
    let (head, body) = match answer.await {
        Ok(answer) => answer,
        Err(error) => return (Err(error), Load::Unknown),
    };
    if head.status.is_client_error() || head.status.is_server_error() {
        let (status, load) = refusal(head.status, &head.headers, &body);
        return (Err(kube::Error::Api(Box::new(status))), load);
    }
    (serde_json::from_slice(&body).map_err(kube::Error::SerdeError), Load::Taken)
}

/// Flow control refuses before anybody knows what the request is about: it answers in plain text, and how long it wants to be
/// left alone stands in the head alone. A 429 that is a `Status` is about an object: a webhook's, or of a kind that is just
/// being prepared. That something behind the server is not there (503, 504) says nothing about the server.
fn refusal(code: StatusCode, headers: &HeaderMap, body: &[u8]) -> (Status, Load) {
    let asked =
        headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    // Any object of JSON can be read as a status; one of a server has the code.
    let status = serde_json::from_slice::<Status>(body).ok();
    if let Some(status) = status.filter(|status| status.code != 0) {
        return (with_pause(status, asked), Load::Taken);
    }
    let text = String::from_utf8_lossy(body);
    let status =
        Status::failure(text.trim(), "Failed to parse error data").with_code(code.as_u16());
    let busy = code == StatusCode::TOO_MANY_REQUESTS;
    let pause = asked.map(|seconds| Duration::from_secs(seconds.into()));
    let load = if busy { Load::Busy(pause) } else { Load::Taken };
    (with_pause(status, asked), load)
}

/// What the body says itself counts.
fn with_pause(mut status: Status, asked: Option<u32>) -> Status {
    if let Some(seconds) = asked {
        let details = status.details.get_or_insert_with(|| StatusDetails {
            name: String::new(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: Vec::new(),
            retry_after_seconds: 0,
        });
        if details.retry_after_seconds == 0 {
            details.retry_after_seconds = seconds;
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(code: u16, retry_after: Option<&str>, body: &str) -> (Option<u32>, Load) {
        let mut headers = HeaderMap::new();
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, seconds.parse().unwrap());
        }
        let code = StatusCode::from_u16(code).unwrap();
        let (status, load) = refusal(code, &headers, body.as_bytes());
        assert_eq!(status.code, code.as_u16());
        (status.details.map(|details| details.retry_after_seconds), load)
    }

    #[test]
    fn only_flow_control_speaks_for_the_whole_server() {
        let busy = "Too many requests, please try again later.\n";
        let second = Duration::from_secs(1);
        assert_eq!(read(429, Some("1"), busy), (Some(1), Load::Busy(Some(second))));
        assert_eq!(read(429, None, busy), (None, Load::Busy(None)));
        assert_eq!(read(429, Some("Tue, 01 Dec 2026"), busy), (None, Load::Busy(None)));
        let status = |code, details: &str| {
            format!(
                r#"{{"kind":"Status","status":"Failure","message":"no","reason":"r","code":{code}{details}}}"#
            )
        };
        let of_body = status(429, r#","details":{"retryAfterSeconds":7}"#);
        assert_eq!(read(429, Some("1"), &of_body), (Some(7), Load::Taken), "about an object");
        assert_eq!(read(503, Some("5"), "not here"), (Some(5), Load::Taken));
        assert_eq!(read(503, Some("5"), &status(503, "")), (Some(5), Load::Taken));
        assert_eq!(read(429, None, r#"{"error":"a proxy's"}"#), (None, Load::Busy(None)));
        assert_eq!(read(404, None, "404 page not found"), (None, Load::Taken));
    }
}
