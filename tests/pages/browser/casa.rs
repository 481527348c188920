//! Test data for the guest page: a flat with every step type, manuals and contact details, and
//! stays in every state.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use test_support::STEP_TYPES;
use test_support::house::{House, guest, id, with};
use test_support::{ApiResponse, App, reservation};

/// A PNG of one pixel.
const PICTURE: &str = concat!(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
);

/// Check-in and check-out dates, named after the phase of the stay when the tests' clock starts, in
/// the morning of 21 November 2026.
pub const BEFORE: (&str, &str) = ("2026-12-11", "2026-12-15");
pub const ARRIVAL_DAY: (&str, &str) = ("2026-11-21", "2026-11-25");
pub const DURING: (&str, &str) = ("2026-11-19", "2026-11-25");
pub const DEPARTURE_DAY: (&str, &str) = ("2026-11-18", "2026-11-21");
pub const AFTER: (&str, &str) = ("2026-11-10", "2026-11-15");

/// A flat with manuals and with a step of each type. `steps` has the type and the id of each step.
pub struct Casa<'a> {
    pub house: House<'a>,
    pub steps: Vec<(&'static str, Uuid)>,
    pub manuals: Vec<Uuid>,
}

impl<'a> Casa<'a> {
    pub async fn build(app: &'a App) -> Self {
        let house = flat(app).await;
        let mut steps = Vec::new();
        for step_type in STEP_TYPES {
            steps.push((
                step_type,
                house
                    .step(step_type, step_fields(&house, step_type).await)
                    .await,
            ));
        }
        let manuals = manuals(&house).await;
        Self {
            house,
            steps,
            manuals,
        }
    }

    /// Creates another stay in the flat. Returns the stay's token.
    pub async fn stay(&self, dates: (&str, &str), more: Value) -> String {
        self.stay_of(dates, more).await.1
    }

    /// Creates another stay in the flat. Returns its id and its token.
    async fn stay_of(&self, (check_in, check_out): (&str, &str), more: Value) -> (Uuid, String) {
        let org = &self.house.org;
        let fields =
            json!({ "checkIn": check_in, "checkOut": check_out, "adults": 2, "children": 0 });
        let stay = org
            .record(
                "reservation",
                with(with(reservation(Some(self.house.flat)), fields), more),
            )
            .await;
        (stay, org.stay_token(stay).await)
    }

    /// Returns the token of a stay for which the host has requested changes to three steps.
    pub async fn sent_back(&self) -> String {
        let (stay, token) = self.stay_of(BEFORE, json!({})).await;
        self.submit_all(&token).await;
        let steps: Vec<Uuid> = self.steps.iter().map(|(_, step)| *step).take(3).collect();
        let request = json!({
            "message": "We could not read the number.\nPlease check it.",
            "stepIds": steps,
        });
        self.house
            .api
            .post(
                &format!("/reservations/{stay}/precheckin/request-changes"),
                request,
            )
            .await
            .data();
        token
    }

    /// Returns the token of a stay whose guest has uploaded a picture and a document.
    pub async fn with_files(&self) -> String {
        let token = self.stay(BEFORE, json!({})).await;
        let step = self.step("document_upload");
        let picture = BASE64_STANDARD.decode(PICTURE).unwrap();
        for (name, content) in [
            ("passport.png", picture.as_slice()),
            (
                "a very long name of a visa, both sides, second attempt.pdf",
                b"%PDF-1.7 visa",
            ),
        ] {
            self.send_file(&token, step, name, content).await;
        }
        token
    }

    /// Uploads a file to a step of a stay.
    pub async fn send_file(&self, token: &str, step: Uuid, name: &str, content: &[u8]) {
        let app = self.house.org.app;
        let part = format!(
            "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        );
        let body = [part.as_bytes(), content, b"\r\n--XX--\r\n"].concat();
        let request = app.http.post(format!(
            "{}/guest/v1/stays/{token}/steps/{step}/files",
            app.base
        ));
        ApiResponse::of(
            request
                .header("content-type", "multipart/form-data; boundary=XX")
                .body(body),
        )
        .await
        .data();
    }

    /// Returns the id of the step that has this type.
    pub fn step(&self, step_type: &str) -> Uuid {
        self.steps
            .iter()
            .find(|(there, _)| *there == step_type)
            .unwrap()
            .1
    }

    /// Returns the token of a preview that also shows inactive manuals and steps.
    pub async fn preview(&self) -> String {
        let fields = json!({
            "nickname": "draft",
            "title": "A draft",
            "description": "Not yet.",
            "propertyId": self.house.flat,
        });
        self.house.api.post("/portal-manuals", fields).await.data();
        let body = json!({ "propertyId": self.house.flat, "includeInactive": true });
        let created = self
            .house
            .api
            .post(&format!("/portals/{}/preview", self.house.portal), body)
            .await
            .data();
        created["url"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned()
    }

    /// Reads the guest view of a stay.
    pub async fn view(&self, token: &str) -> Value {
        self.house.org.app.stay(token, "").await.data()
    }

    /// Saves answers to all steps of a stay.
    pub async fn answer_all(&self, token: &str) {
        let app = self.house.org.app;
        for step in self.view(token).await["precheckin"]["steps"]
            .as_array()
            .unwrap()
        {
            let path = format!("/steps/{}", step["id"].as_str().unwrap());
            if step["stepType"] == "identity_check" {
                let step = self.step("identity_check");
                self.send_file(token, step, "passport.pdf", b"%PDF-1.7 passport")
                    .await;
                continue;
            }
            let saved = guest(
                app,
                token,
                Method::PUT,
                &path,
                Some(json!({ "answers": answers(step) })),
            )
            .await
            .data();
            let state = saved["state"].as_str().unwrap();
            assert!(["done", "pending"].contains(&state), "{step}");
        }
    }

    /// Saves answers to all steps of a stay, reports that the background check is completed, and
    /// submits the stay's pre-check-in.
    pub async fn submit_all(&self, token: &str) {
        self.answer_all(token).await;
        let stay = self.view(token).await["reservation"]["id"].clone();
        let check = self.step("background_check");
        let org = &self.house.org;
        let path = format!("/reservations/{}/steps/{check}", stay.as_str().unwrap());
        let body = json!({ "status": "completed" });
        org.app
            .platform()
            .ok(Method::PUT, &org.path(&path), Some(body))
            .await;
        guest(self.house.org.app, token, Method::POST, "/submit", None)
            .await
            .data();
    }
}

async fn flat(app: &App) -> House<'_> {
    let org = app
        .org_with(json!({ "name": "Casa", "country": "ES", "languages": ["en", "es", "fr", "ar"] }))
        .await;
    let api = org.key().await;
    let (group, tag) = (org.group().await, org.tag().await);
    let flat = json!({
        "name": "Bright flat by the market",
        "timezone": "Europe/Madrid",
        "country": "ES",
        "checkInTime": "15:00",
        "checkOutTime": "11:00",
        "address": "Carrer de la Marina 271, 08025 Barcelona",
        "latitude": 41.405,
        "longitude": 2.176,
        "wifiName": "Casa; \"Mar\"",
        "wifiPassword": "sal y pan 2026",
        "propertyGroupId": group,
        "tagIds": [tag],
    });
    let flat = org.record("property", flat).await;
    let cot = json!({
        "name": "Cot and high chair",
        "description": "For the whole stay.",
        "priceCents": 1500,
        "currency": "EUR",
    });
    org.record("upsell", cot).await;
    let bell = json!({
        "scopeId": flat,
        "title": "Ring the bell",
        "position": 0,
        "text": "The one at the top.",
    });
    org.record("instruction", bell).await;
    // White text on the primary or secondary colour would be unreadable, and so would the text
    // colour on the white page. So the service must choose other colours for these texts.
    let branding = json!({
        "name": "Casa Mar",
        "primaryColor": "#F59E0B",
        "secondaryColor": "#FDE68A",
        "textColor": "#F8FAFC",
        "calloutMessage": "Welcome! We answer from 9:00 to 21:00.",
    });
    let branding = api.post("/portal-brandings", branding).await.data();
    let portal = json!({
        "name": "Casa",
        "isDefault": true,
        "brandingId": branding["id"],
        "supportEmail": "hello@casa.example",
        "supportPhone": "93 412 34 56",
        "supportWhatsapp": "612 34 56 78",
        "communicationMethod": "whatsapp",
        "supportNotes": "Call twice, we may be on the roof.",
        "isSpecialOfferActive": true,
        "specialOfferType": "Offer",
        "specialOfferTitle": "Late check-out until 14:00",
        "specialOfferCtaText": "Ask for it",
        "specialOfferUrl": "https://casa.example/late",
        "excludedQuickAccessTypes": [],
    });
    let portal = id(&api.post("/portals", portal).await.data()["id"]);
    let stay = org.reservation(Some(flat)).await;
    let token = org.stay_token(stay).await;
    House {
        org,
        api,
        group,
        tag,
        flat,
        portal,
        stay,
        token,
    }
}

/// Returns the configuration of a step. Together, the steps of all types contain every kind of form
/// field.
async fn step_fields(house: &House<'_>, step_type: &str) -> Value {
    match step_type {
        "your_details" => json!({
            "requiredGuestFields": [
                "firstName", "lastName", "email", "phone", "birthDate", "gender", "nationality",
                "documentType", "documentNumber", "address", "city", "postalCode", "country",
                "Car plate",
            ],
        }),
        "other_guests" => json!({ "requiredGuestFields": ["firstName", "lastName", "birthDate"] }),
        "agreement" => json!({
            "agreementType": "esign_a",
            "isMandatorySigning": true,
            "contractTemplateText": "No parties.\nNo noise after ten.\n".repeat(40),
        }),
        "additional_questions" => {
            let text = async |english: &str| house.text(&[("en", english), ("ar", "سؤال")]).await;
            json!({
                "questions": [
                    {
                        "kind": "yes_no",
                        "textMlTextId": text("Will you drive?").await,
                        "isRequired": true,
                    },
                    {
                        "kind": "single_select",
                        "textMlTextId": text("Which bed?").await,
                        "options": [
                            { "nameMlTextId": text("Double").await },
                            { "nameMlTextId": text("Twins").await },
                        ],
                    },
                    {
                        "kind": "multi_select",
                        "textMlTextId": text("What shall we prepare?").await,
                        "options": [
                            { "nameMlTextId": text("Crib").await },
                            { "nameMlTextId": text("High chair").await },
                        ],
                    },
                    {
                        "kind": "free_form_input",
                        "textMlTextId": text("When do you arrive?").await,
                        "isRequired": true,
                    },
                ],
            })
        }
        "damage_deposit" => {
            house
                .org
                .record(
                    "damage_waiver",
                    json!({ "name": "Peace of mind", "priceCents": 1900 }),
                )
                .await;
            json!({
                "isSecurityDepositEnabled": true,
                "securityDepositAmountCents": 30000,
                "isDamageWaiverEnabled": true,
                "damageWaiverMinLos": 0,
                "damageWaiverCapCents": 150_000,
                "damageWaiverPricingBasis": "per_stay",
            })
        }
        _ => json!({}),
    }
}

async fn manuals(house: &House<'_>) -> Vec<Uuid> {
    let prose = "## Bins\n\nTake them *down*, see [the map](https://map.example).\n\n1. Glass\n2. \
        Paper\n\n| Day | Bin |\n|---|---|\n| Monday | Glass \
        |\n\n`aVeryLongWordThatDoesNotEndBeforeTheScreenOfASmallPhone\
        DoesSoThatItHasToBeBrokenSomewhere`";
    let heading = house
        .api
        .post("/portal-manual-categories", json!({ "title": "At home" }))
        .await
        .data()["id"]
        .clone();
    let mut manuals = Vec::new();
    for fields in [
        json!({
            "title": "The door",
            "iconName": "key-round",
            "description": "Turn left. The code is **4711#**.",
        }),
        json!({ "title": "Wi-Fi", "iconName": "wifi", "description": "Fibre." }),
        json!({
            "title": "Leaving",
            "iconName": "log-out",
            "description": "Leave the keys on the table.",
        }),
        json!({
            "title": "Bins",
            "iconName": "trash-2",
            "description": prose,
            "manualCategoryId": heading,
        }),
        json!({
            "title": "Oven",
            "iconName": "cooking-pot",
            "description": "# It is hot",
            "manualCategoryId": heading,
            "videoUrl": "https://video.example/1",
        }),
        json!({ "title": "Be kind", "manualCategoryId": heading }),
    ] {
        let fields = with(
            json!({ "nickname": "for the team", "isActive": true, "propertyId": house.flat }),
            fields,
        );
        manuals.push(id(
            &house.api.post("/portal-manuals", fields).await.data()["id"]
        ));
    }
    manuals
}

/// Returns answers that complete a step. `step` is the guest's view of the step.
fn answers(step: &Value) -> Value {
    let person = || {
        let fields = step["requiredFields"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|name| name.as_str().unwrap());
        let value = |name: &str| match name {
            "email" => "ada@example.com",
            "phone" => "+34612345678",
            "birthDate" => "1985-03-27",
            "gender" => "female",
            "nationality" | "country" => "ES",
            "documentType" => "passport",
            _ => "Ada",
        };
        fields
            .map(|name| (name.to_owned(), json!(value(name))))
            .collect::<serde_json::Map<_, _>>()
    };
    match step["stepType"].as_str().unwrap() {
        "your_details" => json!(person()),
        "other_guests" => json!({ "guests": [person()] }),
        "agreement" => json!({ "isAccepted": true, "signedName": "Ada L" }),
        "damage_deposit" => json!({ "choice": "deposit" }),
        "additional_questions" => {
            let answer = |question: &Value| match question["options"]
                .as_array()
                .and_then(|options| options.first())
            {
                Some(option) => json!({ "optionIds": [option["id"]] }),
                None => json!({ "text": "At noon" }),
            };
            let questions = step["questions"].as_array().unwrap().iter();
            questions
                .map(|question| {
                    (
                        question["id"].as_str().unwrap().to_owned(),
                        answer(question),
                    )
                })
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
        "background_check" => json!({ "isAccepted": true }),
        _ => json!({ "isConfirmed": true }),
    }
}
