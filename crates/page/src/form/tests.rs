use features::precheck::StepType;
use proptest::prelude::*;
use strum::VariantArray as _;

use super::*;

const CHECK_IN: Date = Date::constant(2026, 12, 11);

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn fields(pairs: &[(&str, &str)]) -> FormFields {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Builds a step of this type. `more` has fields to add to the step.
fn step(step_type: StepType, more: Value) -> StepView {
    let mut step = json!({
        "id": id(1),
        "stepType": step_type,
        "title": "Step",
        "state": "todo",
        "isComplete": false,
        "isOpen": true,
    });
    step.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    serde_json::from_value(step).unwrap()
}

/// Returns the parsed answers. If the form has faults, returns the name of each field with a fault,
/// and the kind of the fault.
fn answered(step: &StepView, pairs: &[(&str, &str)]) -> Result<Value, Vec<(String, FaultKind)>> {
    let answered =
        parse_step(step, CHECK_IN, &fields(pairs)).map(|filled| Value::Object(filled.answers));
    answered.map_err(|faults| {
        faults
            .0
            .into_iter()
            .map(|fault| (fault.field, fault.kind))
            .collect()
    })
}

fn lacks(expected: &[(&str, FaultKind)]) -> Result<Value, Vec<(String, FaultKind)>> {
    Err(expected
        .iter()
        .map(|(field, kind)| ((*field).to_owned(), *kind))
        .collect())
}

#[test]
fn an_agreement_must_be_accepted_and_signed_if_required() {
    let plain = step(StepType::Agreement, json!({}));
    assert_eq!(
        answered(&plain, &[]),
        lacks(&[("isAccepted", FaultKind::Acceptance)])
    );
    assert_eq!(
        answered(&plain, &[("isAccepted", "true")]),
        Ok(json!({ "isAccepted": true }))
    );
    for pairs in [vec![("isAccepted", "on")], vec![("isAccepted", "true"); 2]] {
        assert_eq!(
            answered(&plain, &pairs),
            lacks(&[("isAccepted", FaultKind::Invalid)])
        );
    }
    let signed = step(StepType::Agreement, json!({ "isSignatureRequired": true }));
    assert_eq!(
        answered(&signed, &[("isAccepted", "true"), ("signedName", " ")]),
        lacks(&[("signedName", FaultKind::Signature)])
    );
    let pairs = [("isAccepted", "true"), ("signedName", " Ada L ")];
    assert_eq!(
        answered(&signed, &pairs),
        Ok(json!({ "isAccepted": true, "signedName": "Ada L" }))
    );
}

#[test]
fn details_are_trimmed_and_required_fields_must_be_present() {
    let usual = step(StepType::YourDetails, json!({}));
    let pairs = [
        ("firstName", " Ada "),
        ("lastName", "Lovelace"),
        ("email", "ada@example.com"),
        ("phone", " "),
    ];
    assert_eq!(
        answered(&usual, &pairs),
        Ok(json!({ "firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com" }))
    );
    let saved = step(
        StepType::YourDetails,
        json!({ "answers": { "phone": "1" } }),
    );
    assert_eq!(
        answered(&saved, &pairs).unwrap().get("phone"),
        None,
        "the form did not show the number, so it stays"
    );
    let emptied = [&pairs[..], &[("phone.was", "1"), ("firstName.was", "Ada")]].concat();
    let changes = json!({
        "firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com", "phone": null,
    });
    assert_eq!(
        answered(&saved, &emptied),
        Ok(changes),
        "what is emptied is taken away"
    );
    let missing = answered(
        &usual,
        &[("lastName", " "), ("shoeSize", "38"), ("phone", "1")],
    );
    let expected = [
        ("shoeSize", FaultKind::UnknownField),
        ("firstName", FaultKind::Name),
        ("email", FaultKind::Value),
    ];
    assert_eq!(missing, lacks(&expected));
    let one_name = [("lastName", "Teresa"), ("email", "t@example.com")];
    assert!(answered(&usual, &one_name).is_ok(), "one name is enough");
    let own = step(
        StepType::YourDetails,
        json!({ "requiredFields": ["birthDate", "Car plate"] }),
    );
    assert_eq!(
        answered(&own, &[("birthDate", "1990-01-02")]),
        lacks(&[("Car plate", FaultKind::Value)])
    );
    let pairs = [("Car plate", "B 1"), ("birthDate", "1990-01-02")];
    assert_eq!(
        answered(&own, &pairs),
        Ok(json!({ "birthDate": "1990-01-02", "Car plate": "B 1" }))
    );
}

#[test]
fn guest_fields_become_a_list_without_empty_guests() {
    let others = step(
        StepType::OtherGuests,
        json!({
            "requiredFields": ["firstName", "email"],
            "answers": { "guests": [{ "firstName": "Ana", "email": "a@b.co" }] },
        }),
    );
    assert_eq!(answered(&others, &[]), Ok(json!({ "guests": [] })));
    let pairs = [
        ("g.0.firstName", " "),
        ("g.0.email", ""),
        ("g.1.firstName", "Luis"),
        ("g.1.email", "l@b.co"),
    ];
    assert_eq!(
        answered(&others, &pairs),
        Ok(json!({ "guests": [{ "firstName": "Luis", "email": "l@b.co" }] }))
    );
    let half = [("g.0.firstName", "Ana"), ("g.0.email", "")];
    assert_eq!(
        answered(&others, &half),
        lacks(&[("g.0.email", FaultKind::Value)])
    );
    let adding = parse_step(
        &others,
        CHECK_IN,
        &fields(&[half[0], half[1], ("add", "1")]),
    )
    .unwrap();
    assert_eq!(
        Value::Object(adding.answers),
        json!({ "guests": [{ "firstName": "Ana" }] })
    );
    assert_eq!(adding.guests, Some(2));
    let removing = parse_step(
        &others,
        CHECK_IN,
        &fields(&[
            ("g.0.firstName", "Ana"),
            ("g.1.firstName", "Luis"),
            ("remove", "0"),
        ]),
    )
    .unwrap();
    assert_eq!(
        removing,
        FilledForm {
            answers: serde_json::from_value(json!({ "guests": [{ "firstName": "Luis" }] }))
                .unwrap(),
            guests: Some(1),
            positions: vec![1],
            shown_text: None,
        }
    );
    for name in [
        "guests",
        "g.0.shoe",
        "g.50.firstName",
        "g.-1.firstName",
        "g.00.firstName",
        "g.0",
    ] {
        assert_eq!(
            answered(&others, &[(name, "x")]),
            lacks(&[(name, FaultKind::UnknownField)]),
            "{name}"
        );
    }
}

#[test]
fn a_form_of_guests_sends_only_changed_values() {
    let saved = json!([
        { "id": "a", "firstName": "Ana", "email": "a@b.co" },
        { "id": "b", "firstName": "Bo", "email": "b@b.co" },
    ]);
    let others = step(
        StepType::OtherGuests,
        json!({ "requiredFields": ["firstName", "email"], "answers": { "guests": saved } }),
    );
    let shown = [
        ("g.0.firstName", "Ana"),
        ("g.0.firstName.was", "Ana"),
        ("g.0.email", "a@b.co"),
        ("g.0.email.was", "a@b.co"),
        ("id.0", "a"),
    ];
    let with = |more: &[(&str, &str)]| answered(&others, &[&shown[..], more].concat());
    assert_eq!(
        with(&[]),
        Ok(json!({ "guests": [] })),
        "Bo, whom the form did not show, stays"
    );
    let added = [("g.1.firstName", "Cy"), ("g.1.email", "c@b.co")];
    assert_eq!(
        with(&added),
        Ok(json!({ "guests": [{ "firstName": "Cy", "email": "c@b.co" }] }))
    );
    let removed = [("remove", "0")];
    assert_eq!(
        with(&removed),
        Ok(json!({ "guests": [{ "id": "a", "isRemoved": true }] }))
    );
    let emptied = [
        ("g.0.firstName", ""),
        ("g.0.firstName.was", "Ana"),
        ("g.0.email", ""),
        ("g.0.email.was", "a@b.co"),
        ("id.0", "a"),
    ];
    assert_eq!(
        answered(&others, &emptied),
        Ok(json!({ "guests": [{ "id": "a", "isRemoved": true }] }))
    );
    let renamed = [
        ("g.0.firstName", "Anna"),
        ("g.0.firstName.was", "Ana"),
        ("g.0.email", ""),
        ("g.0.email.was", ""),
        ("id.0", "a"),
    ];
    assert_eq!(
        answered(&others, &renamed),
        Ok(json!({ "guests": [{ "id": "a", "firstName": "Anna" }] })),
        "the address that the form did not show stays"
    );
    let gone = [
        ("g.0.firstName", "Di"),
        ("g.0.firstName.was", "Dina"),
        ("g.0.email", "d@b.co"),
        ("g.0.email.was", "d@b.co"),
        ("id.0", "d"),
    ];
    assert_eq!(
        answered(&others, &gone),
        Ok(json!({ "guests": [{ "firstName": "Di", "email": "d@b.co" }] })),
        "somebody else removed Dina"
    );
}

#[test]
fn a_baby_needs_no_document() {
    let others = step(
        StepType::OtherGuests,
        json!({
            "requiredFields": ["firstName", "birthDate", "documentNumber"],
            "guestFieldRules": { "documentNumber": { "minimumAge": 14 } },
        }),
    );
    let guest = |birth: &'static str| {
        [
            ("g.0.firstName", "Ana"),
            ("g.0.birthDate", birth),
            ("g.0.documentNumber", ""),
        ]
    };
    assert!(answered(&others, &guest("2026-01-02")).is_ok());
    assert_eq!(
        answered(&others, &guest("1990-01-02")),
        lacks(&[("g.0.documentNumber", FaultKind::Value)])
    );
}

#[test]
fn a_deposit_form_sends_the_deposit_or_a_waiver() {
    let deposit = step(StepType::DamageDeposit, json!({}));
    assert_eq!(
        answered(&deposit, &[]),
        lacks(&[("choice", FaultKind::Choice)])
    );
    assert_eq!(
        answered(&deposit, &[("choice", "none")]),
        Ok(json!({ "choice": "none" }))
    );
    assert_eq!(
        answered(&deposit, &[("choice", "deposit")]),
        Ok(json!({ "choice": "deposit" }))
    );
    let waiver = id(7).to_string();
    assert_eq!(
        answered(&deposit, &[("choice", &waiver)]),
        Ok(json!({ "choice": "waiver", "damageWaiverId": waiver }))
    );
}

#[test]
fn steps_of_other_systems_are_confirmed() {
    let upload = step(StepType::DocumentUpload, json!({}));
    assert_eq!(
        answered(&upload, &[("isConfirmed", "true")]),
        Ok(json!({ "isConfirmed": true }))
    );
    assert_eq!(
        answered(&upload, &[]),
        lacks(&[("isConfirmed", FaultKind::Value)])
    );
    assert_eq!(
        answered(
            &step(StepType::Main, json!({})),
            &[("isConfirmed", "false")]
        ),
        lacks(&[("isConfirmed", FaultKind::Invalid)])
    );
}

#[test]
fn question_fields_become_options_or_texts() {
    let (choice, text) = (choice_field(id(1)), text_field(id(2)));
    let (one, other) = (id(10).to_string(), id(11).to_string());
    let questions = step(StepType::AdditionalQuestions, json!({}));
    let ask = |pairs: &[(&str, &str)]| answered(&questions, pairs);
    assert_eq!(ask(&[]), Ok(json!({})));
    let both = json!({
        id(1).to_string(): { "optionIds": [one, other] },
        id(2).to_string(): { "text": "at noon" },
    });
    assert_eq!(
        ask(&[(&choice, &one), (&text, "at noon"), (&choice, &other)]),
        Ok(both)
    );
    assert_eq!(
        ask(&[(&choice, "")]),
        Ok(json!({})),
        "none was chosen before"
    );
    let cleared =
        json!({ id(1).to_string(): { "optionIds": [] }, id(2).to_string(): { "text": "" } });
    assert_eq!(
        ask(&[
            (&choice, ""),
            (&shown_value_field(&choice), &one),
            (&text, ""),
            (&shown_value_field(&text), "at noon")
        ]),
        Ok(cleared),
        "none of them"
    );
    assert_eq!(
        ask(&[
            (&choice, &one),
            (&choice, &other),
            (&shown_value_field(&choice), &other),
            (&shown_value_field(&choice), &one)
        ]),
        Ok(json!({})),
        "the same options in another order"
    );
    assert_eq!(
        ask(&[(&text, "a"), (&text, "b")]),
        lacks(&[(&text, FaultKind::Invalid)])
    );
    for name in [
        "isAccepted",
        "q.",
        "q.1",
        "q.1.text",
        "q..text",
        &choice[2..],
        &format!("{choice}.name"),
        &format!("{text}.text"),
    ] {
        assert_eq!(
            ask(&[(name, "x"), (&choice, &one)]),
            lacks(&[(name, FaultKind::UnknownField)]),
            "{name}"
        );
    }
}

#[test]
fn a_message_form_reads_text_and_key() {
    assert_eq!(
        message(&fields(&[("text", "Hola\n")])),
        Ok(serde_json::from_value(json!({ "text": "Hola" })).unwrap())
    );
    let keyed = message(&fields(&[("text", "It drips."), ("key", "k")])).unwrap();
    assert_eq!(
        Value::Object(keyed),
        json!({ "text": "It drips.", "key": "k" })
    );
    let faults = message(&fields(&[("text", " "), ("to", "x")])).unwrap_err();
    assert_eq!(
        faults
            .0
            .iter()
            .map(|fault| fault.field.as_str())
            .collect::<Vec<_>>(),
        ["to", "text"]
    );
    assert!(parse_empty(&[]).is_ok() && parse_empty(&fields(&[("force", "true")])).is_err());
}

proptest! {
    /// The form of each type of step refuses a submission with a field that the form does not have.
    #[test]
    fn unknown_form_fields_are_refused(
        step_type in prop::sample::select(StepType::VARIANTS),
        name in "[a-zA-Z.]{0,12}",
        value in ".{0,8}",
    ) {
        let known = [
            "isAccepted",
            "signedName",
            "shownText",
            "firstName",
            "lastName",
            "email",
            "phone",
            "add",
            "remove",
            "choice",
            "isConfirmed",
        ];
        prop_assume!(!known.contains(&name.as_str()));
        let refused = answered(
            &step(step_type, json!({})),
            &[(name.as_str(), value.as_str())],
        )
        .unwrap_err();
        prop_assert!(refused.contains(&(name, FaultKind::UnknownField)));
    }
}
