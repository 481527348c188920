//! Explains the guest view of a stay: which portal, steps and manuals the guest sees. For each step
//! and manual, the page names the rule that shows or hides it. It also names a change of the
//! settings that would hide a shown step or manual, or show a hidden one.

use std::sync::Arc;

use askama::Template;
use features::guest::{
    DecidingFacts, DecidingReason, EXPLAIN_GUEST_VIEW, ExplainedItem, Explanation, HiddenText,
    PathHop, Withheld, WithheldValue,
};
use features::scopes::TargetKind;
use features::words::{fill, own_name};
use jiff::civil::DateTime;
use page::dates_in;
use serde_json::json;
use uuid::Uuid;

use super::super::flats;
use super::super::frame::ConsoleFrame;
use super::super::paging::Paging;
use super::super::refusal::ConsoleRefusal;
use super::super::reply;
use super::super::request::ConsoleRequest;
use super::super::screens::{ScreenResponse, resource_address};
use super::super::words::ConsoleWords;
use super::super::{labels, time_format};
use super::{SCREEN, StayItem};

/// Appends to `reason` a sentence for each text that guests do not see because a placeholder in the
/// text has no value.
fn append_hidden(hidden: &[HiddenText], reason: &mut String, words: &ConsoleWords) {
    for HiddenText { placeholder, .. } in hidden {
        let name = format!("{{{{{placeholder}}}}}");
        reason.push(' ');
        reason.push_str(&fill(words.stays.hidden_text, &[("name", &name)]));
    }
}

/// The language in which sentences are written, and the console's texts in this language.
#[derive(Clone, Copy)]
struct SentenceLanguage {
    words: &'static ConsoleWords,
    language: &'static str,
}

impl SentenceLanguage {
    const fn of(request: &ConsoleRequest) -> Self {
        Self {
            words: request.texts,
            language: request.language,
        }
    }

    /// Returns a text that says how many days before check-in the stay was booked. The text is the
    /// same for a booking on the check-in day and for a later booking.
    fn booked(self, days: i64) -> String {
        let words = &self.words.stays;
        if days > 0 {
            fill(words.booked_before, &[("days", &words.days.of(days))])
        } else {
            words.booked_same.to_owned()
        }
    }

    /// Formats a local date and time of the flat, such as `2026-12-11T15:00:00`.
    fn at(self, at: &str) -> String {
        let dates = dates_in(self.language);
        at.parse().map_or_else(
            |_| at.to_owned(),
            |at: DateTime| format!("{}, {}", dates.full(at.date()), dates.time(at.time())),
        )
    }
}

/// The facts of a reason that states no facts. Every field, such as the number of nights, is
/// `None`.
static NO_FACTS: DecidingFacts = DecidingFacts {
    nights: None,
    days: None,
    limit: None,
    name: None,
    at: None,
};

fn facts_of(reason: &DecidingReason) -> &DecidingFacts {
    reason.facts.as_ref().unwrap_or(&NO_FACTS)
}

/// Returns the sentence for a reason. The sentence contains the facts of the reason, such as the
/// number of nights.
fn sentence(
    reason: &DecidingReason,
    language: SentenceLanguage,
    kind: Option<ExplainedKind>,
) -> String {
    let words = &language.words.stays;
    let text = match (words.reason(reason.key), kind) {
        (Some(_), Some(ExplainedKind::Steps)) if reason.key == "not_assigned" => {
            words.r_not_assigned_step
        }
        (Some(text), _) => text,
        (None, _) => return reason.message.clone(),
    };
    filled(reason, text, language)
}

/// Returns a sentence that proposes how to change the setting that hides an item from guests, so
/// that they see it. `days` is a text with the dates of the stay.
fn change_to_show(
    reason: &DecidingReason,
    language: SentenceLanguage,
    kind: ExplainedKind,
    days: &str,
) -> String {
    let facts = facts_of(reason);
    let words = &language.words.stays;
    let text = match reason.key {
        "not_assigned" if kind == ExplainedKind::Steps => words.c_assign_step,
        key => words.change(key),
    };
    // `value` is a fact about the stay, such as its number of nights. If staff changed the setting
    // to `value`, the guest would see the item. The sentence proposes this change.
    let value = match reason.key {
        "min_los" | "max_los" => facts.nights.map(|nights| words.nights.of(nights)),
        _ => facts.nights.or(facts.days).map(|number| number.to_string()),
    };
    let always = labels::label(language.language, "isAlwaysShown");
    let rule = category_of(reason.key)
        .map(|category| labels::choice(language.language, category))
        .unwrap_or_default();
    let text = fill(
        text,
        &[
            ("value", &value.unwrap_or_default()),
            ("always", &always),
            ("rule", &rule),
            ("days", days),
        ],
    );
    filled(reason, &text, language)
}

/// Replaces the placeholders of a text by the facts of a reason.
fn filled(reason: &DecidingReason, text: &str, language: SentenceLanguage) -> String {
    let DecidingFacts {
        nights,
        days,
        limit,
        name,
        at,
    } = facts_of(reason);
    let words = &language.words.stays;
    let is_of_days = reason.key.starts_with("lead_time");
    let limit = limit.map(i64::from).map(|limit| {
        if is_of_days {
            words.days.of(limit)
        } else {
            words.nights.of(limit)
        }
    });
    let name = name.as_deref().map(|name| {
        if reason.key == "verification_status" {
            labels::choice(language.language, name)
        } else {
            name.to_owned()
        }
    });
    let field = field_of(reason.key).map(|field| labels::label(language.language, field));
    let values = [
        ("nights", nights.map(|nights| words.nights.of(nights))),
        ("booked", days.map(|days| language.booked(days))),
        ("limit", limit),
        ("name", name),
        ("at", at.as_deref().map(|at| language.at(at))),
        ("field", field),
    ];
    let values: Vec<(&str, &str)> = values
        .iter()
        .filter_map(|(place, value)| Some((*place, value.as_deref()?)))
        .collect();
    fill(text, &values)
}

/// The portal of a stay, and the reason why this portal applies.
pub(super) struct StayPortal {
    pub name: String,
    pub reason: String,
    pub way: Option<String>,
    /// Label and address of the page with the setting that selected this portal.
    pub rule: Option<(&'static str, String)>,
}

/// The answer of the operation that explains a guest view. The methods prepare it for pages.
pub(super) struct StayExplanation(Arc<Explanation>);

impl StayExplanation {
    pub async fn read(
        request: &ConsoleRequest,
        id: Uuid,
        at: Option<&str>,
    ) -> Result<Self, ConsoleRefusal> {
        let arguments = json!({ "id": id, "at": at });
        request.read(EXPLAIN_GUEST_VIEW, arguments).await.map(Self)
    }

    pub fn steps(&self) -> Vec<&ExplainedItem> {
        self.0.steps.iter().map(|step| &step.item).collect()
    }

    pub fn manuals(&self) -> Vec<&ExplainedItem> {
        self.0.manuals.iter().collect()
    }

    /// Returns a sentence that lists which of Wi-Fi, door codes and wallet pass the guest does not
    /// see. Returns `None` if the guest sees all of them.
    pub fn withheld(&self, request: &ConsoleRequest) -> Option<String> {
        let words = &request.texts.stays;
        let value = |withheld: &Withheld| match withheld.value {
            WithheldValue::Wifi => words.w_wifi,
            WithheldValue::DoorCodes => words.w_door_codes,
            WithheldValue::WalletPass => words.w_wallet_pass,
        };
        let values: Vec<&str> = self.0.withheld.iter().map(value).collect();
        (!values.is_empty()).then(|| fill(words.withheld, &[("values", &values.join(", "))]))
    }

    /// Returns the id of the portal of the stay; `None` if the stay has no portal.
    pub fn portal_id(&self) -> Option<Uuid> {
        self.0.portal.id
    }

    pub fn portal(&self, request: &ConsoleRequest) -> StayPortal {
        let words = &request.texts.stays;
        let portal = &self.0.portal;
        let name = portal
            .id
            .map(|id| portal.name.clone().unwrap_or_else(|| id.to_string()));
        let mut reason = sentence(&portal.reason, SentenceLanguage::of(request), None);
        append_hidden(&portal.hidden_texts, &mut reason, request.texts);
        StayPortal {
            name: name.unwrap_or_else(|| words.no_portal_serves.to_owned()),
            reason,
            way: portal
                .id
                .and_then(|id| resource_address(request, "/portals/{id}", &id.to_string())),
            rule: self.rule_of_portal(request),
        }
    }

    /// Returns the label and the address of the setting that selected the stay's portal: the
    /// portal's assignments, or its default flag. If the stay has no portal, returns the label and
    /// the address of the list of portals.
    fn rule_of_portal(&self, request: &ConsoleRequest) -> Option<(&'static str, String)> {
        let words = &request.texts.stays;
        let assigned = |id: Uuid, to: &str| {
            let path = format!("/assignments/portals/{id}");
            request.may("listEntityScopes").then(|| {
                (
                    words.open_assignments,
                    request.address_with(&path, &[("to", to)]),
                )
            })
        };
        match (self.0.portal.reason.key, self.0.portal.id) {
            ("property", Some(id)) => assigned(id, "properties"),
            ("property_group", Some(id)) => assigned(id, "groups"),
            ("tag", Some(id)) => assigned(id, "tags"),
            ("default", Some(id)) => Some((
                words.open_rule,
                resource_address(request, "/portals/{id}", &id.to_string())? + "#f-isDefault",
            )),
            ("no_portal", _) => Some((
                words.open_portals,
                resource_address(request, "/portals", "")?,
            )),
            _ => None,
        }
    }
}

/// The kinds of items whose visibility the page explains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExplainedKind {
    Steps,
    Manuals,
}

impl ExplainedKind {
    const fn word(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Manuals => "manuals",
        }
    }
}

/// Returns the field of a step that decides whether guests see the step. `key` names the reason,
/// such as `min_los`.
fn field_of(key: &str) -> Option<&'static str> {
    Some(match key {
        "inactive" => "isActive",
        "always_shown" => "isAlwaysShown",
        "min_los" => "minLos",
        "max_los" => "maxLos",
        "lead_time_min" => "leadTimeMinDays",
        "lead_time_max" => "leadTimeMaxDays",
        "channel_excluded" => "excludedSources",
        "channel_not_included" => "includedSourcesReturning",
        "returning_guest" => "isReturningGuestExcluded",
        "stay_too_short" => "lengthOfStayFromDays",
        "stay_too_long" => "lengthOfStayToDays",
        _ => return None,
    })
}

/// Returns the category of the visibility rule that shows or hides a manual. `key` names the
/// reason, such as `out_of_season`. Returns `None` for any other reason.
fn category_of(key: &str) -> Option<&'static str> {
    Some(match key {
        "too_early" | "too_late" | "stay_over" => "relative_date",
        "out_of_season" => "seasonal",
        "booking_source" => "booking_source",
        "verification_status" => "verification_status",
        _ => return None,
    })
}

/// Returns a sentence that proposes a change of a setting. The change would show a hidden item, or
/// hide a shown item.
fn change(
    item: &ExplainedItem,
    language: SentenceLanguage,
    kind: ExplainedKind,
    days: &str,
) -> String {
    let words = &language.words.stays;
    match (item.is_shown, item.reason.key) {
        (false, _) => change_to_show(&item.reason, language, kind, days),
        (true, "always_shown") => fill(
            words.c_hide_always,
            &[("always", &labels::label(language.language, "isAlwaysShown"))],
        ),
        (true, _) => words.c_hide.to_owned(),
    }
}

/// Returns the label and the address of the setting that shows or hides an item.
fn rule(
    request: &ConsoleRequest,
    kind: ExplainedKind,
    key: &str,
    id: &str,
    portal: Option<Uuid>,
) -> Option<(&'static str, String)> {
    let words = &request.texts.stays;
    let of_visibility = [
        "visible",
        "too_early",
        "too_late",
        "stay_over",
        "out_of_season",
        "stay_too_short",
        "stay_too_long",
        "booking_source",
    ];
    match (kind, key) {
        (_, "no_portal") => Some((
            words.open_portals,
            resource_address(request, "/portals", "")?,
        )),
        (_, "precheckin_disabled") => Some((
            words.open_portal,
            resource_address(request, "/portals/{id}", &portal?.to_string())?
                + "#f-isPrecheckinEnabled",
        )),
        (ExplainedKind::Manuals, key)
            if of_visibility.contains(&key)
                || matches!(key, "verification_status" | "always_visible") =>
        {
            Some((
                words.open_rule,
                resource_address(request, "/manuals/{id}/visibility", id)?,
            ))
        }
        (ExplainedKind::Manuals, "inactive") => Some((
            words.open_rule,
            resource_address(request, "/manuals/{id}", id)? + "#f-isActive",
        )),
        (ExplainedKind::Steps, key) => Some((
            words.open_rule,
            format!(
                "{}#f-{}",
                resource_address(request, "/steps/{id}", id)?,
                field_of(key)?
            ),
        )),
        _ => None,
    }
}

struct ExplainedRow {
    name: String,
    is_shown: bool,
    reason: String,
    /// A sentence with the languages in which the text is older than the English text. `None` if
    /// there are no such languages.
    outdated: Option<String>,
    /// The targets, such as groups and tags, through which the item is assigned to the flat. Each
    /// entry of the list describes one target.
    path: Vec<String>,
    change: String,
    /// Links to the setting that shows or hides the item, to the item, and to its assignments. Each
    /// has its label and its address.
    ways: Vec<(&'static str, String)>,
}

fn row(
    request: &ConsoleRequest,
    kind: ExplainedKind,
    item: &ExplainedItem,
    portal: Option<Uuid>,
    days: &str,
) -> ExplainedRow {
    let (words, language) = (&request.texts.stays, SentenceLanguage::of(request));
    let hop = |hop: &PathHop| {
        let text = match hop.kind {
            TargetKind::Property => words.hop_property,
            TargetKind::PropertyGroup => words.hop_group,
            TargetKind::Tag => words.hop_tag,
            TargetKind::Portal => words.hop_portal,
        };
        fill(
            text,
            &[("name", hop.name.as_deref().unwrap_or(&hop.id.to_string()))],
        )
    };
    let id = item.id.to_string();
    let own = resource_address(request, &format!("/{}/{{id}}", kind.word()), &id)
        .map(|way| (words.open_it, way));
    let rule = rule(request, kind, item.reason.key, &id, portal);
    let is_assigned =
        own.is_some() && request.may("listEntityScopes") && item.reason.key != "cancelled";
    let assignments = is_assigned.then(|| {
        (
            words.open_assignments,
            request.address(&format!("/assignments/{}/{id}", kind.word())),
        )
    });
    let mut reason = sentence(&item.reason, language, Some(kind));
    append_hidden(&item.hidden_texts, &mut reason, request.texts);
    ExplainedRow {
        name: item.nickname.clone(),
        is_shown: item.is_shown,
        reason,
        outdated: (!item.outdated_languages.is_empty()).then(|| {
            let names: Vec<&str> = item
                .outdated_languages
                .iter()
                .map(|tag| own_name(tag))
                .collect();
            fill(words.outdated, &[("languages", &names.join(", "))])
        }),
        path: item.path.iter().map(hop).collect(),
        change: change(item, language, kind, days),
        ways: rule.into_iter().chain(own).chain(assignments).collect(),
    }
}

#[derive(Template)]
#[template(path = "why.html")]
struct ExplanationPage<'v> {
    frame: ConsoleFrame<'v>,
    path: String,
    portal: StayPortal,
    /// A sentence that lists the values that the guest does not see, such as the door codes.
    withheld: Option<String>,
    tabs: Vec<(&'static str, usize, String, bool)>,
    of: &'static str,
    shown: &'static str,
    query: String,
    at: String,
    at_hint: String,
    rows: Vec<ExplainedRow>,
    paging: Paging,
}

pub(super) fn show(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let words = &request.texts.stays;
        let id = request.path_id("id")?;
        let stay: StayItem = request.get("getReservation", json!({ "id": id })).await?;
        let days = time_format::days(request, &stay.check_in, &stay.check_out);
        let zone = flats::zone(request, stay.property_id).await;
        let at = request
            .query_parameter("at")
            .unwrap_or_default()
            .trim()
            .to_owned();
        let time = (!at.is_empty())
            .then(|| time_format::parse_local(&at, &zone).unwrap_or_else(|| at.clone()));
        let explanation = StayExplanation::read(request, id, time.as_deref()).await?;
        let kind = if request.query_parameter("of") == Some("manuals") {
            ExplainedKind::Manuals
        } else {
            ExplainedKind::Steps
        };
        let shown = match request.query_parameter("shown") {
            Some("yes") => "yes",
            Some("no") => "no",
            _ => "",
        };
        let query = request
            .query_parameter("query")
            .unwrap_or_default()
            .to_owned();
        let path = format!("/stays/{id}/why");
        let tab = |known: ExplainedKind| {
            let (called, count) = match known {
                ExplainedKind::Steps => (request.texts.assign.steps, explanation.steps().len()),
                ExplainedKind::Manuals => {
                    (request.texts.assign.manuals, explanation.manuals().len())
                }
            };
            let asked: [(&str, &str); 4] = [
                ("of", known.word()),
                ("shown", shown),
                ("query", &query),
                ("at", &at),
            ];
            let asked: Vec<_> = asked
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .collect();
            (
                called,
                count,
                request.address_with(&path, &asked),
                known == kind,
            )
        };
        let tabs = [ExplainedKind::Steps, ExplainedKind::Manuals]
            .map(tab)
            .into();
        let expected = query.to_lowercase();
        let items = if kind == ExplainedKind::Steps {
            explanation.steps()
        } else {
            explanation.manuals()
        };
        let is_wanted = |item: &&ExplainedItem| {
            (shown.is_empty() || item.is_shown == (shown == "yes"))
                && (expected.is_empty() || item.nickname.to_lowercase().contains(&expected))
        };
        let items: Vec<&ExplainedItem> = items.into_iter().filter(is_wanted).collect();
        let paging = Paging::of(request, &path, items.len());
        let guest = stay.called(request);
        let page = ExplanationPage {
            frame: ConsoleFrame::new(request, words.why)
                .with_parent(request, words.stays, SCREEN.path)
                .with_parent(request, guest, &format!("/stays/{id}")),
            portal: explanation.portal(request),
            withheld: explanation.withheld(request),
            rows: paging
                .rows_of_page(items)
                .into_iter()
                .map(|item| row(request, kind, item, explanation.portal_id(), &days))
                .collect(),
            path: request.address(&path),
            tabs,
            of: kind.word(),
            shown,
            query,
            at,
            at_hint: fill(
                words.at_hint,
                &[("zone", zone.iana_name().unwrap_or("UTC"))],
            ),
            paging,
        };
        Ok(reply::page_of_template(request, 200, &page))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::super::words;
    use super::*;

    fn sentence_language(language: &'static str) -> SentenceLanguage {
        SentenceLanguage {
            words: words::of(language),
            language,
        }
    }

    /// Returns the sentence for a reason, and the sentence about the change that would show a
    /// hidden item or hide a shown item.
    fn reason_and_change(
        language: &'static str,
        kind: ExplainedKind,
        key: &'static str,
        facts: &Value,
    ) -> (String, String) {
        let reason = DecidingReason {
            key,
            message: "In its own words.".into(),
            facts: Some(DecidingFacts {
                nights: facts["nights"].as_i64(),
                days: facts["days"].as_i64(),
                limit: facts["limit"]
                    .as_u64()
                    .map(|limit| limit.try_into().unwrap()),
                name: facts["name"].as_str().map(str::to_owned),
                at: facts["at"].as_str().map(str::to_owned),
            }),
        };
        (
            sentence(&reason, sentence_language(language), Some(kind)),
            change_to_show(&reason, sentence_language(language), kind, "11–14 December"),
        )
    }

    #[test]
    fn a_reason_shows_its_numbers_and_the_reversing_change() {
        let english = |kind, key, facts: Value| reason_and_change("en", kind, key, &facts);
        let both = |reason: &str, change: &str| (reason.to_owned(), change.to_owned());
        assert_eq!(
            english(
                ExplainedKind::Steps,
                "min_los",
                json!({ "nights": 2, "limit": 32 })
            ),
            both(
                "The stay has 2 nights; the step is for stays of 32 nights or more.",
                "Shortest stay of 2 nights or less, or “For every guest” ticked."
            )
        );
        assert_eq!(
            english(
                ExplainedKind::Steps,
                "lead_time_max",
                json!({ "days": 30, "limit": 14 })
            ),
            both(
                "Booked 30 days before check-in; the step asks for at most 14 days ahead.",
                "“Booked at most this many days ahead” set to 30 or more, or left empty; or “For \
                    every guest” ticked."
            )
        );
        assert_eq!(
            english(
                ExplainedKind::Steps,
                "lead_time_min",
                json!({ "days": 0, "limit": 1 })
            )
            .0,
            "Booked on the day of check-in; the step asks for at least 1 day ahead."
        );
        assert_eq!(
            english(
                ExplainedKind::Steps,
                "channel_excluded",
                json!({ "name": "{field}" })
            )
            .0,
            "Booked through {field}, which is among “All channels but these”."
        );
        assert_eq!(
            english(
                ExplainedKind::Manuals,
                "too_early",
                json!({ "at": "2026-12-11T15:00:00" })
            ),
            both(
                "It is shown from 11 December 2026, 15:00, in the flat’s time zone.",
                "an earlier start in the rule “Moment of the stay”; or looking at 11 December \
                    2026, 15:00 or later."
            )
        );
        assert!(
            english(ExplainedKind::Manuals, "out_of_season", json!({}))
                .1
                .ends_with("that has a night of this stay: 11–14 December.")
        );
        assert!(
            english(ExplainedKind::Steps, "not_assigned", json!({}))
                .0
                .ends_with("or its portal.")
        );
        assert_eq!(
            english(ExplainedKind::Steps, "of_tomorrow", json!({})),
            both("In its own words.", "another value of this rule.")
        );
        assert_eq!(
            reason_and_change(
                "es",
                ExplainedKind::Manuals,
                "stay_too_short",
                &json!({ "nights": 1, "limit": 3 })
            )
            .0,
            "La estancia tiene 1 noche; el manual es para estancias de 3 noches o más."
        );
        assert_eq!(
            reason_and_change(
                "fr",
                ExplainedKind::Manuals,
                "verification_status",
                &json!({ "name": "unverified" })
            ),
            both(
                "Il n’est pas affiché tant que l’identité du voyageur est : Non vérifiée.",
                "une règle « Identité du voyageur » qui comprend Non vérifiée."
            )
        );
    }

    /// Asserts that no sentence contains a placeholder that was not replaced.
    #[test]
    fn no_reason_contains_an_unfilled_placeholder() {
        let facts = json!({
            "nights": 3,
            "days": 4,
            "limit": 5,
            "name": "direct",
            "at": "2026-12-11T15:00:00",
        });
        for language in ["en", "es", "fr"] {
            for (kind, keys) in [
                (
                    ExplainedKind::Steps,
                    "min_los max_los lead_time_min lead_time_max channel_excluded \
                        channel_not_included returning_guest not_assigned inactive",
                ),
                (
                    ExplainedKind::Manuals,
                    "too_early too_late stay_over value_missing out_of_season stay_too_short \
                        stay_too_long booking_source verification_status not_assigned",
                ),
            ] {
                for key in keys.split(' ') {
                    let (reason, change) = reason_and_change(language, kind, key, &facts);
                    assert!(
                        !reason.contains('{')
                            && !change.contains('{')
                            && reason != "In its own words.",
                        "{key}: {reason} {change}"
                    );
                }
            }
        }
    }
}
