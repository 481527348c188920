//! Tests that kill nodes while they exchange an authorization code. After each test, either the
//! code is still valid, or the tokens that the exchange created exist.

use std::time::{Duration, Instant};

use engine::access;
use futures_util::future::join;
use reqwest::Method;
use serde_json::json;
use store::Value;
use test_support::node::Node;
use test_support::waiting::WAIT_LIMIT;
use test_support::{ApiResponse, App, http_client, new_id};
use uuid::Uuid;

use super::{
    REDIRECT, Tokens, VERIFIER, ask, borrowed, encoded, form, leads_to, pairs, query, refused,
};
use crate::people::{Browser, html, member, path_of};

/// Flag with the public URL of every node.
const PUBLIC_URL: &str = "--public-url=http://stay.example";
/// Number of exchanges of an authorization code. During each exchange, a node is killed.
const KILLS: u32 = 20;

/// A database on which nodes start and stop, and a browser with a signed-in member.
struct NodeHouse {
    /// A server that the tests use for SQL only. The nodes are other processes with other clocks.
    database: App,
    node: Node,
    oauth_app: Uuid,
    browser: Browser,
}

impl NodeHouse {
    async fn build() -> Option<Self> {
        let database = App::on_postgres(&[PUBLIC_URL]).await?;
        let node = Node::start(&database.database_url, &[PUBLIC_URL]);
        let (platform, organization, ada, oauth_app) = (
            node.platform(),
            format!("/organizations/{}", new_id()),
            new_id(),
            new_id(),
        );
        platform
            .ok(Method::PUT, &organization, Some(json!({ "name": "Casa" })))
            .await;
        platform
            .ok(
                Method::PUT,
                &format!("{organization}/members/{ada}"),
                Some(member("ada@example.com")),
            )
            .await;
        platform
            .ok(
                Method::PUT,
                &format!("/oauth-apps/{oauth_app}"),
                Some(json!({ "name": "Notes", "redirectUris": [REDIRECT] })),
            )
            .await;
        let link = platform
            .ok(
                Method::POST,
                &format!("{organization}/members/{ada}/sign-in-links"),
                Some(json!({})),
            )
            .await;
        let browser = Browser::at(&node.base);
        browser.sign_in(&path_of(&link)).await;
        Some(Self {
            database,
            node,
            oauth_app,
            browser,
        })
    }

    fn another_node(&self) -> Node {
        Node::start(&self.database.database_url, &[PUBLIC_URL])
    }

    /// Gives consent at a node. Returns the authorization code.
    async fn code(&self) -> String {
        let asked = super::with(
            ask(&self.oauth_app.to_string(), REDIRECT),
            "resource",
            "http://stay.example/api/v1",
        );
        let page = html(
            &self
                .browser
                .get(&format!("/oauth/authorize?{}", encoded(&asked)))
                .await,
        );
        let response = self
            .browser
            .post(
                "/oauth/consent",
                &form(&page, "approve")
                    .iter()
                    .map(borrowed)
                    .collect::<Vec<_>>(),
            )
            .await;
        query(&leads_to(&response), "code").unwrap()
    }

    /// Exchanges a code at a node. Returns `None` if the node is killed before it responds.
    async fn exchange(&self, base: &str, code: &str) -> Option<ApiResponse> {
        let fields = pairs(&[
            ("grant_type", "authorization_code"),
            ("client_id", &self.oauth_app.to_string()),
            ("code", code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", REDIRECT),
        ]);
        let request = http_client()
            .post(format!("{base}/oauth/token"))
            .header("content-type", "application/x-www-form-urlencoded");
        let response = request.body(encoded(&fields)).send().await.ok()?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Some(ApiResponse {
            status,
            headers,
            body: response.json().await.ok()?,
        })
    }

    /// Returns whether a code has been exchanged, and the numbers of refresh and access tokens of
    /// its grant. Returns `None` if the grant does not exist any more.
    async fn grant_state(&self, code: &str) -> Option<(bool, i64, i64)> {
        let text = "select exchanged_at is not null,
            (select count(*) from oauth_refresh_token r where r.grant_id = g.id),
            (select count(*) from access_token t where t.grant_id = g.id) \
            from oauth_grant g where code_hash = ?1";
        let hash = Value::Bytes(access::hash(code));
        self.database
            .query(text, vec![hash], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .await
            .pop()
    }
}

const UNTOUCHED: Option<(bool, i64, i64)> = Some((false, 0, 0));
const EXCHANGED: Option<(bool, i64, i64)> = Some((true, 1, 1));

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_outlives_the_node_that_issued_it() {
    let Some(mut house) = NodeHouse::build().await else {
        return;
    };
    let code = house.code().await;
    house.node.kill();
    assert_eq!(house.grant_state(&code).await, UNTOUCHED);
    let (one, two) = (house.another_node(), house.another_node());
    let tokens = Tokens::of(&house.exchange(&one.base, &code).await.unwrap());
    assert_eq!(house.grant_state(&code).await, EXCHANGED);
    for node in [&one, &two] {
        node.api(&tokens.access).get("/portals").await.data();
    }
    refused(
        &house.exchange(&two.base, &code).await.unwrap(),
        400,
        "invalid_grant",
    );
    for node in [&one, &two] {
        node.api(&tokens.access).get("/portals").await.error(401);
    }
    assert_eq!(house.grant_state(&code).await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_exchanges_on_two_nodes_revoke_the_tokens() {
    let Some(house) = NodeHouse::build().await else {
        return;
    };
    let other = house.another_node();
    for _ in 0..10 {
        let code = house.code().await;
        let (one, two) = join(
            house.exchange(&house.node.base, &code),
            house.exchange(&other.base, &code),
        )
        .await;
        let (one, two) = (one.unwrap(), two.unwrap());
        let (won, lost) = if one.status == 200 {
            (one, two)
        } else {
            (two, one)
        };
        let tokens = Tokens::of(&won);
        refused(&lost, 400, "invalid_grant");
        // If a code is exchanged twice, a second party may have it, so the service revokes the
        // tokens that the first exchange returned.
        other.api(&tokens.access).get("/portals").await.error(401);
        assert_eq!(house.grant_state(&code).await, None);
    }
}

/// Kills a node during each exchange. The kills come at different times after the start of the
/// exchange.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_exchange_is_complete_or_not_started() {
    let Some(house) = NodeHouse::build().await else {
        return;
    };
    let measured = house.another_node();
    let (code, start) = (house.code().await, Instant::now());
    Tokens::of(&house.exchange(&measured.base, &code).await.unwrap());
    let takes = start.elapsed();
    let mut came = [0; 3];
    for number in 0..KILLS {
        let mut victim = house.another_node();
        let code = house.code().await;
        let base = victim.base.clone();
        let killed = async {
            tokio::time::sleep(takes * number / KILLS + Duration::from_micros(500)).await;
            victim.kill();
        };
        let (answer, ()) = join(house.exchange(&base, &code), killed).await;
        let remaining = house.grant_state(&code).await;
        assert!(
            remaining == UNTOUCHED || remaining == EXCHANGED,
            "{remaining:?}"
        );
        // This exchange waits for the lock of the organization. When it gets the lock, the
        // transaction of the killed node has ended.
        let again = house.exchange(&house.node.base, &code).await.unwrap();
        match (&answer, again.status) {
            (Some(answer), _) => {
                Tokens::of(answer);
                refused(&again, 400, "invalid_grant");
                assert_eq!(house.grant_state(&code).await, None);
                came[2] += 1;
            }
            (None, 200) => {
                assert_eq!(house.grant_state(&code).await, EXCHANGED);
                Tokens::of(&again);
                came[0] += 1;
            }
            (None, _) => {
                refused(&again, 400, "invalid_grant");
                assert_eq!(
                    house.grant_state(&code).await,
                    None,
                    "what came of a code that is shown again has ended"
                );
                came[1] += 1;
            }
        }
    }
    let [before, between, after] = came;
    eprintln!(
        "killed {before} times before the exchange was done, {between} after it and before its \
            answer, {after} after that"
    );
    assert!(before > 0, "{came:?}");
}

/// The node has read the authorization code and waits for the lock of the organization when it is
/// killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_killed_while_waiting_leaves_the_code_valid() {
    let Some(house) = NodeHouse::build().await else {
        return;
    };
    for _ in 0..3 {
        let mut victim = house.another_node();
        let code = house.code().await;
        let base = victim.base.clone();
        let store = house.database.server.service.store.clone();
        let (held, is_held) = std::sync::mpsc::channel();
        let (release, is_released) = std::sync::mpsc::channel::<()>();
        let holding = tokio::spawn(async move {
            let lock = test_support::sql::statement("update organization set revision = revision");
            store
                .write_within(Duration::from_secs(9), move |tx| {
                    tx.execute(lock, &[])?;
                    held.send(()).ok();
                    is_released.recv_timeout(Duration::from_secs(8)).ok();
                    Ok::<_, store::Error>(())
                })
                .await
                .unwrap();
        });
        tokio::task::spawn_blocking(move || is_held.recv_timeout(WAIT_LIMIT).unwrap())
            .await
            .unwrap();
        let killed = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            victim.kill();
        };
        let (answer, ()) = join(house.exchange(&base, &code), killed).await;
        assert!(answer.is_none());
        release.send(()).unwrap();
        holding.await.unwrap();
        Tokens::of(&house.exchange(&house.node.base, &code).await.unwrap());
        assert_eq!(house.grant_state(&code).await, EXCHANGED);
    }
}
