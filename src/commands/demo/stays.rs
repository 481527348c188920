//! The stays of `vestibule demo` in which something has already happened.
//!
//! Guests have submitted pre-check-ins, have to repeat an identity check or to sign a contract, owe
//! charges, or have extras in a cart. One stay was extended after its pre-check-in was approved.
//! One guest accepted an agreement whose text has changed since then. The demo sends the requests
//! that guests, staff and the platform would send.

use jiff::ToSpan as _;
use jiff::civil::Date;
use serde_json::{Value, json};

use super::LocalCaller;
use super::precheckin::{BREAKFAST, record_id_by_name};

/// Index of the reservation whose pre-check-in waits for review.
const IN_REVIEW: usize = 6;
/// Index of the reservation whose pre-check-in the team sent back to the guest.
const SENT_BACK: usize = 4;

/// Index of the reservation whose page shows the survey about the arrival.
const WITH_SURVEY: usize = 2;
/// Index of the reservation with an extra in the cart.
const WITH_CART: usize = 3;
/// Index of the reservation whose portal has a domain of its own.
pub(super) const WITH_DOMAIN: usize = 7;
/// Index of the reservation with charges that are due.
pub(super) const WITH_CHARGES: usize = 9;
/// Index of the reservation whose guest has to repeat the photo of a document.
const RETAKE: usize = 12;
/// Index of the reservation whose guest has to sign a contract at an e-signature service.
pub(super) const WITH_CONTRACT: usize = 18;

/// The reservations that the banner lists: a description of the feature that the stay shows, and
/// the index of the reservation.
pub(super) const EXAMPLES: [(&str, usize); 8] = [
    ("a photo to repeat", RETAKE),
    ("charges that are due", WITH_CHARGES),
    ("a survey to answer", WITH_SURVEY),
    ("a contract to sign", WITH_CONTRACT),
    ("an extra in the cart", WITH_CART),
    ("a domain of its own", WITH_DOMAIN),
    ("a new step to do", EXTENDED),
    ("a changed agreement", OUTDATED),
];

/// Index of the reservation that the demo extends after the service has approved its pre-check-in.
/// The service approves it without staff: the stay has a step with manual review, but that step
/// asks for a review only if the guest chooses a flagged answer.
const EXTENDED: usize = 10;
/// Number of nights of the extended reservation. A stay of this length gets a step that shorter
/// stays do not get.
const EXTENDED_NIGHTS: i64 = 33;
/// Index of the reservation whose guest accepted the English text of an agreement before that text
/// changed.
const OUTDATED: usize = 11;
/// The new text of the agreement, which replaces the text that the guest of `OUTDATED` accepted.
const CHANGED_RULES: &str = "1. Nobody but the guests of this pre-check-in stays overnight, and \
    there are no parties.\n2. Quiet from 22:00 to 8:00, on the stairs and the terrace too.\n3. No \
    smoking, neither indoors nor on the terrace.\n4. Check-out is at 11:00; leave the keys in the \
    box by the door.\n5. Tell us what broke. Damage beyond wear is paid from the deposit.";

/// The message to the guest whose pre-check-in the team sent back.
const REQUEST: &str =
    "We could not reach you on this number. Please check it, country code included.";

/// Sends the requests of guests, of the team and of the platform that make the example stays.
pub(super) async fn build(
    platform: &LocalCaller<'_>,
    api: &LocalCaller<'_>,
    organization_path: &[(&str, &str)],
    reservations: &[Value],
    records: &[Value],
) -> Result<(), String> {
    submit(
        platform,
        organization_path,
        reservation(reservations, IN_REVIEW)?,
    )
    .await?;
    let charged = reservation(reservations, WITH_CHARGES)?;
    submit(platform, organization_path, charged).await?;
    let id = charged["id"].as_str().unwrap_or_default();
    api.call("approvePrecheckin", &[("id", id)], json!({}))
        .await?;
    let retake = json!({
        "status": "failed",
        "checks": ["document_unreadable"],
        "message": "The photo is blurred. Please take it again.",
    });
    report(
        platform,
        organization_path,
        reservation(reservations, RETAKE)?,
        "identity_check",
        retake,
    )
    .await?;
    let to_sign = json!({
        "status": "action_required",
        "actionUrl": "https://sign.barcelona-flats.example/rental-contract",
        "message": "Your contract is ready to be signed.",
    });
    report(
        platform,
        organization_path,
        reservation(reservations, WITH_CONTRACT)?,
        "agreement",
        to_sign,
    )
    .await?;
    let (_, token) = open_stay(
        platform,
        organization_path,
        reservation(reservations, WITH_CART)?,
    )
    .await?;
    let cart =
        json!({ "items": [{ "upsellId": record_id_by_name(records, BREAKFAST), "quantity": 1 }] });
    guest(platform)
        .call("saveCart", &[("token", &token)], cart)
        .await?;
    let sent_back = reservation(reservations, SENT_BACK)?;
    let steps = submit(platform, organization_path, sent_back).await?;
    let details = steps
        .iter()
        .find(|step| step["stepType"] == "your_details")
        .map(|step| &step["id"]);
    let id = sent_back["id"].as_str().unwrap_or_default();
    let request = json!({ "message": REQUEST, "stepIds": details.into_iter().collect::<Vec<_>>() });
    api.call("requestPrecheckinChanges", &[("id", id)], request)
        .await?;
    extend(
        platform,
        organization_path,
        reservation(reservations, EXTENDED)?,
    )
    .await?;
    outdate(
        platform,
        api,
        organization_path,
        reservation(reservations, OUTDATED)?,
    )
    .await
}

/// Submits the pre-check-in of a reservation, and extends the stay afterwards. The service approves
/// the submission at once, because no answer is flagged.
async fn extend(
    platform: &LocalCaller<'_>,
    organization_path: &[(&str, &str)],
    reservation: &Value,
) -> Result<(), String> {
    submit(platform, organization_path, reservation).await?;
    let check_in = reservation["data"]["checkIn"].as_str().unwrap_or_default();
    let check_in: Date = check_in
        .parse()
        .map_err(|error: jiff::Error| error.to_string())?;
    let mut extended = reservation.clone();
    extended["data"]["checkOut"] = json!(check_in.saturating_add(EXTENDED_NIGHTS.days()));
    platform
        .call("sync", organization_path, json!({ "records": [extended] }))
        .await
        .map(drop)
}

/// Fills in the pre-check-in of a reservation without submitting it. Afterwards, changes the text
/// of the agreement that the guest accepted.
async fn outdate(
    platform: &LocalCaller<'_>,
    api: &LocalCaller<'_>,
    organization_path: &[(&str, &str)],
    reservation: &Value,
) -> Result<(), String> {
    let (steps, _) = fill_in(platform, organization_path, reservation).await?;
    let agreement = steps.iter().find(|step| step["stepType"] == "agreement");
    let agreement = agreement.and_then(|step| step["id"].as_str());
    let query = [
        ("sourceTable", "precheck_step_detail"),
        ("thingId", agreement.unwrap_or_default()),
    ];
    let texts = api.query("listShownTexts", &query).await?;
    let text = texts.as_array().into_iter().flatten();
    let text = text
        .filter(|text| text["field"] == "contractTemplateTextMlTextId")
        .find_map(|text| text["id"].as_str())
        .ok_or("the demo has no agreement with a text")?;
    let path = [("id", text), ("language", "en")];
    api.call(
        "setTranslationEntry",
        &path,
        json!({ "text": CHANGED_RULES }),
    )
    .await
    .map(drop)
}

/// Returns a reservation by its index.
fn reservation(reservations: &[Value], index: usize) -> Result<&Value, String> {
    reservations
        .get(index)
        .ok_or_else(|| format!("the demo has no reservation {index}"))
}

/// Returns a caller without a credential. It makes the requests of guests, whose paths contain the
/// token of the stay.
fn guest<'s>(platform: &LocalCaller<'s>) -> LocalCaller<'s> {
    LocalCaller {
        service: platform.service,
        token: String::new(),
    }
}

/// Returns the path parameters of a reservation in the platform interface.
fn reservation_path<'p>(
    organization_path: &[(&'p str, &'p str)],
    reservation: &'p Value,
) -> Vec<(&'p str, &'p str)> {
    let id = reservation["id"].as_str().unwrap_or_default();
    organization_path
        .iter()
        .copied()
        .chain([("reservationId", id)])
        .collect()
}

/// Creates a guest link. Returns the steps of the reservation in the guest's view, and the token of
/// the link.
async fn open_stay(
    platform: &LocalCaller<'_>,
    organization_path: &[(&str, &str)],
    reservation: &Value,
) -> Result<(Vec<Value>, String), String> {
    let link = platform
        .call(
            "createGuestLink",
            &reservation_path(organization_path, reservation),
            json!({}),
        )
        .await?;
    let token = link["token"].as_str().unwrap_or_default();
    let view = guest(platform)
        .call("getStay", &[("token", token)], Value::Null)
        .await?;
    let steps = view["precheckin"]["steps"].as_array().cloned();
    Ok((steps.unwrap_or_default(), token.to_owned()))
}

/// Reports the progress of the last step of a type, as an integration of the platform does.
async fn report(
    platform: &LocalCaller<'_>,
    organization_path: &[(&str, &str)],
    reservation: &Value,
    step_type: &str,
    progress: Value,
) -> Result<(), String> {
    let (steps, _) = open_stay(platform, organization_path, reservation).await?;
    let is_reported = |step: &&Value| {
        step["stepType"] == step_type
            && (step_type != "agreement" || step["agreement"]["title"].is_string())
    };
    let step = steps
        .iter()
        .rfind(is_reported)
        .ok_or_else(|| format!("a stay of the demo has no step {step_type}"))?;
    let id = step["id"].as_str().unwrap_or_default();
    let path: Vec<_> = reservation_path(organization_path, reservation)
        .into_iter()
        .chain([("stepId", id)])
        .collect();
    platform
        .call("setStepProgress", &path, progress)
        .await
        .map(drop)
}

/// Fills in and submits the pre-check-in as the guest of a reservation. Returns the guest's steps.
async fn submit(
    platform: &LocalCaller<'_>,
    organization_path: &[(&str, &str)],
    reservation: &Value,
) -> Result<Vec<Value>, String> {
    let (steps, token) = fill_in(platform, organization_path, reservation).await?;
    guest(platform)
        .call("submitPrecheckin", &[("token", &token)], json!({}))
        .await?;
    Ok(steps)
}

/// Saves answers to every step as the guest of a reservation. Returns the guest's steps and the
/// token of the guest link.
async fn fill_in(
    platform: &LocalCaller<'_>,
    organization_path: &[(&str, &str)],
    reservation: &Value,
) -> Result<(Vec<Value>, String), String> {
    let (steps, token) = open_stay(platform, organization_path, reservation).await?;
    let guest = guest(platform);
    let name = &reservation["data"]["guest"]["firstName"];
    for step in &steps {
        let path = [
            ("token", token.as_str()),
            ("stepId", step["id"].as_str().unwrap_or_default()),
        ];
        guest
            .call(
                "saveStepAnswers",
                &path,
                json!({ "answers": answers(step, name) }),
            )
            .await?;
        if step["stepType"] == "identity_check" {
            let path: Vec<_> = reservation_path(organization_path, reservation)
                .into_iter()
                .chain([path[1]])
                .collect();
            platform
                .call("setStepProgress", &path, json!({ "status": "completed" }))
                .await?;
        }
    }
    Ok((steps, token))
}

/// Returns the answers to a step for a guest with this name.
fn answers(step: &Value, name: &Value) -> Value {
    match step["stepType"].as_str().unwrap_or_default() {
        "your_details" => json!({
            "firstName": name,
            "lastName": "Riera",
            "email": "guest@barcelona-flats.example",
            "phone": "+34 612 34 56 78",
        }),
        "other_guests" => {
            json!({
                "guests": [{ "firstName": "Max", "lastName": "Riera", "birthDate": "1988-05-17" }],
            })
        }
        "agreement" => {
            json!({
                "isAccepted": true,
                "signedName": format!("{} Riera", name.as_str().unwrap_or_default()),
            })
        }
        "additional_questions" => question_answers(&step["questions"]),
        "background_check" => json!({ "isAccepted": true }),
        "damage_deposit" => json!({ "choice": "deposit" }),
        _ => json!({ "isConfirmed": true }),
    }
}

/// Returns answers to the required questions: "no", the first option, or a text.
fn question_answers(questions: &Value) -> Value {
    let questions = questions.as_array().into_iter().flatten();
    let answers = questions
        .filter(|question| question["isRequired"] == true)
        .map(|question| {
            let options = question["options"].as_array();
            let options = options.map(Vec::as_slice).unwrap_or_default();
            let option = if question["kind"] == "yes_no" {
                options.last()
            } else {
                options.first()
            };
            let answer = match option {
                Some(option) => json!({ "optionIds": [option["id"]] }),
                None => json!({ "text": "The number of my booking." }),
            };
            let id = question["id"].as_str().unwrap_or_default();
            (id.to_owned(), answer)
        });
    Value::Object(answers.collect())
}
