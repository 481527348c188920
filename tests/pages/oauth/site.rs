//! An HTTPS site on loopback that serves metadata documents of OAuth clients. Each test sets the
//! documents.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use test_support::App;
use test_support::http_server::{HttpServer, Reply, response};

/// The response of the site to requests for a path.
#[derive(Debug, Clone)]
pub enum Page {
    /// The response is exactly these bytes, which include the head of the response.
    Raw(String),
    /// The site does not respond and keeps the connection open.
    Hangs,
    /// The response has a body that never ends.
    Endless,
}

impl Page {
    pub fn json(document: &Value) -> Self {
        Self::of(&document.to_string())
    }

    pub fn of(body: &str) -> Self {
        Self::Raw(format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    }
}

pub struct Site {
    pub base: String,
    server: HttpServer,
    pages: Arc<Mutex<HashMap<String, Page>>>,
}

impl Site {
    pub async fn start() -> Self {
        let pages = Arc::<Mutex<HashMap<String, Page>>>::default();
        let shared = pages.clone();
        let server = HttpServer::start_tls(move |request| {
            let page = shared.lock().unwrap().get(request.target()).cloned();
            ready(match page {
                Some(Page::Raw(bytes)) => Reply::Last(bytes),
                Some(Page::Hangs) => Reply::Stalled(String::new()),
                Some(Page::Endless) => {
                    Reply::Endless("HTTP/1.1 200 OK\r\n\r\n".into(), " ".repeat(16_384))
                }
                None => Reply::Last(response(404, "", "nothing")),
            })
        })
        .await;
        Self {
            base: server.base.clone(),
            server,
            pages,
        }
    }

    /// Returns the flags with which a server trusts the site's certificate and may connect to it.
    pub fn flags(&self) -> [String; 2] {
        self.server.flags()
    }

    /// Starts servers that may connect to the site, one on SQLite and one on PostgreSQL.
    pub async fn servers(&self) -> Vec<App> {
        let flags = self.flags();
        let flags = flags.each_ref().map(String::as_str);
        [
            Some(App::on_sqlite(&flags).await),
            App::on_postgres(&flags).await,
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    pub fn put(&self, path: &str, page: Page) -> String {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
        format!("{}{path}", self.base)
    }

    /// Returns the number of connections so far. Each request opens a new connection, so this is
    /// also the number of requests.
    pub fn request_count(&self) -> usize {
        self.server.connections()
    }
}
