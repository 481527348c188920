//! Browser tests of the console, the guest page, OAuth consent and the tools through each reverse
//! proxy for which `deploy/` has a configuration.

use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::{Value, json};
use test_support::house::House;
use test_support::proxy::{PROXIES, PublicSide, ShippedProxy};
use test_support::{ApiResponse, App, new_id};
use uuid::Uuid;

use super::consent::local;
use super::driver::browse;
use super::people::press;
use super::window::Window;
use crate::oauth::{Pairs, Tokens, VERIFIER, ask, encoded, pairs, query, with};
use crate::people::{ada, link_for};

/// Time limit of the test of one proxy.
const DEADLINE: Duration = Duration::from_secs(60);

/// The public address of a proxy, an HTTP client that uses the proxy, and the test data behind it.
struct Border<'b> {
    public: &'b str,
    http: &'b Client,
    house: &'b House<'b>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_guests_apps_and_tools_come_through_each_shipped_proxy() {
    for program in PROXIES {
        let side = PublicSide::with_tls();
        let public_url = format!("--public-url={}", side.url());
        let app = App::on_sqlite(&[&public_url, "--trusted-proxy=127.0.0.1"]).await;
        let Some(proxy) = ShippedProxy::in_front_of(&app.base, program, &side).await else {
            continue;
        };
        let house = House::build(&app).await;
        let member = ada(&house.org).await;
        let border = Border {
            public: &proxy.public,
            http: &side.client().build().unwrap(),
            house: &house,
        };
        browse(DEADLINE, async |window| {
            border.lets_a_member_in(window, member).await;
            border.lets_a_guest_write(window).await;
            let tokens = border.connects_an_app(window).await;
            border.answers_tools(&tokens).await;
        })
        .await;
    }
}

impl Border<'_> {
    async fn lets_a_member_in(&self, window: &Window, member: Uuid) {
        let link = link_for(&self.house.org, member, json!({ "returnTo": "/console" }));
        let link = link.await.data();
        let url = link["url"].as_str().unwrap();
        assert!(url.starts_with(self.public), "{url}");
        window.go(url).await;
        press(window, "main button").await;
        let is_there = "return location.pathname === '/console'";
        window.until("the console", is_there).await;
        let protocol = "return performance.getEntriesByType('navigation')[0].nextHopProtocol";
        assert_eq!(window.run(protocol).await, "h2");
        window.go(&format!("{}/console/portals", self.public)).await;
        assert!(window.text().await.contains("Casa"));
    }

    async fn lets_a_guest_write(&self, window: &Window) {
        let stay = format!("{}/stay/{}", self.public, self.house.token);
        window.go(&stay).await;
        window
            .until("the guest's page", "return !!document.querySelector('h1')")
            .await;
        window.go(&format!("{stay}/messages")).await;
        window.clicks("main textarea").await;
        window.types("Is there a lift?").await;
        press(window, "main form[action*='/messages'] button[type=submit]").await;
        let sent = "return document.querySelector('main').innerText.includes('Is there a lift?')";
        window.until("the message", sent).await;
    }

    /// Lets a member allow an app to use the tools. Returns the app's tokens.
    async fn connects_an_app(&self, window: &Window) -> Tokens {
        let redirect = format!("{}/cb", local("127.0.0.1").await.unwrap());
        let client = new_id().to_string();
        let named = json!({ "name": "Notes", "redirectUris": [redirect] });
        let path = format!("/oauth-apps/{client}");
        let platform = self.house.org.app.platform();
        platform.ok(Method::PUT, &path, Some(named)).await;
        let resource = format!("{}/mcp", self.public);
        let asked = encoded(&with(ask(&client, &redirect), "resource", &resource));
        window
            .go(&format!("{}/oauth/authorize?{asked}", self.public))
            .await;
        window.requests().await;
        window.clicks("button[value=approve]").await;
        let code = window.requested(&format!("{redirect}?")).await;
        let exchange = pairs(&[
            ("grant_type", "authorization_code"),
            ("client_id", &client),
            ("code", &query(&code, "code").unwrap()),
            ("code_verifier", VERIFIER),
            ("redirect_uri", &redirect),
        ]);
        let first = self.token(&exchange).await;
        let refresh = pairs(&[
            ("grant_type", "refresh_token"),
            ("client_id", &client),
            ("refresh_token", &first.refresh),
        ]);
        self.token(&refresh).await
    }

    async fn token(&self, form: &Pairs) -> Tokens {
        let request = self.http.post(format!("{}/oauth/token", self.public));
        let request = request
            .header("content-type", "application/x-www-form-urlencoded")
            .body(encoded(form));
        Tokens::of(&ApiResponse::of(request).await)
    }

    /// Calls a tool as an assistant does. The assistant knows only the address of the tool
    /// interface, and finds the address of the metadata in the refusal of its first request.
    async fn answers_tools(&self, tokens: &Tokens) {
        let mcp = format!("{}/mcp", self.public);
        let refused = ApiResponse::of(self.http.post(&mcp).json(&json!({}))).await;
        let challenge = refused.header("www-authenticate").unwrap();
        let metadata = challenge
            .split('"')
            .find(|part| part.contains("well-known"));
        let metadata = ApiResponse::of(self.http.get(metadata.unwrap())).await;
        assert_eq!(metadata.body["resource"], mcp);
        let call = async |method: &str, params: Value| {
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let request = self.http.post(&mcp).bearer_auth(&tokens.access);
            let request = request
                .header("accept", "application/json, text/event-stream")
                .header("mcp-protocol-version", "2025-06-18");
            ApiResponse::of(request.json(&message)).await.body
        };
        let client = json!({ "name": "test", "version": "1" });
        let begun =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let begun = call("initialize", begun).await;
        assert_eq!(begun["result"]["protocolVersion"], "2025-06-18", "{begun}");
        let listed = json!({ "name": "listProperties", "arguments": {} });
        let listed = call("tools/call", listed).await;
        let text = listed["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(&self.house.flat.to_string()), "{listed}");
    }
}
