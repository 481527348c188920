//! Compares every console page, for every set of permissions, with the REST responses that the same
//! member gets. The tests iterate over the lists of screens and operations, so they cover new ones
//! as well.

use std::collections::{BTreeMap, BTreeSet};

use engine::access::Permission;
use engine::operation::Effect;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use strum::VariantArray;
use test_support::files::uploads;
use test_support::{Api, App, new_id, on_both};
use uuid::Uuid;
use vestibule_console::{ScreenAddress, addresses};

use super::things::{KEYS, Things, WEBHOOKS, subscribed};
use super::{Form, html, marta, plain};
use crate::people::{Browser, field, signed_in};

/// Names and values of form fields. The tests add them to forms that the console must refuse. With
/// these values, an accepted form would change a resource.
const TYPED: [(&str, &str); 13] = [
    ("act", "save"),
    ("name", "Forced"),
    ("nickname", "Forced"),
    ("title", "Forced"),
    ("text.en", "Forced"),
    ("message", "Forced"),
    ("q0.text", "Forced"),
    ("use.device", "1"),
    ("iconName", "coffee"),
    ("event", "task.created"),
    ("targetUrl", "https://127.0.0.1:9/forced"),
    ("since", "2026-11-01T00:00"),
    ("hours", "1"),
];

/// Names of console screens and form actions to which a page may have no link although the member
/// may use them. Whether the page has the link depends on the owner of a subscription, on the state
/// of a delivery, or on assignments. The preview of a text links only to the page of that text, so
/// it lacks the other links.
const OPTIONAL_LINKS: [&str; 5] = [
    "getManualScreen",
    "getTranslationScreen",
    "getWebhookScreen",
    "redeliverOnScreen",
    "changeAssignmentsOnScreen",
];

/// Operations that a member may call from a browser session, but not with a token.
const SESSION_ONLY: [&str; 9] = [
    "createMemberSignInLink",
    "createTeamApiKey",
    "importRecords",
    "inviteMember",
    "putRecords",
    "revokeTeamApiKey",
    "rotateTeamApiKey",
    "updateMember",
    "updateRecord",
];

/// A member with a browser session and a REST token.
struct MatrixMember {
    name: String,
    browser: Browser,
    api: Api,
    is_limited: bool,
    /// For each operation, whether the REST interface refuses it with 403. Filled on first use.
    refusals: BTreeMap<&'static str, bool>,
}

impl MatrixMember {
    async fn new(
        things: &Things<'_>,
        name: &str,
        permissions: &[Permission],
        properties: Option<&[Uuid]>,
    ) -> Self {
        let (id, org) = (new_id(), &things.house.org);
        org.member(id, properties, permissions, true).await;
        let (browser, api) = (
            signed_in(org, id).await,
            org.token_of(id, permissions).await,
        );
        Self {
            name: name.to_owned(),
            browser,
            api,
            is_limited: properties.is_some(),
            refusals: BTreeMap::new(),
        }
    }

    /// Returns whether the REST interface refuses an operation with 403 for every input. The
    /// request contains unknown ids and a body that no operation accepts.
    async fn is_refused(&mut self, operation: &'static str) -> bool {
        if let Some(refusals) = self.refusals.get(operation) {
            return *refusals;
        }
        // The operations in `SESSION_ONLY` refuse every token. So the test calls `listTeamApiKeys`
        // instead, which needs the same permission and accepts a token.
        let operation = if SESSION_ONLY.contains(&operation) {
            "listTeamApiKeys"
        } else {
            operation
        };
        let bodies: Vec<Value> = match operation {
            // The required permission depends on the event. The test treats the operation as
            // refused if the service refuses it for every event that the console offers. The
            // console does not offer `workflow.step`.
            "createWebhookSubscription" => {
                let events = self.api.get("/webhook-event-types").await.data();
                events
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|event| event["event"] != "workflow.step")
                    .map(|event| json!({ "event": event["event"], "targetUrl": "nonsense" }))
                    .collect()
            }
            _ => vec![json!({ "no such field": true })],
        };
        let declared = vestibule::app::app().operation(operation).unwrap();
        let path: Vec<String> = declared
            .path
            .split('/')
            .map(|part| {
                if part.starts_with('{') {
                    new_id().to_string()
                } else {
                    part.to_owned()
                }
            })
            .collect();
        let mut is_refused = true;
        for body in bodies {
            let response = self
                .api
                .send(
                    declared.method.clone(),
                    &path.join("/"),
                    declared.has_body().then_some(body),
                )
                .await;
            is_refused &= response.status == 403;
        }
        self.refusals.insert(operation, is_refused);
        is_refused
    }

    /// Returns whether the console hides an address from this member, because the member's access
    /// is limited and the address needs an operation of `SESSION_ONLY`.
    fn is_closed(&self, address: &ScreenAddress) -> bool {
        self.is_limited && address.needs.iter().any(|need| SESSION_ONLY.contains(need))
    }

    /// Returns whether the member may call the write operations that an address of the console
    /// needs. Ignores the read operations that the address needs.
    async fn may_write(&mut self, address: &ScreenAddress) -> bool {
        for operation in &address.needs {
            let is_write = vestibule::app::app()
                .operation(operation)
                .is_some_and(|declared| declared.effect == Effect::Write);
            if is_write && self.is_refused(operation).await {
                return false;
            }
        }
        !self.is_closed(address)
    }

    async fn may(&mut self, address: &ScreenAddress) -> bool {
        for operation in &address.needs {
            if self.is_refused(operation).await {
                return false;
            }
        }
        true
    }

    /// Returns the status of a REST request that reads the resource of a console page.
    async fn read_status(&mut self, address: &ScreenAddress, at: &str) -> u16 {
        let parts: Vec<&str> = at.split('?').next().unwrap().split('/').collect();
        let mut asked: Vec<String> = Vec::new();
        for operation in &address.needs {
            let declared = vestibule::app::app().operation(operation).unwrap();
            // REST returns a subscription only to the credential that created it.
            if declared.effect == Effect::Read
                && declared.path.contains("{id}")
                && !declared.path.starts_with("/webhook")
            {
                let path = declared.path.replace("{kind}", "tag");
                asked.extend(parts.get(3).map(|id| path.replace("{id}", id)));
            }
        }
        if parts.get(2) == Some(&"assignments") {
            let (path, entity) = match parts[3] {
                "portals" => ("portals", "portal_settings"),
                "steps" => ("precheck-steps", "precheck_step"),
                _ => ("portal-manuals", "manual"),
            };
            asked.push(format!("/{path}/{}", parts[4]));
            asked.push(format!(
                "/entity-scopes?entityType={entity}&entityId={}",
                parts[4]
            ));
        }
        let mut worst = 200;
        for path in asked {
            let status = self.api.get(&path).await.status;
            assert!(matches!(status, 200 | 403 | 404), "{path}: {status}");
            worst = if status == 403 || worst == 403 {
                403
            } else {
                worst.max(status)
            };
        }
        worst
    }
}

/// Returns the name of each console page ([`ScreenAddress`]) that a member can reach from this page
/// by a link, or by a form with a button.
fn linked_addresses(html: &str) -> BTreeSet<&'static str> {
    let all: Vec<ScreenAddress> = addresses().collect();
    let parts = |path: &str| {
        path.split(['?', '#'])
            .next()
            .unwrap()
            .split('/')
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let find = |method: &Method, path: &str| {
        let expected = parts(&plain(path));
        let fits = |address: &&ScreenAddress| {
            let own = parts(&address.path);
            address.method == *method
                && own.len() == expected.len()
                && own
                    .iter()
                    .zip(&expected)
                    .all(|(own, part)| own.starts_with('{') || own == part)
        };
        // If a path matches several addresses, the address with the fewest ids in its path is the
        // right one.
        all.iter()
            .filter(fits)
            .min_by_key(|address| address.path.matches('{').count())
            .map(|address| address.name)
    };
    let attribute = |tag: &str, name: &str| {
        tag.split(&format!(" {name}=\""))
            .nth(1)
            .map(|rest| rest.split('"').next().unwrap().to_owned())
    };
    let mut results = BTreeSet::new();
    for tag in html
        .split('<')
        .map(|rest| rest.split('>').next().unwrap())
        .filter(|tag| tag.starts_with("a "))
    {
        results.extend(attribute(tag, "href").and_then(|href| find(&Method::GET, &href)));
    }
    for form in html
        .split("<form ")
        .skip(1)
        .map(|rest| rest.split("</form>").next().unwrap())
    {
        let tag = format!(" {}", form.split('>').next().unwrap());
        let method = if attribute(&tag, "method").as_deref() == Some("post") {
            Method::POST
        } else {
            Method::GET
        };
        let has_button = form.contains("<button")
            || form.contains("type=\"search\"")
            || attribute(&tag, "id").is_some_and(|id| html.contains(&format!(" form=\"{id}\"")));
        if has_button {
            results.extend(attribute(&tag, "action").and_then(|action| find(&method, &action)));
        }
    }
    results
}

/// Returns whether a request to an address can change data.
fn writes(address: &ScreenAddress) -> bool {
    let write = |id: &&str| {
        vestibule::app::app()
            .operation(id)
            .is_some_and(|operation| operation.effect == Effect::Write)
    };
    address.method == Method::POST && address.needs.iter().any(write)
}

/// Returns the id of the newest audit entry.
async fn newest_entry(api: &Api) -> Value {
    api.get("/audit-log?limit=1").await.data()[0]["id"].clone()
}

/// The console as a member with every permission sees it: the links of each page, and one form for
/// each address that accepts a form.
struct Shown {
    linked_addresses: BTreeMap<String, BTreeSet<&'static str>>,
    forms: BTreeMap<&'static str, Form>,
}

impl Shown {
    async fn to(things: &Things<'_>) -> Self {
        let mut shown = Self {
            linked_addresses: BTreeMap::new(),
            forms: BTreeMap::new(),
        };
        let posts: Vec<ScreenAddress> = addresses()
            .filter(|address| address.method == Method::POST)
            .collect();
        for address in addresses().filter(|address| address.method == Method::GET) {
            for at in things.at(&address) {
                let response = things.browser.get(&at).await;
                assert_eq!(response.status, 200, "{at}: {}", response.body);
                let html = html(&response);
                let linked_addresses = linked_addresses(&html);
                for post in posts
                    .iter()
                    .filter(|post| linked_addresses.contains(post.name))
                {
                    let own = things.at(post).into_iter().find(|own| {
                        html.contains(&own.replace('&', "&#38;")) && html.contains("<form ")
                    });
                    let own = own.map(|own| own.split('?').next().unwrap().to_owned());
                    let has = |own: &String| {
                        html.split(" action=\"")
                            .skip(1)
                            .any(|rest| rest.starts_with(own.as_str()))
                    };
                    if let Some(own) = own.filter(has) {
                        let action = html
                            .split(" action=\"")
                            .skip(1)
                            .find(|rest| rest.starts_with(&own))
                            .unwrap()
                            .split('"')
                            .next()
                            .unwrap();
                        shown
                            .forms
                            .entry(post.name)
                            .or_insert_with(|| Form::of(&html, &plain(action)));
                    }
                }
                shown.linked_addresses.insert(at, linked_addresses);
            }
        }
        // A page has these forms only if a delivery has ended or a calendar entry waits for a
        // decision. Neither is the case here, so the test builds the forms.
        for name in ["redeliverOnScreen", "decideOnScreen"] {
            let post = posts.iter().find(|post| post.name == name).unwrap();
            shown.forms.entry(post.name).or_insert_with(|| Form {
                action: things.at(post).remove(0),
                fields: Vec::new(),
            });
        }
        shown
    }
}

/// Requests every address of the console as one member, and compares the responses with those of
/// the REST interface to the same member.
async fn check(things: &mut Things<'_>, shown: &Shown, member: &mut MatrixMember) {
    let home = html(&member.browser.get("/console").await);
    let form = field(&home, "form");
    let who = member.name.clone();
    let all: Vec<ScreenAddress> = addresses().collect();
    let mut allowed: BTreeSet<&str> = BTreeSet::new();
    for address in &all {
        if member.may(address).await && !member.is_closed(address) {
            allowed.insert(address.name);
        }
    }
    let in_navigation: BTreeSet<&str> = all
        .iter()
        .filter(|address| address.is_in_navigation && allowed.contains(address.name))
        .map(|address| address.name)
        .collect();
    let of_everybody = (things.webhook.clone(), things.delivery.clone());
    let own = subscribed(&member.browser, "task.created").await;
    (things.webhook, things.delivery) = own
        .clone()
        .unwrap_or_else(|| (new_id().to_string(), new_id().to_string()));
    for address in all.iter().filter(|address| address.method == Method::GET) {
        for at in things.at(address) {
            let response = member.browser.get(&at).await;
            let is_own = !address.path.contains("/webhooks/{id}") || own.is_some();
            let expected = match member.read_status(address, &at).await {
                _ if member.is_closed(address) && member.may(address).await => 404,
                _ if !allowed.contains(address.name) => 403,
                200 if !is_own => 404,
                status => status,
            };
            assert_eq!(response.status, expected, "{who}: {at}");
            let linked_addresses = linked_addresses(&html(&response));
            assert!(
                in_navigation.is_subset(&linked_addresses),
                "{who}: {at} leads to {linked_addresses:?}"
            );
            let unexpected: Vec<_> = linked_addresses
                .iter()
                .filter(|way| !allowed.contains(*way))
                .collect();
            assert!(
                unexpected.is_empty(),
                "{who}: {at} links to addresses that are refused: {unexpected:?}"
            );
            if expected == 200 && !member.is_limited && is_own {
                let at = at.replace(&things.webhook, &of_everybody.0);
                let missing = shown.linked_addresses[&at].iter().filter(|way| {
                    allowed.contains(*way)
                        && !linked_addresses.contains(*way)
                        && !OPTIONAL_LINKS.contains(*way)
                });
                let missing: Vec<_> = missing.collect();
                assert!(
                    missing.is_empty() || at.starts_with("/console/audit"),
                    "{who}: {at} does not lead to {missing:?}"
                );
            }
        }
    }
    (things.webhook, things.delivery) = of_everybody;
    let before = newest_entry(&things.house.api).await;
    for address in all.iter().filter(|address| writes(address)) {
        if !allowed.contains(address.name) && member.may_write(address).await {
            // The member may call the operation but may not read the resource, so no page contains
            // the form. The test skips the address: a forged form could do no more than the
            // permitted REST request.
            continue;
        }
        if allowed.contains(address.name) {
            // The REST interface permits the request, so the console does not answer 403. The id is
            // new and the form is nearly empty, so the console may answer that the resource does
            // not exist or that input is missing.
            let at = address.path.split('/').map(|part| {
                if part.starts_with('{') {
                    new_id().to_string()
                } else {
                    part.to_owned()
                }
            });
            let at = at.collect::<Vec<_>>().join("/");
            let response = member.browser.post(&at, &[("form", &form)]).await;
            assert!(
                matches!(response.status, 200 | 303 | 400 | 404 | 409),
                "{who}: POST {at}: {} {}",
                response.status,
                response.body
            );
        } else if let Some(full) = shown.forms.get(address.name) {
            let mut forced = full.clone().with("form", &form);
            for (name, value) in TYPED {
                forced = forced.with(name, value);
            }
            for (name, id) in [
                ("up", things.step),
                ("assigned", things.house.tag),
                ("shown", things.house.tag),
                ("step", things.step),
            ] {
                forced = forced.with(name, &id.to_string());
            }
            let response = forced.send(&member.browser).await;
            // The console answers 404 to members who may not use an operation of `SESSION_ONLY`.
            let is_hidden = response.status == 404
                && address.needs.iter().any(|need| SESSION_ONLY.contains(need));
            let is_refused = response.status == 403 || is_hidden;
            assert!(
                is_refused,
                "{who}: POST {}: {} {}",
                forced.action, response.status, response.body
            );
        }
    }
    assert_eq!(
        newest_entry(&things.house.api).await,
        before,
        "{who} has changed something"
    );
}

on_both!(
    pages_and_forms_allow_exactly_what_the_api_allows,
    WEBHOOKS,
    KEYS,
    uploads()
);
async fn pages_and_forms_allow_exactly_what_the_api_allows(app: App) {
    let mut things = Things::make(&app, "Casa").await;
    let shown = Shown::to(&things).await;
    let posts = addresses().filter(writes);
    let unseen: Vec<_> = posts
        .filter(|address| !shown.forms.contains_key(address.name))
        .map(|address| address.name)
        .collect();
    assert!(unseen.is_empty(), "no page has a form for {unseen:?}");
    let elsewhere = things.house.org.property(None, &[]).await;
    let mut sets: Vec<(String, Vec<Permission>, Option<Vec<Uuid>>)> = vec![
        ("nobody".into(), vec![], None),
        ("everybody".into(), Permission::VARIANTS.to_vec(), None),
        (
            "limited to the flat".into(),
            Permission::VARIANTS.to_vec(),
            Some(vec![things.house.flat]),
        ),
        (
            "limited to another flat".into(),
            Permission::VARIANTS.to_vec(),
            Some(vec![elsewhere]),
        ),
        (
            "limited to nothing".into(),
            Permission::VARIANTS.to_vec(),
            Some(vec![]),
        ),
    ];
    for permission in Permission::VARIANTS {
        sets.push((permission.as_ref().to_owned(), vec![*permission], None));
        let others = Permission::VARIANTS
            .iter()
            .copied()
            .filter(|other| other != permission)
            .collect();
        sets.push((format!("all but {}", permission.as_ref()), others, None));
    }
    for (name, permissions, properties) in sets {
        let mut member =
            MatrixMember::new(&things, &name, &permissions, properties.as_deref()).await;
        check(&mut things, &shown, &mut member).await;
    }
}

on_both!(
    no_address_shows_data_of_another_organization,
    WEBHOOKS,
    KEYS,
    uploads()
);
async fn no_address_shows_data_of_another_organization(app: App) {
    let theirs = Things::make(&app, "Theirs").await;
    let org = app.org().await;
    let browser = marta(&org).await;
    let form = field(&html(&browser.get("/console").await), "form");
    let before = newest_entry(&theirs.house.api).await;
    for address in
        addresses().filter(|address| address.path.contains('{') || address.path.ends_with("/end"))
    {
        for at in theirs.at(&address) {
            let response = if address.method == Method::GET {
                browser.get(&at).await
            } else {
                let mut fields = vec![("form", form.as_str()), ("was.en", "Theirs")];
                fields.extend(TYPED);
                browser.post(&at, &fields).await
            };
            assert_eq!(
                response.status, 404,
                "{} {at}: {}",
                address.method, response.body
            );
            assert!(!html(&response).contains("Theirs"), "{at}");
        }
    }
    // Ids of another organization in a query show no data either.
    let (portal, flat, stay) = (theirs.house.portal, theirs.house.flat, theirs.house.stay);
    for query in [
        format!("/console/steps?portal={portal}"),
        format!("/console/stays?propertyId={flat}&flat=x"),
        format!("/console/submissions?status=all&propertyId={flat}"),
        format!("/console/audit?target={stay}"),
        "/console/search?query=Theirs".to_owned(),
    ] {
        let response = browser.get(&query).await;
        assert!(
            !response
                .body
                .to_string()
                .replace("query=Theirs", "")
                .replace("value=\"Theirs\"", "")
                .contains(&format!("/{stay}")),
            "{query}: {}",
            response.body
        );
    }
    assert_eq!(newest_entry(&theirs.house.api).await, before);
}

on_both!(
    every_form_needs_the_token_of_its_session,
    WEBHOOKS,
    KEYS,
    uploads()
);
async fn every_form_needs_the_token_of_its_session(app: App) {
    let things = Things::make(&app, "Casa").await;
    let foreign = field(
        &html(&marta(&things.house.org).await.get("/console").await),
        "form",
    );
    let own = field(&html(&things.browser.get("/console").await), "form");
    let mut changed = own.clone();
    changed.replace_range(..1, if own.starts_with('A') { "B" } else { "A" });
    let before = newest_entry(&things.house.api).await;
    for address in addresses().filter(|address| address.method == Method::POST) {
        for at in things.at(&address) {
            for token in [None, Some(""), Some("x"), Some(&*foreign), Some(&*changed)] {
                let fields: Vec<(&str, &str)> = token
                    .map(|token| ("form", token))
                    .into_iter()
                    .chain(TYPED)
                    .collect();
                let response = things.browser.post(&at, &fields).await;
                assert_eq!(response.status, 403, "{at} {token:?}: {}", response.body);
                assert!(
                    html(&response).contains("This form does not belong to your session"),
                    "{at}"
                );
            }
        }
    }
    assert_eq!(newest_entry(&things.house.api).await, before);
}

on_both!(
    every_address_redirects_visitors_to_the_sign_in,
    WEBHOOKS,
    KEYS,
    uploads()
);
async fn every_address_redirects_visitors_to_the_sign_in(app: App) {
    let things = Things::make(&app, "Casa").await;
    let nobody = Browser::new(&app);
    for address in addresses() {
        for at in things.at(&address) {
            let request = nobody.request(address.method.clone(), &at);
            // A POST from another site is redirected to the sign-in page, too. The console does not
            // keep the typed values of such a POST.
            let typed = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(TYPED)
                .finish();
            let posted = |request: RequestBuilder| {
                request
                    .header("sec-fetch-site", "cross-site")
                    .header("content-type", "application/x-www-form-urlencoded")
                    .body(typed)
            };
            let response = nobody
                .send(if address.method == Method::POST {
                    posted(request)
                } else {
                    request
                })
                .await;
            assert_eq!(
                response.status, 303,
                "{} {at}: {}",
                address.method, response.body
            );
            assert!(
                response
                    .header("location")
                    .unwrap()
                    .starts_with("/sign-in?return_to=%2Fconsole"),
                "{at}"
            );
            if address.method == Method::POST {
                let kept = nobody.post(&at, &TYPED).await;
                assert_eq!(kept.status, 401, "{at}");
                assert!(
                    kept.body.as_str().unwrap().contains("Forced"),
                    "what was typed is not lost: {at}"
                );
            }
        }
    }
}
