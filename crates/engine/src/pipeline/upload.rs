//! A body with a file: `multipart/form-data`. The file streams into file storage while it arrives;
//! the other parts are texts.
//!
//! Only a few chunks of a file are in memory at a time. A refused body is still read to its end, up
//! to a limit, so that its sender receives the error. If the request is refused, its stored file is
//! deleted at once. If the outcome of the request is unknown, or the process ends before the
//! deletion, the sweep of unreferenced files deletes the file.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::{Bytes, BytesMut};
use files::Files;
use futures_util::Stream;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body::Body as _;
use multer::{Field, Multipart};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, Sleep};

use super::stages::Call;
use super::{Caller, Payload, Success};
use crate::access::Owner;
use crate::error::{Error, Issue, Result};
use crate::operation::Arguments;
use crate::uploads::{HEAD, TakesFile, UploadedFile, Uploads, file_name, fresh_key};

/// The time that a client has to send a body. Received bytes extend this time.
const BASE_TIME: Duration = Duration::from_secs(30);
/// Number of received bytes that extend the deadline of a body by one second.
const MIN_BYTES_PER_SECOND: u64 = 8 << 10;
/// The maximum time limit of a body, whatever its size.
const MAX_TIME: Duration = Duration::from_secs(300);
/// The maximum number of parts of a body.
const MAX_PARTS: usize = 16;
/// The maximum number of bytes of a text part.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// The maximum number of bytes that may arrive before the parser returns the headers of a part or a
/// chunk of the part's content.
const MAX_HEADER_BYTES: usize = 1 << 20;
/// Number of bytes that a body may have in addition to the maximum size of its file. The server
/// does not read further bytes.
const EXCESS_BYTES: u64 = 32 << 20;

/// A file that has been stored for a request.
pub(super) struct StoredFile {
    files: Files,
    key: String,
}

impl StoredFile {
    /// Deletes the file if the request failed and certainly had no effect. The deletion runs in the
    /// background, so the response does not wait for it.
    pub(super) fn settle(self, result: &Result<Success>) {
        if result
            .as_ref()
            .is_err_and(|error| !error.may_have_taken_effect())
        {
            self.remove();
        }
    }

    fn remove(self) {
        let Self { files, key } = self;
        tokio::spawn(async move {
            if let Err(error) = files.delete(&key).await {
                tracing::warn!(
                    %error,
                    "could not delete the file of a refused request; the next sweep deletes it"
                );
            }
        });
    }
}

/// Reads a body with a file, and stores the file.
pub(super) async fn read(
    call: &Call,
    takes: &TakesFile,
    caller: &Caller,
    payload: Payload,
) -> (Result<Arguments>, Option<StoredFile>) {
    let mut stored_file = None;
    let arguments = match prepare(call, caller, payload) {
        Ok((owner, uploads, body, boundary)) => match uploads.register(owner, takes.max_bytes) {
            Ok(_entered) => {
                let key = fresh_key(&call.service.app_state.ids, owner.organization, call.now);
                let reader = BodyReader {
                    files: &uploads.files,
                    takes,
                    key,
                    stored_file: &mut stored_file,
                    fields: Map::new(),
                    issues: Vec::new(),
                    unparsed: Arc::default(),
                };
                reader
                    .read(body, &boundary)
                    .await
                    .map(|(fields, issues)| call.head.arguments(Value::Object(fields), issues))
            }
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    };
    if arguments.is_err()
        && let Some(stored_file) = stored_file.take()
    {
        stored_file.remove();
    }
    (arguments, stored_file)
}

/// Returns the owner of the upload, the file storage, the body and its multipart boundary.
fn prepare<'c>(
    call: &'c Call,
    caller: &Caller,
    payload: Payload,
) -> Result<(Owner, &'c Uploads, Body, String)> {
    let Payload::Body(body, _) = payload else {
        return Err(Error::invalid(
            &[],
            "the body must be multipart/form-data that contains the file",
        ));
    };
    let organization = caller
        .organization()
        .ok_or_else(|| Error::not_found("Organization"))?;
    let owner = Owner {
        organization,
        credential: caller.access().credential,
    };
    let uploads = call.service.app_state.extension::<Uploads>();
    let uploads = uploads.ok_or_else(|| {
        Error::unavailable("--uploads-url is not set")
            .with_message("File uploads are not configured on this server.")
    })?;
    if call.head.headers.contains_key(CONTENT_ENCODING) {
        return Err(Error::invalid(
            &[],
            "a Content-Encoding is not accepted; send the body uncompressed",
        ));
    }
    let boundary = match call.head.header_values(CONTENT_TYPE.as_str())[..] {
        [kind] => kind
            .to_str()
            .ok()
            .and_then(|kind| multer::parse_boundary(kind).ok()),
        _ => None,
    };
    let boundary = boundary.ok_or_else(|| {
        Error::invalid(
            &[],
            "the Content-Type must be multipart/form-data with a boundary",
        )
    })?;
    Ok((owner, uploads, body, boundary))
}

/// Reads the parts of a multipart body one after another, and collects the fields and the issues of
/// the body.
struct BodyReader<'r> {
    files: &'r Files,
    takes: &'r TakesFile,
    key: String,
    stored_file: &'r mut Option<StoredFile>,
    fields: Map<String, Value>,
    issues: Vec<Issue>,
    /// Number of bytes that arrived since the parser last returned part headers or a chunk. The
    /// parser keeps these bytes in memory.
    unparsed: Arc<AtomicUsize>,
}

impl BodyReader<'_> {
    async fn read(
        mut self,
        body: Body,
        boundary: &str,
    ) -> Result<(Map<String, Value>, Vec<Issue>)> {
        let mut incoming = IncomingBody::new(
            body,
            self.takes.max_bytes + EXCESS_BYTES,
            self.unparsed.clone(),
        );
        let mut parts = Multipart::new(&mut incoming, boundary);
        let mut count = 0;
        loop {
            let part = match parts.next_field().await {
                Ok(Some(part)) => part,
                Ok(None) => return Ok((self.fields, self.issues)),
                Err(error) => return Err(self.broken(&error)),
            };
            self.unparsed.store(0, Ordering::Relaxed);
            count += 1;
            if count > MAX_PARTS {
                return Err(self.refused(format!("the body has more than {MAX_PARTS} parts")));
            }
            let Some(name) = part.name().map(str::to_owned) else {
                return Err(self.refused("a part of the body has no name".into()));
            };
            let is_file = name == self.takes.field;
            if self.fields.contains_key(&name)
                || self
                    .issues
                    .iter()
                    .any(|issue| issue.path == [name.as_str().into()])
            {
                self.issues
                    .retain(|issue| issue.path != [name.as_str().into()]);
                self.issues
                    .push(Issue::new(&[&name], "is given more than once"));
                self.skip_part(part).await?;
            } else if is_file {
                self.take_file(part).await?;
            } else {
                self.take_text(name, part).await?;
            }
        }
    }

    async fn skip_part(&self, mut part: Field<'_>) -> Result<()> {
        while self.next_chunk(&mut part).await?.is_some() {}
        Ok(())
    }

    /// Returns the next chunk of one part of a multipart body; `None` at the end of the part.
    /// Resets the count of unparsed bytes.
    async fn next_chunk(&self, part: &mut Field<'_>) -> Result<Option<Bytes>> {
        let chunk = part.chunk().await.map_err(|error| self.broken(&error))?;
        self.unparsed.store(0, Ordering::Relaxed);
        Ok(chunk)
    }

    async fn take_text(&mut self, name: String, mut part: Field<'_>) -> Result<()> {
        let (mut text, mut length) = (Vec::new(), 0);
        while let Some(chunk) = self.next_chunk(&mut part).await? {
            length += chunk.len();
            if length <= MAX_TEXT_BYTES {
                text.extend_from_slice(&chunk);
            }
        }
        if length > MAX_TEXT_BYTES {
            self.issues.push(Issue::new(
                &[&name],
                format!("is longer than {MAX_TEXT_BYTES} bytes"),
            ));
        } else if let Ok(text) = String::from_utf8(text) {
            self.fields.insert(name, Value::String(text));
        } else {
            self.issues.push(Issue::new(&[&name], "must be UTF-8"));
        }
        Ok(())
    }

    async fn take_file(&mut self, part: Field<'_>) -> Result<()> {
        if let Some(received) = self.store_file(part).await? {
            let received = serde_json::to_value(&received).map_err(Error::internal)?;
            self.fields.insert(self.takes.field.to_owned(), received);
        }
        Ok(())
    }

    fn refuse_file(&mut self, message: String) {
        self.issues.push(Issue::new(&[self.takes.field], message));
    }

    /// Stores a file while it arrives. A refused file is read to its end and not stored.
    async fn store_file(&mut self, mut part: Field<'_>) -> Result<Option<UploadedFile>> {
        let name = file_name(part.file_name());
        let TakesFile {
            max_bytes: most,
            kind,
            kinds,
            ..
        } = *self.takes;
        let mut head = BytesMut::new();
        // Collect enough of the first bytes to detect the media type.
        let head_is_whole = loop {
            match self.next_chunk(&mut part).await? {
                Some(chunk) => head.extend_from_slice(&chunk),
                None => break false,
            }
            if head.len() >= HEAD {
                break true;
            }
        };
        let mut size = length(&head);
        let too_large = || format!("is larger than {} MiB", most >> 20);
        let content_type = match kind(&head[..head.len().min(HEAD)]) {
            Some(content_type) if size <= most => content_type,
            detected => {
                self.refuse_file(match detected {
                    Some(_) => too_large(),
                    None if size == 0 => "is empty".into(),
                    None => format!("is not {kinds}"),
                });
                self.skip_part(part).await?;
                return Ok(None);
            }
        };
        let mut writer = self
            .files
            .create(&self.key)
            .await
            .map_err(Error::unavailable)?;
        let mut digest = Sha256::new_with_prefix(&head);
        writer
            .append(head.freeze())
            .await
            .map_err(Error::unavailable)?;
        while head_is_whole && let Some(chunk) = self.next_chunk(&mut part).await? {
            size += length(&chunk);
            if size > most {
                drop(writer);
                self.refuse_file(too_large());
                self.skip_part(part).await?;
                return Ok(None);
            }
            digest.update(&chunk);
            writer.append(chunk).await.map_err(Error::unavailable)?;
        }
        writer.finish().await.map_err(Error::unavailable)?;
        *self.stored_file = Some(StoredFile {
            files: self.files.clone(),
            key: self.key.clone(),
        });
        Ok(Some(UploadedFile {
            key: self.key.clone(),
            name,
            content_type: content_type.to_owned(),
            size,
            digest: URL_SAFE_NO_PAD.encode(digest.finalize()),
        }))
    }

    /// Returns the error for a body that cannot be read to its end, with the issues found so far.
    fn broken(&self, error: &multer::Error) -> Error {
        let message = match error {
            multer::Error::StreamReadFailed(cause) => cause.to_string(),
            _ => "the body is not well-formed multipart/form-data".into(),
        };
        self.refused(message)
    }

    fn refused(&self, message: String) -> Error {
        let issues = self.issues.iter().cloned();
        Error::issues(issues.chain([Issue::at(Vec::new(), message)]).collect())
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Returns the time limit of a body after `bytes` bytes have arrived. The time is counted from the
/// start of the body.
fn deadline(bytes: u64) -> Duration {
    MAX_TIME.min(BASE_TIME + Duration::from_secs(bytes / MIN_BYTES_PER_SECOND))
}

/// An incoming body with a progress deadline. The stream is pending once after each chunk, so that
/// its reader processes that chunk before it asks for the next one.
struct IncomingBody {
    body: Body,
    bytes: u64,
    most: u64,
    /// Number of bytes that this stream returned since the parser last returned part headers or a
    /// chunk. The parser keeps these bytes in memory.
    unparsed: Arc<AtomicUsize>,
    began: Instant,
    timer: Pin<Box<Sleep>>,
    has_returned_chunk: bool,
}

/// The reason why the service stopped reading a body before its end.
#[derive(Debug)]
enum Stopped {
    Late,
    Long(u64),
    HeadersTooLarge,
    Lost(String),
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Late => f.write_str("the body did not arrive in time"),
            Self::Long(most) => write!(f, "the body is larger than {most} bytes"),
            Self::HeadersTooLarge => write!(
                f,
                "a part of the body has more than {MAX_HEADER_BYTES} bytes of headers"
            ),
            Self::Lost(error) => write!(f, "the body could not be read: {error}"),
        }
    }
}

impl std::error::Error for Stopped {}

impl IncomingBody {
    fn new(body: Body, most: u64, unparsed: Arc<AtomicUsize>) -> Self {
        let began = Instant::now();
        let timer = Box::pin(tokio::time::sleep_until(began + deadline(0)));
        Self {
            body,
            bytes: 0,
            most,
            unparsed,
            began,
            timer,
            has_returned_chunk: false,
        }
    }
}

impl Stream for IncomingBody {
    type Item = Result<Bytes, Stopped>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.has_returned_chunk) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(chunk) = frame.into_data() else {
                        continue;
                    };
                    self.bytes += length(&chunk);
                    if self.bytes > self.most {
                        return Poll::Ready(Some(Err(Stopped::Long(self.most))));
                    }
                    if self.unparsed.fetch_add(chunk.len(), Ordering::Relaxed) > MAX_HEADER_BYTES {
                        return Poll::Ready(Some(Err(Stopped::HeadersTooLarge)));
                    }
                    let until = self.began + deadline(self.bytes);
                    self.timer.as_mut().reset(until);
                    self.has_returned_chunk = true;
                    return Poll::Ready(Some(Ok(chunk)));
                }
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Some(Err(Stopped::Lost(error.to_string()))));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => {}
            }
            return match self.timer.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(Some(Err(Stopped::Late))),
                Poll::Pending => Poll::Pending,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use futures_util::stream;
    use futures_util::{StreamExt as _, TryStreamExt as _};

    use super::*;
    use crate::access::Credential;

    const TAKES: TakesFile = TakesFile {
        field: "file",
        max_bytes: 1 << 20,
        kind,
        kinds: "a note",
    };

    fn kind(head: &[u8]) -> Option<&'static str> {
        head.starts_with(b"note").then_some("text/note")
    }

    /// Reads a body. Returns the result, and the number of stored files afterwards.
    async fn read(body: Body) -> (Result<(Map<String, Value>, Vec<Issue>)>, usize) {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::in_directory(directory.path()).unwrap();
        let mut stored_file = None;
        let reader = BodyReader {
            files: &files,
            takes: &TAKES,
            key: "a/1".into(),
            stored_file: &mut stored_file,
            fields: Map::new(),
            issues: Vec::new(),
            unparsed: Arc::default(),
        };
        let read = reader.read(body, "b").await;
        let keys: Vec<String> = files.list(None).try_collect().await.unwrap();
        assert_eq!(stored_file.is_some(), !keys.is_empty());
        (read, keys.len())
    }

    fn part(name: &str, content: &str) -> String {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"{name}\"; \
                filename=\"../n.txt\"\r\n\r\n{content}\r\n"
        )
    }

    fn issues(read: Result<(Map<String, Value>, Vec<Issue>)>) -> Vec<String> {
        let issues = match read {
            Ok((_, found)) => serde_json::to_value(found).unwrap(),
            Err(error) => error.body()["details"]["issues"].clone(),
        };
        let reported = |issue: &Value| {
            format!(
                "{} {}",
                issue["path"][0].as_str().unwrap_or_default(),
                issue["message"].as_str().unwrap()
            )
        };
        issues.as_array().unwrap().iter().map(reported).collect()
    }

    #[tokio::test]
    async fn a_file_is_stored_and_its_text_parts_are_read() {
        let body = [
            part("sort", "passport"),
            part("file", "note of mine"),
            "--b--\r\n".into(),
        ]
        .concat();
        let (read, file_count) = read(Body::from(body)).await;
        let (fields, found_issues) = read.unwrap();
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest("note of mine"));
        let file = serde_json::json!({
            "key": "a/1",
            "name": "n.txt",
            "contentType": "text/note",
            "size": 12,
            "digest": digest,
        });
        assert_eq!(
            (Value::Object(fields), found_issues.len(), file_count),
            (
                serde_json::json!({ "sort": "passport", "file": file }),
                0,
                1
            )
        );
    }

    #[tokio::test]
    async fn every_fault_of_an_upload_is_reported_and_nothing_is_stored() {
        let large = format!("note{}", "x".repeat(1 << 20));
        for (parts, expected) in [
            (
                vec![
                    part("file", &large),
                    part("sort", &"x".repeat(MAX_TEXT_BYTES + 1)),
                ],
                vec![
                    "file is larger than 1 MiB",
                    "sort is longer than 16384 bytes",
                ],
            ),
            (
                vec![part("file", "<html>"), part("sort", "1"), part("sort", "2")],
                vec!["file is not a note", "sort is given more than once"],
            ),
            (vec![part("file", "")], vec!["file is empty"]),
        ] {
            let (read, file_count) = read(Body::from(parts.concat() + "--b--\r\n")).await;
            assert_eq!(
                (issues(read), file_count),
                (expected.into_iter().map(str::to_owned).collect(), 0)
            );
        }
        let unnamed = "--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n".to_owned();
        for (body, expected) in [
            (
                String::new(),
                " the body is not well-formed multipart/form-data",
            ),
            (
                part("file", "note"),
                " the body is not well-formed multipart/form-data",
            ),
            (unnamed, " a part of the body has no name"),
            (
                part("x", "").repeat(MAX_PARTS + 1),
                " the body has more than 16 parts",
            ),
            (
                "--b\r\nX: ".to_owned() + &"x".repeat(3 << 20),
                " a part of the body has more than 1048576 bytes of headers",
            ),
        ] {
            let chunks: Vec<_> = body
                .as_bytes()
                .chunks(64 << 10)
                .map(|chunk| Ok::<_, std::io::Error>(Bytes::copy_from_slice(chunk)))
                .collect();
            let (read, _) = read(Body::from_stream(stream::iter(chunks))).await;
            assert_eq!(issues(read).last().map(String::as_str), Some(expected));
        }
    }

    #[tokio::test]
    async fn a_far_too_large_file_is_refused_before_it_is_read_whole() {
        let pieces = stream::iter([part("file", "note").trim_end().to_owned()])
            .chain(stream::repeat("x".repeat(256 << 10)));
        let sent = Arc::new(AtomicU64::new(0));
        let counting = sent.clone();
        let counted = pieces.map(move |chunk| {
            counting.fetch_add(length(chunk.as_bytes()), Ordering::Relaxed);
            Ok::<_, std::io::Error>(Bytes::from(chunk))
        });
        let (read, file_count) = read(Body::from_stream(counted)).await;
        assert_eq!(
            issues(read),
            [
                "file is larger than 1 MiB",
                " the body is larger than 34603008 bytes"
            ]
        );
        assert!(file_count == 0 && sent.load(Ordering::Relaxed) < 36 << 20);
    }

    /// Reads a body of which `bytes` bytes arrive every `seconds` seconds. Returns the last issue,
    /// and the number of seconds until the function under test stopped reading.
    async fn paced(bytes: usize, seconds: u64) -> (String, u64) {
        let head = stream::iter([part("file", "note").trim_end().to_owned()]);
        let pieces = head.chain(
            stream::repeat("x".repeat(bytes)).then(move |chunk| async move {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                chunk
            }),
        );
        let began = Instant::now();
        let (read, file_count) = read(Body::from_stream(
            pieces.map(|chunk| Ok::<_, std::io::Error>(Bytes::from(chunk))),
        ))
        .await;
        assert_eq!(file_count, 0);
        (
            issues(read).pop().unwrap_or_default(),
            began.elapsed().as_secs(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_arrives_too_slowly_is_refused() {
        let late = " the body did not arrive in time".to_owned();
        assert_eq!(paced(1, 3_600).await, (late.clone(), 30), "no bytes arrive");
        assert_eq!(
            paced(1, 9).await,
            (late.clone(), 30),
            "hardly any bytes arrive"
        );
        assert_eq!(
            paced(40 << 10, 10).await,
            (late.clone(), 55),
            "too few bytes arrive"
        );
        assert_eq!(
            paced(100 << 10, 10).await,
            (late, 300),
            "the body takes too long in total"
        );
    }

    #[test]
    fn the_deadline_moves_with_the_received_bytes() {
        let seconds = |bytes| deadline(bytes).as_secs();
        assert_eq!(
            (
                seconds(0),
                seconds(MIN_BYTES_PER_SECOND),
                seconds(80 << 10),
                seconds(1 << 20),
                seconds(10 << 20)
            ),
            (30, 31, 40, 158, 300)
        );
    }

    #[test]
    fn a_third_upload_of_a_caller_at_once_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let uploads = Uploads::new(Files::in_directory(directory.path()).unwrap(), Some(0));
        let owner = Owner {
            organization: uuid::Uuid::from_u128(1),
            credential: Credential::Guest {
                opens: uuid::Uuid::from_u128(2),
            },
        };
        let entered = [uploads.register(owner, 1), uploads.register(owner, 1)];
        assert!(entered.iter().all(Result::is_ok) && uploads.register(owner, 1).is_err());
    }
}
