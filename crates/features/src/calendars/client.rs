//! The HTTP client that fetches calendar files. The client limits the size of a file and the time
//! of a fetch. Like the client for webhooks, it refuses private addresses.

use std::time::Duration;

use delivery::{ClientTls, Targets, is_private};
use engine::error::innermost;
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_LENGTH, ETAG, IF_NONE_MATCH};
use reqwest::{Client, Response};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// Deadline of a fetch, from the connection to the last byte.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);
/// Maximum size of a calendar file, 5 MiB.
const MAX_BYTES: usize = 5 << 20;
/// Maximum length of a stored `ETag`. A longer `ETag` is ignored.
const MAX_ETAG_BYTES: usize = 1_000;
/// Maximum number of characters of a network error in an error message.
const MAX_CAUSE_CHARS: usize = 200;
/// The user agent of requests for calendars.
const USER_AGENT: &str = "Vestibule-Calendar/1";

/// The reason why a fetch failed, as a code for programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(super) enum FetchErrorCode {
    /// The address leads into a private network.
    Private,
    /// The server redirects to another address.
    Redirects,
    /// The server responds with an error status.
    Refused,
    /// The server does not respond within the deadline.
    TimedOut,
    /// The connection failed or broke.
    Unreachable,
    /// The calendar has more than 5 MiB, or too many events.
    TooLarge,
    /// The response is not a complete calendar.
    NoCalendar,
    /// The file was fetched, but its reservations could not be written.
    #[default]
    NotApplied,
}

/// The error of a fetch. The message never contains the address, which is a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FetchError {
    pub code: FetchErrorCode,
    pub message: String,
}

impl FetchError {
    pub(super) fn new(code: FetchErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    fn of(error: reqwest::Error) -> Self {
        // Without this call, the message of the error would contain the URL of the calendar, which
        // is a secret.
        let error = error.without_url();
        if is_private(&error) {
            return Self::private();
        }
        if error.is_timeout() {
            return Self::new(
                FetchErrorCode::TimedOut,
                format!(
                    "The server did not answer within {} seconds.",
                    DEADLINE.as_secs()
                ),
            );
        }
        let cause: String = innermost(&error)
            .to_string()
            .chars()
            .take(MAX_CAUSE_CHARS)
            .collect();
        Self::new(
            FetchErrorCode::Unreachable,
            format!("The server could not be reached: {cause}"),
        )
    }

    fn private() -> Self {
        Self::new(
            FetchErrorCode::Private,
            "The address leads into a private network, which is not allowed.",
        )
    }

    fn too_large() -> Self {
        Self::new(
            FetchErrorCode::TooLarge,
            "The calendar has more than 5 MiB.",
        )
    }
}

/// The response of a calendar server to a fetch.
#[derive(Debug)]
pub(super) enum CalendarResponse {
    /// The calendar still has the version of the last fetch.
    Unchanged,
    /// The text of the calendar, and its `ETag`.
    Calendar { text: String, etag: Option<String> },
}

pub(super) struct CalendarClient {
    client: Client,
    targets: Targets,
}

impl CalendarClient {
    pub(super) fn new(targets: Targets, tls: &ClientTls) -> Result<Self, String> {
        let client = delivery::guarded_client(targets.clone(), USER_AGENT, DEADLINE, tls)
            .build()
            .map_err(|error| {
                format!(
                    "cannot create the client that fetches calendars: {}",
                    innermost(&error)
                )
            })?;
        Ok(Self { client, targets })
    }

    /// Fetches a calendar. `etag` is the `ETag` that the calendar had at the last fetch.
    pub(super) async fn fetch(
        &self,
        url: &str,
        etag: Option<&str>,
    ) -> Result<CalendarResponse, FetchError> {
        let address = self.targets.address(url).ok_or_else(FetchError::private)?;
        let request = self
            .client
            .get(address)
            .header(ACCEPT, "text/calendar, */*;q=0.5");
        let request = etag
            .into_iter()
            .fold(request, |request, etag| request.header(IF_NONE_MATCH, etag));
        let response = request.send().await.map_err(FetchError::of)?;
        let status = response.status();
        match status {
            StatusCode::OK => read(response).await,
            StatusCode::NOT_MODIFIED if etag.is_some() => Ok(CalendarResponse::Unchanged),
            _ if status.is_redirection() && status != StatusCode::NOT_MODIFIED => {
                Err(FetchError::new(
                    FetchErrorCode::Redirects,
                    format!(
                        "The server redirects to another address ({}); use that address instead.",
                        status.as_u16()
                    ),
                ))
            }
            _ => Err(FetchError::new(
                FetchErrorCode::Refused,
                format!("The server answered with status {}.", status.as_u16()),
            )),
        }
    }
}

/// Reads the body of a response within the size limit.
async fn read(mut response: Response) -> Result<CalendarResponse, FetchError> {
    let headers = response.headers();
    let length = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > MAX_BYTES) {
        return Err(FetchError::too_large());
    }
    let etag = headers
        .get(ETAG)
        .and_then(|etag| etag.to_str().ok())
        .filter(|etag| etag.len() <= MAX_ETAG_BYTES)
        .map(str::to_owned);
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(FetchError::of)? {
        if body.len() + chunk.len() > MAX_BYTES {
            return Err(FetchError::too_large());
        }
        body.extend_from_slice(&chunk);
    }
    // Replace invalid UTF-8, so that one wrong text does not make the whole calendar unreadable.
    let text = String::from_utf8_lossy(&body).into_owned();
    Ok(CalendarResponse::Calendar { text, etag })
}
