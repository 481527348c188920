//! Tests of several people who fill in the same step, each on their own phone (rules:
//! pre-check-in#several-people).

use serde_json::{Value, json};
use uuid::Uuid;

use test_support::house::{House, with};
use test_support::{App, on_both, reservation};

/// A guest's phone on which the page of a step is open. `page` is the HTML that the service sent
/// when the phone opened the page, so it does not show later changes.
pub struct StepPhone<'h> {
    house: &'h House<'h>,
    step: Uuid,
    page: String,
}

impl<'h> StepPhone<'h> {
    pub async fn open(house: &'h House<'h>, step: Uuid, query: &str) -> Self {
        let app = house.org.app;
        let address = format!("{}/stay/{}/steps/{step}{query}", app.base, house.token);
        let page = app
            .http
            .get(address)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        Self { house, step, page }
    }

    /// Returns the values of a field on the page, for each of the other guests in order.
    pub fn values(&self, field: &str) -> Vec<String> {
        (0..50)
            .map_while(|place| self.value(&format!("g.{place}.{field}")))
            .collect()
    }

    /// Returns the value of the input `name` on the page; `None` if the page has no such input.
    pub fn value(&self, name: &str) -> Option<String> {
        let (_, rest) = self.page.split_once(&format!(" name=\"{name}\""))?;
        let (_, rest) = rest.split('>').next()?.split_once(" value=\"")?;
        Some(rest.split('"').next()?.to_owned())
    }

    /// Sends the form of the page. The fields in `typed` have the given values, and all other
    /// fields have the values that the page shows. Returns the status of the response.
    pub async fn send(&self, typed: &[(&str, &str)]) -> u16 {
        let mut fields: Vec<(String, String)> = Vec::new();
        for input in self.page.split("<input ").skip(1) {
            let input = format!(" {}", input.split('>').next().unwrap());
            let attribute = |name: &str| {
                let (_, rest) = input.split_once(&format!(" {name}=\""))?;
                Some(rest.split('"').next()?.to_owned())
            };
            if let (Some(name), Some(value)) = (attribute("name"), attribute("value"))
                && !typed.iter().any(|(typed, _)| *typed == name)
            {
                fields.push((name, value));
            }
        }
        fields.extend(
            typed
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let app = self.house.org.app;
        let address = format!("{}/stay/{}/steps/{}", app.base, self.house.token, self.step);
        let http = test_support::plain_client()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let request = http
            .post(address)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        request.send().await.unwrap().status().as_u16()
    }
}

async fn names(house: &House<'_>, step: Uuid) -> Vec<String> {
    let view = house.step_view(step, "en").await;
    let guests = view["answers"]["guests"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    guests
        .iter()
        .map(|guest| guest["firstName"].as_str().unwrap_or_default().to_owned())
        .collect()
}

on_both!(two_phones_name_different_guests);
async fn two_phones_name_different_guests(app: App) {
    let house = House::build(&app).await;
    let data = with(reservation(Some(house.flat)), json!({ "adults": 4 }));
    house.org.put_record("reservation", house.stay, data).await;
    let step = house
        .step(
            "other_guests",
            json!({ "requiredGuestFields": ["firstName"] }),
        )
        .await;
    let (one, other) = (
        StepPhone::open(&house, step, "").await,
        StepPhone::open(&house, step, "").await,
    );
    assert_eq!(
        one.send(&[("g.0.firstName", "Bob"), ("g.1.firstName", "Cy")])
            .await,
        303
    );
    assert_eq!(other.send(&[("g.0.firstName", "Di")]).await, 303);
    assert_eq!(names(&house, step).await, ["Bob", "Cy", "Di"]);
    assert_eq!(house.step_view(step, "en").await["isComplete"], true);
    // The phone sends the same form a second time. The second form adds no guest.
    assert_eq!(other.send(&[("g.0.firstName", "Di")]).await, 303);
    assert_eq!(names(&house, step).await, ["Bob", "Cy", "Di"]);

    let (one, other) = (
        StepPhone::open(&house, step, "").await,
        StepPhone::open(&house, step, "").await,
    );
    assert_eq!(one.send(&[("g.0.firstName", "Rob")]).await, 303);
    assert_eq!(other.send(&[("remove", "1")]).await, 303);
    assert_eq!(names(&house, step).await, ["Rob", "Di"]);
    // The first phone still shows Cy, whom the other phone removed. The form of the first phone
    // changes only the guest whose name the person typed on that phone.
    assert_eq!(one.send(&[("g.2.firstName", "Dina")]).await, 303);
    assert_eq!(names(&house, step).await, ["Rob", "Dina"]);
}

on_both!(an_old_form_erases_nothing_that_it_did_not_show);
async fn an_old_form_erases_nothing_that_it_did_not_show(app: App) {
    let house = House::build(&app).await;
    let details = house.step("your_details", json!({})).await;
    let (one, other) = (
        StepPhone::open(&house, details, "").await,
        StepPhone::open(&house, details, "").await,
    );
    assert_eq!(
        one.send(&[("email", "ada@example.com"), ("phone", "+34 612 34 56 78")])
            .await,
        303
    );
    assert_eq!(
        other
            .send(&[("email", "ada@example.com"), ("phone", "")])
            .await,
        303
    );
    let saved = async || house.step_view(details, "en").await["answers"].clone();
    let expected = json!({
        "firstName": "Ada",
        "lastName": "L",
        "email": "ada@example.com",
        "phone": "+34 612 34 56 78",
    });
    assert_eq!(saved().await, expected);
    // The second form contains the name from the booking, which the person did not type. The form
    // therefore does not replace the name that the first form saved.
    assert_eq!(
        one.send(&[("firstName", "Eve"), ("email", "ada@example.com")])
            .await,
        303
    );
    assert_eq!(other.send(&[("email", "ada@example.com")]).await, 303);
    assert_eq!(saved().await["firstName"], "Eve");
    // The form showed a phone number and returns an empty field, so the number is deleted.
    let again = StepPhone::open(&house, details, "").await;
    assert_eq!(again.send(&[("phone", "")]).await, 303);
    assert_eq!(saved().await.get("phone"), None);

    let text = house.text(&[("en", "When?")]).await;
    let questions = json!([
        { "kind": "free_form_input", "textMlTextId": text },
        { "kind": "free_form_input", "textMlTextId": text },
    ]);
    let step = house
        .step("additional_questions", json!({ "questions": questions }))
        .await;
    let view = house.step_view(step, "en").await;
    let [first, second] =
        [0, 1].map(|place| view["questions"][place]["id"].as_str().unwrap().to_owned());
    let (one, other) = (
        StepPhone::open(&house, step, "").await,
        StepPhone::open(&house, step, "").await,
    );
    assert_eq!(
        one.send(&[(&format!("q.{first}.text"), "At noon")]).await,
        303
    );
    assert_eq!(
        other
            .send(&[(&format!("q.{second}.text"), "At five")])
            .await,
        303
    );
    let answers = house.submission().await["steps"][1]["answers"].clone();
    assert_eq!(
        answers,
        json!({ first: { "text": "At noon" }, second: { "text": "At five" } })
    );
}

on_both!(a_shorter_list_mixes_no_guests);
async fn a_shorter_list_mixes_no_guests(app: App) {
    let house = House::build(&app).await;
    let step = house.step("other_guests", json!({})).await;
    let guest = |first: &str, last: &str, birth: Value| {
        let named = json!({ "firstName": first, "lastName": last });
        if birth.is_null() {
            named
        } else {
            with(named, json!({ "birthDate": birth }))
        }
    };
    let all = json!([
        guest("Ana", "A", json!("1990-01-01")),
        guest("Bob", "B", json!("1991-01-01")),
        guest("Cy", "C", json!("1992-01-01"))
    ]);
    let saved =
        house.answer(step, json!({ "guests": all })).await.data()["answers"]["guests"].clone();
    let sent = json!({ "guests": [guest("Ana", "A", Value::Null), guest("Cy", "C", Value::Null)] });
    let shorter = house.answer(step, sent).await.data()["answers"]["guests"].clone();
    assert_eq!(shorter, json!([saved[0], saved[2]]));
}

on_both!(an_item_with_an_id_changes_or_removes_that_guest);
async fn an_item_with_an_id_changes_or_removes_that_guest(app: App) {
    let house = House::build(&app).await;
    let step = house.step("other_guests", json!({})).await;
    let sent = json!({ "guests": [{ "firstName": "Ana", "hat": "red" }, { "firstName": "Bob" }] });
    let saved = house.answer(step, sent).await.data()["answers"]["guests"].clone();
    let (ana, bob) = (&saved[0]["id"], &saved[1]["id"]);
    let changed =
        json!({ "guests": [{ "id": ana, "hat": null, "lastName": "Gil" }, { "firstName": "Cy" }] });
    let after = house.answer(step, changed).await.data()["answers"]["guests"].clone();
    assert_eq!(
        after[0],
        json!({ "id": ana, "firstName": "Ana", "lastName": "Gil" })
    );
    assert_eq!(
        (&after[1]["id"], &after[2]["firstName"]),
        (bob, &json!("Cy"))
    );
    let removed = json!({ "guests": [{ "id": bob, "isRemoved": true }] });
    house.answer(step, removed).await.data();
    assert_eq!(names(&house, step).await, ["Ana", "Cy"]);
    for (guests, issue) in [
        (json!([{ "id": bob }]), "answers.guests.0.id"),
        (
            json!([{ "firstName": "Di" }, { "id": "x" }]),
            "answers.guests.1.id",
        ),
        (json!([{ "id": ana }, { "id": ana }]), "answers.guests.1.id"),
        (json!([{ "isRemoved": true }]), "answers.guests.0.isRemoved"),
        (
            json!([{ "id": ana, "isRemoved": "yes" }]),
            "answers.guests.0.isRemoved",
        ),
    ] {
        assert_eq!(
            house
                .answer(step, json!({ "guests": guests }))
                .await
                .issues(),
            [issue],
            "{guests}"
        );
    }
    let most = json!({
        "guests": (0..49).map(|_| json!({})).chain([json!({ "id": ana })]).collect::<Vec<_>>(),
    });
    assert_eq!(
        house.answer(step, most).await.issues(),
        ["answers.guests"],
        "51 guests in total"
    );
    assert_eq!(names(&house, step).await, ["Ana", "Cy"]);
    // Guest ids are for programs. No page shows them.
    let id = ana.as_str().unwrap();
    let browser = crate::console::marta(&house.org).await;
    let values =
        crate::console::page(&browser, &format!("/console/submissions/{}", house.stay)).await;
    assert!(values.contains("Ana") && !values.contains(id), "{values}");
}
