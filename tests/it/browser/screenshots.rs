//! The pictures of the guest's page in docs/images, of the demo as it runs: `just screenshots`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use engine::clock::Clock;
use jiff::civil::Date;
use reqwest::{Client, Method};
use serde_json::Value;

use super::driver::browse;
use super::window::{DESKTOP, PHONE, Window};
use crate::support::Answer;

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

    /// The stays, each with the token of its page.
    async fn stays(&self) -> Vec<Value> {
        let request = self.http.get(format!("{}/reservations?limit=100", self.said("base URL"))).bearer_auth(self.said("API key"));
        Answer::of(request).await.data().as_array().unwrap().clone()
    }

    async fn page(&self, stay: &Value) -> String {
        let (root, organization, id) = (self.root(), self.said("organization"), stay["id"].as_str().unwrap());
        let link = format!("{root}/platform/v1/organizations/{organization}/reservations/{id}/guest-link");
        let link = Answer::of(self.http.request(Method::POST, link).bearer_auth(self.said("platform key"))).await.data();
        format!("{root}/stay/{}?language=en", link["token"].as_str().unwrap())
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
        let stays = demo.stays().await;
        let today = Clock::system().now().in_tz("Europe/Madrid").unwrap().date();
        let dates = |stay: &Value| ["checkIn", "checkOut"].map(|day| stay[day].as_str().unwrap().parse::<Date>().unwrap());
        let find = |what: &str, is_it: &dyn Fn([Date; 2]) -> bool| {
            stays.iter().find(|stay| is_it(dates(stay))).unwrap_or_else(|| panic!("no stay of the demo is {what} today"))
        };
        let before = demo.page(find("before", &|[check_in, _]| check_in > today)).await;
        for (name, page) in [
            ("guest-arrival", demo.page(find("arriving", &|[check_in, _]| check_in == today)).await),
            ("guest-stay", demo.page(find("there", &|[check_in, check_out]| check_in < today && today < check_out)).await),
            ("guest-departure", demo.page(find("leaving", &|[_, check_out]| check_out == today)).await),
            ("guest-after", demo.page(find("over", &|[_, check_out]| check_out < today)).await),
            ("guest-before", before.clone()),
        ] {
            window.resize(PHONE).await;
            window.prefer(&[("prefers-color-scheme", "light")]).await;
            window.go(&page).await;
            write(window, name, PHONE).await;
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
