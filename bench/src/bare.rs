//! The yardstick for reads: an HTTP handler that does nothing except send a recorded response.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::Path;

use anyhow::Context as _;
use axum::Router;
use axum::routing::get;
use axum::serve::ListenerExt as _;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

/// Headers that the HTTP library of the bare handler sets itself.
const LIBRARY_HEADERS: [HeaderName; 4] = [CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING];

/// A recorded response. The benchmark saves it in a file, and the process with the bare handler
/// reads the file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Recorded {
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Recorded {
    /// Copies the parts of a response that the bare handler needs to repeat it.
    pub fn of(response: &Response<Bytes>) -> anyhow::Result<Self> {
        let headers = response
            .headers()
            .iter()
            .filter(|(name, _)| !LIBRARY_HEADERS.contains(name));
        let headers =
            headers.map(|(name, value)| Ok((name.as_str().to_owned(), value.to_str()?.to_owned())));
        Ok(Self {
            headers: headers.collect::<anyhow::Result<_>>()?,
            body: response.body().to_vec(),
        })
    }

    /// Writes the response to a file.
    pub fn save(&self, path: &Path) -> anyhow::Result<()> {
        serde_json::to_writer(File::create(path)?, self).with_context(|| path.display().to_string())
    }
}

/// Serves the response recorded in a file, until the process is killed.
pub async fn serve(path: &Path) -> anyhow::Result<()> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let Recorded { headers, body } = serde_json::from_reader(BufReader::new(file))?;
    let header = |(name, value): (String, String)| {
        Ok((HeaderName::try_from(name)?, HeaderValue::try_from(value)?))
    };
    let headers: HeaderMap = headers
        .into_iter()
        .map(header)
        .collect::<anyhow::Result<_>>()?;
    let response = (headers, Bytes::from(body));
    let router = Router::new().fallback(get(async move || response.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut output = std::io::stdout();
    writeln!(output, "listening on http://{}", listener.local_addr()?)?;
    output.flush()?;
    // The service disables Nagle's algorithm too. For the bare handler this makes no difference,
    // because each response is one write.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    Ok(axum::serve(listener, router).await?)
}
