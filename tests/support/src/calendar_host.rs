//! An HTTPS server on loopback that serves calendar files, with a certificate of its own test
//! authority.

use std::future::ready;
use std::sync::{Arc, Mutex};

use super::http_server::{HttpServer, RecordedRequest, Reply, response};

/// The response of the host to every request.
#[derive(Debug, Clone)]
pub enum Served {
    /// A calendar with these events.
    Events(String),
    /// A calendar with these events and this `ETag`.
    Version(String, &'static str),
    /// A response with this status, header and body.
    Response(u16, String, String),
    /// The host reads the request and sends no response.
    Silence,
    /// The host sends the beginning of a calendar, and then nothing.
    Stalled,
    /// The host sends more bytes than a calendar may have, without a `Content-Length`.
    Endless,
}

pub struct CalendarHost {
    pub url: String,
    served: Arc<Mutex<Served>>,
    server: HttpServer,
}

impl CalendarHost {
    pub async fn start() -> Self {
        let calendar = Arc::new(Mutex::new(Served::Events(String::new())));
        let shared = calendar.clone();
        let server = HttpServer::start_tls(move |request| {
            let current = shared.lock().unwrap().clone();
            ready(reply(current, &request))
        })
        .await;
        Self {
            url: format!("{}/export.ics?s=secret", server.base),
            served: calendar,
            server,
        }
    }

    /// Returns the flags with which a server may fetch from this host.
    pub fn flags(&self) -> [String; 2] {
        self.server.flags()
    }

    pub fn serve(&self, served: Served) {
        *self.served.lock().unwrap() = served;
    }

    /// Makes the host serve a calendar with these events.
    pub fn events(&self, events: &[String]) {
        self.serve(Served::Events(events.concat()));
    }

    /// Returns the heads of all requests that the host has received, in lower case.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.server.requests();
        requests
            .iter()
            .map(|request| request.head.to_lowercase())
            .collect()
    }
}

/// Returns an all-day event in iCalendar format. `more` has further properties of the event, one a
/// line.
pub fn event(uid: &str, from: &str, until: &str, more: &str) -> String {
    let more = more.replace('\n', "\r\n");
    format!(
        "BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20261120T120000Z\r\n\
            DTSTART;VALUE=DATE:{from}\r\nDTEND;VALUE=DATE:{until}\r\n{more}\r\nEND:VEVENT\r\n"
    )
}

fn calendar(events: &str) -> String {
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//EN\r\n{events}END:VCALENDAR\r\n")
}

fn reply(served: Served, request: &RecordedRequest) -> Reply {
    let last = |status, header: &str, body: &str| {
        let headers = format!("connection: close\r\n{header}");
        Reply::Last(response(status, headers.trim_end(), body))
    };
    match served {
        Served::Events(events) => last(200, "content-type: text/calendar", &calendar(&events)),
        Served::Version(_, version) if request.header("if-none-match") == version => {
            last(304, "", "")
        }
        Served::Version(events, version) => {
            last(200, &format!("etag: {version}"), &calendar(&events))
        }
        Served::Response(status, header, body) => last(status, &header, &body),
        Served::Silence => Reply::Stalled(String::new()),
        Served::Stalled => Reply::Stalled(
            "HTTP/1.1 200 X\r\ncontent-length: 1000\r\n\r\nBEGIN:VCALENDAR\r\n".into(),
        ),
        Served::Endless => Reply::Endless(
            "HTTP/1.1 200 X\r\nconnection: close\r\n\r\nBEGIN:VCALENDAR\r\n".into(),
            "X-FILLER:0123456789\r\n".repeat(1_000),
        ),
    }
}
