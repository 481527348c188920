//! What guests hand in, and what staff decide of it on their screen.

use engine::access::Permission;
use serde_json::json;

use super::{Form, html, marta, member_with, page, plain};
use crate::files::{Part, send, uploads};
use crate::support::house::House;
use crate::support::{App, on_both};

const NASTY: &str = "<script>alert(1)</script>";

/// A stay whose guest has handed in an agreement and waits for staff.
async fn waiting(house: &House<'_>) -> String {
    house.update_portal(house.portal, json!({ "isManualReviewEnabled": true })).await;
    let step = house.step("agreement", json!({})).await;
    house.answer(step, json!({ "isAccepted": true, "signedName": NASTY, "odd": { "deep": [NASTY] } })).await.data();
    house.submit().await.data();
    step.to_string()
}

on_both! {
    async fn what_waits_is_read_and_approved(app: App) {
        let house = House::build(&app).await;
        waiting(&house).await;
        let browser = marta(&house.org).await;
        let path = format!("/console/submissions/{}", house.stay);
        let home = page(&browser, "/console").await;
        assert!(home.contains(&path) && home.contains("Waiting for you"), "{home}");
        let list = page(&browser, "/console/submissions").await;
        assert!(list.contains(&path) && list.contains("Ada L") && list.contains("In review"), "{list}");
        assert!(!page(&browser, "/console/submissions?status=approved").await.contains(&path));
        for flat in ["Flat", "fla"] {
            assert!(page(&browser, &format!("/console/submissions?status=all&flat={flat}")).await.contains(&path));
        }
        assert!(!page(&browser, "/console/submissions?status=all&flat=Elsewhere").await.contains(&path));

        let shown = page(&browser, &path).await;
        assert!(!shown.contains(NASTY) && plain(&shown).contains(NASTY), "{shown}");
        assert!(shown.contains("Complete") && shown.contains("Yes"), "{shown}");
        let approve = Form::of(&shown, "/approve");
        let (_, after) = approve.done(&browser, "saved").await;
        assert!(after.contains("Approved") && !after.contains("/approve\""), "{after}");
        assert_eq!(house.status().await, "approved");
        assert!(after.contains("Who changed this") && after.contains("Member approved"), "{after}");
        // Pressed again it is the same decision.
        approve.done(&browser, "saved").await;
    }

    async fn changes_are_asked_for_and_nothing_typed_is_lost(app: App) {
        let house = House::build(&app).await;
        let step = waiting(&house).await;
        let browser = marta(&house.org).await;
        let path = format!("/console/submissions/{}", house.stay);
        let form = Form::of(&page(&browser, &path).await, "/changes");
        let message = "Sign with <b>your</b> name & date";
        let refused = form.clone().with("message", message).refused(&browser, 400).await;
        assert!(refused.contains("This was not done") && plain(&refused).contains(message) && !refused.contains(message), "{refused}");
        let again = Form::of(&refused, "/changes");
        let (_, after) = again.clone().with("step", &step).done(&browser, "saved").await;
        assert!(after.contains("Changes requested") && plain(&after).contains(message), "{after}");
        assert_eq!(house.status().await, "changes_requested");

        // Somebody else was faster.
        let late = form.clone().with("step", &step).with("message", "Too late").with("key", "0192f0c1-2345-7abc-8def-0123456789ab");
        let refused = late.refused(&browser, 409).await;
        assert!(refused.contains("not in review") && refused.contains("Too late") && refused.contains(" checked"), "{refused}");
    }

    async fn what_was_given_is_read_in_the_language_of_the_page(app: App) {
        let house = House::build(&app).await;
        let text = house.text(&[("en", "How do you come?"), ("es", "¿Cómo llega?"), ("fr", "Comment venez-vous ?")]).await;
        let details = house.step("your_details", json!({})).await;
        let title = house.api.post("/translations", json!({ "sourceTable": "precheck_step_detail", "language": "en", "text": "Your trip" })).await.data()["id"].clone();
        house.api.ok(reqwest::Method::PUT, &format!("/translations/{}/entries/es", title.as_str().unwrap()), Some(json!({ "text": "Su viaje" }))).await;
        let questions = house.step("additional_questions", json!({
            "displayTitleMlTextId": title, "questions": [{ "kind": "free_form_input", "textMlTextId": text }],
        })).await;
        let others = house.step("other_guests", json!({})).await;
        let upload = house.step("document_upload", json!({})).await;
        house.answer(details, json!({ "firstName": "Ada", "birthDate": "1988-05-17", "documentType": "identity_card", "gender": "female" })).await.data();
        house.answer(others, json!({ "guests": [{ "firstName": "Bo", "birthDate": "2001-02-03" }] })).await.data();
        house.answer(upload, json!({ "isConfirmed": true })).await.data();
        let view = house.step_view(questions, "en").await;
        let question = view["questions"][0]["id"].as_str().unwrap().to_owned();
        house.answer(questions, json!({ question: { "text": "2026-12-11" } })).await.data();
        let browser = marta(&house.org).await;
        let path = format!("/console/submissions/{}", house.stay);
        let english = page(&browser, &path).await;
        for said in ["Your details", "Your trip", "17 May 1988", "3 February 2001", "Identity card", "Female", "How do you come?", "2026-12-11", "Confirmed by the guest"] {
            assert!(plain(&english).contains(said), "{said}: {english}");
        }
        let request = browser.request(reqwest::Method::GET, &path).header("accept-language", "es");
        let spanish = plain(&html(&browser.send(request).await));
        for said in ["Tus datos", "Su viaje", "17 de mayo de 1988", "¿Cómo llega?", "Confirmado por el huésped", "Mujer"] {
            assert!(spanish.contains(said), "{said}: {spanish}");
        }
        for unsaid in ["Your details", "Your trip", "1988-05-17", "Other guests", "Confirmed", "female"] {
            assert!(!spanish.contains(unsaid), "{unsaid}: {spanish}");
        }
        let request = browser.request(reqwest::Method::GET, &path).header("accept-language", "fr");
        assert!(plain(&html(&browser.send(request).await)).contains("Comment venez-vous ?"));
        // Over the interface it is English, unless another language is asked for.
        let read = async |query: &str| house.api.get(&format!("/reservations/{}/precheckin{query}", house.stay)).await.data()["steps"][0]["title"].clone();
        assert_eq!([read("").await, read("?language=es").await], [json!("Your details"), json!("Tus datos")]);
    }

    async fn a_file_is_told_with_what_it_is(app: App, uploads()) {
        let house = House::build(&app).await;
        let step = house.step("document_upload", json!({})).await;
        for kind in ["passport", "Fishing licence"] {
            let parts: [Part<'_>; 2] = [("file", Some("one.png"), b"\x89PNG\r\n\x1a\n rest"), ("documentType", None, kind.as_bytes())];
            assert_eq!(send(&app, &house.token, step, &parts).await.status, 201, "{kind}");
        }
        let browser = marta(&house.org).await;
        let path = format!("/console/submissions/{}", house.stay);
        let shown = page(&browser, &path).await;
        assert!(shown.contains("Passport · image/png · 1") && shown.contains("Fishing licence · image/png"), "{shown}");
        let request = browser.request(reqwest::Method::GET, &path).header("accept-language", "es");
        assert!(html(&browser.send(request).await).contains("Pasaporte · image/png"));
    }

    async fn how_others_carry_a_step_out_is_told(app: App) {
        let house = House::build(&app).await;
        let step = house.step("identity_check", json!({ "nickname": "Identity" })).await;
        let waiver = house.org.record("damage_waiver", json!({ "name": "Full cover" })).await;
        let deposit = house.step("agreement", json!({})).await;
        house.answer(deposit, json!({ "isAccepted": true, "damageWaiverId": waiver, "choice": "waiver" })).await.data();
        let browser = marta(&house.org).await;
        let path = format!("/console/submissions/{}", house.stay);
        assert!(page(&browser, &path).await.contains("says when it is complete"));
        let say = async |said| {
            let path = house.org.path(&format!("/reservations/{}/steps/{step}", house.stay));
            app.platform().ok(reqwest::Method::PUT, &path, Some(said)).await;
        };
        say(json!({ "status": "action_required", "actionUrl": "https://verify.example.com/secret", "message": NASTY, "amountCents": 12_345, "currency": "EUR" })).await;
        let shown = page(&browser, &path).await;
        for said in ["waits for the guest", "€123.45", NASTY, "Full cover", "Damage waiver"] {
            assert!(plain(&shown).contains(said), "{said}: {shown}");
        }
        assert!(!shown.contains("verify.example.com") && !shown.contains(NASTY) && !shown.contains("says when it is complete"), "{shown}");
        say(json!({ "status": "completed" })).await;
        assert!(page(&browser, &path).await.contains("completed"));
    }

    async fn who_may_only_read_decides_nothing(app: App) {
        let house = House::build(&app).await;
        let step = waiting(&house).await;
        let path = format!("/console/submissions/{}", house.stay);
        let reader = member_with(&house.org, &[Permission::ViewReservations], None).await;
        let shown = page(&reader, &path).await;
        assert!(!shown.contains("/approve") && !shown.contains("/changes"), "{shown}");
        let form = crate::people::field(&shown, "form");
        for (place, fields) in [("approve", vec![("form", &*form)]), ("changes", vec![("form", &*form), ("step", &*step), ("message", "Mine")])] {
            let answer = reader.post(&format!("{path}/{place}"), &fields).await;
            assert_eq!(answer.status, 403, "{}", answer.body);
        }
        let stranger = member_with(&house.org, &[Permission::ViewProperties], None).await;
        assert_eq!(stranger.get(&path).await.status, 403);
        assert!(!page(&stranger, "/console").await.contains("/console/submissions"));
        let other = app.org().await;
        let theirs = marta(&other).await;
        let form = crate::people::field(&page(&theirs, "/console").await, "form");
        assert!(html(&theirs.get(&path).await).contains("There is nothing here"));
        assert_eq!(theirs.get(&path).await.status, 404);
        assert_eq!(theirs.post(&format!("{path}/approve"), &[("form", &form)]).await.status, 404);
        let forged = theirs.post(&format!("{path}/approve"), &[("form", "no")]).await;
        assert_eq!(forged.status, 403);
        assert_eq!(house.status().await, "in_review");
    }
}
