//! Tests of random sequences of actions on one stay: by guests on two phones, staff, members and
//! the platform.
//!
//! In every order, each open step can be saved, and no saved answer is lost or assigned to another
//! guest. A guest is asked again only after a change, and the platform gets one notice for each
//! submission.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use test_support::house::{House, guest, id, with};
use test_support::{App, on_both, reservation};
use uuid::Uuid;

use super::several_people::StepPhone;

/// `SEQUENCES` is the number of random sequences that the test runs. `ACTIONS` is the number of
/// actions in each sequence.
const SEQUENCES: u64 = 4;
const ACTIONS: usize = 40;

/// A random number generator (linear congruential), so that a failed sequence can be repeated from
/// its seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// A stay, and the model of its expected data.
struct World<'h> {
    house: &'h House<'h>,
    chance: Chance,
    details: Uuid,
    others: Uuid,
    rules: Uuid,
    text: Uuid,
    extra: Uuid,
    flats: [Uuid; 2],
    /// The two phones. Each has the form of the step about the other guests open, or `None` before
    /// it opens the form.
    phones: [Option<StepPhone<'h>>; 2],
    /// The names of the saved guests, by guest id.
    saved_names: BTreeMap<String, String>,
    /// Number of names used so far. Each new guest gets another name.
    used_names: usize,
    /// The saved details of the guest who booked.
    lead: serde_json::Map<String, Value>,
    submissions: usize,
    /// The actions so far. A failed check prints them.
    log: Vec<String>,
}

impl<'h> World<'h> {
    async fn build(house: &'h House<'h>, seed: u64) -> Self {
        let details = house.step("your_details", json!({})).await;
        let fields = json!({ "requiredGuestFields": ["firstName", "documentNumber"] });
        let others = house.step("other_guests", fields).await;
        let text = json!({ "sourceTable": "precheck_step_detail", "text": "Version 0" });
        let text = id(&house.api.post("/translations", text).await.data()["id"]);
        let rules = house
            .step(
                "agreement",
                json!({ "minLos": 7, "contractTemplateTextMlTextId": text }),
            )
            .await;
        let extra = house
            .step("document_upload", json!({ "isActive": false }))
            .await;
        let flats = [house.flat, house.org.property(None, &[]).await];
        for step in [details, others, rules] {
            house
                .scopes(
                    "add",
                    "precheck_step",
                    step,
                    json!({ "propertyIds": [flats[1]] }),
                )
                .await;
        }
        let chance = Chance(seed);
        Self {
            house,
            chance,
            details,
            others,
            rules,
            text,
            extra,
            flats,
            phones: [None, None],
            saved_names: BTreeMap::new(),
            used_names: 0,
            lead: serde_json::Map::new(),
            submissions: 0,
            log: Vec::new(),
        }
    }

    async fn view(&self) -> Value {
        self.house.precheckin().await
    }

    fn note(&mut self, text: impl Into<String>) {
        self.log.push(text.into());
    }

    async fn act(&mut self) {
        match self.chance.below(12) {
            0 | 1 => self.save_details().await,
            2..=4 => self.fill_in_guests().await,
            5 => self.open_form().await,
            6 => self.accept().await,
            7 | 8 => self.submit().await,
            9 => self.decide().await,
            10 => self.change_stay().await,
            _ => self.configure().await,
        }
        // The wait may be zero, so that some actions happen within the same millisecond.
        let wait = self.chance.pick(&[0, 1, 60_000]);
        self.house
            .org
            .app
            .clock
            .advance(Duration::from_millis(wait));
    }

    async fn is_open(&self, step: Uuid) -> Option<bool> {
        let view = self.view().await;
        let steps = view["steps"].as_array().unwrap();
        let found = steps.iter().find(|row| id(&row["id"]) == step);
        found.map(|row| row["isOpen"].as_bool().unwrap())
    }

    fn expected(is_open: Option<bool>) -> u16 {
        match is_open {
            Some(true) => 200,
            Some(false) => 409,
            None => 404,
        }
    }

    async fn save_details(&mut self) {
        let is_open = self.is_open(self.details).await;
        let field = self
            .chance
            .pick(&["firstName", "lastName", "email", "phone", "city"]);
        self.used_names += 1;
        let value = json!(format!("{field} {}", self.used_names));
        self.note(format!("details {value} {is_open:?}"));
        let answer = self
            .house
            .answer(self.details, json!({ field: value }))
            .await;
        assert_eq!(answer.status, Self::expected(is_open), "{:?}", self.log);
        if is_open == Some(true) {
            self.lead.insert(field.to_owned(), value);
        }
    }

    async fn open_form(&mut self) {
        let phone = usize::try_from(self.chance.below(2)).unwrap();
        if self.is_open(self.others).await == Some(true) {
            self.note(format!("phone {phone} opens the form"));
            self.phones[phone] = Some(StepPhone::open(self.house, self.others, "?guests=5").await);
        }
    }

    async fn fill_in_guests(&mut self) {
        let number = usize::try_from(self.chance.below(2)).unwrap();
        let Some(phone) = self.phones[number].take() else {
            return self.open_form().await;
        };
        let is_open = self.is_open(self.others).await;
        let values = phone.values("firstName");
        let place = usize::try_from(self.chance.below(values.len().max(1) as u64)).unwrap();
        let before = values.get(place).cloned().unwrap_or_default();
        let is_removed = !before.is_empty() && self.chance.below(3) == 0;
        self.used_names += 1;
        let name = format!("Guest{}", self.used_names);
        let document = format!("D-{name}");
        let fields = [
            format!("g.{place}.firstName"),
            format!("g.{place}.documentNumber"),
        ];
        let removal = [("remove".to_owned(), place.to_string())];
        let typed: Vec<(&str, &str)> = if is_removed {
            removal
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect()
        } else {
            vec![(&fields[0], &name), (&fields[1], &document)]
        };
        self.note(format!(
            "phone {number} {} {before} to {name} at {place} {is_open:?}",
            if is_removed { "removes" } else { "changes" }
        ));
        let status = phone.send(&typed).await;
        let expected = match Self::expected(is_open) {
            200 => 303,
            other => other,
        };
        assert_eq!(status, expected, "{:?}", self.log);
        if expected != 303 {
            return;
        }
        let known = phone
            .value(&format!("id.{place}"))
            .filter(|id| self.saved_names.contains_key(id));
        match known {
            Some(known) if is_removed => drop(self.saved_names.remove(&known)),
            Some(known) => drop(self.saved_names.insert(known, name)),
            None if is_removed => {}
            // The service gives an id to a new guest. If this phone saves a guest whom the other
            // phone has removed, the service adds the guest again with a new id.
            None => {
                let view = self.house.step_view(self.others, "en").await;
                let guests = view["answers"]["guests"].as_array().unwrap();
                let new = guests
                    .iter()
                    .find(|guest| guest["firstName"] == name)
                    .unwrap();
                self.saved_names
                    .insert(new["id"].as_str().unwrap().to_owned(), name);
            }
        }
    }

    async fn accept(&mut self) {
        let is_open = self.is_open(self.rules).await;
        self.note(format!("accepts {is_open:?}"));
        let answer = self
            .house
            .answer(self.rules, json!({ "isAccepted": true }))
            .await;
        assert_eq!(answer.status, Self::expected(is_open), "{:?}", self.log);
    }

    async fn submit(&mut self) {
        let view = self.view().await;
        let is_ready = view["steps"]
            .as_array()
            .unwrap()
            .iter()
            .all(|step| step["isComplete"] == true);
        let is_submitted = ["in_review", "approved"].contains(&view["status"].as_str().unwrap());
        let has_open = view["openSteps"] != json!([]);
        self.note(format!("submits {} {}", view["status"], view["openSteps"]));
        let answer = self.house.submit().await;
        let expected = if is_ready && (!is_submitted || has_open) {
            200
        } else {
            409
        };
        assert_eq!(answer.status, expected, "{:?} {view}", self.log);
        if expected == 200 {
            self.submissions += 1;
            assert_eq!(self.view().await["openSteps"], json!([]), "{:?}", self.log);
            // Nothing has changed since the last submission, so the service refuses another
            // submission.
            assert_eq!(self.house.submit().await.status, 409, "{:?}", self.log);
        }
    }

    async fn decide(&mut self) {
        let path = format!("/reservations/{}/precheckin", self.house.stay);
        if self.chance.below(2) == 0 {
            self.note("staff approve");
            self.house
                .api
                .post(&format!("{path}/approve"), json!({}))
                .await;
        } else {
            let step = self.chance.pick(&[self.details, self.others]);
            self.note(format!("staff ask for {step}"));
            let request = json!({ "message": "Again?", "stepIds": [step] });
            self.house
                .api
                .post(&format!("{path}/request-changes"), request)
                .await;
        }
    }

    async fn change_stay(&mut self) {
        let flat = self.chance.pick(&self.flats);
        let adults = self.chance.pick(&[1, 2, 3]);
        let check_out = self.chance.pick(&["2026-12-15", "2026-12-31"]);
        self.note(format!("stay {flat} {adults} {check_out}"));
        let data = with(
            reservation(Some(flat)),
            json!({ "adults": adults, "checkOut": check_out }),
        );
        self.house
            .org
            .put_record("reservation", self.house.stay, data)
            .await;
    }

    async fn configure(&mut self) {
        match self.chance.below(3) {
            0 => {
                let fields = self.chance.pick(&["city", "firstName"]);
                self.note(format!("requires {fields}"));
                self.house
                    .update(self.details, json!({ "requiredGuestFields": [fields] }))
                    .await
                    .data();
            }
            1 => {
                let text = format!("Version {}", self.chance.below(3));
                self.note(&text);
                let path = format!("/translations/{}/entries/en", self.text);
                self.house
                    .api
                    .ok(Method::PUT, &path, Some(json!({ "text": text })))
                    .await;
            }
            _ => {
                let is_active = self.chance.below(2) == 0;
                self.note(format!("extra step {is_active}"));
                self.house
                    .update(self.extra, json!({ "isActive": is_active }))
                    .await
                    .data();
                if is_active && self.is_open(self.extra).await == Some(true) {
                    self.house.answer(self.extra, json!({})).await.data();
                }
            }
        }
    }

    /// Checks the state after an action. The guest's view has the answers that this test saved, and
    /// names the same open steps as the staff's view. The guest can save every open or incomplete
    /// step. The entry page says that nothing is left to do only if no step is open. The platform
    /// has one notice for each submission.
    async fn check(&self) {
        let view = self.view().await;
        let read = self
            .house
            .api
            .get(&format!("/reservations/{}/precheckin", self.house.stay))
            .await
            .data();
        assert_eq!(read["openSteps"], view["openSteps"], "{:?}", self.log);
        let open: Vec<&Value> = view["openSteps"].as_array().unwrap().iter().collect();
        for step in view["steps"].as_array().unwrap() {
            // Check-in is still to come, so every incomplete step can be saved.
            assert!(
                step["isComplete"] == true || step["isOpen"] == true,
                "{step} {:?}",
                self.log
            );
            assert!(
                !open.contains(&&step["id"]) || step["isOpen"] == true,
                "{step} {:?}",
                self.log
            );
            if id(&step["id"]) == self.others {
                self.check_guests(&step["answers"]["guests"]);
            }
            if id(&step["id"]) == self.details && !self.lead.is_empty() {
                assert_eq!(
                    step["answers"],
                    Value::Object(self.lead.clone()),
                    "{:?}",
                    self.log
                );
            }
        }
        let app = self.house.org.app;
        let home = app
            .http
            .get(format!("{}/stay/{}", app.base, self.house.token))
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        let is_done = home.contains("There is nothing left to do.");
        assert!(
            !is_done || (!home.contains("To do") && open.is_empty()),
            "{home} {:?}",
            self.log
        );
        let path = self.house.org.path("/guest-changes?limit=1000");
        let changes = app.platform().get(&path).await.data();
        let reported = changes["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|change| change["kind"] == "submitted")
            .count();
        assert_eq!(reported, self.submissions, "{:?}", self.log);
    }

    fn check_guests(&self, guests: &Value) {
        let guests: Vec<&Value> = guests.as_array().into_iter().flatten().collect();
        let text = |guest: &Value, field: &str| guest[field].as_str().unwrap().to_owned();
        let names: BTreeMap<String, String> = guests
            .iter()
            .map(|guest| (text(guest, "id"), text(guest, "firstName")))
            .collect();
        assert_eq!(
            (&names, names.len()),
            (&self.saved_names, guests.len()),
            "{:?}",
            self.log
        );
        for guest in guests {
            let document = format!("D-{}", guest["firstName"].as_str().unwrap());
            assert_eq!(guest["documentNumber"], document, "{:?}", self.log);
        }
    }
}

on_both!(random_changes_never_block_or_lose_the_guests_answers);
async fn random_changes_never_block_or_lose_the_guests_answers(app: App) {
    for seed in 1..=SEQUENCES {
        let house = House::build(&app).await;
        let mut world = World::build(&house, seed).await;
        for _ in 0..ACTIONS {
            world.act().await;
            world.check().await;
        }
    }
}

on_both!(concurrent_forms_save_every_guest);
/// Two phones send forms at the same time. The service saves the guests of both forms.
async fn concurrent_forms_save_every_guest(app: App) {
    let house = House::build(&app).await;
    let step = house
        .step(
            "other_guests",
            json!({ "requiredGuestFields": ["firstName"] }),
        )
        .await;
    let save = |name: String| {
        let token = house.token.clone();
        let app = &app;
        async move {
            let body =
                json!({ "answers": { "guests": [{ "firstName": name }] }, "isChange": true });
            guest(
                app,
                &token,
                Method::PUT,
                &format!("/steps/{step}"),
                Some(body),
            )
            .await
            .data();
        }
    };
    futures_util::future::join_all((0..8).map(|number| save(format!("Guest {number}")))).await;
    let guests = house.step_view(step, "en").await["answers"]["guests"].clone();
    let names: BTreeSet<&str> = guests
        .as_array()
        .unwrap()
        .iter()
        .map(|guest| guest["firstName"].as_str().unwrap())
        .collect();
    assert_eq!((names.len(), guests.as_array().unwrap().len()), (8, 8));
}
