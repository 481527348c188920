//! Tests of agreements whose text changes after a guest accepted it (rules:
//! pre-check-in#agreements).

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::house::{House, id, with};
use test_support::{App, on_both, reservation};

/// An agreement step whose text, the rules of the house, is in English and Spanish.
struct Rules {
    step: Uuid,
    text: Uuid,
}

impl Rules {
    async fn build(house: &House<'_>) -> Self {
        let body = json!({ "sourceTable": "precheck_step_detail", "text": "No parties." });
        let text = id(&house.api.post("/translations", body).await.data()["id"]);
        let fields = json!({ "contractTemplateTextMlTextId": text, "isMandatorySigning": true });
        let step = house.step("agreement", fields).await;
        let rules = Self { step, text };
        rules.write(house, "es", "Sin fiestas.").await;
        rules
    }

    async fn write(&self, house: &House<'_>, language: &str, text: &str) {
        let path = format!("/translations/{}/entries/{language}", self.text);
        house
            .api
            .ok(Method::PUT, &path, Some(json!({ "text": text })))
            .await;
    }

    async fn accept(&self, house: &House<'_>, language: &str) -> Value {
        let body = json!({
            "answers": { "isAccepted": true, "signedName": "Ada L" },
            "language": language,
        });
        house
            .guest(Method::PUT, &format!("/steps/{}", self.step), Some(body))
            .await
            .data()
    }

    async fn page(&self, house: &House<'_>, language: &str) -> String {
        let app = house.org.app;
        let address = format!(
            "{}/stay/{}/steps/{}?language={language}",
            app.base, house.token, self.step
        );
        app.http
            .get(address)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap()
    }
}

async fn read(house: &House<'_>) -> Value {
    let read = house
        .api
        .get(&format!("/reservations/{}/precheckin", house.stay))
        .await
        .data();
    read["steps"][0]["acceptance"].clone()
}

on_both!(a_changed_text_is_accepted_again_before_the_submission);
async fn a_changed_text_is_accepted_again_before_the_submission(app: App) {
    let house = House::build(&app).await;
    let rules = Rules::build(&house).await;
    rules.accept(&house, "es").await;
    // The guest accepted the Spanish text. If the English text changes, the guest does not have
    // to accept again.
    rules.write(&house, "en", "Parties!").await;
    let view = house.step_view(rules.step, "en").await;
    assert_eq!(
        (&view["isComplete"], view.get("isTextChanged")),
        (&json!(true), None)
    );
    assert_eq!(
        (
            &view["acceptance"]["text"],
            &view["acceptance"]["isCurrent"]
        ),
        (&json!("Sin fiestas."), &json!(true))
    );
    let page = rules.page(&house, "en").await;
    assert!(
        page.contains("Sin fiestas.")
            && page.contains("You accepted this on")
            && !page.contains("Parties!"),
        "{page}"
    );

    rules.write(&house, "es", "Con fiestas.").await;
    for language in ["es", "en"] {
        let view = house.step_view(rules.step, language).await;
        assert_eq!(
            (&view["isComplete"], &view["isTextChanged"]),
            (&json!(false), &json!(true))
        );
        assert_eq!(
            (
                &view["acceptance"]["text"],
                &view["acceptance"]["isCurrent"]
            ),
            (&json!("Sin fiestas."), &json!(false))
        );
    }
    let platform = house.submission().await["steps"][0].clone();
    assert_eq!(
        (&platform["state"], &platform["isComplete"]),
        (&json!("todo"), &json!(false)),
        "the platform reads the same"
    );
    house.submit().await.error(409);
    let page = rules.page(&house, "es").await;
    assert!(
        page.contains("Con fiestas.")
            && page.contains("El texto ha cambiado")
            && !page.contains("Lo aceptaste"),
        "{page}"
    );
    assert!(!page.contains(" checked"), "{page}");
    // The text is again the one that the guest accepted, so the acceptance is valid again.
    rules.write(&house, "es", "Sin fiestas.").await;
    assert_eq!(house.step_view(rules.step, "es").await["isComplete"], true);
    rules.write(&house, "es", "Con fiestas.").await;
    let view = rules.accept(&house, "es").await;
    assert_eq!(
        (&view["isComplete"], &view["acceptance"]["text"]),
        (&json!(true), &json!("Con fiestas."))
    );
    house.submit().await.data();
}

on_both!(a_submitted_acceptance_keeps_its_text);
async fn a_submitted_acceptance_keeps_its_text(app: App) {
    let house = House::build(&app).await;
    let rules = Rules::build(&house).await;
    rules.accept(&house, "en").await;
    house.submit().await.data();
    rules.write(&house, "en", "No shoes.").await;
    let view = house.step_view(rules.step, "en").await;
    assert_eq!(
        (&view["isComplete"], view.get("isTextChanged")),
        (&json!(true), None)
    );
    assert_eq!(house.precheckin().await["openSteps"], json!([]));
    let accepted = read(&house).await;
    assert_eq!(accepted, view["acceptance"]);
    assert_eq!(
        (
            &accepted["text"],
            &accepted["isCurrent"],
            &accepted["signedName"],
            &accepted["language"]
        ),
        (
            &json!("No parties."),
            &json!(false),
            &json!("Ada L"),
            &json!("en")
        )
    );
    for language in ["en", "es"] {
        let page = rules.page(&house, language).await;
        assert!(
            page.contains("No parties.") && page.contains("Ada L"),
            "{page}"
        );
        assert!(
            !page.contains("No shoes.") && !page.contains("Sin fiestas."),
            "{page}"
        );
    }
    let browser = crate::console::marta(&house.org).await;
    let html =
        crate::console::page(&browser, &format!("/console/submissions/{}", house.stay)).await;
    for text in ["No parties.", "Signed:", "The text has been changed since."] {
        assert!(html.contains(text), "{text}: {html}");
    }
    // The record of the acceptance contains the accepted text, even if the step now has another
    // text or none.
    house
        .update(
            rules.step,
            json!({ "contractTemplateTextMlTextId": null, "contractTemplateText": "Shoes!" }),
        )
        .await
        .data();
    assert_eq!(read(&house).await["text"], "No parties.");

    // Staff request a new acceptance. The guest then reads the current text.
    let request = json!({ "message": "Please sign again.", "stepIds": [rules.step] });
    house
        .api
        .post(
            &format!("/reservations/{}/precheckin/request-changes", house.stay),
            request,
        )
        .await
        .data();
    assert_eq!(
        house.step_view(rules.step, "en").await["isTextChanged"],
        true
    );
    let page = rules.page(&house, "en").await;
    assert!(
        page.contains("Shoes!") && !page.contains("You accepted this"),
        "{page}"
    );
    house.submit().await.error(409);
    rules.accept(&house, "en").await;
    house.submit().await.data();
    assert_eq!(read(&house).await["text"], "Shoes!");
}

on_both!(a_text_that_changed_while_the_form_was_open_is_not_accepted);
async fn a_text_that_changed_while_the_form_was_open_is_not_accepted(app: App) {
    let house = House::build(&app).await;
    let rules = Rules::build(&house).await;
    let page = rules.page(&house, "en").await;
    let hash = page
        .split("name=\"shownText\" value=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    rules.write(&house, "en", "Parties!").await;
    let address = format!("{}/stay/{}/steps/{}", app.base, house.token, rules.step);
    let form = [
        ("isAccepted", "true"),
        ("signedName", "Ada L"),
        ("shownText", hash),
    ];
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
    let request = app
        .http
        .post(address)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body);
    let response = request.send().await.unwrap();
    assert_eq!(response.status().as_u16(), 409);
    let page = response.text().await.unwrap();
    assert!(
        page.contains("Parties!")
            && page.contains("The text has changed")
            && !page.contains(" checked"),
        "{page}"
    );
    assert!(page.contains("value=\"Ada L\""), "{page}");
    assert_eq!(house.status().await, "not_started");
    let body = json!({
        "answers": { "isAccepted": true, "signedName": "Ada L" },
        "shownTextSha256": hash,
    });
    let refused = house
        .guest(Method::PUT, &format!("/steps/{}", rules.step), Some(body))
        .await
        .error(409);
    assert_eq!(refused["details"]["key"], "agreement.text_changed");
}

on_both!(a_date_in_an_agreement_is_no_change_for_a_reader_of_another_language);
/// Placeholders for dates are filled in the reader's language, so the filled-in text differs by
/// language. That difference does not invalidate an acceptance.
async fn a_date_in_an_agreement_is_no_change_for_a_reader_of_another_language(app: App) {
    let house = House::build(&app).await;
    let source = "You may stay until {{stay.checkOut}}.";
    let body = json!({ "sourceTable": "precheck_step_detail", "text": source });
    let text = id(&house.api.post("/translations", body).await.data()["id"]);
    let of_translation = house
        .step("agreement", json!({ "contractTemplateTextMlTextId": text }))
        .await;
    let of_step = house
        .step("agreement", json!({ "contractTemplateText": source }))
        .await;
    for step in [of_translation, of_step] {
        let body = json!({ "answers": { "isAccepted": true }, "language": "es" });
        house
            .guest(Method::PUT, &format!("/steps/{step}"), Some(body))
            .await
            .data();
    }
    let is_as_accepted = async |step: Uuid, expected: bool| {
        for language in ["es", "en", "fr"] {
            let view = house.step_view(step, language).await;
            assert_eq!(
                (
                    &view["isComplete"],
                    &view["acceptance"]["isCurrent"],
                    view.get("isTextChanged").is_some()
                ),
                (&json!(expected), &json!(expected), !expected),
                "{language}: {view}"
            );
            let kept = view["acceptance"]["text"].as_str().unwrap();
            assert!(kept.contains("diciembre"), "{kept}");
        }
    };
    is_as_accepted(of_translation, true).await;
    is_as_accepted(of_step, true).await;
    // A new check-out date changes the filled-in text, so the acceptance is no longer valid.
    let moved = with(
        reservation(Some(house.flat)),
        json!({ "checkOut": "2026-12-18" }),
    );
    house.org.put_record("reservation", house.stay, moved).await;
    is_as_accepted(of_translation, false).await;
    is_as_accepted(of_step, false).await;
    house
        .org
        .put_record("reservation", house.stay, reservation(Some(house.flat)))
        .await;
    is_as_accepted(of_translation, true).await;
    // A new wording of the translation invalidates the acceptance in the step that links it. The
    // other step has its own text, so its acceptance stays valid.
    let path = format!("/translations/{text}/entries/en");
    let other = json!({ "text": "You leave on {{stay.checkOut}}." });
    house.api.ok(Method::PUT, &path, Some(other)).await;
    is_as_accepted(of_translation, false).await;
    is_as_accepted(of_step, true).await;
}

on_both!(an_accepted_text_is_kept_once);
/// The database stores each text once, however many guests accept it.
async fn an_accepted_text_is_kept_once(app: App) {
    let house = House::build(&app).await;
    let rules = Rules::build(&house).await;
    for language in ["en", "en", "es", "fr"] {
        rules.accept(&house, language).await;
    }
    let count = "select count(*) from accepted_text where organization_id = ?1";
    let kept = app
        .query(count.to_owned(), vec![house.org.id.into()], |row| {
            row.get::<i64>(0)
        })
        .await;
    assert_eq!(kept, [2]);
}
