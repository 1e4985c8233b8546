//! Why a watch does not get on, and what that means for the next try.
//!
//! In: errors of the client. Out: [`Failure`]. Never here: any part of an answer that could be a Secret.

use kube::core::Status;
use std::error::Error;
use std::time::Duration;

/// However long a server asks us to wait, we look again after this time.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// What the API server's flow control asks for when it refuses without saying how long.
const FLOW_CONTROL_WAIT: Duration = Duration::from_secs(1);

/// One failed try.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    #[error("the API server answers {code}: {message}")]
    Refused { code: u16, message: String, retry_after: Option<Duration> },
    #[error("no connection: {0}")]
    Unreachable(String),
    #[error("no answer within {} s", .0.as_secs())]
    Slow(Duration),
    #[error("the answer makes no sense: {0}")]
    Garbled(&'static str),
    #[error("the stream ended as soon as it had begun")]
    Short,
    #[error("the stream fell silent")]
    Silent,
    #[error("the server's history was rewritten")]
    Rewound,
    #[error("a panic, which is a bug")]
    Panicked,
}

impl Failure {
    /// What a refusal says.
    pub(super) fn refused(code: u16, status: &Status, retry_after: Option<Duration>) -> Self {
        let code = if status.code == 0 { code } else { status.code };
        let asked = status.details.as_ref().map(|details| details.retry_after_seconds);
        let asked = asked.filter(|seconds| *seconds > 0).map(|s| Duration::from_secs(s.into()));
        let retry_after = retry_after.or(asked).or((code == 429).then_some(FLOW_CONTROL_WAIT));
        // Somebody in between may answer with a page of HTML.
        let text = if status.message.is_empty() { &status.reason } else { &status.message };
        let message =
            text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect();
        Self::Refused { code, message, retry_after }
    }

    /// How long the server asks us to wait.
    pub(super) fn retry_after(&self) -> Duration {
        match self {
            Self::Refused { retry_after: Some(wait), .. } => (*wait).min(LONGEST_WAIT),
            _ => Duration::ZERO,
        }
    }

    /// Whether the stream cannot go on from where it was, so that only a list helps: the version is too old (410) or
    /// makes no sense to the server (any other refusal that is not about load, and a server that waits for a version
    /// still to come), or we may have missed something.
    pub(super) fn needs_list(&self) -> bool {
        match self {
            Self::Refused { code, .. } => *code < 500 && ![401, 403, 429].contains(code),
            Self::Slow(_) | Self::Garbled(_) | Self::Rewound | Self::Panicked => true,
            Self::Unreachable(_) | Self::Short | Self::Silent => false,
        }
    }

    /// Whether the server is well, and only our version is no good any more.
    pub(super) fn expired(&self) -> bool {
        matches!(self, Self::Refused { code: 410, .. } | Self::Rewound)
    }

    /// Whether a right is missing.
    pub(super) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { code: 401 | 403, .. })
    }

    /// Whether it may pass within a moment.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Refused { code, .. } => *code >= 500 || [410, 429].contains(code),
            Self::Unreachable(_) | Self::Slow(_) | Self::Garbled(_) => true,
            Self::Short | Self::Silent | Self::Rewound | Self::Panicked => false,
        }
    }

    /// Failures of the same sort are logged once.
    pub(super) fn sort(&self) -> (std::mem::Discriminant<Self>, u16) {
        let code = if let Self::Refused { code, .. } = self { *code } else { 0 };
        (std::mem::discriminant(self), code)
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::refused(status.code, &status, None),
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Self::Garbled("not JSON"),
            other => {
                let mut root: &dyn Error = &other;
                while let Some(source) = root.source() {
                    root = source;
                }
                Self::Unreachable(root.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, details: &str, header: Option<u64>) -> Failure {
        let status = format!(r#"{{"message":"m","details":{details}}}"#);
        let status = serde_json::from_str(&status).unwrap();
        Failure::refused(code, &status, header.map(Duration::from_secs))
    }

    #[test]
    fn the_wait_is_what_the_server_asks_for_but_bounded() {
        let seconds = |failure: Failure| failure.retry_after().as_secs();
        assert_eq!(seconds(refused(429, r#"{"retryAfterSeconds":3}"#, None)), 3);
        assert_eq!(seconds(refused(429, r#"{"retryAfterSeconds":3}"#, Some(7))), 7);
        assert_eq!(seconds(refused(429, "{}", None)), 1);
        assert_eq!(seconds(refused(503, "{}", Some(5))), 5);
        assert_eq!(seconds(refused(503, "{}", Some(86_400))), 60);
        assert_eq!(seconds(refused(403, "{}", None)), 0);
        assert_eq!(seconds(Failure::Silent), 0);
    }

    #[test]
    fn only_a_version_that_is_no_good_needs_a_list() {
        for code in [400, 404, 410, 422] {
            assert!(refused(code, "{}", None).needs_list(), "{code}");
        }
        for code in [401, 403, 429, 500, 503, 504] {
            assert!(!refused(code, "{}", None).needs_list(), "{code}");
        }
    }

    #[test]
    fn a_page_of_html_becomes_a_short_line() {
        let html = format!("<html>\n\n<p>  Bad Gateway {}", "x".repeat(5000));
        let status = Status::failure(&html, "Failed to parse error data").with_code(502);
        let text = Failure::refused(502, &status, None).to_string();
        assert!(
            text.starts_with("the API server answers 502: <html> <p> Bad Gateway xx"),
            "{text}"
        );
        assert!(text.len() < 350);
    }
}
