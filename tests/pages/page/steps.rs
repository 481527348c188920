//! Tests of the pages of steps, and of the submission. The tests in `faults` send forms that the
//! page refuses.

mod faults;

use serde_json::{Value, json};
use test_support::house::{House, with};
use test_support::{App, on_both, reservation};
use uuid::Uuid;

use super::{ADA, StayBrowser, action, lacks, shows, text};

/// A step with three questions: yes or no for a car, a choice of car, and free text for the host.
struct QuestionPage {
    step: Uuid,
    /// `drives`, `car` and `extras` are the names of the form fields of the three questions. The
    /// other fields of this struct are the ids of options: `yes` and `no` are the options of
    /// `drives`, `crib` and `chair` those of `extras`.
    drives: String,
    car: String,
    extras: String,
    yes: String,
    no: String,
    crib: String,
    chair: String,
}

impl QuestionPage {
    async fn build(house: &House<'_>) -> Self {
        let of_question = "precheck_question";
        let drives = text(house, of_question, "Will you drive?", "¿Vienes en coche?").await;
        let car = text(house, of_question, "Which car?", "¿Qué coche?").await;
        let extras = text(house, of_question, "Extras?", "¿Qué preparamos?").await;
        let crib = text(house, of_question, "Crib", "Cuna").await;
        let chair = text(house, of_question, "High chair", "Trona").await;
        let asked = json!([
            { "kind": "yes_no", "textMlTextId": drives, "isRequired": true },
            { "kind": "free_form_input", "textMlTextId": car, "isRequired": true,
            "conditions": [{ "questionIndex": 0, "optionIndex": 0 }] },
            {
                "kind": "multi_select",
                "textMlTextId": extras,
                "options": [{ "nameMlTextId": crib }, { "nameMlTextId": chair }],
            },
        ]);
        let step = house
            .step("additional_questions", json!({ "questions": asked }))
            .await;
        let questions = house
            .api
            .get(&format!("/precheck-steps/{step}"))
            .await
            .data()["questions"]
            .clone();
        let field = |number: usize, end: &str| {
            format!("q.{}{end}", questions[number]["id"].as_str().unwrap())
        };
        let option = |number: usize, place: usize| {
            questions[number]["options"][place]["id"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        Self {
            step,
            drives: field(0, ""),
            car: field(1, ".text"),
            extras: field(2, ""),
            yes: option(0, 0),
            no: option(0, 1),
            crib: option(2, 0),
            chair: option(2, 1),
        }
    }
}

/// Returns the beginning of the HTML element of a checkbox or radio button.
fn input(kind: &str, field: &str, option: &str) -> String {
    format!("<input type=\"{kind}\" id=\"o-{option}\" name=\"{field}\" value=\"{option}\"")
}

on_both!(a_guest_completes_the_precheckin_in_spanish);
#[expect(clippy::too_many_lines, reason = "one guest passes every step")]
async fn a_guest_completes_the_precheckin_in_spanish(app: App) {
    let house = House::build(&app).await;
    let survey = QuestionPage::build(&house).await;
    let agreement = house
        .step(
            "agreement",
            json!({ "contractTemplateText": "Sin fiestas.\nSin ruido." }),
        )
        .await;
    let documents = house.step("document_upload", json!({})).await;
    let details = house.step("your_details", json!({})).await;
    let others = house.step("other_guests", json!({})).await;
    let browser = StayBrowser::new(&house);
    let at =
        |step: Uuid, more: &str| format!("/stay/{}/steps/{step}?language=es{more}", house.token);

    let page = browser.open("?language=es").await;
    shows(
        &page,
        &["lang=\"es\"", "Completa tu pre-check-in", "Sin empezar"],
    );
    let titles = [
        "Tus datos",
        "Otros huéspedes",
        "Algunas preguntas",
        "Sube tus documentos",
        "Contrato de alquiler",
    ];
    let places = titles.map(|title| {
        page.find(&format!("<span class=\"t\" dir=\"auto\">{title}</span>"))
            .unwrap()
    });
    assert!(places.is_sorted(), "in guest order");
    shows(
        &page,
        &[&format!(
            "class=\"button first\" href=\"{}\"",
            at(details, "")
        )],
    );
    assert_eq!(
        (page.matches("<form").count(), page.matches(">✓<").count()),
        (0, 0),
        "a step is asked at its own address"
    );

    let page = browser.open(&format!("/steps/{details}?language=es")).await;
    shows(
        &page,
        &[
            "<h1 dir=\"auto\">Tus datos</h1>",
            "value=\"Ada\"",
            "value=\"L\"",
            "Nombre",
            "Correo electrónico",
            "(obligatorio)",
        ],
    );
    shows(
        &page,
        &[
            "autocomplete=\"given-name\"",
            "type=\"email\"",
            "type=\"tel\"",
            "aria-describedby=\"email-hint\"",
        ],
    );
    let (address, page) = browser
        .fill_in(&page, &format!("/steps/{details}"), ADA)
        .await;
    assert_eq!(address, at(others, ""));

    let (address, page) = browser
        .fill_in(
            &page,
            &format!("/steps/{others}"),
            &[("g.0.firstName", " ")],
        )
        .await;
    assert_eq!(address, at(survey.step, ""), "nobody else is an answer");
    shows(
        &page,
        &[
            "¿Vienes en coche?",
            "<span dir=\"auto\">Sí</span>",
            "¿Qué preparamos?",
            "Cuna",
            "Trona",
        ],
    );
    let (yes, crib) = (
        input("radio", &survey.drives, &survey.yes),
        input("checkbox", &survey.extras, &survey.crib),
    );
    let chair = input("checkbox", &survey.extras, &survey.chair);
    shows(
        &page,
        &[
            &format!("{yes} required>"),
            &format!("{crib}>"),
            &format!("{chair}>"),
        ],
    );
    lacks(&page, &["¿Qué coche?", " checked"]);

    let place = format!("/steps/{}", survey.step);
    let some: [(&str, &str); 2] = [
        (&survey.drives, &survey.yes),
        (&survey.extras, &survey.chair),
    ];
    let (address, page) = browser.fill_in(&page, &place, &some).await;
    assert_eq!(address, at(survey.step, ""), "the next question is asked");
    shows(
        &page,
        &["Aún queda algo por completar aquí.", "¿Qué coche?"],
    );
    shows(
        &page,
        &[
            &format!("{yes} checked required>"),
            &format!("{crib}>"),
            &format!("{chair} checked>"),
        ],
    );
    let (address, page) = browser.fill_in(&page, &place, &some).await;
    assert_eq!(
        address,
        at(survey.step, "&lacking=true"),
        "what is lacking is pointed out"
    );
    let id = format!("t-{}", &survey.car[2..38]);
    shows(
        &page,
        &[
            "role=\"alert\" tabindex=\"-1\" autofocus",
            &format!("<a href=\"#{id}\">"),
            &format!("id=\"{id}-error\">"),
        ],
    );
    shows(
        &page,
        &[&format!(
            "aria-describedby=\"{id}-error\" aria-invalid=\"true\""
        )],
    );

    let all: [(&str, &str); 4] = [
        (&survey.drives, &survey.yes),
        (&survey.car, "Rojo\r\n</textarea><script>alert(1)</script>"),
        (&survey.extras, &survey.crib),
        (&survey.extras, &survey.chair),
    ];
    let (address, page) = browser.fill_in(&page, &place, &all).await;
    assert_eq!(address, at(documents, ""));
    let again = browser.open(&format!("{place}?language=es")).await;
    shows(
        &again,
        &["\nRojo\n&#60;/textarea&#62;&#60;script&#62;alert(1)&#60;/script&#62;</textarea>"],
    );

    shows(
        &page,
        &[
            "type=\"file\"",
            "capture=\"environment\"",
            "enctype=\"multipart/form-data\"",
            "Confirmar",
        ],
    );
    let (address, page) = browser
        .fill_in(
            &page,
            &format!("/steps/{documents}?"),
            &[("isConfirmed", "true")],
        )
        .await;
    assert_eq!(address, at(agreement, ""));

    shows(
        &page,
        &[
            "Sin fiestas.\nSin ruido.",
            "He leído y acepto este contrato.",
        ],
    );
    let place = format!("/steps/{agreement}");
    let refused = browser
        .refused(400, &format!("{place}?language=es"), &[])
        .await;
    shows(
        &refused,
        &[
            "<a href=\"#isAccepted\">",
            "id=\"isAccepted-error\"",
            "aria-invalid=\"true\"",
        ],
    );
    let (address, page) = browser
        .fill_in(&page, &place, &[("isAccepted", "true")])
        .await;
    assert_eq!(address, format!("/stay/{}/review?language=es", house.token));

    shows(
        &page,
        &[
            "Lo aceptaste el sábado, 21 de noviembre",
            "Lovelace",
            "Rojo\n&#60;/textarea&#62;",
            "Cuna, Trona",
            &at(survey.step, ""),
        ],
    );
    lacks(&page, &[" disabled"]);
    let (address, page) = browser.fill_in(&page, "/submit", &[]).await;
    assert_eq!(
        address,
        format!("/stay/{}?language=es&handedIn=true", house.token)
    );
    assert!(
        page.contains("class=\"bits\"")
            && !browser
                .open("?language=es")
                .await
                .contains("class=\"bits\""),
        "once"
    );
    shows(&page, &["En revisión", "Has enviado tu pre-check-in."]);
    assert_eq!(
        (page.matches(">✓<").count(), action(&page, "/submit")),
        (5, None)
    );
    let closed = browser.open(&format!("/steps/{details}?language=es")).await;
    shows(
        &closed,
        &["Tu pre-check-in ya se ha enviado.", "ada@example.com"],
    );
    assert_eq!(action(&closed, "/steps/"), None, "read, and no more");

    let submission = house.submission().await;
    let (car, extras) = (&survey.car[2..38], &survey.extras[2..]);
    let answers: Vec<&Value> = submission["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["answers"])
        .collect();
    assert_eq!(
        json!(answers),
        json!([
            { "firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com" },
            { "guests": [] },
            {
                &survey.drives[2..]: { "optionIds": [survey.yes] },
                car: { "text": "Rojo\n</textarea><script>alert(1)</script>" },
                extras: { "optionIds": [survey.crib, survey.chair] },
            },
            { "isConfirmed": true },
            { "isAccepted": true },
        ])
    );
    assert_eq!(submission["status"], "in_review");
}

on_both!(each_state_of_a_step_has_a_text);
/// Each state of a step has an icon and a text. The page suggests a step that the guest can do,
/// not a step that waits for another system.
async fn each_state_of_a_step_has_a_text(app: App) {
    let house = House::build(&app).await;
    let identity = house.step("identity_check", json!({})).await;
    let check = house.step("background_check", json!({})).await;
    let filing = house.step("authority_reporting", json!({})).await;
    let fee = house.step("mandatory_fee", json!({})).await;
    let last = house.step("main", json!({})).await;
    let say = async |step: Uuid, text: Value| {
        let path = house
            .org
            .path(&format!("/reservations/{}/steps/{step}", house.stay));
        app.platform()
            .ok(reqwest::Method::PUT, &path, Some(text))
            .await;
    };
    let browser = StayBrowser::new(&house);
    let page = browser.open(&format!("/steps/{check}")).await;
    shows(
        &page,
        &["I agree to the background check.", "id=\"isAccepted\""],
    );
    let refused = browser.refused(400, &format!("/steps/{check}"), &[]).await;
    shows(&refused, &["Please tick the box to agree."]);
    say(identity, json!({ "status": "failed" })).await;
    say(filing, json!({ "status": "completed" })).await;
    say(fee, json!({ "status": "failed" })).await;
    let (address, page) = browser
        .fill_in(&page, &format!("/steps/{check}"), &[("isAccepted", "true")])
        .await;
    assert_eq!(
        address,
        format!("/stay/{}/steps/{fee}", house.token),
        "what is done is passed over"
    );
    shows(&page, &["This did not work. Please contact your host."]);
    let page = browser.open("").await;
    for (sign, text) in [
        ("!", "Needs you"),
        ("…", "With your host"),
        ("✓", "Done"),
        ("×", "Did not work"),
        ("5", "To do"),
    ] {
        let row = format!(">{sign}</span>");
        let rest = &page[page.find(&row).unwrap_or_else(|| panic!("{sign}: {page}"))..];
        let mark = rest.split_once("<span class=\"m\">").unwrap().1;
        assert!(mark.starts_with(text), "{sign} {text}: {page}");
    }
    shows(
        &page,
        &[&format!(
            "class=\"button first\" href=\"/stay/{}/steps/{identity}\"",
            house.token
        )],
    );
    shows(
        &browser.open(&format!("/steps/{check}")).await,
        &["Your host takes care of the rest."],
    );
    for (language, text) in [
        ("es", "Con tu anfitrión"),
        ("de", "Beim Gastgeber"),
        ("ar", "لدى المضيف"),
    ] {
        shows(
            &browser.open(&format!("?language={language}")).await,
            &[text],
        );
    }

    // The review page lists the incomplete steps. A step that waits for the host does not
    // prevent the submission.
    let page = browser.open("/review").await;
    shows(
        &page,
        &[
            "Still missing:",
            " disabled aria-describedby=\"submit-hint\"",
            "With your host",
        ],
    );
    let missing = page.split_once("id=\"submit-hint\"").unwrap().1;
    for step in [identity, fee, last] {
        shows(
            missing,
            &[&format!("href=\"/stay/{}/steps/{step}\"", house.token)],
        );
    }
    lacks(
        missing,
        &[&format!("/steps/{check}"), &format!("/steps/{filing}")],
    );
    for step in [identity, fee] {
        say(step, json!({ "status": "completed" })).await;
    }
    browser
        .post(&format!("/steps/{last}"), &[("isConfirmed", "true")])
        .await;
    let page = browser.open("/review").await;
    lacks(&page, &["Still missing:", " disabled"]);
    let (_, page) = browser.fill_in(&page, "/submit", &[]).await;
    shows(&page, &["In review", "With your host"]);
}

on_both!(the_form_of_other_guests_has_a_fieldset_for_each_booked_guest);
async fn the_form_of_other_guests_has_a_fieldset_for_each_booked_guest(app: App) {
    let house = House::build(&app).await;
    let people = json!({ "adults": 3, "children": 1 });
    house
        .org
        .put_record(
            "reservation",
            house.stay,
            with(reservation(Some(house.flat)), people),
        )
        .await;
    let step = house
        .step(
            "other_guests",
            json!({ "requiredGuestFields": ["firstName"] }),
        )
        .await;
    let browser = StayBrowser::new(&house);
    let place = format!("/steps/{step}");
    let page = browser.open(&place).await;
    shows(
        &page,
        &["Guests to name besides yourself: 3", "Guest 2", "Guest 4"],
    );
    lacks(&page, &["Guest 5"]);
    shows(
        &browser.open("/review").await,
        &["Guests to name besides yourself: 3"],
    );
    let names = [
        ("g.0.firstName", "Ana"),
        ("g.1.firstName", "Bo"),
        ("g.2.firstName", "Cy"),
    ];
    let (address, page) = browser.fill_in(&page, &place, &names[..2]).await;
    assert_eq!(
        address,
        format!("/stay/{}{place}?lacking=true", house.token)
    );
    shows(
        &page,
        &[
            "Please name everyone who is travelling with you.",
            "Guest 4",
            "value=\"Bo\"",
        ],
    );
    let (address, page) = browser.fill_in(&page, &place, &names).await;
    assert_eq!(address, format!("/stay/{}/review", house.token));
    lacks(&page, &["Still missing:"]);
}

on_both!(an_agreement_has_the_title_and_signature_field_of_its_provider);
async fn an_agreement_has_the_title_and_signature_field_of_its_provider(app: App) {
    let house = House::build(&app).await;
    let title = text(&house, "precheck_step_detail", "Sign it", "Fírmalo").await;
    let below = text(&house, "precheck_step_detail", "With us", "Con nosotros").await;
    let headed = house
        .step(
            "agreement",
            json!({
                "agreementType": "esign_a",
                "isMandatorySigning": true,
                "esignATitleMlTextId": title,
                "esignASubtitleMlTextId": below,
            }),
        )
        .await;
    let elsewhere = json!({ "contractTemplateText": null, "esignBTemplateId": "b-1" });
    let seen = house.step("agreement", elsewhere).await;
    let elsewhere = json!({
        "contractTemplateText": null,
        "esignBTemplateId": "b-1",
        "isMandatorySigning": true,
    });
    let signed = house.step("agreement", elsewhere).await;
    let browser = StayBrowser::new(&house);
    let page = browser.open(&format!("/steps/{headed}?language=es")).await;
    shows(
        &page,
        &[
            "<h2 dir=\"auto\">Fírmalo</h2>",
            "Con nosotros",
            "No parties.",
            "id=\"signedName\"",
        ],
    );
    let page = browser.open(&format!("/steps/{seen}")).await;
    shows(
        &page,
        &[
            "You sign this agreement with a signing service.",
            "id=\"isAccepted\"",
        ],
    );
    lacks(&page, &["id=\"signedName\""]);
    let page = browser.open(&format!("/steps/{signed}")).await;
    shows(&page, &["You sign this agreement with a signing service."]);
    lacks(&page, &["<form method=\"post\" action=\"/stay"]);
}

on_both!(guests_are_added_and_removed_without_a_script);
async fn guests_are_added_and_removed_without_a_script(app: App) {
    let house = House::build(&app).await;
    let others = house.step("other_guests", json!({})).await;
    let last = house.step("main", json!({})).await;
    let browser = StayBrowser::new(&house);
    let (place, here) = (
        format!("/steps/{others}"),
        format!("/stay/{}/steps/{others}", house.token),
    );
    let page = browser.open(&place).await;
    shows(
        &page,
        &[
            "Guest 2",
            "Add another guest",
            "name=\"g.0.firstName\"",
            "formnovalidate",
        ],
    );
    lacks(&page, &["Guest 3"]);
    let ana = [("g.0.firstName", "Ana"), ("g.0.lastName", "Gil")];
    let (address, page) = browser
        .fill_in(&page, &place, &[ana[0], ana[1], ("add", "1")])
        .await;
    assert_eq!(address, format!("{here}?guests=2"));
    shows(&page, &["Guest 3", "value=\"Ana\"", "value=\"Gil\""]);
    let luis = [ana[0], ana[1], ("g.1.firstName", "Luis")];
    let (address, _) = browser.fill_in(&page, &place, &luis).await;
    assert_eq!(address, format!("/stay/{}/steps/{last}", house.token));
    let page = browser.open(&place).await;
    shows(&page, &["value=\"Ana\"", "value=\"Luis\""]);
    let (_, page) = browser
        .fill_in(&page, &place, &[luis[0], luis[1], luis[2], ("remove", "0")])
        .await;
    shows(&page, &["value=\"Luis\""]);
    lacks(&page, &["value=\"Ana\"", "Guest 3"]);
    assert_eq!(
        house.submission().await["steps"][0]["answers"]["guests"][0]["firstName"],
        "Luis"
    );
    // The page ignores the parameter `guests` if the number is above the limit.
    assert_eq!(
        browser
            .open(&format!("{place}?guests=51"))
            .await
            .matches("<fieldset")
            .count(),
        1
    );
    let long = "x".repeat(501);
    let page = browser
        .refused(
            400,
            &place,
            &[("g.0.firstName", &long), ("g.0.lastName", "Gil")],
        )
        .await;
    shows(
        &page,
        &[
            "<a href=\"#g-0-firstName\">",
            "id=\"g-0-firstName-error\"",
            "value=\"Gil\"",
        ],
    );
    browser
        .refused(400, &place, &[("g.50.firstName", "x")])
        .await;
    browser.refused(400, &place, &[("guests", "Ana")]).await;
}

on_both!(saved_answers_are_shown_again);
async fn saved_answers_are_shown_again(app: App) {
    let house = House::build(&app).await;
    let survey = QuestionPage::build(&house).await;
    let browser = StayBrowser::new(&house);
    let place = format!("/steps/{}", survey.step);
    let all: [(&str, &str); 3] = [
        (&survey.drives, &survey.yes),
        (&survey.car, "Red"),
        (&survey.extras, &survey.crib),
    ];
    browser.post(&place, &all[..1]).await;
    assert_eq!(browser.post(&place, &all).await.status, 303);
    let page = browser.open(&place).await;
    shows(
        &page,
        &[
            "\nRed</textarea>",
            &format!(
                "{} checked>",
                input("checkbox", &survey.extras, &survey.crib)
            ),
        ],
    );
    lacks(&page, &["class=\"summary\""]);
}

on_both!(written_texts_are_escaped);
async fn written_texts_are_escaped(app: App) {
    let house = House::build(&app).await;
    let evil = "\"><script>alert('x')</script>";
    let escaped = "&#34;&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;";
    let description = text(&house, "precheck_step_detail", evil, evil).await;
    let agreement = house
        .step(
            "agreement",
            json!({
                "displayTitle": evil,
                "guestDescriptionMlTextId": description,
                "contractTemplateText": format!("<b>Uno</b>\n  dos\n{evil}"),
            }),
        )
        .await;
    let asked = text(&house, "precheck_question", evil, evil).await;
    let questions = house
        .step(
            "additional_questions",
            json!({ "questions": [
        { "kind": "free_form_input", "textMlTextId": asked },
        { "kind": "single_select", "textMlTextId": asked, "options": [{ "nameMlTextId": asked }] },
    ] }),
        )
        .await;
    let details = house.step("your_details", json!({})).await;
    let browser = StayBrowser::new(&house);
    let page = browser
        .open("?language=es&step=%22%3E%3Cscript%3E&note=%3Cscript%3E")
        .await;
    shows(&page, &[escaped]);
    let page = browser
        .open(&format!(
            "/steps/{agreement}?language=es&lacking=%22%3E%3Cscript%3E"
        ))
        .await;
    assert_eq!(
        page.matches(escaped).count(),
        5,
        "page's title, heading, label, description and text: {page}"
    );
    shows(&page, &["&#60;b&#62;Uno&#60;/b&#62;\n  dos\n"]);
    let page = browser
        .open(&format!("/steps/{questions}?language=es"))
        .await;
    assert_eq!(page.matches(escaped).count(), 3, "{page}");
    shows(&page, &["Sin respuesta", "value=\"\" checked>"]);

    let page = browser
        .refused(
            400,
            &format!("/steps/{details}"),
            &[("firstName", evil), (evil, evil)],
        )
        .await;
    shows(&page, &[&format!("value=\"{escaped}\"")]);
    let refused = browser
        .refused(400, "/messages", &[("text", evil), ("to", "x")])
        .await;
    shows(&refused, &[&format!("{escaped}</textarea>")]);
    // The page ignores an invalid language and does not repeat it.
    let page = browser
        .open(&format!("/steps/{details}?language=%22%3E%3Cscript%3E"))
        .await;
    shows(
        &page,
        &[
            "lang=\"en\"",
            &format!("action=\"/stay/{}/steps/{details}\"", house.token),
        ],
    );
}

on_both!(a_step_asks_for_each_required_field);
async fn a_step_asks_for_each_required_field(app: App) {
    let house = House::build(&app).await;
    let fields = json!({
        "requiredGuestFields": ["firstName", "birthDate", "documentType", "<b>Plate</b>"],
    });
    let details = house.step("your_details", fields).await;
    let browser = StayBrowser::new(&house);
    let page = browser.open(&format!("/steps/{details}?language=de")).await;
    shows(
        &page,
        &[
            "lang=\"de\"",
            "type=\"date\" value=\"\" autocomplete=\"bday\"",
            "<select id=\"documentType\"",
            "&#60;b&#62;Plate",
        ],
    );
    assert!(
        page.contains("maxlength=") && !page.contains("autocomplete=\"bday\" maxlength"),
        "no maxlength on a date"
    );
    lacks(&page, &["name=\"email\""]);
    let sent = [
        ("firstName", "Ada"),
        ("birthDate", "1915-12-10"),
        ("documentType", "passport"),
        ("<b>Plate</b>", "B 1"),
    ];
    let page = browser
        .refused(400, &format!("/steps/{details}?language=de"), &sent[..3])
        .await;
    shows(
        &page,
        &[
            "aria-invalid=\"true\"",
            "value=\"1915-12-10\"",
            "<option value=\"passport\" selected>",
        ],
    );
    assert_eq!(
        browser
            .post(&format!("/steps/{details}"), &sent)
            .await
            .status,
        303
    );
    let page = browser.open("/review?language=de").await;
    shows(
        &page,
        &[
            "10. Dezember 1915",
            "Reisepass",
            "&#60;b&#62;Plate&#60;/b&#62;",
            "B 1",
        ],
    );
}

/// A portal without steps shows no form, and a portal without messages shows no message box.
#[tokio::test(flavor = "multi_thread")]
async fn disabled_features_and_empty_steps_show_no_form() {
    let app = App::on_sqlite(&[]).await;
    let house = House::build(&app).await;
    house
        .update_portal(house.portal, json!({ "isChatEnabled": false }))
        .await;
    let browser = StayBrowser::new(&house);
    let page = browser.open("").await;
    lacks(
        &page,
        &[
            "Please complete your pre-check-in",
            "<form",
            "Not started",
            "/messages",
        ],
    );
    shows(
        &browser.open("/messages").await,
        &["Your host does not accept messages here."],
    );
    let step = house.step("main", json!({})).await;
    let page = browser.open("").await;
    shows(&page, &["Not started", &format!("/steps/{step}")]);
    shows(
        &browser.open(&format!("/steps/{step}")).await,
        &[
            "Confirm that everything is ready for your arrival.",
            ">Confirm</button>",
        ],
    );
}
