//! Tests of the search by name (rules: records#search; access#limited-callers).

use engine::access::Permission;
use form_urlencoded::Serializer;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::{Api, ApiResponse, App, Org, new_id, on_both};

async fn search(api: &Api, parameters: &[(&str, &str)]) -> ApiResponse {
    let query = Serializer::new(String::new())
        .extend_pairs(parameters)
        .finish();
    api.get(&format!("/search?{query}")).await
}

/// Returns the results of a query, each as its type and name.
async fn results(api: &Api, query: &str) -> Vec<String> {
    let rows = search(api, &[("query", query), ("limit", "50")])
        .await
        .data();
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| {
            format!(
                "{} {}",
                row["type"].as_str().unwrap(),
                row["name"].as_str().unwrap()
            )
        })
        .collect()
}

/// Returns the names of the results of a query.
async fn names(api: &Api, query: &str) -> Vec<String> {
    results(api, query)
        .await
        .into_iter()
        .map(|row| row.split_once(' ').unwrap().1.to_owned())
        .collect()
}

/// Creates a resource. Returns its id.
async fn create(api: &Api, path: &str, body: Value) -> Uuid {
    api.post(path, body).await.data()["id"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

async fn assign(api: &Api, entity_type: &str, id: Uuid, field: &str, target: Uuid) {
    let body = json!({ "entityType": entity_type, "entityId": id, field: [target] });
    api.post("/entity-scopes/add", body).await.data();
}

fn flat(name: &str) -> Value {
    json!({ "name": name, "timezone": "Europe/Madrid", "country": "ES" })
}

async fn flats(org: &Org<'_>, names: &[&str]) {
    let records = names
        .iter()
        .map(|name| json!({ "kind": "property", "id": new_id(), "data": flat(name) }));
    org.sync(records.collect()).await.data();
}

on_both!(every_type_of_resource_is_found_by_its_name);
async fn every_type_of_resource_is_found_by_its_name(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let azul = json!({ "name": "Casa Azul" });
    let tag = org.record("tag", azul.clone()).await;
    let group = org.record("property_group", azul.clone()).await;
    let property = org.record("property", flat("Casa Azul")).await;
    let branding = create(&api, "/portal-brandings", azul.clone()).await;
    let portal = create(&api, "/portals", azul.clone()).await;
    let category = create(
        &api,
        "/portal-manual-categories",
        json!({ "title": "Casa Azul" }),
    )
    .await;
    let manual = create(
        &api,
        "/portal-manuals",
        json!({ "nickname": "Casa Azul", "title": "Wi-Fi" }),
    )
    .await;
    let step = create(
        &api,
        "/precheck-steps",
        json!({ "nickname": "Casa Azul", "stepType": "main" }),
    )
    .await;
    let others = app.org().await;
    others.record("tag", azul.clone()).await;
    create(&others.key().await, "/portals", azul.clone()).await;
    for (kind, mut data) in [
        (
            "device",
            json!({
                "propertyId": property,
                "deviceType": "lock",
                "vendor": "Acme",
                "isOnline": true,
            }),
        ),
        (
            "payment_account",
            json!({ "isActive": true, "isDefault": true }),
        ),
    ] {
        data["name"] = "Casa Azul".into();
        org.record(kind, data).await;
    }

    let row = |kind: &str, id: Uuid| json!({ "type": kind, "id": id, "name": "Casa Azul" });
    let everything = json!([
        row("precheck_step", step),
        row("manual", manual),
        row("manual_category", category),
        row("portal", portal),
        row("portal_branding", branding),
        row("property", property),
        row("property_group", group),
        row("tag", tag),
    ]);
    assert_eq!(search(&api, &[("query", "azul")]).await.data(), everything);
    let response = search(&api, &[("query", " casa AZUL "), ("colour", "blue")]).await;
    assert_eq!(response.data(), everything);
    assert_eq!(response.body["meta"].get("pagination"), None);
    let few = search(&api, &[("query", "azul"), ("limit", "2")])
        .await
        .data();
    assert_eq!(
        few,
        json!([row("precheck_step", step), row("manual", manual)])
    );
    assert_eq!(search(&api, &[("query", "verde")]).await.data(), json!([]));
}

on_both!(steps_and_brandings_are_found_by_either_of_two_names);
async fn steps_and_brandings_are_found_by_either_of_two_names(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let step = json!({
        "nickname": "Kaution",
        "stepType": "damage_deposit",
        "displayTitle": "Your deposit, please",
    });
    let step = create(&api, "/precheck-steps", step).await;
    create(
        &api,
        "/portal-brandings",
        json!({ "name": "Casa Mar", "nickname": "Winter look" }),
    )
    .await;
    create(
        &api,
        "/portal-manuals",
        json!({ "nickname": "Router", "title": "Internet" }),
    )
    .await;
    for (query, expected) in [
        ("kaution", &["precheck_step Kaution"][..]),
        ("your deposit", &["precheck_step Kaution"]),
        ("kaution deposit", &[]),
        ("mar", &["portal_branding Casa Mar"]),
        ("winter", &["portal_branding Casa Mar"]),
        ("router", &["manual Router"]),
        ("internet", &[]),
    ] {
        assert_eq!(results(&api, query).await, expected, "{query}");
    }
    // The search ignores titles that are not in English, and deleted titles.
    let title =
        json!({ "data": { "displayTitle": "Votre caution", "displayTitleLanguage": "fr" } });
    api.patch(&format!("/precheck-steps/{step}"), title)
        .await
        .data();
    assert_eq!(results(&api, "votre").await, [""; 0]);
    api.patch(
        &format!("/precheck-steps/{step}"),
        json!({ "data": { "displayTitle": null } }),
    )
    .await
    .data();
    assert_eq!(results(&api, "your deposit").await, [""; 0]);
}

on_both!(renamed_objects_are_found_only_by_their_new_names);
async fn renamed_objects_are_found_only_by_their_new_names(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let tag = org.record("tag", json!({ "name": "Old tag" })).await;
    let gone = org.record("tag", json!({ "name": "Old and gone" })).await;
    let step = create(
        &api,
        "/precheck-steps",
        json!({ "nickname": "Old step", "stepType": "main" }),
    )
    .await;
    let manual = create(
        &api,
        "/portal-manuals",
        json!({ "nickname": "Old manual", "title": "Wi-Fi" }),
    )
    .await;
    let category = create(
        &api,
        "/portal-manual-categories",
        json!({ "title": "Old category" }),
    )
    .await;
    let portal = create(&api, "/portals", json!({ "name": "Old portal" })).await;
    let branding = create(&api, "/portal-brandings", json!({ "name": "Old branding" })).await;
    assert_eq!(names(&api, "old").await.len(), 7);
    org.put_record("tag", tag, json!({ "name": "New tag" }))
        .await;
    org.delete_record("tag", gone).await;
    api.patch(
        &format!("/precheck-steps/{step}"),
        json!({ "data": { "nickname": "New step" } }),
    )
    .await
    .data();
    api.patch(
        &format!("/portal-manuals/{manual}"),
        json!({ "data": { "nickname": "New manual" } }),
    )
    .await
    .data();
    api.patch(
        &format!("/portal-manual-categories/{category}"),
        json!({ "title": "New category" }),
    )
    .await
    .data();
    api.patch(
        &format!("/portals/{portal}"),
        json!({ "data": { "name": "New portal" } }),
    )
    .await
    .data();
    api.patch(
        &format!("/portal-brandings/{branding}"),
        json!({ "data": { "name": "New branding" } }),
    )
    .await
    .data();
    assert_eq!(names(&api, "old").await, [""; 0]);
    assert_eq!(
        names(&api, "new").await,
        [
            "New tag",
            "New step",
            "New manual",
            "New portal",
            "New category",
            "New branding"
        ]
    );
}

on_both!(the_search_ignores_case_and_accents);
async fn the_search_ignores_case_and_accents(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    flats(
        &org,
        &[
            "La Móràda",
            "Straße 7",
            "L\u{2019}Eixample 70m²",
            "Ærøskøbing",
            "浅草のアパート",
            "",
        ],
    )
    .await;
    for (query, expected) in [
        ("la morada", "La Móràda"),
        ("MÓRADA", "La Móràda"),
        ("mo\u{301}ra\u{300}da", "La Móràda"),
        ("lamorada", "La Móràda"),
        ("STRASSE", "Straße 7"),
        ("straße", "Straße 7"),
        ("l'eixample 70M2", "L\u{2019}Eixample 70m²"),
        ("aeroskobing", "Ærøskøbing"),
        ("浅草", "浅草のアパート"),
    ] {
        assert_eq!(names(&api, query).await, [expected], "{query}");
    }
    // The search removes the accent, so the query becomes empty. An empty query finds nothing,
    // not even resources without a name.
    assert_eq!(names(&api, "\u{301}").await, [""; 0]);
}

on_both!(the_best_match_comes_first);
async fn the_best_match_comes_first(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    flats(
        &org,
        &[
            "Grazul",
            "La casa azul 2",
            "Azul, casa",
            "A-zul",
            "Azul mar",
            "Casa Azul",
            "Verde",
            "Azulón",
            "Azul",
        ],
    )
    .await;
    let expected = [
        "Azul",
        "A-zul",
        "Azulón",
        "Azul mar",
        "Azul, casa",
        "Casa Azul",
        "La casa azul 2",
        "Grazul",
    ];
    assert_eq!(names(&api, "azul").await, expected);
    assert_eq!(
        names(&api, "casa azul").await,
        ["Casa Azul", "La casa azul 2", "Azul, casa"]
    );
    // Equally good matches are ordered by the length of their names, then by type, then by name.
    org.record("tag", json!({ "name": "Rojo a" })).await;
    flats(&org, &["Rojo c", "Rojo b", "Rojo"]).await;
    assert_eq!(
        results(&api, "roj").await,
        [
            "property Rojo",
            "property Rojo b",
            "property Rojo c",
            "tag Rojo a"
        ]
    );
}

on_both!(search_parameters_are_checked);
async fn search_parameters_are_checked(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let tags = (0..60).map(|number| {
        json!({
            "kind": "tag",
            "id": new_id(),
            "data": { "name": format!("Tag {number}") },
        })
    });
    org.sync(tags.collect()).await.data();
    let long = "n".repeat(201);
    for (parameters, expected) in [
        (&[][..], &["query"][..]),
        (&[("query", "")], &["query"]),
        (&[("query", "  ")], &["query"]),
        (&[("query", &long)], &["query"]),
        (&[("query", "a"), ("query", "b")], &["query"]),
        (&[("query", "tag"), ("limit", "0")], &["limit"]),
        (&[("query", "tag"), ("limit", "51")], &["limit"]),
        (&[("query", "tag"), ("limit", "many")], &["limit"]),
        (&[("limit", "-1")], &["limit", "query"]),
    ] {
        assert_eq!(
            search(&api, parameters).await.issues(),
            expected,
            "{parameters:?}"
        );
    }
    for (limit, expected) in [(None, 20), (Some("1"), 1), (Some("50"), 50)] {
        let parameters: Vec<_> = [("query", "tag")]
            .into_iter()
            .chain(limit.map(|limit| ("limit", limit)))
            .collect();
        assert_eq!(
            search(&api, &parameters)
                .await
                .data()
                .as_array()
                .unwrap()
                .len(),
            expected
        );
    }
    // The limit of 200 characters applies to the query without the spaces around it.
    let blanks = format!("  {}  ", "ñ".repeat(200));
    assert_eq!(names(&api, &blanks).await, [""; 0]);
}

on_both!(guides_are_found_only_with_view_guides);
async fn guides_are_found_only_with_view_guides(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    create(
        &api,
        "/portal-manuals",
        json!({ "nickname": "Azul manual", "title": "Wi-Fi" }),
    )
    .await;
    create(
        &api,
        "/portal-manual-categories",
        json!({ "title": "Azul category" }),
    )
    .await;
    create(&api, "/portals", json!({ "name": "Azul portal" })).await;
    assert_eq!(names(&api, "azul").await.len(), 3);
    assert_eq!(
        results(&org.key_with(&[Permission::ViewProperties]).await, "azul").await,
        ["portal Azul portal"]
    );
    search(
        &org.key_with(&[Permission::ViewGuides]).await,
        &[("query", "azul")],
    )
    .await
    .error(403);
}

on_both!(limited_callers_find_only_visible_objects);
async fn limited_callers_find_only_visible_objects(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let record = |kind: &'static str, name: &'static str| org.record(kind, json!({ "name": name }));
    let (shared, foreign) = (
        record("property_group", "Azul shared group").await,
        record("property_group", "Azul foreign group").await,
    );
    let (own, across) = (
        record("tag", "Azul own tag").await,
        record("tag", "Azul tag across").await,
    );
    let empty = record("tag", "Azul tag, empty").await;
    let property = |name: &str, group: Uuid, tags: &[Uuid]| {
        let mut data = flat(name);
        (data["propertyGroupId"], data["tagIds"]) = (json!(group), json!(tags));
        org.record("property", data)
    };
    let mine = property("Azul, my flat", shared, &[own, across]).await;
    let theirs = property("Azul", shared, &[across]).await;
    property("Azul, far away", foreign, &[]).await;
    for (name, target) in [
        ("mine", Some(("propertyIds", mine))),
        ("theirs", Some(("propertyIds", theirs))),
        ("empty", Some(("tagIds", empty))),
        ("shared", Some(("propertyGroupIds", shared))),
        ("foreign", Some(("propertyGroupIds", foreign))),
        ("nowhere", None),
    ] {
        let step = create(
            &api,
            "/precheck-steps",
            json!({ "nickname": format!("Azul step {name}"), "stepType": "main" }),
        )
        .await;
        let manual = json!({ "nickname": format!("Azul manual {name}"), "title": "Wi-Fi" });
        let manual = create(&api, "/portal-manuals", manual).await;
        if let Some((field, target)) = target {
            assign(&api, "precheck_step", step, field, target).await;
            assign(&api, "manual", manual, field, target).await;
        }
    }
    let portal = create(&api, "/portals", json!({ "name": "Azul foreign portal" })).await;
    assign(&api, "portal_settings", portal, "propertyIds", theirs).await;
    create(
        &api,
        "/portal-brandings",
        json!({ "name": "Azul branding" }),
    )
    .await;
    create(
        &api,
        "/portal-manual-categories",
        json!({ "title": "Azul category" }),
    )
    .await;

    let limited = org.limited(&[mine]).await;
    assert_eq!(results(&api, "azul").await.len(), 23);
    assert_eq!(
        results(&limited, "azul").await,
        [
            "tag Azul own tag",
            "manual_category Azul category",
            "portal_branding Azul branding",
            "property Azul, my flat",
            "precheck_step Azul step mine",
            "tag Azul tag across",
            "precheck_step Azul step shared",
            "manual Azul manual mine",
            "precheck_step Azul step nowhere",
            "property_group Azul shared group",
            "manual Azul manual shared",
            "manual Azul manual nowhere",
            "portal Azul foreign portal",
        ]
    );
    // Only resources that the caller can see count towards the limit of results.
    let best = search(&limited, &[("query", "azul"), ("limit", "1")])
        .await
        .data();
    assert_eq!(
        best,
        json!([{ "type": "tag", "id": own, "name": "Azul own tag" }])
    );
    assert_eq!(names(&limited, "my flat").await, ["Azul, my flat"]);
    assert_eq!(names(&limited, "far away").await, [""; 0]);
    let nobody = org.limited(&[]).await;
    assert_eq!(names(&nobody, "own tag").await, [""; 0]);
}

on_both!(a_name_field_of_any_type_is_stored_and_not_searched);
async fn a_name_field_of_any_type_is_stored_and_not_searched(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    // Reservations have no declared field `name`, so the platform's `name` is an unknown field. The
    // service stores an unknown field with any type of value.
    for name in [
        json!(5),
        json!({ "azul": true }),
        json!("Azul"),
        Value::Null,
    ] {
        let mut stay = test_support::reservation(None);
        stay["name"] = name.clone();
        let id = org.record("reservation", stay).await;
        assert_eq!(
            api.get(&format!("/reservations/{id}")).await.data()["name"],
            name
        );
    }
    assert_eq!(names(&api, "azul").await, [""; 0]);
    // PostgreSQL limits the size of an index entry. This name is longer than that limit and
    // cannot be compressed.
    let long: String = (0..1_000_u32)
        .filter_map(|number| char::from_u32(0x2_0000 + number * 7_919 % 40_000))
        .collect();
    flats(&org, &[&long]).await;
    let end: String = long.chars().skip(990).collect();
    assert_eq!(names(&api, &end).await, [long]);
}

on_both!(a_query_word_for_the_type_is_a_hint);
async fn a_query_word_for_the_type_is_a_hint(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    flats(
        &org,
        &["Wifi flat", "Flat with wi-fi", "Free wifi", "Eixample 3"],
    )
    .await;
    org.record("property_group", json!({ "name": "Eixample" }))
        .await;
    create(
        &api,
        "/portal-manuals",
        json!({ "nickname": "Wi-Fi", "title": "Internet" }),
    )
    .await;
    for query in [
        "wifi manual",
        "Wi-Fi manual",
        "manual wi\u{2011}fi",
        "wifi",
        "WI-FI",
    ] {
        assert_eq!(results(&api, query).await[0], "manual Wi-Fi", "{query}");
    }
    for query in ["Eixample group", "group eixample", "eixample groups"] {
        assert_eq!(
            results(&api, query).await,
            ["property_group Eixample", "property Eixample 3"],
            "{query}"
        );
    }
}

on_both!(a_guest_is_found_by_their_reservation);
async fn a_guest_is_found_by_their_reservation(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let mine = org.record("property", flat("Casa Mar")).await;
    let theirs = org.record("property", flat("Casa Sol")).await;
    for (property, name) in [
        (Some(mine), ["Ada", "Lovelace"]),
        (Some(theirs), ["Ada", "Byron"]),
        (None, ["Grace", "Hopper"]),
    ] {
        let mut stay = test_support::reservation(property);
        stay["checkIn"] = "2026-12-01".into();
        stay["checkOut"] = "2026-12-04".into();
        stay["guest"] = json!({ "firstName": name[0], "lastName": name[1] });
        org.record("reservation", stay).await;
    }
    let (lovelace, byron) = (
        "reservation Ada Lovelace · Casa Mar · 2026-12-01",
        "reservation Ada Byron · Casa Sol · 2026-12-01",
    );
    assert_eq!(results(&api, "ada").await, [byron, lovelace]);
    for query in [
        "Ada Lovelace",
        "lovelace ada",
        "guest Lovelace",
        "LOVELACE reservation",
    ] {
        assert_eq!(results(&api, query).await, [lovelace], "{query}");
    }
    assert_eq!(
        results(&api, "grace").await,
        ["reservation Grace Hopper · 2026-12-01"]
    );
    assert_eq!(
        results(&org.limited(&[mine]).await, "ada").await,
        [lovelace]
    );
    assert_eq!(
        results(&org.key_with(&[Permission::ViewProperties]).await, "ada").await,
        [""; 0]
    );
}

on_both!(the_search_is_available_as_a_tool);
async fn the_search_is_available_as_a_tool(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let tag = org.record("tag", json!({ "name": "Sea view" })).await;
    let call = async |arguments: Value| {
        let request = app
            .http
            .post(format!("{}/mcp", app.base))
            .bearer_auth(api.token.as_deref().unwrap());
        let request = request
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18");
        let params = json!({ "name": "search", "arguments": arguments });
        let called =
            ApiResponse::of(request.json(
                &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }),
            ))
            .await;
        called.body["result"].clone()
    };
    let result = call(json!({ "query": "SEA", "limit": 5 })).await;
    assert_eq!(
        result["structuredContent"],
        json!({ "data": [{ "type": "tag", "id": tag, "name": "Sea view" }] }),
        "{result}"
    );
    let unknown = json!({ "query": "sea", "type": "tag" });
    let refused = [
        json!({}),
        json!({ "query": " " }),
        json!({ "query": "sea", "limit": 51 }),
        unknown,
    ];
    for arguments in refused {
        assert_eq!(
            call(arguments.clone()).await["isError"],
            true,
            "{arguments}"
        );
    }
}
