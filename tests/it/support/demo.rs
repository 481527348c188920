//! The demo, as it runs.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use engine::clock::Clock;
use jiff::ToSpan as _;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::house::with;
use super::{Answer, choose_tls_provider, new_id, reservation};

/// `vestibule demo`, killed when dropped.
pub struct Demo {
    process: Child,
    http: Client,
    /// What it says of itself, by the names it gives.
    said: Vec<(String, String)>,
}

impl Demo {
    pub fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_vestibule"))
            .args(["demo", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let names = ["sign-in link", "base URL", "API key", "guest link", "platform key", "organization"];
        let mut said = Vec::new();
        // It goes on serving, so reading stops once everything has been said.
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        for line in lines {
            if let Some(name) = names.iter().find(|name| line.trim_start().starts_with(*name)) {
                let value = line.trim_start()[name.len()..].trim().to_owned();
                said.push(((*name).to_owned(), value));
            }
            if said.len() == names.len() {
                break;
            }
        }
        choose_tls_provider();
        Self { process, http: Client::new(), said }
    }

    fn said(&self, name: &str) -> &str {
        &self.said.iter().find(|(said, _)| said == name).unwrap().1
    }

    /// The page that it is shown by.
    pub fn guest_link(&self) -> &str {
        self.said("guest link")
    }

    /// Where a member comes in, and goes on to the console; good once.
    pub fn sign_in_link(&self) -> &str {
        self.said("sign-in link")
    }

    pub fn root(&self) -> &str {
        self.said("base URL").trim_end_matches("/api/v1")
    }

    async fn ask(&self, token: &str, method: Method, address: String, body: Value) -> Value {
        let request = self.http.request(method.clone(), address).bearer_auth(self.said(token));
        Answer::of(if method == Method::GET { request } else { request.json(&body) }).await.data()
    }

    /// The flat of the stay that the demo shows.
    pub async fn flat(&self) -> Value {
        let address = format!("{}/reservations?limit=1", self.said("base URL"));
        self.ask("API key", Method::GET, address, Value::Null).await[0]["propertyId"].clone()
    }

    /// The page of another stay in a flat, from so many days after today until so many.
    pub async fn page(&self, flat: &Value, (begins, ends): (i64, i64)) -> String {
        let today = Clock::system().now().in_tz("Europe/Madrid").unwrap().date();
        let day = |days: i64| today.checked_add(days.days()).unwrap().to_string();
        let stay = new_id();
        let data = with(
            reservation(None),
            json!({ "propertyId": flat, "checkIn": day(begins), "checkOut": day(ends), "adults": 2, "verificationStatus": "verified" }),
        );
        let organization = format!("{}/platform/v1/organizations/{}", self.root(), self.said("organization"));
        let records = json!({ "records": [{ "kind": "reservation", "id": stay, "data": data }] });
        self.ask("platform key", Method::POST, format!("{organization}/sync"), records).await;
        let link = format!("{organization}/reservations/{stay}/guest-link");
        let link = self.ask("platform key", Method::POST, link, json!({})).await;
        format!("{}/stay/{}?language=en", self.root(), link["token"].as_str().unwrap())
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
