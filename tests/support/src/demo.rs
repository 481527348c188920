//! Runs `vestibule demo` as a process, and reads the values that it prints.

use std::io::BufRead as _;
use std::process::{Command, Stdio};

use engine::clock::Clock;
use jiff::ToSpan as _;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::house::with;
use super::server_process::ServerProcess;
use super::{ApiResponse, http_client, new_id, reservation};

/// A running `vestibule demo`.
pub struct Demo {
    _process: ServerProcess,
    http: Client,
    /// The values that the demo prints at its start, each with its label.
    printed_values: Vec<(String, String)>,
}

impl Demo {
    pub fn start() -> Self {
        let names = [
            "sign-in link",
            "base URL",
            "API key",
            "guest link",
            "platform key",
            "organization",
            "stay with a photo to repeat",
            "stay with charges that are due",
            "stay with a survey to answer",
            "stay with a contract to sign",
            "stay with an extra in the cart",
            "stay with a domain of its own",
            "stay with a new step to do",
            "stay with a changed agreement",
        ];
        let mut printed_values = Vec::new();
        let mut command = Command::new(super::program());
        command.args(["demo", "--listen", "127.0.0.1:0"]);
        let process = ServerProcess::start_reading(&mut command, Stdio::null(), |output| {
            // The demo continues to serve, so reading stops when all labels have been found.
            for line in output.lines().map_while(Result::ok) {
                if let Some(name) = names
                    .iter()
                    .find(|name| line.trim_start().starts_with(*name))
                {
                    let value = line.trim_start()[name.len()..].trim().to_owned();
                    printed_values.push(((*name).to_owned(), value));
                }
                if printed_values.len() == names.len() {
                    break;
                }
            }
            String::new()
        });
        Self {
            _process: process,
            http: http_client(),
            printed_values,
        }
    }

    fn printed(&self, name: &str) -> &str {
        &self
            .printed_values
            .iter()
            .find(|(text, _)| text == name)
            .unwrap()
            .1
    }

    /// Returns the URL of the main guest page.
    pub fn guest_link(&self) -> &str {
        self.printed("guest link")
    }

    /// Returns a URL that signs a member in and continues to the console. The link can be used only
    /// once.
    pub fn sign_in_link(&self) -> &str {
        self.printed("sign-in link")
    }

    pub fn root(&self) -> &str {
        self.printed("base URL").trim_end_matches("/api/v1")
    }

    /// Returns the URL of the guest page of an example stay. `what` is the text after `stay with`
    /// in the demo's output, such as `a photo to repeat`.
    pub fn example(&self, what: &str) -> &str {
        self.printed(&format!("stay with {what}"))
    }

    /// Returns the guest view of an example stay.
    pub async fn example_view(&self, what: &str) -> Value {
        let (_, token) = self.example(what).rsplit_once('/').unwrap();
        let address = format!("{}/guest/v1/stays/{token}", self.root());
        ApiResponse::of(self.http.get(address)).await.data()
    }

    /// Returns the HTTP status of the guest page of an example stay. The request has the host name
    /// in the page's URL as its `Host` header.
    pub async fn example_page(&self, what: &str) -> u16 {
        let url: url::Url = self.example(what).parse().unwrap();
        let request = self
            .http
            .get(format!("{}{}", self.root(), url.path()))
            .header("host", url.host_str().unwrap());
        request.send().await.unwrap().status().as_u16()
    }

    /// Returns the due charges from the platform interface of the demo.
    pub async fn due_charges(&self) -> Value {
        let address = format!(
            "{}/platform/v1/organizations/{}/charges?status=due",
            self.root(),
            self.printed("organization")
        );
        self.ask("platform key", Method::GET, address, Value::Null)
            .await["items"]
            .clone()
    }

    async fn ask(&self, token: &str, method: Method, address: String, body: Value) -> Value {
        let request = self
            .http
            .request(method.clone(), address)
            .bearer_auth(self.printed(token));
        ApiResponse::of(if method == Method::GET {
            request
        } else {
            request.json(&body)
        })
        .await
        .data()
    }

    /// Returns the property id of the main stay of the demo.
    pub async fn flat(&self) -> Value {
        let address = format!("{}/reservations?limit=1", self.printed("base URL"));
        self.ask("API key", Method::GET, address, Value::Null).await[0]["propertyId"].clone()
    }

    /// Creates another stay in a flat. Returns the URL of its guest page. `begins` and `ends` are
    /// numbers of days from today.
    pub async fn page(&self, flat: &Value, (begins, ends): (i64, i64)) -> String {
        let today = Clock::system().now().in_tz("Europe/Madrid").unwrap().date();
        let day = |days: i64| today.checked_add(days.days()).unwrap().to_string();
        let stay = new_id();
        let data = with(
            reservation(None),
            json!({
                "propertyId": flat,
                "checkIn": day(begins),
                "checkOut": day(ends),
                "adults": 2,
                "verificationStatus": "verified",
            }),
        );
        let organization = format!(
            "{}/platform/v1/organizations/{}",
            self.root(),
            self.printed("organization")
        );
        let records = json!({ "records": [{ "kind": "reservation", "id": stay, "data": data }] });
        self.ask(
            "platform key",
            Method::POST,
            format!("{organization}/sync"),
            records,
        )
        .await;
        let link = format!("{organization}/reservations/{stay}/guest-link");
        let link = self
            .ask("platform key", Method::POST, link, json!({}))
            .await;
        format!(
            "{}/stay/{}?language=en",
            self.root(),
            link["token"].as_str().unwrap()
        )
    }
}
