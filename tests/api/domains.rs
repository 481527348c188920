//! Tests of the domains of brandings. They cover the organization that owns a host, the domain of a
//! guest link, and the pages that a host serves.

use http::header::HOST;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::house::{House, id};
use test_support::{ApiResponse, App, Org, new_id, on_both};

const HOST_OF_CASA: &str = "stay.casa.example";

fn custom_url(host: &str, is_guest_portal: bool) -> Value {
    json!({ "host": host, "isGuestPortal": is_guest_portal })
}

async fn claim(org: &Org<'_>, id: Uuid, host: &str, is_guest_portal: bool) -> ApiResponse {
    let data = custom_url(host, is_guest_portal);
    org.sync(json!([{ "kind": "custom_url", "id": id, "data": data }]))
        .await
}

/// Creates a branding with this domain. Returns the branding's id.
async fn branding(house: &House<'_>, custom_url: Option<Uuid>, is_default: bool) -> Uuid {
    let body = json!({ "name": "Mar", "customUrlId": custom_url, "isDefault": is_default });
    id(&house.api.post("/portal-brandings", body).await.data()["id"])
}

/// Sends a request with this `Host` header.
async fn send_to_host(app: &App, host: &str, method: Method, path: &str) -> ApiResponse {
    let request = app.http.request(method, format!("{}{path}", app.base));
    ApiResponse::of(request.header(HOST, host)).await
}

async fn get(app: &App, host: &str, path: &str) -> u16 {
    send_to_host(app, host, Method::GET, path).await.status
}

/// Returns the guest link of the house's stay, after checking that the public, platform and bulk
/// operations return the same link.
async fn link(house: &House<'_>) -> String {
    let platform = house.org.app.platform();
    let of_public = house
        .api
        .get(&format!("/reservations/{}/guest-link", house.stay))
        .await
        .data();
    let path = house
        .org
        .path(&format!("/reservations/{}/guest-link", house.stay));
    let of_platform = platform.ok(Method::POST, &path, None).await;
    let body = json!({ "reservationIds": [house.stay, house.stay] });
    let of_bulk = platform
        .post(&house.org.path("/guest-links"), body)
        .await
        .data();
    for other in [&of_platform, &of_bulk[0], &of_bulk[1]] {
        assert_eq!(other["url"], of_public["url"]);
    }
    of_public["url"].as_str().unwrap().to_owned()
}

fn port(app: &App) -> String {
    app.base.rsplit(':').next().unwrap().to_owned()
}

on_both!(a_host_belongs_to_one_organization);
async fn a_host_belongs_to_one_organization(app: App) {
    let (org, other) = (app.org().await, app.org().await);
    let (mine, theirs) = (new_id(), new_id());
    claim(&org, mine, "Stay.Casa.Example.", true).await.data();
    for host in [
        "stay.casa.example",
        "STAY.casa.example",
        "stay.casa.example.",
    ] {
        let records = json!([
            { "kind": "tag", "id": new_id(), "data": { "name": "Sea" } },
            { "kind": "custom_url", "id": theirs, "data": custom_url(host, false) },
        ]);
        let refused = other.sync(records).await;
        assert_eq!(refused.issues(), ["records.1.data.host"], "{host}");
        assert!(
            refused.body.to_string().contains("another organization"),
            "{}",
            refused.body
        );
    }
    assert_eq!(
        other.key().await.get("/tags").await.data(),
        json!([]),
        "nothing is applied"
    );
    // The organization that owns a host may write the host again, also in another record.
    claim(&org, mine, HOST_OF_CASA, true).await.data();
    claim(&org, new_id(), HOST_OF_CASA, true).await.data();
    // The organization owns the host until its last record with the host is deleted or changed.
    org.delete_record("custom_url", mine).await;
    assert_eq!(
        claim(&other, theirs, HOST_OF_CASA, true).await.issues(),
        ["records.0.data.host"]
    );
    let urls = org.key().await.get("/custom-urls").await.data();
    let left: Uuid = id(&urls[0]["id"]);
    claim(&org, left, "www.casa.example", true).await.data();
    claim(&other, theirs, HOST_OF_CASA, true).await.data();
    assert_eq!(
        claim(&org, mine, HOST_OF_CASA, true).await.issues(),
        ["records.0.data.host"]
    );
    // An erased organization owns no host.
    app.platform()
        .ok(Method::DELETE, &other.path(""), None)
        .await;
    claim(&org, mine, HOST_OF_CASA, true).await.data();
    let check = get(
        &app,
        "127.0.0.1",
        &format!("/domain-check?domain={HOST_OF_CASA}"),
    )
    .await;
    assert_eq!(check, 200);
}

on_both!(
    a_record_that_is_no_host_is_refused,
    "--public-url=https://guests.example.com"
);
async fn a_record_that_is_no_host_is_refused(app: App) {
    let org = app.org().await;
    for host in [
        "",
        "localhost",
        "stay.example.com:8080",
        "https://stay.example.com",
        "stay.example.com/x",
        "stay example.com",
        "-stay.example.com",
        "127.0.0.1",
        "st_ay.example.com",
        "guests.example.com",
        "GUESTS.example.com.",
    ] {
        assert_eq!(
            claim(&org, new_id(), host, true).await.issues(),
            ["records.0.data.host"],
            "{host}"
        );
    }
    let rehearsal = json!({
        "dryRun": true,
        "records": [
            { "kind": "custom_url", "id": new_id(), "data": custom_url("münchen.example", true) },
        ],
    });
    app.platform()
        .post(&org.path("/sync"), rehearsal)
        .await
        .data();
    assert_eq!(
        get(
            &app,
            "127.0.0.1",
            "/domain-check?domain=xn--mnchen-3ya.example"
        )
        .await,
        404
    );
    claim(&org, new_id(), "München.example", true).await.data();
    assert_eq!(
        get(
            &app,
            "127.0.0.1",
            "/domain-check?domain=xn--mnchen-3ya.example"
        )
        .await,
        200
    );
    // One batch writes two hosts. The guest portal is enabled for only one of them. The service
    // accepts both.
    let both = json!([
        { "kind": "custom_url", "id": new_id(), "data": custom_url("a.example", true) },
        { "kind": "custom_url", "id": new_id(), "data": custom_url("b.example", false) },
    ]);
    org.sync(both).await.data();
}

on_both!(a_guest_link_has_the_domain_of_its_branding);
async fn a_guest_link_has_the_domain_of_its_branding(app: App) {
    let house = House::build(&app).await;
    let public = format!("{}/stay/{}", app.base, house.token);
    let at = |host: &str| format!("http://{host}:{}/stay/{}", port(&app), house.token);
    assert_eq!(link(&house).await, public);
    let url = new_id();
    claim(&house.org, url, HOST_OF_CASA, true).await.data();
    assert_eq!(link(&house).await, public, "no branding uses it");
    let own = branding(&house, Some(url), false).await;
    assert_eq!(link(&house).await, public, "no portal uses the branding");
    house
        .update_portal(house.portal, json!({ "brandingId": own }))
        .await;
    assert_eq!(link(&house).await, at(HOST_OF_CASA));
    assert_eq!(
        house.org.guest_view(house.stay).await["branding"]["domain"],
        HOST_OF_CASA
    );
    // If a portal has no branding, the guest link uses the domain of the default branding.
    let other = new_id();
    claim(&house.org, other, "www.casa.example", true)
        .await
        .data();
    branding(&house, Some(other), true).await;
    assert_eq!(link(&house).await, at(HOST_OF_CASA));
    house
        .update_portal(house.portal, json!({ "brandingId": null }))
        .await;
    assert_eq!(link(&house).await, at("www.casa.example"));
    // If a stay has no flat, the guest link also uses the domain of the default branding.
    let homeless = house.org.reservation(None).await;
    let homeless = house
        .api
        .get(&format!("/reservations/{homeless}/guest-link"))
        .await
        .data();
    assert!(
        homeless["url"]
            .as_str()
            .unwrap()
            .starts_with("http://www.casa.example:"),
        "{homeless}"
    );
    // The calendar file contains the guest's link on the host of the branding's own domain. A
    // preview of the portal, read below, has the public URL of the service.
    let calendar = app
        .http
        .get(format!("{}/stay/{}/stay.ics", app.base, house.token))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        calendar
            .replace("\r\n ", "")
            .contains(&format!("URL:{}", at("www.casa.example"))),
        "{calendar}"
    );
    let preview = house
        .api
        .post(
            &format!("/portals/{}/preview", house.portal),
            json!({ "reservationId": house.stay }),
        )
        .await
        .data();
    assert!(
        preview["url"].as_str().unwrap().starts_with(&app.base),
        "{preview}"
    );
    // A host whose guest portal was disabled is not used for guest links.
    claim(&house.org, other, "www.casa.example", false)
        .await
        .data();
    assert_eq!(link(&house).await, public);
    assert_eq!(
        house.org.guest_view(house.stay).await["branding"]["domain"],
        Value::Null
    );
    claim(&house.org, other, "www.casa.example", true)
        .await
        .data();
    assert_eq!(link(&house).await, at("www.casa.example"));
    house.org.delete_record("custom_url", other).await;
    assert_eq!(link(&house).await, public);
}

on_both!(many_links_at_once_have_their_own_domains);
async fn many_links_at_once_have_their_own_domains(app: App) {
    let house = House::build(&app).await;
    let [first, second] = [new_id(), new_id()];
    claim(&house.org, first, "one.example", true).await.data();
    claim(&house.org, second, "two.example", true).await.data();
    branding(&house, Some(first), true).await;
    let other = branding(&house, Some(second), false).await;
    let portal = house
        .api
        .post("/portals", json!({ "name": "Two", "brandingId": other }))
        .await
        .data();
    let mut stays = Vec::new();
    for number in 0..12 {
        let flat = house.org.property(None, &[]).await;
        let host = if number % 2 == 0 {
            "one.example"
        } else {
            "two.example"
        };
        if number % 2 == 1 {
            house
                .api
                .post(
                    &format!("/properties/{flat}/assign-portal"),
                    json!({ "portalSettingsId": portal["id"] }),
                )
                .await
                .data();
        }
        stays.push((house.org.reservation(Some(flat)).await, host));
    }
    let ids: Vec<Uuid> = stays.iter().map(|(id, _)| *id).collect();
    let links = app
        .platform()
        .post(
            &house.org.path("/guest-links"),
            json!({ "reservationIds": ids }),
        )
        .await
        .data();
    for (link, (id, host)) in links.as_array().unwrap().iter().zip(&stays) {
        assert_eq!(link["reservationId"], json!(id));
        let expected = format!(
            "http://{host}:{}/stay/{}",
            port(&app),
            link["token"].as_str().unwrap()
        );
        assert_eq!(link["url"], expected);
    }
}

on_both!(a_domain_serves_the_stays_of_its_organization_only);
async fn a_domain_serves_the_stays_of_its_organization_only(app: App) {
    let (house, other) = (House::build(&app).await, House::build(&app).await);
    claim(&house.org, new_id(), HOST_OF_CASA, true).await.data();
    let (own, foreign) = (&house.token, &other.token);
    for host in [HOST_OF_CASA, "Stay.Casa.Example:8443", "stay.casa.example."] {
        for path in [
            "/healthz",
            "/favicon.ico",
            &format!("/stay/{own}"),
            &format!("/stay/{own}/stay.ics"),
            &format!("/guest/v1/stays/{own}"),
            &format!("/guest/v1/stays/{own}/messages"),
        ] {
            assert_eq!(get(&app, host, path).await, 200, "{host} {path}");
        }
        for path in [
            "/",
            "/readyz",
            "/metrics",
            "/docs",
            "/llms.txt",
            "/console",
            "/sign-in",
            "/mcp",
            "/api/v1/portals",
            "/api/v1/openapi.json",
            "/guest/v1/openapi.json",
            "/platform/v1/organizations",
            "/domain-check?domain=stay.casa.example",
            "/stay",
            "/stay/",
            &format!("/stay/{foreign}"),
            &format!("/stay/{foreign}/stay.ics"),
            &format!("/guest/v1/stays/{foreign}"),
            &format!("/stay/{}x", &own[..own.len() - 1]),
            "/stay/nobody",
            "/guest/v1/stays/nobody",
            &format!("/stay/{own}%2F..%2F{foreign}"),
        ] {
            assert_eq!(get(&app, host, path).await, 404, "{host} {path}");
        }
    }
    // If the stay is unknown, the guest page responds with HTML, and every other interface with a
    // JSON error.
    let page = send_to_host(&app, HOST_OF_CASA, Method::GET, &format!("/stay/{foreign}")).await;
    assert!(
        page.header("content-type")
            .unwrap()
            .starts_with("text/html")
    );
    let refused = send_to_host(&app, HOST_OF_CASA, Method::GET, "/api/v1/portals").await;
    assert_eq!(refused.error(404)["code"], "NOT_FOUND");
    send_to_host(
        &app,
        HOST_OF_CASA,
        Method::POST,
        &format!("/guest/v1/stays/{foreign}/submit"),
    )
    .await
    .error(404);
    assert_eq!(
        send_to_host(
            &app,
            HOST_OF_CASA,
            Method::POST,
            &format!("/stay/{foreign}/submit")
        )
        .await
        .status,
        404
    );
    // The host of the public URL serves every stay, and so does a host that no organization
    // registered.
    let public = app.base.trim_start_matches("http://").to_owned();
    for host in [public.as_str(), "unknown.example", "localhost"] {
        for path in [
            format!("/stay/{own}"),
            format!("/stay/{foreign}"),
            "/docs".to_owned(),
        ] {
            assert_eq!(get(&app, host, &path).await, 200, "{host} {path}");
        }
    }
    // A token that names no organization is unknown at every host.
    let unnamed = &own[own.len() - 43..];
    for host in [HOST_OF_CASA, public.as_str()] {
        assert_eq!(
            get(&app, host, &format!("/stay/{unnamed}")).await,
            404,
            "{host}"
        );
    }
}

on_both!(a_host_that_is_no_guest_portal_serves_nothing);
async fn a_host_that_is_no_guest_portal_serves_nothing(app: App) {
    let house = House::build(&app).await;
    let url = new_id();
    claim(&house.org, url, HOST_OF_CASA, false).await.data();
    let page = format!("/stay/{}", house.token);
    assert_eq!(get(&app, HOST_OF_CASA, "/healthz").await, 200);
    for path in [page.as_str(), "/docs", "/"] {
        assert_eq!(get(&app, HOST_OF_CASA, path).await, 404, "{path}");
    }
    claim(&house.org, url, HOST_OF_CASA, true).await.data();
    assert_eq!(get(&app, HOST_OF_CASA, &page).await, 200);
    house.org.delete_record("custom_url", url).await;
    assert_eq!(get(&app, HOST_OF_CASA, &page).await, 200);
    assert_eq!(
        get(&app, HOST_OF_CASA, "/docs").await,
        200,
        "no organization registers the host any more"
    );
}

on_both!(domain_check_tells_a_proxy_which_domains_exist);
async fn domain_check_tells_a_proxy_which_domains_exist(app: App) {
    let org = app.org().await;
    claim(&org, new_id(), HOST_OF_CASA, true).await.data();
    claim(&org, new_id(), "www.casa.example", false)
        .await
        .data();
    let check = async |query: &str| {
        ApiResponse::of(app.http.get(format!("{}/domain-check{query}", app.base))).await
    };
    for query in [
        "?domain=stay.casa.example",
        "?domain=STAY.casa.example.",
        "?x=1&domain=stay.casa.example",
    ] {
        let response = check(query).await;
        assert_eq!(
            (response.status, response.data()),
            (200, json!({})),
            "{query}"
        );
    }
    for query in [
        "",
        "?domain=",
        "?domain=www.casa.example",
        "?domain=casa.example",
        "?domain=stay.casa.example:443",
        "?domain=127.0.0.1",
        "?domain=stay.casa.example&domain=stay.casa.example",
        "?domain=%00",
    ] {
        assert_eq!(
            check(query).await.error(404)["code"],
            "NOT_FOUND",
            "{query}"
        );
    }
    let removed = ApiResponse::of(
        app.http
            .post(format!("{}/domain-check?domain={HOST_OF_CASA}", app.base)),
    )
    .await;
    assert_eq!(removed.status, 404);
}
