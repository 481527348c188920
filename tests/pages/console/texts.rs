//! Tests of the console screen that lists texts in every language: missing texts and machine
//! translations.

use serde_json::json;
use test_support::house::{House, id};
use test_support::{App, on_both};

use super::{marta, member_with, page, plain};

on_both!(missing_and_machine_translated_texts_are_listed);
async fn missing_and_machine_translated_texts_are_listed(app: App) {
    let house = House::build(&app).await;
    house
        .org
        .put(
            "",
            json!({ "name": "Casa", "country": "ES", "languages": ["en", "es", "fr"] }),
        )
        .await;
    house
        .update_portal(house.portal, json!({ "specialOfferTitle": "An offer" }))
        .await;
    let [asked, option] = [
        house
            .text(&[("en", "How late?"), ("fr", "Quelle heure ?")])
            .await,
        house.text(&[("en", "Very <late>")]).await,
    ];
    let questions = json!([
        { "kind": "single_select", "textMlTextId": asked, "options": [{ "nameMlTextId": option }] },
    ]);
    house
        .step(
            "additional_questions",
            json!({ "nickname": "Arrival", "questions": questions }),
        )
        .await;
    let about = house
        .api
        .post(
            "/translations",
            json!({ "sourceTable": "precheck_step_detail", "text": "About it" }),
        )
        .await
        .data();
    house
        .step(
            "main",
            json!({ "nickname": "Main", "guestDescriptionMlTextId": about["id"] }),
        )
        .await;
    let entry = format!("/translations/{}/entries/fr", id(&about["id"]));
    house
        .api
        .send(
            reqwest::Method::PUT,
            &entry,
            Some(json!({ "text": "À propos" })),
        )
        .await
        .data();
    app.change(
        "update translation_entry set is_machine_translated = true where text = 'À propos'",
        Vec::new(),
    )
    .await;

    let browser = marta(&house.org).await;
    let of =
        async |query: &str| plain(&page(&browser, &format!("/console/translations?{query}")).await);
    let portals = of("of=portals&language=fr").await;
    assert!(
        portals.contains("An offer")
            && portals.contains("Special offer title")
            && portals.contains("Missing"),
        "{portals}"
    );
    assert!(!of("of=portals&language=en").await.contains("Missing"));
    let asked = of("of=questions&language=fr").await;
    assert!(
        asked.contains("Quelle heure ?")
            && asked.contains("Very <late>")
            && asked.contains("Arrival"),
        "{asked}"
    );
    assert_eq!(asked.matches("Missing").count(), 1, "{asked}");
    let steps = of("of=steps&language=fr").await;
    assert!(
        steps.contains("À propos")
            && steps.contains("Translated by machine")
            && steps.contains("Text below the heading"),
        "{steps}"
    );

    let unfinished = of("of=questions&language=fr&todo=1").await;
    assert!(
        unfinished.contains("Very <late>") && !unfinished.contains("Quelle heure"),
        "{unfinished}"
    );
    assert!(of("of=steps&language=fr&todo=1").await.contains("À propos"));
    assert!(
        of("of=steps&language=en&todo=1")
            .await
            .contains("No translation is missing or outdated here")
    );

    // A member limited to another flat sees only the texts of that flat.
    let other = house.org.property(None, &[]).await;
    let limited = member_with(
        &house.org,
        &[engine::access::Permission::ViewProperties],
        Some(&[other]),
    )
    .await;
    let theirs = page(&limited, "/console/translations?of=questions&language=fr").await;
    assert!(
        theirs.contains("Nothing was found") && !theirs.contains("Quelle heure"),
        "{theirs}"
    );
}
