//! Tests of rules that require a field of some guests only (rules:
//! pre-check-in#fields-of-some-guests).

use engine::access::Permission;
use serde_json::{Value, json};
use test_support::house::{House, with};
use test_support::{App, on_both, reservation};

use crate::console::{Form, marta, member_with, page, plain};

const FIELDS: [&str; 5] = [
    "firstName",
    "birthDate",
    "nationality",
    "documentNumber",
    "secondLastName",
];

fn rules() -> Value {
    json!({
        "documentNumber": { "minimumAge": 14 },
        "secondLastName": { "nationalities": ["ES"], "minimumAge": 14 },
    })
}

on_both!(a_baby_needs_no_document);
async fn a_baby_needs_no_document(app: App) {
    let house = House::build(&app).await;
    let fields = json!({ "requiredGuestFields": FIELDS, "guestFieldRules": rules() });
    let others = house.step("other_guests", fields.clone()).await;
    let stay = with(reservation(Some(house.flat)), json!({ "adults": 2 }));
    house.org.put_record("reservation", house.stay, stay).await;
    let complete = async |guest: Value| {
        let saved = house
            .answer(others, json!({ "guests": [guest] }))
            .await
            .data();
        (
            saved["isComplete"].clone(),
            saved["guestFieldRules"].clone(),
        )
    };
    let person = |birth: &str, nationality: &str, more: Value| {
        with(
            json!({ "firstName": "Ana", "birthDate": birth, "nationality": nationality }),
            more,
        )
    };
    // The age of a guest is the age on the check-in date, 2026-12-11.
    for (guest, is_complete) in [
        (person("2026-01-02", "ES", json!({})), true),
        (person("2012-12-12", "FR", json!({})), true),
        (person("2012-12-11", "FR", json!({})), false),
        (
            person("1990-01-02", "FR", json!({ "documentNumber": "X1" })),
            true,
        ),
        (
            person("1990-01-02", "ES", json!({ "documentNumber": "X1" })),
            false,
        ),
        (
            person(
                "1990-01-02",
                "es",
                json!({ "documentNumber": "X1", "secondLastName": "Gil" }),
            ),
            true,
        ),
        // `French` is no country code. The service treats the nationality as unknown and requires
        // the field of the rule.
        (
            person("1990-01-02", "French", json!({ "documentNumber": "X1" })),
            false,
        ),
    ] {
        house.answer(others, json!({ "guests": [] })).await.data();
        assert_eq!(
            complete(guest.clone()).await,
            (json!(is_complete), rules()),
            "{guest}"
        );
    }
    house.answer(others, json!({ "guests": [] })).await.data();
    assert_eq!(
        complete(json!({ "firstName": "Ana", "nationality": "FR" }))
            .await
            .0,
        false,
        "the birth date is not known"
    );

    let details = house
        .step(
            "your_details",
            with(
                fields,
                json!({
                    "guestFieldRules": {
                        "documentNumber": { "only": "others" },
                        "secondLastName": { "only": "lead", "maximumAge": 30 },
                    },
                }),
            ),
        )
        .await;
    let view = house.step_view(details, "en").await;
    assert_eq!(
        view["requiredFields"],
        json!(["firstName", "birthDate", "nationality", "secondLastName"])
    );
    let lead = person("1990-01-02", "ES", json!({}));
    assert_eq!(house.answer(details, lead).await.data()["isComplete"], true);
    assert!(
        !house
            .api
            .get(&format!("/precheck-steps/{details}"))
            .await
            .body
            .to_string()
            .contains("guestFieldRules"),
        "write-only"
    );
    assert_eq!(
        house.submission().await["steps"][1]["settings"]["guestFieldRules"],
        rules()
    );
}

on_both!(the_page_shows_which_guests_need_a_field);
async fn the_page_shows_which_guests_need_a_field(app: App) {
    let house = House::build(&app).await;
    let details = house
        .step(
            "your_details",
            json!({ "requiredGuestFields": FIELDS, "guestFieldRules": rules() }),
        )
        .await;
    let address = format!("{}/stay/{}/steps/{details}", app.base, house.token);
    let page = app
        .http
        .get(&address)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    for text in [
        "Second last name",
        "Needed from the age of 14.",
        "Needed for some guests only.",
        "The two letters of the country",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let send = async |typed: &[(&str, &str)]| {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(typed)
            .finish();
        let http = test_support::plain_client()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let request = http
            .post(&address)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let typed = [
        ("firstName", "Ana"),
        ("birthDate", "1990-01-02"),
        ("nationality", "ES"),
        ("documentNumber", ""),
        ("secondLastName", ""),
    ];
    let (status, page) = send(&typed).await;
    assert_eq!(
        (status, page.matches("aria-invalid=\"true\"").count()),
        (400, 2),
        "{page}"
    );
    let typed = [
        typed[0],
        ("birthDate", "2026-01-02"),
        typed[2],
        typed[3],
        typed[4],
    ];
    assert_eq!(send(&typed).await.0, 303);
}

on_both!(a_rule_needs_its_field);
async fn a_rule_needs_its_field(app: App) {
    let house = House::build(&app).await;
    let step = house.step("other_guests", json!({})).await;
    for (data, issues) in [
        (
            json!({ "guestFieldRules": { "phone": {} } }),
            vec!["data.guestFieldRules.phone"],
        ),
        (
            json!({ "requiredGuestFields": ["phone"], "guestFieldRules": { "email": {} } }),
            vec!["data.guestFieldRules.email"],
        ),
        (
            json!({
                "requiredGuestFields": ["phone"],
                "guestFieldRules": { "phone": { "minimumAge": 9, "maximumAge": 3 } },
            }),
            vec!["data.guestFieldRules.phone.minimumAge"],
        ),
        (
            json!({ "guestFieldRules": { "phone": { "minimumAge": -1 } } }),
            vec!["data.guestFieldRules.phone.minimumAge"],
        ),
        (
            json!({ "guestFieldRules": { "phone": { "only": "all" } } }),
            vec!["data.guestFieldRules.phone.only"],
        ),
        (
            json!({ "guestFieldRules": { "phone": { "odd": 1 } } }),
            vec!["data.guestFieldRules.phone.odd"],
        ),
        (
            json!({ "requiredGuestFields": ["id"] }),
            vec!["data.requiredGuestFields"],
        ),
    ] {
        assert_eq!(
            house.update(step, data.clone()).await.issues(),
            issues,
            "{data}"
        );
    }
    house
        .update(
            step,
            json!({
                "requiredGuestFields": ["phone"],
                "guestFieldRules": { "phone": { "only": "others" } },
            }),
        )
        .await
        .data();
    assert_eq!(
        house
            .update(step, json!({ "requiredGuestFields": null }))
            .await
            .issues(),
        ["data.requiredGuestFields"]
    );
    house
        .update(
            step,
            json!({ "requiredGuestFields": null, "guestFieldRules": null }),
        )
        .await
        .data();
}

on_both!(the_greeting_uses_the_available_name);
async fn the_greeting_uses_the_available_name(app: App) {
    let house = House::build(&app).await;
    for (guest, text) in [
        (
            json!({ "firstName": "Ada", "lastName": "L" }),
            "Your stay · Ada<",
        ),
        (
            json!({ "firstName": null, "lastName": "Teresa" }),
            "Your stay · Teresa<",
        ),
        (
            json!({ "firstName": " ", "lastName": "Teresa" }),
            "Your stay · Teresa<",
        ),
        (json!({ "firstName": null, "lastName": null }), "Your stay<"),
    ] {
        let stay = with(reservation(Some(house.flat)), json!({ "guest": guest }));
        house.org.put_record("reservation", house.stay, stay).await;
        let page = app
            .http
            .get(format!("{}/stay/{}", app.base, house.token))
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        assert!(page.contains(text), "{guest}: {page}");
    }
}

on_both!(the_console_edits_the_rules_in_rows);
async fn the_console_edits_the_rules_in_rows(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "other_guests",
            json!({ "requiredGuestFields": ["firstName", "documentNumber"] }),
        )
        .await;
    let browser = crate::console::marta(&house.org).await;
    let path = format!("/console/steps/{step}");
    let html = crate::console::page(&browser, &path).await;
    for text in [
        "Which guests to ask",
        "From this age on",
        "Only these nationalities",
        "The guest who booked",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    let form = crate::console::Form::of(&html, &path);
    let form = form
        .with("guestFieldRules.0.field", "documentNumber")
        .with("guestFieldRules.0.minimumAge", "14");
    form.done(&browser, "saved").await;
    assert_eq!(
        house.submission().await["steps"][0]["settings"]["guestFieldRules"],
        json!({ "documentNumber": { "minimumAge": 14 } })
    );
}

on_both!(the_console_shows_changes_and_removes_stored_rules);
async fn the_console_shows_changes_and_removes_stored_rules(app: App) {
    let house = House::build(&app).await;
    let stored = json!({
        "requiredGuestFields": ["firstName", "documentNumber", "secondLastName", "Car plate"],
        "guestFieldRules": {
            "documentNumber": { "minimumAge": 14 },
            "Car plate": { "maximumAge": 80, "only": "others" },
        },
    });
    let step = house.step("other_guests", stored).await;
    let rules =
        async || house.submission().await["steps"][0]["settings"]["guestFieldRules"].clone();
    let browser = marta(&house.org).await;
    let path = format!("/console/steps/{step}");
    let html = page(&browser, &path).await;
    let read = plain(&html);
    for text in [
        "Document number: guests from the age of 14",
        "Car plate: guests up to the age of 80; only the other guests",
        "Remove: Car plate",
        "<option value=\"Second last name\">",
        "<option value=\"Car plate\">",
    ] {
        assert!(read.contains(text), "{text}: {read}");
    }
    let form = Form::of(&html, &path);
    let field = |number: usize, part: &str| form.value(&format!("guestFieldRules.{number}.{part}"));
    assert_eq!(
        (field(0, "field"), field(0, "maximumAge"), field(0, "only")),
        (Some("Car plate"), Some("80"), Some("others"))
    );
    assert_eq!(
        (field(1, "field"), field(1, "minimumAge"), field(2, "field")),
        (Some("Document number"), Some("14"), Some(""))
    );
    form.clone().done(&browser, "unchanged").await;

    // One form changes a rule, removes a rule, and adds a rule for a field that it also adds.
    let form = form
        .with("requiredGuestFields.others", "Car plate\r\nShoe size")
        .with("guestFieldRules.0.remove", "1")
        .with("guestFieldRules.1.minimumAge", "16")
        .with("guestFieldRules.2.field", "second last name")
        .with("guestFieldRules.2.nationalities", "ES\r\nPT")
        .with("guestFieldRules.3.field", "Shoe size")
        .with("guestFieldRules.3.maximumAge", "12");
    let (_, saved) = form.done(&browser, "saved").await;
    let expected = json!({
        "documentNumber": { "minimumAge": 16 },
        "secondLastName": { "nationalities": ["ES", "PT"] },
        "Shoe size": { "maximumAge": 12 },
    });
    assert_eq!(rules().await, expected);
    assert!(
        saved.contains("Second last name: nationality ES, PT"),
        "{saved}"
    );

    let blank = "guestFieldRules.3";
    for (about, text, place) in [
        (
            "Document number",
            "There is another line for the same detail.",
            "field",
        ),
        ("", "Say which detail this line is about.", "field"),
        ("phone", "has a rule for a field that is not asked", "field"),
        ("firstName", "must be at most 150", "minimumAge"),
    ] {
        let age = if place == "field" { "9" } else { "200" };
        let form = Form::of(&saved, &path)
            .with(&format!("{blank}.field"), about)
            .with(&format!("{blank}.minimumAge"), age);
        let refused = form.refused(&browser, 400).await;
        assert!(plain(&refused).contains(text), "{about}: {refused}");
        assert!(
            refused.contains(&format!("id=\"f-guestFieldRules-3-{place}-error\"")),
            "{about}: {refused}"
        );
        assert_eq!(
            Form::of(&refused, &path).value(&format!("{blank}.minimumAge")),
            Some(age)
        );
    }
    assert_eq!(rules().await, expected);
    // Each rule has a checkbox "remove". If the form is refused, the box that the member ticked
    // is still ticked.
    let form = Form::of(&saved, &path)
        .with("guestFieldRules.0.remove", "1")
        .with("nickname", "");
    let refused = form.refused(&browser, 400).await;
    assert_eq!(
        Form::of(&refused, &path).value("guestFieldRules.0.remove"),
        Some("1")
    );

    // Two members change the rules at the same time. The member who saves last chooses between
    // the two versions.
    let theirs = Form::of(&saved, &path).with("guestFieldRules.1.minimumAge", "18");
    theirs.done(&browser, "saved").await;
    let mine = Form::of(&saved, &path).with("guestFieldRules.1.minimumAge", "17");
    let both = mine.refused(&browser, 409).await;
    assert!(both.contains("name=\"choose.guestFieldRules\""), "{both}");
    assert_eq!(
        Form::of(&both, &path).value("guestFieldRules.1.minimumAge"),
        Some("17")
    );
    let (_, done) = Form::of(&both, &path).done(&browser, "saved").await;
    let mut none = Form::of(&done, &path);
    for number in 0..3 {
        none = none.with(&format!("guestFieldRules.{number}.remove"), "1");
    }
    none.done(&browser, "saved").await;
    assert_eq!(rules().await, Value::Null);

    // A member who may only view steps cannot read the rules. The form says so in place of
    // their values.
    let viewer = member_with(&house.org, &[Permission::ViewProperties], None).await;
    let html = page(&viewer, &path).await;
    assert!(
        html.contains("The present value cannot be shown.") && !html.contains("Shoe size"),
        "{html}"
    );
    let read = format!("/precheck-steps/{step}/guest-fields");
    let fields = house.api.get(&read).await.data();
    assert_eq!(fields["requiredGuestFields"].as_array().unwrap().len(), 5);
    house
        .org
        .key_without(Permission::ModifyProperties)
        .await
        .get(&read)
        .await
        .error(403);
}
