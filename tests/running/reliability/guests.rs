//! Tests of guests whose server is killed repeatedly. The platform gets each submission, each due
//! charge and each abandoned cart exactly once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use test_support::{PLATFORM_KEY, new_id, reservation};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{Client, Process, ServerResponse, assert_intact, on_each};

/// Number of stays.
const STAYS: usize = 48;
/// Number of guests who act at the same time.
const GUESTS: usize = 6;
/// Time limit of a guest's request, including all repetitions of the request.
const WAIT_LIMIT: Duration = Duration::from_secs(60);
/// Time limit for the arrival of the last notice at the platform. A node looks for due charges at
/// least every 20 s.
const LAST_NOTICE: Duration = Duration::from_secs(60);

/// Starts a server that reports a guest's cart of extras as abandoned half a second after the
/// cart's last change.
fn start(database_url: &str) -> Process {
    let delay = ("VESTIBULE_CART_ABANDONMENT_DELAY", Path::new("500ms"));
    Process::start_with(database_url, &[delay])
}

/// Repeats a request while it gets no response, or a response after which the client has to try
/// again (`is_retryable`).
async fn final_response(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> ServerResponse {
    let start = Instant::now();
    loop {
        if let Some(heard) = client.ask(method.clone(), path, None, body.clone()).await
            && !heard.is_retryable()
        {
            return heard;
        }
        assert!(start.elapsed() < WAIT_LIMIT, "no answer: {method} {path}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn done(client: &Client, method: Method, path: &str, body: Value) -> Value {
    let body = (method != Method::GET).then_some(body);
    let received = final_response(client, method.clone(), path, body).await;
    assert!(
        (200..300).contains(&received.status),
        "{method} {path}: {}",
        received.body
    );
    received.body["data"].clone()
}

/// An organization whose stays have a fee and a deposit.
struct ChargesScene {
    platform: Client,
    organization: String,
    /// Id and guest token of each stay.
    stays: Vec<(Uuid, String)>,
    fees: String,
    deposit: String,
    extra: Uuid,
}

impl ChargesScene {
    async fn build(server: &Process) -> Self {
        let mut platform = Client::of(server).await;
        PLATFORM_KEY.clone_into(&mut platform.token);
        let organization = format!("/platform/v1/organizations/{}", new_id());
        done(
            &platform,
            Method::PUT,
            &organization,
            json!({ "name": "O" }),
        )
        .await;
        let key = json!({ "name": "k", "permissions": Permission::VARIANTS });
        let key = done(
            &platform,
            Method::POST,
            &format!("{organization}/api-keys"),
            key,
        )
        .await;
        let mut api = platform.clone();
        key["token"].as_str().unwrap().clone_into(&mut api.token);

        let [flat, account, product, extra] = [(); 4].map(|()| new_id());
        let ids: Vec<Uuid> = (0..STAYS).map(|_| new_id()).collect();
        let mut stay = reservation(Some(flat));
        // These servers use the machine's clock, so the stay is in the distant future.
        stay["checkIn"] = json!("2999-12-11");
        stay["checkOut"] = json!("2999-12-15");
        let mut records = vec![
            json!({
                "kind": "property",
                "id": flat,
                "data": {
                    "name": "Flat",
                    "timezone": "Europe/Madrid",
                    "country": "ES",
                    "checkInTime": "15:00",
                    "checkOutTime": "11:00",
                    "propertyGroupId": null,
                    "tagIds": [],
                },
            }),
            json!({
                "kind": "payment_account",
                "id": account,
                "data": { "name": "A", "isActive": true, "isDefault": true, "currency": "EUR" },
            }),
            json!({
                "kind": "fee_product",
                "id": product,
                "data": { "name": "Linen", "amountCents": 2_500, "currency": "EUR" },
            }),
            json!({
                "kind": "upsell",
                "id": extra,
                "data": { "name": "Breakfast", "priceCents": 900, "currency": "EUR" },
            }),
        ];
        records.extend(
            ids.iter()
                .map(|id| json!({ "kind": "reservation", "id": id, "data": stay })),
        );
        done(
            &platform,
            Method::POST,
            &format!("{organization}/sync"),
            json!({ "records": records }),
        )
        .await;

        let portal = json!({ "name": "P", "isDefault": true, "isCartAbandonmentEnabled": true });
        done(&api, Method::POST, "/api/v1/portals", portal).await;
        let fees = json!({
            "stepType": "mandatory_fee",
            "nickname": "Fees",
            "isActive": true,
            "feeProductIds": [product],
        });
        let deposit = json!({
            "stepType": "damage_deposit",
            "nickname": "Deposit",
            "isActive": true,
            "isSecurityDepositEnabled": true,
            "securityDepositAmountCents": 30_000,
        });
        let mut steps = Vec::new();
        for step in [fees, deposit] {
            let created = done(&api, Method::POST, "/api/v1/precheck-steps", step).await;
            let id = created["id"].as_str().unwrap().to_owned();
            let scope =
                json!({ "entityType": "precheck_step", "entityId": id, "propertyIds": [flat] });
            done(&api, Method::POST, "/api/v1/entity-scopes/add", scope).await;
            steps.push(id);
        }
        let mut stays = Vec::new();
        for id in ids {
            let path = format!("{organization}/reservations/{id}/guest-link");
            let link = done(&platform, Method::POST, &path, json!({})).await;
            stays.push((id, link["token"].as_str().unwrap().to_owned()));
        }
        let [fees, deposit] = steps.try_into().unwrap();
        Self {
            platform,
            organization,
            stays,
            fees,
            deposit,
            extra,
        }
    }

    /// As a guest, fills the cart of a stay and submits its pre-check-in.
    async fn act(&self, token: &str) {
        let stay = format!("/guest/v1/stays/{token}");
        let guest = &self.platform;
        let cart = json!({ "items": [{ "upsellId": self.extra, "quantity": 1 }] });
        done(guest, Method::PUT, &format!("{stay}/cart"), cart).await;
        for (step, answers) in [
            (&self.fees, json!({ "isConfirmed": true })),
            (&self.deposit, json!({ "choice": "deposit" })),
        ] {
            let path = format!("{stay}/steps/{step}");
            done(guest, Method::PUT, &path, json!({ "answers": answers })).await;
        }
        let submit = format!("{stay}/submit");
        let start = Instant::now();
        loop {
            // The server may have applied a submission whose response was lost. The guest view
            // shows whether the server applied the submission.
            let view = done(guest, Method::GET, &stay, Value::Null).await;
            let status = view["precheckin"]["status"].as_str().unwrap();
            if ["in_review", "approved"].contains(&status) {
                return;
            }
            guest
                .ask(Method::POST, &submit, None, Some(json!({})))
                .await;
            assert!(start.elapsed() < WAIT_LIMIT, "{}", view["precheckin"]);
        }
    }

    /// Returns how often the platform got each notice. The key contains the kind of the notice and
    /// the id of its charge or stay.
    async fn notice_counts(&self) -> HashMap<(String, String), usize> {
        let mut reported = HashMap::new();
        let mut after = String::new();
        let start = Instant::now();
        loop {
            assert!(
                start.elapsed() < WAIT_LIMIT,
                "the notices have no last page"
            );
            let path = format!("{}/guest-changes?limit=1000{after}", self.organization);
            let page = done(&self.platform, Method::GET, &path, Value::Null).await;
            let items = page["items"].as_array().unwrap();
            for item in items {
                let about = item["chargeId"].as_str().or(item["reservationId"].as_str());
                let kind = item["kind"].as_str().unwrap();
                *reported
                    .entry((kind.to_owned(), about.unwrap().to_owned()))
                    .or_default() += 1;
            }
            if items.len() < 1000 {
                return reported;
            }
            after = format!("&after={}", page["next"].as_str().unwrap());
        }
    }

    /// Returns the id of every charge, with the id of the charge's stay.
    async fn charges(&self) -> Vec<(String, String)> {
        let path = format!("{}/charges?limit=1000", self.organization);
        let page = done(&self.platform, Method::GET, &path, Value::Null).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|charge| (text(&charge["id"]), text(&charge["reservationId"])))
            .collect()
    }
}

on_each!(repeated_kills_report_each_submission_charge_and_cart_once);
async fn repeated_kills_report_each_submission_charge_and_cart_once(database_url: String) {
    let mut server = start(&database_url);
    let scene = Arc::new(ChargesScene::build(&server).await);
    let acted = Arc::new(AtomicUsize::new(0));
    let mut guests = JoinSet::new();
    for guest in 0..GUESTS {
        let (scene, acted) = (scene.clone(), acted.clone());
        guests.spawn(async move {
            for (_, token) in scene.stays.iter().skip(guest).step_by(GUESTS) {
                scene.act(token).await;
                acted.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let mut kills = 0;
    while acted.load(Ordering::Relaxed) < STAYS || kills < 3 {
        // The delay before a kill differs between kills and between runs.
        let noise = u64::from(std::process::id())
            .wrapping_mul(0x9e37_79b9)
            .wrapping_add(kills * 7_919)
            % 401;
        tokio::time::sleep(Duration::from_millis(200 + noise)).await;
        server.kill();
        server.assert_sound();
        server = start(&database_url);
        scene.platform.base.lock().unwrap().clone_from(&server.base);
        kills += 1;
        // If the task of a guest has panicked, this `unwrap` fails the test. Without it, the outer
        // loop would never end, because such a guest does not increase `acted`.
        while let Some(guest) = guests.try_join_next() {
            guest.unwrap();
        }
    }
    guests.join_all().await;

    let charges = scene.charges().await;
    for (stay, _) in &scene.stays {
        let count = charges
            .iter()
            .filter(|(_, of)| *of == stay.to_string())
            .count();
        assert_eq!(count, 2, "the fee and the deposit of {stay}");
    }
    let began = Instant::now();
    let mut reported = scene.notice_counts().await;
    let is_all = |reported: &HashMap<(String, String), usize>| {
        let carts = reported
            .keys()
            .filter(|(kind, _)| kind == "cart_abandoned")
            .count();
        let due = reported
            .keys()
            .filter(|(kind, _)| kind == "charge_due")
            .count();
        carts == STAYS && due == charges.len()
    };
    while !is_all(&reported) && began.elapsed() < LAST_NOTICE {
        tokio::time::sleep(Duration::from_millis(200)).await;
        reported = scene.notice_counts().await;
    }
    for (stay, _) in &scene.stays {
        for kind in ["submitted", "cart_abandoned"] {
            assert_eq!(
                reported.get(&(kind.to_owned(), stay.to_string())),
                Some(&1),
                "{kind} of {stay}"
            );
        }
    }
    for (charge, _) in &charges {
        assert_eq!(
            reported.get(&("charge_due".to_owned(), charge.clone())),
            Some(&1),
            "{charge}"
        );
    }
    server.assert_sound();
    assert_intact(&database_url);
    eprintln!("{database_url}: {kills} kills, {} charges", charges.len());
}
