//! Forms that the page of a step refuses, and the errors that it then shows.

use serde_json::{Value, json};
use test_support::house::House;
use test_support::{ApiResponse, App, new_id, on_both};

use super::super::{ADA, FORM, StayBrowser, lacks, shows};
use super::{QuestionPage, input};

on_both!(a_refused_form_is_shown_again_with_its_errors);
async fn a_refused_form_is_shown_again_with_its_errors(app: App) {
    let house = House::build(&app).await;
    let survey = QuestionPage::build(&house).await;
    let details = house.step("your_details", json!({})).await;
    let browser = StayBrowser::new(&house);
    let questions = format!("/steps/{}?language=es", survey.step);

    let wrong: [(&str, &str); 4] = [
        (&survey.drives, &survey.crib),
        (&survey.drives, "yes"),
        (&survey.car[..38], &survey.yes),
        ("isAccepted", "true"),
    ];
    for field in wrong {
        let page = browser
            .refused(400, &questions, &[field, (&survey.extras, &survey.chair)])
            .await;
        shows(
            &page,
            &["class=\"summary\" role=\"alert\"", "¿Vienes en coche?"],
        );
        shows(
            &page,
            &[&format!(
                "{} checked>",
                input("checkbox", &survey.extras, &survey.chair)
            )],
        );
    }
    let page = browser
        .refused(400, &questions, &[(&survey.drives, &survey.crib)])
        .await;
    shows(
        &page,
        &[
            &format!("<a href=\"#o-{}\">", survey.yes),
            "aria-invalid=\"true\"",
        ],
    );
    let both: [(&str, &str); 2] = [(&survey.drives, &survey.yes), (&survey.drives, &survey.no)];
    browser.refused(400, &questions, &both).await;
    browser
        .refused(
            400,
            &questions,
            &[(&format!("q.{}", new_id()), &survey.yes)],
        )
        .await;
    browser
        .refused(400, &questions, &[(&survey.car, "\0")])
        .await;

    let blank = [
        ("firstName", ""),
        ("lastName", " "),
        ("email", "grace@example.com"),
        ("phone", ""),
    ];
    let page = browser
        .refused(400, &format!("/steps/{details}?language=es"), &blank)
        .await;
    shows(
        &page,
        &[
            "<a href=\"#firstName\">",
            "id=\"firstName-error\"",
            "Escribe un nombre o unos apellidos.",
            "value=\"grace@example.com\"",
        ],
    );
    assert_eq!(page.matches("aria-invalid=\"true\"").count(), 1);
    let page = browser.refused(409, "/submit?language=es", &[]).await;
    shows(
        &page,
        &[
            "Todavía hay pasos sin hacer.",
            " disabled aria-describedby=\"submit-hint\"",
        ],
    );
    browser
        .refused(400, "/submit?language=es", &[("force", "true")])
        .await;
    let page = browser
        .refused(404, &format!("/steps/{}?language=es", new_id()), &[])
        .await;
    shows(&page, &["lang=\"es\""]);
    browser.refused(409, "/submit?language=!", &[]).await;
    assert_eq!(
        house.status().await,
        "not_started",
        "nothing of all that was saved"
    );

    browser.post(&format!("/steps/{details}"), ADA).await;
    assert_eq!(
        browser
            .post(&questions, &[(&survey.drives, &survey.no)])
            .await
            .status,
        303
    );
    assert_eq!(browser.post("/submit", &[]).await.status, 303);
    let again = browser.post("/submit?language=fr", &[]).await;
    let home = format!("/stay/{}?language=fr", house.token);
    assert_eq!(
        (again.status, again.header("location")),
        (303, Some(home.as_str())),
        "a second tap is none"
    );
    let page = browser
        .refused(409, &format!("/steps/{details}?language=es"), ADA)
        .await;
    shows(&page, &["Tu pre-check-in ya se ha enviado."]);
    house
        .update_portal(house.portal, json!({ "isPrecheckinEnabled": false }))
        .await;
    shows(
        &browser.refused(403, "/submit", &[]).await,
        &["Pre-check-in is not available at the moment."],
    );
    lacks(&browser.open("").await, &["id=\"precheckin\""]);
}

on_both!(every_fault_of_a_form_is_named_at_once);
async fn every_fault_of_a_form_is_named_at_once(app: App) {
    let house = House::build(&app).await;
    let required = json!({ "requiredGuestFields": ["firstName", "email", "phone", "birthDate"] });
    let details = house.step("your_details", required).await;
    let others = house
        .step(
            "other_guests",
            json!({ "requiredGuestFields": ["firstName", "birthDate"] }),
        )
        .await;
    let browser = StayBrowser::new(&house);
    let named = |page: &str, fields: &[&str]| {
        for field in fields {
            shows(
                page,
                &[
                    &format!("<a href=\"#{field}\">"),
                    &format!("id=\"{field}-error\""),
                ],
            );
        }
        assert_eq!(
            page.matches("aria-invalid=\"true\"").count(),
            fields.len(),
            "{page}"
        );
    };
    let sent = [
        ("firstName", " "),
        ("email", "ada at example"),
        ("phone", "call me"),
        ("birthDate", "2999-01-01"),
    ];
    let page = browser
        .refused(400, &format!("/steps/{details}"), &sent)
        .await;
    named(&page, &["firstName", "email", "phone", "birthDate"]);
    shows(&page, &["value=\"ada at example\"", "value=\"call me\""]);
    let sent = [
        ("g.0.firstName", ""),
        ("g.0.birthDate", "1990-02-30"),
        ("g.1.firstName", "Luis"),
        ("g.1.birthDate", "2999-01-01"),
    ];
    let page = browser
        .refused(400, &format!("/steps/{others}"), &sent)
        .await;
    named(&page, &["g-0-firstName", "g-0-birthDate", "g-1-birthDate"]);
    assert_eq!(house.status().await, "not_started");

    // This step requires no field. The page's form still refuses a missing name and an invalid
    // e-mail address.
    let usual = house.step("your_details", json!({})).await;
    let sent = [
        ("firstName", ""),
        ("lastName", ""),
        ("email", "ada"),
        ("phone", ""),
    ];
    named(
        &browser
            .refused(400, &format!("/steps/{usual}"), &sent)
            .await,
        &["firstName", "email"],
    );
    let sent = [
        ("firstName", "Ada"),
        ("lastName", "L"),
        ("email", "ada"),
        ("phone", ""),
    ];
    named(
        &browser
            .refused(400, &format!("/steps/{usual}"), &sent)
            .await,
        &["email"],
    );
    assert_eq!(
        browser.post(&format!("/steps/{usual}"), ADA).await.status,
        303
    );

    let survey = QuestionPage::build(&house).await;
    let sent: [(&str, &str); 1] = [(&survey.extras, &survey.yes)];
    let page = browser
        .refused(400, &format!("/steps/{}", survey.step), &sent)
        .await;
    shows(
        &page,
        &[
            &format!("<a href=\"#o-{}\">", survey.yes),
            &format!("<a href=\"#o-{}\">", survey.crib),
        ],
    );
}

on_both!(bodies_that_are_not_forms_are_refused);
async fn bodies_that_are_not_forms_are_refused(app: App) {
    let house = House::build(&app).await;
    let details = house.step("your_details", json!({})).await;
    let browser = StayBrowser::new(&house);
    let encoded = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(ADA)
        .finish();
    let path = format!("/steps/{details}");
    let body = || browser.body(&path, encoded.clone());
    let answers = json!({
        "answers": { "firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com" },
    });
    for request in [
        browser
            .body(&path, answers.to_string())
            .header("content-type", "application/json"),
        body(),
        body().header("content-type", "application/json"),
        body().header("content-type", "text/plain"),
        body().header("content-type", "multipart/form-data; boundary=x"),
        body()
            .header("content-type", FORM)
            .header("content-type", FORM),
        body()
            .header("content-type", FORM)
            .header("content-encoding", "gzip"),
        browser
            .body(&path, format!("{encoded}{}", "+".repeat(128 << 10)))
            .header("content-type", FORM),
    ] {
        shows(
            &browser.page_of(400, request).await,
            &[
                "This could not be saved.",
                "<h1 dir=\"auto\">Your details</h1>",
            ],
        );
    }
    assert_eq!(house.submission().await["steps"][0]["answers"], Value::Null);
    let padding = "+".repeat((128 << 10) - encoded.len());
    let whole = browser.body(&path, format!("{encoded}{padding}"));
    let whole = whole.header(
        "content-type",
        "Application/X-WWW-Form-Urlencoded; charset=UTF-8",
    );
    assert_eq!(
        ApiResponse::of(whole).await.status,
        303,
        "128 KiB are taken"
    );
    assert_eq!(
        house.submission().await["steps"][0]["answers"]["firstName"],
        "Ada"
    );
}
