//! Tests that every value that a client sends has a maximum size, and that a refusal lists at most
//! 100 issues (rules: errors#requests; limits#lengths).

use engine::operation::{Operation, Surface, inline_generator};
use reqwest::Method;
use serde_json::{Map, Value, json};

use test_support::{Api, ApiResponse, App, new_id, on_both};

/// Fields whose schema has no bound, each with the reason why the schema needs none.
const EXEMPT: &[(&str, &str)] = &[
    (
        "putRecords records",
        "a record has at most 64 KiB, and the body 1 MiB",
    ),
    (
        "updateRecord data",
        "a record has at most 64 KiB, and the body 1 MiB",
    ),
    (
        "saveStepAnswers answers",
        "a stay has at most 1 MiB of answers in all",
    ),
    (
        "setTranslationEntry language",
        "judged in the operation, since a malformed one in a path is 404",
    ),
    ("deleteTranslationEntry language", "the same"),
];

/// The end of the path of each field that contains a stay's token. The service compares such a
/// token with stored tokens and does not store it.
const STAY_TOKEN_SUFFIX: &str = " token";

/// Formats of strings whose length the format itself limits.
const SHORT_FORMATS: &[&str] = &["uuid", "date", "time-of-day", "country"];

/// Formats of timestamps, which need no `maxLength`. The service parses a timestamp and does not
/// store its text, and the body or URL that contains the timestamp has a maximum size.
const TIMESTAMP_FORMATS: &[&str] = &["date-time", "future-date-time"];

/// Adds to `unbounded_parts` the path of each list, text and object in a schema that has no maximum
/// size.
fn unbounded(schema: &Value, path: &str, unbounded_parts: &mut Vec<String>) {
    if !schema.is_object() {
        return;
    }
    let is = |kind: &str| match &schema["type"] {
        Value::String(name) => name == kind,
        Value::Array(names) => names.iter().any(|name| name == kind),
        _ => false,
    };
    let is_listed = schema.get("enum").is_some() || schema.get("const").is_some();
    if is("array") && schema.get("maxItems").is_none() {
        unbounded_parts.push(format!("{path}: a list without maxItems"));
    }
    let format = schema["format"].as_str().unwrap_or_default();
    let is_short = SHORT_FORMATS.contains(&format) || TIMESTAMP_FORMATS.contains(&format);
    let is_anchored = schema["pattern"].as_str().is_some_and(|form| {
        form.starts_with('^') && form.ends_with('$') && !form.contains(['*', '+'])
    });
    if is("string") && !is_listed && !is_short && !is_anchored && schema.get("maxLength").is_none()
    {
        unbounded_parts.push(format!("{path}: a text without maxLength"));
    }
    if is("object")
        && schema["additionalProperties"] != false
        && schema.get("maxProperties").is_none()
    {
        unbounded_parts.push(format!("{path}: an object without maxProperties"));
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        unbounded(field, &format!("{path} {name}"), unbounded_parts);
    }
    for part in [
        "items",
        "additionalProperties",
        "propertyNames",
        "then",
        "else",
    ] {
        unbounded(&schema[part], path, unbounded_parts);
    }
    for part in ["anyOf", "oneOf", "allOf"] {
        schema[part]
            .as_array()
            .into_iter()
            .flatten()
            .for_each(|branch| unbounded(branch, path, unbounded_parts));
    }
}

#[test]
fn every_input_field_has_a_bound() {
    let of_callers = |operation: &&Operation| operation.surface != Surface::Platform;
    let mut unbounded_parts = Vec::new();
    for operation in vestibule::app::app().operations.iter().filter(of_callers) {
        unbounded(
            &operation.input_schema(&mut inline_generator()),
            operation.id,
            &mut unbounded_parts,
        );
    }
    let is_exempt = |path: &str| {
        path.ends_with(STAY_TOKEN_SUFFIX)
            || EXEMPT.iter().any(|(exempt, _)| path.starts_with(exempt))
    };
    unbounded_parts.retain(|fault| !is_exempt(fault.split(':').next().unwrap_or_default()));
    assert!(unbounded_parts.is_empty(), "{}", unbounded_parts.join("\n"));
}

/// Returns the number of issues that a 400 response lists, and the number of further issues, which
/// the response only counts.
fn issue_counts(response: &ApiResponse) -> (usize, Value) {
    let error = response.error(400);
    (
        error["details"]["issues"].as_array().unwrap().len(),
        error["details"]["more"].clone(),
    )
}

async fn tool(app: &App, api: &Api, name: &str, arguments: Value) -> Value {
    let call = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": name, "arguments": arguments },
    });
    let request = app
        .http
        .post(format!("{}/mcp", app.base))
        .bearer_auth(api.token.as_ref().unwrap());
    let response = ApiResponse::of(
        request
            .header("accept", "application/json, text/event-stream")
            .json(&call),
    )
    .await;
    serde_json::from_str(
        response.body["result"]["content"][0]["text"]
            .as_str()
            .unwrap(),
    )
    .unwrap()
}

on_both!(a_refusal_names_100_fields_and_counts_the_rest);
async fn a_refusal_names_100_fields_and_counts_the_rest(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let unknown = |count: usize| -> Map<String, Value> {
        (0..count)
            .map(|number| (format!("x{number:05}"), json!(1)))
            .collect()
    };
    let with_name = |count: usize| {
        let mut body = unknown(count);
        body.insert("name".into(), "Casa".into());
        Value::Object(body)
    };
    // A body has many unknown fields: at the top level, in nested objects, or in the arguments
    // of a tool. Each unknown field is one issue.
    assert_eq!(
        issue_counts(&api.post("/portals", with_name(100)).await),
        (100, Value::Null)
    );
    assert_eq!(
        issue_counts(&api.post("/portals", with_name(101)).await),
        (100, json!(1))
    );
    assert_eq!(
        issue_counts(&api.post("/portals", with_name(60_000)).await),
        (100, json!(59_900))
    );
    let portal = api.post("/portals", json!({ "name": "Casa" })).await.data();
    let path = format!("/portals/{}", portal["id"].as_str().unwrap());
    assert_eq!(
        issue_counts(&api.patch(&path, json!({ "data": unknown(60_000) })).await),
        (100, json!(59_900))
    );
    let refused = tool(&app, &api, "createPortal", with_name(60_000)).await;
    assert_eq!(refused["details"]["more"], 59_900, "{refused}");

    // A list has many wrong items. The service reports one issue for each wrong item, even if the
    // item breaks several rules.
    let blank = vec![""; 250];
    let fields: Vec<Value> = blank.iter().map(|text| json!(text)).collect();
    let step = json!({ "stepType": "your_details", "nickname": "x", "excludedSources": fields });
    let (named, more) = issue_counts(&api.post("/precheck-steps", step).await);
    assert_eq!(
        (named, more.as_u64().is_some_and(|more| more >= 1)),
        (100, true)
    );
    let sources = vec![""; 100];
    let step = json!({
        "stepType": "your_details",
        "nickname": "x",
        "excludedSources": sources,
        "includedSourcesReturning": sources,
    });
    assert_eq!(
        issue_counts(&api.post("/precheck-steps", step).await),
        (100, json!(100))
    );
    let query = "propertyIds=x&".repeat(200);
    assert_eq!(
        issue_counts(&api.get(&format!("/portal-manuals?{query}")).await),
        (1, Value::Null),
        "a parameter is named as a whole"
    );

    // Each record refers to a property that does not exist. The operation finds these issues only
    // after the check of the schema. The response lists at most 100 of these issues too, and counts
    // the others.
    let records: Vec<Value> = (0..130)
        .map(|_| {
            json!({
                "kind": "task",
                "id": new_id(),
                "data": { "propertyId": new_id(), "title": "x", "status": "open" },
            })
        })
        .collect();
    assert_eq!(
        issue_counts(&org.sync(json!(records)).await),
        (100, json!(30))
    );
    assert_eq!(
        api.get("/portals").await.data().as_array().unwrap().len(),
        1
    );
}

on_both!(too_long_lists_give_a_bounded_number_of_issues);
async fn too_long_lists_give_a_bounded_number_of_issues(app: App) {
    let api = app.org().await.key().await;
    let rules = json!([
        { "ruleCategory": "verification_status", "verificationStatuses": vec!["verified"; 50_000] },
    ]);
    let manual = json!({ "nickname": "x", "title": "x", "visibilityRules": rules });
    assert_eq!(
        api.post("/portal-manuals", manual).await.issues(),
        ["visibilityRules.0.verificationStatuses"]
    );
    // A rule ignores the fields of other rule categories, so the long list causes no issue.
    let rules =
        json!([{ "ruleCategory": "length_of_stay", "verificationStatuses": vec![1; 100_000] }]);
    let manual = json!({ "nickname": "x", "title": "x", "visibilityRules": rules });
    let manual = api.post("/portal-manuals", manual).await.data();
    assert_eq!(
        manual["visibilityRules"],
        json!([{ "ruleCategory": "length_of_stay" }])
    );
    let portal = json!({ "name": "x", "excludedQuickAccessTypes": vec![1; 200_000] });
    let (named, more) = issue_counts(&api.post("/portals", portal).await);
    assert_eq!(
        (named, more.as_u64().is_some_and(|more| more < 1_000)),
        (100, true),
        "{more}"
    );
}

on_both!(lists_in_manuals_and_steps_are_bounded);
async fn lists_in_manuals_and_steps_are_bounded(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let windows = |count: usize| {
        json!([
            {
                "ruleCategory": "seasonal",
                "seasonalWindows": vec![json!({
                    "startDate": "2026-06-01",
                    "endDate": "2026-08-31",
                }); count],
            },
        ])
    };
    let channels = |count: usize| {
        json!([
            {
                "ruleCategory": "booking_source",
                "sourceRuleType": "all_except_selected",
                "excludedBookingSources": (0..count)
                    .map(|number| number.to_string())
                    .collect::<Vec<_>>(),
            },
        ])
    };
    for (rules, field) in [
        (windows as fn(usize) -> Value, "seasonalWindows"),
        (channels, "excludedBookingSources"),
    ] {
        let manual =
            |count| json!({ "nickname": "x", "title": "x", "visibilityRules": rules(count) });
        api.post("/portal-manuals", manual(100)).await.data();
        assert_eq!(
            api.post("/portal-manuals", manual(101)).await.issues(),
            [format!("visibilityRules.0.{field}")]
        );
    }
    let step = |more: Value| {
        test_support::house::with(json!({ "stepType": "agreement", "nickname": "x" }), more)
    };
    let prefill = |count: usize| -> Map<String, Value> {
        (0..count)
            .map(|number| (format!("f{number}"), json!("x")))
            .collect()
    };
    for (good, bad, field) in [
        (
            json!({ "esignPrefillValues": prefill(100) }),
            json!({ "esignPrefillValues": prefill(101) }),
            "esignPrefillValues",
        ),
        (
            json!({ "esignPrefillValues": { "f": "x".repeat(1000) } }),
            json!({ "esignPrefillValues": { "f": "x".repeat(1001) } }),
            "esignPrefillValues.f",
        ),
        (
            json!({ "authorityProvider": "x".repeat(200) }),
            json!({ "authorityProvider": "x".repeat(201) }),
            "authorityProvider",
        ),
        (
            json!({ "requiredGuestFields": ["x".repeat(200)] }),
            json!({ "requiredGuestFields": ["x".repeat(201)] }),
            "requiredGuestFields.0",
        ),
        (
            json!({ "excludedSources": vec!["x"; 100] }),
            json!({ "excludedSources": vec!["x"; 101] }),
            "excludedSources",
        ),
    ] {
        api.post("/precheck-steps", step(good)).await.data();
        assert_eq!(
            api.post("/precheck-steps", step(bad)).await.issues(),
            [field]
        );
    }
    let named = json!({ "esignPrefillValues": { "n".repeat(201): "x" } });
    assert_eq!(
        api.post("/precheck-steps", step(named)).await.issues(),
        ["esignPrefillValues"]
    );
    let language = format!("en-x-{}", ["abcdefgh"; 20].join("-"));
    let text = json!({ "sourceTable": "manual", "text": "x", "language": language });
    assert_eq!(api.post("/translations", text).await.issues(), ["language"]);
    let text = api
        .post(
            "/translations",
            json!({ "sourceTable": "manual", "text": "x" }),
        )
        .await
        .data();
    let path = format!(
        "/translations/{}/entries/{language}",
        text["id"].as_str().unwrap()
    );
    api.send(Method::PUT, &path, Some(json!({ "text": "x" })))
        .await
        .error(404);
    let ids = (0..1001)
        .map(|_| format!("propertyIds={}", new_id()))
        .collect::<Vec<_>>()
        .join("&");
    assert_eq!(
        api.get(&format!("/portal-manuals?{ids}")).await.issues(),
        ["propertyIds"]
    );
}

on_both!(a_null_character_is_an_issue_of_its_field);
async fn a_null_character_is_an_issue_of_its_field(app: App) {
    let org = app.org().await;
    let api = org.key().await;
    let portal = json!({
        "name": "a\0b",
        "supportNotes": "\0",
        "supportPhone": "+34 934\u{0}123456",
        "isDefault": 1,
    });
    assert_eq!(
        api.post("/portals", portal.clone()).await.issues(),
        ["isDefault", "name", "supportNotes", "supportPhone"]
    );
    let error = api
        .post("/portals", json!({ "name": "\0" }))
        .await
        .error(400);
    assert_eq!(
        error["details"]["issues"],
        json!([{ "path": ["name"], "message": "must not contain U+0000" }])
    );
    let created = api.post("/portals", json!({ "name": "Casa" })).await.data();
    let path = format!("/portals/{}", created["id"].as_str().unwrap());
    assert_eq!(
        api.patch(&path, json!({ "data": { "supportNotes": "a\0" } }))
            .await
            .issues(),
        ["data.supportNotes"]
    );
    let refused = tool(&app, &api, "createPortal", portal).await;
    assert_eq!(
        refused["details"]["issues"].as_array().unwrap().len(),
        4,
        "{refused}"
    );
    // The service refuses null characters in lists and in objects without a schema.
    let rule = json!({
        "ruleCategory": "booking_source",
        "sourceRuleType": "only_selected",
        "includedBookingSources": ["direct", "\0"],
    });
    let manual = json!({ "nickname": "x", "title": "x", "visibilityRules": [rule] });
    assert_eq!(
        api.post("/portal-manuals", manual).await.issues(),
        ["visibilityRules.0.includedBookingSources.1"]
    );
    let record = |data: Value| {
        json!([
            { "kind": "tag", "id": new_id(), "data": { "name": "Sea" } },
            { "kind": "tag", "id": new_id(), "data": data },
        ])
    };
    let refused = org
        .sync(record(json!({ "name": "Sea", "free": [{ "x": "\0" }] })))
        .await;
    assert_eq!(refused.issues(), ["records.1.data.free.0.x"]);
    assert_eq!(
        api.get("/tags").await.data(),
        json!([]),
        "and nothing is applied"
    );
    // An unknown field is reported as unknown. A key that contains a null character is not
    // repeated in the response.
    assert_eq!(
        api.post("/portals", json!({ "name": "x", "nmae": "\0" }))
            .await
            .issues(),
        ["nmae"]
    );
    for body in [
        json!({ "name": "x", "a\0": 1 }),
        json!({ "a\0": { "b": "\0" } }),
    ] {
        assert_eq!(api.post("/portals", body).await.issues(), [""]);
    }
    org.sync(record(json!({ "name": "Sea", "a\0": 1 })))
        .await
        .error(400);
    // The service refuses null characters in query parameters.
    for (query, field) in [
        ("/portal-manuals?search=a%00", "search"),
        (
            "/portal-manuals?propertyIds=%00&tagIds=%00",
            "propertyIds tagIds",
        ),
        ("/search?query=%00", "query"),
        ("/portal-manual-categories?language=e%00n", "language"),
        ("/tasks?limit=1%00", "limit"),
    ] {
        assert_eq!(api.get(query).await.issues().join(" "), field, "{query}");
    }
    // The service refuses null characters in answers and messages of a guest.
    let house = test_support::house::House::build(&app).await;
    let step = house.step("main", json!({})).await;
    let stay = format!("{}/guest/v1/stays/{}", app.base, house.token);
    let answers = json!({ "answers": { "a": ["\0"] } });
    assert_eq!(
        ApiResponse::of(app.http.put(format!("{stay}/steps/{step}")).json(&answers))
            .await
            .issues(),
        ["answers.a.0"]
    );
    assert_eq!(
        ApiResponse::of(
            app.http
                .post(format!("{stay}/messages"))
                .json(&json!({ "text": "a\0" }))
        )
        .await
        .issues(),
        ["text"]
    );
}

on_both!(common_spellings_of_phone_numbers_are_accepted);
async fn common_spellings_of_phone_numbers_are_accepted(app: App) {
    let api = app.org().await.key().await;
    for (number, (written, stored)) in [
        ("+44 (0)20 7946 0958", "+442079460958"),
        ("+44(0)2079460958", "+442079460958"),
        ("0044 (0) 20 7946 0958", "+442079460958"),
        ("+49 (0) 30 / 901820", "+4930901820"),
        ("+33 (0)1.42.68.53.00", "+33142685300"),
        ("+39 (0)6 6982", "+39066982"),
        ("+34 934\u{a0}123\u{a0}456", "+34934123456"),
        ("934 12 34 56", "+34934123456"),
        ("(934) 123-456", "+34934123456"),
        ("+1 (415) 555‑2671", "+14155552671"),
        ("tel:+34-934-123-456", "+34934123456"),
    ]
    .into_iter()
    .enumerate()
    {
        let created = api
            .post(
                "/portals",
                json!({ "name": number.to_string(), "supportPhone": written }),
            )
            .await;
        assert_eq!(
            (created.status, &created.body["data"]["supportPhone"]),
            (201, &json!(stored)),
            "{written}"
        );
    }
    for written in [
        "(0)",
        "+44 (0)",
        "+(0)44 20",
        "+44 (0)(0)20 7946 0958 99",
        "(0)(0)(0)",
    ] {
        assert_eq!(
            api.post("/portals", json!({ "name": "x", "supportPhone": written }))
                .await
                .issues(),
            ["supportPhone"],
            "{written}"
        );
    }
}
