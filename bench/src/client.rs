//! An HTTP client of the service. On each connection it sends a request only after the response to
//! the previous one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST};
use http::request::Builder;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rlt::{BenchSuite, IterInfo, IterReport};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::keys::Keys;
use crate::setup;

/// Paths of the measured lists.
pub const PORTALS: &str = "/api/v1/portals";
pub const PRECHECK_STEPS: &str = "/api/v1/precheck-steps";

/// A client that sends one credential to one server.
#[derive(Debug, Clone)]
pub struct Client {
    address: SocketAddr,
    host: HeaderValue,
    authorization: HeaderValue,
}

impl Client {
    /// Creates a client that sends `token` as a bearer token.
    pub fn new(address: SocketAddr, token: &str) -> anyhow::Result<Self> {
        let host = HeaderValue::from_str(&address.to_string())?;
        let authorization = HeaderValue::from_str(&format!("Bearer {token}"))?;
        Ok(Self {
            address,
            host,
            authorization,
        })
    }

    /// Returns a client with the same credential for another server, which listens on `address`.
    pub fn at(&self, address: SocketAddr) -> anyhow::Result<Self> {
        let host = HeaderValue::from_str(&address.to_string())?;
        Ok(Self {
            address,
            host,
            authorization: self.authorization.clone(),
        })
    }

    fn request(&self, method: Method, path: &str) -> Builder {
        let request = Request::builder().method(method).uri(path);
        request
            .header(HOST, &self.host)
            .header(AUTHORIZATION, &self.authorization)
    }

    fn read(&self, path: &str, coding: Coding) -> Builder {
        let request = self.request(Method::GET, path);
        if coding == Coding::Gzip {
            request.header(ACCEPT_ENCODING, "gzip")
        } else {
            request
        }
    }

    /// Makes a GET request and returns the response without decompressing its body.
    pub async fn get_encoded(&self, path: &str, coding: Coding) -> anyhow::Result<Response<Bytes>> {
        let request = self.read(path, coding).body(Full::default())?;
        let (head, body) = self.connect().await?.send(request).await?.into_parts();
        ensure!(head.status.is_success(), "GET {path}: {}", head.status);
        ensure!(
            head.headers.contains_key(CONTENT_ENCODING) == (coding == Coding::Gzip),
            "GET {path}: not {coding:?}"
        );
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }

    /// Makes one request on a new connection. Any status other than success is an error.
    pub async fn request_ok(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Response<Bytes>> {
        self.request_ok_on(&mut self.connect().await?, method, path, body)
            .await
    }

    /// Opens a connection for requests.
    pub async fn connect(&self) -> anyhow::Result<Connection> {
        Connection::open(self.address).await
    }

    /// Does the same as [`Client::request_ok`] on a connection that is already open.
    pub async fn request_ok_on(
        &self,
        connection: &mut Connection,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Response<Bytes>> {
        let label = format!("{method} {path}");
        let request = self
            .request(method, path)
            .header(CONTENT_TYPE, "application/json");
        let request = request.body(Full::from(body.map(Value::to_string).unwrap_or_default()))?;
        let (head, body) = connection.send(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        ensure!(
            head.status.is_success(),
            "{label}: {} {}",
            head.status,
            String::from_utf8_lossy(&body)
        );
        Ok(Response::from_parts(head, body))
    }

    /// Does the same as [`Client::request_ok`], and returns the `data` of the response's envelope.
    pub async fn data(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let response = self.request_ok(method, path, body).await?;
        let mut envelope: Value = serde_json::from_slice(response.body())?;
        envelope
            .get_mut("data")
            .map(Value::take)
            .context("a response without data")
    }

    /// Makes a GET request repeatedly on one connection, for `length` and at least `min_count`
    /// times. Returns for each request the milliseconds from its start to the end of the response.
    /// The configuration changes before each request, so that no part of a response comes from the
    /// cache.
    pub async fn latencies(
        &self,
        path: &str,
        changing: &ChangingPortal,
        length: Duration,
        min_count: usize,
    ) -> anyhow::Result<Vec<f64>> {
        let mut connection = Connection::open(self.address).await?;
        let mut latencies = Vec::new();
        let started = Instant::now();
        while latencies.len() < min_count || started.elapsed() < length {
            self.request_ok_on(
                &mut connection,
                Method::PATCH,
                &changing.path,
                Some(&changing.next()),
            )
            .await?;
            let request = self.request(Method::GET, path).body(Full::default())?;
            let requested = Instant::now();
            let (status, _) = connection.exchange(request).await?;
            latencies.push(requested.elapsed().as_secs_f64() * 1_000.0);
            ensure!(status.is_success(), "GET {path}: {status}");
        }
        Ok(latencies)
    }
}

/// A portal that no property uses and that is changed repeatedly, to change the revision of the
/// configuration.
pub struct ChangingPortal {
    path: String,
    notes: Keys,
}

impl ChangingPortal {
    /// Creates a portal that is assigned to no property.
    pub async fn create(client: &Client) -> anyhow::Result<Self> {
        let name = format!(
            "Changing {}",
            client
                .data(Method::GET, PORTALS, None)
                .await?
                .as_array()
                .map_or(0, Vec::len)
        );
        let portal = client
            .data(Method::POST, PORTALS, Some(&json!({ "name": name })))
            .await?;
        let id = portal["id"].as_str().context("a portal without an id")?;
        Ok(Self {
            path: format!("{PORTALS}/{id}"),
            notes: Keys::default(),
        })
    }

    /// Returns the body of a request that changes the portal's support notes to a new text.
    fn next(&self) -> Value {
        json!({ "data": { "supportNotes": self.notes.next() } })
    }

    /// Sends the next change of the portal to the service.
    pub async fn change(&self, client: &Client) -> anyhow::Result<()> {
        client
            .request_ok(Method::PATCH, &self.path, Some(&self.next()))
            .await
            .map(drop)
    }
}

/// The content coding that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Not compressed.
    Identity,
    /// Compressed with gzip.
    Gzip,
}

/// A connection that is used for several requests.
pub struct Connection(SendRequest<Full<Bytes>>);

impl Connection {
    async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // The task drives the connection and ends when `sender` is dropped. `sender` also returns
        // the connection's errors, so the task ignores them.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Self(sender))
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Incoming>> {
        self.0.ready().await?;
        Ok(self.0.send_request(request).await?)
    }

    /// Makes a request and reads the whole response. Returns the status and the length of the body
    /// in bytes.
    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> anyhow::Result<(StatusCode, u64)> {
        let response = self.send(request).await?;
        let status = response.status();
        let mut body = response.into_body();
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            length += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok((status, u64::try_from(length)?))
    }
}

/// A load of requests. Each worker repeats the same request on a connection of its own.
#[derive(Debug, Clone)]
pub struct Requests {
    pub client: Client,
    /// The request that each worker repeats.
    pub ask: RepeatedRequest,
}

/// A request that a load can repeat.
#[derive(Debug, Clone)]
pub enum RepeatedRequest {
    /// A GET request to a path, for a compressed or an uncompressed response.
    Read(Arc<str>, Coding),
    /// The creation of a portal, each time with a new idempotency key.
    Create(Keys),
    /// The creation of a portal, each time with a new idempotency key. The requests go through
    /// these clients in turn.
    CreateBy(Keys, Arc<[Client]>),
}

impl Requests {
    fn next(&self) -> http::Result<Request<Full<Bytes>>> {
        match &self.ask {
            RepeatedRequest::Read(path, coding) => {
                self.client.read(path, *coding).body(Full::default())
            }
            RepeatedRequest::Create(keys) => create(&self.client, keys.next()),
            RepeatedRequest::CreateBy(keys, clients) => {
                let key = keys.next();
                // The second half of a key is the key's number in sequence, so the clients take
                // turns.
                let index =
                    usize::try_from(key.as_u64_pair().1).unwrap_or_default() % clients.len();
                create(&clients[index], key)
            }
        }
    }
}

fn create(client: &Client, key: Uuid) -> http::Result<Request<Full<Bytes>>> {
    let body = setup::portal(&key.to_string()).to_string();
    let request = client
        .request(Method::POST, PORTALS)
        .header(CONTENT_TYPE, "application/json");
    request
        .header("idempotency-key", key.to_string())
        .body(Full::from(body))
}

#[async_trait]
impl BenchSuite for Requests {
    type WorkerState = Connection;

    async fn state(&self, _worker: u32) -> anyhow::Result<Connection> {
        Connection::open(self.client.address).await
    }

    async fn bench(
        &mut self,
        connection: &mut Connection,
        _iteration: &IterInfo,
    ) -> anyhow::Result<IterReport> {
        let request = self.next()?;
        let started = Instant::now();
        let (status, bytes) = connection.exchange(request).await?;
        Ok(IterReport {
            duration: started.elapsed(),
            status: status.into(),
            bytes,
            items: 1,
        })
    }
}
