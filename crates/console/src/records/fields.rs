//! The fields of a record's form, derived from the schema of its kind.

use features::records::RecordKind;
use serde_json::{Map, Value, json};

use crate::form::{FieldSpec, InputKind as Control, of_object};
use crate::request::ConsoleRequest;

/// The operations that list the flats, groups and tags to which a record of the kind `instruction`
/// can apply.
const LIST_TARGETS: &str = "listProperties+listPropertyGroups+listTags";

/// Returns the fields of a record kind that a form can change, including the custom fields of a
/// flat. `stored` is the stored record; `None` for a new record.
pub(super) async fn specs(
    request: &ConsoleRequest,
    kind: RecordKind,
    stored: Option<&Map<String, Value>>,
) -> Vec<FieldSpec> {
    let mut specs = of_schema(kind, stored);
    if kind == RecordKind::Property {
        specs.extend(custom_fields(request).await);
    }
    specs
}

/// Returns the fields that the schema of a record kind describes. `stored` is the stored record;
/// `None` for a new record.
fn of_schema(kind: RecordKind, stored: Option<&Map<String, Value>>) -> Vec<FieldSpec> {
    let mut specs = of_object(&kind.form_schema(), None);
    for spec in &mut specs {
        if spec.name == "name" && repeats_label(&spec.summary) {
            spec.summary.clear();
        }
        // The form does not show the stored value of a secret. A new record has no stored value, so
        // its form is not affected.
        let is_withheld = kind.withheld_fields().contains(&spec.name);
        spec.is_readable = !is_withheld || stored.is_none();
        let named = kind
            .form_references()
            .iter()
            .find(|reference| reference.field == spec.name);
        if let Some(list) = named.and_then(|reference| list_of(reference.to)) {
            spec.kind = match spec.kind {
                Control::Lines | Control::References(_) => {
                    // In a field that refers to several records, an empty list means the same as
                    // null. So the form needs no checkbox that makes the field null.
                    spec.is_nullable = false;
                    Control::References(list.to_owned())
                }
                _ => Control::Reference(list.to_owned()),
            };
        } else if kind == RecordKind::Instruction && spec.name == "scopeId" {
            spec.kind = Control::Reference(LIST_TARGETS.to_owned());
        } else if kind == RecordKind::Property && spec.name == "address" {
            let is_text = stored
                .and_then(|stored| stored.get("address"))
                .is_none_or(|address| address.is_string() || address.is_null());
            if is_text {
                spec.kind = Control::Area;
            }
        }
    }
    specs.retain(|spec| spec.kind != Control::Other);
    in_lines(&mut specs);
    sort(&mut specs, order(kind));
    for spec in &mut specs {
        if let Control::Object(parts) = &mut spec.kind {
            sort(parts, &GUEST);
        }
    }
    specs
}

/// Returns whether a help text only repeats the label, such as "Name of the property."
fn repeats_label(summary: &str) -> bool {
    summary == "Its name."
        || summary
            .strip_prefix("Name of the ")
            .is_some_and(|thing| !thing.contains(' '))
}

/// The text fields that the form shows with several lines. Any other text field has one line.
const LONG: [&str; 4] = ["address", "description", "text", "value"];

fn in_lines(specs: &mut [FieldSpec]) {
    for spec in specs {
        if let Control::Object(parts) = &mut spec.kind {
            in_lines(parts);
        } else if spec.kind == Control::Area && !LONG.contains(&spec.name.as_str()) {
            spec.kind = Control::Line(match spec.name.as_str() {
                "email" => "email",
                "phone" => "tel",
                _ => "text",
            });
        }
    }
}

/// The fields of a guest, in the order of the form.
const GUEST: [&str; 5] = ["firstName", "lastName", "email", "phone", "language"];

/// Returns the fields that come first in the form of a record kind. The other required fields
/// follow, then all remaining fields.
const fn order(kind: RecordKind) -> &'static [&'static str] {
    match kind {
        RecordKind::Property => &[
            "name",
            "address",
            "timezone",
            "country",
            "propertyGroupId",
            "tagIds",
            "checkInTime",
            "checkOutTime",
            "wifiName",
            "wifiPassword",
        ],
        RecordKind::Reservation => &[
            "propertyId",
            "checkIn",
            "checkOut",
            "guest",
            "adults",
            "children",
            "status",
            "channel",
            "bookedAt",
        ],
        _ => &["name", "title"],
    }
}

fn sort(specs: &mut [FieldSpec], first: &[&str]) {
    let place = |spec: &FieldSpec| first.iter().position(|name| *name == spec.name);
    specs.sort_by_key(|spec| (place(spec).unwrap_or(first.len()), !spec.is_required));
}

/// The field of a flat with the values of the custom fields.
const CUSTOM: &str = "customFields";

/// Returns a field for the values that a flat has in the organization's custom fields. Returns
/// `None` if the organization has no custom fields.
async fn custom_fields(request: &ConsoleRequest) -> Option<FieldSpec> {
    let fields: Vec<Value> = request.get("listCustomFields", json!({})).await.ok()?;
    let part = |field: &Value| FieldSpec {
        custom_label: field["name"].as_str().map(str::to_owned),
        ..plain(field["id"].as_str().unwrap_or_default(), Control::Area)
    };
    let parts: Vec<FieldSpec> = fields.iter().map(part).collect();
    (!parts.is_empty()).then(|| plain(CUSTOM, Control::Object(parts)))
}

/// Describes an optional field of the form. The field has no help text.
fn plain(name: &str, kind: Control) -> FieldSpec {
    FieldSpec {
        name: name.to_owned(),
        custom_label: None,
        summary: String::new(),
        kind,
        is_nullable: true,
        is_required: false,
        is_readable: true,
        when: None,
        needs: None,
        linked_by: None,
        place: None,
    }
}

/// Returns the operation that lists the records of a kind. Returns `None` if no operation lists
/// them.
const fn list_of(kind: RecordKind) -> Option<&'static str> {
    match kind {
        RecordKind::Property => Some("listProperties"),
        RecordKind::PropertyGroup => Some("listPropertyGroups"),
        RecordKind::Tag => Some("listTags"),
        RecordKind::Reservation => Some("listReservations"),
        RecordKind::Department => Some("listDepartments"),
        RecordKind::Task
        | RecordKind::Device
        | RecordKind::Review
        | RecordKind::Workflow
        | RecordKind::WorkflowStepRun
        | RecordKind::PaymentAccount
        | RecordKind::BackgroundCheckAccount
        | RecordKind::FeeProduct
        | RecordKind::DamageWaiver
        | RecordKind::CustomField
        | RecordKind::CustomUrl
        | RecordKind::Image
        | RecordKind::Upsell
        | RecordKind::LockCode
        | RecordKind::TaskTemplate
        | RecordKind::Shift
        | RecordKind::ClockedShift
        | RecordKind::Instruction => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels;
    use crate::records::KINDS;

    #[test]
    fn the_form_of_a_flat_is_made_of_its_schema() {
        let specs = of_schema(RecordKind::Property, None);
        let kind = |name: &str| {
            specs
                .iter()
                .find(|spec| spec.name == name)
                .map(|spec| &spec.kind)
        };
        assert_eq!(
            kind("tagIds"),
            Some(&Control::References("listTags".into()))
        );
        assert_eq!(
            kind("propertyGroupId"),
            Some(&Control::Reference("listPropertyGroups".into()))
        );
        assert_eq!(kind("address"), Some(&Control::Area));
        assert_eq!(kind("customFields"), None);
        let required: Vec<&str> = specs
            .iter()
            .filter(|spec| spec.is_required)
            .map(|spec| spec.name.as_str())
            .collect();
        assert_eq!(required.len(), 3, "{required:?}");
    }

    #[test]
    fn a_help_text_that_repeats_the_label_is_omitted() {
        let summary = |kind: RecordKind| {
            of_schema(kind, None)
                .into_iter()
                .find(|spec| spec.name == "name")
                .map(|spec| spec.summary)
        };
        for kind in [
            RecordKind::Property,
            RecordKind::PropertyGroup,
            RecordKind::Tag,
            RecordKind::PaymentAccount,
        ] {
            assert_eq!(summary(kind).as_deref(), Some(""), "{kind:?}");
        }
        assert_eq!(
            summary(RecordKind::Upsell).as_deref(),
            Some("Name of the extra, which guests see.")
        );
        for spec in of_schema(RecordKind::Property, None) {
            if spec.name.starts_with("wifi") {
                assert_eq!(labels::help("en", &spec), "", "{}", spec.name);
            }
        }
    }

    #[test]
    fn every_field_of_a_form_has_a_spanish_and_french_label() {
        let mut lacking = Vec::new();
        for kind in KINDS {
            for spec in of_schema(kind, None) {
                let parts = match &spec.kind {
                    Control::Object(parts) => parts.clone(),
                    _ => Vec::new(),
                };
                for name in parts.into_iter().chain([spec]).map(|spec| spec.name) {
                    // If the label tables lack a field, all languages show the English label that
                    // is derived from its name. So equal labels mean that the tables lack the
                    // field.
                    let [english, spanish, french] =
                        ["en", "es", "fr"].map(|language| labels::label(language, &name));
                    if english == spanish && spanish == french {
                        lacking.push(name);
                    }
                }
            }
        }
        assert!(lacking.is_empty(), "{lacking:?}");
    }

    #[test]
    fn a_stored_secret_is_kept_unless_it_is_typed_again() {
        let is_readable = |stored: Option<&Map<String, Value>>| {
            of_schema(RecordKind::Property, stored)
                .into_iter()
                .find(|spec| spec.name == "wifiPassword")
                .map(|spec| spec.is_readable)
        };
        assert_eq!(is_readable(None), Some(true));
        assert_eq!(is_readable(Some(&Map::new())), Some(false));
    }

    #[test]
    fn the_form_of_a_stay_begins_with_the_flat_the_days_and_the_guest() {
        let specs = of_schema(RecordKind::Reservation, None);
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names[..4], ["propertyId", "checkIn", "checkOut", "guest"]);
        let guest = specs.iter().find(|spec| spec.name == "guest").unwrap();
        let Control::Object(parts) = &guest.kind else {
            panic!("{:?}", guest.kind)
        };
        let lines: Vec<(&str, &Control)> = parts
            .iter()
            .take(4)
            .map(|part| (part.name.as_str(), &part.kind))
            .collect();
        assert_eq!(
            lines,
            [
                ("firstName", &Control::Line("text")),
                ("lastName", &Control::Line("text")),
                ("email", &Control::Line("email")),
                ("phone", &Control::Line("tel")),
            ]
        );
    }
}
