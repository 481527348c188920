//! The pictures of the guest's page in docs/images, of the demo as it runs: `just screenshots`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use engine::clock::Clock;
use jiff::ToSpan as _;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::driver::browse;
use super::window::{DESKTOP, PHONE, Window};
use crate::support::house::with;
use crate::support::{Answer, new_id, reservation};

/// Bytes of a picture at the most.
const MOST: usize = 150 << 10;

/// `vestibule demo`, killed when dropped.
struct Demo {
    process: Child,
    http: Client,
    /// What it says of itself, by the names it gives.
    said: Vec<(String, String)>,
}

impl Demo {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_vestibule"))
            .args(["demo", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let names = ["base URL", "API key", "platform key", "organization"];
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
        Self { process, http: Client::new(), said }
    }

    fn said(&self, name: &str) -> &str {
        &self.said.iter().find(|(said, _)| said == name).unwrap().1
    }

    fn root(&self) -> &str {
        self.said("base URL").trim_end_matches("/api/v1")
    }

    async fn ask(&self, token: &str, method: Method, address: String, body: Value) -> Value {
        let request = self.http.request(method.clone(), address).bearer_auth(self.said(token));
        Answer::of(if method == Method::GET { request } else { request.json(&body) }).await.data()
    }

    /// The flat of the stay that the demo shows.
    async fn flat(&self) -> Value {
        let address = format!("{}/reservations?limit=1", self.said("base URL"));
        self.ask("API key", Method::GET, address, Value::Null).await[0]["propertyId"].clone()
    }

    /// The page of another stay in a flat, from so many days after today until so many.
    async fn page(&self, flat: &Value, (begins, ends): (i64, i64)) -> String {
        let today = Clock::system().now().in_tz("Europe/Madrid").unwrap().date();
        let day = |days: i64| today.checked_add(days.days()).unwrap().to_string();
        let stay = new_id();
        let data = with(reservation(None), json!({ "propertyId": flat, "checkIn": day(begins), "checkOut": day(ends), "adults": 2 }));
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

/// Writes what is seen, as sharp as fits.
async fn write(window: &Window, name: &str, size: (u32, u32)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/images").join(format!("{name}.png"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for scale in [2.0, 1.5, 1.0] {
        window.scaled(size, scale).await;
        let picture = BASE64_STANDARD.decode(window.picture().await).unwrap();
        if picture.len() <= MOST {
            return std::fs::write(path, picture).unwrap();
        }
    }
    panic!("{name} is larger than {MOST} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it writes docs/images"]
async fn screenshots() {
    browse(Duration::from_secs(120), async |window| {
        let demo = tokio::task::spawn_blocking(Demo::start).await.unwrap();
        let flat = demo.flat().await;
        let days = [("after", (-6, -2)), ("departure", (-4, 0)), ("stay", (-1, 3)), ("arrival", (0, 4)), ("before", (1, 5))];
        for (name, days) in days {
            window.resize(PHONE).await;
            window.prefer(&[("prefers-color-scheme", "light")]).await;
            window.go(&demo.page(&flat, days).await).await;
            write(window, &format!("guest-{name}"), PHONE).await;
        }
        window.prefer(&[("prefers-color-scheme", "dark")]).await;
        write(window, "guest-before-dark", PHONE).await;
        write(window, "guest-before-desktop-dark", DESKTOP).await;
        window.prefer(&[("prefers-color-scheme", "light")]).await;
        write(window, "guest-before-desktop", DESKTOP).await;
        let step = "const next = document.querySelector('main a[href*=\"/steps/\"]'); location.assign(next.href)";
        window.leaves(async { drop(window.run(step).await) }).await;
        write(window, "guest-step", PHONE).await;
    })
    .await;
}
