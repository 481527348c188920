//! Tests of the console screen on which staff read submissions of guests and decide on them.

use engine::access::Permission;
use serde_json::json;
use test_support::files::{Part, send, uploads};
use test_support::house::House;
use test_support::{App, on_both};

use super::{Form, html, marta, member_with, page, plain};

const NASTY: &str = "<script>alert(1)</script>";

/// Creates a stay whose guest has submitted an agreement that waits for review. Returns the id of
/// the agreement's step.
async fn waiting_submission(house: &House<'_>) -> String {
    house
        .update_portal(house.portal, json!({ "isManualReviewEnabled": true }))
        .await;
    let step = house.step("agreement", json!({})).await;
    house
        .answer(step, json!({ "isAccepted": true, "signedName": NASTY }))
        .await
        .data();
    let odd = house.step("main", json!({})).await;
    let answers = json!({ "odd": { "deep": [NASTY] } });
    house.answer(odd, answers).await.data();
    house.submit().await.data();
    step.to_string()
}

on_both!(a_waiting_submission_is_read_and_approved);
async fn a_waiting_submission_is_read_and_approved(app: App) {
    let house = House::build(&app).await;
    waiting_submission(&house).await;
    let browser = marta(&house.org).await;
    let path = format!("/console/submissions/{}", house.stay);
    let home = page(&browser, "/console").await;
    assert!(
        home.contains(&path) && home.contains("Waiting for you"),
        "{home}"
    );
    let list = page(&browser, "/console/submissions").await;
    assert!(
        list.contains(&path) && list.contains("Ada L") && list.contains("In review"),
        "{list}"
    );
    assert!(
        !page(&browser, "/console/submissions?status=approved")
            .await
            .contains(&path)
    );
    for flat in ["Flat", "fla"] {
        assert!(
            page(
                &browser,
                &format!("/console/submissions?status=all&flat={flat}")
            )
            .await
            .contains(&path)
        );
    }
    assert!(
        !page(&browser, "/console/submissions?status=all&flat=Elsewhere")
            .await
            .contains(&path)
    );

    let html = page(&browser, &path).await;
    assert!(
        !html.contains(NASTY) && plain(&html).contains(NASTY),
        "{html}"
    );
    assert!(html.contains("Complete") && html.contains("Yes"), "{html}");
    let approve = Form::of(&html, "/approve");
    let (_, after) = approve.done(&browser, "saved").await;
    assert!(
        after.contains("Approved") && !after.contains("/approve\""),
        "{after}"
    );
    assert_eq!(house.status().await, "approved");
    assert!(
        after.contains("Who changed this") && after.contains("Member approved"),
        "{after}"
    );
    // The member sends the same form a second time. The second approval has the same result as
    // the first.
    approve.done(&browser, "saved").await;
}

on_both!(changes_are_requested_and_typed_values_are_kept);
async fn changes_are_requested_and_typed_values_are_kept(app: App) {
    let house = House::build(&app).await;
    let step = waiting_submission(&house).await;
    let browser = marta(&house.org).await;
    let path = format!("/console/submissions/{}", house.stay);
    let form = Form::of(&page(&browser, &path).await, "/changes");
    let message = "Sign with <b>your</b> name & date";
    let refused = form
        .clone()
        .with("message", message)
        .refused(&browser, 400)
        .await;
    assert!(
        refused.contains("This was not done")
            && plain(&refused).contains(message)
            && !refused.contains(message),
        "{refused}"
    );
    let again = Form::of(&refused, "/changes");
    let (_, after) = again
        .clone()
        .with("step", &step)
        .done(&browser, "saved")
        .await;
    assert!(
        after.contains("Changes requested") && plain(&after).contains(message),
        "{after}"
    );
    assert_eq!(house.status().await, "changes_requested");

    // Another member has already decided on the submission, so the service refuses this
    // member's decision.
    let late = form
        .clone()
        .with("step", &step)
        .with("message", "Too late")
        .with("key", "0192f0c1-2345-7abc-8def-0123456789ab");
    let refused = late.refused(&browser, 409).await;
    assert!(
        refused.contains("not in review")
            && refused.contains("Too late")
            && refused.contains(" checked"),
        "{refused}"
    );
}

on_both!(submitted_answers_are_shown_in_the_page_language);
async fn submitted_answers_are_shown_in_the_page_language(app: App) {
    let house = House::build(&app).await;
    let text = house
        .text(&[
            ("en", "How do you come?"),
            ("es", "¿Cómo llega?"),
            ("fr", "Comment venez-vous ?"),
        ])
        .await;
    let details = house.step("your_details", json!({})).await;
    let title = house
        .api
        .post(
            "/translations",
            json!({ "sourceTable": "precheck_step_detail", "language": "en", "text": "Your trip" }),
        )
        .await
        .data()["id"]
        .clone();
    house
        .api
        .ok(
            reqwest::Method::PUT,
            &format!("/translations/{}/entries/es", title.as_str().unwrap()),
            Some(json!({ "text": "Su viaje" })),
        )
        .await;
    let questions = house
        .step(
            "additional_questions",
            json!({
                "displayTitleMlTextId": title,
                "questions": [{ "kind": "free_form_input", "textMlTextId": text }],
            }),
        )
        .await;
    let others = house.step("other_guests", json!({})).await;
    let upload = house.step("document_upload", json!({})).await;
    house
        .answer(
            details,
            json!({
                "firstName": "Ada",
                "birthDate": "1988-05-17",
                "documentType": "identity_card",
                "gender": "female",
            }),
        )
        .await
        .data();
    house
        .answer(
            others,
            json!({ "guests": [{ "firstName": "Bo", "birthDate": "2001-02-03" }] }),
        )
        .await
        .data();
    house
        .answer(upload, json!({ "isConfirmed": true }))
        .await
        .data();
    let view = house.step_view(questions, "en").await;
    let question = view["questions"][0]["id"].as_str().unwrap().to_owned();
    house
        .answer(questions, json!({ question: { "text": "2026-12-11" } }))
        .await
        .data();
    let browser = marta(&house.org).await;
    let path = format!("/console/submissions/{}", house.stay);
    let english = page(&browser, &path).await;
    for message in [
        "Your details",
        "Your trip",
        "17 May 1988",
        "3 February 2001",
        "Identity card",
        "Female",
        "How do you come?",
        "2026-12-11",
        "Confirmed by the guest",
    ] {
        assert!(plain(&english).contains(message), "{message}: {english}");
    }
    let request = browser
        .request(reqwest::Method::GET, &path)
        .header("accept-language", "es");
    let spanish = plain(&html(&browser.send(request).await));
    for message in [
        "Tus datos",
        "Su viaje",
        "17 de mayo de 1988",
        "¿Cómo llega?",
        "Confirmado por el huésped",
        "Mujer",
    ] {
        assert!(spanish.contains(message), "{message}: {spanish}");
    }
    for unsaid in [
        "Your details",
        "Your trip",
        "1988-05-17",
        "Other guests",
        "Confirmed",
        "female",
    ] {
        assert!(!spanish.contains(unsaid), "{unsaid}: {spanish}");
    }
    let request = browser
        .request(reqwest::Method::GET, &path)
        .header("accept-language", "fr");
    assert!(plain(&html(&browser.send(request).await)).contains("Comment venez-vous ?"));
    // The REST interface responds in English unless the request names another language.
    let read = async |query: &str| {
        house
            .api
            .get(&format!("/reservations/{}/precheckin{query}", house.stay))
            .await
            .data()["steps"][0]["title"]
            .clone()
    };
    assert_eq!(
        [read("").await, read("?language=es").await],
        [json!("Your details"), json!("Tus datos")]
    );
}

on_both!(submitted_files_are_listed_with_type_and_size, uploads());
async fn submitted_files_are_listed_with_type_and_size(app: App) {
    let house = House::build(&app).await;
    let step = house.step("document_upload", json!({})).await;
    for kind in ["passport", "Fishing licence"] {
        let parts: [Part<'_>; 2] = [
            ("file", Some("one.png"), b"\x89PNG\r\n\x1a\n rest"),
            ("documentType", None, kind.as_bytes()),
        ];
        assert_eq!(
            send(&app, &house.token, step, &parts).await.status,
            201,
            "{kind}"
        );
    }
    let browser = marta(&house.org).await;
    let path = format!("/console/submissions/{}", house.stay);
    let shown = page(&browser, &path).await;
    assert!(
        shown.contains("Passport · image/png · 1") && shown.contains("Fishing licence · image/png"),
        "{shown}"
    );
    let request = browser
        .request(reqwest::Method::GET, &path)
        .header("accept-language", "es");
    assert!(html(&browser.send(request).await).contains("Pasaporte · image/png"));
}

on_both!(progress_from_other_systems_is_shown);
async fn progress_from_other_systems_is_shown(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step("identity_check", json!({ "nickname": "Identity" }))
        .await;
    let waiver = house
        .org
        .record("damage_waiver", json!({ "name": "Full cover" }))
        .await;
    let deposit = house.step("main", json!({})).await;
    house
        .answer(
            deposit,
            json!({ "damageWaiverId": waiver, "choice": "waiver" }),
        )
        .await
        .data();
    let browser = marta(&house.org).await;
    let path = format!("/console/submissions/{}", house.stay);
    assert!(
        page(&browser, &path)
            .await
            .contains("reports when it is complete")
    );
    let say = async |text| {
        let path = house
            .org
            .path(&format!("/reservations/{}/steps/{step}", house.stay));
        app.platform()
            .ok(reqwest::Method::PUT, &path, Some(text))
            .await;
    };
    say(json!({
        "status": "action_required",
        "actionUrl": "https://verify.example.com/secret",
        "message": NASTY,
        "amountCents": 12_345,
        "currency": "EUR",
    }))
    .await;
    let html = page(&browser, &path).await;
    for text in [
        "waiting for the guest",
        "€123.45",
        NASTY,
        "Full cover",
        "Damage waiver",
    ] {
        assert!(plain(&html).contains(text), "{text}: {html}");
    }
    assert!(
        !html.contains("verify.example.com")
            && !html.contains(NASTY)
            && !html.contains("reports when it is complete"),
        "{html}"
    );
    say(json!({ "status": "completed" })).await;
    assert!(page(&browser, &path).await.contains("completed"));
}

on_both!(flags_and_acceptance_are_shown_in_the_page_language);
async fn flags_and_acceptance_are_shown_in_the_page_language(app: App) {
    let house = House::build(&app).await;
    let rules = house.step("agreement", json!({})).await;
    let check = house.step("background_check", json!({})).await;
    let identity = house
        .step(
            "identity_check",
            json!({ "identityFlagPolicy": { "document_expired": "review" } }),
        )
        .await;
    let papers = house.step("document_upload", json!({})).await;
    house
        .answer(rules, json!({ "isAccepted": true }))
        .await
        .data();
    house
        .answer(check, json!({ "isAccepted": true }))
        .await
        .data();
    house.answer(papers, json!({})).await.data();
    let say = async |step: uuid::Uuid, text| {
        let path = house
            .org
            .path(&format!("/reservations/{}/steps/{step}", house.stay));
        app.platform()
            .ok(reqwest::Method::PUT, &path, Some(text))
            .await;
    };
    say(
        identity,
        json!({ "status": "completed", "checks": ["document_expired"], "flags": [NASTY] }),
    )
    .await;
    house.submit().await.data();
    let browser = marta(&house.org).await;
    let path = format!("/console/submissions/{}", house.stay);
    let shown = page(&browser, &path).await;
    for text in [
        "Waits for another system",
        "Reasons to look at it",
        "Document has expired",
        "This step is looked at for every guest.",
        NASTY,
    ] {
        assert!(plain(&shown).contains(text), "{text}: {shown}");
    }
    assert!(
        plain(&shown).contains("Text shown: English, SHA-256 99c789cf"),
        "{shown}"
    );
    assert!(!shown.contains(NASTY), "{shown}");
    say(check, json!({ "status": "failed" })).await;
    let request = browser
        .request(reqwest::Method::GET, &path)
        .header("accept-language", "es");
    let spanish = plain(&html(&browser.send(request).await));
    for text in [
        "Motivos para revisarlo",
        "Documento caducado",
        "La comprobación de antecedentes ha fallado.",
        "Texto mostrado: English",
    ] {
        assert!(spanish.contains(text), "{text}: {spanish}");
    }
    assert!(
        !spanish.contains("The background check failed."),
        "{spanish}"
    );
}

on_both!(charges_are_shown_with_account_dates_and_outcome);
async fn charges_are_shown_with_account_dates_and_outcome(app: App) {
    let house = House::build(&app).await;
    let account = json!({
        "name": format!("Bank {NASTY}"),
        "isActive": true,
        "isDefault": true,
        "currency": "EUR",
    });
    house.org.record("payment_account", account).await;
    let linen = house
        .org
        .record(
            "fee_product",
            json!({ "name": "Linen", "amountCents": 2_500 }),
        )
        .await;
    let fees = house
        .step("mandatory_fee", json!({ "feeProductIds": [linen] }))
        .await;
    let deposit = json!({
        "isSecurityDepositEnabled": true,
        "securityDepositAmountCents": 30_000,
        "securityDepositDaysBeforeCheckin": 2,
    });
    let step = house.step("damage_deposit", deposit).await;
    let browser = marta(&house.org).await;
    let pages = [
        format!("/console/submissions/{}", house.stay),
        format!("/console/stays/{}", house.stay),
    ];
    house.answer(fees, json!({})).await.data();
    house
        .answer(step, json!({ "choice": "deposit" }))
        .await
        .data();
    for path in &pages {
        assert!(
            !page(&browser, path).await.contains("Charges"),
            "nothing is charged yet"
        );
    }
    house.submit().await.data();
    let charges = house
        .api
        .get(&format!("/reservations/{}/charges", house.stay))
        .await
        .data();
    let path = house
        .org
        .path(&format!("/charges/{}", charges[0]["id"].as_str().unwrap()));
    let paid = json!({ "status": "paid", "reference": "pi_1", "message": NASTY });
    app.platform()
        .ok(reqwest::Method::PUT, &path, Some(paid))
        .await;
    for path in &pages {
        let html = page(&browser, path).await;
        for text in [
            "Charges",
            "Linen",
            "€25.00",
            "Paid",
            "pi_1",
            NASTY,
            "Deposit",
            "€300.00",
            "To be paid",
            "Bank",
            "9 December",
            "To be released",
        ] {
            assert!(plain(&html).contains(text), "{text}: {html}");
        }
        assert!(!html.contains(NASTY), "{html}");
    }
    // A member who may not read payment accounts and fees sees the amount of a charge, but not
    // the name of its fee.
    let reader = member_with(&house.org, &[Permission::ViewReservations], None).await;
    let html = plain(&page(&reader, &pages[0]).await);
    assert!(html.contains("€25.00") && !html.contains("Linen"), "{html}");
}

on_both!(a_reader_cannot_decide_on_a_submission);
async fn a_reader_cannot_decide_on_a_submission(app: App) {
    let house = House::build(&app).await;
    let step = waiting_submission(&house).await;
    let path = format!("/console/submissions/{}", house.stay);
    let reader = member_with(&house.org, &[Permission::ViewReservations], None).await;
    let shown = page(&reader, &path).await;
    assert!(
        !shown.contains("/approve") && !shown.contains("/changes"),
        "{shown}"
    );
    let form = crate::people::field(&shown, "form");
    for (place, fields) in [
        ("approve", vec![("form", &*form)]),
        (
            "changes",
            vec![("form", &*form), ("step", &*step), ("message", "Mine")],
        ),
    ] {
        let response = reader.post(&format!("{path}/{place}"), &fields).await;
        assert_eq!(response.status, 403, "{}", response.body);
    }
    let stranger = member_with(&house.org, &[Permission::ViewProperties], None).await;
    assert_eq!(stranger.get(&path).await.status, 403);
    assert!(
        !page(&stranger, "/console")
            .await
            .contains("/console/submissions")
    );
    let other = app.org().await;
    let theirs = marta(&other).await;
    let form = crate::people::field(&page(&theirs, "/console").await, "form");
    assert!(html(&theirs.get(&path).await).contains("There is nothing here"));
    assert_eq!(theirs.get(&path).await.status, 404);
    assert_eq!(
        theirs
            .post(&format!("{path}/approve"), &[("form", &form)])
            .await
            .status,
        404
    );
    let forged = theirs
        .post(&format!("{path}/approve"), &[("form", "no")])
        .await;
    assert_eq!(forged.status, 403);
    assert_eq!(house.status().await, "in_review");
}
