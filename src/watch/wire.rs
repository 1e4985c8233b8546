//! Lists and watch streams as the API server sends them.
//!
//! In: bytes. Out: pages and events, their objects still as JSON text. Never here: what is done with them.

use super::failure::Failure;
use futures::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use kube::Client;
use kube::client::Body;
use kube::core::{Request, Status};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::time::Duration;

/// No object is nearly as long: etcd takes 1.5 MiB.
const LONGEST_LINE: usize = 32 << 20;

/// What a stream keeps allocated between two events.
const IDLE_BUFFER: usize = 16 << 10;

/// A part of a list.
#[derive(Deserialize)]
pub(super) struct Page<'a> {
    metadata: PageMetadata,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(rename = "resourceVersion")]
    version: String,
    #[serde(rename = "continue")]
    next: Option<String>,
}

impl<'a> Page<'a> {
    pub(super) fn read(body: &'a [u8]) -> Result<Self, Failure> {
        serde_json::from_slice(body).map_err(|_| Failure::Garbled("a list that is none"))
    }

    /// The version of the whole list.
    pub(super) fn version(&self) -> Result<u64, Failure> {
        let no_number = Failure::Garbled("a list whose resourceVersion is not a number");
        self.metadata.version.parse().map_err(|_| no_number)
    }

    /// Asks for the next page; `None` after the last.
    pub(super) fn next(&self) -> Option<String> {
        self.metadata.next.clone().filter(|token| !token.is_empty())
    }

    pub(super) fn items(&self) -> &[&'a RawValue] {
        self.items.as_deref().unwrap_or_default()
    }
}

/// One line of a watch stream.
#[derive(Debug)]
pub(super) enum Event<'a> {
    /// The object was added or changed, or is selected now.
    Applied(&'a RawValue),
    /// The object was deleted, or is not selected any more.
    Deleted(&'a RawValue),
    /// All before this version was told.
    Passed(u64),
    /// Nothing that concerns us.
    Other,
}

impl<'a> Event<'a> {
    /// Reads a line; an ERROR event is a failure.
    pub(super) fn read(line: &'a [u8]) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Line<'a> {
            #[serde(borrow)]
            r#type: Cow<'a, str>,
            #[serde(borrow)]
            object: &'a RawValue,
        }
        #[derive(Deserialize)]
        struct Bookmark {
            metadata: BookmarkMetadata,
        }
        #[derive(Deserialize)]
        struct BookmarkMetadata {
            #[serde(rename = "resourceVersion")]
            version: String,
        }
        let Line { r#type, object } =
            serde_json::from_slice(line).map_err(|_| Failure::Garbled("an event that is none"))?;
        Ok(match &*r#type {
            "ADDED" | "MODIFIED" => Self::Applied(object),
            "DELETED" => Self::Deleted(object),
            "BOOKMARK" => {
                let bookmark = serde_json::from_str::<Bookmark>(object.get()).ok();
                let version = bookmark.and_then(|bookmark| bookmark.metadata.version.parse().ok());
                version.map_or(Self::Other, Self::Passed)
            }
            "ERROR" => {
                let status: Status = serde_json::from_str(object.get()).unwrap_or_default();
                return Err(Failure::refused(500, &status, None));
            }
            _ => Self::Other,
        })
    }
}

/// Sends a request and waits for the whole answer.
pub(super) async fn fetch(
    client: &Client,
    path: &str,
    params: &kube::api::ListParams,
) -> Result<impl AsRef<[u8]> + use<>, Failure> {
    let request = Request::new(path).list(params).map_err(kube::Error::BuildRequest)?;
    let response = client.send(request.map(Body::from)).await?;
    let code = response.status();
    let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
    let retry_after = retry_after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let body = response.into_body().collect_bytes().await?;
    if code.is_success() {
        return Ok(body);
    }
    let plain = || Status::failure(&String::from_utf8_lossy(&body), "");
    let status = serde_json::from_slice(&body).unwrap_or_else(|_| plain());
    Err(Failure::refused(code.as_u16(), &status, retry_after))
}

/// Begins a stream. (A `Retry-After` header is out of reach here; the API server says it in its Status, too, except when
/// flow control refuses.)
pub(super) async fn stream(
    client: &Client,
    path: &str,
    params: &kube::api::WatchParams,
    version: u64,
) -> Result<Lines<impl AsyncBufRead + Send + Unpin + use<>>, Failure> {
    let request = Request::new(path).watch(params, &version.to_string());
    let request = request.map_err(kube::Error::BuildRequest)?;
    Ok(Lines { reader: client.request_stream(request).await?, buffer: Vec::new(), whole: false })
}

/// Cuts a stream into lines.
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The buffer holds a line that was handed out.
    whole: bool,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// The next line; `None` when the stream ended, however it did. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Option<&[u8]>, Failure> {
        if std::mem::take(&mut self.whole) {
            self.buffer.clear();
            self.buffer.shrink_to(IDLE_BUFFER);
        }
        let room = LONGEST_LINE.saturating_sub(self.buffer.len());
        let mut limited = (&mut self.reader).take(room as u64);
        let ended = limited.read_until(b'\n', &mut self.buffer).await.is_err();
        if self.buffer.last() == Some(&b'\n') {
            self.whole = true;
            return Ok(Some(&self.buffer));
        }
        if !ended && self.buffer.len() >= LONGEST_LINE {
            return Err(Failure::Garbled("an event without end"));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use futures::io::{AsyncRead, BufReader};
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    /// Gives each piece in turn, with a pause (pending) between them; then ends, or breaks.
    struct Pieces(Vec<Option<&'static str>>);

    impl AsyncRead for Pieces {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut [u8],
        ) -> Poll<io::Result<usize>> {
            if self.0.is_empty() {
                return Poll::Ready(Ok(0));
            }
            match self.0.remove(0) {
                Some("reset") => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                Some(piece) => {
                    buffer[..piece.len()].copy_from_slice(piece.as_bytes());
                    Poll::Ready(Ok(piece.len()))
                }
                None => Poll::Pending,
            }
        }
    }

    fn lines(pieces: &[Option<&'static str>]) -> Lines<BufReader<Pieces>> {
        let reader = BufReader::new(Pieces(pieces.to_vec()));
        Lines { reader, buffer: Vec::new(), whole: false }
    }

    fn next(lines: &mut Lines<BufReader<Pieces>>) -> Option<Result<Option<String>, Failure>> {
        let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap();
        lines.next().now_or_never().map(|line| line.map(|line| line.map(text)))
    }

    #[test]
    fn a_line_in_pieces_survives_dropped_waits() {
        let mut lines = lines(&[Some("a"), None, Some("b\nc\nd"), None, None, Some("\n")]);
        assert_eq!(next(&mut lines), None);
        for line in ["ab\n", "c\n"] {
            assert_eq!(next(&mut lines), Some(Ok(Some(line.into()))));
        }
        assert_eq!(next(&mut lines), None);
        assert_eq!(next(&mut lines), None);
        assert_eq!(next(&mut lines), Some(Ok(Some("d\n".into()))));
        assert_eq!(next(&mut lines), Some(Ok(None)));
    }

    #[test]
    fn half_a_line_at_the_end_is_no_line() {
        for end in ["", "reset"] {
            let mut lines = lines(&[Some("a\n{\"type\":"), Some(end)]);
            assert_eq!(next(&mut lines), Some(Ok(Some("a\n".into()))));
            assert_eq!(next(&mut lines), Some(Ok(None)), "{end}");
        }
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut lines = Lines {
            reader: futures::io::repeat(b'x').into_buf(),
            buffer: Vec::new(),
            whole: false,
        };
        let line = lines.next().now_or_never();
        assert_eq!(line, Some(Err(Failure::Garbled("an event without end"))));
    }

    trait IntoBuf: AsyncRead + Sized {
        fn into_buf(self) -> BufReader<Self> {
            BufReader::with_capacity(1 << 20, self)
        }
    }
    impl<R: AsyncRead> IntoBuf for R {}

    #[test]
    fn events_are_told_apart_whatever_the_order_of_their_fields() {
        let read = |line: &str| Event::read(line.as_bytes()).map(|event| format!("{event:?}"));
        let object = r#"{"metadata":{"resourceVersion":"7"}}"#;
        for kind in ["ADDED", "MODIFIED", "DELETED"] {
            let there = read(&format!(r#"{{"type":"{kind}","object":{object}}}"#)).unwrap();
            assert_eq!(there, read(&format!(r#"{{"object":{object},"type":"{kind}"}}"#)).unwrap());
            assert_eq!(there.starts_with("Deleted"), kind == "DELETED");
        }
        let bookmark = format!(r#"{{"type":"BOOKMARK","object":{object}}}"#);
        assert_eq!(read(&bookmark).unwrap(), "Passed(7)");
        assert_eq!(read(r#"{"type":"BOOKMARK","object":{}}"#).unwrap(), "Other");
        assert_eq!(read(r#"{"type":"RENAMED","object":{}}"#).unwrap(), "Other");
        for nonsense in ["", "{}", "[]", r#"{"type":"ADDED"}"#, r#"{"type":"ADDED","object":"#] {
            assert!(matches!(read(nonsense), Err(Failure::Garbled(_))), "{nonsense}");
        }
    }

    #[test]
    fn an_error_event_is_a_refusal() {
        let line = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old","reason":"Expired"}}"#;
        let failure = Event::read(line.as_bytes()).unwrap_err();
        assert_eq!(failure.to_string(), "the API server answers 410: too old");
        let failure = Event::read(br#"{"type":"ERROR","object":7}"#).unwrap_err();
        assert_eq!(failure.to_string(), "the API server answers 500: ");
    }

    #[test]
    fn a_list_may_have_no_items_and_must_have_a_version() {
        let page =
            Page::read(br#"{"metadata":{"resourceVersion":"7","continue":""},"items":null}"#)
                .unwrap();
        assert_eq!((page.version(), page.next(), page.items().len()), (Ok(7), None, 0));
        let body = br#"{"items":[{"a":1},7],"metadata":{"resourceVersion":"8","continue":"t"}}"#;
        let page = Page::read(body).unwrap();
        assert_eq!(
            (page.version(), page.next().as_deref(), page.items().len()),
            (Ok(8), Some("t"), 2)
        );
        let page = Page::read(br#"{"metadata":{"resourceVersion":""},"items":[]}"#).unwrap();
        assert!(page.version().is_err());
        assert!(Page::read(b"{}").is_err());
    }
}
