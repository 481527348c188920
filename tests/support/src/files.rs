//! Files that guests upload: the multipart form, and the directory in which a server stores them.

use uuid::Uuid;

use crate::{ApiResponse, App, new_id, temporary_directory};

/// A part of a multipart form: field name, file name if it is a file, and content.
pub type Part<'p> = (&'p str, Option<&'p str>, &'p [u8]);

/// Returns the path of a new directory for one test.
pub fn directory() -> String {
    let path = temporary_directory().join(format!("uploads-{}-{}", std::process::id(), new_id()));
    path.to_str().unwrap().to_owned()
}

/// Returns the flag `--uploads-url` with a new directory.
pub fn uploads() -> &'static str {
    Box::leak(format!("--uploads-url=file://{}", directory()).into_boxed_str())
}

pub fn form(parts: &[Part<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file, content) in parts {
        let file = file
            .map(|file| format!("; filename=\"{file}\""))
            .unwrap_or_default();
        body.extend_from_slice(
            format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n").as_bytes(),
        );
        body.extend_from_slice(b"Content-Type: text/html\r\n\r\n");
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--XX--\r\n");
    body
}

pub async fn send(app: &App, token: &str, step: Uuid, parts: &[Part<'_>]) -> ApiResponse {
    let request = app.http.post(format!(
        "{}/guest/v1/stays/{token}/steps/{step}/files",
        app.base
    ));
    ApiResponse::of(
        request
            .header("content-type", "multipart/form-data; boundary=XX")
            .body(form(parts)),
    )
    .await
}
