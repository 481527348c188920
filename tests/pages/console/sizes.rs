//! Tests that every page of a large organization is small and runs no more statements than in a
//! small organization. `just console-sizes` measures the times of all pages in an organization of
//! the size of a city.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::ToSpan as _;
use serde_json::{Value, json};
use test_support::house::id;
use test_support::{App, Org, new_id, on_both, reservation};
use uuid::Uuid;

use super::{html, marta, plain};
use crate::people::Browser;

/// Maximum number of pages of each kind that the test visits, such as two pages of flats.
const MAX_PER_KIND: usize = 2;
/// Addresses of pages with a search or a filter. No link leads to these pages, because a member
/// gets to them by a form.
const SEARCHES: [&str; 4] = [
    "/console/search?query=flat",
    "/console/stays?query=ada",
    "/console/submissions?status=all",
    "/console/manuals?search=manual",
];

/// Number of resources of each type in an organization.
struct Size {
    flats: usize,
    portals: usize,
    steps: usize,
    manuals: usize,
    stays: usize,
}

const FEW: Size = Size {
    flats: 60,
    portals: 3,
    steps: 60,
    manuals: 60,
    stays: 60,
};
const MANY: Size = Size {
    flats: 3_000,
    portals: 60,
    steps: 200,
    manuals: 400,
    stays: 3_000,
};

async fn organization_of_size<'a>(app: &'a App, size: &Size) -> Org<'a> {
    let org = app.org().await;
    let api = org.key().await;
    let create = async |path: &str, body: Value| id(&api.post(path, body).await.data()["id"]);
    let (group, tag) = (org.group().await, org.tag().await);
    let flats: Vec<Uuid> = (0..size.flats).map(|_| new_id()).collect();
    let flat = |(number, id): (usize, &Uuid)| {
        json!({
            "kind": "property",
            "id": id,
            "data": {
                "name": format!("Flat {number}"),
                "timezone": "Europe/Madrid",
                "country": "ES",
                "propertyGroupId": group,
                "tagIds": [tag],
            },
        })
    };
    let today = app.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let stay = |number: usize| {
        let mut data = reservation(Some(flats[number % flats.len()]));
        let begins = today.saturating_add(i64::try_from(number % 10).unwrap().days());
        (data["checkIn"], data["checkOut"]) = (
            begins.to_string().into(),
            begins.saturating_add(3.days()).to_string().into(),
        );
        json!({ "kind": "reservation", "id": new_id(), "data": data })
    };
    let records: Vec<Value> = flats
        .iter()
        .enumerate()
        .map(flat)
        .chain((0..size.stays).map(stay))
        .collect();
    for chunk in records.chunks(1_000) {
        org.sync(chunk.to_vec().into()).await.data();
    }
    for number in 0..size.portals {
        create(
            "/portals",
            json!({ "name": format!("Portal {number}"), "isDefault": number == 0 }),
        )
        .await;
    }
    create("/portal-brandings", json!({ "name": "Casa" })).await;
    let category = create(
        "/portal-manual-categories",
        json!({ "title": "Essentials" }),
    )
    .await;
    for number in 0..size.steps {
        let step = json!({
            "stepType": "main",
            "nickname": format!("Step {number}"),
            "displayTitle": format!("Part {number}"),
            "isActive": true,
        });
        let step = create("/precheck-steps", step).await;
        let scope = json!({
            "entityType": "precheck_step",
            "entityId": step,
            "propertyGroupIds": [group],
            "tagIds": [tag],
        });
        api.post("/entity-scopes/add", scope).await.data();
    }
    for number in 0..size.manuals {
        let manual = json!({
            "nickname": format!("Manual {number}"),
            "title": format!("Part {number}"),
            "description": "Press twice.",
            "manualCategoryId": category,
        });
        create("/portal-manuals", manual).await;
    }
    org
}

/// Returns the kind of page that an address shows: the path without ids, and the names of the query
/// parameters.
fn page_kind(path: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<&str> = path
        .split('/')
        .map(|part| {
            if part.parse::<Uuid>().is_ok() {
                "{id}"
            } else {
                part
            }
        })
        .collect();
    let names: BTreeSet<&str> = query
        .split('&')
        .filter_map(|pair| pair.split('=').next())
        .collect();
    format!(
        "{}?{}",
        parts.join("/"),
        names.into_iter().collect::<Vec<_>>().join("&")
    )
}

/// Follows every link from the home page. Returns, for each kind of page, the highest number of
/// statements in one transaction.
async fn walk(app: &App, browser: &Browser) -> BTreeMap<String, u64> {
    let mut ahead: VecDeque<String> = std::iter::once("/console")
        .chain(SEARCHES)
        .map(str::to_owned)
        .collect();
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut heaviest: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(path) = ahead.pop_front() {
        let known = seen.entry(page_kind(&path)).or_default();
        if known.len() >= MAX_PER_KIND || !known.insert(path.clone()) {
            continue;
        }
        let _ = app.server.service.store.max_work();
        let response = browser.get(&path).await;
        let statements = app.server.service.store.max_work().statements;
        assert_eq!(response.status, 200, "{path}");
        // `html` also checks the size limit of a page.
        let page = html(&response);
        let most = heaviest.entry(page_kind(&path)).or_default();
        *most = statements.max(*most);
        let links = page
            .split(" href=\"")
            .skip(1)
            .map(|rest| plain(rest.split('"').next().unwrap()));
        ahead.extend(
            links
                .filter(|link| link.starts_with("/console"))
                .map(|link| link.split('#').next().unwrap().to_owned()),
        );
    }
    heaviest
}

on_both!(pages_of_a_large_organization_need_no_more_statements);
async fn pages_of_a_large_organization_need_no_more_statements(app: App) {
    let (few, many) = (
        organization_of_size(&app, &FEW).await,
        organization_of_size(&app, &MANY).await,
    );
    let (few, many) = (
        walk(&app, &marta(&few).await).await,
        walk(&app, &marta(&many).await).await,
    );
    assert!(few.len() > 40, "{few:?}");
    for (page_kind, statements) in &many {
        // In the small organization, the list may fit on one page. Then the small organization has
        // no later page, and the test compares a later page of the large organization with the
        // first page of the small organization.
        let of_few = few
            .get(page_kind)
            .or_else(|| few.get(&page_kind.replace("from", "")))
            .copied()
            .unwrap_or(*statements);
        // For the small organization, the service may have served a page partly from the cache,
        // with few statements. The test therefore always allows up to 12 statements.
        assert!(
            *statements <= of_few.max(12),
            "{page_kind}: {statements} statements in place of {of_few}"
        );
    }
}
