//! Browser tests of stays that change after submission, of the same form on two phones, and of
//! values as guests type them (rules: submissions#open-steps; pre-check-in#several-people).

use std::time::Duration;

use serde_json::{Value, json};
use test_support::house::{House, with};
use test_support::{App, reservation};

use super::driver::{browse, browse_on_two};
use super::window::{PHONE, Window};

const DEADLINE: Duration = Duration::from_secs(60);

/// Selector of the button that saves a step.
pub(super) const SAVE: &str = "main form button[type=submit]:not([name])";

/// Writes the reservation of the house again, with the default values except for the fields in
/// `more`.
pub(super) async fn rebook(house: &House<'_>, more: Value) {
    let data = with(reservation(Some(house.flat)), more);
    house.org.put_record("reservation", house.stay, data).await;
}

/// Opens `/stay/{token}{rest}` in the window.
pub(super) async fn open(window: &Window, house: &House<'_>, rest: &str) {
    let page = format!("{}/stay/{}{rest}", house.org.app.base, house.token);
    window.go(&page).await;
}

/// Clicks the first element that matches a selector, by script, and waits for the next page. A
/// pointer click could hit the bar at the lower edge of the phone's screen instead.
pub(super) async fn press(window: &Window, selector: &str) {
    let script = format!("document.querySelector({}).click()", json!(selector));
    let click = async {
        window.run(&script).await;
    };
    window.leaves(click).await;
}

/// Fills in fields by their names.
pub(super) async fn fill(window: &Window, fields: &[(&str, &str)]) {
    let script = format!(
        "for (const [name, value] of {}) {{
            const it = document.getElementsByName(name)[0];
            it.value = value;
            it.dispatchEvent(new Event('input', {{ bubbles: true }}));
        }}",
        json!(fields)
    );
    window.run(&script).await;
}

/// Checks that the page's text contains every text of `present` and none of `absent`.
#[track_caller]
pub(super) fn says(text: &str, present: &[&str], absent: &[&str]) {
    for present in present {
        assert!(text.contains(present), "{present}: {text}");
    }
    for absent in absent {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
}

/// Returns the value of one field of each guest whose details are saved in the step.
async fn saved(house: &House<'_>, step: uuid::Uuid, field: &str) -> Vec<Value> {
    let view = house.step_view(step, "en").await;
    let guests = view["answers"]["guests"].as_array().unwrap().iter();
    guests.map(|guest| guest[field].clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_of_a_longer_stay_does_the_new_step_and_submits_again() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let house = House::build(&app).await;
        house
            .update_portal(house.portal, json!({ "isManualReviewEnabled": false }))
            .await;
        rebook(&house, json!({ "adults": 1 })).await;
        let details = house.step("your_details", json!({})).await;
        // The reservation has one adult, so the step for the other guests has no fields.
        house.step("other_guests", json!({})).await;
        let rules = house.step("agreement", json!({ "minLos": 7 })).await;
        house
            .answer(details, json!({ "firstName": "Ada" }))
            .await
            .data();
        house.submit().await.data();
        window.resize(PHONE).await;
        open(window, &house, "").await;
        says(
            &window.text().await,
            &["There is nothing left to do."],
            &["Rental agreement"],
        );

        rebook(&house, json!({ "adults": 1, "checkOut": "2026-12-31" })).await;
        open(window, &house, "").await;
        let new = "Something is new since you submitted.";
        says(
            &window.text().await,
            &[new, "Rental agreement"],
            &["nothing left to do"],
        );
        press(window, "a.button.first").await;
        assert!(window.path().await.ends_with(&rules.to_string()));
        window
            .run("document.querySelector('[name=isAccepted]').click()")
            .await;
        press(window, SAVE).await;
        press(window, "main form[action*='/submit'] button").await;
        says(
            &window.text().await,
            &["There is nothing left to do."],
            &[new],
        );
        assert_eq!(house.precheckin().await["openSteps"], json!([]));

        // The host changes the text after the guest accepted it. The page still shows the accepted
        // text.
        let edited = json!({ "contractTemplateText": "No shoes." });
        house.update(rules, edited).await.data();
        open(window, &house, &format!("/steps/{rules}")).await;
        says(
            &window.text().await,
            &["No parties.", "You accepted this on"],
            &["No shoes."],
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_that_is_sent_after_the_stay_shows_that_the_stay_is_over() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let house = House::build(&app).await;
        let details = house.step("your_details", json!({})).await;
        window.resize(PHONE).await;
        open(window, &house, &format!("/steps/{details}")).await;
        let typed = [
            ("firstName", ""),
            ("lastName", "Teresa"),
            ("email", "t@example.com"),
        ];
        fill(window, &typed).await;
        let past = json!({
            "bookedAt": "2026-11-01T10:00:00Z",
            "checkIn": "2026-11-10",
            "checkOut": "2026-11-14",
        });
        rebook(&house, past).await;
        press(window, SAVE).await;
        let over = "Your stay is over, so nothing can be changed here any more.";
        says(&window.text().await, &[over], &[]);
        let has_form = window
            .run("return Boolean(document.querySelector('main form'))")
            .await;
        assert_eq!(has_form, json!(false));
        assert_eq!(house.step_view(details, "en").await["answers"], Value::Null);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_phones_with_the_same_form_lose_no_value() {
    browse_on_two(DEADLINE, async |one, two| {
        let app = App::on_sqlite(&[]).await;
        let house = House::build(&app).await;
        rebook(&house, json!({ "adults": 4 })).await;
        let others = house.step("other_guests", json!({})).await;
        let details = house.step("your_details", json!({})).await;
        for window in [one, two] {
            window.resize(PHONE).await;
            open(window, &house, &format!("/steps/{others}")).await;
        }
        let [bob, cy] = [
            ["g.0.firstName", "g.0.lastName"],
            ["g.1.firstName", "g.1.lastName"],
        ];
        fill(
            one,
            &[
                (bob[0], "Bob"),
                (bob[1], "Brown"),
                (cy[0], "Cy"),
                (cy[1], "Carter"),
            ],
        )
        .await;
        fill(two, &[(bob[0], "Di"), (bob[1], "Dunn")]).await;
        press(one, SAVE).await;
        press(two, SAVE).await;
        assert_eq!(
            saved(&house, others, "firstName").await,
            ["Bob", "Cy", "Di"]
        );
        // The second phone shows the guests that the first phone saved.
        open(two, &house, "/review").await;
        says(&two.text().await, &["Bob", "Cy", "Di"], &[]);

        // The person removes the first guest of the list. The other guests move up, and each keeps
        // their last name.
        open(two, &house, &format!("/steps/{others}")).await;
        press(two, "button[name=remove][value='0']").await;
        assert_eq!(saved(&house, others, "firstName").await, ["Cy", "Di"]);
        assert_eq!(saved(&house, others, "lastName").await, ["Carter", "Dunn"]);

        // Both phones open the form before the first phone saves a phone number. The empty field of
        // the second phone does not erase that number.
        for window in [one, two] {
            open(window, &house, &format!("/steps/{details}")).await;
        }
        let mail = ("email", "ada@example.com");
        fill(one, &[mail, ("phone", "+34600123456")]).await;
        press(one, SAVE).await;
        fill(two, &[mail, ("lastName", "Lovelace")]).await;
        press(two, SAVE).await;
        let answers = house.step_view(details, "en").await["answers"].clone();
        assert_eq!(
            (&answers["phone"], &answers["lastName"]),
            (&json!("+34600123456"), &json!("Lovelace")),
            "{answers}"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_accepted_as_guests_type_them() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let house = House::build(&app).await;
        let asked = json!({ "requiredGuestFields": ["birthDate", "phone", "email"] });
        let details = house.step("your_details", asked).await;
        window.resize(PHONE).await;
        open(window, &house, &format!("/steps/{details}")).await;
        let typed = [
            (
                "phone",
                "+\u{0669}\u{0666}\u{0666}\u{0665}\u{0660}\u{0661}\
                    \u{0662}\u{0663}\u{0664}\u{0665}\u{0666}\u{0667}",
            ),
            ("email", "ada@example.com\u{200b}"),
        ];
        fill(window, &typed).await;
        window
            .run("document.querySelector('[name=birthDate]').focus()")
            .await;
        window.types("12.03.85").await;
        let birth = window
            .run(
                "document.querySelector('main form button[type=submit]:not([name])').click();
                const it = document.querySelector('[name=birthDate]');
                return { year: it.value.slice(0, 4), isTooEarly: it.validity.rangeUnderflow,
                    isMailFine: document.querySelector('[name=email]').validity.valid };",
            )
            .await;
        assert_eq!(
            birth,
            json!({ "year": "0085", "isTooEarly": true, "isMailFine": true })
        );
        // With the browser's validation off, the service finds the error and reports it in its own
        // words.
        window
            .run("document.querySelector('[name=birthDate]').form.noValidate = true")
            .await;
        press(window, SAVE).await;
        says(&window.text().await, &["with a year of four figures"], &[]);
        assert_eq!(house.step_view(details, "en").await["answers"], Value::Null);
        fill(window, &[("birthDate", "1985-03-12")]).await;
        press(window, SAVE).await;
        let kept = json!({
            "birthDate": "1985-03-12",
            "phone": "+966501234567",
            "email": "ada@example.com",
        });
        assert_eq!(house.step_view(details, "en").await["answers"], kept);

        // The step has no list of required fields, so the default applies: an e-mail address and
        // either of the two names. A last name and an e-mail address therefore complete the step.
        let usual = house
            .step("your_details", json!({ "nickname": "Usual" }))
            .await;
        open(window, &house, &format!("/steps/{usual}")).await;
        fill(
            window,
            &[
                ("firstName", ""),
                ("lastName", "Teresa"),
                ("email", "t@example.com"),
            ],
        )
        .await;
        press(window, SAVE).await;
        let saved = house.step_view(usual, "en").await;
        assert_eq!(
            (&saved["isComplete"], &saved["answers"]["lastName"]),
            (&json!(true), &json!("Teresa"))
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copied_link_with_punctuation_shows_the_stay() {
    browse(DEADLINE, async |window| {
        let app = App::on_sqlite(&[]).await;
        let house = House::build(&app).await;
        window.resize(PHONE).await;
        let path = format!("/stay/{}", house.token);
        for ending in [".", "),", "%E2%80%A6"] {
            window.go(&format!("{}{path}{ending}", app.base)).await;
            assert_eq!(window.path().await, path);
        }
        // The browser's language is American English, so the page shows times like `3:00 PM`.
        says(
            &window.text().await,
            &["December 11–15", "3:00 PM"],
            &["2026"],
        );
        rebook(
            &house,
            json!({ "checkIn": "2026-12-15", "checkOut": "2027-12-15" }),
        )
        .await;
        open(window, &house, "").await;
        says(
            &window.text().await,
            &[
                "December 15, 2026 – December 15, 2027",
                "Wednesday, December 15, 2027",
            ],
            &[],
        );
    })
    .await;
}
