//! The kinds of records the platform keeps in step: what each must hold, and what it refers to.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use engine::moment::Moment;
use jiff::civil;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use strum::{AsRefStr, EnumString, IntoStaticStr, VariantArray};
use uuid::Uuid;

/// A kind of record.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, AsRefStr, EnumString, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum Kind {
    Property,
    PropertyGroup,
    Tag,
    Reservation,
    Task,
    Device,
    Review,
    Workflow,
    WorkflowStepRun,
    PaymentAccount,
    BackgroundCheckAccount,
    FeeProduct,
    DamageWaiver,
    CustomField,
    CustomUrl,
    Image,
    Upsell,
    LockCode,
    TaskTemplate,
    Department,
    Shift,
    ClockedShift,
    Instruction,
}

/// A field of a record that names another record.
pub(crate) struct Reference {
    pub(crate) field: &'static str,
    pub(crate) to: Kind,
}

impl Kind {
    /// Whether records of it come and go with the guests, rather than being what the organization is set up from.
    #[must_use]
    pub const fn is_stream(self) -> bool {
        matches!(
            self,
            Self::Reservation
                | Self::Task
                | Self::Device
                | Self::Review
                | Self::WorkflowStepRun
                | Self::LockCode
                | Self::Shift
                | Self::ClockedShift
        )
    }

    /// What 404 calls it.
    #[must_use]
    pub fn label(self) -> String {
        let words = self.as_ref().replace('_', " ");
        let mut letters = words.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
    }

    /// Which of its fields name other records. Sync refuses unknown ones; deleting the other record empties the field.
    pub(crate) const fn references(self) -> &'static [Reference] {
        const PROPERTY: Reference = Reference { field: "propertyId", to: Kind::Property };
        match self {
            Self::Property => {
                &[Reference { field: "propertyGroupId", to: Kind::PropertyGroup }, Reference { field: "tagIds", to: Kind::Tag }]
            }
            Self::Task => &[PROPERTY, Reference { field: "departmentId", to: Kind::Department }],
            Self::Review => &[PROPERTY, Reference { field: "reservationId", to: Kind::Reservation }],
            Self::Reservation | Self::Device => &[PROPERTY],
            Self::WorkflowStepRun => &[Reference { field: "workflowId", to: Kind::Workflow }],
            _ => &[],
        }
    }

    /// Fields that no read of the public interface returns, nor any webhook.
    pub(super) const fn withheld(self) -> &'static [&'static str] {
        match self {
            Self::Property => &["wifiPassword"],
            Self::Review => &["photoKeys"],
            _ => &[],
        }
    }

    /// Whether its data may have a field of this name; the platform may have misspelt any other. Of some kinds the platform
    /// defines all but a name, and none of their fields is a surprise.
    pub(crate) fn knows(self, field: &str) -> bool {
        self.is_free() || self.defines(field)
    }

    /// Whether its schema says what a field of this name holds.
    pub(crate) fn defines(self, field: &str) -> bool {
        static KNOWN: LazyLock<HashMap<Kind, HashSet<String>>> = LazyLock::new(|| {
            let fields = |kind: Kind| kind.fields().1.as_object().map(|fields| fields.keys().cloned().collect());
            Kind::VARIANTS.iter().map(|kind| (*kind, fields(*kind).unwrap_or_default())).collect()
        });
        KNOWN.get(&self).is_some_and(|known| known.contains(field))
    }

    /// Whether the platform defines all but what is required.
    const fn is_free(self) -> bool {
        matches!(
            self,
            Self::BackgroundCheckAccount
                | Self::FeeProduct
                | Self::DamageWaiver
                | Self::CustomField
                | Self::CustomUrl
                | Self::Image
                | Self::Upsell
                | Self::LockCode
                | Self::TaskTemplate
                | Self::Department
                | Self::Shift
                | Self::ClockedShift
        )
    }

    /// The most bytes its data may have as JSON, so that a page of records stays one. What has long texts of its own, and is
    /// in no list, may have more.
    pub(crate) const fn data_limit(self) -> usize {
        match self {
            Self::Review | Self::Workflow => 256 << 10,
            _ => 64 << 10,
        }
    }

    /// The JSON Schema of `data`. What it does not name is the platform's own, and kept.
    #[must_use]
    pub fn schema(self) -> Value {
        let (required, properties) = self.fields();
        json!({ "type": "object", "required": required, "properties": properties })
    }

    /// The JSON Schema of a record as its reads return it.
    #[must_use]
    pub fn view_schema(self) -> Value {
        let (required, mut properties) = self.fields();
        let required: Vec<_> = ["id", "createdAt", "updatedAt"].into_iter().chain(required).collect();
        properties["id"] = id();
        for field in ["createdAt", "updatedAt"] {
            properties[field] = timestamp();
        }
        if let Some(fields) = properties.as_object_mut() {
            fields.retain(|field, _| !self.withheld().contains(&field.as_str()));
        }
        if self == Self::Review {
            // Photos are read at addresses of their own; the keys stay with the platform.
            properties["photoUrls"] = json!({ "type": "array", "items": { "type": "string", "format": "uri" } });
        }
        for reference in self.references() {
            // What was deleted since reads as pointing at nothing.
            if properties[reference.field]["type"] == "string" {
                properties[reference.field] = or_null(properties[reference.field].take());
            }
        }
        json!({ "type": "object", "required": required, "properties": properties, "examples": [self.example()] })
    }

    /// The fields that must be there, and every field with the JSON Schema of its value, which says what it is for.
    fn fields(self) -> (Vec<&'static str>, Value) {
        match self {
            Self::Property => (vec!["name", "timezone", "country"], property_fields()),
            Self::Reservation => {
                (vec!["propertyId", "status", "channel", "bookedAt", "checkIn", "checkOut", "guest"], reservation_fields())
            }
            Self::Task => (
                vec!["propertyId", "title", "status"],
                json!({
                    "propertyId": said(id(), "Id of the property that the task is about."),
                    "title": said(text(), "What is to be done; may be empty."),
                    "status": said(
                        one_of(&["open", "in_progress", "completed", "cancelled"]),
                        "Where the task stands; entering a status other than `open` fires that event.",
                    ),
                    "assigneeId": said(or_null(id()), "Id of whoever is to do it; another one fires `task.assigned`. Null: nobody yet."),
                    "dueAt": said(or_null(timestamp()), "By when it is to be done; null: no deadline."),
                    "departmentId": said(or_null(id()), "Id of the department that it is for; null: none."),
                }),
            ),
            Self::Device => (
                vec!["propertyId", "name", "deviceType", "vendor", "isOnline"],
                json!({
                    "propertyId": said(id(), "Id of the property that the device is in."),
                    "name": said(text(), "What the device is called; may be empty."),
                    "deviceType": said(one_of(&["lock", "thermostat", "noise_sensor", "hub"]), "What sort of device it is."),
                    "vendor": said(text(), "Who makes the device, or connects it."),
                    "isOnline": said(flag(), "Whether the device can be reached; changes fire `device.offline` and `device.reconnected`."),
                    "isArchived": said(or_null(flag()), "Whether the device has been put away; it fires nothing then. Null: no."),
                    "reconnectsAtOnce": said(
                        or_null(flag()),
                        "Whether `device.reconnected` fires as soon as the device is back, not once it has been for a while. Null: no.",
                    ),
                }),
            ),
            Self::Review => (vec!["propertyId", "source", "submittedAt"], review_fields()),
            Self::Workflow => (
                vec!["name"],
                json!({
                    "name": said(text(), "What the workflow is called; may be empty."),
                    "draftNodes": said(nodes(), "The nodes of the version that is being edited; null: there is none."),
                    "liveNodes": said(nodes(), "The nodes of the version that runs; null: there is none."),
                }),
            ),
            Self::WorkflowStepRun => (
                vec!["workflowId", "nodeId", "occurredAt"],
                json!({
                    "workflowId": said(id(), "Id of the workflow that ran."),
                    "nodeId": said(text(), "Id of the node that ran, as the workflow has it."),
                    "occurredAt": said(timestamp(), "When the node ran; the run fires `workflow.step` once."),
                    "recordType": said(
                        or_null(one_of(&["reservation", "task", "review", "device", "upsell"])),
                        "What sort of record the run was about; null where it had none.",
                    ),
                    "recordId": said(or_null(id()), "Id of the record that the run was about; null where it had none."),
                }),
            ),
            Self::PaymentAccount => (
                vec!["name", "isActive", "isDefault"],
                json!({
                    "name": said(text(), "What the account is called; may be empty."),
                    "isActive": said(flag(), "Whether the account can be charged; steps cannot name one that is not active."),
                    "isDefault": said(flag(), "Whether steps that name no account charge this one."),
                }),
            ),
            Self::CustomUrl => (
                vec!["host", "isGuestPortal"],
                json!({
                    "host": said(text(), "Host name of the domain, such as `stay.example.com`."),
                    "isGuestPortal": said(flag(), "Whether guest portals are served there; brandings can use no other."),
                }),
            ),
            Self::Image => (
                vec!["url"],
                json!({ "url": said(json!({ "type": "string", "format": "http-url" }), "Address of the image, an absolute http or https URL.") }),
            ),
            Self::Instruction => (
                vec!["scopeId", "title", "position"],
                json!({
                    "scopeId": said(id(), "Id of the property, group or tag whose guests it is for."),
                    "title": said(text(), "What the guest is to do; may be empty."),
                    "position": said(json!({ "type": "integer", "minimum": 0 }), "Zero-based place among the instructions of its scope."),
                }),
            ),
            Self::PropertyGroup
            | Self::Tag
            | Self::BackgroundCheckAccount
            | Self::FeeProduct
            | Self::DamageWaiver
            | Self::CustomField
            | Self::Upsell
            | Self::LockCode
            | Self::TaskTemplate
            | Self::Department
            | Self::Shift
            | Self::ClockedShift => (vec!["name"], json!({ "name": said(text(), "What it is called; may be empty.") })),
        }
    }

    /// A record as its reads return it.
    fn example(self) -> Value {
        let flat = "0192f0c1-2345-7abc-8def-0123456789ab";
        let mut example = match self {
            Self::Property => json!({
                "name": "Casa Azul 2-1", "timezone": "Europe/Madrid", "country": "ES", "checkInTime": "15:00", "checkOutTime": "11:00",
            }),
            Self::Reservation => json!({
                "propertyId": flat, "status": "confirmed", "channel": "direct", "bookedAt": "2026-11-02T10:00:00.000Z",
                "checkIn": "2026-12-11", "checkOut": "2026-12-15",
                "guest": { "firstName": "Ada", "lastName": "L", "email": "ada@example.com", "phone": null, "language": "en" },
            }),
            Self::Task => json!({ "propertyId": flat, "title": "Change the linen", "status": "open" }),
            Self::Device => json!({ "propertyId": flat, "name": "Front door", "deviceType": "lock", "vendor": "Acme", "isOnline": true }),
            Self::Review => json!({
                "propertyId": flat, "source": "pms", "submittedAt": "2026-11-02T10:00:00.000Z", "overallRating": 5, "photoUrls": [],
            }),
            Self::PaymentAccount => json!({ "name": "Main account", "isActive": true, "isDefault": true }),
            Self::CustomUrl => json!({ "host": "stay.example.com", "isGuestPortal": true }),
            Self::Instruction => json!({ "scopeId": flat, "title": "Ring the bell", "position": 0 }),
            _ => json!({ "name": self.label() }),
        };
        example["id"] = "0192f0c1-2345-7abc-8def-0123456789ac".into();
        example["createdAt"] = "2026-11-21T09:30:00.000Z".into();
        example["updatedAt"] = "2026-11-21T09:30:00.000Z".into();
        example
    }
}

/// The same, saying what it is for.
fn said(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

fn id() -> Value {
    json!({ "type": "string", "format": "uuid" })
}

fn text() -> Value {
    json!({ "type": "string", "maxLength": 1000 })
}

fn long_text() -> Value {
    json!({ "type": "string", "maxLength": 20000 })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": 1000 })
}

fn rating() -> Value {
    json!({ "type": "number", "minimum": 1, "maximum": 5 })
}

fn date() -> Value {
    json!({ "type": "string", "format": "date" })
}

fn time_of_day() -> Value {
    json!({ "type": "string", "format": "time-of-day" })
}

fn timestamp() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn one_of(values: &[impl Serialize]) -> Value {
    json!({ "type": "string", "enum": values })
}

fn nodes() -> Value {
    json!({
        "type": ["array", "null"],
        "items": {
            "type": "object", "required": ["id", "nodeType", "label"],
            "properties": {
                "id": said(text(), "Id of the node, unique in its workflow."),
                "nodeType": said(text(), "What the node does; one of `external_automation` is a step that webhooks can be told of."),
                "label": said(text(), "What the node is called; lists of steps show it."),
            },
        },
    })
}

fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!([schema["type"], "null"]);
    if let Some(values) = schema["enum"].as_array_mut() {
        values.push(Value::Null);
    } else if let Some(fields) = schema.as_object_mut() {
        fields.remove("enum");
    }
    schema
}

/// What the rules read of a property.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Property {
    /// The flat's name.
    pub name: String,
    /// IANA time zone.
    pub timezone: String,
    /// ISO 3166-1 code.
    pub country: String,
    /// The group it belongs to.
    #[serde(default)]
    pub property_group_id: Option<Uuid>,
    /// Its tags.
    #[serde(default)]
    pub tag_ids: Option<Vec<Uuid>>,
    /// As the platform writes addresses.
    #[serde(default)]
    pub address: Option<Value>,
    /// Local time from which guests may come.
    #[serde(default)]
    pub check_in_time: Option<String>,
    /// Local time by which guests must have gone.
    #[serde(default)]
    pub check_out_time: Option<String>,
    /// Degrees north of the equator.
    #[serde(default, deserialize_with = "if_fitting")]
    pub latitude: Option<f64>,
    /// Degrees east of Greenwich.
    #[serde(default, deserialize_with = "if_fitting")]
    pub longitude: Option<f64>,
    /// Address of a photo of it.
    #[serde(default, deserialize_with = "if_fitting")]
    pub photo_url: Option<String>,
    /// Name of its wireless network.
    #[serde(default, deserialize_with = "if_fitting")]
    pub wifi_name: Option<String>,
    /// Password of its wireless network: for guests who are shown it, and nobody else.
    #[serde(default, deserialize_with = "if_fitting", skip_serializing)]
    pub wifi_password: Option<String>,
}

/// A field that records may hold from a time when it was any other to this program: what is no value of it is none.
fn if_fitting<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    Value::deserialize(deserializer).map(|value| serde_json::from_value(value).ok())
}

/// Where a reservation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, AsRefStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum ReservationStatus {
    Confirmed,
    Tentative,
    Cancelled,
}

/// How far a guest's identity has been verified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AsRefStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum VerificationStatus {
    /// Not at all.
    #[default]
    Unverified,
    /// It is being looked at.
    Pending,
    /// It is who they say.
    Verified,
    /// It could not be verified.
    Failed,
}

/// What the rules read of a reservation.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// The flat, once it is known.
    #[serde(default)]
    pub property_id: Option<Uuid>,
    /// Where it stands.
    pub status: ReservationStatus,
    /// The booking channel.
    pub channel: String,
    /// When it was booked.
    pub booked_at: Moment,
    /// The first day, in the property's time zone.
    pub check_in: civil::Date,
    /// The day of leaving.
    pub check_out: civil::Date,
    /// Who comes.
    pub guest: Guest,
    /// Whether they stayed before.
    #[serde(default)]
    pub is_returning_guest: Option<bool>,
    /// How far their identity has been verified.
    #[serde(default)]
    pub verification_status: Option<VerificationStatus>,
    /// How many grown-ups.
    #[serde(default)]
    pub adults: Option<u32>,
    /// How many children.
    #[serde(default)]
    pub children: Option<u32>,
}

/// The lead guest.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Guest {
    /// Given name.
    pub first_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// The language they are addressed in.
    pub language: Option<String>,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum TaskStatus {
    Open,
    InProgress,
    Completed,
    Cancelled,
}

/// What the rules read of a task.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Where it stands.
    pub status: TaskStatus,
    /// Who is to do it.
    #[serde(default)]
    pub assignee_id: Option<Uuid>,
}

/// What the rules read of a device.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// The flat it is in.
    #[serde(default)]
    pub property_id: Option<Uuid>,
    /// Whether it can be reached.
    pub is_online: bool,
    /// Whether it has been put away.
    #[serde(default)]
    pub is_archived: Option<bool>,
    /// Whether its vendor's reconnects are reported without delay.
    #[serde(default)]
    pub reconnects_at_once: Option<bool>,
}

/// The fields of a property.
fn property_fields() -> Value {
    json!({
        "name": said(text(), "What the property is called; may be empty."),
        "timezone": said(
            json!({ "type": "string", "format": "time-zone" }),
            "IANA time zone, such as `Europe/Madrid`; dates and times of its stays are read in it.",
        ),
        "country": said(json!({ "type": "string", "format": "country" }), "Country it is in, as a two-letter code such as `ES`."),
        "propertyGroupId": said(or_null(id()), "Id of the one group it belongs to; null: none."),
        "tagIds": said(
            or_null(json!({ "type": "array", "items": id(), "maxItems": 1000 })),
            "Ids of the tags it has; null is as good as none.",
        ),
        "address": said(
            json!({ "type": ["string", "object", "null"] }),
            "Where it is, in one text or in parts of the platform's own; guests see it.",
        ),
        "checkInTime": said(
            or_null(time_of_day()),
            "Time of day from which guests may come, in its time zone. Null counts as the start of the day.",
        ),
        "checkOutTime": said(
            or_null(time_of_day()),
            "Time of day by which guests must have left, in its time zone. Null counts as the end of the day.",
        ),
        "latitude": said(
            or_null(json!({ "type": "number", "minimum": -90, "maximum": 90 })),
            "Degrees north of the equator, negative to the south.",
        ),
        "longitude": said(
            or_null(json!({ "type": "number", "minimum": -180, "maximum": 180 })),
            "Degrees east of Greenwich, negative to the west.",
        ),
        "photoUrl": said(
            or_null(json!({ "type": "string", "format": "https-url", "maxLength": 2048 })),
            "Address of a photo of it, an absolute https URL.",
        ),
        "wifiName": said(or_null(text()), "Name of its wireless network."),
        "wifiPassword": said(
            or_null(text()),
            "Password of its wireless network. No read of the public interface returns it, and no webhook.",
        ),
        "customFields": { "description": "A text or a number for each custom field, by its id." },
    })
}

/// The fields of a reservation.
fn reservation_fields() -> Value {
    json!({
        "propertyId": said(or_null(id()), "Id of the property that is stayed in; null while it is not known."),
        "status": said(
            one_of(ReservationStatus::VARIANTS),
            "Where the reservation stands; guests of a cancelled one are shown no steps and no manuals.",
        ),
        "channel": said(
            json!({ "type": "string", "minLength": 1, "maxLength": 200 }),
            "Identifier of the booking channel, such as `direct`; rules of steps and manuals name it.",
        ),
        "bookedAt": said(timestamp(), "When it was booked; lead times count from it."),
        "checkIn": said(date(), "The first day of the stay."),
        "checkOut": said(date(), "The day on which the guests leave."),
        "guest": {
            "type": "object",
            "description": "The guest who booked.",
            "properties": {
                "firstName": said(or_null(text()), "Given name of the guest."),
                "lastName": said(or_null(text()), "Family name of the guest."),
                "email": said(or_null(text()), "The guest's mail address."),
                "phone": said(or_null(text()), "The guest's phone number."),
                "language": said(
                    or_null(json!({ "type": "string", "format": "language" })),
                    "Language the guest is addressed in, as a BCP 47 tag. Null: English.",
                ),
            },
        },
        "isReturningGuest": said(or_null(flag()), "Whether the guest stayed before; some steps pass over those. Null: no."),
        "adults": said(or_null(count()), "How many adults come; null while it is not known."),
        "children": said(or_null(count()), "How many children come; null while it is not known."),
        "verificationStatus": said(
            or_null(one_of(VerificationStatus::VARIANTS)),
            "How far the guest's identity has been verified; rules of manuals look at it. Null: `unverified`.",
        ),
    })
}

/// The fields of a review.
fn review_fields() -> Value {
    json!({
        "propertyId": said(id(), "Id of the property that the review is about."),
        "source": said(
            one_of(&["portal_survey", "pms"]),
            "Where it was given: the guest portal's survey, or a property-management system.",
        ),
        "submittedAt": said(timestamp(), "When the guest gave the review."),
        "reservationId": said(or_null(id()), "Id of the reservation that it is about; null where that is not known."),
        "overallRating": said(or_null(rating()), "The rating as a whole, from 1 to 5; null where none was given."),
        "categoryRatings": said(
            json!({ "type": ["object", "null"], "additionalProperties": or_null(rating()) }),
            "A rating from 1 to 5 for each category, by its name; null where none was given.",
        ),
        "publicText": said(or_null(long_text()), "What the guest wrote for everyone, up to 20,000 characters."),
        "privateReview": said(
            or_null(long_text()),
            "What the guest wrote for the host alone, up to 20,000 characters. Returned only to those who hold `view_analytics`.",
        ),
        "photoKeys": said(
            json!({ "type": ["array", "null"], "items": { "type": "string" }, "maxItems": 100 }),
            "Where the guest's photos lie, at most 100. Reads return short-lived `photoUrls` in their place.",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_its_kind_find_each_other() {
        for kind in Kind::VARIANTS {
            assert_eq!(kind.as_ref().parse(), Ok(*kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_ref());
        }
        assert_eq!(Kind::TaskTemplate.label(), "Task template");
    }

    #[test]
    fn a_kind_knows_its_fields_and_is_surprised_by_others() {
        assert!(Kind::Property.knows("wifiPassword") && Kind::Property.knows("customFields") && !Kind::Property.knows("wifipassword"));
        assert!(Kind::Tag.knows("name") && !Kind::Tag.knows("colour"));
        assert!(Kind::LockCode.knows("anything"));
        assert_eq!(Kind::Property.view_schema()["properties"].get("wifiPassword"), None);
    }

    #[test]
    fn a_property_from_before_its_fields_were_known_is_read_without_them() {
        let property: Property = serde_json::from_value(json!({
            "name": "Flat", "timezone": "Europe/Madrid", "country": "ES", "latitude": "41.4", "longitude": 2, "photoUrl": null,
            "wifiName": { "ssid": "Casa" }, "wifiPassword": "secret",
        }))
        .unwrap();
        assert_eq!((property.latitude, property.longitude, &property.photo_url), (None, Some(2.0), &None));
        assert_eq!((property.wifi_name.as_deref(), property.wifi_password.as_deref()), (None, Some("secret")));
        assert_eq!(serde_json::to_value(&property).unwrap().get("wifiPassword"), None);
    }

    #[test]
    fn every_example_fits_its_schema() {
        for kind in Kind::VARIANTS {
            let schema = kind.view_schema();
            let listed: Vec<_> = kind.references().iter().map(|reference| reference.field).collect();
            assert!(listed.iter().all(|field| schema["properties"][*field].is_object()), "{}", kind.as_ref());
        }
    }
}
