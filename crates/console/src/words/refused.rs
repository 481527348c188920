//! Texts of refusals in the language of the page, selected by the reason of the refusal. In
//! English, the messages about fields are those of the REST interface.

use engine::error::{ErrorKind, Reason};
use texts::console::ConsoleRefusedWords;

use features::words::fill;

/// The beginning of the pattern in the schema of a colour. A value that violates a pattern with
/// this beginning gets the error text about colours.
const OF_COLOURS: &str = "^#";

/// Returns the text for a kind of refusal.
pub const fn kind_text(words: &ConsoleRefusedWords, kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Validation => words.validation,
        ErrorKind::Authentication => words.authentication,
        ErrorKind::Authorization => words.authorization,
        ErrorKind::TwoFactor => words.two_factor,
        ErrorKind::NotFound | ErrorKind::Gone => words.not_found,
        ErrorKind::Conflict => words.conflict,
        ErrorKind::BusinessRule => words.business_rule,
        ErrorKind::RateLimit => words.rate_limit,
        ErrorKind::Internal => words.internal,
        ErrorKind::Provider => words.provider,
        ErrorKind::Unavailable => words.unavailable,
    }
}

/// Returns the text for the reason why a field or a request was refused. Returns `None` if the
/// console has no text for it. The message of the REST interface is then shown.
pub fn reason_text(words: &ConsoleRefusedWords, reason: &Reason) -> Option<String> {
    let limited = |text: &str, limit: &str| fill(text, &[("limit", limit)]);
    let wanted = |text: &str| fill(words.of_type, &[("wanted", text)]);
    Some(match reason {
        Reason::Required => words.required.into(),
        Reason::ReadOnly => words.read_only.into(),
        Reason::Unknown | Reason::Misspelt(_) | Reason::InsideData => words.unknown.into(),
        Reason::Type(names) => wanted(
            &names
                .split(" or ")
                .map(|name| of_name(words, name))
                .collect::<Vec<_>>()
                .join(words.or),
        ),
        Reason::WrongType => words.wrong_type.into(),
        Reason::Empty | Reason::Blank => words.empty.into(),
        Reason::MinLength(limit) => limited(words.min_length, &limit.to_string()),
        Reason::MaxLength(limit) => limited(words.max_length, &limit.to_string()),
        Reason::MinItems(limit) => limited(words.min_items, &words.items.of(*limit)),
        Reason::MaxItems(limit) | Reason::MaxFields(limit) => {
            limited(words.max_items, &words.items.of(*limit))
        }
        Reason::FieldName(_) => words.field_name.into(),
        Reason::Twice => words.twice.into(),
        Reason::Minimum(limit) => limited(words.minimum, limit),
        Reason::Maximum(limit) => limited(words.maximum, limit),
        Reason::OneOf(options) => fill(words.one_of, &[("options", options)]),
        Reason::Exactly(value) => fill(words.exactly, &[("wanted", value)]),
        Reason::Pattern(pattern) if pattern.starts_with(OF_COLOURS) => words.colour.into(),
        Reason::Pattern(_) => words.pattern.into(),
        Reason::Format(name, _) => wanted(format(words, name)?),
        Reason::NullCharacter => words.null_character.into(),
        Reason::Phone => words.phone.into(),
        Reason::Passed => words.passed.into(),
        Reason::Repeated => words.repeated.into(),
        Reason::NoSwitch => wanted(words.switch),
        Reason::NoInteger => wanted(words.integer),
        Reason::Invalid => words.invalid.into(),
        Reason::Rule(name, _) => rule(words, name)?.into(),
        Reason::Permission(_) | Reason::Text(_) => return None,
    })
}

fn of_name(words: &ConsoleRefusedWords, name: &str) -> &'static str {
    match name {
        "string" => words.text,
        "integer" => words.integer,
        "number" => words.number,
        "boolean" => words.switch,
        "array" => words.list,
        "null" => words.null,
        _ => words.object,
    }
}

fn format(words: &ConsoleRefusedWords, name: &str) -> Option<&'static str> {
    Some(match name {
        "uuid" => words.f_uuid,
        "date-time" => words.f_moment,
        "date" => words.f_date,
        "time-of-day" => words.f_time,
        "http-url" => words.f_url,
        "https-url" => words.f_https,
        "http-url-or-empty" => words.f_url_or_empty,
        "redirect-uri" => words.f_redirect,
        "email" => words.f_email,
        "time-zone" => words.f_zone,
        "country" => words.f_country,
        "currency" => words.f_currency,
        "language" => words.f_language,
        "not-blank" => words.f_not_blank,
        _ => return None,
    })
}

fn rule(words: &ConsoleRefusedWords, name: &str) -> Option<&'static str> {
    Some(match name {
        "title_in_english" => words.r_title_in_english,
        "needed_by_active_step" => words.r_needed_by_active_step,
        "title_twice" => words.r_title_twice,
        "title_missing" => words.r_title_missing,
        "nights_turned" => words.r_nights_turned,
        "lead_time_turned" => words.r_lead_time_turned,
        "needs_channel" => words.r_needs_channel,
        "needs_minimum_age" => words.r_needs_minimum_age,
        "not_of_step" => words.r_not_of_step,
        "given_twice" => words.r_given_twice,
        "kind_stays" => words.r_kind_stays,
        "yes_no_options" => words.r_yes_no_options,
        "yes_no_names" => words.r_yes_no_names,
        "no_options" => words.r_no_options,
        "not_of_question" => words.r_not_of_question,
        "condition_form" => words.r_condition_form,
        "earlier_option" => words.r_earlier_option,
        "one_cover" => words.r_one_cover,
        "needs_custom_field" => words.r_needs_custom_field,
        "no_custom_field" => words.r_no_custom_field,
        "needs_title" => words.r_needs_title,
        "category_twice" => words.r_category_twice,
        "needs_start_or_end" => words.r_needs_start_or_end,
        "season_turned" => words.r_season_turned,
        "length_turned" => words.r_length_turned,
        "needs_number" => words.r_needs_number,
        "no_portal_url" => words.r_no_portal_url,
        "not_for_portals" => words.r_not_for_portals,
        "stay_has_flat" => words.r_stay_has_flat,
        "needs_workflow_step" => words.r_needs_workflow_step,
        "workflow_step_form" => words.r_workflow_step_form,
        "no_workflow_step" => words.r_no_workflow_step,
        "no_flats" => words.r_no_flats,
        "missing_reference" => words.r_missing_reference,
        "text_or_texts" => words.r_text_or_texts,
        "reserved_guest_field" => words.r_reserved_guest_field,
        "rule_without_field" => words.r_rule_without_field,
        "ages_turned" => words.r_ages_turned,
        "nothing_to_submit" => words.r_nothing_to_submit,
        "other_source" => words.r_other_source,
        "feed_exists" => words.m_feed_exists,
        "most_feeds" => words.m_most_feeds,
        "feed_is_fetched" => words.m_feed_is_fetched,
        "unknown_placeholder" => words.r_unknown_placeholder,
        "ambiguous_placeholder" => words.r_ambiguous_placeholder,
        "too_long_version" => words.r_too_long_version,
        "webhook-target" => words.r_webhook_target,
        "in_flight" => words.m_in_flight,
        "outcome_unknown" => words.m_outcome_unknown,
        "changed_since" => words.m_changed_since,
        "type_locked" => words.m_type_locked,
        "fees_of_others" => words.m_fees_of_others,
        "text_shown_elsewhere" => words.m_text_shown_elsewhere,
        "english_text" => words.m_english_text,
        "if_match" => words.m_if_match,
        "blank_for_plus" => words.r_blank_for_plus,
        "category_in_use" => words.m_category_in_use,
        "category_title_taken" => words.m_category_title_taken,
        "category_of_others" => words.m_category_of_others,
        "no_event" => words.m_no_event,
        "event_of_apps" => words.m_event_of_apps,
        "subscription_disabled" => words.m_subscription_disabled,
        "most_subscriptions" => words.m_most_subscriptions,
        "webhook_event_differs" => words.m_webhook_event_differs,
        "delivery_pending" => words.m_delivery_pending,
        "not_in_review" => words.m_not_in_review,
        "guest_has_arrived" => words.m_guest_has_arrived,
        "stay_over" => words.m_stay_over,
        "text_changed" => words.m_text_changed,
        "default_branding" => words.m_default_branding,
        "default_portal" => words.m_default_portal,
        "default_portal_of_all" => words.m_default_portal_of_all,
        "portal_name_taken" => words.m_portal_name_taken,
        "portal_of_others" => words.m_portal_of_others,
        "keys_of_platform" => words.m_keys_of_platform,
        "keys_of_members" => words.m_keys_of_members,
        "key_holds_more" => words.m_key_holds_more,
        "managed_by_platform" => words.m_managed_by_platform,
        "records_of_every_property" => words.m_records_of_every_property,
        "members_by_members" => words.m_members_by_members,
        "member_holds_more" => words.m_member_holds_more,
        "member_exists" => words.m_member_exists,
        "own_membership" => words.m_own_membership,
        "member_inactive" => words.m_member_inactive,
        "no_photos" => words.m_no_photos,
        "remote_control_off" => words.m_remote_control_off,
        "device_archived" => words.m_device_archived,
        "device_type" => words.r_device_type,
        "device_refused" => words.m_device_refused,
        "device_unanswered" => words.m_device_unanswered,
        "no_device_connector" => words.m_no_device_connector,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{fs, io};

    use engine::app::NetworkFormat;
    use engine::format;

    use vestibule::app::app;

    use super::super::of;
    use super::*;

    /// Collects the names of rules, such as `ages_turned`, that the files in a folder pass to
    /// `Reason::rule`.
    fn named(folder: &Path, names: &mut Vec<String>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                named(&path, names)?;
            } else if path.extension().is_some_and(|ending| ending == "rs")
                && !path.ends_with("words/refused.rs")
            {
                let text = fs::read_to_string(&path)?;
                let begins = text
                    .split("Reason::rule(")
                    .skip(1)
                    .filter_map(|rest| rest.trim_start().strip_prefix('"'));
                names.extend(
                    begins
                        .filter_map(|rest| rest.split_once('"'))
                        .map(|(name, _)| name.to_owned()),
                );
            }
        }
        Ok(())
    }

    #[test]
    fn every_reason_and_format_has_a_spanish_and_french_text() {
        let mut rules = Vec::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .unwrap();
        for folder in ["src", "crates"] {
            named(&root.join(folder), &mut rules).unwrap();
        }
        assert!(rules.len() > 30, "{rules:?}");
        rules.extend(
            app()
                .lists
                .all::<NetworkFormat>()
                .iter()
                .map(|format| format.name.to_owned()),
        );
        for words in [&of("es").refused, &of("fr").refused] {
            let unsaid: Vec<_> = rules
                .iter()
                .filter(|name| rule(words, name).is_none())
                .collect();
            let formats: Vec<_> = format::STATIC
                .iter()
                .map(|format| format.name)
                .filter(|name| super::format(words, name).is_none())
                .collect();
            assert!(
                unsaid.is_empty() && formats.is_empty(),
                "codes without words: {unsaid:?} {formats:?}"
            );
        }
    }

    #[test]
    fn a_translated_reason_contains_its_values() {
        let text = |reason| reason_text(&of("es").refused, &reason).unwrap();
        assert_eq!(text(Reason::MaxLength(40)), "tiene más de 40 caracteres");
        assert_eq!(
            text(Reason::Type("string or null".into())),
            "tiene que ser un texto o vacío"
        );
        assert_eq!(text(Reason::MinItems(1)), "necesita al menos 1 elemento");
        assert_eq!(text(Reason::MaxItems(3)), "admite como mucho 3 elementos");
        assert_eq!(
            text(Reason::Pattern("^#(?:[0-9A-Fa-f]{3})$".into())),
            "tiene que ser un color, como #0E7490"
        );
        assert_eq!(
            reason_text(&of("fr").refused, &"in other words".into()),
            None
        );
    }
}
