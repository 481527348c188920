//! Tests of flats and other records that members add, change, remove and import in the console
//! (rules: records#records-by-hand).

use std::fmt::Write as _;

use engine::access::Permission;
use serde_json::json;
use test_support::house::{House, id};
use test_support::{App, new_id, on_both};

use super::{Form, html, marta, member_with, page};
use crate::people::field;

on_both!(a_flat_is_added_changed_and_removed);
async fn a_flat_is_added_changed_and_removed(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let browser = marta(&org).await;
    let empty = html(&browser.get("/console/flats").await);
    assert!(
        empty.contains("There is no flat yet") && empty.contains("/console/flats/new"),
        "{empty}"
    );
    let page = html(&browser.get("/console/flats/new").await);
    let (form, key) = (field(&page, "form"), field(&page, "key"));
    let typed = [
        ("form", form.as_str()),
        ("key", key.as_str()),
        ("name", "Flat 2"),
        ("timezone", "Europe/Madrid"),
        ("country", "ES"),
        ("wifiPassword", "secret"),
        ("tagIds.here", "1"),
    ];
    let wrong = browser
        .post(
            "/console/flats/new",
            &[
                ("form", &form),
                ("key", &key),
                ("name", "Flat 2"),
                ("timezone", "Nowhere"),
                ("country", "ES"),
            ],
        )
        .await;
    assert!(
        wrong.status == 400 && html(&wrong).contains("must be an IANA time zone"),
        "{}",
        wrong.body
    );
    let created = browser.post("/console/flats/new", &typed).await;
    let own = format!("/console/flats/{key}");
    assert_eq!(
        (created.status, created.header("location")),
        (303, Some(&*format!("{own}?done=created"))),
        "{}",
        created.body
    );
    let page = html(&browser.get(&own).await);
    assert!(
        page.contains("Flat 2") && !page.contains("secret"),
        "{page}"
    );
    let changed = Form::of(&page, &own)
        .with("name", "Flat 3")
        .send(&browser)
        .await;
    assert_eq!(
        changed.header("location"),
        Some(&*format!("{own}?done=saved")),
        "{}",
        changed.body
    );
    assert_eq!(api.get("/properties").await.data()[0]["name"], "Flat 3");
    let removed = browser
        .post(&format!("{own}/remove"), &[("form", &form)])
        .await;
    assert_eq!(removed.status, 303, "{}", removed.body);
    assert_eq!(api.get("/properties").await.data(), json!([]));
}

on_both!(the_page_of_a_flat_links_to_its_stays_codes_and_feeds);
async fn the_page_of_a_flat_links_to_its_stays_codes_and_feeds(app: App) {
    let house = House::build(&app).await;
    let browser = marta(&house.org).await;
    let create = async |path: &str, body: serde_json::Value| {
        id(&house.api.post(path, body).await.data()["id"])
    };
    let step = house
        .step("main", json!({ "nickname": "House rules" }))
        .await;
    let manual = create(
        "/portal-manuals",
        json!({ "nickname": "Heating", "title": "Heating", "description": "Turn left." }),
    )
    .await;
    house
        .scopes("add", "manual", manual, json!({ "tagIds": [house.tag] }))
        .await;
    let other = house.org.property(None, &[]).await;
    let (code, foreign) = (new_id(), new_id());
    let of = |id: uuid::Uuid, flat: uuid::Uuid, name: &str| {
        json!({
            "kind": "lock_code",
            "id": id,
            "data": { "name": name, "propertyId": flat, "code": "4711" },
        })
    };
    house
        .api
        .post(
            "/records",
            json!({
                "records": [of(code, house.flat, "Street door"), of(foreign, other, "Back door")],
            }),
        )
        .await
        .data();
    let feed = create(
        "/calendar-feeds",
        json!({
            "propertyId": house.flat,
            "url": "https://calendar.example/a.ics",
            "channel": "airbnb",
        }),
    )
    .await;
    let html = page(&browser, &format!("/console/flats/{}", house.flat)).await;
    let parts = html
        .split("class=\"parts\"")
        .nth(1)
        .unwrap()
        .split("<form ")
        .next()
        .unwrap();
    for way in [
        format!("/console/portals/{}", house.portal),
        format!("/console/steps/{step}"),
        format!("/console/manuals/{manual}"),
        format!("/console/flats/{code}?kind=lock_code"),
        format!("/console/calendars/{feed}"),
        format!("/console/assignments/portals/{}", house.portal),
        "/console/calendars/new?flat=".to_owned(),
        format!(
            "/console/flats/new?kind=lock_code&#38;propertyId={}",
            house.flat
        ),
        format!(
            "/console/flats/new?kind=reservation&#38;propertyId={}",
            house.flat
        ),
    ] {
        assert!(parts.contains(&format!("href=\"{way}")), "{way}: {parts}");
    }
    for text in ["House rules", "Heating", "Street door", "airbnb", "Wi-Fi"] {
        assert!(parts.contains(text), "{text}: {parts}");
    }
    assert!(
        !parts.contains("Back door") && !parts.contains("4711"),
        "{parts}"
    );
    // A member who may read only flats sees no stays, door codes or calendar feeds.
    let visitor = member_with(&house.org, &[Permission::ViewProperties], None).await;
    let theirs = page(&visitor, &format!("/console/flats/{}", house.flat)).await;
    assert!(
        theirs.contains("House rules")
            && !theirs.contains("Street door")
            && !theirs.contains("airbnb"),
        "{theirs}"
    );
    let codes = house
        .api
        .get(&format!("/lock-codes?propertyId={other}"))
        .await
        .data();
    assert_eq!(
        (codes.as_array().unwrap().len(), &codes[0]["id"]),
        (1, &json!(foreign))
    );
}

on_both!(a_door_code_is_valid_between_its_typed_times);
async fn a_door_code_is_valid_between_its_typed_times(app: App) {
    let org = app
        .org_with(json!({ "name": "Casa", "timezone": "Europe/Madrid" }))
        .await;
    let (api, browser) = (org.key().await, marta(&org).await);
    let flat = org.property(None, &[]).await;
    let path = "/console/flats/new?kind=lock_code";
    let typed = Form::of(&html(&browser.get(path).await), path)
        .with("name", "Street door")
        .with("propertyId", &flat.to_string())
        .with("code", "4711")
        .with("startsAt", "2026-12-11 15:00");
    let wrong = typed
        .clone()
        .with("endsAt", "Tuesday")
        .refused(&browser, 400)
        .await;
    assert!(
        wrong.contains("must be a date and a time") && wrong.contains("Street door"),
        "{wrong}"
    );
    typed
        .with("endsAt", "2026-12-15T11:00")
        .done(&browser, "created")
        .await;
    let code = api.get("/lock-codes").await.data()[0].clone();
    assert_eq!(
        (&code["startsAt"], &code["endsAt"]),
        (
            &json!("2026-12-11T14:00:00.000Z"),
            &json!("2026-12-15T10:00:00.000Z")
        )
    );
}

on_both!(a_flat_among_many_is_found_by_its_name_without_a_script);
async fn a_flat_among_many_is_found_by_its_name_without_a_script(app: App) {
    let org = app.org().await;
    let (api, browser) = (org.key().await, marta(&org).await);
    let ids: Vec<_> = (0..=300).map(|_| new_id()).collect();
    let flat = |(number, id): (usize, &uuid::Uuid)| {
        json!({ "kind": "property", "id": id, "data": {
        "name": format!("Flat {number}"), "timezone": "Europe/Madrid", "country": "ES",
    } })
    };
    let flats: Vec<_> = ids.iter().enumerate().map(flat).collect();
    org.sync(flats.into()).await.data();
    let path = "/console/flats/new?kind=reservation";
    let new = async |name: &str| {
        Form::of(&html(&browser.get(path).await), path)
            .with("guest.firstName", "Ada")
            .with("checkIn", "2026-12-11")
            .with("checkOut", "2026-12-15")
            .with("propertyId.find", name)
    };
    let shown = html(&browser.get(path).await);
    assert!(
        shown.contains("name=\"propertyId.find\"") && !shown.contains("Flat 299"),
        "{shown}"
    );
    let flat_of_last = async || {
        let stays = api.get("/reservations?limit=100").await.data();
        stays.as_array().unwrap().last().unwrap()["propertyId"].clone()
    };
    // The search text is the full name of one flat. It selects that flat, even if longer names
    // contain the text.
    new("flat 7").await.done(&browser, "created").await;
    assert_eq!(flat_of_last().await, json!(ids[7]));
    let none = new("Villa").await.refused(&browser, 400).await;
    assert!(none.contains("nothing is named “Villa”"), "{none}");
    // Several flats have the text in their name. The page shows the form again and offers these
    // flats.
    let several = new("lat 29").await.refused(&browser, 400).await;
    assert!(
        several.contains("several have “lat 29”")
            && several.contains(">Flat 290<")
            && several.contains("value=\"Ada\""),
        "{several}"
    );
    let again = Form::of(&several, path);
    let undecided = again.refused(&browser, 400).await;
    assert!(undecided.contains("several have “lat 29”"), "{undecided}");
    app.clock.advance(std::time::Duration::from_secs(1));
    again
        .with("propertyId", &ids[290].to_string())
        .done(&browser, "created")
        .await;
    let stays = api.get("/reservations?limit=100").await.data();
    assert!(
        stays
            .as_array()
            .unwrap()
            .iter()
            .any(|stay| stay["propertyId"] == json!(ids[290])),
        "{stays}"
    );
}

on_both!(a_filter_finds_the_flat_with_exactly_this_name);
async fn a_filter_finds_the_flat_with_exactly_this_name(app: App) {
    let org = app.org().await;
    let (api, browser) = (org.key().await, marta(&org).await);
    let flat = |name: String| {
        json!({
            "kind": "property",
            "id": new_id(),
            "data": { "name": name, "timezone": "Europe/Madrid", "country": "ES" },
        })
    };
    let flats: Vec<_> = (1..=30)
        .rev()
        .map(|number| flat(format!("Casa Azul {number}")))
        .collect();
    api.post("/records", json!({ "records": flats }))
        .await
        .data();
    app.clock.advance(std::time::Duration::from_secs(1));
    api.post(
        "/records",
        json!({ "records": [flat("Casa Azul".to_owned())] }),
    )
    .await
    .data();
    let html = page(&browser, "/console/stays?flat=casa+azul").await;
    assert!(
        !html.contains(">Casa Azul 1</a>"),
        "one flat has this name: {html}"
    );
    // The console sorts the flats that it offers by name, and compares numbers in names as
    // numbers.
    let several = page(&browser, "/console/stays?flat=azul").await;
    let place = |name: &str| {
        several
            .find(&format!(">{name}</a>"))
            .unwrap_or_else(|| panic!("{name}: {several}"))
    };
    let places = ["Casa Azul", "Casa Azul 1", "Casa Azul 2", "Casa Azul 11"].map(place);
    assert!(places.is_sorted(), "{places:?}: {several}");
}

on_both!(the_form_of_a_member_offers_the_flats);
async fn the_form_of_a_member_offers_the_flats(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let flat = org.property(None, &[]).await;
    let path = "/console/access/members/new";
    let shown = html(&browser.get(path).await);
    assert!(
        shown.contains(&format!("name=\"propertyIds\" value=\"{flat}\"")),
        "{shown}"
    );
    // With many flats, the form has a text field for their names, one per line.
    let more = |number: usize| {
        json!({
            "kind": "property",
            "id": new_id(),
            "data": {
                "name": format!("House {number}"),
                "timezone": "Europe/Madrid",
                "country": "ES",
            },
        })
    };
    let flats: Vec<_> = (0..300).map(more).collect();
    org.sync(flats.into()).await.data();
    let form = Form::of(&html(&browser.get(path).await), path)
        .with("name", "Ada")
        .with("email", "ada@example.com");
    let several = form
        .clone()
        .with("propertyIds.find", "Flat\r\nouse 29")
        .refused(&browser, 400)
        .await;
    assert!(
        several.contains("several have “ouse 29”")
            && several.contains(&format!("name=\"propertyIds\" value=\"{flat}\" checked")),
        "{several}"
    );
    let created = form
        .with("propertyIds.find", "Flat\r\nHouse 7")
        .send(&browser)
        .await;
    assert!(
        created.status == 200 || created.status == 303,
        "{}",
        created.body
    );
    let members = app.platform().get(&org.path("/members")).await.data();
    let ada = members
        .as_array()
        .unwrap()
        .iter()
        .find(|member| member["email"] == "ada@example.com")
        .unwrap();
    assert_eq!(ada["propertyIds"].as_array().unwrap().len(), 2, "{ada}");
}

on_both!(a_record_of_the_platform_is_read_only);
async fn a_record_of_the_platform_is_read_only(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let tag = org.tag().await;
    let page = html(&browser.get(&format!("/console/flats/{tag}?kind=tag")).await);
    assert!(
        page.contains("The platform manages this record") && !page.contains("/remove"),
        "{page}"
    );
    assert!(
        !page.contains("You can see this but not change it."),
        "one notice is enough: {page}"
    );
    let (form, base) = (
        field(&page, "form"),
        json!({ "name": "Sea view" }).to_string(),
    );
    let refused = browser
        .post(
            &format!("/console/flats/{tag}?kind=tag"),
            &[("form", &form), ("base", &base), ("name", "Mine")],
        )
        .await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    let list = html(&browser.get("/console/flats?kind=tag").await);
    assert!(
        list.contains("Sea view") && list.contains("Platform"),
        "{list}"
    );
    // If a member may not change a record kept by hand, the page of the record says that the member
    // may only view the record.
    let own = new_id();
    let record = json!({ "kind": "tag", "id": own, "data": { "name": "Quiet" } });
    org.key()
        .await
        .post("/records", json!({ "records": [record] }))
        .await
        .data();
    let visitor = member_with(&org, &[Permission::ViewProperties], None).await;
    let looked = html(&visitor.get(&format!("/console/flats/{own}?kind=tag")).await);
    assert!(
        looked.contains("You can see this but not change it."),
        "{looked}"
    );
}

on_both!(an_import_shows_a_preview_first);
async fn an_import_shows_a_preview_first(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let browser = marta(&org).await;
    let page = html(&browser.get("/console/flats/import?kind=tag").await);
    assert!(
        page.contains("multipart/form-data") && page.contains("external_id, name"),
        "{page}"
    );
    let form = field(&page, "form");
    let upload = async |csv: &str| {
        let parts = [
            ("form", None, form.as_str()),
            ("columns", None, ""),
            ("dates", None, ""),
            ("csv", Some("tags.csv"), csv),
        ];
        let mut body = String::new();
        for (name, file, value) in parts {
            let file = file
                .map(|file| format!("; filename=\"{file}\""))
                .unwrap_or_default();
            write!(
                body,
                "--part\r\ncontent-disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n"
            )
            .unwrap();
        }
        body.push_str("--part--\r\n");
        let request = browser.request(reqwest::Method::POST, "/console/flats/import?kind=tag");
        browser
            .send(
                request
                    .header("content-type", "multipart/form-data; boundary=part")
                    .body(body),
            )
            .await
    };
    let wrong = upload("external_id,name\n1,Sea\n1,Lake\n").await;
    assert!(
        wrong.status == 400 && html(&wrong).contains("Line 3, external_id"),
        "{}",
        wrong.body
    );
    let csv = "external_id,name,colour\n1,Sea,blue\n2,Lake,green\n";
    let looked = html(&upload(csv).await);
    assert!(
        looked.contains("New: 2")
            && looked.contains("colour")
            && looked.contains("Import 2 records"),
        "{looked}"
    );
    assert_eq!(api.get("/tags").await.data(), json!([]));
    let done = browser
        .post(
            "/console/flats/import?kind=tag",
            &[
                ("form", &form),
                ("import", "1"),
                ("columns", ""),
                ("dates", ""),
                ("csv", csv),
            ],
        )
        .await;
    assert!(
        html(&done).contains("2 new, 0 changed, 0 unchanged"),
        "{}",
        done.body
    );
    assert_eq!(api.get("/tags").await.data().as_array().unwrap().len(), 2);
}

on_both!(the_ready_set_is_made_once_in_the_languages_of_the_organization);
async fn the_ready_set_is_made_once_in_the_languages_of_the_organization(app: App) {
    let org = app
        .org_with(json!({ "name": "Casa", "languages": ["en", "de"] }))
        .await;
    let (api, browser) = (org.key().await, marta(&org).await);
    let form = Form::of(&page(&browser, "/console/ready-set").await, "/ready-set");
    for _ in 0..2 {
        form.done(&browser, "created").await;
    }
    let manuals = api.get("/portal-manuals").await.data();
    for (created, names) in [
        (
            &api.get("/precheck-steps").await.data(),
            ["Arrival", "Guest details", "House rules"],
        ),
        (&manuals, ["Arrival", "Departure", "Wi-Fi"]),
    ] {
        let created = created.as_array().unwrap();
        let mut known: Vec<&str> = created
            .iter()
            .map(|one| one["nickname"].as_str().unwrap())
            .collect();
        known.sort_unstable();
        assert_eq!(known, names);
        assert!(
            created.iter().all(|one| one["isActive"] == false),
            "{created:?}"
        );
    }
    let departure = manuals
        .as_array()
        .unwrap()
        .iter()
        .find(|manual| manual["nickname"] == "Departure")
        .unwrap();
    let departure = api
        .get(&format!("/portal-manuals/{}", id(&departure["id"])))
        .await
        .data();
    let entries = api
        .get(&format!(
            "/translations/{}/entries",
            id(&departure["titleId"])
        ))
        .await
        .data();
    let texts: Vec<_> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (&entry["language"], &entry["text"]))
        .collect();
    assert_eq!(
        texts,
        [
            (&json!("en"), &json!("Your departure")),
            (&json!("de"), &json!("Ihre Abreise"))
        ]
    );
}

on_both!(the_home_page_says_when_the_last_backup_was_made);
async fn the_home_page_says_when_the_last_backup_was_made(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let home = page(&browser, "/console").await;
    let Some(database) = app.database_url.strip_prefix("sqlite:") else {
        assert!(
            !home.contains("backup was made"),
            "PostgreSQL has its own backups: {home}"
        );
        return;
    };
    assert!(home.contains("No backup was made yet."), "{home}");
    let note = json!({
        "lastBackupAt": "2026-11-20T09:30:00.000Z",
        "lastFailureAt": "2026-11-21T09:30:00.000Z",
    });
    std::fs::write(format!("{database}.backup.json"), note.to_string()).unwrap();
    let home = page(&browser, "/console").await;
    assert!(
        home.contains("The last backup was made on")
            && home.contains("The last attempt at a backup failed"),
        "{home}"
    );
    let visitor = member_with(&org, &[Permission::ViewProperties], None).await;
    let home = page(&visitor, "/console").await;
    assert!(!home.contains("backup was made"), "{home}");
}

on_both!(the_first_steps_are_shown_until_they_are_done);
async fn the_first_steps_are_shown_until_they_are_done(app: App) {
    let org = app.org().await;
    let browser = marta(&org).await;
    let home = html(&browser.get("/console").await);
    assert!(
        home.contains("Getting started") && home.contains("Add your flats"),
        "{home}"
    );
    let line = |home: &str| {
        home.split("Look at the page as a guest")
            .nth(1)
            .unwrap()
            .split("</li>")
            .next()
            .unwrap()
            .to_owned()
    };
    assert!(!line(&home).contains("done"), "{home}");
    let api = org.key().await;
    let portal = api.post("/portals", json!({ "name": "Casa" })).await.data();
    api.post(
        &format!("/portals/{}/preview", portal["id"].as_str().unwrap()),
        json!({}),
    )
    .await
    .data();
    let home = html(&browser.get("/console").await);
    assert!(line(&home).contains("done"), "{home}");
}
