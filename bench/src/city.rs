//! Sets up an organization of the size of a city: properties, portals, pre-check-in steps, and the
//! guest of one property. The file `library.rs` sets up the manuals.
//!
//! Random choices are the same in every run. Steps and portals are assigned only to properties that
//! exist in organizations of all sizes. So the guest's property has the same steps in an
//! organization of any size.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::client::{ChangingPortal, Client, PORTALS, PRECHECK_STEPS};
use crate::keys::scatter;
use crate::server::Server;
use crate::setup::{self, ORGANIZATION};

/// Number of properties of an organization of the size of a city.
pub const CITY_PROPERTIES: u64 = 16_055;
/// Number of properties of the smaller organization, a tenth of those of a city.
pub const SMALL_CITY_PROPERTIES: u64 = 1_605;
/// Number of pre-check-in steps of an organization of any size.
pub const STEPS: u64 = 1_000;

/// Number of property groups.
pub const GROUPS: u64 = 10;
pub const TAGS: u64 = 70;
/// Number of portals. The first one is the default portal. The next ones are assigned to property
/// groups, those after them to tags, and the rest to properties.
const PORTAL_COUNT: u64 = 20;
/// The minimum number of steps of the measured stay. With fewer steps, the guest's view would not
/// be worth measuring.
const MIN_STAY_STEPS: usize = 20;
/// The maximum number of records in one sync.
const BATCH: usize = 10_000;
/// Maximum number of objects that are created at the same time. Simultaneous creations share a
/// commit, so the set-up is faster.
const MAX_CONCURRENT: usize = 16;

const SCOPES: &str = "/api/v1/entity-scopes";
const TRANSLATIONS: &str = "/api/v1/translations";

/// A text as long as the house rules of a typical flat.
const CONTRACT: &str = "The flat is for the guests named in the booking and for nobody else. There \
    are no parties, there is no smoking, not on the balcony either, and from 22:00 to 8:00 the \
    stairwell and the patio are quiet. Keys that are lost are replaced at the guest's cost. What \
    breaks is reported on the day it breaks. The flat is left by 11:00, with the windows closed, \
    the dishes done and the rubbish taken to the containers on the corner.";
/// The questions of a step with additional questions. Each has the type of its answer, its text,
/// and the options to choose from.
const QUESTIONS: [(&str, &str, &[&str]); 5] = [
    (
        "single_select",
        "How will you arrive?",
        &["By car", "By train", "By plane"],
    ),
    (
        "multi_select",
        "What shall we prepare?",
        &["A cot", "A high chair", "A parking space"],
    ),
    ("yes_no", "Will you arrive after 22:00?", &[]),
    (
        "free_form_input",
        "What is the number of your flight or train?",
        &[],
    ),
    (
        "free_form_input",
        "Is there anything else we should know?",
        &[],
    ),
];

/// A type of objects: its name as a record kind, and a number that distinguishes its ids from those
/// of other types.
#[derive(Clone, Copy)]
pub struct Kind(pub &'static str, pub u64);

pub const PROPERTY: Kind = Kind("property", 1);
pub const GROUP: Kind = Kind("property_group", 2);
pub const TAG: Kind = Kind("tag", 3);
const PAYMENT_ACCOUNT: Kind = Kind("payment_account", 4);
const CHECK_ACCOUNT: Kind = Kind("background_check_account", 5);
const FEE: Kind = Kind("fee_product", 6);
pub const RESERVATION: Kind = Kind("reservation", 7);
const PORTAL: Kind = Kind("portal_settings", 8);
const STEP: Kind = Kind("precheck_step", 9);

impl Kind {
    /// Returns the id of the object with this number. The ids are in random order, like those that
    /// the platform assigns.
    pub fn id(self, number: u64) -> Uuid {
        Uuid::from_u64_pair(scatter(number), self.1)
    }

    fn record(self, number: u64, data: Value) -> Value {
        json!({ "kind": self.0, "id": self.id(number), "data": data })
    }
}

/// A random generator for the content of one object. Its seed is the object's kind and number, so
/// each run creates the same content.
pub struct RandomChoices(u64);

impl RandomChoices {
    pub fn of(kind: Kind, number: u64) -> Self {
        Self((kind.1 << 40) + (number << 16))
    }

    /// Returns a random number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 += 1;
        scatter(self.0) % end
    }

    /// Returns between 1 and `max` random ids of the objects with numbers below `count`. An id may
    /// occur twice.
    pub fn some_of(&mut self, max: u64, count: u64, id: impl Fn(u64) -> Uuid) -> Vec<Uuid> {
        (0..=self.below(max))
            .map(|_| id(self.below(count)))
            .collect()
    }
}

/// An organization, and the requests to it that are measured.
pub struct City {
    pub properties: u64,
    /// The client that makes the measured requests.
    pub client: Client,
    /// The request for the guest's view of the stay.
    pub stay: Page,
    /// The request for the list of pre-check-in steps.
    pub list: Page,
}

/// A GET request that is measured.
pub struct Page {
    path: String,
    /// The portal that is changed before each request, so that the cached response is not valid.
    changing: ChangingPortal,
    /// The number of items in the first response.
    pub count: usize,
    /// The length of the first response in bytes.
    pub bytes: usize,
}

impl City {
    /// Sets up the organization on a server that has no organization yet.
    pub async fn on(server: &Server, properties: u64) -> anyhow::Result<Self> {
        eprintln!("{properties} properties, {STEPS} steps: set-up");
        let (platform, client) = (setup::platform(server)?, setup::organization(server).await?);
        for records in records(properties).chunks(BATCH) {
            let batch = json!({ "isInitialSync": true, "records": records });
            platform
                .request_ok(Method::POST, &format!("{ORGANIZATION}/sync"), Some(&batch))
                .await?;
        }
        let portals = Arc::new(portals(&client).await?);
        let steps = (0..STEPS).zip(step_types().into_iter().cycle());
        run_all(steps.map(|(number, (step_type, type_fields))| {
            step(
                client.clone(),
                portals.clone(),
                number,
                step_type,
                type_fields,
            )
        }))
        .await?;

        let stay = format!("/guest/v1/stays/{}", guest_token(&platform).await?);
        let stay =
            Page::measure(&client, &stay, |data| length(&data["precheckin"]["steps"])).await?;
        ensure!(
            stay.count >= MIN_STAY_STEPS,
            "the stay gets {} steps, fewer than {MIN_STAY_STEPS}",
            stay.count
        );
        let list = Page::measure(&client, PRECHECK_STEPS, length).await?;
        ensure!(
            u64::try_from(list.count)? == STEPS,
            "the list has {} steps in place of {STEPS}",
            list.count
        );
        Ok(Self {
            properties,
            client,
            stay,
            list,
        })
    }
}

impl Page {
    /// Requests a page once, to count the items and bytes of the response. Also creates the portal
    /// whose changes make later responses of the page uncached.
    pub async fn measure(
        client: &Client,
        path: &str,
        count: impl Fn(&Value) -> usize,
    ) -> anyhow::Result<Self> {
        let response = client.request_ok(Method::GET, path, None).await?;
        let envelope: Value = serde_json::from_slice(response.body())?;
        let changing = ChangingPortal::create(client).await?;
        Ok(Self {
            path: path.into(),
            changing,
            count: count(&envelope["data"]),
            bytes: response.body().len(),
        })
    }

    /// Sends the request for this page again. Returns a new `Page` with the number of items and the
    /// length of the new response.
    pub async fn again(
        &self,
        client: &Client,
        count: impl Fn(&Value) -> usize,
    ) -> anyhow::Result<Self> {
        Self::measure(client, &self.path, count).await
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Measures the response times of this GET request repeatedly, as [`Client::latencies`] does.
    pub async fn latencies(
        &self,
        client: &Client,
        length: Duration,
        least: usize,
    ) -> anyhow::Result<Vec<f64>> {
        client
            .latencies(&self.path, &self.changing, length, least)
            .await
    }
}

/// Returns the token of the guest link for the measured stay.
pub async fn guest_token(platform: &Client) -> anyhow::Result<String> {
    let link = format!(
        "{ORGANIZATION}/reservations/{}/guest-link",
        RESERVATION.id(0)
    );
    let link = platform.data(Method::POST, &link, Some(&json!({}))).await?;
    Ok(link["token"]
        .as_str()
        .context("a guest link without a token")?
        .to_owned())
}

/// Returns the number of items of a JSON list.
pub fn length(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

/// Runs all tasks, at most `MAX_CONCURRENT` at a time.
pub async fn run_all(
    tasks: impl Iterator<Item = impl Future<Output = anyhow::Result<()>> + Send + 'static>,
) -> anyhow::Result<()> {
    let mut running = JoinSet::new();
    for task in tasks {
        if running.len() >= MAX_CONCURRENT
            && let Some(result) = running.join_next().await
        {
            result??;
        }
        running.spawn(task);
    }
    while let Some(result) = running.join_next().await {
        result??;
    }
    Ok(())
}

/// Returns the records that the platform sends by sync. A record comes after the records that it
/// refers to.
fn records(properties: u64) -> Vec<Value> {
    let groups = (0..GROUPS)
        .map(|number| GROUP.record(number, json!({ "name": format!("District {number}") })));
    let tags = (0..TAGS)
        .map(|number| TAG.record(number, json!({ "name": format!("Neighbourhood {number}") })));
    let accounts = [
        PAYMENT_ACCOUNT.record(
            0,
            json!({ "name": "Main account", "isActive": true, "isDefault": true }),
        ),
        CHECK_ACCOUNT.record(0, json!({ "name": "Background checks" })),
        FEE.record(0, json!({ "name": "Tourist tax" })),
    ];
    let properties = (0..properties).map(|number| with_group_and_tags(property(number), number));
    groups
        .chain(tags)
        .chain(accounts)
        .chain(properties)
        .chain([stay()])
        .collect()
}

/// Returns the record of a stay in the first property.
pub fn stay() -> Value {
    let data = json!({
        "propertyId": PROPERTY.id(0),
        "status": "confirmed",
        "channel": "direct",
        "bookedAt": "2026-11-02T10:00:00.000Z",
        "checkIn": "2026-12-11",
        "checkOut": "2026-12-15",
        "adults": 2,
        "guest": {
            "firstName": "Ada",
            "lastName": "L",
            "email": "ada@example.com",
            "phone": null,
            "language": "en",
        },
    });
    RESERVATION.record(0, data)
}

/// Assigns a property to a property group and two tags.
fn with_group_and_tags(mut property: Value, number: u64) -> Value {
    let mut chance = RandomChoices::of(PROPERTY, number);
    let (group, tag) = (chance.below(GROUPS), chance.below(TAGS));
    let other = (tag + 1 + chance.below(TAGS - 1)) % TAGS;
    property["data"]["propertyGroupId"] = json!(GROUP.id(group));
    property["data"]["tagIds"] = json!([TAG.id(tag), TAG.id(other)]);
    property
}

/// Returns the record of the property with this number.
pub fn property(number: u64) -> Value {
    let data = json!({
        "name": format!("Flat {number}, two rooms and a balcony"),
        "timezone": "Europe/Madrid",
        "country": "ES",
        "address": {
            "line1": format!("Carrer de Mallorca {number}"),
            "city": "Barcelona",
            "postalCode": "08013",
        },
        "checkInTime": "15:00",
        "checkOutTime": "11:00",
    });
    PROPERTY.record(number, data)
}

/// Creates the portals, and assigns them to property groups, tags and properties. Returns the ids
/// of the portals, by the number of the portal.
async fn portals(client: &Client) -> anyhow::Result<BTreeMap<u64, Uuid>> {
    let mut portals = BTreeMap::new();
    for number in 0..PORTAL_COUNT {
        let mut portal = setup::portal(&number.to_string());
        portal["isDefault"] = (number == 0).into();
        let id = create_object(client, PORTALS, &portal).await?;
        portals.insert(number, id);
        let mut chance = RandomChoices::of(PORTAL, number);
        let (field, targets) = match number {
            0 => continue,
            1..=5 => ("propertyGroupIds", vec![GROUP.id(number)]),
            6..=12 => ("tagIds", chance.some_of(3, TAGS, |tag| TAG.id(tag))),
            _ => (
                "propertyIds",
                chance.some_of(50, SMALL_CITY_PROPERTIES, |property| PROPERTY.id(property)),
            ),
        };
        assign(client, PORTAL, id, field, &targets).await?;
    }
    Ok(portals)
}

/// Returns every type of step. Each has the fields that a step of this type needs to be active.
fn step_types() -> [(&'static str, Value); 12] {
    [
        (
            "your_details",
            json!({ "requiredGuestFields": ["phone", "email"] }),
        ),
        (
            "identity_check",
            json!({ "identityFlagPolicy": { "guest_underage": "review" }, "minimumGuestAge": 18 }),
        ),
        (
            "background_check",
            json!({ "backgroundCheckAccountId": CHECK_ACCOUNT.id(0) }),
        ),
        ("other_guests", json!({})),
        (
            "authority_reporting",
            json!({ "authorityProvider": "police" }),
        ),
        // The function that creates a step of this type also creates the questions of the step.
        (
            "additional_questions",
            json!({ "isManualReviewEnabled": true }),
        ),
        (
            "document_upload",
            json!({
                "requiredDocumentTypes": ["passport", "id_card"],
                "isManualReviewEnabled": true,
            }),
        ),
        (
            "agreement",
            json!({
                "agreementType": "text",
                "contractTemplateText": CONTRACT,
                "isMandatorySigning": true,
            }),
        ),
        ("mandatory_fee", json!({ "feeProductIds": [FEE.id(0)] })),
        (
            "damage_deposit",
            json!({
                "isDamageWaiverEnabled": true,
                "damageWaiverDepositAmountCents": 1_500,
                "damageWaiverCapCents": 50_000,
                "isSecurityDepositEnabled": true,
                "securityDepositAmountCents": 30_000,
                "securityDepositDaysBeforeCheckin": 2,
            }),
        ),
        ("screen_and_protect", json!({})),
        ("main", json!({})),
    ]
}

/// Returns the rule with this number, which decides which reservations get a step. The measured
/// stay matches the rules 0, 1 and 2, but not the other two.
fn rules(number: u64) -> Value {
    match number {
        0 => json!({ "minLos": 2, "maxLos": 28 }),
        1 => json!({ "leadTimeMinDays": 3, "leadTimeMaxDays": 365 }),
        2 => {
            json!({
                "inclusionType": "all_except_selected",
                "excludedSources": ["booking.com"],
                "isReturningGuestExcluded": true,
            })
        }
        3 => json!({ "minLos": 7 }),
        _ => {
            json!({
                "inclusionType": "only_selected",
                "includedSourcesReturning": ["airbnb", "booking.com"],
            })
        }
    }
}

/// Creates the step with this number and assigns it to random tags, property groups, portals or
/// properties, or to none. The content of a step depends only on its number.
async fn step(
    client: Client,
    portals: Arc<BTreeMap<u64, Uuid>>,
    number: u64,
    step_type: &'static str,
    type_fields: Value,
) -> anyhow::Result<()> {
    let mut chance = RandomChoices::of(STEP, number);
    let general = json!({
        "stepType": step_type,
        "nickname": format!("Step {number}"),
        "sortOrder": number,
        "isActive": chance.below(2) == 0,
    });
    let mut step = merge(general, type_fields);
    if chance.below(2) == 0 {
        step["displayTitle"] = format!("What we need from you, part {number}").into();
    }
    if chance.below(3) == 0 {
        step = merge(step, rules(chance.below(5)));
    }
    if step_type == "additional_questions" {
        step["questions"] = questions(&client).await?;
    }
    let id = create_object(&client, PRECHECK_STEPS, &step).await?;
    let (field, targets) = match chance.below(20) {
        0..=6 => ("tagIds", chance.some_of(3, TAGS, |tag| TAG.id(tag))),
        7..=10 => (
            "propertyGroupIds",
            chance.some_of(2, GROUPS, |group| GROUP.id(group)),
        ),
        11..=13 => (
            "portalSettingsIds",
            chance.some_of(2, PORTAL_COUNT, |portal| portals[&portal]),
        ),
        14..=17 => (
            "propertyIds",
            chance.some_of(50, SMALL_CITY_PROPERTIES, |property| PROPERTY.id(property)),
        ),
        _ => return Ok(()),
    };
    assign(&client, STEP, id, field, &targets).await
}

/// Creates a translation for each question and each option of a step. Returns the questions in the
/// form of the request that creates the step.
async fn questions(client: &Client) -> anyhow::Result<Value> {
    let mut questions = Vec::new();
    for (kind, question, names) in QUESTIONS {
        let text = translation(client, question).await?;
        let mut options = Vec::new();
        for name in names {
            options.push(json!({ "nameMlTextId": translation(client, name).await? }));
        }
        questions.push(
            json!({ "kind": kind, "textMlTextId": text, "isRequired": true, "options": options }),
        );
    }
    Ok(questions.into())
}

/// Creates a translatable text for a question or an option. Returns the id of the text.
async fn translation(client: &Client, text: &str) -> anyhow::Result<Uuid> {
    create_object(
        client,
        TRANSLATIONS,
        &json!({ "sourceTable": "precheck_question", "text": text }),
    )
    .await
}

/// Creates an object by a POST request to `path`. Returns the object's id.
pub async fn create_object(client: &Client, path: &str, body: &Value) -> anyhow::Result<Uuid> {
    let response = client.data(Method::POST, path, Some(body)).await?;
    Ok(response["id"]
        .as_str()
        .context("a response without an id")?
        .parse()?)
}

/// Replaces the assignments of an object.
pub async fn assign(
    client: &Client,
    kind: Kind,
    id: Uuid,
    field: &str,
    targets: &[Uuid],
) -> anyhow::Result<()> {
    let scopes = json!({ "entityType": kind.0, "entityId": id, field: targets });
    client
        .request_ok(Method::POST, SCOPES, Some(&scopes))
        .await
        .map(drop)
}

/// Adds the fields of `additional` to a JSON object.
fn merge(mut object: Value, additional: Value) -> Value {
    if let (Some(fields), Value::Object(fields_to_add)) = (object.as_object_mut(), additional) {
        fields.extend(fields_to_add);
    }
    object
}
