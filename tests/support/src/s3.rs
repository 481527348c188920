//! A fake S3 bucket in the test process. Clients can put, get, list and remove objects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode};

/// Number of keys on a page of a list. It is small, so that tests read several pages.
const PAGE: usize = 2;
/// Maximum size of a request body, larger than any body in the tests.
const MAX_BODY: usize = 32 << 20;

/// A server with one bucket, `bucket`.
pub struct Bucket {
    pub endpoint: String,
    shared: Arc<Mutex<BucketState>>,
}

#[derive(Default)]
struct BucketState {
    objects: BTreeMap<String, Vec<u8>>,
    /// Parts of incomplete multipart uploads, by upload number and part number.
    parts: BTreeMap<(usize, usize), Vec<u8>>,
    uploads: usize,
    /// Names of the S3 operations that clients have requested so far, in order.
    calls: Vec<&'static str>,
}

impl Bucket {
    pub async fn start() -> Self {
        let shared = Arc::new(Mutex::new(BucketState::default()));
        let router = Router::new().fallback(answer).with_state(shared.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { endpoint, shared }
    }

    pub fn keys(&self) -> Vec<String> {
        self.shared
            .lock()
            .unwrap()
            .objects
            .keys()
            .cloned()
            .collect()
    }

    pub fn put(&self, key: &str, bytes: &[u8]) {
        self.shared
            .lock()
            .unwrap()
            .objects
            .insert(key.into(), bytes.into());
    }

    /// Returns how often clients have requested the operation with this name.
    pub fn calls(&self, name: &str) -> usize {
        self.shared
            .lock()
            .unwrap()
            .calls
            .iter()
            .filter(|call| **call == name)
            .count()
    }

    /// Returns the number of stored parts of uploads that are neither completed nor aborted.
    pub fn parts(&self) -> usize {
        self.shared.lock().unwrap().parts.len()
    }
}

fn xml(text: String) -> Response {
    ([("content-type", "application/xml")], text).into_response()
}

async fn answer(State(shared): State<Arc<Mutex<BucketState>>>, request: Request<Body>) -> Response {
    let signed = request
        .headers()
        .get("authorization")
        .is_some_and(|value| value.to_str().unwrap().starts_with("AWS4-HMAC-SHA256 "));
    if !signed {
        return StatusCode::FORBIDDEN.into_response();
    }
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let query: BTreeMap<String, String> =
        form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
            .into_owned()
            .collect();
    let key = uri
        .path()
        .strip_prefix("/bucket")
        .unwrap_or_default()
        .trim_start_matches('/')
        .to_owned();
    let body = to_bytes(request.into_body(), MAX_BODY)
        .await
        .unwrap()
        .to_vec();
    let number = |name: &str| query.get(name).and_then(|text| text.parse::<usize>().ok());
    let mut inside = shared.lock().unwrap();
    match (method, number("uploadId"), number("partNumber")) {
        (Method::PUT, Some(upload), Some(part)) => {
            inside.calls.push("part");
            inside.parts.insert((upload, part), body);
            [("etag", format!("\"{upload}-{part}\""))].into_response()
        }
        (Method::PUT, ..) => {
            inside.calls.push("put");
            inside.objects.insert(key, body);
            [("etag", "\"whole\"")].into_response()
        }
        (Method::POST, Some(upload), _) => {
            inside.calls.push("complete");
            let (done, rest) = std::mem::take(&mut inside.parts)
                .into_iter()
                .partition(|((of, _), _)| *of == upload);
            inside.parts = rest;
            let done: BTreeMap<(usize, usize), Vec<u8>> = done;
            inside
                .objects
                .insert(key, done.into_values().flatten().collect());
            let completed = "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag>\
                </CompleteMultipartUploadResult>";
            xml(completed.into())
        }
        (Method::POST, ..) if query.contains_key("uploads") => {
            inside.calls.push("begin");
            inside.uploads += 1;
            let upload = inside.uploads;
            xml(format!(
                "<InitiateMultipartUploadResult><UploadId>{upload}</UploadId>\
                    </InitiateMultipartUploadResult>"
            ))
        }
        (Method::POST, ..) if query.contains_key("delete") => {
            inside.calls.push("remove");
            let body = String::from_utf8(body).unwrap();
            let keys = body
                .split("<Key>")
                .skip(1)
                .map(|rest| rest.split("</Key>").next().unwrap());
            let gone: Vec<String> = keys
                .map(|key| {
                    inside.objects.remove(key);
                    format!("<Deleted><Key>{key}</Key></Deleted>")
                })
                .collect();
            xml(format!("<DeleteResult>{}</DeleteResult>", gone.concat()))
        }
        (Method::DELETE, Some(upload), _) => {
            inside.calls.push("give up");
            inside.parts.retain(|(of, _), _| *of != upload);
            StatusCode::NO_CONTENT.into_response()
        }
        (Method::GET, ..) if query.contains_key("list-type") => {
            inside.calls.push("list");
            let prefix = query.get("prefix").map_or("", String::as_str);
            let behind = query.get("continuation-token").map_or("", String::as_str);
            let keys = inside
                .objects
                .iter()
                .filter(|(key, _)| key.starts_with(prefix) && key.as_str() > behind);
            let page: Vec<(&String, &Vec<u8>)> = keys.take(PAGE).collect();
            let contents: Vec<String> = page
                .iter()
                .map(|(key, bytes)| {
                    let size = bytes.len();
                    format!(
                        "<Contents><Key>{key}</Key><LastModified>2026-11-21T09:30:00.000Z\
                            </LastModified><Size>{size}</Size></Contents>"
                    )
                })
                .collect();
            let next = page
                .last()
                .filter(|_| page.len() == PAGE)
                .map(|(key, _)| format!("<NextContinuationToken>{key}</NextContinuationToken>"));
            xml(format!(
                "<ListBucketResult>{}{}</ListBucketResult>",
                contents.concat(),
                next.unwrap_or_default()
            ))
        }
        (Method::GET, ..) => {
            inside.calls.push("get");
            match inside.objects.get(&key) {
                Some(bytes) => {
                    let headers = [
                        ("etag", "\"whole\""),
                        ("last-modified", "Sat, 21 Nov 2026 09:30:00 GMT"),
                    ];
                    (headers, bytes.clone()).into_response()
                }
                None => StatusCode::NOT_FOUND.into_response(),
            }
        }
        _ => StatusCode::NOT_IMPLEMENTED.into_response(),
    }
}
