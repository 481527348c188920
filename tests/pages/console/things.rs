//! Test data for the console: an organization with one resource of each type, and the console
//! addresses of these resources. Every text in the organization is the same.

use engine::access::Permission;
use reqwest::Method;
use serde_json::{Value, json};
use strum::VariantArray;
use test_support::files::send;
use test_support::house::{House, guest, id};
use test_support::{App, new_id, reservation};
use uuid::Uuid;
use vestibule_console::ScreenAddress;

use crate::oauth::connect;
use crate::people::{Browser, signed_in};

/// An HTTPS address on which nothing listens. The flag [`WEBHOOKS`] allows webhooks to this
/// address.
const CLOSED_ADDRESS: &str = "https://127.0.0.1:9/hook";
pub const WEBHOOKS: &str = "--webhook-allow=127.0.0.0/8";
/// The flag that allows members to create API keys.
pub const KEYS: &str = "--console-keys";

/// An organization with one resource of each type.
pub struct Things<'a> {
    pub house: House<'a>,
    /// A member with all permissions who has connected an app.
    pub member: Uuid,
    pub browser: Browser,
    /// The steps that the guest completes: an agreement, a document upload and questions.
    pub steps: [Uuid; 3],
    pub branding: Uuid,
    pub step: Uuid,
    pub questions: Uuid,
    pub manual: Uuid,
    pub category: Uuid,
    /// Id of the text that is the manual's title.
    pub text: Uuid,
    /// A stay whose guest submitted the pre-check-in, after which staff requested changes. The stay
    /// of the field `house` has also been submitted, and waits for review.
    pub asked: Uuid,
    /// Id of a webhook subscription that the member created. The delivery of a ping to it has
    /// failed.
    pub webhook: String,
    /// Id of the failed delivery of a ping to the subscription `webhook`.
    pub delivery: String,
    /// A calendar feed of the flat. The calendar's host does not respond.
    pub feed: Uuid,
    /// An API key without permissions.
    pub key: Uuid,
    /// A tag that an API client created with `putRecords`. The platform did not create it.
    pub tag: Uuid,
}

impl<'a> Things<'a> {
    /// Creates every resource with `text` as each of its texts. `text` must fit the shortest field.
    #[expect(clippy::too_many_lines, reason = "one of each kind of resource")]
    pub async fn make(app: &'a App, text: &str) -> Self {
        let mut house = House::build(app).await;
        house
            .org
            .put(
                "",
                json!({ "name": text, "country": "ES", "languages": ["en", "es", "fr"] }),
            )
            .await;
        let (org, api) = (
            test_support::Org {
                app,
                id: house.org.id,
                oauth_app: house.org.oauth_app,
            },
            house.api.clone(),
        );
        app.platform()
            .ok(
                Method::PUT,
                &format!("/oauth-apps/{}", org.oauth_app),
                Some(json!({ "name": text, "redirectUris": ["https://client.example/cb"] })),
            )
            .await;
        let create = async |path: &str, body: Value| id(&api.post(path, body).await.data()["id"]);
        for (kind, record) in [("property_group", house.group), ("tag", house.tag)] {
            org.put_record(kind, record, json!({ "name": text })).await;
        }
        let flat = json!({
            "name": text,
            "timezone": "Europe/Madrid",
            "country": "ES",
            "checkInTime": "15:00",
            "checkOutTime": "11:00",
            "propertyGroupId": house.group,
            "tagIds": [house.tag],
        });
        org.put_record("property", house.flat, flat).await;
        for kind in ["fee_product", "background_check_account", "custom_field"] {
            org.record(kind, json!({ "name": text })).await;
        }
        org.record(
            "payment_account",
            json!({ "name": text, "isActive": true, "isDefault": true }),
        )
        .await;
        let branding = create(
            "/portal-brandings",
            json!({
                "name": text,
                "nickname": text,
                "calloutMessage": text,
                "primaryColor": "#0E7490",
            }),
        )
        .await;
        house
            .update_portal(
                house.portal,
                json!({
                    "name": text,
                    "brandingId": branding,
                    "supportNotes": text,
                    "specialOfferTitle": text,
                    "specialOfferCtaText": text,
                    "precheckinPromptMessage": text,
                    "isManualReviewEnabled": true,
                }),
            )
            .await;
        house
            .scopes(
                "add",
                "portal_settings",
                house.portal,
                json!({
                    "propertyIds": [house.flat],
                    "propertyGroupIds": [house.group],
                    "tagIds": [house.tag],
                }),
            )
            .await;
        let agreement = house
            .step(
                "agreement",
                json!({ "nickname": text, "displayTitle": text, "contractTemplateText": text }),
            )
            .await;
        let upload = house
            .step(
                "document_upload",
                json!({ "nickname": text, "requiredDocumentTypes": ["passport"] }),
            )
            .await;
        // The steps that the guest completes: an agreement, a document upload and questions.
        let (question, option) = (
            house.text(&[("en", text), ("es", text)]).await,
            house.text(&[("en", text)]).await,
        );
        let asked = json!([
            {
                "kind": "single_select",
                "textMlTextId": question,
                "options": [{ "nameMlTextId": option }],
            },
            { "kind": "free_form_input", "textMlTextId": question },
        ]);
        let questions = house
            .step(
                "additional_questions",
                json!({ "nickname": text, "questions": asked }),
            )
            .await;
        // Another system completes these two steps. Their rules exclude the stay's booking channel,
        // so they do not block the submission. There are two, because a step can swap its position
        // only with a step of the same type.
        let deposit = json!({
            "nickname": text,
            "displayTitle": text,
            "excludedSources": [text],
            "inclusionType": "all_except_selected",
            "isSecurityDepositEnabled": true,
        });
        house.step("damage_deposit", deposit.clone()).await;
        let step = house.step("damage_deposit", deposit).await;
        house
            .scopes(
                "add",
                "precheck_step",
                step,
                json!({ "portalSettingsIds": [house.portal], "tagIds": [house.tag] }),
            )
            .await;
        let category = create("/portal-manual-categories", json!({ "title": text })).await;
        create(
            "/portal-manual-categories",
            json!({ "title": format!("{text} 2") }),
        )
        .await;
        let manual = api.post("/portal-manuals", json!({
            "nickname": text,
            "title": text,
            "description": text,
            "internalDescription": text,
            "iconName": "wifi",
            "manualCategoryId": category,
            "isActive": true,
            "visibilityRules": [
                {
                    "ruleCategory": "seasonal",
                    "seasonalWindows": [{ "startDate": "2027-06-01", "endDate": "2027-08-31" }],
                },
            ],
        })).await.data();
        let (manual, title) = (id(&manual["id"]), id(&manual["titleId"]));
        house
            .scopes(
                "add",
                "manual",
                manual,
                json!({ "propertyIds": [house.flat] }),
            )
            .await;
        // The submission of the first stay waits for review. Staff have requested changes to the
        // submission of the second stay.
        let (mut second, steps) = (Uuid::nil(), [agreement, upload, questions]);
        for is_second in [true, false] {
            // The guest of the second stay arrives today, so the console's home lists that stay.
            let check_in = is_second.then(|| app.clock.now().to_string()[..10].to_owned());
            let (stay, token) = submitted_stay(&house, steps, (text, text), check_in).await;
            if is_second {
                api.post(
                    &format!("/reservations/{stay}/precheckin/request-changes"),
                    json!({ "stepIds": [agreement], "message": text }),
                )
                .await
                .data();
                second = stay;
            } else {
                (house.stay, house.token) = (stay, token);
            }
        }
        let member = new_id();
        house
            .org
            .put(
                &format!("/members/{member}"),
                json!({
                    "name": text,
                    "email": "ada@example.com",
                    "permissions": Permission::VARIANTS,
                    "propertyIds": null,
                    "isActive": true,
                    "isTwoFactorEnrolled": true,
                }),
            )
            .await;
        connect(&house.org, member).await;
        let browser = signed_in(&house.org, member).await;
        let (webhook, delivery) = subscribed(&browser, "task.created").await.unwrap();
        let key = app
            .platform()
            .post(
                &house.org.path("/api-keys"),
                json!({ "name": text, "permissions": [] }),
            )
            .await
            .data();
        // This change adds an audit entry that contains both the previous text and the new one.
        house
            .update_portal(
                house.portal,
                json!({ "supportNotes": format!("{text} again") }),
            )
            .await;
        let key = id(&key["id"]);
        let tag = new_id();
        let record = json!({ "kind": "tag", "id": tag, "data": { "name": text } });
        api.post("/records", json!({ "records": [record] }))
            .await
            .data();
        let feed = json!({
            "propertyId": house.flat,
            "url": "https://127.0.0.1:9/feed.ics",
            "channel": text,
        });
        let feed = id(&house.api.post("/calendar-feeds", feed).await.data()["id"]);
        Self {
            feed,
            house,
            steps,
            member,
            browser,
            branding,
            step,
            questions,
            manual,
            category,
            text: title,
            asked: second,
            webhook,
            delivery,
            key,
            tag,
        }
    }

    /// Returns the paths of a console address with the ids of these resources filled in. An address
    /// without ids has one path. A new screen needs an entry here.
    pub fn at(&self, address: &ScreenAddress) -> Vec<String> {
        let path = &*address.path;
        let House { portal, stay, .. } = &self.house;
        let Self {
            branding,
            step,
            questions,
            manual,
            category,
            text,
            asked,
            webhook,
            feed,
            key,
            tag,
            ..
        } = self;
        let app = self.house.org.oauth_app;
        if path.ends_with("/access/end") {
            return vec![format!("{path}?app={app}&member={}", self.member)];
        }
        if !path.contains('{') {
            return vec![path.to_owned()];
        }
        let screen = path.split('/').nth(2).unwrap();
        let ids: Vec<String> = match screen {
            "portals" => vec![portal.to_string()],
            "brandings" => vec![branding.to_string()],
            "steps" if path.contains("questions") => vec![questions.to_string()],
            "steps" => vec![step.to_string(), questions.to_string()],
            "manuals" => vec![manual.to_string()],
            "categories" => vec![category.to_string()],
            "translations" => vec![text.to_string()],
            "submissions" | "stays" => vec![stay.to_string(), asked.to_string()],
            "webhooks" => vec![webhook.clone()],
            "access" if path.contains("members") => vec![self.member.to_string()],
            "calendars" => vec![feed.to_string()],
            "access" => vec![key.to_string()],
            "flats" => {
                return vec![format!(
                    "{}?kind=tag",
                    path.replace("{id}", &tag.to_string())
                )];
            }
            "assignments" => {
                return [("portals", portal), ("steps", step), ("manuals", manual)]
                    .map(|(entity, id)| {
                        path.replace("{entity}", entity)
                            .replace("{id}", &id.to_string())
                    })
                    .into();
            }
            _ => panic!("{} has no place among the things: {path}", address.name),
        };
        ids.iter()
            .map(|id| {
                path.replace("{id}", id)
                    .replace("{delivery}", &self.delivery)
            })
            .collect()
    }
}

/// Creates a stay whose guest has completed and submitted all steps. Returns the stay's id and its
/// token.
pub async fn submitted_stay(
    house: &House<'_>,
    steps: [Uuid; 3],
    (text, source): (&str, &str),
    check_in: Option<String>,
) -> (Uuid, String) {
    let (app, [agreement, upload, questions]) = (house.org.app, steps);
    let mut data = reservation(Some(house.flat));
    (
        data["guest"]["firstName"],
        data["guest"]["lastName"],
        data["channel"],
    ) = (text.into(), text.into(), source.into());
    if let Some(day) = check_in {
        data["checkIn"] = day.into();
    }
    let stay = house.org.record("reservation", data).await;
    let token = house.org.stay_token(stay).await;
    let put = async |path: String, body: Value| {
        drop(
            guest(app, &token, Method::PUT, &path, Some(body))
                .await
                .data(),
        );
    };
    put(
        format!("/steps/{agreement}"),
        json!({ "answers": { "isAccepted": true, "signedName": text } }),
    )
    .await;
    let view = app.stay(&token, "").await.data();
    let view = view["precheckin"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|view| id(&view["id"]) == questions)
        .unwrap()
        .clone();
    let (first, free) = (&view["questions"][0], &view["questions"][1]);
    let answers = json!({
        first["id"].as_str().unwrap(): { "optionIds": [first["options"][0]["id"]] },
        free["id"].as_str().unwrap(): { "text": text },
    });
    put(format!("/steps/{questions}"), json!({ "answers": answers })).await;
    let name = text.replace('"', "");
    let parts: [(&str, Option<&str>, &[u8]); 2] = [
        (
            "file",
            Some(&name),
            b"\xFF\xD8\xFF\xE0\0\x10JFIF\0 a passport",
        ),
        ("documentType", None, b"passport"),
    ];
    send(app, &token, upload, &parts).await.data();
    guest(
        app,
        &token,
        Method::POST,
        "/messages",
        Some(json!({ "text": text })),
    )
    .await
    .data();
    guest(app, &token, Method::POST, "/submit", None)
        .await
        .data();
    (stay, token)
}

/// Creates a subscription to `event` in the console and sends a ping. Returns the ids of the
/// subscription and of the ping's delivery. Returns `None` if the member may not create
/// subscriptions, or if the form does not offer the event.
pub async fn subscribed(browser: &Browser, event: &str) -> Option<(String, String)> {
    let response = browser.get("/console/webhooks/new").await;
    if response.status != 200 || !response.body.to_string().contains(event) {
        return None;
    }
    let form = super::Form::of(response.body.as_str().unwrap(), "/webhooks/new")
        .with("event", event)
        .with("targetUrl", CLOSED_ADDRESS);
    let created = form.send(browser).await;
    if created.status == 403 {
        return None;
    }
    let created = super::html(&created);
    let webhook = created
        .split("/console/webhooks/")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    let page = super::page(browser, &format!("/console/webhooks/{webhook}")).await;
    let (_, page) = super::Form::of(&page, "/ping").done(browser, "sent").await;
    let delivery = page
        .split("</time> · ")
        .nth(1)
        .unwrap()
        .split('<')
        .next()
        .unwrap()
        .to_owned();
    Some((webhook, delivery))
}
