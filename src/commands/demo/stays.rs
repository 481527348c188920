//! Guests of the demo who have handed something in: one waits for staff, and one has been asked to change something.

use serde_json::{Value, json};

use super::Local;

/// Whose pre-check-in waits for staff, by the place of the reservation.
const IN_REVIEW: usize = 6;
/// Whose pre-check-in has been sent back.
const SENT_BACK: usize = 4;

/// What the guest whose pre-check-in was sent back is told.
const REQUEST: &str = "We could not reach you on this number. Please check it, country code included.";

/// Has the guests hand in what they are asked for, and sends one of them a step back.
pub(super) async fn build(platform: &Local<'_>, api: &Local<'_>, at: &[(&str, &str)], reservations: &[Value]) -> Result<(), String> {
    submit(platform, at, reservation(reservations, IN_REVIEW)?).await?;
    let sent_back = reservation(reservations, SENT_BACK)?;
    let steps = submit(platform, at, sent_back).await?;
    let details = steps.iter().find(|step| step["stepType"] == "your_details").map(|step| &step["id"]);
    let id = sent_back["id"].as_str().unwrap_or_default();
    let request = json!({ "message": REQUEST, "stepIds": details.into_iter().collect::<Vec<_>>() });
    api.call("requestPrecheckinChanges", &[("id", id)], request).await.map(drop)
}

fn reservation(reservations: &[Value], place: usize) -> Result<&Value, String> {
    reservations.get(place).ok_or_else(|| format!("the demo has no reservation {place}"))
}

/// Goes through pre-check-in as the guest of a reservation; the steps they got.
async fn submit(platform: &Local<'_>, at: &[(&str, &str)], reservation: &Value) -> Result<Vec<Value>, String> {
    let of_this: Vec<_> = at.iter().copied().chain([("reservationId", reservation["id"].as_str().unwrap_or_default())]).collect();
    let link = platform.call("createGuestLink", &of_this, json!({})).await?;
    let token = link["token"].as_str().unwrap_or_default();
    let guest = Local { service: platform.service, token: String::new() };
    let view = guest.call("getStay", &[("token", token)], Value::Null).await?;
    let steps = view["precheckin"]["steps"].as_array().cloned().unwrap_or_default();
    let name = &reservation["data"]["guest"]["firstName"];
    for step in &steps {
        let path = [("token", token), ("stepId", step["id"].as_str().unwrap_or_default())];
        guest.call("saveStepAnswers", &path, json!({ "answers": answers(step, name) })).await?;
    }
    guest.call("submitPrecheckin", &[("token", token)], json!({})).await?;
    Ok(steps)
}

/// What a guest of this name gives in a step.
fn answers(step: &Value, name: &Value) -> Value {
    match step["stepType"].as_str().unwrap_or_default() {
        "your_details" => json!({
            "firstName": name, "lastName": "Riera", "email": "guest@barcelona-flats.example", "phone": "+34 612 34 56 78",
        }),
        "other_guests" => json!({ "guests": [{ "firstName": "Max", "lastName": "Riera", "birthDate": "1988-05-17" }] }),
        "agreement" => json!({ "isAccepted": true, "signedName": format!("{} Riera", name.as_str().unwrap_or_default()) }),
        _ => json!({ "isConfirmed": true }),
    }
}
