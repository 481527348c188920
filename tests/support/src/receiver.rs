//! An HTTPS webhook receiver on loopback, with a certificate of its own test authority.

use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::sync::mpsc;

use super::http_server::{HttpServer, RecordedRequest, Reply, response};
use super::waiting::read_until;
use super::{Api, App};

/// A webhook request that the receiver has received.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub headers: Vec<(String, String)>,
    pub raw: String,
    pub body: Value,
}

impl Delivery {
    fn of(request: &RecordedRequest) -> Self {
        Self {
            headers: request
                .headers()
                .map(|(name, value)| (name, value.to_owned()))
                .collect(),
            raw: request.body.clone(),
            body: request.json(),
        }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map_or("", |(_, value)| value)
    }
}

pub struct Receiver {
    pub url: String,
    /// Statuses of the receiver's next responses. After the last one, every response has the last
    /// status.
    answers: Arc<Mutex<Vec<u16>>>,
    deliveries: tokio::sync::Mutex<mpsc::UnboundedReceiver<Delivery>>,
    server: HttpServer,
}

impl Receiver {
    pub async fn start() -> Self {
        let answers = Arc::new(Mutex::new(vec![200]));
        let (sender, deliveries) = mpsc::unbounded_channel();
        let shared = answers.clone();
        let server = HttpServer::start_tls(move |request| {
            let status = {
                let mut answers = shared.lock().unwrap();
                if answers.len() > 1 {
                    answers.remove(0)
                } else {
                    answers[0]
                }
            };
            sender.send(Delivery::of(&request)).ok();
            ready(Reply::Response(response(status, "", "")))
        })
        .await;
        Self {
            url: format!("{}/hook", server.base),
            answers,
            deliveries: tokio::sync::Mutex::new(deliveries),
            server,
        }
    }

    /// Returns the command-line flags that let a server send webhooks to this receiver: they allow
    /// loopback addresses and trust the receiver's certificate.
    pub fn flags(&self) -> [String; 2] {
        self.server.flags()
    }

    /// Sets the statuses of the next responses. After the last one, every response has the last
    /// status.
    pub fn answer(&self, statuses: &[u16]) {
        *self.answers.lock().unwrap() = statuses.to_vec();
    }

    pub async fn next(&self) -> Delivery {
        let waiting = async { self.deliveries.lock().await.recv().await };
        tokio::time::timeout(Duration::from_secs(20), waiting)
            .await
            .expect("a delivery within 20 s")
            .unwrap()
    }

    /// Returns whether no delivery arrives within 300 ms.
    pub async fn is_quiet(&self) -> bool {
        let waiting = async { self.deliveries.lock().await.recv().await };
        tokio::time::timeout(Duration::from_millis(300), waiting)
            .await
            .is_err()
    }
}

pub async fn subscribe(api: &Api, event: &str, url: &str) -> Value {
    api.post(
        "/webhook-subscriptions",
        json!({ "event": event, "targetUrl": url }),
    )
    .await
    .data()
}

/// Returns the signature of a delivery according to Standard Webhooks 1.0.
pub fn signature(secret: &str, id: &str, timestamp: &str, body: &str) -> String {
    let key = STANDARD
        .decode(secret.strip_prefix("whsec_").unwrap())
        .unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// Waits until the subscriptions satisfy `condition`. The server updates a subscription only after
/// the receiver has responded.
pub async fn until(api: &Api, condition: impl Fn(&Value) -> bool) -> Value {
    until_read(api, "/webhook-subscriptions", condition).await
}

/// Waits until the data at a path satisfies `condition`.
pub async fn until_read(api: &Api, path: &str, condition: impl Fn(&Value) -> bool) -> Value {
    read_until(async || api.get(path).await.data(), condition).await
}

/// Advances the clock until the next retry arrives at the receiver. Returns the delivery that
/// arrived.
pub async fn retried(app: &App, receiver: &Receiver) -> Delivery {
    while_time_passes(app, receiver.next()).await
}

/// Waits for an event, and meanwhile advances the clock, so that the pauses between the attempts at
/// a delivery end.
pub async fn while_time_passes<T>(app: &App, event: impl Future<Output = T>) -> T {
    let passing = async {
        loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            // The clock runs only twice as fast as real time, so no lease ends while its delivery
            // waits for a silent receiver.
            app.clock.advance(Duration::from_millis(40));
            app.server.dependencies.due.notify_one();
        }
    };
    tokio::select! {
        value = event => value,
        () = passing => unreachable!("time passes until the event"),
    }
}
