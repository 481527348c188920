//! Every page in a large organization is small, and asks the database no oftener than in a small one. How long pages take in a city is
//! measured by `just console-sizes`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::ToSpan as _;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{html, marta, plain};
use crate::people::Browser;
use crate::support::house::id;
use crate::support::{App, Org, new_id, on_both, reservation};

/// Addresses of a sort that are looked at.
const OF_A_SORT: usize = 2;
/// What is asked for by typing.
const TYPED: [&str; 4] =
    ["/console/search?query=flat", "/console/stays?query=ada", "/console/submissions?status=all", "/console/manuals?search=manual"];

/// How much there is.
struct Size {
    flats: usize,
    portals: usize,
    steps: usize,
    manuals: usize,
    stays: usize,
}

const FEW: Size = Size { flats: 60, portals: 3, steps: 60, manuals: 60, stays: 60 };
const MANY: Size = Size { flats: 3_000, portals: 60, steps: 200, manuals: 400, stays: 3_000 };

async fn filled<'a>(app: &'a App, size: &Size) -> Org<'a> {
    let org = app.org().await;
    let api = org.key().await;
    let made = async |path: &str, body: Value| id(&api.post(path, body).await.data()["id"]);
    let (group, tag) = (org.group().await, org.tag().await);
    let flats: Vec<Uuid> = (0..size.flats).map(|_| new_id()).collect();
    let flat = |(number, id): (usize, &Uuid)| {
        json!({ "kind": "property", "id": id, "data": {
        "name": format!("Flat {number}"), "timezone": "Europe/Madrid", "country": "ES", "propertyGroupId": group, "tagIds": [tag],
    } })
    };
    let today = app.clock.now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let stay = |number: usize| {
        let mut data = reservation(Some(flats[number % flats.len()]));
        let begins = today.saturating_add(i64::try_from(number % 10).unwrap().days());
        (data["checkIn"], data["checkOut"]) = (begins.to_string().into(), begins.saturating_add(3.days()).to_string().into());
        json!({ "kind": "reservation", "id": new_id(), "data": data })
    };
    let records: Vec<Value> = flats.iter().enumerate().map(flat).chain((0..size.stays).map(stay)).collect();
    for chunk in records.chunks(1_000) {
        org.sync(chunk.to_vec().into()).await.data();
    }
    for number in 0..size.portals {
        made("/portals", json!({ "name": format!("Portal {number}"), "isDefault": number == 0 })).await;
    }
    made("/portal-brandings", json!({ "name": "Casa" })).await;
    let category = made("/portal-manual-categories", json!({ "title": "Essentials" })).await;
    for number in 0..size.steps {
        let step =
            json!({ "stepType": "main", "nickname": format!("Step {number}"), "displayTitle": format!("Part {number}"), "isActive": true });
        let step = made("/precheck-steps", step).await;
        let scope = json!({ "entityType": "precheck_step", "entityId": step, "propertyGroupIds": [group], "tagIds": [tag] });
        api.post("/entity-scopes/add", scope).await.data();
    }
    for number in 0..size.manuals {
        let manual = json!({ "nickname": format!("Manual {number}"), "title": format!("Part {number}"), "description": "Press twice.", "manualCategoryId": category });
        made("/portal-manuals", manual).await;
    }
    org
}

/// What sort of page an address is of: without what it is about, and which part of a list it is.
fn sort(path: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<&str> = path.split('/').map(|part| if part.parse::<Uuid>().is_ok() { "{id}" } else { part }).collect();
    let names: BTreeSet<&str> = query.split('&').filter_map(|pair| pair.split('=').next()).collect();
    format!("{}?{}", parts.join("/"), names.into_iter().collect::<Vec<_>>().join("&"))
}

/// Follows every link from the first page on; the statements of the heaviest transaction behind each sort of page.
async fn walk(app: &App, browser: &Browser) -> BTreeMap<String, u64> {
    let mut ahead: VecDeque<String> = std::iter::once("/console").chain(TYPED).map(str::to_owned).collect();
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut heaviest: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(path) = ahead.pop_front() {
        let known = seen.entry(sort(&path)).or_default();
        if known.len() >= OF_A_SORT || !known.insert(path.clone()) {
            continue;
        }
        let _ = app.server.service.store.heaviest();
        let answer = browser.get(&path).await;
        let statements = app.server.service.store.heaviest().statements;
        assert_eq!(answer.status, 200, "{path}");
        // As large as a page of the console may be.
        let page = html(&answer);
        let most = heaviest.entry(sort(&path)).or_default();
        *most = statements.max(*most);
        let links = page.split(" href=\"").skip(1).map(|rest| plain(rest.split('"').next().unwrap()));
        ahead.extend(links.filter(|link| link.starts_with("/console")).map(|link| link.split('#').next().unwrap().to_owned()));
    }
    heaviest
}

on_both! {
    async fn pages_of_a_large_organization_are_small_and_ask_no_oftener(app: App) {
        let (few, many) = (filled(&app, &FEW).await, filled(&app, &MANY).await);
        let (few, many) = (walk(&app, &marta(&few).await).await, walk(&app, &marta(&many).await).await);
        assert!(few.len() > 40, "{few:?}");
        for (sort, statements) in &many {
            // A list that is one page long with few has no second one.
            let of_few = few.get(sort).or_else(|| few.get(&sort.replace("from", ""))).copied().unwrap_or(*statements);
            // What was remembered of either takes none.
            assert!(*statements <= of_few.max(12), "{sort}: {statements} statements in place of {of_few}");
        }
    }
}
