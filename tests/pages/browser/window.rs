//! A Chromium window that a test operates: simulates a person's input and reads the visible page.

use std::time::{Duration, Instant};

use reqwest::{Client, Method};
use serde_json::{Value, json};

use test_support::choose_tls_provider;
use test_support::waiting::read_until;
use url::Url;

/// Keys as the `WebDriver` protocol encodes them. A key without a printable character has a code
/// point of the private use area.
pub const TAB: char = '\u{e004}';
pub const ENTER: char = '\u{e007}';
pub const SPACE: char = ' ';
pub const DOWN: char = '\u{e015}';
const SHIFT: char = '\u{e008}';
const CONTROL: char = '\u{e009}';
const DELETE: char = '\u{e017}';

/// Screen sizes in CSS pixels: phone, tablet, desktop and the narrowest that is supported.
pub const PHONE: (u32, u32) = (390, 844);
pub const TABLET: (u32, u32) = (820, 1180);
pub const DESKTOP: (u32, u32) = (1280, 900);
pub const NARROWEST: (u32, u32) = (320, 640);

/// Time limit of every wait.
const WAIT_LIMIT: Duration = Duration::from_secs(20);

/// A script that describes the focused element.
const FOCUSED: &str = include_str!("focused.js");

/// A `WebDriver` session with one window.
pub struct Window {
    http: Client,
    session: String,
}

impl Window {
    pub(super) async fn open(driver: &str) -> Self {
        choose_tls_provider();
        // A command may wait for a page load, which may take up to `WAIT_LIMIT`. So the time limit
        // of the HTTP request is longer.
        let http = Client::builder()
            .timeout(WAIT_LIMIT * 2)
            .no_proxy()
            .build()
            .unwrap();
        let wait_limit = WAIT_LIMIT.as_millis();
        let flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-breakpad",
            "--disable-extensions",
            "--disable-background-networking",
            "--hide-scrollbars",
            "--lang=en-US",
        ];
        let capabilities = json!({
            // Test apps on this machine have certificates of an authority that exists only in the
            // test.
            "acceptInsecureCerts": true,
            "timeouts": { "pageLoad": wait_limit, "script": wait_limit },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "goog:chromeOptions": { "args": flags },
        });
        let mut window = Self {
            http,
            session: format!("{driver}/session"),
        };
        let session = window
            .command(
                Method::POST,
                "",
                json!({ "capabilities": { "alwaysMatch": capabilities } }),
            )
            .await;
        window.session = format!(
            "{driver}/session/{}",
            session["sessionId"].as_str().unwrap()
        );
        window
    }

    pub(super) async fn close(self) {
        self.tried(Method::DELETE, "", Value::Null).await.ok();
    }

    async fn tried(&self, method: Method, path: &str, body: Value) -> Result<Value, String> {
        let request = self
            .http
            .request(method.clone(), format!("{}{path}", self.session));
        let request = if method == Method::POST {
            request.json(&body)
        } else {
            request
        };
        let response = request.send().await.map_err(|error| error.to_string())?;
        let is_done = response.status().is_success();
        let mut answer: Value = response.json().await.map_err(|error| error.to_string())?;
        let value = answer["value"].take();
        if is_done {
            Ok(value)
        } else {
            Err(format!("{}: {}", value["error"], value["message"]))
        }
    }

    async fn command(&self, method: Method, path: &str, body: Value) -> Value {
        let response = self.tried(method, path, body).await;
        response.unwrap_or_else(|error| panic!("the browser refuses {path}: {error}"))
    }

    /// Sends a command of the Chrome `DevTools` Protocol.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.command(
            Method::POST,
            "/goog/cdp/execute",
            json!({ "cmd": command, "params": parameters }),
        )
        .await
    }

    /// Opens an address and waits until the page is loaded.
    pub async fn go(&self, address: &str) {
        self.command(Method::POST, "/url", json!({ "url": address }))
            .await;
    }

    pub async fn reload(&self) {
        self.command(Method::POST, "/refresh", json!({})).await;
    }

    /// Runs a script and returns its result, or the result of its promise. Works even if the page's
    /// own scripts are disabled.
    pub async fn run(&self, script: &str) -> Value {
        self.command(
            Method::POST,
            "/execute/sync",
            json!({ "script": script, "args": [] }),
        )
        .await
    }

    /// Waits until the page is loaded and a script returns true. `what` describes the condition for
    /// the failure message.
    pub async fn until(&self, what: &str, script: &str) {
        let start = Instant::now();
        let script =
            format!("if (document.readyState !== 'complete') return 'still loading';\n{script}");
        loop {
            // The command fails while the browser changes from one page to the next, so the test
            // sends it again.
            let response = self
                .tried(
                    Method::POST,
                    "/execute/sync",
                    json!({ "script": script, "args": [] }),
                )
                .await;
            if response.as_ref().is_ok_and(|response| response == true) {
                return;
            }
            assert!(
                start.elapsed() < WAIT_LIMIT,
                "{what}: {response:?} at {}",
                self.path().await
            );
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    }

    /// Performs an action that leads to another page, and waits until that page is loaded.
    pub async fn leaves(&self, act: impl Future<Output = ()>) {
        self.run("window.isLeft = true").await;
        act.await;
        self.until("another page", "return !window.isLeft").await;
    }

    /// Returns path and query of the current address.
    pub async fn path(&self) -> String {
        let address = self.command(Method::GET, "/url", Value::Null).await;
        let address: reqwest::Url = address.as_str().unwrap().parse().unwrap();
        address.query().map_or_else(
            || address.path().to_owned(),
            |query| format!("{}?{query}", address.path()),
        )
    }

    /// Returns the visible text.
    pub async fn text(&self) -> String {
        self.run("return document.body.innerText")
            .await
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Types a text: presses and releases the key of each character.
    pub async fn types(&self, keys: &str) {
        let pressed = |key: char| {
            [
                json!({ "type": "keyDown", "value": key }),
                json!({ "type": "keyUp", "value": key }),
            ]
        };
        let actions: Vec<Value> = keys.chars().flat_map(pressed).collect();
        self.acts(json!({ "type": "key", "id": "keys", "actions": actions }))
            .await;
    }

    /// Presses a key several times, together with Shift if `is_backwards`.
    pub async fn repeats(&self, key: char, times: usize, is_backwards: bool) {
        let (down, up) = (
            |key: char| json!({ "type": "keyDown", "value": key }),
            |key: char| json!({ "type": "keyUp", "value": key }),
        );
        let mut actions: Vec<Value> = is_backwards.then(|| down(SHIFT)).into_iter().collect();
        actions.extend((0..times).flat_map(|_| [down(key), up(key)]));
        actions.extend(is_backwards.then(|| up(SHIFT)));
        self.acts(json!({ "type": "key", "id": "keys", "actions": actions }))
            .await;
    }

    /// Empties the focused field.
    pub async fn empties(&self) {
        let (down, up) = (
            |key: char| json!({ "type": "keyDown", "value": key }),
            |key: char| json!({ "type": "keyUp", "value": key }),
        );
        let actions = [
            down(CONTROL),
            down('a'),
            up('a'),
            up(CONTROL),
            down(DELETE),
            up(DELETE),
        ];
        self.acts(json!({ "type": "key", "id": "keys", "actions": actions }))
            .await;
    }

    pub async fn press(&self, key: char) {
        self.types(&key.to_string()).await;
    }

    /// Describes the focused element with `focused.js`.
    pub async fn focused(&self) -> Value {
        self.run(FOCUSED).await
    }

    /// Presses Tab until `is_it` accepts the focused element. Panics if 150 presses do not reach
    /// it.
    pub async fn tabs_to(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut passed = Vec::new();
        for _ in 0..150 {
            self.press(TAB).await;
            let focused = self.focused().await;
            if is_it(&focused) {
                return focused;
            }
            passed.push(focused["is"].clone());
        }
        panic!(
            "no {what} is reached by Tab at {}, but {passed:?}",
            self.path().await
        );
    }

    /// Clicks the first element that matches a selector.
    pub async fn clicks(&self, selector: &str) {
        let element = self
            .command(
                Method::POST,
                "/element",
                json!({ "using": "css selector", "value": selector }),
            )
            .await;
        let id = element
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap()
            .as_str()
            .unwrap();
        self.command(Method::POST, &format!("/element/{id}/click"), json!({}))
            .await;
    }

    /// Double-clicks the first element that matches a selector.
    pub async fn double_clicks(&self, selector: &str) {
        let element = self
            .command(
                Method::POST,
                "/element",
                json!({ "using": "css selector", "value": selector }),
            )
            .await;
        let (down, up) = (
            json!({ "type": "pointerDown", "button": 0 }),
            json!({ "type": "pointerUp", "button": 0 }),
        );
        let there =
            json!({ "type": "pointerMove", "duration": 0, "origin": element, "x": 0, "y": 0 });
        let actions = json!([there, down, up, down, up]);
        self.acts(json!({
            "type": "pointer",
            "id": "mouse",
            "parameters": { "pointerType": "mouse" },
            "actions": actions,
        }))
        .await;
    }

    /// Performs input actions, such as key presses. If the actions lead to another page, the driver
    /// may report an error although it performed them.
    async fn acts(&self, source: Value) {
        let response = self
            .tried(Method::POST, "/actions", json!({ "actions": [source] }))
            .await;
        if let Err(error) = response {
            let has_left = ["navigat", "loading status", "detached"]
                .iter()
                .any(|words| error.contains(words));
            assert!(has_left, "the browser refuses input: {error}");
        }
    }

    /// Sets the size of the visible page in CSS pixels.
    pub async fn resize(&self, (width, height): (u32, u32)) {
        self.scaled((width, height), 1.0).await;
    }

    /// Sets the size of the visible page and emulates a mobile device with a touch screen.
    pub async fn held(&self, (width, height): (u32, u32)) {
        let screen =
            json!({ "width": width, "height": height, "deviceScaleFactor": 2, "mobile": true });
        self.devtools("Emulation.setDeviceMetricsOverride", screen)
            .await;
        self.devtools(
            "Emulation.setTouchEmulationEnabled",
            json!({ "enabled": true }),
        )
        .await;
    }

    /// Sets the size of the visible page, with `scale` device pixels per CSS pixel.
    pub async fn scaled(&self, (width, height): (u32, u32), scale: f64) {
        let screen = json!({
            "width": width,
            "height": height,
            "deviceScaleFactor": scale,
            "mobile": false,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", screen)
            .await;
    }

    /// Sets the user's preferences, named as in CSS media queries, and resets all others.
    pub async fn prefer(&self, features: &[(&str, &str)]) {
        let features: Vec<Value> = features
            .iter()
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        self.devtools(
            "Emulation.setEmulatedMedia",
            json!({ "media": "", "features": features }),
        )
        .await;
    }

    /// Shows the page as it would be printed.
    pub async fn on_paper(&self) {
        self.devtools("Emulation.setEmulatedMedia", json!({ "media": "print" }))
            .await;
    }

    /// Disables the scripts of pages that are opened from now on.
    pub async fn without_scripts(&self) {
        self.devtools(
            "Emulation.setScriptExecutionDisabled",
            json!({ "value": true }),
        )
        .await;
    }

    /// Returns a screenshot of the visible page as a PNG in base64.
    pub async fn picture(&self) -> String {
        self.command(Method::GET, "/screenshot", Value::Null)
            .await
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Returns the errors that the browser console has logged since the last call.
    pub async fn console_errors(&self) -> Vec<String> {
        let entries = self.log("browser").await;
        let errors = entries.iter().filter(|entry| entry["level"] == "SEVERE");
        errors
            .map(|entry| entry["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Waits until a page requests a URL that begins with `beginning`. Returns that URL.
    pub async fn requested(&self, beginning: &str) -> Url {
        let is_wanted = |url: &&String| url.starts_with(beginning);
        let mut seen = Vec::new();
        let read = async || {
            seen.extend(self.requests().await);
            seen.clone()
        };
        let urls = read_until(read, |urls: &Vec<String>| {
            urls.iter().any(|url| is_wanted(&url))
        })
        .await;
        urls.iter().find(is_wanted).unwrap().parse().unwrap()
    }

    /// Returns the URLs that pages have requested since the last call.
    pub async fn requests(&self) -> Vec<String> {
        let entries = self.log("performance").await;
        let events = entries.iter().map(|entry| {
            serde_json::from_str::<Value>(entry["message"].as_str().unwrap()).unwrap()
        });
        let asked =
            events.filter(|event| event["message"]["method"] == "Network.requestWillBeSent");
        asked
            .map(|event| {
                event["message"]["params"]["request"]["url"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect()
    }

    async fn log(&self, kind: &str) -> Vec<Value> {
        let entries = self
            .command(Method::POST, "/se/log", json!({ "type": kind }))
            .await;
        entries.as_array().unwrap().clone()
    }
}
