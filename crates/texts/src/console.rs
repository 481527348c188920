//! The texts of the console for members.

include!(concat!(env!("OUT_DIR"), "/console.rs"));

impl ConsoleCalendarsWords {
    /// Returns the sentence for the reason why a calendar could not be fetched. Returns `None` for
    /// an unknown code.
    #[must_use]
    pub fn failure(&self, code: &str) -> Option<&'static str> {
        Some(match code {
            "private" => self.e_private,
            "redirects" => self.e_redirects,
            "refused" => self.e_refused,
            "timed_out" => self.e_timed_out,
            "unreachable" => self.e_unreachable,
            "too_large" => self.e_too_large,
            "no_calendar" => self.e_no_calendar,
            "not_applied" => self.e_not_applied,
            _ => return None,
        })
    }
}

impl ConsoleFrameWords {
    /// Joins a label and a text by a colon as the language writes it: in French, with a space
    /// before the colon.
    #[must_use]
    pub fn labelled(&self, label: &str, text: &str) -> String {
        format!("{label}{} {text}", self.colon)
    }
}

impl ConsoleStaysWords {
    /// Returns the sentence for the rule that decided whether a guest sees a step or manual. The
    /// sentence has placeholders, such as the number of nights. Returns `None` for an unknown key;
    /// the calling function then shows the message of the interface.
    #[must_use]
    pub fn reason(&self, key: &str) -> Option<&'static str> {
        Some(match key {
            "cancelled" => self.r_cancelled,
            "no_property" => self.r_no_property,
            "not_assigned" => self.r_not_assigned,
            "inactive" => self.r_inactive,
            "no_portal" => self.r_no_portal,
            "precheckin_disabled" => self.r_precheckin_disabled,
            "always_shown" => self.r_always_shown,
            "all_rules_pass" => self.r_all_rules_pass,
            "always_visible" => self.r_always_visible,
            "visible" => self.r_visible,
            "min_los" => self.r_min_los,
            "max_los" => self.r_max_los,
            "lead_time_min" => self.r_lead_time_min,
            "lead_time_max" => self.r_lead_time_max,
            "channel_excluded" => self.r_channel_excluded,
            "channel_not_included" => self.r_channel_not_included,
            "returning_guest" => self.r_returning_guest,
            "too_early" => self.r_too_early,
            "too_late" => self.r_too_late,
            "stay_over" => self.r_stay_over,
            "value_missing" => self.r_value_missing,
            "out_of_season" => self.r_out_of_season,
            "stay_too_short" => self.r_stay_too_short,
            "stay_too_long" => self.r_stay_too_long,
            "booking_source" => self.r_booking_source,
            "verification_status" => self.r_verification_status,
            "property" => self.r_property,
            "property_group" => self.r_property_group,
            "tag" => self.r_tag,
            "default" => self.r_default,
            _ => return None,
        })
    }

    /// Returns the sentence about the change that would make a hidden step or manual visible. `key`
    /// is the rule that hides it. The sentence has placeholders for the field to change and for the
    /// value that the field needs.
    #[must_use]
    pub fn change(&self, key: &str) -> &'static str {
        match key {
            "cancelled" => self.c_cancelled,
            "no_property" => self.c_flat,
            "not_assigned" => self.c_assign,
            "inactive" => self.c_activate,
            "no_portal" => self.c_portal,
            "precheckin_disabled" => self.c_precheckin,
            "min_los" => self.c_at_most,
            "max_los" => self.c_at_least,
            "lead_time_min" => self.c_days_at_most,
            "lead_time_max" => self.c_days_at_least,
            "channel_excluded" => self.c_without,
            "channel_not_included" => self.c_with,
            "returning_guest" => self.c_unticked,
            "too_early" => self.c_earlier,
            "too_late" => self.c_later,
            "stay_over" => self.c_stay_over,
            "value_missing" => self.c_value_missing,
            "out_of_season" => self.c_season,
            "stay_too_short" => self.c_length_at_most,
            "stay_too_long" => self.c_length_at_least,
            "booking_source" | "verification_status" => self.c_lets,
            _ => self.c_rule,
        }
    }
}
