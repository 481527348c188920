//! The HTTP client for a certificate authority, with limits of time and of response size.

use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use engine::error::innermost;
use http_body_util::BodyExt as _;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Response};
use serde_json::Value;

/// Time limit for a request, from the connection to the last byte of the response.
const REQUEST_DEADLINE: Duration = Duration::from_secs(30);
/// Time limit for establishing the connection.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);
/// Maximum size of a response in bytes. A certificate chain has a few KiB.
const MAX_RESPONSE_BYTES: usize = 256 << 10;

/// Makes a client for an authority. `root` is a PEM file with certificate authorities to trust in
/// addition to those of the system. Blocks the thread.
pub(super) fn build_acme_client(root: Option<&Path>) -> Result<Client, String> {
    let trusted = root.map(certificates).transpose()?.unwrap_or_default();
    Client::builder()
        .timeout(REQUEST_DEADLINE)
        .connect_timeout(CONNECT_DEADLINE)
        .https_only(true)
        .redirect(Policy::none())
        .no_proxy()
        .retry(reqwest::retry::never())
        .tls_certs_merge(trusted)
        .build()
        .map_err(|error| {
            format!(
                "cannot create the client of the certificate authority: {}",
                innermost(&error)
            )
        })
}

/// Reads the certificates in the file of `--acme-root`.
fn certificates(path: &Path) -> Result<Vec<Certificate>, String> {
    let text = |reason: &str| format!("--acme-root: {}: {reason}", path.display());
    let pem = std::fs::read(path).map_err(|error| text(&error.to_string()))?;
    match Certificate::from_pem_bundle(&pem) {
        Ok(certificates) if certificates.is_empty() => Err(text("contains no certificate in PEM")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(text(&innermost(&error).to_string())),
    }
}

/// Fetches the directory of an authority. Fails unless the response is an ACME directory.
pub(crate) async fn examine_directory(directory: &str, root: Option<&Path>) -> Result<(), String> {
    let response = build_acme_client(root)?.get(directory).send().await;
    let response = response.map_err(|error| describe_error(directory, error))?;
    let status = response.status();
    let body = read(response)
        .await
        .map_err(|error| describe_error(directory, error))?;
    let fields: Option<Value> = body.and_then(|body| serde_json::from_slice(&body).ok());
    if fields.is_some_and(|fields| fields["newOrder"].is_string()) {
        Ok(())
    } else {
        Err(format!(
            "{directory} answers {status}, and not with the directory of a certificate authority"
        ))
    }
}

/// Describes the error of a request as a text for the log.
fn describe_error(url: &str, error: reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("{url} did not answer in time");
    }
    let error = error.without_url();
    format!("{url} could not be reached: {}", innermost(&error))
}

/// Reads the body of a response; `None` if the body is too large.
async fn read(mut response: Response) -> reqwest::Result<Option<Bytes>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body.into()))
}

/// Adapts the HTTP client to the interface of the ACME library.
pub(super) struct AcmeHttpClient(pub(super) Client);

impl HttpClient for AcmeHttpClient {
    fn request(
        &self,
        request: http::Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let client = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let Ok(body) = body.collect().await;
            let body = body.to_bytes();
            let url = parts.uri.to_string();
            let request = http::Request::from_parts(parts, body);
            let failed = |error| Error::Other(describe_error(&url, error).into());
            let request = reqwest::Request::try_from(request).map_err(failed)?;
            let response = client.execute(request).await.map_err(failed)?;
            let (status, headers) = (response.status(), response.headers().clone());
            let too_large = || Error::Other(format!("the answer of {url} is too large").into());
            let body = read(response).await.map_err(failed)?;
            let body = body.ok_or_else(too_large)?;
            let mut head = http::Response::new(());
            *head.status_mut() = status;
            *head.headers_mut() = headers;
            Ok(BytesResponse {
                parts: head.into_parts().0,
                body: Box::new(body),
            })
        })
    }
}
