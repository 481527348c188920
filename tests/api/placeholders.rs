//! Tests of placeholders in texts (rules: translations#placeholders).

use reqwest::Method;
use serde_json::{Value, json};
use test_support::house::{House, id};
use test_support::{App, on_both};
use uuid::Uuid;

use crate::manuals::{change, create, scope, try_create};

/// Writes the record of the flat again: the default data, with the fields of `more` added or
/// replaced.
async fn write_flat(house: &House<'_>, more: Value) {
    let mut data = json!({
        "name": "Casa Azul 2-1",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "checkInTime": "15:00",
        "checkOutTime": "11:00",
        "address": {
            "street": "Carrer Gran",
            "number": "7",
            "city": "Barcelona",
            "postalCode": "08012",
        },
    });
    for (field, value) in more.as_object().unwrap() {
        data[field] = value.clone();
    }
    house.org.put_record("property", house.flat, data).await;
}

/// Creates an active manual of the flat with this description.
async fn manual(house: &House<'_>, description: &str, more: Value) -> Value {
    let mut body = json!({ "description": description, "isActive": true });
    for (field, value) in more.as_object().unwrap() {
        body[field] = value.clone();
    }
    let manual = create(&house.api, "Manual", body).await;
    scope(
        &house.api,
        "/add",
        &manual,
        json!({ "propertyIds": [house.flat] }),
    )
    .await
    .data();
    manual
}

/// Returns the only manual in the guest view; null if there is none.
async fn guest_manual(house: &House<'_>, query: &str) -> Value {
    let view = house.org.app.stay(&house.token, query).await.data();
    view["manualCategories"][0]["manuals"][0].clone()
}

/// Reads the explanation of the stay. Returns whether the stay's only manual is shown, and the
/// reason.
async fn explained(house: &House<'_>) -> (Value, Value) {
    let path = format!("/reservations/{}/explain", house.stay);
    let explanation = house.api.get(&path).await.data();
    let manual = &explanation["manuals"][0];
    (manual["isShown"].clone(), manual["reason"].clone())
}

on_both!(values_of_the_stay_replace_placeholders);
async fn values_of_the_stay_replace_placeholders(app: App) {
    let house = House::build(&app).await;
    write_flat(&house, json!({})).await;
    let text = "{{guest.firstName}}, {{ property.name }}, {{property.address}}: {{stay.checkIn}} \
        {{property.checkInTime}} to {{stay.checkOut}} {{property.checkOutTime}}, {{stay.nights}}. \
        {{word}}";
    manual(&house, text, json!({})).await;
    let english = "Ada, Casa Azul 2-1, Carrer Gran 7, 08012 Barcelona: Friday, 11 December 2026 \
        15:00 to Tuesday, 15 December 2026 11:00, 4. {{word}}";
    let read = guest_manual(&house, "").await;
    assert_eq!(read["description"], english);
    assert!(
        read["descriptionHtml"]
            .as_str()
            .unwrap()
            .contains("Casa Azul 2-1")
    );
    let spanish = guest_manual(&house, "?language=es").await;
    assert!(
        spanish["description"]
            .as_str()
            .unwrap()
            .contains("viernes, 11 de diciembre"),
        "{spanish}"
    );
}

on_both!(each_guest_reads_their_own_values);
async fn each_guest_reads_their_own_values(app: App) {
    let house = House::build(&app).await;
    manual(&house, "Hello {{guest.firstName}}", json!({})).await;
    let mut data = test_support::reservation(Some(house.flat));
    data["guest"]["firstName"] = json!("Grace");
    let other = house.org.record("reservation", data).await;
    assert_eq!(guest_manual(&house, "").await["description"], "Hello Ada");
    let view = house.org.guest_view(other).await;
    assert_eq!(
        view["manualCategories"][0]["manuals"][0]["description"],
        "Hello Grace"
    );
}

on_both!(values_are_never_formatted);
async fn values_are_never_formatted(app: App) {
    let house = House::build(&app).await;
    write_flat(&house, json!({ "name": "**Casa** <b>Azul</b>" })).await;
    manual(&house, "At {{property.name}}", json!({})).await;
    let html = guest_manual(&house, "").await["descriptionHtml"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        html.contains("**Casa**") && !html.contains("<strong>") && !html.contains("<b>"),
        "{html}"
    );
}

on_both!(a_text_with_unknown_placeholders_cannot_be_linked);
async fn a_text_with_unknown_placeholders_cannot_be_linked(app: App) {
    let house = House::build(&app).await;
    let refused = try_create(
        &house.api,
        json!({ "nickname": "M", "title": "M", "description": "{{property.rooms}}" }),
    )
    .await;
    assert_eq!(refused.issues(), ["description"]);
    let refused = try_create(
        &house.api,
        json!({ "nickname": "M", "title": "{{custom.None}}" }),
    )
    .await;
    assert_eq!(refused.issues(), ["title"]);
    let text = house
        .api
        .post(
            "/translations",
            json!({ "sourceTable": "manual", "text": "{{property.rooms}}" }),
        )
        .await
        .data();
    let created = manual(&house, "Fine", json!({})).await;
    assert_eq!(
        change(&house.api, &created, json!({ "descriptionId": text["id"] }))
            .await
            .issues(),
        ["data.descriptionId"]
    );
    let entry = format!("/translations/{}/entries/es", id(&created["descriptionId"]));
    assert_eq!(
        house
            .api
            .send(
                Method::PUT,
                &entry,
                Some(json!({ "text": "{{guest.email}}" }))
            )
            .await
            .issues(),
        ["text"]
    );
    house
        .api
        .send(
            Method::PUT,
            &entry,
            Some(json!({ "text": "{{guest.firstName}} {{word}}" })),
        )
        .await
        .data();
    let portal = house
        .api
        .patch(
            &format!("/portals/{}", house.portal),
            json!({ "data": { "specialOfferTitle": "{{stay.price}}" } }),
        )
        .await;
    assert_eq!(portal.issues(), ["data.specialOfferTitle"]);
    let step = json!({ "stepType": "your_details", "nickname": "S", "displayTitle": "{{a.b}}" });
    assert_eq!(
        house.api.post("/precheck-steps", step).await.issues(),
        ["displayTitle"]
    );
}

on_both!(custom_fields_are_named_in_any_case);
async fn custom_fields_are_named_in_any_case(app: App) {
    let house = House::build(&app).await;
    let field = house
        .org
        .record(
            "custom_field",
            json!({ "name": "Door code", "value": "1111" }),
        )
        .await;
    let created = manual(&house, "Code {{custom.DOOR code}}", json!({})).await;
    assert_eq!(guest_manual(&house, "").await["description"], "Code 1111");
    write_flat(
        &house,
        json!({ "customFields": { field.to_string(): 4711 } }),
    )
    .await;
    assert_eq!(guest_manual(&house, "").await["description"], "Code 4711");
    let twin = house
        .org
        .record("custom_field", json!({ "name": "door CODE" }))
        .await;
    assert_eq!(
        guest_manual(&house, "").await,
        Value::Null,
        "nobody knows which of both is meant"
    );
    let refused = try_create(
        &house.api,
        json!({ "nickname": "M", "title": "M", "description": "{{custom.Door code}}" }),
    )
    .await;
    assert!(
        refused
            .error(400)
            .to_string()
            .contains("several custom fields")
    );
    house.org.delete_record("custom_field", twin).await;
    assert_eq!(guest_manual(&house, "").await["id"], created["id"]);
    house.org.delete_record("custom_field", field).await;
    assert_eq!(explained(&house).await.1["key"], "value_missing");
}

on_both!(a_missing_value_hides_the_manual_and_is_explained);
async fn a_missing_value_hides_the_manual_and_is_explained(app: App) {
    let house = House::build(&app).await;
    manual(&house, "Network {{property.wifiName}}", json!({})).await;
    assert_eq!(guest_manual(&house, "").await, Value::Null);
    let (is_shown, reason) = explained(&house).await;
    assert_eq!(
        (is_shown, &reason["key"], &reason["facts"]["name"]),
        (
            json!(false),
            &json!("value_missing"),
            &json!("{{property.wifiName}}")
        )
    );
    write_flat(&house, json!({ "wifiName": "Casa" })).await;
    assert_eq!(
        guest_manual(&house, "").await["description"],
        "Network Casa"
    );
    assert_eq!(explained(&house).await.0, true);
}

on_both!(only_wifi_manuals_contain_the_wifi_password);
async fn only_wifi_manuals_contain_the_wifi_password(app: App) {
    let house = House::build(&app).await;
    write_flat(
        &house,
        json!({ "wifiName": "Casa", "wifiPassword": "se*cr*et" }),
    )
    .await;
    let created = manual(&house, "Password `{{property.wifiPassword}}`", json!({})).await;
    assert_eq!(guest_manual(&house, "").await, Value::Null);
    assert!(
        explained(&house).await.1["message"]
            .as_str()
            .unwrap()
            .contains("icon wifi")
    );
    change(&house.api, &created, json!({ "iconName": "wifi" }))
        .await
        .data();
    let read = guest_manual(&house, "").await;
    assert_eq!(read["description"], "Password `se*cr*et`");
    assert!(
        read["descriptionHtml"]
            .as_str()
            .unwrap()
            .contains("<code>se*cr*et</code>")
    );
    let preview = house
        .api
        .post(
            &format!("/portals/{}/guest-view", house.portal),
            json!({ "propertyId": house.flat }),
        )
        .await
        .data();
    assert!(preview.to_string().contains("••••") && !preview.to_string().contains("se*cr*et"));
    let mut tentative = test_support::reservation(Some(house.flat));
    tentative["status"] = json!("tentative");
    house
        .org
        .put_record("reservation", house.stay, tentative)
        .await;
    assert_eq!(guest_manual(&house, "").await, Value::Null);
    assert!(
        explained(&house).await.1["message"]
            .as_str()
            .unwrap()
            .contains("tentative")
    );
}

on_both!(texts_of_steps_and_portals_are_filled_in_or_omitted);
async fn texts_of_steps_and_portals_are_filled_in_or_omitted(app: App) {
    let house = House::build(&app).await;
    let wording = |text: &str| json!({ "sourceTable": "precheck_step_detail", "text": text });
    let description = house
        .api
        .post(
            "/translations",
            wording("At {{property.name}}: {{property.wifiName}}"),
        )
        .await
        .data();
    house
        .step(
            "your_details",
            json!({
                "displayTitle": "Hi {{guest.firstName}}",
                "guestDescriptionMlTextId": description["id"],
            }),
        )
        .await;
    let agreement = house
        .step(
            "agreement",
            json!({
                "contractTemplateText": "No parties at {{property.name}}, {{property.wifiName}}.",
            }),
        )
        .await;
    house
        .update_portal(
            house.portal,
            json!({
                "precheckinPromptMessage": "Welcome {{guest.firstName}} to {{property.wifiName}}",
            }),
        )
        .await;
    let precheckin = house.precheckin().await;
    assert_eq!(
        precheckin["steps"].as_array().unwrap().len(),
        1,
        "the agreement is not asked without its text"
    );
    assert_eq!(
        house.submission().await["steps"].as_array().unwrap().len(),
        1,
        "the platform reads the same steps"
    );
    assert_eq!(
        (
            &precheckin["steps"][0]["title"],
            &precheckin["steps"][0]["description"]
        ),
        (&json!("Hi Ada"), &Value::Null)
    );
    assert!(
        !precheckin["promptMessage"]
            .as_str()
            .unwrap()
            .contains("Welcome")
    );
    let explanation = house
        .api
        .get(&format!("/reservations/{}/explain", house.stay))
        .await
        .data();
    let of = |step: Uuid| {
        explanation["steps"]
            .as_array()
            .unwrap()
            .iter()
            .find(|found| id(&found["id"]) == step)
            .unwrap()
            .clone()
    };
    assert_eq!(
        (&of(agreement)["isShown"], &of(agreement)["reason"]["key"]),
        (&json!(false), &json!("value_missing"))
    );
    assert_eq!(
        explanation["portal"]["hiddenTexts"][0]["field"],
        "precheckinPromptMessageId"
    );
    let details = explanation["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["stepType"] == "your_details")
        .unwrap();
    assert_eq!(
        (
            &details["isShown"],
            &details["hiddenTexts"][0]["placeholder"]
        ),
        (&json!(true), &json!("property.wifiName"))
    );
    write_flat(&house, json!({ "wifiName": "Casa" })).await;
    let precheckin = house.precheckin().await;
    assert_eq!(precheckin["promptMessage"], "Welcome Ada to Casa");
    let steps = precheckin["steps"].as_array().unwrap();
    let text = steps
        .iter()
        .find_map(|step| step["agreement"]["text"].as_str())
        .unwrap();
    assert_eq!(
        (steps.len(), text),
        (2, "No parties at Casa Azul 2-1, Casa.")
    );
    let read = house.submission().await;
    let stored = read["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| id(&step["id"]) == agreement)
        .unwrap();
    assert_eq!(
        stored["settings"]["contractTemplateText"],
        "No parties at {{property.name}}, {{property.wifiName}}."
    );
}

on_both!(a_text_can_be_previewed_for_a_flat);
async fn a_text_can_be_previewed_for_a_flat(app: App) {
    let house = House::build(&app).await;
    write_flat(&house, json!({})).await;
    let created = manual(
        &house,
        "At **{{property.name}}** with {{property.wifiName}}",
        json!({}),
    )
    .await;
    let path = format!("/translations/{}/preview", id(&created["descriptionId"]));
    let body = json!({ "propertyId": house.flat });
    let preview = house.api.post(&path, body.clone()).await.data();
    assert_eq!(
        (&preview["text"], &preview["missing"][0]["placeholder"]),
        (&Value::Null, &json!("property.wifiName"))
    );
    write_flat(&house, json!({ "wifiName": "Casa" })).await;
    let preview = house.api.post(&path, body).await.data();
    assert_eq!(
        (&preview["text"], &preview["missing"]),
        (&json!("At **Casa Azul 2-1** with Casa"), &json!([]))
    );
    assert!(
        preview["html"]
            .as_str()
            .unwrap()
            .contains("<strong>Casa Azul 2-1</strong>")
    );
}
