//! The demo's stays with a history.
//!
//! They have submitted pre-check-ins, an identity check to repeat, a contract to sign, charges that
//! are due, and extras in a cart. One stay was extended after its approval. One accepted an
//! agreement whose text has changed since then.

use jiff::ToSpan as _;
use jiff::civil::Date;
use serde_json::{Value, json};

use super::LocalCaller;
use super::precheckin::{BREAKFAST, named};

/// Index of the reservation whose pre-check-in waits for review.
const IN_REVIEW: usize = 6;
/// Index of the reservation whose pre-check-in was sent back.
const SENT_BACK: usize = 4;

/// Index of the reservation that asks how the arrival was.
const ASKED: usize = 2;
/// Index of the reservation with an extra in its cart.
const SHOPPING: usize = 3;
/// Index of the reservation under the branding's domain.
pub(super) const UNDER_DOMAIN: usize = 7;
/// Index of the reservation with charges that are due.
pub(super) const CHARGED: usize = 9;
/// Index of the reservation whose guest has to repeat the photo of a document.
const RETAKE: usize = 12;
/// Index of the reservation with a contract to sign elsewhere.
pub(super) const SIGNED: usize = 18;

/// The reservations that the banner names, each with the reason to look at it.
pub(super) const EXAMPLES: [(&str, usize); 8] = [
    ("a photo to repeat", RETAKE),
    ("charges that are due", CHARGED),
    ("a survey to answer", ASKED),
    ("a contract to sign", SIGNED),
    ("an extra in the cart", SHOPPING),
    ("a domain of its own", UNDER_DOMAIN),
    ("a new step to do", EXTENDED),
    ("a changed agreement", OUTDATED),
];

/// Index of the reservation that was extended after its pre-check-in was approved. It has a step
/// whose answers are looked at only if they are flagged.
const EXTENDED: usize = 10;
/// Number of nights of that reservation, for which a further step is asked.
const NIGHTS: i64 = 33;
/// Index of the reservation whose guest accepted an agreement, in English, before its text changed.
const OUTDATED: usize = 11;
/// The text that the agreement has since.
const CHANGED_RULES: &str = "1. Nobody but the guests of this pre-check-in stays overnight, and there are no parties.\n\
     2. Quiet from 22:00 to 8:00, on the stairs and the terrace too.\n\
     3. No smoking, neither indoors nor on the terrace.\n\
     4. Check-out is at 11:00; leave the keys in the box by the door.\n\
     5. Tell us what broke. Damage beyond wear is paid from the deposit.";

/// The message to the guest whose pre-check-in was sent back.
const REQUEST: &str =
    "We could not reach you on this number. Please check it, country code included.";

/// Plays guests and platform in the stays.
pub(super) async fn build(
    platform: &LocalCaller<'_>,
    api: &LocalCaller<'_>,
    at: &[(&str, &str)],
    reservations: &[Value],
    records: &[Value],
) -> Result<(), String> {
    submit(platform, at, reservation(reservations, IN_REVIEW)?).await?;
    let charged = reservation(reservations, CHARGED)?;
    submit(platform, at, charged).await?;
    let id = charged["id"].as_str().unwrap_or_default();
    api.call("approvePrecheckin", &[("id", id)], json!({}))
        .await?;
    let retake = json!({
        "status": "failed", "checks": ["document_unreadable"], "message": "The photo is blurred. Please take it again.",
    });
    report(
        platform,
        at,
        reservation(reservations, RETAKE)?,
        "identity_check",
        retake,
    )
    .await?;
    let to_sign = json!({
        "status": "action_required", "actionUrl": "https://sign.barcelona-flats.example/rental-contract",
        "message": "Your contract is ready to be signed.",
    });
    report(
        platform,
        at,
        reservation(reservations, SIGNED)?,
        "agreement",
        to_sign,
    )
    .await?;
    let (_, token) = opened(platform, at, reservation(reservations, SHOPPING)?).await?;
    let cart = json!({ "items": [{ "upsellId": named(records, BREAKFAST), "quantity": 1 }] });
    guest(platform)
        .call("saveCart", &[("token", &token)], cart)
        .await?;
    let sent_back = reservation(reservations, SENT_BACK)?;
    let steps = submit(platform, at, sent_back).await?;
    let details = steps
        .iter()
        .find(|step| step["stepType"] == "your_details")
        .map(|step| &step["id"]);
    let id = sent_back["id"].as_str().unwrap_or_default();
    let request = json!({ "message": REQUEST, "stepIds": details.into_iter().collect::<Vec<_>>() });
    api.call("requestPrecheckinChanges", &[("id", id)], request)
        .await?;
    extend(platform, at, reservation(reservations, EXTENDED)?).await?;
    outdate(platform, api, at, reservation(reservations, OUTDATED)?).await
}

/// Submits the pre-check-in of a reservation, and extends the stay afterwards. Nothing in the
/// submission is flagged, so it is approved at once.
async fn extend(
    platform: &LocalCaller<'_>,
    at: &[(&str, &str)],
    reservation: &Value,
) -> Result<(), String> {
    submit(platform, at, reservation).await?;
    let check_in = reservation["data"]["checkIn"].as_str().unwrap_or_default();
    let check_in: Date = check_in
        .parse()
        .map_err(|error: jiff::Error| error.to_string())?;
    let mut extended = reservation.clone();
    extended["data"]["checkOut"] = json!(check_in.saturating_add(NIGHTS.days()));
    platform
        .call("sync", at, json!({ "records": [extended] }))
        .await
        .map(drop)
}

/// Fills in the pre-check-in of a reservation without submitting it, and changes the text of its
/// agreement afterwards.
async fn outdate(
    platform: &LocalCaller<'_>,
    api: &LocalCaller<'_>,
    at: &[(&str, &str)],
    reservation: &Value,
) -> Result<(), String> {
    let (steps, _) = fill_in(platform, at, reservation).await?;
    let agreement = steps.iter().find(|step| step["stepType"] == "agreement");
    let agreement = agreement.and_then(|step| step["id"].as_str());
    let query = [
        ("sourceTable", "precheck_step_detail"),
        ("thingId", agreement.unwrap_or_default()),
    ];
    let texts = api.ask("listShownTexts", &query).await?;
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

fn reservation(reservations: &[Value], place: usize) -> Result<&Value, String> {
    reservations
        .get(place)
        .ok_or_else(|| format!("the demo has no reservation {place}"))
}

/// Returns a caller that is a guest, whose token is in the path.
fn guest<'s>(platform: &LocalCaller<'s>) -> LocalCaller<'s> {
    LocalCaller {
        service: platform.service,
        token: String::new(),
    }
}

/// Returns the path of a reservation in the platform interface.
fn of<'p>(at: &[(&'p str, &'p str)], reservation: &'p Value) -> Vec<(&'p str, &'p str)> {
    let id = reservation["id"].as_str().unwrap_or_default();
    at.iter().copied().chain([("reservationId", id)]).collect()
}

/// Returns the steps of a reservation as its guest sees them, and the token of its link.
async fn opened(
    platform: &LocalCaller<'_>,
    at: &[(&str, &str)],
    reservation: &Value,
) -> Result<(Vec<Value>, String), String> {
    let link = platform
        .call("createGuestLink", &of(at, reservation), json!({}))
        .await?;
    let token = link["token"].as_str().unwrap_or_default();
    let view = guest(platform)
        .call("getStay", &[("token", token)], Value::Null)
        .await?;
    let steps = view["precheckin"]["steps"].as_array().cloned();
    Ok((steps.unwrap_or_default(), token.to_owned()))
}

/// Reports how the last step of a type stands in a stay.
async fn report(
    platform: &LocalCaller<'_>,
    at: &[(&str, &str)],
    reservation: &Value,
    step_type: &str,
    progress: Value,
) -> Result<(), String> {
    let (steps, _) = opened(platform, at, reservation).await?;
    let is_meant = |step: &&Value| {
        step["stepType"] == step_type
            && (step_type != "agreement" || step["agreement"]["title"].is_string())
    };
    let step = steps
        .iter()
        .rfind(is_meant)
        .ok_or_else(|| format!("a stay of the demo has no step {step_type}"))?;
    let id = step["id"].as_str().unwrap_or_default();
    let path: Vec<_> = of(at, reservation)
        .into_iter()
        .chain([("stepId", id)])
        .collect();
    platform
        .call("setStepProgress", &path, progress)
        .await
        .map(drop)
}

/// Completes pre-check-in as the guest of a reservation. Returns the guest's steps.
async fn submit(
    platform: &LocalCaller<'_>,
    at: &[(&str, &str)],
    reservation: &Value,
) -> Result<Vec<Value>, String> {
    let (steps, token) = fill_in(platform, at, reservation).await?;
    guest(platform)
        .call("submitPrecheckin", &[("token", &token)], json!({}))
        .await?;
    Ok(steps)
}

/// Saves every step as the guest of a reservation. Returns the guest's steps and the token of the
/// stay.
async fn fill_in(
    platform: &LocalCaller<'_>,
    at: &[(&str, &str)],
    reservation: &Value,
) -> Result<(Vec<Value>, String), String> {
    let (steps, token) = opened(platform, at, reservation).await?;
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
            let path: Vec<_> = of(at, reservation).into_iter().chain([path[1]]).collect();
            platform
                .call("setStepProgress", &path, json!({ "status": "completed" }))
                .await?;
        }
    }
    Ok((steps, token))
}

/// Returns the answers of a guest with this name to a step.
fn answers(step: &Value, name: &Value) -> Value {
    match step["stepType"].as_str().unwrap_or_default() {
        "your_details" => json!({
            "firstName": name, "lastName": "Riera", "email": "guest@barcelona-flats.example", "phone": "+34 612 34 56 78",
        }),
        "other_guests" => {
            json!({ "guests": [{ "firstName": "Max", "lastName": "Riera", "birthDate": "1988-05-17" }] })
        }
        "agreement" => {
            json!({ "isAccepted": true, "signedName": format!("{} Riera", name.as_str().unwrap_or_default()) })
        }
        "additional_questions" => to_questions(&step["questions"]),
        "background_check" => json!({ "isAccepted": true }),
        "damage_deposit" => json!({ "choice": "deposit" }),
        _ => json!({ "isConfirmed": true }),
    }
}

/// Returns answers to the required questions among these: no, the first option, or a text.
fn to_questions(questions: &Value) -> Value {
    let asked = questions.as_array().into_iter().flatten();
    let answers = asked
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
